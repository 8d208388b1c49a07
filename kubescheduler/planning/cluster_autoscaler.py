"""What the Cluster Autoscaler would add to a cluster, where shapes are its node groups.

It asks no scheduler where a pod goes, only whether the release's predicates (Filter plugins) let it onto a node, and
packs pods onto new nodes of one group at a time, first fit by decreasing size; an expander chooses the group, and it
looks again with those nodes there, until nothing is left that a group helps.

Upstream: kubernetes/autoscaler, cluster-autoscaler of 1.36.1: estimator/binpacking_estimator.go (without the fast path,
which is off by default), estimator/decreasing_pod_orderer.go, estimator/threshold_based_limiter.go,
core/scaleup/equivalence/groups.go, core/scaleup/orchestrator/orchestrator.go, core/podlistprocessor/
filter_out_schedulable.go and filter_out_expendable.go, simulator/scheduling/similar_pods.go, simulator/clustersnapshot/
predicate/plugin_runner.go. Its estimates are cut after ten seconds (--max-nodegroup-binpacking-duration); here not.

The expanders, of cluster-autoscaler/expander of 1.36.1, the same in 1.35.2: random/random.go, mostpods/mostpods.go,
leastnodes/leastnodes.go, waste/waste.go, price/price.go with price/preferred.go, priority/priority.go, and
factory/chain.go, by which several go one after the other and what is left is drawn.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import msgspec

from clusterstate.errors import ConfigError, nearest
from clusterstate.manifests.fields import describe
from clusterstate.objects import ClusterObject, Node, Pod
from clusterstate.selectors.pod_owners import is_daemon_pod
from clusterstate.usage import CPU, MEMORY, as_asked, pod_requests
from kubescheduler.engine.spec import Engine, cache_for
from kubescheduler.planning.node_trials import Counts, NodeTrials
from kubescheduler.planning.shapes import Shape

EXPANDERS = ("least-waste", "least-nodes", "most-pods", "price", "priority", "random")
"""Those of upstream but ``grpc``, which asks a server of the user's."""
NODES_A_SCALE_UP = 1000
"""Upstream: the default of --max-nodes-per-scaleup."""
GPUS = ("nvidia.com/gpu", "habana.ai/gaudi", "gpu.intel.com/xe", "amd.com/gpu", "microsoft.com/directx")
"""Resources of which a node with any has GPUs. Upstream: GPUVendorResourceNames."""
MIB = 1024**2

LOWEST = -1
"""Upstream: what the highest priority begins with; a lower one counts as none."""
GPU_UNFITNESS = 1000.0
"""Upstream: gpuUnfitnessOverride. It keeps groups with GPUs for pods that need them."""
NOT_THERE = 2.0
"""Upstream: notExistCoeficient. What a group that is yet to be created costs more."""
STABILIZING = {CPU: 500, MEMORY: 500 * MIB}
"""Millicores and bytes of a pod that is added on both sides, so that few pods do not make ratios jump. Upstream:
priceStabilizationPod."""
PREFERRED = ((2, 1000), (6, 2000), (20, 4000), (60, 8000), (200, 16000))
"""(nodes at most, millicores of the node that such a cluster should have). Upstream: SimplePreferredNodeProvider."""
LARGEST_PREFERRED = 32000


class ExpansionOption(msgspec.Struct, frozen=True, eq=False):
    """A group that could be expanded, by so many nodes, for these pods."""

    group: str
    node: Node
    """Its template."""
    nodes: int
    pods: tuple[Pod, ...]
    exists: bool = True
    """Whether the group is there already; otherwise it would be created."""


Chooser = Callable[[Sequence[ExpansionOption]], Sequence[ExpansionOption]]
"""The best of some options; several where they are as good."""


class Prices(msgspec.Struct, frozen=True, eq=False):
    """What nodes and pods cost in an hour; a KeyError of either leaves an option out."""

    node: Callable[[Node], float]
    pod: Callable[[Pod], float]
    stabilizing: float
    """That of the pod ``STABILIZING``."""


