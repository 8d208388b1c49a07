"""Which nodes to add: the answer, put together from the best trial, and how it is shown."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import msgspec

from clusterstate.cache import ClusterCache
from clusterstate.objects import ClusterObject, Pod
from clusterstate.podinfo import pod_key
from clusterstate.usage import CPU, MEMORY
from kubescheduler.core.results import Shown, ShownTable, counted
from kubescheduler.core.selection import TieBreak
from kubescheduler.engine.spec import Engine, cache_for
from kubescheduler.hinting.hint_search import HintSearch
from kubescheduler.hinting.proposals import PodHints
from kubescheduler.planning.cluster_autoscaler import EXPENDABLE, Expander, ExpansionOption, is_expendable, scaled_up
from kubescheduler.planning.fewest_nodes import FewestNodes, LowerBound, Needs
from kubescheduler.planning.node_trials import AskedWorkload, NodeTrials, Played
from kubescheduler.planning.shapes import Shape, prices_of
from kubescheduler.simulation.pods_to_place import daemon_set_of
from kubescheduler.simulation.simulation_report import PodRecord
from kubescheduler.simulation.workload import Workload

BY = ("scheduler", "cluster-autoscaler")
"""Who says which nodes to add."""
TRIES = 200
"""Runs of the scheduler that a search may make, by default."""


class AddedNode(msgspec.Struct, frozen=True):
    """A node to add."""

    name: str
    shape: str
    pods: tuple[str, ...]
    """What the scheduler places there, as ``namespace/name``."""
    daemons: tuple[str, ...]
    """The pods that DaemonSets have there."""


class ShapeUse(msgspec.Struct, frozen=True):
    """The new nodes of one shape together."""

    shape: str
    nodes: int
    price: float | None
    """Of one."""
    pods: int
    """Those of DaemonSets included."""
    cpu: float | None
    """The share that is asked for; None where the nodes have none."""
    memory: float | None


class GroupOption(msgspec.Struct, frozen=True):
    """So many nodes of a group, for so many pods, as the Cluster Autoscaler estimates."""

    group: str
    nodes: int
    pods: int


class ScaleStep(msgspec.Struct, frozen=True):
    """One look of the Cluster Autoscaler that adds nodes."""

    chosen: GroupOption
    options: tuple[GroupOption, ...]
    waiting: int
    """Pods that it takes for unschedulable before it."""


class LeftOver(msgspec.Struct, frozen=True, eq=False):
    """A pod that no node of any shape helps, and others that are alike."""

    pod: Pod
    others: tuple[str, ...]
    message: str
    """The scheduler's, with one more node of each shape in the cluster."""
    by_shape: Mapping[str, tuple[str, ...]]
    """Shape → why such a node does not take it; without those that would."""
    hints: PodHints | None
    """What would make it fit there; None where nobody tried it, as another scheduler's."""
    error: bool = False
    """Whether an error ended its attempt."""
    would_fit: bool = False
    """Whether one more node of some shape would take it as things are at the end: when it came, others did."""
    tried: bool = True
    """False: gates hold it back, or it is another scheduler's."""
    foreign: bool = False
    """Whether it is another scheduler's."""


