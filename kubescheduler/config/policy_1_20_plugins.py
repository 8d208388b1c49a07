"""Policies and providers of release 1.20 as profiles.

First the predicates and priorities that it knows, and the plugins they stand for; then where it takes its algorithm
from; then the plugins that a policy becomes, with their weights and args. Upstream: 1.20 legacy_registry.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import msgspec

from clusterstate.errors import ConfigError, nearest
from kubecel.api_names import go_quote
from kubescheduler.config.config_text import read_policy_configmap, read_policy_file
from kubescheduler.config.policy_model import Policy, PredicatePolicy, PriorityPolicy, ignored_resources, int32, ordered
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME, Enabled, Point, Profile
from kubescheduler.framework.document_schema import invalid, required
from kubescheduler.framework.plugins.inter_pod_affinity import InterPodAffinityArgs
from kubescheduler.framework.plugins.node_resources_fit import NodeResourcesFitArgs
from kubescheduler.framework.plugins.nodes import NodeLabelArgs
from kubescheduler.framework.plugins.plugin_record import (
    AUTOSCALER_PROVIDER,
    DEFAULT_PROVIDER,
    InTree,
    Providers,
    provider_plugins,
)
from kubescheduler.framework.plugins.pod_topology_spread import PodTopologySpreadArgs
from kubescheduler.framework.plugins.resource_scores import RequestedToCapacityRatioArgs
from kubescheduler.framework.plugins.services import ServiceAffinityArgs

if TYPE_CHECKING:
    from kubescheduler.extender.config import ExtenderConfig


PREDICATE_ALIASES: dict[str, str] = {"PodFitsPorts": "PodFitsHostPorts"}
PRIORITY_ALIASES: dict[str, str] = {"ServiceSpreadingPriority": "SelectorSpreadPriority"}

LABEL_PREDICATE = "CheckNodeLabelPresence"
SERVICE_PREDICATE = "CheckServiceAffinity"

PREDICATES: dict[str, tuple[str, ...]] = {
    "CheckNodeUnschedulable": ("NodeUnschedulable",),
    "GeneralPredicates": ("NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity"),
    "HostName": ("NodeName",),
    "PodFitsHostPorts": ("NodePorts",),
    "MatchNodeSelector": ("NodeAffinity",),
    "PodFitsResources": ("NodeResourcesFit",),
    "NoDiskConflict": ("VolumeRestrictions",),
    "PodToleratesNodeTaints": ("TaintToleration",),
    LABEL_PREDICATE: ("NodeLabel",),
    SERVICE_PREDICATE: ("ServiceAffinity",),
    "MaxEBSVolumeCount": ("EBSLimits",),
    "MaxGCEPDVolumeCount": ("GCEPDLimits",),
    "MaxCSIVolumeCountPred": ("NodeVolumeLimits",),
    "MaxAzureDiskVolumeCount": ("AzureDiskLimits",),
    "MaxCinderVolumeCount": ("CinderLimits",),
    "CheckVolumeBinding": ("VolumeBinding",),
    "NoVolumeZoneConflict": ("VolumeZone",),
    "EvenPodsSpread": ("PodTopologySpread",),
    "MatchInterPodAffinity": ("InterPodAffinity",),
}
"""Predicate → its Filter plugins; in the order in which they are put in the profile, whatever the policy's order."""

MANDATORY_PREDICATES: tuple[str, ...] = ("PodToleratesNodeTaints", "CheckNodeUnschedulable")

DEFAULT_PREDICATES: tuple[str, ...] = (
    "NoVolumeZoneConflict",
    "MaxEBSVolumeCount",
    "MaxGCEPDVolumeCount",
    "MaxAzureDiskVolumeCount",
    "MaxCSIVolumeCountPred",
    "MatchInterPodAffinity",
    "NoDiskConflict",
    "GeneralPredicates",
    "PodToleratesNodeTaints",
    "CheckVolumeBinding",
    "CheckNodeUnschedulable",
    "EvenPodsSpread",
)
"""Those of a policy without a list."""

EQUAL = "EqualPriority"
"""Passed over, with whatever it says."""
SELECTOR_SPREAD = "SelectorSpreadPriority"
EVEN_SPREAD = "EvenPodsSpreadPriority"
INTER_POD_AFFINITY = "InterPodAffinityPriority"

