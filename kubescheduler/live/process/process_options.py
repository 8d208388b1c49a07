"""From a command line and the files that it names to what a process is started with, in each release's order.

``settings_of``, at the end, makes ``LiveSettings``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from clusterstate.errors import ConfigError
from kubecel.api_names import SECOND
from kubescheduler.config.component_format import ConfigMapName, Lifted
from kubescheduler.config.config_text import configmap_policy, parse_first_document, read_text
from kubescheduler.config.gates import ReleaseGates
from kubescheduler.config.load_config import component_config_from, component_document, document_yaml
from kubescheduler.config.v1alpha1 import V1Alpha1Config, v1alpha1_document
from kubescheduler.engine.engine_flags import max_pd_volumes
from kubescheduler.engine.spec import Engine, EngineSpec
from kubescheduler.engine.v1alpha1_engine import NO_POLICY, component_of_flags, lifted_component, read_component
from kubescheduler.framework.contract.profile import LeaderElection, SchedulerConfig
from kubescheduler.framework.document_schema import refuse
from kubescheduler.framework.plugin_loading import PluginOption
from kubescheduler.live.flags import FlagKind, FlagValues, read_value
from kubescheduler.live.metrics.process_metrics import MetricsSettings
from kubescheduler.live.metrics.unschedulable_workloads import Search
from kubescheduler.live.process.release_live import LiveRelease
from kubescheduler.live.serving.scheduler_servers import ServingSettings, insecure_ports, serving_settings
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import ApiClient, ClientOptions, Limits
from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.live.transport.server_access import ServerAccess


class ServerSettings(msgspec.Struct, frozen=True):
    """How the API server is reached."""

    kubeconfig: str = ""
    """A file's path; empty: as the service account of the pod we run in, unless ``master`` says where; for want of that
    too, where KUBERNETES_MASTER says."""
    context: str | None = None
    """Of the kubeconfig; None: its current one."""
    master: str = ""
    """Goes before the server of the kubeconfig."""
    qps: float = 50.0
    """Requests a second of each client in the long run."""
    burst: int = 100
    """Requests at once after a pause."""

    async def access(self) -> ServerAccess:
        """The server with our credentials. Raises ConfigError with upstream's text where nobody says where it is."""
        if self.kubeconfig:
            return await ServerAccess.from_kubeconfig(self.kubeconfig, self.context, self.master)
        if self.master:
            return ServerAccess(self.master)
        return await ServerAccess.unnamed(os.environ)


class LiveSettings(msgspec.Struct, frozen=True, eq=False):
    """A process that is ready to start."""

    release: LiveRelease
    engine: Engine
    server: ServerSettings
    election: LeaderElection
    preempts: bool = True
    """Whether pods may take the place of lower ones."""
    serving: ServingSettings | None = None
    """What is served; None: nothing."""
    delays_cache: bool = False
    """Whether the cluster is read only by a leader (1.36: delayCacheUntilActive)."""
    unschedulable_seconds: float | None = None
    """Seconds after which an unschedulable pod is tried again whatever happens; None: the release's own (1.36)."""
    metrics: MetricsSettings = msgspec.field(default_factory=MetricsSettings)
    """Which metrics are shown."""
    hints: Search | None = None
    """Searches for what would help pods that fit nowhere; None: nobody does."""

    @property
    def waits_for_leadership(self) -> bool:
        """Whether informers are started only by a leader."""
        return self.delays_cache and self.election.leader_elect


ELECTION = {
    "leader-elect": "leader_elect",
    "leader-elect-lease-duration": "lease_duration_ns",
    "leader-elect-renew-deadline": "renew_deadline_ns",
    "leader-elect-retry-period": "retry_period_ns",
    "leader-elect-resource-lock": "resource_lock",
    "leader-elect-resource-name": "resource_name",
    "leader-elect-resource-namespace": "resource_namespace",
    "lock-object-name": "resource_name",
    "lock-object-namespace": "resource_namespace",
}
"""Flag → the field of LeaderElection. The last flag of a field counts (1.16 and 1.20: two write the same one)."""
CONNECTION = {
    "kubeconfig": "kubeconfig",
    "kube-api-content-type": "content_type",
    "kube-api-qps": "qps",
    "kube-api-burst": "burst",
}
"""Flag → the field of ClientConnection."""
PROFILING = {"profiling": "enable_profiling", "contention-profiling": "enable_contention_profiling"}
"""Flag → the field of the configuration."""