def requests(pods: Iterable[Pod], resource: str) -> int:
    """What pods ask for, in thousandths: init containers, overhead and the pod's own resources count, as in the
    scheduler. Upstream: resourcesForPods, PodRequests."""
    return sum(pod_requests(pod.spec, pod.spec.in_use or as_asked(pod.spec)).get(resource, 0) for pod in pods)


def gpu_of(node: Node) -> str | None:
    """The first resource by which a node has GPUs. Upstream: NodeHasGpuAllocatable; labels are a cloud provider's."""
    return next((name for name in GPUS if node.allocatable.get(name, 0) > 0), None)


def least_nodes(options: Sequence[ExpansionOption]) -> list[ExpansionOption]:
    """Those with the fewest nodes."""
    some = [option for option in options if option.nodes]
    least = min((option.nodes for option in some), default=0)
    return [option for option in some if option.nodes == least]


def most_pods(options: Sequence[ExpansionOption]) -> list[ExpansionOption]:
    """Those for the most pods."""
    most = max((len(option.pods) for option in options), default=0)
    return [option for option in options if len(option.pods) == most]


def waste(option: ExpansionOption) -> float:
    """The shares of cpu and memory of the new nodes that the pods do not ask for, added up, by capacity."""
    total = 0.0
    for resource in (CPU, MEMORY):
        there = option.node.capacity.get(resource, 0) * option.nodes
        total += (there - requests(option.pods, resource)) / there if there else math.nan
    return total


def least_waste(options: Sequence[ExpansionOption]) -> list[ExpansionOption]:
    """Those that waste least."""
    best: list[ExpansionOption] = []
    least = 0.0
    for option in options:
        score = waste(option)
        if best and score == least:
            best.append(option)
        elif not best or score < least:
            best, least = [option], score
    return best


def preferred_cpu(nodes: int) -> int:
    """Millicores of the node that a cluster with so many nodes should have."""
    return next((cpu for most, cpu in PREFERRED if nodes <= most), LARGEST_PREFERRED)


def price_score(option: ExpansionOption, prices: Prices, preferred: int) -> float:
    """What an option costs for what its pods are worth, times how unlike the preferred node its nodes are; that counts
    less the more nodes there are. preferred: millicores. Raises KeyError where somebody has no price."""
    nodes = prices.node(option.node) * option.nodes
    pods = sum(map(prices.pod, option.pods))
    ratio = (nodes + prices.stabilizing) / (pods + prices.stabilizing)
    cpu = option.node.capacity.get(CPU, 0)
    unfitness = max(preferred / cpu, cpu / preferred) if cpu else math.inf
    suppressed = (unfitness - 1.0) * (1.0 - math.tanh((option.nodes - 1) / 15.0)) + 1.0
    if gpu_of(option.node) is not None:
        suppressed = GPU_UNFITNESS
    return suppressed * ratio * (1.0 if option.exists else NOT_THERE)


def cheapest(options: Sequence[ExpansionOption], prices: Prices, preferred: int) -> list[ExpansionOption]:
    """Those with the lowest score; none where nothing has a price."""
    scores: list[tuple[float, ExpansionOption]] = []
    for option in options:
        try:
            scores.append((price_score(option, prices, preferred), option))
        except KeyError:
            continue
    lowest = min((score for score, _ in scores), default=0.0)
    return [option for score, option in scores if score == lowest]


def by_priority(options: Sequence[ExpansionOption], priorities: Mapping[int, Sequence[str]]) -> list[ExpansionOption]:
    """Those whose name matches an expression of the highest priority that matches any; all where none does.

    priorities: as in the ConfigMap cluster-autoscaler-priority-expander, of RE2 expressions that match anywhere.
    """
    import re2  # type: ignore[import-untyped]

    counted = {number: texts for number, texts in priorities.items() if number >= LOWEST}
    found = {
        id(option): max(
            (number for number, texts in counted.items() if any(re2.search(text, option.group) for text in texts)),
            default=None,
        )
        for option in options
    }
    highest = max((number for number in found.values() if number is not None), default=None)
    return [option for option in options if found[id(option)] == highest]


