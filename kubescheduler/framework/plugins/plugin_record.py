"""What a plugin that comes with the scheduler says of itself, release by release, and which of them run by default.

Everything that lists plugins derives from these records: which there are, where they take part, which args they read,
which events let a pod be tried again, and their pages of the documentation. Which run by default, in which order, a
release's own file names: the plugins of each provider at each point, or those of ``multiPoint``.

At the end is what those of 1.36 read of a pod, for its signature. Upstream: 1.36 signers and the plugins' SignPod.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from clusterstate.devices.resource_claims import delegated_resources
from clusterstate.errors import ConfigError
from clusterstate.objects import (
    EphemeralClaim,
    EphemeralVolume,
    NodeAffinity,
    NodeSelectorTerm,
    Requirement,
    VolumeSource,
)
from clusterstate.usage import CPU, EPHEMERAL_STORAGE, MEMORY
from kubescheduler.framework.contract.plugin import Fragments, PluginFactory, Sign, SignedPod
from kubescheduler.framework.contract.profile import Enabled, Point
from kubescheduler.framework.document_schema import NO_GATES, ArgsType, FieldError, Struct
from kubescheduler.queue.queueing_hints import Registered
from predicates.node_identity import needed_features
from priorities.image_locality import normalized_image_name

UNSCHEDULABLE = "Unschedulable"
UNRESOLVABLE = "UnschedulableAndUnresolvable"
BY_NODE = f"{UNSCHEDULABLE} or {UNRESOLVABLE}"
"""The code of a reason differs from node to node."""


class PluginReason(msgspec.Struct, frozen=True):
    """A reason for which a plugin refuses a pod or a node."""

    text: str
    """With ``<NAME>`` for what varies."""
    code: str
    """The name of its status' code, ``BY_NODE`` where it depends on the node."""
    point: str = "Filter"
    """Where it is given; several points are separated by commas."""


class InTreePlugin(msgspec.Struct, frozen=True, eq=False):
    """A plugin of one release, as the plugin's own file states it."""

    name: str
    """As configurations name it."""
    points: frozenset[Point]
    """Where it takes part."""
    make: PluginFactory
    """Makes the plugin of its args and a Handle.

    Its docstring says what the plugin does (``kubescheduler.report.rule_pages``): that of the newest release in full,
    that of an older one what differs there.
    """
    args: ArgsType | None = None
    """The args that it reads; None: it has none of a type of its own, and gets what the configuration says as it is."""
    reasons: tuple[PluginReason, ...] = ()
    """Why it refuses pods and nodes."""
    default_weight: int = 0
    """The weight of its score in the default lists of the release; 0: it is listed without a weight."""
    gate: str = ""
    """The feature gate without which the default lists leave it out; empty: they have it always, or never."""
    gate_default: bool = True
    """Whether that gate is on when nothing is said of it."""
    events: tuple[Registered, ...] | None = None
    """1.36: the events, with the gates' defaults, after which a pod that it refused may fit.

    None: it registers nothing, so every event counts.
    """


def by_name(*plugins: InTreePlugin) -> dict[str, InTreePlugin]:
    """Plugin → its record."""
    return {plugin.name: plugin for plugin in plugins}


def factories(plugins: Mapping[str, InTreePlugin]) -> dict[str, PluginFactory]:
    """Plugin → what makes it of its args and a Handle."""
    return {name: plugin.make for name, plugin in plugins.items()}


def points_by_plugin(plugins: Mapping[str, InTreePlugin]) -> dict[str, frozenset[Point]]:
    """Plugin → where it takes part."""
    return {name: plugin.points for name, plugin in plugins.items()}


def events_by_plugin(plugins: Mapping[str, InTreePlugin]) -> dict[str, tuple[Registered, ...]]:
    """Plugin → the events that it registers; those that register nothing are left out."""
    return {name: plugin.events for name, plugin in plugins.items() if plugin.events is not None}


# --- args --------------------------------------------------------------------------------------


def args_types(plugins: Mapping[str, InTreePlugin]) -> dict[str, ArgsType]:
    """Plugin → its args; plugins without args of a type of their own are left out."""
    return {name: plugin.args for name, plugin in plugins.items() if plugin.args is not None}