COMPONENT = "kube:"
"""What may stand before the name of a gate (1.36)."""


def overridden(record: Any, fields: Mapping[str, str], flags: FlagValues) -> Any:
    """A record with what the command line says of it."""
    said = {fields[name]: flags[name] for name in flags.given if name in fields}
    return msgspec.structs.replace(record, **said)


def ignored_beside_file(flags: FlagValues, names: Iterable[str]) -> list[str]:
    """One sentence that names the given flags that a configuration file replaces; none where there are none."""
    idle = [f"--{name}" for name in names if name in flags.given]
    return [f"{', '.join(idle)} {'has' if len(idle) == 1 else 'have'} no effect beside --config"] if idle else []


def gates_of(flags: FlagValues, gates: ReleaseGates) -> tuple[dict[str, bool], list[str]]:
    """(the gates that are set, notes on those without effect). Raises ConfigError with upstream's text."""
    given = flags["feature-gates"]
    if not isinstance(given, Mapping):
        given = gates_of_texts(given)
    beside = {name: on for name, on in given.items() if name in gates.elsewhere}
    notes = [
        f"feature gate {name} has no effect here" for name, on in beside.items() if on != gates.known(name).default
    ]
    stages = set(gates.stages.values())
    for name, on in given.items():
        gate = gates.gates.get(name) or gates.elsewhere.get(name)
        if gate is None and name not in stages:
            raise ConfigError(f"unrecognized feature gate: {name}")
        if gate is not None and gate.locked and on != gate.default:
            texts = (str(value).lower() for value in (on, gate.default))
            raise ConfigError("cannot set feature gate {} to {}, feature is locked to {}".format(name, *texts))
    if unmet := gates.unmet(given):
        raise ConfigError(unmet)
    return {name: on for name, on in given.items() if name not in beside}, notes


def gates_of_texts(texts: Iterable[str]) -> dict[str, bool]:
    """The pairs ``name=value``, each perhaps with its component before. Raises ConfigError with upstream's text."""
    gates: dict[str, bool] = {}
    for text in texts:
        try:
            gates |= read_value(FlagKind.PAIRS, text.removeprefix(COMPONENT))
        except ValueError as error:
            raise ConfigError(str(error)) from None
    return gates


Notice = Callable[[str], None]
C = TypeVar("C", SchedulerConfig, V1Alpha1Config)

SOURCES = ("algorithm-provider", "policy-config-file", "policy-configmap", "use-legacy-policy-config")
"""Flags that say where the algorithm comes from."""
COMPLETED_FROM = 2
"""The verbosity from which 1.20 keeps its profiles completed."""
BESIDES = ("scheduler-name", "hard-pod-affinity-symmetric-weight", "address", "port")
"""Other flags that a file replaces."""


def _whole_document(document: dict[str, Any]) -> dict[str, Any]:
    """As it is."""
    return document


class Configured(msgspec.Struct, frozen=True, eq=False):
    """What flags and files come to, before the engine is made."""

    spec: EngineSpec
    config: SchedulerConfig | V1Alpha1Config
    """With the flags that count."""
    document: Callable[[EngineSpec], dict[str, Any]]
    """Of the spec with its policy: everything that it comes to, in its own API version."""
    addresses: tuple[str, str] | None = None
    """Where health and metrics are served without TLS; None in 1.36."""
    policy_place: ConfigMapName | None = None
    """Where in the cluster the policy is; None: nowhere."""
    preempts: bool = True
    delays_cache: bool = False
    """1.36: delayCacheUntilActive."""
    shown: Callable[[dict[str, Any]], dict[str, Any]] = _whole_document
    """Of the document: what /configz shows."""
    written_before: dict[str, Any] | None = None
    """What ``--write-config-to`` writes before the process goes on (1.16); None: the document, and nothing goes on."""


# --- 1.16 ----------------------------------------------------------------------------------------------


