"""The KubeSchedulerConfiguration of one release: which versions it reads, and how it reads, checks and writes them.

Behind the record stands what releases do alike: they fill in what is not said, and check whole configurations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.config.config_schema import Written, WrittenProfile
from kubescheduler.config.policy_model import ignored_resources, ordered
from kubescheduler.framework.contract.profile import (
    DEFAULT_SCHEDULER_NAME,
    ClientConnection,
    LeaderElection,
    PluginSet,
    Point,
    Profile,
    SchedulerConfig,
)
from kubescheduler.framework.document_schema import DUPLICATE, INVALID, PERCENT, FieldError, Struct, invalid, required
from kubescheduler.framework.plugins.node_resources_fit import NodeResourcesFitArgs
from kubescheduler.framework.plugins.plugin_record import InTreePlugin, PluginPoints, Providers, args_keys

if TYPE_CHECKING:
    from kubescheduler.config.go_decoding import Fault, UnknownKey


class ConfigMapName(msgspec.Struct, frozen=True):
    """Where a ConfigMap is in the cluster."""

    namespace: str = ""
    name: str = ""


class Lifted(msgspec.Struct, frozen=True):
    """A document of an older apiVersion, said in the release's own, and where it says that the algorithm comes from.

    One of provider, policy_file and policy_configmap is set; none of them means an empty Policy.
    """

    document: Mapping[str, Any]
    provider: str | None
    policy_file: str | None
    """Its path where kube-scheduler runs."""
    policy_configmap: ConfigMapName | None
    notes: tuple[str, ...]
    """What the release ignores of it."""
    places: tuple[tuple[str, str], ...]
    """(place in ``document``, how the older version calls it), the longest first."""

    def own(self, text: str) -> str:
        """What is said of ``document``, with the places as they are written."""
        for place, written in self.places:
            text = text.replace(place, written)
        return text


class ComponentFormat(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """How one release reads, checks and writes configurations.

    Its functions are given the record itself, so that a release with other plugins or defaults can have the same ones.
    """

    release: str
    """The release's name, for texts."""
    native: str
    """The apiVersion that it writes."""
    versions: tuple[str, ...]
    """The apiVersions that it reads."""
    lifts: Mapping[str, Callable[..., Lifted]] = {}
    """Those of them that are read as what they come to in ``native``, by ``lift(document, release, strict=)``.

    It raises ConfigError with every fault and its path. strict: what the release ignores is a fault."""
    later: frozenset[str] = frozenset()
    """Keys that its apiVersions got in later releases, such as ``profiles.plugins.multiPoint``."""
    refused: Mapping[str, frozenset[str]] = {}
    """apiVersion → the plugins that it refuses by name."""
    same_queue_sort: tuple[str, str] = (
        "must be the same for all profiles",
        "queueSort must be the same for all profiles",
    )
    """The texts for profiles whose queueSort, and whose args for it, are not those of the first."""
    nests_strict_errors: bool = True
    """The text about unknown keys of args begins anew with every level."""
    scheme: str
    """Where it says its types are registered."""
    registered: frozenset[tuple[str, str]] = frozenset()
    """The (apiVersion, kind) that it knows beside configurations and args."""
    plugins: Mapping[str, InTreePlugin]
    """Name → record of every plugin that comes with the scheduler."""
    points: tuple[Point, ...]
    """The extension points, in the order they run."""
    providers: Providers = {}
    """Algorithm provider → what it runs; none where providers are gone."""
    selector_spread: bool = False
    """SelectorSpread runs where nobody says a thing of the feature gate DefaultPodTopologySpread."""
    multi_point: tuple[str, ...] = ()
    """The plugins that run by default at every point they have, in order; none where providers say it."""
    reads_any_args: bool = False
    """What args say of kind and apiVersion, and their unknown keys, are passed over."""
    fault_text: Callable[[Fault], str] = str
    """The text for a value of the wrong type."""
    unknown_text: Callable[[Mapping[str, Any], UnknownKey, Struct, str], str] | None = None
    """Of (document, key, the document's keys, apiVersion): the text for the first unknown key, before all else.

    None: unknown keys are reported all at once, after everything else."""
    merge: Callable[[DocumentRules, SchedulerConfig], SchedulerConfig] = lambda _, config: config
    """What is done before validation."""
    errors: Callable[[ComponentFormat, Written, SchedulerConfig, str], list[FieldError]]
    """Of (as written, as completed, apiVersion): what validation finds."""
    finish: Callable[[DocumentRules, SchedulerConfig], SchedulerConfig]
    """Makes a validated configuration complete: plugins merged or expanded, extenders in order, args filled in."""
    provider_problem: Callable[[ComponentFormat, str], str | None] = lambda _, __: None
    """What is wrong with the name of an algorithm provider, with the nearest one; None when nothing is."""
    construction_problems: Callable[[ComponentFormat, WrittenProfile, Profile, str], Iterable[str]] = lambda *_: ()
    """Of (as written, as completed, path): faults of a profile that only show when its plugins are made."""
    gone: Mapping[str, str] = {}
    """Plugin of older releases → what to use instead."""
    written_sets: Callable[[ComponentFormat, Profile], dict[str, PluginSet]]
    """Member of ``plugins`` → the lists of a profile that was not read from a document."""
    written_args: Callable[[Profile, Sequence[Any]], Iterable[tuple[str, Any]]]
    """Of (profile, extenders): the entries of ``pluginConfig`` in the order they are written."""
    locks: tuple[str, ...] = ("leases", "endpoints", "configmaps", "endpointsleases", "configmapsleases")
    """What leader election may lock on; the first is the default."""

    def takes(self, plugin: str) -> bool:
        """Whether documents of ``native`` can name a plugin."""
        return plugin in self.plugins and plugin not in self.refused.get(self.native, ())

    def can_name(self, plugin: str) -> bool:
        """Whether documents of some version that the release reads can name a plugin."""
        return plugin in self.plugins and any(plugin not in self.refused.get(each, ()) for each in self.versions)