def args_keys(plugins: Mapping[str, InTreePlugin], feature_gates: Mapping[str, bool] = NO_GATES) -> dict[str, Struct]:
    """Plugin → the object that a configuration gives as its args; gates not named have the release's default."""
    return {name: kind.keys(feature_gates) for name, kind in args_types(plugins).items()}


def args_errors(plugins: Mapping[str, InTreePlugin], name: str, args: Any) -> list[FieldError]:
    """What the release finds wrong with the args of a plugin, paths beginning at the args; None has no fault."""
    kind = args_types(plugins).get(name)
    return [] if kind is None or args is None else list(kind.errors(args))


PluginPoints = Mapping[str, Collection[Point]]
"""Plugin name → the points it takes part in."""

DEFAULT_PROVIDER = "DefaultProvider"
AUTOSCALER_PROVIDER = "ClusterAutoscalerProvider"

Providers = Mapping[str, Mapping[Point, tuple[str, ...]]]
"""Algorithm provider → the names of its plugins at each point, with feature gate DefaultPodTopologySpread on."""

InTree = Mapping[str, InTreePlugin]
"""Plugin → its record, of every plugin that comes with a release."""


STORAGE_SCORES = "VolumeCapacityPriority"
"""The feature gate with which VolumeBinding scores, where providers say what runs."""


def provider_plugins(
    lists: Mapping[Point, Iterable[str]],
    plugins: InTree,
    feature_gates: Mapping[str, bool] = {},
    *,
    selector_spread: bool = False,
) -> dict[Point, tuple[Enabled, ...]]:
    """A provider's plugins with the release's weights, without those whose gates are off, where they take part. Gates
    that are not named have the release's default. selector_spread: the gate DefaultPodTopologySpread is off.
    """

    def enabled(point: Point, names: Iterable[str]) -> tuple[Enabled, ...]:
        return tuple(
            Enabled(plugin.name, plugin.default_weight if point is Point.SCORE else 0)
            for plugin in _records(names, plugins)
            if _is_on(plugin, feature_gates) and point in plugin.points
        )

    more = ("SelectorSpread",) if selector_spread else ()
    storage = ("VolumeBinding",) if feature_gates.get(STORAGE_SCORES, False) else ()
    beside = {Point.PRE_SCORE: more, Point.SCORE: (*more, *storage)}
    return {point: enabled(point, (*names, *beside.get(point, ()))) for point, names in lists.items()}


def enabled_everywhere(
    names: Iterable[str], plugins: InTree, feature_gates: Mapping[str, bool] = {}
) -> tuple[Enabled, ...]:
    """A ``multiPoint`` list with the release's weights, without the plugins whose gates are off.

    Gates that are not named have the release's default.
    """
    records = _records(names, plugins)
    return tuple(Enabled(plugin.name, plugin.default_weight) for plugin in records if _is_on(plugin, feature_gates))


def _records(names: Iterable[str], plugins: InTree) -> list[InTreePlugin]:
    """Raises ConfigError for one that is not there, as in a release without a change of its that others build on."""
    listed = list(names)
    if missing := [name for name in listed if name not in plugins]:
        raise ConfigError(f'plugin "{missing[0]}" does not exist')
    return [plugins[name] for name in listed]


def _is_on(plugin: InTreePlugin, feature_gates: Mapping[str, bool]) -> bool:
    return not plugin.gate or feature_gates.get(plugin.gate, plugin.gate_default)


PLAIN = frozenset({CPU, MEMORY, EPHEMERAL_STORAGE})
"""The resources that upstream counts in fields of their own, where 0 is the same as nothing."""
UNCOUNTED_VOLUMES = ("configMap", "secret")


def sign_node_name(given: SignedPod) -> Fragments:
    """``spec.nodeName``."""
    return {"nodeName": given.pod.node_name}


def sign_tolerations(given: SignedPod) -> Fragments:
    """The tolerations, ordered by key and value."""
    return {"tolerations": sorted(given.info.spec.tolerations, key=lambda one: (one.key.encode(), one.value.encode()))}


def sign_host_ports(given: SignedPod) -> Fragments:
    """The host ports of all containers, whatever their protocol and host IP."""
    spec = given.info.spec
    containers = (*spec.containers, *spec.init_containers)
    return {"hostPorts": {port.host_port for one in containers for port in one.ports if port.host_port}}


