"""NodeResourcesFit: what the pod asks for is still free; since 1.36 also which node is best by what is in use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import msgspec
import numpy as np

from clusterstate.changes import LOCAL, Reads
from clusterstate.devices.device_requests import DeviceFeatures
from clusterstate.devices.resource_claims import delegated_resources
from clusterstate.errors import ConfigError
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from clusterstate.usage import CPU, EPHEMERAL_STORAGE, MEMORY
from kubecel.api_names import worded_1_20, worded_1_36
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.document_schema import (
    CPU_AND_MEMORY,
    RESOURCES_COUNTED_ONCE,
    SHAPE,
    TEXT,
    UNSORTED,
    UNSORTED_1_20,
    ArgsType,
    Field,
    FieldError,
    ListOf,
    Resources,
    Shape,
    Struct,
    fields,
    forbidden,
    invalid,
    label_name_errors,
    refuse,
    required,
    shape_errors,
    unsupported,
)
from kubescheduler.framework.plugins.plugin_record import (
    BY_NODE,
    UNRESOLVABLE,
    UNSCHEDULABLE,
    InTreePlugin,
    PluginReason,
    signed_resources,
)
from kubescheduler.queue.queueing_hints import DEVICE_CLASS, NODE, POD, Action, Registered
from predicates import resources as rule
from predicates.refusal_evidence import filter_evidence
from predicates.resources import Ignored
from predicates.types import FitPredicate, Verdict
from priorities.requested_framework import (
    Devices,
    devices_for,
    least,
    mean_1_36,
    mean_evidence_1_36,
    most,
    no_devices,
    pod_without_overhead,
    ratio_evidence_1_36,
    reads_of,
    requested_to_capacity_ratio_1_36,
)
from priorities.score_evidence import Calculation, RuleEvidence
from priorities.types import Map, PriorityConfig, curve, scaled

NAME = "NodeResourcesFit"
SIDECARS_GATE = "SidecarContainers"
POINTS_1_20 = frozenset({Point.PRE_FILTER, Point.FILTER})
POINTS_1_22 = POINTS_1_20 | {Point.SCORE}
POINTS_1_27 = POINTS_1_20 | {Point.PRE_SCORE, Point.SCORE}
POINTS_1_36 = POINTS_1_27 | {Point.PLACEMENT_SCORE}
UNPREPARED = 'error reading "PreFilterNodeResourcesFit" from cycleState: not found'
PLAIN = frozenset({CPU, MEMORY, EPHEMERAL_STORAGE})


class ScoringStrategy(msgspec.Struct, frozen=True):
    """1.36: which node is best by what is in use."""

    type: str = "LeastAllocated"
    """LeastAllocated, MostAllocated or RequestedToCapacityRatio."""
    resources: Resources = CPU_AND_MEMORY
    """(resource, weight 1-100)."""
    shape: Shape | None = None
    """(utilization 0-100, score 0-10) points; None when the configuration has no requestedToCapacityRatio."""


class NodeResourcesFitArgs(msgspec.Struct, frozen=True):
    """Which resources are not tested, and how nodes are scored."""

    ignored_resources: tuple[str, ...] = ()
    """Extended resources that are not tested."""
    ignored_resource_groups: tuple[str, ...] = ()
    """What stands before the ``/`` of those that are not tested."""
    scoring_strategy: ScoringStrategy | None = ScoringStrategy()
    """1.36; None when the configuration takes it away."""


def _ignored(args: NodeResourcesFitArgs) -> Ignored:
    return Ignored(frozenset(args.ignored_resources), frozenset(args.ignored_resource_groups))


def node_resources_fit_1_20(args: NodeResourcesFitArgs | None, _: Handle) -> ColumnPlugin:
    """Cpu, memory and ephemeral storage are tested once anything at all is asked for, so an overcommitted node refuses
    pods that want nothing of what is short. The answer is always Unschedulable. There are no sidecars, pod-level
    requests and resizes. It does not score: NodeResourcesLeastAllocated, NodeResourcesMostAllocated and
    RequestedToCapacityRatio do.

    Upstream: 1.20 NodeResourcesFit. Raises ConfigError for ignored names that cannot be those of resources or groups.
    """
    args = args or NodeResourcesFitArgs()
    refuse(_ignored_errors(args, worded_1_20))
    check = FitPredicate(
        NAME,
        partial(rule.node_resources_fit_1_20, ignored=_ignored(args)),
        Footprint(pod_key=spec_alone, equal_for_equal_usage=True),
        evidence=filter_evidence(NAME, rule.explain_shortage),
    )
    return ColumnPlugin(NAME, POINTS_1_20, check, filter_alone=UNPREPARED)


# --- 1.36 ------------------------------------------------------------------------------------


def node_resources_fit_1_22(args: NodeResourcesFitArgs | None, handle: Handle) -> ColumnPlugin:
    """As in 1.24, but the pod's overhead does not count while nodes are scored.

    Upstream: 1.22 NodeResourcesFit, which does not set enablePodOverhead for its strategies. Raises ConfigError for
    faulty args.
    """
    args = _supported(args)
    score, evidence = _strategy(_last_weights(args.scoring_strategy or ScoringStrategy()), no_devices)
    counts_overhead = handle.feature_gates.get("PodOverhead", True)

    def bare(pod: PodInfo) -> PodInfo:
        return pod_without_overhead(pod) if counts_overhead and pod.spec.overhead else pod

    def explain(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        return evidence.score(bare(pod), snapshot, at)

    scoring = PriorityConfig(
        NAME,
        lambda pod, snapshot: score(bare(pod), snapshot),
        footprint=Footprint(pod_key=spec_alone, equal_for_equal_usage=True),
        evidence=msgspec.structs.replace(evidence, score=explain),
    )
    plugin = node_resources_fit_1_20(args, handle)
    return msgspec.structs.replace(plugin, points=POINTS_1_22, scoring=scoring)


def node_resources_fit_1_36(args: NodeResourcesFitArgs | None, handle: Handle) -> ColumnPlugin:
    """Fails where the node already runs as many pods as it allows, or where what the pod asks for is not free: cpu,
    memory, ephemeral storage, and every other resource it names. Answers UnschedulableAndUnresolvable where the pod
    asks for more than the node has at all. Sidecars, pod-level requests and resizes count. Scores by `scoringStrategy`:
    LeastAllocated, MostAllocated or RequestedToCapacityRatio. A resource that the node does not have, and another than
    cpu and memory that the pod does not ask for, are left out of the score. At placementScore, where pod groups are
    placed as one with feature gate TopologyAwareWorkloadScheduling, it does nothing here.

    Upstream: 1.36 NodeResourcesFit. A row is beyond help where the pod asks for more than the node has at all. Raises
    ConfigError for faulty args.
    """
    return _fit(args, handle, _errors_1_36, helpless=True)


def node_resources_fit_1_34(args: NodeResourcesFitArgs | None, handle: Handle) -> ColumnPlugin:
    """As in 1.36, but a scoringStrategy may have a requestedToCapacityRatio beside any type.

    Upstream: 1.34 NodeResourcesFit. Raises ConfigError for faulty args.
    """
    return _fit(args, handle, _errors_1_34, helpless=True)


def node_resources_fit_1_30(args: NodeResourcesFitArgs | None, handle: Handle) -> ColumnPlugin:
    """The answer is Unschedulable also where the pod asks for more than the node has at all. With feature gate
    SidecarContainers off a pod with sidecars is refused as a whole.

    Upstream: 1.30 NodeResourcesFit. Raises ConfigError for faulty args.
    """
    return _with_sidecars(args, handle, _refusing_as_a_whole)


def node_resources_fit_1_28(args: NodeResourcesFitArgs | None, handle: Handle) -> ColumnPlugin:
    """As in 1.30, but pods with sidecars are refused node by node.

    Upstream: 1.28 NodeResourcesFit. Raises ConfigError for faulty args.
    """
    return _with_sidecars(args, handle, _refusing_by_node)


def _with_sidecars(
    args: NodeResourcesFitArgs | None, handle: Handle, refusing: Callable[[FitPredicate], FitPredicate]
) -> ColumnPlugin:
    """refusing: pods with sidecars, where their feature gate is off."""
    plugin = _fit(args, handle, _errors_1_25)
    assert plugin.check is not None
    if handle.feature_gates.get(SIDECARS_GATE, True):
        return plugin
    assert plugin.check.evidence is not None
    explain = partial(rule.explain_sidecars, plugin.check.evidence.explain)
    check = msgspec.structs.replace(plugin.check, evidence=filter_evidence(NAME, explain))
    return msgspec.structs.replace(plugin, check=refusing(check))


def node_resources_fit_1_27(args: NodeResourcesFitArgs | None, handle: Handle) -> ColumnPlugin:
    """Cpu, memory and ephemeral storage are tested once anything at all is asked for, so an overcommitted node refuses
    pods that want nothing of what is short. There are no sidecars.

    Upstream: 1.27 NodeResourcesFit. Raises ConfigError for faulty args.
    """
    return _testing_always(_fit(args, handle, _errors_1_25), args, rule.node_resources_fit_1_26)


def node_resources_fit_1_26(args: NodeResourcesFitArgs | None, handle: Handle) -> ColumnPlugin:
    """As in 1.27, but of a resource that is listed twice the last weight counts, once.

    Upstream: 1.26 NodeResourcesFit. Raises ConfigError for faulty args.
    """
    return _testing_always(_fit(args, handle, _errors_1_25, once=True), args, rule.node_resources_fit_1_26)


def node_resources_fit_1_25(args: NodeResourcesFitArgs | None, handle: Handle) -> ColumnPlugin:
    """As in 1.26, and scalar resources that are asked for with 0 are tested, too.

    Upstream: 1.25 NodeResourcesFit. Raises ConfigError for faulty args.
    """
    return _testing_always(_fit(args, handle, _errors_1_25, once=True), args, rule.node_resources_fit_1_20)


def node_resources_fit_1_24(args: NodeResourcesFitArgs | None, handle: Handle) -> ColumnPlugin:
    """As in 1.25, with 1.22's texts about args.

    Upstream: 1.24 NodeResourcesFit. Raises ConfigError for faulty args.
    """
    return _testing_always(_fit(_supported(args), handle, _errors_1_22, once=True), args, rule.node_resources_fit_1_20)


def _supported(args: NodeResourcesFitArgs | None) -> NodeResourcesFitArgs:
    """Args that 1.22 builds the plugin with; raises ConfigError for others."""
    args = args or NodeResourcesFitArgs()
    refuse(_errors_1_22(args))
    strategy = args.scoring_strategy or ScoringStrategy()
    if strategy.type not in STRATEGIES:
        raise ConfigError(f"scoring strategy {strategy.type} is not supported")
    return args


def _last_weights(strategy: ScoringStrategy) -> ScoringStrategy:
    """Each resource once, with the last of its weights."""
    return msgspec.structs.replace(strategy, resources=tuple(dict(strategy.resources).items()))


def _refusing_as_a_whole(check: FitPredicate) -> FitPredicate:
    return msgspec.structs.replace(check, pre_filter=rule.sidecars_refused, unresolvable=_of_sidecars)


def _refusing_by_node(check: FitPredicate) -> FitPredicate:
    def refuse_sidecars(pod: PodInfo, snapshot: Snapshot) -> Verdict:
        if rule.has_sidecars(pod):
            return {rule.SIDECARS_ARE_OFF: np.ones(len(snapshot), np.bool_)}
        return check.check(pod, snapshot)

    return msgspec.structs.replace(check, check=refuse_sidecars, unresolvable=_of_sidecars)


def _of_sidecars(reason: str) -> bool:
    return reason == rule.SIDECARS_ARE_OFF


def _testing_always(
    plugin: ColumnPlugin, args: NodeResourcesFitArgs | None, check: Callable[..., Verdict]
) -> ColumnPlugin:
    test = FitPredicate(
        NAME,
        partial(check, ignored=_ignored(args or NodeResourcesFitArgs())),
        Footprint(pod_key=spec_alone, equal_for_equal_usage=True),
        evidence=filter_evidence(NAME, rule.explain_shortage),
    )
    return msgspec.structs.replace(plugin, check=test)


def _fit(
    args: NodeResourcesFitArgs | None,
    handle: Handle,
    errors: Callable[[NodeResourcesFitArgs], Iterator[FieldError]],
    *,
    helpless: bool = False,
    once: bool = False,
) -> ColumnPlugin:
    """errors: what the release finds wrong with args. helpless: rows where the pod asks for more than the node has at
    all are beyond help. once: a resource counts once, however often it is listed.
    """
    args = args or NodeResourcesFitArgs()
    refuse(errors(args))
    strategy = args.scoring_strategy or ScoringStrategy()
    strategy = _last_weights(strategy) if once else strategy
    devices = devices_for([name for name, _ in strategy.resources], DeviceFeatures.of(handle.feature_gates))
    backed = provided_by_class if handle.feature_gates.get("DRAExtendedResource", True) else rule.by_no_class
    ignored = _ignored(args)
    check = FitPredicate(
        NAME,
        partial(rule.node_resources_fit_1_36, ignored=ignored, backed=backed),
        Footprint(
            LOCAL | Reads.RESOURCES,
            narrow=_reads,
            pod_key=spec_alone,
            equal_for_equal_usage=True,
            row_local=_always_alone,
        ),
        beyond=partial(rule.beyond_allocatable_1_36, ignored=ignored, backed=backed) if helpless else None,
        evidence=filter_evidence(NAME, partial(rule.explain_shortage_1_36, backed)),
    )
    score, evidence = _strategy(strategy, devices)
    scoring = PriorityConfig(
        NAME,
        score,
        footprint=Footprint(reads_of(devices), pod_key=spec_alone, equal_for_equal_usage=devices is no_devices),
        evidence=evidence,
    )
    return ColumnPlugin(
        NAME, POINTS_1_36, check, scoring, filter_alone=UNPREPARED, sign=signed_resources(handle.feature_gates)
    )


def provided_by_class(snapshot: Snapshot, resource: str) -> bool:
    """Whether a DeviceClass provides a resource."""
    return resource in delegated_resources(snapshot)


def _reads(pod: PodInfo) -> Reads:
    """Only scalar resources may be devices."""
    return LOCAL if PLAIN.issuperset(pod.usage.request) else LOCAL | Reads.RESOURCES


def _always_alone(_: PodInfo, __: Snapshot) -> bool:
    return True


def _strategy(strategy: ScoringStrategy, devices: Devices) -> tuple[Map, RuleEvidence]:
    shares = {"LeastAllocated": least, "MostAllocated": most}
    if strategy.type in shares:
        share, resources = shares[strategy.type], strategy.resources
        score = partial(mean_1_36, share, resources, devices=devices)
        return score, mean_evidence_1_36(NAME, share, resources, devices)
    shape = scaled(strategy.shape or ())
    score = partial(requested_to_capacity_ratio_1_36, curve(shape), strategy.resources, devices=devices)
    return score, ratio_evidence_1_36(NAME, shape, strategy.resources, devices)


# --- args --------------------------------------------------------------------------------------


RATIO = "RequestedToCapacityRatio"
STRATEGIES = ("LeastAllocated", "MostAllocated", RATIO)
WEIGHTS = range(1, 101)


def _ignored_errors(args: NodeResourcesFitArgs, worded: Callable[[str], str]) -> Iterator[FieldError]:
    """worded: a text about a name as the release has it."""
    for at, name in enumerate(args.ignored_resources):
        yield from label_name_errors(f"ignoredResources[{at}]", name, worded)
    for at, group in enumerate(args.ignored_resource_groups):
        path = f"ignoredResourceGroups[{at}]"
        if "/" in group:
            yield invalid(path, group, "resource group name can't contain '/'")
        yield from label_name_errors(path, group, worded)


def _errors_1_36(args: NodeResourcesFitArgs) -> Iterator[FieldError]:
    yield from _ignored_errors(args, worded_1_36)
    strategy = args.scoring_strategy
    if strategy is None:
        yield required("scoringStrategy", "ScoringStrategy field is required")
        return
    yield from _type_and_weight_errors(strategy)
    ratio = "scoringStrategy.requestedToCapacityRatio"
    if strategy.type != RATIO and strategy.shape is not None:
        yield forbidden(ratio, f"must be nil when type is not {RATIO}")
    else:
        yield from _ratio_errors(strategy, f"{ratio}.shape", UNSORTED)


def _errors_1_25(args: NodeResourcesFitArgs, unsorted: str = UNSORTED_1_20) -> Iterator[FieldError]:
    """Upstream: 1.25 ValidateNodeResourcesFitArgs. A missing ratio crashes kube-scheduler up to 1.35; it is refused."""
    yield from _ignored_errors(args, worded_1_36)
    strategy = args.scoring_strategy or ScoringStrategy()
    yield from _type_and_weight_errors(strategy)
    yield from _ratio_errors(strategy, "scoringStrategy.shape", unsorted)


def _type_and_weight_errors(strategy: ScoringStrategy) -> Iterator[FieldError]:
    if strategy.type not in STRATEGIES:
        yield unsupported("scoringStrategy.type", strategy.type, STRATEGIES)
    yield from (error.under("scoringStrategy") for error in _weight_errors(strategy.resources))


_errors_1_34 = partial(_errors_1_25, unsorted=UNSORTED)


def _ratio_errors(strategy: ScoringStrategy, path: str, unsorted: str) -> Iterator[FieldError]:
    """path: that of the shape. unsorted: the text about its points."""
    if strategy.shape is not None:
        yield from (error.under(path) for error in shape_errors(strategy.shape, unsorted))
    elif strategy.type == RATIO:
        yield required("scoringStrategy.requestedToCapacityRatio", f"must be specified when type is {RATIO}")


def _errors_1_22(args: NodeResourcesFitArgs) -> Iterator[FieldError]:
    """Upstream: 1.22 ValidateNodeResourcesFitArgs."""
    yield from _ignored_errors(args, worded_1_20)
    strategy = args.scoring_strategy or ScoringStrategy()
    yield from _weight_errors(strategy.resources)
    if strategy.type == RATIO:
        yield from (error.under("shape") for error in shape_errors(strategy.shape or ()))


def _weight_errors(resources: Resources) -> Iterator[FieldError]:
    for at, (name, weight) in enumerate(resources):
        if weight not in WEIGHTS:
            text = f"resource weight of {name} not in valid range (0, 100]"
            yield invalid(f"resources[{at}].weight", weight, text)


def _shape(shape: Shape = ()) -> Shape:
    return shape


def _scoring(type: str = "", resources: Resources = (), shape: Shape | None = None) -> ScoringStrategy:  # noqa: A002
    return ScoringStrategy(type, resources or CPU_AND_MEMORY, shape)


_RATIO = Struct("RequestedToCapacityRatioParam", _shape, (SHAPE,), parts=lambda shape: {"shape": shape})
_SCORING = Struct(
    "ScoringStrategy",
    _scoring,
    (Field("type", "type", TEXT), RESOURCES_COUNTED_ONCE, Field("requestedToCapacityRatio", "shape", _RATIO)),
)


ARGS_1_20 = ArgsType(
    NodeResourcesFitArgs,
    fields(ignored_resources=ListOf(TEXT), ignored_resource_groups=ListOf(TEXT)),
    """
