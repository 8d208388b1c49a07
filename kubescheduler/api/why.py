"""Why a pod of a cluster is where it is, or nowhere: what its scheduler would do with it now, in one answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from clusterstate.errors import InputError, nearest
from clusterstate.objects import Pod
from kubescheduler.api.cluster import Cluster
from kubescheduler.api.engine_choice import engine_spec, tie_break_of
from kubescheduler.comparison.differences import Judgement, terms
from kubescheduler.comparison.running_pods import Absences, renewed, runs, stays
from kubescheduler.core.decision import Decision, gave_up
from kubescheduler.core.results import Shown, ShownTable
from kubescheduler.core.selection import TieBreak
from kubescheduler.engine.spec import Engine, PodScheduler, cache_for, place
from kubescheduler.framework.plugins.queue_and_bind import GANG_SCHEDULING, gang_of
from kubescheduler.given import TEXT, checked_cluster, refuse, wrong_type
from kubescheduler.hinting.hint_search import HintSearch
from kubescheduler.hinting.proposals import PodHints
from kubescheduler.releases.lookup import release_named


class WaitingMember(msgspec.Struct, frozen=True):
    """A member without a node."""

    pod: str
    """``namespace/name``."""
    node: str
    """Where it would go now, with the members before it placed; empty: nowhere."""
    message: str
    """Why nowhere, in the release's words."""
    reasons: Mapping[str, tuple[str, ...]]
    """Node → why it does not fit there, of one that goes nowhere."""


class GangMembers(msgspec.Struct, frozen=True):
    """A gang whose pods start together."""

    group: str
    """``namespace/name`` of its PodGroup."""
    needed: int
    """Members that have to have a node before any starts."""
    placed: tuple[str, ...]
    """Those that have one."""
    waiting: tuple[WaitingMember, ...]
    """Those that have none, in the order of the queue."""

    def sentences(self) -> Iterator[str]:
        """In words, a paragraph each."""
        every, fit = len(self.placed) + len(self.waiting), sum(bool(each.node) for each in self.waiting)
        have = f"{len(self.placed)} of the {every} there are have one"
        outcome = f"{fit} more would get one: enough" if len(self.placed) + fit >= self.needed else ""
        if not outcome:
            missing = f"{self.needed - every} more have to come, and " if every < self.needed else ""
            outcome = f"{missing}{fit} more would get one: all wait"
        yield f"It is of the gang {self.group}, which starts when {self.needed} pods have a node: {have}, {outcome}."
        for each in self.waiting:
            yield f"{each.pod} would go to {each.node}." if each.node else f"{each.pod} fits nowhere: {each.message}"


def gang_members(engine: Engine, cluster: Cluster, pod: Pod) -> GangMembers | None:
    """The gang of a pending pod; None where it is of none, or its profile does not hold gangs back.

    Each member is decided on with those before it on their nodes, as they are while Permit holds them; nobody is
    evicted for one.
    """
    gang = gang_of(pod)
    if gang is None or runs(pod):
        return None
    cache = cache_for(engine, cluster.objects)
    scheduler, group = engine.scheduler(cache), cache.objects.pod_groups.get(gang)
    holds = any(GANG_SCHEDULING in names for names in scheduler.points(pod).values())
    if not holds or group is None or group.min_count is None:
        return None
    members = [each for each in cluster.pods if gang_of(each) == gang]
    waiting: list[WaitingMember] = []
    for member in come_by(engine, scheduler, cluster, pod):
        decision = scheduler.decide(member)
        if decision.host is not None:
            place(scheduler, member, decision.host)
            waiting.append(WaitingMember(member.key, decision.host, "", {}))
        else:
            reasons = {node: tuple(said) for node, said in decision.reasons().items()}
            waiting.append(WaitingMember(member.key, "", decision.message, reasons))
    placed = tuple(sorted(each.key for each in members if runs(each)))
    return GangMembers("/".join(gang), group.min_count, placed, tuple(waiting))


def come_by(engine: Engine, scheduler: PodScheduler, cluster: Cluster, pod: Pod) -> list[Pod]:
    """Shows a scheduler the pods that wait with a pod of a gang, as its queue has: before, PreEnqueue holds all of them
    back. They are in the order of the queue; none for a pod of no gang."""
    gang = gang_of(pod)
    if gang is None:
        return []
    members = [each for each in cluster.pods if gang_of(each) == gang]
    queued = release_named(engine.release).queue_order(members)
    for member in queued:
        scheduler.decide(member)
    return queued


NAMED = 5
"""Nodes and reasons that a sentence names."""
DONE = ("Succeeded", "Failed")
"""Phases of a pod that no longer needs a node."""


class Difference(msgspec.Struct, frozen=True):
    """What one rule adds to a node's total beside another's."""

    rule: str
    points: int
    """Of the total, with the rule's weight; negative where it speaks for the other node."""

    def __str__(self) -> str:
        return f"{self.rule} {self.points:+,}"