RATIO_PLUGIN = "RequestedToCapacityRatio"
LABEL_PLUGIN = "NodeLabel"
SERVICE_PLUGIN = "ServiceAffinity"

PRIORITIES: dict[str, str] = {
    SELECTOR_SPREAD: "PodTopologySpread",
    EVEN_SPREAD: "PodTopologySpread",
    INTER_POD_AFFINITY: "InterPodAffinity",
    "LeastRequestedPriority": "NodeResourcesLeastAllocated",
    "MostRequestedPriority": "NodeResourcesMostAllocated",
    "BalancedResourceAllocation": "NodeResourcesBalancedAllocation",
    "NodePreferAvoidPodsPriority": "NodePreferAvoidPods",
    "NodeAffinityPriority": "NodeAffinity",
    "TaintTolerationPriority": "TaintToleration",
    "ImageLocalityPriority": "ImageLocality",
    RATIO_PLUGIN: RATIO_PLUGIN,
    LABEL_PLUGIN: LABEL_PLUGIN,
    SERVICE_PLUGIN: SERVICE_PLUGIN,
}
"""Priority → its Score plugin. A priority with an argument is named as its plugin, which is a key here too."""

DEFAULT_PRIORITIES: dict[str, int] = {
    SELECTOR_SPREAD: 1,
    INTER_POD_AFFINITY: 1,
    "LeastRequestedPriority": 1,
    "BalancedResourceAllocation": 1,
    "NodePreferAvoidPodsPriority": 10000,
    "NodeAffinityPriority": 1,
    "TaintTolerationPriority": 1,
    "ImageLocalityPriority": 1,
    EVEN_SPREAD: 2,
}
"""Those of a policy without a list, with their weights."""


class DefaultLists(msgspec.Struct, frozen=True, eq=False):
    """What a release with plugins selects where a policy has no list, as predicates and priorities."""

    predicates: tuple[str, ...]
    priorities: Mapping[str, int]
    """Priority → its weight."""
    exchanged: Mapping[str, Mapping[str, str]] = msgspec.field(default_factory=dict)
    """Provider → priority → the one that it has instead."""


DEFAULT_LISTS_1_20 = DefaultLists(
    DEFAULT_PREDICATES,
    DEFAULT_PRIORITIES,
    {AUTOSCALER_PROVIDER: {"LeastRequestedPriority": "MostRequestedPriority"}},
)


def policy_name_hint(plugin: str, known: Collection[str]) -> str:
    """What a policy calls that which a plugin of this name does, if it is known; empty for other names."""
    does = [
        *((name, plugins) for name, plugins in PREDICATES.items()),
        *((name, (one,)) for name, one in PRIORITIES.items()),
    ]
    found = [name for name, plugins in does if plugins == (plugin,) and name != plugin and name in known]
    return f"; in a policy it is called {found[-1]}" if found else ""


def plugin_name_hint(rule: str, known: Collection[str], gone: Mapping[str, str]) -> str:
    """Which plugins do what a predicate or priority of this name does; where they are gone, what to do instead."""
    plugins = dict.fromkeys((*PREDICATES.get(rule, ()), PRIORITIES.get(rule, "")))
    if there := [name for name in plugins if name in known]:
        return f"; in a profile it is {' and '.join(there)}"
    return next((f"; {gone[name]}" for name in plugins if name in gone), "")


def predicate_name(name: str) -> str:
    """The name that an alias stands for."""
    return PREDICATE_ALIASES.get(name, name)


def priority_name(name: str) -> str:
    """The name that an alias stands for."""
    return PRIORITY_ALIASES.get(name, name)


class AlgorithmSource(msgspec.Struct, frozen=True):
    """Exactly one is set: a provider's name, or the path of a policy or of a ConfigMap's manifest."""

    provider: str | None = None
    policy_file: str | None = None
    policy_configmap: str | None = None

    def read_policy(self) -> dict[str, Any] | None:
        """The policy's document, None for a provider. Raises ConfigError with the release's texts."""
        if self.policy_configmap is not None:
            return read_policy_configmap(Path(self.policy_configmap))
        if self.policy_file is not None:
            return read_policy_file(Path(self.policy_file))
        return None