def sign_images(given: SignedPod) -> Fragments:
    """The images of all containers, each once."""
    spec = given.info.spec
    return {"images": {normalized_image_name(one.image) for one in (*spec.containers, *spec.init_containers)}}


def sign_features(given: SignedPod) -> Fragments:
    """The features that nodes must declare."""
    return {"features": needed_features(given.info.spec)}


# --- resources ---------------------------------------------------------------------------------


def sign_resources(given: SignedPod) -> Fragments:
    """What a node must have free."""
    request = given.info.usage.request
    return {"resources": {name: amount for name, amount in request.items() if amount or name not in PLAIN}}


def sign_undelegated_resources(given: SignedPod) -> Fragments | None:
    """The same; None for a pod that asks for a resource which a DeviceClass provides."""
    request = given.info.usage.request
    scalars = {name for name, amount in request.items() if amount and name not in PLAIN}
    if scalars and scalars & delegated_resources(given.snapshot):
        return None
    return sign_resources(given)


def signed_resources(feature_gates: Mapping[str, bool]) -> Sign:
    """The sign of plugins that count resources, under a scheduler's feature gates."""
    return sign_undelegated_resources if feature_gates.get("DRAExtendedResource", True) else sign_resources


# --- affinity ----------------------------------------------------------------------------------


def sign_node_affinity(given: SignedPod) -> Fragments:
    """The node selector, and the node affinity whatever the order of its terms, requirements and values."""
    spec = given.info.spec
    affinity = None if spec.affinity is None else spec.affinity.node_affinity
    return {"nodeAffinity": _affinity(affinity), "nodeSelector": dict(spec.node_selector)}


def _affinity(affinity: NodeAffinity | None) -> Any:
    if affinity is None:
        return None
    required = sorted(map(_term, affinity.required or ()))
    return required, sorted((one.weight, _term(one.preference)) for one in affinity.preferred)


def _term(term: NodeSelectorTerm) -> Any:
    return _requirements(term.match_expressions), _requirements(term.match_fields)


def _requirements(requirements: Iterable[Requirement]) -> Any:
    return sorted((one.key, one.operator, sorted(one.values)) for one in requirements)


def sign_no_pod_affinity(given: SignedPod) -> Fragments | None:
    """Nothing of a pod without pod affinity; None for a pod that has some."""
    return None if given.info.has_pod_affinity else {}


def sign_labels(given: SignedPod) -> Fragments | None:
    """The labels, by which running pods' own terms pick the pod; None for a pod that has pod affinity."""
    return None if given.info.has_pod_affinity else {"labels": dict(given.info.labels)}


def sign_no_constraints(given: SignedPod) -> Fragments | None:
    """Nothing of a pod without topologySpreadConstraints; None for a pod that has some."""
    return None if given.info.spec.topology_spread_constraints else {}


# --- volumes and devices -----------------------------------------------------------------------


def sign_volumes(given: SignedPod) -> Fragments:
    """The volumes whatever their order, but for those of ConfigMaps and Secrets.

    Volumes of types that scheduling does not read count where the pod's manifest was kept.
    """
    if given.pod.manifest is None:
        return {"volumes": sorted(map(_read, given.info.spec.volumes))}
    spec = given.pod.manifest.get("spec") or {}
    sources = ({key: v for key, v in one.items() if key != "name"} for one in spec.get("volumes") or ())
    return {"volumes": sorted(map(_written, filter(_counts, sources)))}


def _read(volume: VolumeSource) -> str:
    """An ephemeral volume is the same for all pods of a workload, though each pod has a claim of its own."""
    return "ephemeral" if isinstance(volume, EphemeralVolume | EphemeralClaim) else repr(volume)


def _counts(source: Mapping[str, Any]) -> bool:
    return all(source.get(kind) is None for kind in UNCOUNTED_VOLUMES)


def _written(source: Mapping[str, Any]) -> str:
    import json

    return json.dumps(source, sort_keys=True, default=str)


def sign_no_claims(given: SignedPod) -> Fragments | None:
    """Nothing of a pod without resourceClaims; None for a pod that has some."""
    return None if given.info.spec.resource_claims else {}
