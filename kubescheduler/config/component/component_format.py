"""The KubeSchedulerConfiguration of one release: which versions it reads, and how it reads, checks and writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

if TYPE_CHECKING:
    from kubescheduler.config.component.config_schema import Written, WrittenProfile
    from kubescheduler.config.go_decoding import Fault, UnknownKey
    from kubescheduler.framework.args.document_schema import Struct
    from kubescheduler.framework.args.field_errors import FieldError
    from kubescheduler.framework.contract.profile import PluginSet, Point, Profile, SchedulerConfig
    from kubescheduler.framework.plugins.plugin_record import InTreePlugin
    from kubescheduler.framework.profiles.default_plugins import PluginPoints, Providers


class UnknownText(Protocol):
    """The text for the first key that is not known, when the release reports it before everything else."""

    def __call__(self, document: Mapping[str, Any], key: UnknownKey, struct: Struct, version: str) -> str: ...


class ConfigMapName(msgspec.Struct, frozen=True):
    """Where a ConfigMap is in the cluster."""

    namespace: str = ""
    name: str = ""


class Lifted(msgspec.Struct, frozen=True):
    """A document of an older apiVersion, said in the release's own, and where it says that the algorithm comes from.

    One of provider, policy_file and policy_configmap is set.
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


class Lift(Protocol):
    """Raises ConfigError with every fault and its path. strict: what the release ignores is a fault."""

    def __call__(self, document: Mapping[str, Any], release: str, *, strict: bool) -> Lifted: ...


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
    lifts: Mapping[str, Lift] = {}
    """Those of them that are read as what they come to in ``native``."""
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
    unknown_text: UnknownText | None = None
    """The text for the first unknown key; None: unknown keys are reported all at once, after everything else."""
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


class DocumentRules(msgspec.Struct, frozen=True):
    """How one document is read."""

    form: ComponentFormat
    version: str
    """Its apiVersion."""
    provider: str
    """1.20: the algorithm provider whose plugins the profiles start from."""
    points: PluginPoints
    """Of every plugin there is."""
    gates: Mapping[str, bool]
    """Those that are not named have the release's default."""