def algorithm_source_1_20(
    *,
    provider: str | None = None,
    policy_file: str | None = None,
    policy_configmap: str | None = None,
    use_legacy_policy_config: bool = False,
) -> AlgorithmSource:
    """What the flags select: a ConfigMap before a file, unless the legacy flag is set; a policy before a provider.

    Raises ConfigError when the legacy flag is set without a file.
    """
    if use_legacy_policy_config and not policy_file:
        raise ConfigError(str(required("policyConfigFile", "required when --use-legacy-policy-config is true")))
    if policy_configmap and not use_legacy_policy_config:
        return AlgorithmSource(policy_configmap=policy_configmap)
    if policy_file:
        return AlgorithmSource(policy_file=policy_file)
    return AlgorithmSource(provider=provider or DEFAULT_PROVIDER)


def refuse_policy_beside(configuration: Mapping[str, Any]) -> None:
    """Raises ConfigError for a component configuration that no policy can be set with.

    One with several profiles, or with plugins or plugin args in its profile. ``configuration``: as written.
    """
    profiles = configuration.get("profiles") or []
    if len(profiles) > 1 or any(
        profile.get("plugins") is not None or profile.get("pluginConfig")
        for profile in profiles
        if isinstance(profile, Mapping)
    ):
        raise ConfigError("cannot set a Plugin config and Policy config")


def hard_weight_error_1_20(weight: int) -> str | None:
    """The text for a ``--hard-pod-affinity-symmetric-weight`` out of range."""
    if 0 <= weight <= 100:
        return None
    return str(invalid("hardPodAffinitySymmetricWeight", weight, "not in valid range [0-100]"))


def from_provider_1_20(name: str) -> str:
    """What the release puts before the texts of what it cannot make from a provider."""
    return f"couldn't create scheduler using provider {go_quote(name)}: "


def profile_for_provider_1_20(
    name: str,
    feature_gates: Mapping[str, bool],
    *,
    providers: Providers,
    plugins: InTree,
    hard_weight: int | None = None,
) -> Profile:
    """A provider's plugins as a profile. Raises ConfigError for an unknown name: the release's text, and the nearest
    name or all there are.

    hard_weight: the weight of required pod affinity that a flag gives; it lasts only without a component configuration.
    providers, plugins: what the release registers.
    """
    if name not in providers:
        known = nearest(name, providers) or f"; there are {' and '.join(providers)}"
        text = f"{from_provider_1_20(name)}algorithm provider {go_quote(name)} is not registered"
        raise ConfigError(text + known)
    spreads = feature_gates.get("DefaultPodTopologySpread", True)
    affinity = () if hard_weight is None else (("InterPodAffinity", InterPodAffinityArgs(hard_weight)),)
    return Profile(
        scheduler_name=DEFAULT_SCHEDULER_NAME,
        plugins=provider_plugins(providers[name], plugins, feature_gates, selector_spread=not spreads),
        plugin_config=affinity,
    )


BESIDE_FILTER = (Point.PRE_FILTER, Point.RESERVE, Point.PRE_BIND)
"""The points at which a Filter plugin is enabled besides, where it takes part there."""

ALWAYS: dict[Point, str] = {
    Point.QUEUE_SORT: "PrioritySort",
    Point.POST_FILTER: "DefaultPreemption",
    Point.BIND: "DefaultBinder",
}
"""Point → the plugin that every policy gets."""

SPREAD = "PodTopologySpread"


def all_defaults(_: Mapping[str, bool]) -> frozenset[str]:
    """None of the default lists is left out."""
    return frozenset()


def spreads_by_gate(gates: Mapping[str, bool]) -> bool:
    """Whether PodTopologySpread spreads by default."""
    return gates["DefaultPodTopologySpread"]