def of_legacy(spec: EngineSpec, flags: FlagValues, notice: Notice) -> Configured:
    """With a file, the file alone counts; ``--write-config-to`` writes what the flags say all the same."""
    bare = _with_legacy_flags(msgspec.structs.replace(spec, config_file=None), flags)
    by_flags = _v1alpha1_of(bare, flags)
    config = _bare(lambda: read_component(spec), spec)
    if config is None:
        config, spec = by_flags, bare
    else:
        for note in ignored_beside_file(flags, (*SOURCES, *BESIDES, *CONNECTION, *ELECTION)):
            notice(note)
    return Configured(
        spec=msgspec.structs.replace(spec, percentage_of_nodes_to_score=config.percentage_of_nodes_to_score),
        config=config,
        document=lambda _: v1alpha1_document(config),
        addresses=(config.healthz_bind_address, config.metrics_bind_address),
        policy_place=config.policy_configmap,
        preempts=not config.disable_preemption,
        written_before=v1alpha1_document(by_flags),
    )


def _v1alpha1_of(spec: EngineSpec, flags: FlagValues) -> V1Alpha1Config:
    """The configuration that the flags alone say."""
    config, place = component_of_flags(msgspec.structs.replace(spec, percentage_of_nodes_to_score=0)), _configmap(flags)
    return _filled(
        msgspec.structs.replace(
            config, provider=None if place else config.provider, policy_configmap=place, **_addresses(flags)
        ),
        flags,
    )


# --- 1.20 and 1.36 -------------------------------------------------------------------------------------


def of_framework(spec: EngineSpec, flags: FlagValues, notice: Notice) -> Configured:
    """With a file, 1.20 lets the flags of the algorithm count, and 1.36 those of the election."""
    legacy, form = spec.record.reads_policies, spec.record.framework_rules.component
    if spec.config_file is not None:
        _check_file(spec)
    lifted = _bare(lambda: lifted_component(spec), spec)
    counts = spec.config_file is None or not legacy or spec.record.framework_rules.policy_rules.beside_configuration
    if legacy and counts:
        spec = _with_source(spec, flags) if spec.config_file else _with_legacy_flags(spec, flags)

    def whole(spec: EngineSpec) -> SchedulerConfig:
        return _whole(spec, flags, legacy=legacy)

    named = None if lifted is None else lifted.policy_configmap
    config = _bare(lambda: whole(spec if named is None else msgspec.structs.replace(spec, policy=NO_POLICY)), spec)
    if spec.config_file is not None:
        idle = (*(() if counts else SOURCES), *BESIDES, *CONNECTION, *(ELECTION if legacy else ()))
        for note in ignored_beside_file(flags, idle):
            notice(note)
    return Configured(
        spec=spec,
        config=config,
        document=lambda spec: component_document(whole(spec), form),
        addresses=(config.healthz_bind_address, config.metrics_bind_address) if legacy else None,
        policy_place=_configmap(flags) if legacy and counts else named,
        shown=partial(as_given, spec.config_file, flags, lifted) if legacy else _whole_document,
        delays_cache=config.delay_cache_until_active,
    )


def as_given(
    config_file: str | None, flags: FlagValues, lifted: Lifted | None, document: dict[str, Any]
) -> dict[str, Any]:
    """The configuration as 1.20 keeps it: with the profiles that are given, and where the algorithm comes from.

    Profiles are completed where the log says them (``-v 2``). Upstream: LogOrWriteConfig, DeprecatedOptions.ApplyTo.
    """
    shown = {**document, "algorithmSource": _algorithm_source(flags, lifted)}
    if flags["v"] < COMPLETED_FROM:
        given = lifted.document["profiles"] if lifted is not None else _given_profiles(config_file, flags)
        shown["profiles"] = [_given_profile(*pair) for pair in zip(given, document["profiles"], strict=False)]
    return shown


def _algorithm_source(flags: FlagValues, lifted: Lifted | None) -> dict[str, Any]:
    """By a configuration that names it, by flags, else the default provider."""
    place, file, provider = _configmap(flags), flags["policy-config-file"], flags["algorithm-provider"]
    if lifted is not None:
        place, file, provider = lifted.policy_configmap, lifted.policy_file, lifted.provider
    if place is None and file:
        return {"policy": {"file": {"path": file}}}
    if place is not None:
        return {"policy": {"configMap": {"namespace": place.namespace, "name": place.name}}}
    return {"policy": {}} if lifted is not None and provider is None else {"provider": provider or "DefaultProvider"}