class Beside(msgspec.Struct, frozen=True):
    """A node beside another one that fits as well, by their totals."""

    node: str
    total: int
    other: str
    other_total: int
    differences: tuple[Difference, ...]
    """The largest first; they add up to the difference of the totals."""

    def __str__(self) -> str:
        made = ", ".join(map(str, self.differences)) or "every score is the same"
        return f"{self.node} has a total of {self.total:,}, {self.other} of {self.other_total:,}: {made}"


class Why(Shown, msgspec.Struct, frozen=True, eq=False):
    """Why a pod is where it is, or nowhere."""

    pod: Pod
    """As it stands in the cluster."""
    decision: Decision
    """Made now: on a pending pod in the cluster as it is, on a running one in the cluster without it."""
    beside: Beside | None = None
    """The best node beside the one where the pod runs, or beside the next best."""
    hints: PodHints | None = None
    """What would make a pod fit that fits nowhere; None for any other."""
    gang: GangMembers | None = None
    """The members of its gang, of a pending pod whose gang is held back until enough of them have a node."""
    reported: str = ""
    """What the cluster's own scheduler wrote on the pod, with the time, as it could not place it."""

    @property
    def running(self) -> bool:
        """Whether the pod is on a node and has not finished."""
        return runs(self.pod)

    @property
    def placed(self) -> bool:
        """Whether the pod has a node, or would get one."""
        return bool(self.pod.node_name) or self.decision.host is not None

    def sentences(self) -> list[str]:
        """The answer in words, a paragraph each."""
        said = _of_running(self) if self.pod.node_name else _of_pending(self)
        return [text for text in (*said, _kept_out(self.decision)) if text]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON; the decision as ``Decision.to_dict`` has it."""
        return {
            "pod": self.pod.key,
            "node": self.pod.node_name or None,
            "text": self.sentences(),
            "reported": self.reported or None,
            "beside": None if self.beside is None else msgspec.to_builtins(self.beside),
            **({} if self.gang is None else {"gang": msgspec.to_builtins(self.gang)}),
            "decision": self.decision.to_dict(),
            "hints": [] if self.hints is None else [hint.to_dict() for hint in self.hints],
        }

    def table(self) -> ShownTable:
        """What is printed, and shown in a notebook: a line a sentence, then the hints."""
        said = [("", text) for text in self.sentences()]
        hints = [(str(at), f"{hint.text} → {hint.host}") for at, hint in enumerate(self.hints or (), 1)]
        return ShownTable(self.pod.key, ("HINT", "WHY"), [*said, *hints])


def _of_running(why: Why) -> Iterator[str]:
    pod, decision = why.pod, why.decision
    if pod.phase in DONE:
        yield f"{pod.key} ran on {pod.node_name} and has finished ({pod.phase}): it uses nothing of the node any more."
        return
    yield f"{pod.key} runs on {pod.node_name}."
    if left := stays(pod):
        yield f"It is {left}, so the scheduler will not look at it again; this is what it would say of it."
    if gave_up(decision) or not decision.tried:
        yield f"Nobody can say where it would go now: {decision.message}"
    elif pod.node_name not in decision.fits():
        refused = "; ".join(decision.reasons().get(pod.node_name, ())) or "it was not looked at"
        yield f"It would not go there again, as {pod.node_name} does not fit it now: {refused}."
        yield f"It would go to {decision.host}." if decision.host else f"No node fits it now: {decision.message}"
    elif len(decision.feasible) == 1:
        yield "It would go there again: no other node fits."
    else:
        yield _choice(why)


def _choice(why: Why) -> str:
    """Of a running pod that several nodes fit: where it would go, and by which scores."""
    best, node, beside = why.decision.best(), why.pod.node_name, why.beside
    by = "" if beside is None else f" {beside}."
    if node not in best:
        others = _names(best)
        return f"It would go to {others} now.{by}"
    if len(best) == 1:
        return f"It would go there again.{by}"
    equal = f"{_names([each for each in best if each != node])} would be as good"
    return (
        f"It would go there again or elsewhere: {equal}, with the same total of {max(why.decision.total().values()):,}."
    )


def _of_pending(why: Why) -> Iterator[str]:
    pod, decision = why.pod, why.decision
    if why.reported:
        yield f"{pod.key} is pending. The cluster's scheduler said {why.reported}"
    else:
        yield f"{pod.key} is pending."
    if pod.nominated_node_name:
        yield f"It is nominated to {pod.nominated_node_name}, where it waits until the pods that it evicts are gone."
    if why.gang is not None:
        yield from why.gang.sentences()
    if decision.host is None:
        yield decision.message
        return
    beside = "" if why.beside is None else f" {why.beside}."
    yield f"It would go to {decision.host} now.{beside}"


def _kept_out(decision: Decision) -> str:
    """What keeps a pod that has a node from the others; a message says it of one that has none."""
    refused = decision.reasons()
    if decision.host is None or not refused:
        return ""
    counts = Counter(reason for reasons in refused.values() for reason in reasons)
    said = [f"{count:,} {reason}" for reason, count in counts.most_common(NAMED)]
    more = f" and {len(counts) - NAMED} more reasons" if len(counts) > NAMED else ""
    nodes = "1 node does" if len(refused) == 1 else f"{len(refused):,} nodes do"
    return f"{nodes} not fit it: {', '.join(said)}{more}."


def _names(nodes: list[str]) -> str:
    more = f" and {len(nodes) - NAMED:,} more" if len(nodes) > NAMED else ""
    return ", ".join(nodes[:NAMED]) + more


# --- asking ------------------------------------------------------------------------------------


def why(
    cluster: Cluster,
    pod: str,
    *,
    top: int | None = 10,
    tie_break: str = "first",
    seed: int | None = None,
    **options: Any,
) -> Why:
    """Why a pod of the cluster is where it is, or nowhere: the decision on it now, of a running pod in the cluster
    without it, the scores beside the best other node, and hints where it fits nowhere.

    pod: ``namespace/name``, or ``name`` in the namespace default. top: at most so many hints; None: all. options: a
    Scheduler's. Raises InputError for a pod that is not there.

    >>> from kubescheduler import Cluster
    >>> cluster = Cluster().node("a", cpu=2).node("b", cpu=4).pod("web", node="a", cpu=1)
    >>> print(why(cluster, "web").beside)
    a has a total of 100,032, b of 100,035: BalancedResourceAllocation -2, LeastRequestedPriority -1
    """
    checked_cluster(cluster, Cluster)
    refuse(wrong_type("pod", pod, TEXT, "the name of a pod"))
    engine = engine_spec(cluster.release, **options).engine(lambda _: None)
    return why_of(engine, cluster, named_pod(cluster, pod), tie_break_of(engine, tie_break, seed), top=top)


def named_pod(cluster: Cluster, name: str, namespace: str = "default") -> Pod:
    """The pod of a cluster that is called ``namespace/name``, or ``name`` in a namespace. Raises InputError."""
    key = name if "/" in name else f"{namespace}/{name}"
    found = cluster.find_pod(key)
    if found is None:
        pods = cluster.pods
        elsewhere = [pod.key for pod in pods if pod.metadata.name == name]
        near = f"; there is {elsewhere[0]}" if elsewhere else nearest(key, (pod.key for pod in pods))
        raise InputError(f"there is no pod {key} in the cluster{near}")
    return found


def why_of(
    engine: Engine, cluster: Cluster, pod: Pod, tie_break: TieBreak | None = None, *, top: int | None = 10
) -> Why:
    """See ``why``. pod: one of the cluster's."""
    cache = cache_for(engine, cluster.objects)
    Absences(cache, {pod.key: pod} if runs(pod) else {}).begin(pod)
    scheduler = engine.scheduler(cache, tie_break)
    if not pod.node_name:
        come_by(engine, scheduler, cluster, pod)
    decision = scheduler.decide(renewed(pod) if pod.node_name else pod, preempt=not pod.node_name)
    beside = _beside(scheduler, decision, pod.node_name)
    hints = None
    if decision.host is None and decision.tried and not pod.node_name:
        search = HintSearch(engine, cache_for(engine, cluster.objects))  # the decision is explained by the other cache
        hints = search.hints(pod, top=top, quick=True, message=decision.message)
        hints = None if gave_up(decision) and not hints else hints
    return Why(pod, decision, beside, hints, gang_members(engine, cluster, pod), _reported(cluster, pod))