class PolicyRules(msgspec.Struct, frozen=True, eq=False):
    """How a release with plugins reads policies and names of providers: by default as 1.20 does."""

    release: str = "1.20"
    """The release's name, for texts."""
    always: Mapping[Point, str] = msgspec.field(default_factory=lambda: ALWAYS)
    """Point → the plugin that every policy gets."""
    merges: bool = True
    """A plugin that several entries lead to is there once; otherwise it is there twice, which the framework refuses."""
    ends_process: bool = True
    """An entry that cannot be registered ends the process; otherwise it is an error like others."""
    defaults: DefaultLists = DEFAULT_LISTS_1_20
    """What is selected where a policy has no list, and by providers."""
    without: Callable[[Mapping[str, bool]], frozenset[str]] = all_defaults
    """Of the feature gates: predicates and priorities that are not selected by default."""
    score: Mapping[str, str] = msgspec.field(default_factory=lambda: PRIORITIES)
    """Priority → its Score plugin."""
    spreads: Callable[[Mapping[str, bool]], bool] = spreads_by_gate
    """Of the feature gates: whether SelectorSpreadPriority means PodTopologySpread."""
    hard_weight_error: Callable[[int], str | None] = hard_weight_error_1_20
    """The text for a ``--hard-pod-affinity-symmetric-weight`` out of range."""
    from_provider: Callable[[str], str] = from_provider_1_20
    """What stands before the texts of what cannot be made from the provider of that name."""
    gone: tuple[str, ...] = ()
    """Fields of flags that the release no longer has beside policies."""
    beside_configuration: bool = True
    """Flags that name a policy or provider count beside a component configuration, and args are passed over beside a
    policy; otherwise the flags are passed over, and args are refused."""


RULES_1_20 = PolicyRules()


def policy_profile_1_20(
    policy: Policy,
    feature_gates: Mapping[str, bool],
    known: InTree,
    rules: PolicyRules = RULES_1_20,
) -> tuple[Profile, tuple[ExtenderConfig, ...]]:
    """(the profile that a checked policy means, its extenders in the order they are asked).

    The policy's plugins and args stand in place of all that a configuration says of them. known: the release's plugins.
    """
    selected, weights, args = collect(policy, rules, feature_gates)
    lists = Lists(rules.merges)
    for point, plugin in rules.always.items():
        lists.add(point, plugin)
    _add_predicates(lists, selected, args, known)
    _add_priorities(lists, weights, args, known, rules.score, spreads=rules.spreads(feature_gates))
    ignored = ignored_resources(policy.extenders)
    fit = (("NodeResourcesFit", NodeResourcesFitArgs(ignored_resources=ignored)),) if ignored else ()
    profile = Profile(
        scheduler_name=DEFAULT_SCHEDULER_NAME,
        plugins={point: tuple(plugins) for point, plugins in lists.plugins.items()},
        plugin_config=(*lists.config.items(), *fit),
        run_all_filters=policy.always_check_all_predicates,
    )
    return profile, ordered(policy.extenders)


# --- what is selected ----------------------------------------------------------------------


@attrs.define
class Args:
    """The args that entries with an argument add up to; None where there is no such entry."""

    label: NodeLabelArgs | None = None
    service: ServiceAffinityArgs | None = None
    ratio: RequestedToCapacityRatioArgs | None = None
    affinity: InterPodAffinityArgs | None = None

    def add_predicate(self, entry: PredicatePolicy) -> str:
        """Takes an entry up; the name of its predicate."""
        name = predicate_name(entry.name)
        if name in PREDICATES or entry.argument is None:
            return name
        if affinity := entry.argument.service_affinity:
            self._more_service("affinity_labels", affinity.labels)
            return SERVICE_PREDICATE
        presence = entry.argument.labels_presence
        assert presence is not None
        self._more_label("present_labels" if presence.presence else "absent_labels", presence.labels)
        return LABEL_PREDICATE

    def add_priority(self, entry: PriorityPolicy) -> str:
        """Takes an entry up; the name of its priority."""
        name = priority_name(entry.name)
        if name in PRIORITIES or entry.argument is None:
            return name
        if spread := entry.argument.service_anti_affinity:
            self._more_service("anti_affinity_labels_preference", (spread.label,))
            return SERVICE_PLUGIN
        if preference := entry.argument.label_preference:
            kind = "present" if preference.presence else "absent"
            self._more_label(f"{kind}_labels_preference", (preference.label,))
            return LABEL_PLUGIN
        ratio = entry.argument.requested_to_capacity_ratio
        assert ratio is not None
        shape = tuple((point.utilization, point.score) for point in ratio.shape)
        self.ratio = RequestedToCapacityRatioArgs(shape, tuple((r.name, r.weight) for r in ratio.resources))
        return RATIO_PLUGIN

    def _more_label(self, member: str, labels: tuple[str, ...]) -> None:
        before = self.label or NodeLabelArgs()
        self.label = msgspec.structs.replace(before, **{member: (*getattr(before, member), *labels)})

    def _more_service(self, member: str, labels: tuple[str, ...]) -> None:
        before = self.service or ServiceAffinityArgs()
        self.service = msgspec.structs.replace(before, **{member: (*getattr(before, member), *labels)})