class DocumentRules(msgspec.Struct, frozen=True):
    """How one document is read."""

    form: ComponentFormat
    version: str
    provider: str
    """1.20: the algorithm provider whose plugins the profiles start from."""
    points: PluginPoints
    """Of every plugin there is."""
    gates: Mapping[str, bool]
    """Those that are not named have the release's default."""


DEFAULT_ADDRESS = "0.0.0.0:10251"
DEFAULT_PORT = "10251"
ANY_HOST = "0.0.0.0"


def complete(written: Written, form: ComponentFormat) -> SchedulerConfig:
    """The configuration with its defaults; ``Profile.sets`` holds what the profiles say, nothing is merged yet."""
    profiling = True if written.enable_profiling is None else written.enable_profiling
    contention = written.enable_contention_profiling
    return SchedulerConfig(
        release=form.release,
        profiles=_profiles(written.profiles),
        extenders=written.extenders,
        percentage_of_nodes_to_score=written.percentage_of_nodes_to_score or 0,
        pod_initial_backoff_seconds=_or(written.pod_initial_backoff_seconds, 1),
        pod_max_backoff_seconds=_or(written.pod_max_backoff_seconds, 10),
        parallelism=_or(written.parallelism, 16),
        disable_preemption=written.disable_preemption,
        bind_timeout_seconds=_or(written.bind_timeout_seconds, 600),
        leader_election=LeaderElection(**{"resource_lock": form.locks[0], **said_values(written.leader_election)}),
        client_connection=ClientConnection(**said_values(written.client_connection)),
        enable_profiling=profiling,
        enable_contention_profiling=profiling if contention is None else contention,
        healthz_bind_address=bind_address(written.healthz_bind_address),
        metrics_bind_address=bind_address(written.metrics_bind_address),
        delay_cache_until_active=written.delay_cache_until_active,
    )


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def said_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are no zero values; whether to elect a leader counts when it is false, too."""
    return {name: value for name, value in values.items() if value or isinstance(value, bool)}


def _profiles(written: tuple[WrittenProfile, ...]) -> tuple[Profile, ...]:
    """A single profile without a name gets the default one."""
    profiles = written or (WrittenProfile(),)
    unnamed = DEFAULT_SCHEDULER_NAME if len(profiles) == 1 else ""
    return tuple(
        Profile(
            scheduler_name=unnamed if profile.scheduler_name is None else profile.scheduler_name,
            sets=dict(profile.plugins or {}),
            plugin_config=tuple((entry.name, entry.args) for entry in profile.plugin_config),
            percentage_of_nodes_to_score=profile.percentage_of_nodes_to_score,
        )
        for profile in profiles
    )


def with_default_args(profile: Profile, names: list[str], keys: Mapping[str, Struct]) -> Profile:
    """The profile with args also for those of the named plugins that have none but could."""
    given = {name for name, _ in profile.plugin_config}
    added = ((name, keys[name].build()) for name in names if name in keys and name not in given)
    return msgspec.structs.replace(profile, plugin_config=(*profile.plugin_config, *added))


def with_merged_sets(
    rules: DocumentRules,
    config: SchedulerConfig,
    merged: Callable[[Mapping[str, PluginSet]], dict[str, PluginSet]],
) -> SchedulerConfig:
    """The profiles with their sets merged, and with args for every plugin that can have some. merged: of the sets."""
    refused = rules.form.refused.get(rules.version, frozenset())
    keys = {name: struct for name, struct in args_keys(rules.form.plugins, rules.gates).items() if name not in refused}

    def merge(profile: Profile) -> Profile:
        sets = merged(profile.sets)
        names = sorted({plugin.name for plugins in sets.values() for plugin in plugins.enabled})
        return with_default_args(msgspec.structs.replace(profile, sets=sets), names, keys)

    return msgspec.structs.replace(config, profiles=tuple(map(merge, config.profiles)))


def expanded_profiles(config: SchedulerConfig, expand: Callable[[Profile], Profile]) -> SchedulerConfig:
    """The extenders in order, and the profiles with their plugins; what the extenders have ignored stands in place of
    what NodeResourcesFit was to ignore. Raises ConfigError as the release does when it builds extenders."""
    extenders = ordered(config.extenders)
    ignored = ignored_resources(extenders)
    profiles = tuple(with_ignored_1_36(expand(profile), ignored) for profile in config.profiles)
    return msgspec.structs.replace(config, profiles=profiles, extenders=extenders)


def running_all_filters(config: SchedulerConfig) -> SchedulerConfig:
    """Every filter runs on every node, also where one has failed."""
    every = tuple(msgspec.structs.replace(profile, run_all_filters=True) for profile in config.profiles)
    return msgspec.structs.replace(config, profiles=every)


# --- addresses, release 1.20 -----------------------------------------------------------------


def bind_address(text: str | None) -> str:
    """Where to listen: a port alone is on every address, an address alone on port 10251, else the default."""
    if text is None:
        return DEFAULT_ADDRESS
    parts = split_host_port(text)
    if parts is not None:
        return _joined(parts[0] or ANY_HOST, parts[1])
    return _joined(text, DEFAULT_PORT) if is_address(text) else DEFAULT_ADDRESS


def _joined(host: str, port: str) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def split_host_port(text: str) -> tuple[str, str] | None:
    """``host:port`` or ``[host]:port`` in two, None for anything else."""
    host, colon, port = text.rpartition(":")
    if not colon:
        return None
    if host.startswith("["):
        host = host.removeprefix("[")
        if not host.endswith("]"):
            return None
        host = host.removesuffix("]")
    elif ":" in host:
        return None
    return None if set("[]") & set(host + port) else (host, port)


def is_address(text: str) -> bool:
    """Whether this is an IP address."""
    import ipaddress

    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


FIT = "NodeResourcesFit"


def with_ignored_1_20(profile: Profile, ignored: tuple[str, ...]) -> Profile:
    """The profile with args for NodeResourcesFit; if it has some already, the framework refuses the second ones."""
    if not ignored:
        return profile
    entry: tuple[str, Any] = (FIT, NodeResourcesFitArgs(ignored_resources=ignored))
    return msgspec.structs.replace(profile, plugin_config=(*profile.plugin_config, entry))


def with_ignored_1_36(profile: Profile, ignored: tuple[str, ...]) -> Profile:
    """The profile whose args of NodeResourcesFit ignore exactly these. Raises ConfigError when it has none."""
    if not ignored:
        return profile
    at = next((at for at, (name, _) in enumerate(profile.plugin_config) if name == FIT), None)
    if at is None:
        raise ConfigError("couldn't build extenders: can't find NodeResourcesFitArgs in plugin config")
    entries = list(profile.plugin_config)
    entries[at] = (FIT, msgspec.structs.replace(entries[at][1], ignored_resources=ignored))
    return msgspec.structs.replace(profile, plugin_config=tuple(entries))


Show = Callable[[int], str]
"""A duration in nanoseconds as the release shows it."""
TooShort = Callable[[int, int], bool]
"""Whether a lease is, beside the deadline for its renewal: ``lt``, or ``le`` where it has to last longer."""


def config_errors(
    config: SchedulerConfig,
    election: Iterable[FieldError],
    check: Callable[[Profile], Iterator[FieldError]],
    between: Iterable[FieldError],
    extenders: Iterable[FieldError],
) -> list[FieldError]:
    """What is wrong with a whole configuration, in the order in which every release looks.

    check: of each profile, with paths beginning at it. between: what is said after the profiles and before numbers.
    """
    burst, parallelism = config.client_connection.burst, config.parallelism
    found = [invalid("clientConnection.burst", burst, "must be non-negative")] if burst < 0 else []
    found += election
    if parallelism <= 0:
        found.append(invalid("parallelism", parallelism, "should be an integer value greater than zero"))
    return [*found, *profile_errors(config.profiles, check), *between, *number_errors(config), *extenders]


def lease_errors(election: LeaderElection, show: Show, too_short: TooShort, order_text: str) -> Iterator[FieldError]:
    """The durations of leader election."""
    durations = {
        "leaseDuration": election.lease_duration_ns,
        "renewDeadline": election.renew_deadline_ns,
        "retryPeriod": election.retry_period_ns,
    }
    for name, nanoseconds in durations.items():
        if nanoseconds <= 0:
            yield FieldError(f"leaderElection.{name}", "must be greater than zero", INVALID, show(nanoseconds))
    lease, renew = election.lease_duration_ns, election.renew_deadline_ns
    if too_short(lease, renew):
        yield FieldError("leaderElection.leaseDuration", order_text, INVALID, show(renew))


def lock_names(election: LeaderElection) -> dict[str, str]:
    """The names that a lock must have, in the order they are checked."""
    return {
        "resourceLock": election.resource_lock,
        "resourceNamespace": election.resource_namespace,
        "resourceName": election.resource_name,
    }


def profile_errors(
    profiles: Sequence[Profile], check: Callable[[Profile], Iterator[FieldError]]
) -> Iterator[FieldError]:
    """Names, and what ``check`` says of each profile, with paths beginning at the profile."""
    if not profiles:
        yield required("profiles")
    places: dict[str, int] = {}
    for at, profile in enumerate(profiles):
        path = f"profiles[{at}]"
        if not profile.scheduler_name:
            yield required(f"{path}.schedulerName")
        yield from (error.under(path) for error in check(profile))
        if profile.scheduler_name in places:
            earlier = f"profiles[{places[profile.scheduler_name]}].schedulerName"
            yield FieldError(f"{path}.schedulerName", "", DUPLICATE, earlier)
        places[profile.scheduler_name] = at


def number_errors(config: SchedulerConfig) -> Iterator[FieldError]:
    """What is wrong with the percentage of nodes to score and with the back-off."""
    yield from percentage_errors(config.percentage_of_nodes_to_score)
    initial, most = config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds
    if initial <= 0:
        yield invalid("podInitialBackoffSeconds", initial, "must be greater than 0")
    if most < initial:
        yield invalid("podMaxBackoffSeconds", most, "must be greater than or equal to PodInitialBackoffSeconds")


def percentage_errors(percentage: int | None) -> Iterator[FieldError]:
    """A percentage of nodes to score that is not in 0 to 100."""
    if percentage is not None and percentage not in PERCENT:
        yield invalid("percentageOfNodesToScore", percentage, "not in valid range [0-100]")
