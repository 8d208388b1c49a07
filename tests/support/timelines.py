"""Steps between releases that are made."""

from __future__ import annotations

from msgspec.structs import replace

from kubescheduler.comparison.outcomes import Cause, Outcome
from kubescheduler.comparison.release_steps import EACH, Grouping, PodTimeline, Timeline, TimelineMove
from kubescheduler.releases.names import RELEASE_NAMES, place
from tests.support.comparisons import compared_pod

POOLS = ("compute", "general", "memory")
NODES = 12
ZONE = "topology.kubernetes.io/zone"
RELEASES = RELEASE_NAMES[place("1.18") : place("1.26") + 1]
WEIGHS, BALANCED = ("1.23", ("taint-toleration-weighs-3",)), ("1.22", ("balanced-allocation-of-real-requests",))
SEVERAL = ("1.25", ())
"""A step at which no change alone moves pods."""


def node(number: int) -> str:
    return f"{POOLS[number % len(POOLS)]}-{number % NODES}"


def moving(key: str, workload: str, start: int, *steps: tuple[tuple[str, tuple[str, ...]], int | None]) -> PodTimeline:
    """A pod that begins on a node and goes at each step to another, or to none."""
    where = {release: to for (release, _), to in steps}
    at: int | None = start
    outcomes = []
    for release in RELEASES:
        at = where.get(release, at)
        host = None if at is None else node(at)
        message = "" if host else "0/12 nodes are available: 12 Insufficient cpu."
        outcomes.append(
            Outcome(host, total=700 + (at or 0), tied=(host,) if host else (), nodes=NODES, message=message)
        )
    moves = []
    for (release, changes), _ in steps:
        old, new = (outcomes[RELEASES.index(release) - back] for back in (1, 0))
        change = compared_pod(0, Cause.CHANGED_WEIGHT if new.host else Cause.FILTERED_NOW).changes[0]
        moves.append(TimelineMove(RELEASES[RELEASES.index(release) - 1], release, old.host, new.host, change, changes))
    return PodTimeline(key, workload, tuple(outcomes), tuple(moves))


def made_timeline(workloads: int = 8, pods: int = 6) -> Timeline:
    """Workloads of pods of which every fourth stays; the others move at one step, at two and back, or to no node."""
    found = []
    for number in range(workloads):
        for at in range(pods):
            steps = (
                [],
                [(WEIGHS, 1)],
                [(BALANCED, 2), (SEVERAL, 0)],
                [(BALANCED, 4), (WEIGHS, None)] if at % 2 else [(WEIGHS, 4)],
            )[number % 4]
            found.append(moving(f"shop/app-{number}-{at}", f"Deployment/app-{number}", 0, *steps))
    return timeline_of(*found)


def timeline_of(*pods: PodTimeline, notes: tuple[str, ...] = ()) -> Timeline:
    """By pools first."""
    names = [node(number) for number in range(NODES)]
    by_pool = Grouping("cloud.google.com/gke-nodepool", {name: name.partition("-")[0] for name in names})
    zones = Grouping(ZONE, {name: f"eu-{'ab'[at % 2]}" for at, name in enumerate(names)})
    each = Grouping(EACH, {name: name for name in names})
    return Timeline(RELEASES, pods, notes, (by_pool, zones, each))


def renamed(found: Timeline, name: str) -> Timeline:
    """With another name for its workloads, its notes and the group of every node."""
    groups = tuple(Grouping(name, dict.fromkeys(each.group_of, name)) for each in found.groupings)
    pods = tuple(replace(pod, workload=f"Deployment/{name}") for pod in found.pods)
    return replace(found, pods=pods, notes=(name,), groupings=groups)