def chosen(
    options: Sequence[ExpansionOption], choosers: Iterable[Chooser], rng: random.Random
) -> ExpansionOption | None:
    """The one that is left by one chooser after the other, or drawn from those that are; None where none is."""
    left = list(options)
    for choose in choosers:
        left = list(choose(left))
        if len(left) <= 1:
            break
    return rng.choice(left) if left else None


class Expander(msgspec.Struct, frozen=True):
    """How the autoscaler is told to choose."""

    names: tuple[str, ...] = (EXPANDERS[0],)
    """One after the other."""
    priorities: Mapping[int, Sequence[str]] | None = None
    seed: int | None = None
    """Of what is drawn."""
    most: int = NODES_A_SCALE_UP
    """Nodes that it adds at a time; 0: any number."""

    def choosers(self, shapes: Sequence[Shape], nodes: int) -> list[Chooser]:
        """What chooses among groups of these shapes. nodes: of the cluster, whose size says which node is preferred."""
        known: dict[str, Chooser] = {
            "least-waste": least_waste,
            "least-nodes": least_nodes,
            "most-pods": most_pods,
            "random": lambda options: options,
            "price": lambda options: cheapest(options, prices_by(shapes), preferred_cpu(nodes)),
            "priority": lambda options: by_priority(options, self.priorities or {}),
        }
        return [known[name] for name in self.names]


def prices_by(shapes: Sequence[Shape]) -> Prices:
    """Nodes at the price of their shape, and pods at what is our own: half of what their cpu costs where that is
    cheapest and half of what their memory does.

    Upstream a cloud provider says both (cloudprovider.PricingModel; in 1.36.1 those of gce, equinixmetal, scaleway and
    externalgrpc do). That of gce is as linear, by its list prices of cpu, memory and local storage: "a theoretical
    minimum price of running a pod on a perfectly matching machine" (gce_price_model.go).
    """
    by_name = {shape.name: float(shape.price) for shape in shapes if shape.price is not None}

    def rate(resource: str) -> float:
        offered = ((by_name[each.name], each.node.capacity.get(resource, 0)) for each in shapes if each.name in by_name)
        return min((price / there for price, there in offered if there), default=0.0)

    rates = {resource: rate(resource) / 2 for resource in (CPU, MEMORY)}
    thousandths = {CPU: STABILIZING[CPU], MEMORY: 1000 * STABILIZING[MEMORY]}
    return Prices(
        lambda node: by_name[node.name],
        lambda pod: sum(requests((pod,), resource) * rates[resource] for resource in rates),
        sum(thousandths[resource] * rates[resource] for resource in rates),
    )


def checked_expanders(text: str, *, priced: bool, priorities: object) -> tuple[str, ...]:
    """The names of ``priority,least-waste``. Raises ConfigError with everything that is wrong, also of what they need.

    priced: whether shapes have prices. priorities: None where there are none.
    """
    names = tuple(part.strip() for part in text.split(","))
    problems = [
        f"expander: {name!r} is not known; known are {', '.join(EXPANDERS)}{nearest(name, EXPANDERS)}"
        for name in names
        if name not in EXPANDERS
    ]
    problems += [f"expander: {name} is there more than once" for name in dict.fromkeys(names) if names.count(name) > 1]
    if "random" in names[:-1]:
        problems.append("expander: random leaves one group, so that nothing may come after it")
    if "price" in names and not priced:
        problems.append("expander: price needs shapes with a price")
    if "priority" in names and priorities is None:
        problems.append("expander: priority needs --priorities (in Python priorities=)")
    if problems:
        raise ConfigError(problems)
    return names


def priorities_of(document: Mapping[Any, Any], where: str) -> dict[int, list[str]]:
    """The priorities of a ConfigMap's document, or of what stands under ``priorities`` in its data.

    Raises ConfigError with every fault, with its path.
    """
    import re2

    problems: list[str] = []
    found: dict[int, list[str]] = {}
    for key, texts in document.items():
        number = int(key) if re.fullmatch(r"-?[0-9]+", str(key)) else None
        if number is None:
            problems.append(f"{where}: {key}: must be a whole number, the priority")
            continue
        if not isinstance(texts, list):
            problems.append(f"{where}: {key}: must be a list of expressions, not {describe(texts)}")
            continue
        for at, text in enumerate(texts):
            try:
                re2.compile(text)
            except (re2.error, TypeError) as error:
                problems.append(f"{where}: {key}[{at}]: {describe(text)} is no expression: {error}")
        found[number] = texts
    if not document:
        problems.append(f"{where}: priority configuration is empty")
    if problems:
        raise ConfigError(problems)
    return found