class NodePlan(Shown, msgspec.Struct, frozen=True, eq=False):
    """Which nodes to add so that everything runs."""

    added: Mapping[str, int]
    """Shape → how many; only those of which there are some."""
    cost: Fraction
    """By the prices, or how many nodes where there are none."""
    priced: bool
    bound: LowerBound
    """What new nodes cost at least, whatever they are, and why."""
    proven: bool
    """Whether no cheaper set does: every one was tried, or it costs no more than the bound."""
    runs: int
    """How often the scheduler ran for it."""
    asked: int
    """Pods that were to run."""
    placed: int
    """Those that do."""
    shapes: tuple[ShapeUse, ...]
    nodes: tuple[AddedNode, ...]
    placements: Mapping[str, str]
    """Pod, as ``namespace/name`` → its node, new or not."""
    left: tuple[LeftOver, ...] = ()
    notes: tuple[str, ...] = ()
    steps: tuple[ScaleStep, ...] | None = None
    """What the Cluster Autoscaler did one after the other; None: the nodes are the search's."""

    @property
    def everything_runs(self) -> bool:
        """Whether every pod has a node with these, but for those of other schedulers."""
        foreign = sum(1 + len(each.others) for each in self.left if each.foreign)
        return self.placed + foreign == self.asked and (self.placed > 0 or not foreign)

    def sentences(self) -> list[str]:
        """The answer in words, a paragraph each."""
        return list(_sentences(self))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "add": dict(self.added),
            "cost": _number(self.cost),
            "proven": self.proven,
            "atLeast": {"cost": _number(self.bound.cost), "why": self.bound.why},
            "runs": self.runs,
            "text": self.sentences(),
            "shapes": msgspec.to_builtins(self.shapes),
            "nodes": msgspec.to_builtins(self.nodes),
            "placements": dict(self.placements),
            "left": [_left_dict(left) for left in self.left],
            **({} if self.steps is None else {"steps": msgspec.to_builtins(self.steps)}),
            **({"notes": list(self.notes)} if self.notes else {}),
        }

    def table(self) -> ShownTable:
        """What is printed, and shown in a notebook: a line a shape, and the sentences."""
        header = ("shape", "nodes", *(("price",) if self.priced else ()), "pods", "cpu", "memory")
        rows = [
            (
                each.shape,
                each.nodes,
                *((each.price,) if self.priced else ()),
                each.pods,
                *map(percent, (each.cpu, each.memory)),
            )
            for each in self.shapes
        ]
        first, *rest = self.sentences()
        return ShownTable(first, header, rows, " ".join(rest))


def percent(share: float | None) -> str:
    """``78%``; empty for None."""
    return "" if share is None else f"{share:.0%}"


def _number(cost: Fraction) -> int | float:
    return int(cost) if cost.denominator == 1 else float(cost)


def _left_dict(left: LeftOver) -> dict[str, Any]:
    return {
        "pod": left.pod.key,
        "others": list(left.others),
        "message": left.message,
        "shapes": {shape: list(reasons) for shape, reasons in left.by_shape.items()},
        "hints": [] if left.hints is None else [hint.to_dict() for hint in left.hints],
    }


def _sentences(plan: NodePlan) -> Iterator[str]:
    left = sum(1 + len(each.others) for each in plan.left)
    placed, behind = plan.placed, plan.asked - plan.placed - left
    untried = sum(1 + len(each.others) for each in plan.left if not each.tried)
    number = sum(plan.added.values())
    if not plan.asked:
        yield "No pod is asked about, so no node is needed."
        return
    if number:
        named = ", ".join(f"{count} {shape}" for shape, count in plan.added.items())
        costs = f", for {_number(plan.cost):,} in all" if plan.priced else ""
        run = f"{counted(placed, 'pod')} {'run' if placed != 1 else 'runs'}"
        does = "Add" if plan.steps is None else "The Cluster Autoscaler adds"
        yield f"{does} {counted(number, 'node')}: {named}{costs}. Then {run}, as the scheduler places them."
    elif plan.steps is not None and left:
        yield "The Cluster Autoscaler adds nothing."
    elif placed:
        yield f"No node is needed: {counted(placed, 'pod')} {'run' if placed != 1 else 'runs'} in the cluster as it is."
    elif left > untried:
        yield "No node of any shape helps."
    if number:
        yield _how_good(plan)
    if untried:
        yield f"{counted(untried, 'pod')} {'are' if untried != 1 else 'is'} not tried, whatever nodes there are."
    yield from _waiting(plan, left - untried)
    if behind > 0:
        yield f"{counted(behind, 'pod')} more {'come' if behind != 1 else 'comes'} only when those before have a node."


def _waiting(plan: NodePlan, left: int) -> Iterator[str]:
    """left: how many pods were tried and have no node."""
    refused = sum(1 + len(each.others) for each in plan.left if each.tried and not each.would_fit)
    if left and plan.steps is None:
        if refused:
            yield f"{counted(refused, 'pod')} {'fit' if refused != 1 else 'fits'} on no node of any shape."
        if refused < left:
            waits = "wait" if left - refused != 1 else "waits"
            yield f"{counted(left - refused, 'pod')} {waits} with every set of nodes that was tried."
    elif left:
        yield f"{counted(left, 'pod')} still {'wait' if left != 1 else 'waits'}."