Extended resources that are not tested, by name or by what stands before the `/`. In 1.36 `scoringStrategy` says what
is best: type LeastAllocated, MostAllocated or RequestedToCapacityRatio. Only the last has, and needs, a `shape`; its
points rise in utilisation, within 0–100, with scores 0–10. Weights are 1–100.""",
    errors=partial(_ignored_errors, worded=worded_1_20),
)
ARGS_1_36 = msgspec.structs.replace(
    ARGS_1_20,
    fields=(*ARGS_1_20.fields, Field("scoringStrategy", "scoring_strategy", _SCORING)),
    errors=_errors_1_36,
)


# --- what it is in each release ---------------------------------------------------------------

REASONS = (PluginReason("Too many pods", UNSCHEDULABLE),)
REASONS_1_20 = (PluginReason("Insufficient <RESOURCE>", UNSCHEDULABLE), *REASONS)
REASONS_1_36 = (PluginReason("Insufficient <RESOURCE>", BY_NODE), *REASONS)
EVENTS = (
    Registered(POD, Action.DELETE),
    Registered(POD, Action.POD_SCALE_DOWN),
    Registered(NODE, Action.ADD | Action.NODE_ALLOCATABLE),
    Registered(DEVICE_CLASS, Action.ADD | Action.UPDATE),
)

ARGS_1_18 = msgspec.structs.replace(ARGS_1_20, fields=ARGS_1_20.fields[:1])
PLUGIN_1_18 = InTreePlugin(NAME, POINTS_1_20, node_resources_fit_1_20, args=ARGS_1_18, reasons=REASONS_1_20)
PLUGIN_1_20 = InTreePlugin(NAME, POINTS_1_20, node_resources_fit_1_20, args=ARGS_1_20, reasons=REASONS_1_20)
PLUGIN_1_36 = InTreePlugin(
    NAME,
    POINTS_1_36,
    node_resources_fit_1_36,
    args=ARGS_1_36,
    reasons=REASONS_1_36,
    default_weight=1,
    events=EVENTS,
)
ARGS_1_25 = msgspec.structs.replace(ARGS_1_36, errors=_errors_1_25)
ARGS_1_34 = msgspec.structs.replace(ARGS_1_36, errors=_errors_1_34)
PLUGIN_1_34 = msgspec.structs.replace(PLUGIN_1_36, points=POINTS_1_27, make=node_resources_fit_1_34, args=ARGS_1_34)
PLUGIN_1_30 = msgspec.structs.replace(
    PLUGIN_1_34,
    args=ARGS_1_25,
    make=node_resources_fit_1_30,
    reasons=(PluginReason(rule.SIDECARS_ARE_OFF, UNRESOLVABLE, "PreFilter"), *REASONS_1_20),
)
PLUGIN_1_28 = msgspec.structs.replace(
    PLUGIN_1_30,
    make=node_resources_fit_1_28,
    reasons=(PluginReason(rule.SIDECARS_ARE_OFF, UNRESOLVABLE), *REASONS_1_20),
)
PLUGIN_1_26 = msgspec.structs.replace(
    PLUGIN_1_30, points=POINTS_1_22, make=node_resources_fit_1_26, reasons=REASONS_1_20
)
PLUGIN_1_25 = msgspec.structs.replace(PLUGIN_1_26, make=node_resources_fit_1_25)
ARGS_1_22 = msgspec.structs.replace(ARGS_1_36, errors=_errors_1_22)
PLUGIN_1_22 = InTreePlugin(
    NAME, POINTS_1_22, node_resources_fit_1_22, args=ARGS_1_22, reasons=REASONS_1_20, default_weight=1
)
PLUGIN_1_24 = msgspec.structs.replace(PLUGIN_1_25, make=node_resources_fit_1_24, args=ARGS_1_22)