def collect(
    policy: Policy, rules: PolicyRules = RULES_1_20, feature_gates: Mapping[str, bool] = {}
) -> tuple[set[str], dict[str, int], Args]:
    """(predicates, priority → weight as written, args). The last entry of a priority counts."""
    args = Args()
    without = rules.without(feature_gates)
    selected = {name for name in rules.defaults.predicates if name not in without}
    weights = {name: weight for name, weight in rules.defaults.priorities.items() if name not in without}
    if policy.predicates is not None:
        selected = {args.add_predicate(entry) for entry in policy.predicates}
    if policy.priorities is not None:
        entries = [entry for entry in policy.priorities if entry.name != EQUAL]
        weights = {args.add_priority(entry): entry.weight for entry in entries}
    if policy.hard_pod_affinity_symmetric_weight:
        args.affinity = InterPodAffinityArgs(policy.hard_pod_affinity_symmetric_weight)
    return selected.union(MANDATORY_PREDICATES), weights, args


# --- plugins -------------------------------------------------------------------------------


@attrs.define
class Lists:
    """The plugins that a policy is translated to."""

    merges: bool
    """A plugin is there once."""
    plugins: dict[Point, list[Enabled]] = attrs.Factory(dict)
    """Point → the plugins enabled there."""
    config: dict[str, Any] = attrs.Factory(dict)
    """Plugin → its args, in the order of the policy."""

    def add(self, point: Point, plugin: str, weight: int = 0) -> None:
        """Appends a plugin, unless it is in the list and plugins are merged; that one keeps its weight."""
        enabled = self.plugins.setdefault(point, [])
        if not self.merges or all(plugin != there.name for there in enabled):
            enabled.append(Enabled(plugin, weight))

    def configure(self, plugin: str, args: Any) -> None:
        """Gives a plugin its args, unless it has some."""
        if args is not None:
            self.config.setdefault(plugin, args)


def _add_predicates(lists: Lists, selected: set[str], args: Args, known: InTree) -> None:
    for predicate, plugins in PREDICATES.items():
        if predicate not in selected:
            continue
        for plugin in plugins:
            lists.add(Point.FILTER, plugin)
            for point in BESIDE_FILTER:
                if point in known[plugin].points:
                    lists.add(point, plugin)
        if predicate == LABEL_PREDICATE:
            lists.configure(LABEL_PLUGIN, args.label)
        if predicate == SERVICE_PREDICATE:
            lists.configure(SERVICE_PLUGIN, args.service)


def _add_priorities(
    lists: Lists, weights: Mapping[str, int], args: Args, known: InTree, score: Mapping[str, str], *, spreads: bool
) -> None:
    """In the order of names. ``spreads``: SelectorSpreadPriority means PodTopologySpread."""
    for priority in sorted(weights):
        plugin = score[priority]
        weight = int32(weights[priority])
        if priority == SELECTOR_SPREAD and not spreads:
            plugin = plugin if plugin != SPREAD else "SelectorSpread"
        elif priority == SELECTOR_SPREAD:
            lists.config[SPREAD] = PodTopologySpreadArgs(defaulting_type="System")
        elif priority == EVEN_SPREAD:
            lists.configure(SPREAD, PodTopologySpreadArgs(defaulting_type="List"))
        elif priority == INTER_POD_AFFINITY:
            lists.configure(plugin, args.affinity)
        elif priority == RATIO_PLUGIN:
            lists.configure(plugin, args.ratio)
        elif priority == LABEL_PLUGIN and args.label is not None:
            labels = (*args.label.present_labels_preference, *args.label.absent_labels_preference)
            weight = int32(weight * len(labels))
            lists.configure(plugin, args.label)
        elif priority == SERVICE_PLUGIN and args.service is not None:
            weight = int32(weight * len(args.service.anti_affinity_labels_preference))
            lists.configure(plugin, args.service)
        if plugin not in known:  # in a release without a change of its that gives the plugin its name
            raise ConfigError(f'plugin "{plugin}" does not exist')
        if Point.PRE_SCORE in known[plugin].points:
            lists.add(Point.PRE_SCORE, plugin)
        lists.add(Point.SCORE, plugin, weight)