def _how_good(plan: NodePlan) -> str:
    unit = "" if plan.priced else " node" if plan.bound.cost == 1 else " nodes"
    why = f" ({plan.bound.why})" if plan.bound.why else ""
    least = f"whatever the scheduler does, {_number(plan.bound.cost):,}{unit} is the least{why}"
    if not plan.bound.cost:  # it says nothing
        least = "how many are needed at least is not known"
    if plan.steps is not None:
        return least[0].upper() + least[1:] + "."
    runs = f"in {plan.runs} {'run' if plan.runs == 1 else 'runs'} of the scheduler"
    if not plan.proven:
        return f"Best found {runs}, not proven: {least}."
    if plan.cost == plan.bound.cost:
        return f"Proven best: {least}."
    fewer = "cheaper set" if plan.priced else "smaller set"
    return f"Proven best {runs}: every {fewer} was tried or offers too little; {least}."


# --- putting it together -----------------------------------------------------------------------------------


def plan_nodes(
    engine: Engine,
    cluster: Iterable[ClusterObject],
    shapes: Sequence[Shape],
    workload: Workload,
    tie_break: Callable[[], TieBreak],
    *,
    tries: int = TRIES,
    repeatable: bool = True,
    top: int | None = 10,
) -> NodePlan:
    """The fewest, or cheapest, nodes with which everything of a workload runs.

    workload: as it was read for the cluster with the template of each shape. tie_break: makes the scheduler's of one
    run. tries: so many runs at most, beside those until everything runs. repeatable: whether one run is like the other;
    otherwise nothing is proven. top: at most so many hints a pod.
    """
    asked = AskedWorkload.of(workload, cluster, shapes, engine.release)
    trials = NodeTrials(engine, asked, shapes, tie_break, most=tries)
    found = FewestNodes(trials, Needs(trials)).run()
    plan = _shown(trials, found.played, found.bound, top)
    return msgspec.structs.replace(plan, cost=found.cost, proven=found.proven and repeatable)


def autoscaled_plan(
    engine: Engine,
    cluster: Iterable[ClusterObject],
    shapes: Sequence[Shape],
    workload: Workload,
    tie_break: Callable[[], TieBreak],
    *,
    expander: Expander,
    top: int | None = 10,
) -> NodePlan:
    """What the Cluster Autoscaler adds, if shapes are its node groups, and what the scheduler then does.

    The arguments are those of ``plan_nodes``.
    """
    asked = AskedWorkload.of(workload, cluster, shapes, engine.release)
    trials = NodeTrials(engine, asked, shapes, tie_break, most=0)
    scaled = scaled_up(trials, partial(expander.choosers, shapes), random.Random(expander.seed), expander.most)
    needs = Needs(trials)
    expendable = [pod.key for pod in asked.pods() if is_expendable(pod)]
    without = {*scaled.unhelped, *expendable}
    bound = needs.bound(needs.all_but(without), [shape.most for shape in shapes]) or LowerBound(Fraction(0), "")
    plan = _shown(trials, trials.play(scaled.counts), bound, top)
    steps = [ScaleStep(_option(step.chosen), tuple(map(_option, step.options)), step.waiting) for step in scaled.steps]
    left_out = f"no node is added for {counted(len(expendable), 'pod')} of a priority below {EXPENDABLE}"
    notes = (*plan.notes, *((left_out,) if expendable else ()))
    return msgspec.structs.replace(plan, steps=tuple(steps), notes=notes)


def _option(option: ExpansionOption) -> GroupOption:
    return GroupOption(option.group, option.nodes, len(option.pods))


