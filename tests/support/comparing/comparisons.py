"""Comparisons for tests of reports, made by hand: every cause, several namespaces and nodes, hostile names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from kubescheduler.comparison.comparison import Comparison
from kubescheduler.comparison.effects import Effects, NodeUse, ServiceSpread, Utilisation
from kubescheduler.comparison.outcomes import SEQUENCE, Cause, Contribution, HostChange, Outcome, PodComparison, Step

NODES = tuple(f"node-{at}" for at in range(8))
NAMESPACES = ("shop", "batch", "data")
SCORED = (Cause.CHANGED_FORMULA, Cause.SCORE_RESOLUTION, Cause.CHANGED_WEIGHT, Cause.CHANGED_FORMULA)


def scored(cause: Cause, at: int) -> HostChange:
    """Terms that differ from pod to pod and sum to the differences."""
    terms = (
        Contribution("LeastRequestedPriority", "NodeResourcesFit", -2, 10 + at, 1, 1, (5, 3), (50, 60 + at)),
        Contribution("SelectorSpreadPriority", None, 1, 0, 1, None, (6, 7), None),
        Contribution(None, "ImageLocality", 0, 5, None, 1, None, (0, 5)),
        Contribution("TaintTolerationPriority", "TaintToleration", 0, 0, 1, 3, (10, 10), (100, 100)),
    )
    steps = (Step(Cause.REMOVED_PRIORITY, ("SelectorSpreadPriority",), -10, -20), Step(cause, (), 35 + at, 15 + at))
    text = f"pod {at} goes elsewhere: {cause}"
    return HostChange(cause, text, terms, sum(t.old or 0 for t in terms), sum(t.new or 0 for t in terms), steps)


def pod(at: int, cause: Cause, name: str | None = None) -> PodComparison:
    """The pod with this number goes from one node to the next, unless the cause says otherwise."""
    old, new = NODES[at % len(NODES)], NODES[(at + 1) % len(NODES)]
    key = name or f"{NAMESPACES[at % len(NAMESPACES)]}/pod-{at}"
    before = Outcome(old, (old, new), 10 + at % 7, 8, 8)
    after = Outcome(new, (new,), 400 + at, 7, 8)
    if cause is Cause.SAME:
        return PodComparison(key, (before, before), (HostChange(cause),))
    if cause is Cause.FILTERED_NOW:
        nowhere = Outcome(None, fits=0, nodes=8, message="0/8 nodes are available: 8 Insufficient cpu.")
        reasons = {"NodeResourcesFit": ("Insufficient cpu",)}
        return PodComparison(key, (before, nowhere), (HostChange(cause, f"{old} no longer fits", reasons=reasons),))
    change = scored(cause, at) if cause in SCORED else HostChange(cause, f"because of {cause}")
    return PodComparison(key, (before, after), (change,))


def effects(hosts: Iterable[str | None], nodes: Sequence[str] = NODES) -> Effects:
    """A pod takes a tenth of a node; one service has them all, in two zones."""
    counts = Counter(hosts)
    unplaced = counts.pop(None, 0)
    uses = [NodeUse(n, f"z{i % 2}", counts[n], {"cpu": counts[n] / 10, "memory": 0.25}) for i, n in enumerate(nodes)]
    zones = {zone: sum(use.pods for use in uses if use.zone == zone) for zone in ("z0", "z1")}
    skew = max(zones.values()) - min(zones.values())
    spread = ServiceSpread("shop/web", sum(zones.values()), zones, skew, len(counts), 1)
    utilisation = (Utilisation("cpu", 0.5, 0.0, 1.0, 0.2), Utilisation("memory", 0.25, 0.25, 0.25, 0.0))
    return Effects(counts.total(), unplaced, tuple(uses), utilisation, 0.5, (spread,))


def comparison(pods: Sequence[PodComparison], names: Sequence[str] = ("old", "new")) -> Comparison:
    """The pods as they are, with the effects that follow."""
    columns = [effects(p.outcomes[at].host for p in pods) for at in range(len(names))]
    return Comparison(
        tuple(names), ("1.16", *["1.36"] * (len(names) - 1)), SEQUENCE, tuple(pods), tuple(columns), effects([])
    )


def every_cause(count: int = 60) -> Comparison:
    """So many pods, the causes by turns."""
    causes = list(Cause)
    return comparison([pod(at, causes[at % len(causes)]) for at in range(count)])


def three_columns() -> Comparison:
    """Two new columns: in the first every other pod goes elsewhere, in the second every third."""
    pods = []
    for at in range(12):
        first = pod(at, Cause.CHANGED_WEIGHT if at % 2 else Cause.SAME)
        second = pod(at, Cause.CHANGED_FORMULA if at % 3 == 0 else Cause.SAME)
        outcomes = (*first.outcomes, second.outcomes[1])
        pods.append(PodComparison(first.pod, outcomes, (*first.changes, *second.changes)))
    return comparison(pods, ("old", "tuned", "default"))