def _beside(scheduler: PodScheduler, decision: Decision, node: str) -> Beside | None:
    """The pod's node, or the chosen one, beside the best other node; None where fewer than two were scored."""
    total = decision.total()
    mine = node or decision.host or ""
    if mine not in total or len(total) == 1:
        return None
    chosen = decision.host if decision.host not in (None, mine) else None
    other = chosen or min((each for each in total if each != mine), key=lambda each: (-total[each], each))
    judgement = Judgement(scheduler, decision)
    found = [Difference(name, term.value) for name, term in terms(judgement, (other, mine)).items() if term.value]
    found.sort(key=lambda difference: -abs(difference.points))
    return Beside(mine, total[mine], other, total[other], tuple(found))


def _reported(cluster: Cluster, pod: Pod) -> str:
    """What is written in the pod's condition PodScheduled, where it is False; empty without its manifest."""
    if pod.node_name:
        return ""
    entry = next((each for each in cluster.entries() if each.obj is pod and each.item is not None), None)
    status = {} if entry is None else entry.manifest().get("status") or {}
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return _condition_text(condition)
    return ""


def _condition_text(condition: Mapping[str, Any]) -> str:
    since, message = condition.get("lastTransitionTime"), condition.get("message") or condition.get("reason") or ""
    return f"({since}): {message}" if since else f": {message}"