def _given_profiles(config_file: str | None, flags: FlagValues) -> list[dict[str, Any]]:
    """Those of the file; without them the default one, with what flags say of it."""
    if config_file is not None:
        said = parse_first_document(read_text(Path(config_file)), config_file)
        return list(said.get("profiles") or [{}])
    weight = flags.said("hard-pod-affinity-symmetric-weight")
    return [{} if weight in (None, 1) else {"pluginConfig": [{"name": "InterPodAffinity"}]}]


def _given_profile(given: dict[str, Any], completed: dict[str, Any]) -> dict[str, Any]:
    """A profile as it is given, its args with their defaults."""
    args = {entry["name"]: entry for entry in completed.get("pluginConfig") or ()}
    entries = [args.get(entry["name"], entry) for entry in given.get("pluginConfig") or ()]
    return {
        "schedulerName": completed["schedulerName"],
        "plugins": given.get("plugins"),
        "pluginConfig": entries or None,
    }


def _whole(spec: EngineSpec, flags: FlagValues, *, legacy: bool) -> SchedulerConfig:
    """The completed configuration with the flags that count beside it."""
    config = spec.component_config(lambda _: None)
    if spec.config_file is None:
        return _filled(msgspec.structs.replace(config, **(_addresses(flags) if legacy else {})), flags)
    if legacy:
        return config
    return msgspec.structs.replace(config, leader_election=overridden(config.leader_election, ELECTION, flags))


def _check_file(spec: EngineSpec) -> None:
    """Raises ConfigError with the release's own text for a file that it does not take."""
    path = Path(spec.config_file or "")
    if not path.exists():
        raise ConfigError(f"open {path}: no such file or directory")
    component_config_from(
        parse_first_document(read_text(path), str(path)),
        spec.record.framework_rules.component,
        all_problems=False,
        points=spec.points(),
        feature_gates=spec.gates,
    )


# --- what both need ------------------------------------------------------------------------------------


def _filled(config: C, flags: FlagValues) -> C:
    """The defaults with what the command line says."""
    whole: C = msgspec.structs.replace(
        overridden(config, PROFILING, flags),
        client_connection=overridden(config.client_connection, CONNECTION, flags),
        leader_election=overridden(config.leader_election, ELECTION, flags),
    )
    return whole


def _addresses(flags: FlagValues) -> dict[str, Any]:
    """Without a file, health and metrics are served at one address; none where the port is 0."""
    host, port = flags["address"], flags["port"]
    text = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return dict.fromkeys(("healthz_bind_address", "metrics_bind_address"), text if port else "")


def _bare(read: Callable[[], Any], spec: EngineSpec) -> Any:
    """What is read; errors without the file's name before them, as upstream gives them."""
    try:
        return read()
    except ConfigError as error:
        name = spec.config_file or "config"
        if spec.config_file and not Path(name).exists():
            raise ConfigError(f"open {name}: no such file or directory") from None
        raise ConfigError(problem.removeprefix(f"{name}: ") for problem in error.problems) from None


def _with_legacy_flags(spec: EngineSpec, flags: FlagValues) -> EngineSpec:
    """With the flags that count only where there is no file."""
    return msgspec.structs.replace(
        _with_source(spec, flags),
        hard_pod_affinity_symmetric_weight=flags.said("hard-pod-affinity-symmetric-weight"),
        scheduler_name=flags.said("scheduler-name"),
    )


def _with_source(spec: EngineSpec, flags: FlagValues) -> EngineSpec:
    """Where the algorithm comes from, if it is no ConfigMap: a file goes before a provider."""
    if _configmap(flags) is not None:
        return spec
    return msgspec.structs.replace(
        spec,
        provider=flags["algorithm-provider"] or None,
        policy_file=flags["policy-config-file"] or None,
        use_legacy_policy_config=flags["use-legacy-policy-config"],
    )


def _configmap(flags: FlagValues) -> ConfigMapName | None:
    """The ConfigMap that the flags name, unless the legacy flag has the file go before it."""
    name = flags["policy-configmap"]
    if not name or flags["use-legacy-policy-config"]:
        return None
    return ConfigMapName(flags["policy-configmap-namespace"], name)


ANSWER = 30.0
"""Seconds that the server has to answer."""