def _shown(trials: NodeTrials, played: Played, bound: LowerBound, top: int | None) -> NodePlan:
    """What is to be said of a run; nothing about how good it is."""
    daemons = sorted(
        {f"{pod.metadata.namespace}/{daemon_set_of(pod)}" for pods in trials.asked.daemons for pod in pods}
    )
    note = [f"on the new nodes run {', '.join(daemons)} (DaemonSets)"] if daemons and any(played.counts) else []
    nodes = list(_nodes_of(trials, played))
    placements = {record.pod.key: record.node for record in played.report.pods if record.node}
    asked = trials.asked.pods()
    counts = zip(trials.shapes, played.counts, prices_of(trials.shapes), strict=True)
    return NodePlan(
        added={shape.name: number for shape, number in zip(trials.shapes, played.counts, strict=True) if number},
        cost=sum((number * price for _, number, price in counts), Fraction(0)),
        priced=trials.shapes[0].price is not None,
        bound=bound,
        proven=False,
        runs=trials.count,
        asked=len(asked),
        placed=sum(pod.key in placements for pod in asked),
        shapes=tuple(_uses(trials, played, nodes)),
        nodes=tuple(nodes),
        placements=placements,
        left=tuple(_left_overs(trials, played, top)),
        notes=tuple(note),
    )


def _placed(played: Played) -> list[Pod]:
    return [record.pod for record in played.report.pods if record.outcome == "running"]


def _nodes_of(trials: NodeTrials, played: Played) -> Iterator[AddedNode]:
    placed: dict[str, list[str]] = {}
    for pod in _placed(played):
        placed.setdefault(pod.node_name, []).append(pod.key)
    for shape, (node, *daemons) in trials.new_nodes(played.counts):
        name = node.metadata.name
        own = tuple(f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in daemons)
        yield AddedNode(name, shape.name, tuple(placed.get(name, ())), own)


def _ended(trials: NodeTrials, played: Played, *more: ClusterObject) -> ClusterCache:
    """The cluster at the end of a run."""
    new = [obj for _, objects in trials.new_nodes(played.counts) for obj in objects]
    kept = {pod.key: pod for pod in _placed(played)}
    there = [obj for obj in trials.asked.objects if not (isinstance(obj, Pod) and obj.key in kept)]
    return cache_for(trials.engine, [*there, *new, *more, *kept.values()])


def _uses(trials: NodeTrials, played: Played, nodes: Sequence[AddedNode]) -> Iterator[ShapeUse]:
    columns = _ended(trials, played).columns
    for shape in trials.shapes:
        own = [node for node in nodes if node.shape == shape.name]
        rows = [columns.row_of[node.name] for node in own]
        if not rows:
            continue
        at = [columns.resources[resource] for resource in (CPU, MEMORY)]
        used = columns.requested.data[at][:, rows].sum(axis=1).tolist()
        has = columns.allocatable.data[at][:, rows].sum(axis=1).tolist()
        cpu, memory = (part / whole if whole else None for part, whole in zip(used, has, strict=True))
        pods = sum(len(node.pods) + len(node.daemons) for node in own)
        yield ShapeUse(shape.name, len(own), None if shape.price is None else float(shape.price), pods, cpu, memory)


def _left_overs(trials: NodeTrials, played: Played, top: int | None) -> Iterator[LeftOver]:
    """The pods that nothing helps, one of each kind, each decided on with one more node of every shape."""
    records = played.pending
    if not records:
        return
    alike: dict[object, list[PodRecord]] = {}
    for record in records.values():
        alike.setdefault((pod_key(record.pod), record.attempts > 0), []).append(record)
    fresh = trials.one_of_each()
    cache = _ended(trials, played, *(obj for objects in fresh for obj in objects))
    shape_of = {objects[0].metadata.name: shape.name for shape, objects in zip(trials.shapes, fresh, strict=True)}
    scheduler = trials.engine.scheduler(cache)
    for first, *others in alike.values():
        names = tuple(record.pod.key for record in others)
        if not first.attempts:
            yield LeftOver(first.pod, names, first.message, {}, None, tried=False, foreign=first.foreign)
            continue
        decision = scheduler.decide(first.pod)
        reasons = decision.reasons()
        by_shape = {shape: tuple(reasons[name]) for name, shape in shape_of.items() if name in reasons}
        fits = decision.host is not None
        hints = None if fits or first.gave_up else HintSearch(trials.engine, cache).hints(first.pod, top=top)
        message = first.message if fits else decision.message
        yield LeftOver(first.pod, names, message, by_shape, hints, first.gave_up, fits)