GROUPS_OF_A_CONTROLLER = 10
"""Equivalence groups that are remembered for one controller. Upstream: maxEquivalenceGroupsByController,
maxPodsPerOwnerRef."""
EXPENDABLE = -10
"""Pods of a lower priority get no node and take no room. Upstream: the default of --expendable-pods-priority-cutoff."""
HOSTNAME = "kubernetes.io/hostname"
SPREAD_REASON = "node(s) didn't match pod topology spread constraints"

PodGroup = tuple[Pod, ...]
"""Pods that are alike for the autoscaler; the first stands for all."""


class Predicates:
    """A cluster in which pods are put onto nodes wherever the predicates let them."""

    def __init__(self, engine: Engine, objects: Iterable[ClusterObject]) -> None:
        self._cache = cache_for(engine, objects)
        self._scheduler = engine.scheduler(self._cache)
        columns = self._cache.columns
        self._names = [name for name, node in zip(columns.names, columns.nodes, strict=True) if node is not None]
        self._next = 1
        self._put: list[Pod] = []
        self._added: list[list[ClusterObject]] = []

    @property
    def size(self) -> int:
        """How many nodes it has."""
        return len(self._names)

    def mark(self) -> tuple[int, int]:
        """The state as it is, for ``revert``. Upstream: Fork."""
        return len(self._put), len(self._added)

    def revert(self, mark: tuple[int, int]) -> None:
        """Takes away the pods and nodes that came since."""
        pods, nodes = mark
        self._cache.forget_pods(self._put[pods:][::-1])
        del self._put[pods:]
        for objects in reversed(self._added[nodes:]):
            for obj in reversed(objects):
                self._cache.remove(obj)
            self._names.pop()
        del self._added[nodes:]

    def add(self, objects: list[ClusterObject]) -> str:
        """A node with what runs on it; its name."""
        for obj in objects:
            self._cache.add(obj)
        self._added.append(objects)
        self._names.append(objects[0].metadata.name)
        return self._names[-1]

    def reasons(self, pod: Pod, node: str) -> tuple[str, ...] | None:
        """Why a pod does not fit a node; None where it does."""
        decision = self._scheduler.decide(pod)
        return None if node in decision.fits() else tuple(decision.reasons().get(node, (decision.message,)))

    def put(self, pod: Pod, node: str) -> tuple[str, ...] | None:
        """Has a pod on a node, if it fits there; else why it does not."""
        reasons = self.reasons(pod, node)
        if reasons is None:
            self._cache.assume_pod(pod, node)
            self._put.append(pod)
        return reasons

    def put_anywhere(self, pod: Pod, accepted: Callable[[str], bool]) -> str | None:
        """Has a pod on the first node that it fits, of those that are accepted and not cordoned; the search goes round
        and begins behind the last node that was taken, at first at the second. Upstream: RunFiltersUntilPassingNode,
        NewLastIndexOrderMapping."""
        fits = set(self._scheduler.decide(pod).fits())
        columns, count = self._cache.columns, len(self._names)
        for at in range(count):
            name = self._names[(self._next + at) % count]
            node = columns.nodes[columns.row_of[name]]
            if name in fits and accepted(name) and node is not None and not node.unschedulable:
                self._next = (self._next + at + 1) % count
                self._cache.assume_pod(pod, name)
                self._put.append(pod)
                return name
        return None


# --- groups of pods ------------------------------------------------------------------------------------


def pod_groups(pods: Iterable[Pod]) -> list[PodGroup]:
    """Pods of one controller with the same labels and spec are one group, at most ten groups a controller; any other
    is a group of its own."""
    groups: list[list[Pod]] = []
    known: dict[str, list[list[Pod]]] = {}
    for pod in pods:
        controller = pod.metadata.controller
        if controller is None or is_daemon_pod(pod):
            groups.append([pod])
            continue
        own = known.setdefault(controller.uid, [])
        alike = next((group for group in own if _alike(group[0], pod)), None)
        if alike is not None:
            alike.append(pod)
            continue
        groups.append([pod])
        if len(own) < GROUPS_OF_A_CONTROLLER:
            own.append(groups[-1])
    return [tuple(group) for group in groups]