def policy_in_cluster(server: ServerSettings, place: ConfigMapName, agent: str) -> dict[str, Any]:
    """The policy that a ConfigMap holds. Raises ConfigError with upstream's text when it cannot be had."""
    with IoThread() as io:
        manifest = io.wait(_read(server, place, agent))
    return configmap_policy({"kind": "ConfigMap", **manifest}, f"{place.namespace}/{place.name}")


async def _read(server: ServerSettings, place: ConfigMapName, agent: str) -> dict[str, Any]:
    client = ApiClient(await server.access(), ClientOptions(Limits(server.qps, server.burst), agent, ANSWER))
    try:
        path = f"/api/v1/namespaces/{place.namespace}/configmaps/{place.name}"
        manifest: dict[str, Any] = (await client.request("GET", path)).document()
    except ApiError as error:
        raise ConfigError(f"couldn't get policy config map {place.namespace}/{place.name}: {error}") from None
    finally:
        await client.close()
    return manifest


class CommandLine(msgspec.Struct, frozen=True, eq=False):
    """What the user of one run says."""

    release: LiveRelease
    flags: FlagValues
    plugins: tuple[PluginOption, ...] = ()
    context: str | None = None
    """Of the kubeconfig."""
    environment: Mapping[str, str] = msgspec.field(default_factory=dict)


def settings_of(line: CommandLine, notice: Notice, wrote: Callable[[str], None]) -> LiveSettings | None:
    """Everything that a process is started with; None when a configuration was to be written, and nothing else.

    notice: called with what a user may not expect. wrote: called with the path of a configuration that was written.
    Raises ConfigError with upstream's text.
    """
    release, flags = line.release, line.flags
    spec = _spec(line, notice)
    faults = release.faults(flags, overridden(LeaderElection(resource_lock=release.lock), ELECTION, flags))
    refuse(faults)
    configured = (of_legacy if spec.record.framework is None else of_framework)(spec, flags, notice)
    if spec.config_file:
        refuse(release.loaded_faults(configured.config.leader_election))
    return _settled(line, configured, notice, wrote)


def _spec(line: CommandLine, notice: Notice) -> EngineSpec:
    """The scheduler that decides, so far as no file says more."""
    spec = EngineSpec(
        release=line.release.name,
        plugins=line.plugins,
        max_pd_volumes=max_pd_volumes(line.environment),
        config_file=line.flags["config"] or None,
        samples_by_default=True,
    )
    gates, notes = gates_of(line.flags, spec.record.gates)
    for note in notes:
        notice(note)
    return msgspec.structs.replace(spec, feature_gates=gates)


def _settled(
    line: CommandLine, configured: Configured, notice: Notice, wrote: Callable[[str], None]
) -> LiveSettings | None:
    """The engine is made, and written if that is asked for."""
    release, flags, spec, said = line.release, line.flags, configured.spec, configured.config.client_connection
    server = ServerSettings(said.kubeconfig, line.context, flags["master"], said.qps, said.burst)
    target = flags["write-config-to"]
    if target and configured.written_before is not None:
        _write(Path(target), configured.written_before)
        wrote(target)
    if configured.policy_place is not None:
        agent = f"kube-scheduler/{release.version}"
        spec = msgspec.structs.replace(spec, policy=policy_in_cluster(server, configured.policy_place, agent))
    engine, document = spec.engine(notice), configured.document(spec)
    if target and configured.written_before is None:
        _write(Path(target), document)
        wrote(target)
        return None
    insecure = () if configured.addresses is None else insecure_ports(*configured.addresses)
    profiling = configured.config.enable_profiling
    shown, disabled = flags.said("show-hidden-metrics-for-version"), flags.said("disabled-metrics")
    unschedulable = flags.said("pod-max-in-unschedulable-pods-duration")  # counts with a configuration file, too
    return LiveSettings(
        release,
        engine,
        server,
        configured.config.leader_election,
        configured.preempts,
        serving_settings(release.flags, flags, configured.shown(document), insecure, profiling=profiling),
        metrics=MetricsSettings(bool(shown), tuple(disabled or ())),
        delays_cache=configured.delays_cache,
        unschedulable_seconds=None if unschedulable is None else unschedulable / SECOND,
    )


def _write(path: Path, document: Mapping[str, Any]) -> None:
    """Raises ConfigError with upstream's text for a file that cannot be written."""
    try:
        path.write_text(document_yaml(document), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"open {path}: {(error.strerror or str(error)).lower()}") from None