def unplaced(there: Predicates, pods: Iterable[Pod]) -> list[Pod]:
    """The pods that fit nowhere, those of higher priority put first; the others have a node then. Once a controller's
    pod fits nowhere, those that are like it are not tried. Upstream: filterOutSchedulableByPacking,
    SimilarPodsScheduling."""
    waiting: list[Pod] = []
    known: dict[str, list[Pod]] = {}
    for pod in sorted(pods, key=lambda pod: -pod.priority):
        controller = pod.metadata.controller
        failed = [] if controller is None else known.setdefault(controller.uid, [])
        if any(_alike(one, pod) for one in failed):
            waiting.append(pod)
        elif there.put_anywhere(pod, lambda _: True) is None:
            waiting.append(pod)
            if len(failed) < GROUPS_OF_A_CONTROLLER and not is_daemon_pod(pod):
                failed.append(pod)
    return waiting


def _alike(one: Pod, other: Pod) -> bool:
    return one.metadata.labels == other.metadata.labels and one.spec == other.spec


def ordered(groups: Iterable[PodGroup], template: Node) -> list[PodGroup]:
    """The largest first, by the shares of cpu and memory of a node that one pod asks for, added up."""

    def score(group: PodGroup) -> float:
        shares = ((requests(group[:1], name), template.allocatable.get(name, 0)) for name in (CPU, MEMORY))
        return sum(asked / there for asked, there in shares if there > 0)

    return sorted(groups, key=score, reverse=True)


# --- the estimator ---------------------------------------------------------------------------------------


@attrs.define(eq=False)
class Estimation:
    """One estimate: how many nodes of a group it takes for how many of the pods that fit on one."""

    there: Predicates
    node: Callable[[int], list[ClusterObject]]
    """Makes the new node of a number, with what DaemonSets have on it."""
    most: int = 0
    """Nodes that may be added; 0: any number."""
    pods: list[Pod] = attrs.field(factory=list)
    """Those that have a node."""
    with_pods: set[str] = attrs.field(factory=set)
    _new: list[str] = attrs.field(factory=list)
    _permits: int = 0

    def run(self, groups: Iterable[PodGroup]) -> int:
        """How many nodes; the cluster is as before afterwards."""
        mark, more = self.there.mark(), True
        try:
            for group in groups:
                waiting = self._on_new_nodes_there(group)
                more = more and self._on_further_nodes(waiting)
        finally:
            self.there.revert(mark)
        return len(self.with_pods)

    def _on_new_nodes_there(self, pods: Sequence[Pod]) -> Sequence[Pod]:
        """Those that are left once one of them fits on none of the new nodes."""
        for at, pod in enumerate(pods):
            node = self.there.put_anywhere(pod, self._new.__contains__)
            if node is None:
                return pods[at:]
            self._note(pod, node)
        return ()

    def _on_further_nodes(self, pods: Sequence[Pod]) -> bool:
        """Each on the last new node or on one more; whether it is worth while to add nodes for other groups."""
        for pod in pods:
            if self._new and self._on_last(pod):
                continue
            if self._new and self._new[-1] not in self.with_pods:
                return True  # the last one is empty and did not take it: another would not either
            if self.most and self._permits >= self.most:
                return False
            self._permits += 1
            self._new.append(self.there.add(self.node(len(self._new))))
            if self.there.put(pod, self._new[-1]) is not None:
                break
            self._note(pod, self._new[-1])
        return True

    def _on_last(self, pod: Pod) -> bool:
        """On the last new node; a pod that is spread over host names and too many there, on any other node."""
        last = self._new[-1]
        reasons = self.there.put(pod, last)
        node: str | None = last
        if reasons is not None:
            spread = any(each.topology_key == HOSTNAME for each in pod.spec.topology_spread_constraints)
            retried = spread and SPREAD_REASON in reasons
            node = self.there.put_anywhere(pod, lambda name: name != last) if retried else None
        if node is not None:
            self._note(pod, node)
        return node is not None

    def _note(self, pod: Pod, node: str) -> None:
        self.pods.append(pod)
        self.with_pods.add(node)


# --- the loop --------------------------------------------------------------------------------------------


class ScaleUp(msgspec.Struct, frozen=True, eq=False):
    """One look of the autoscaler that adds nodes."""

    options: tuple[ExpansionOption, ...]
    chosen: ExpansionOption
    waiting: int
    """Pods that fitted nowhere before it."""


class ScaledUp(msgspec.Struct, frozen=True, eq=False):
    """What it added in all."""

    steps: tuple[ScaleUp, ...]
    counts: Counts
    unhelped: Mapping[str, Mapping[str, tuple[str, ...]]]
    """Pod that it takes for unschedulable at the end → group → why its nodes do not take it; none says so of a group
    that has as many nodes as it may."""


def scaled_up(
    trials: NodeTrials, choosers: Callable[[int], Sequence[Chooser]], rng: random.Random, most: int
) -> ScaledUp:
    """What the autoscaler adds until it adds nothing more. choosers: those of a cluster with so many nodes. most: nodes
    at a time, 0 for any number."""
    counts: Counts = (0,) * len(trials.shapes)
    pods = [pod for pod in trials.asked.pods() if not pod.node_name and not is_expendable(pod)]
    objects = [obj for obj in trials.asked.objects if not (isinstance(obj, Pod) and is_expendable(obj))]
    steps: list[ScaleUp] = []
    while True:
        new = (obj for _, objects in trials.new_nodes(counts) for obj in objects)
        there = Predicates(trials.engine, [*objects, *new])
        waiting = unplaced(there, pods)
        groups = pod_groups(waiting)
        unhelped: dict[str, dict[str, tuple[str, ...]]] = {pod.key: {} for pod in waiting}
        options = list(_options(trials, there, groups, counts, unhelped, most))
        option = chosen(options, choosers(there.size), rng)
        stuck = bool(steps) and len(waiting) >= steps[-1].waiting
        if option is None or stuck:
            return ScaledUp(tuple(steps), counts, unhelped)
        steps.append(ScaleUp(tuple(options), option, len(waiting)))
        counts = tuple(
            number + (option.nodes if shape.name == option.group else 0)
            for shape, number in zip(trials.shapes, counts, strict=True)
        )


def is_expendable(pod: Pod) -> bool:
    """Whether the autoscaler does as if the pod were not there."""
    return pod.priority < EXPENDABLE


def _options(
    trials: NodeTrials,
    there: Predicates,
    groups: Sequence[PodGroup],
    counts: Counts,
    unhelped: dict[str, dict[str, tuple[str, ...]]],
    most: int,
) -> Iterator[ExpansionOption]:
    """What each group that may still grow could be expanded by."""
    for at, (shape, number, template) in enumerate(zip(trials.shapes, counts, trials.one_of_each(), strict=True)):
        room = None if shape.most is None else shape.most - number
        if room == 0:
            continue
        fitting = _fitting(there, groups, shape, template, unhelped)
        limits = [limit for limit in (most, room) if limit]
        estimation = Estimation(there, trials.maker(at), min(limits, default=0))
        nodes = estimation.run(ordered(fitting, shape.node))
        if nodes and estimation.pods:
            yield ExpansionOption(shape.name, shape.node, nodes, tuple(estimation.pods))


def _fitting(
    there: Predicates,
    groups: Iterable[PodGroup],
    shape: Shape,
    template: list[ClusterObject],
    unhelped: dict[str, dict[str, tuple[str, ...]]],
) -> list[PodGroup]:
    """The groups of which the first pod fits on a new node. Upstream: SchedulablePodGroups."""
    mark, found = there.mark(), []
    name = there.add(template)
    for group in groups:
        reasons = there.reasons(group[0], name)
        if reasons is None:
            found.append(group)
        else:
            for pod in group:
                unhelped[pod.key][shape.name] = reasons
    there.revert(mark)
    return found
