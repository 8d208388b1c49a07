"""Comparisons, sweeps and steps between releases that are made."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import Any

import attrs
from msgspec.structs import replace

import kubescheduler
from clusterstate.objects import ClusterObject, Node, Pod
from kubescheduler.comparison.comparing import compare
from kubescheduler.comparison.comparison import Comparison
from kubescheduler.comparison.effects import Effects, NodeUse, ServiceSpread, Utilisation
from kubescheduler.comparison.outcomes import SEQUENCE, Cause, Contribution, HostChange, Outcome, PodComparison, Step
from kubescheduler.comparison.release_steps import EACH, Grouping, PodTimeline, Timeline, TimelineMove
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.framework.plugin_loading import PluginOption
from kubescheduler.releases.names import RELEASE_NAMES, place
from kubescheduler.sweep.cases import Case, Configuration, SweepOptions, cases_of, find_snapshots
from kubescheduler.sweep.rows import columns_of, open_rows
from kubescheduler.sweep.run_case import CaseOutcome, run_case
from kubescheduler.sweep.weights import grid_of
from tests.support.build import make_node, make_pod, resources

LEAST, MOST = "LeastRequestedPriority", "MostRequestedPriority"
GIB = 1 << 30


@attrs.frozen
class Policies:
    """Writes configurations into a folder."""

    folder: Path

    def policy(self, release: str = "1.16", *, checks: Sequence[str] = (), **weights: int) -> EngineSpec:
        """A policy with these predicates and priorities."""
        return self.written(
            release, predicates=[{"name": name} for name in checks], priorities=[*map(_priority, weights.items())]
        )

    def written(self, release: str = "1.16", **policy: Any) -> EngineSpec:
        """A policy as it is given."""
        return EngineSpec(release=release, policy_file=self._file({"kind": "Policy", "apiVersion": "v1", **policy}))

    def profile(self, args: dict[str, Any] | None = None, **weights: int) -> EngineSpec:
        """A configuration of 1.36 with these Score plugins and no others. args: plugin → its args."""
        score = {"disabled": [{"name": "*"}], "enabled": [{"name": n, "weight": w} for n, w in weights.items()]}
        given = [{"name": name, "args": value} for name, value in (args or {}).items()]
        document = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"plugins": {"score": score}, "pluginConfig": given}],
        }
        return EngineSpec(release="1.36", config_file=self._file(document))

    def _file(self, document: dict[str, Any]) -> str:
        path = self.folder / f"{len(list(self.folder.iterdir()))}.json"
        path.write_text(json.dumps(document))
        return str(path)


def _priority(item: tuple[str, int]) -> dict[str, Any]:
    """A name that is no priority's prefers nodes with a label of that name."""
    name, weight = item
    known = name.endswith(("Priority", "Allocation"))
    return {
        "name": name,
        "weight": weight,
        **({} if known else {"argument": {"labelPreference": {"label": name, "presence": True}}}),
    }


def node(name: str, cpu: int = 4000, memory: int = 8 * GIB, **label: str) -> Node:
    said = {"kubernetes.io/hostname": name, **label}
    return make_node(name, said, allocatable=resources(cpu=cpu, memory=memory, pods=110))


def pod(name: str, cpu: int = 100, memory: int = 256 << 20, *, on: str = "", **more: Any) -> Pod:
    return make_pod(name, node=on, requests=resources(cpu=cpu, memory=memory), **more)


def change(
    objects: Sequence[ClusterObject], old: EngineSpec, new: EngineSpec, one: Pod | None = None, **more: Any
) -> HostChange:
    """What changes for one pod."""
    return compare(objects, [one or pod("p")], old, [new], **more).pods[0].changes[0]


def _sum(amounts: Iterable[int | None]) -> int | None:
    """None if all are None; some of them may not be."""
    found = list(amounts)
    known = [amount for amount in found if amount is not None]
    assert len(known) in (0, len(found))
    return sum(known) if known else None


def check_sums(found: Comparison) -> int:
    """Holds every moved pod's contributions and steps to the totals' differences; how many were held."""
    held = 0
    for one in found.pods:
        for moved in one.changes:
            if moved.contributions:
                held += 1
                old, new = moved.old_difference, moved.new_difference
                assert _sum(part.old for part in moved.contributions) == old
                assert _sum(part.new for part in moved.contributions) == new
                assert (old is None or new is None) == (bool(moved.reasons) and not moved.as_if_passed)
                assert moved.as_if_passed or (old or 0) <= 0 <= (new or 0)
                lead = [step.lead for step in moved.steps]
                gains = [step.by for step in moved.steps]
                start = lead[0] - gains[0] if lead else 0
                assert [start + sum(gains[: at + 1]) for at in range(len(gains))] == lead
    return held


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


def compared_pod(at: int, cause: Cause, name: str | None = None) -> PodComparison:
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
    return comparison([compared_pod(at, causes[at % len(causes)]) for at in range(count)])


def three_columns() -> Comparison:
    """Two new columns: in the first every other pod goes elsewhere, in the second every third."""
    pods = []
    for at in range(12):
        first = compared_pod(at, Cause.CHANGED_WEIGHT if at % 2 else Cause.SAME)
        second = compared_pod(at, Cause.CHANGED_FORMULA if at % 3 == 0 else Cause.SAME)
        outcomes = (*first.outcomes, second.outcomes[1])
        pods.append(PodComparison(first.pod, outcomes, (*first.changes, *second.changes)))
    return comparison(pods, ("old", "tuned", "default"))


COLUMNS = columns_of(placements=False, timings=False)
OPTIONS = SweepOptions(version=kubescheduler.__version__)

GRID = {"base": ["release=1.16", "release=1.4"], "weights": {"LeastRequestedPriority": [0, 3]}}


def node_manifest(name: str, cpu: str = "4", memory: str = "8Gi") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": {"cpu": cpu, "memory": memory, "pods": "110"}},
    }


def pod_manifest(name: str, cpu: str = "500m", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **spec}}


def write(path: Path, *objects: dict[str, Any]) -> str:
    """A snapshot of these objects."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return str(path)


def write_snapshots(folder: Path, count: int) -> str:
    """A folder of snapshots, no two alike, each with equal nodes and three pending pods."""
    for at in range(count):
        pods = [pod_manifest(f"p{number}", f"{100 * (at + 1)}m") for number in range(3)]
        write(folder / f"s{at}.json", *(node_manifest(f"n{number}") for number in range(4)), *pods)
    return str(folder)


def sixty(folder: Path) -> list[Case]:
    """5 snapshots × 4 configurations × 3 seeds."""
    snapshots = find_snapshots([write_snapshots(folder, 5)])
    return cases_of(snapshots, grid_of(GRID), range(3), OPTIONS)


def one_case(snapshot: str, spec: str = "release=1.16", seed: int | None = None, **options: Any) -> Case:
    """One snapshot, one configuration."""
    seeds = () if seed is None else (seed,)
    chosen = SweepOptions(**{"version": kubescheduler.__version__, **options})
    configuration = Configuration(spec, EngineSpec.parse(spec))
    (case,) = cases_of(find_snapshots([snapshot], whole_folders=True), [configuration], seeds, chosen)
    return case


def run_here(cases: Sequence[Case]) -> Generator[CaseOutcome]:
    """In this process, one after another."""
    for case in cases:
        yield run_case(case)


def deadly(args: Any, handle: Any) -> Any:
    """A plugin that ends the process that makes it."""
    os.kill(os.getpid(), signal.SIGKILL)


def deadly_case(snapshot: str) -> Case:
    """A case that no process survives."""
    spec = EngineSpec(release="1.36", plugins=(PluginOption("Deadly", deadly),))
    (case,) = cases_of(find_snapshots([snapshot]), [Configuration("deadly", spec)], (), OPTIONS)
    return case


def rows_in(path: Path) -> list[dict[str, Any]]:
    """The rows of a finished file, in order."""
    return [dict(row) for row in open_rows(str(path), COLUMNS).rows.values()]


POOLS = ("compute", "general", "memory")
NODE_COUNT = 12
ZONE = "topology.kubernetes.io/zone"
RELEASES = RELEASE_NAMES[place("1.18") : place("1.26") + 1]
WEIGHS, BALANCED = ("1.23", ("taint-toleration-weighs-3",)), ("1.22", ("balanced-allocation-of-real-requests",))
SEVERAL = ("1.25", ())
"""A step at which no change alone moves pods."""


def node_in_pool(number: int) -> str:
    return f"{POOLS[number % len(POOLS)]}-{number % NODE_COUNT}"


def moving(key: str, workload: str, start: int, *steps: tuple[tuple[str, tuple[str, ...]], int | None]) -> PodTimeline:
    """A pod that begins on a node and goes at each step to another, or to none."""
    where = {release: to for (release, _), to in steps}
    at: int | None = start
    outcomes = []
    for release in RELEASES:
        at = where.get(release, at)
        host = None if at is None else node_in_pool(at)
        message = "" if host else "0/12 nodes are available: 12 Insufficient cpu."
        outcomes.append(
            Outcome(host, total=700 + (at or 0), tied=(host,) if host else (), nodes=NODE_COUNT, message=message)
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
    names = [node_in_pool(number) for number in range(NODE_COUNT)]
    by_pool = Grouping("cloud.google.com/gke-nodepool", {name: name.partition("-")[0] for name in names})
    zones = Grouping(ZONE, {name: f"eu-{'ab'[at % 2]}" for at, name in enumerate(names)})
    each = Grouping(EACH, {name: name for name in names})
    return Timeline(RELEASES, pods, notes, (by_pool, zones, each))


def renamed(found: Timeline, name: str) -> Timeline:
    """With another name for its workloads, its notes and the group of every node."""
    groups = tuple(Grouping(name, dict.fromkeys(each.group_of, name)) for each in found.groupings)
    pods = tuple(replace(pod, workload=f"Deployment/{name}") for pod in found.pods)
    return replace(found, pods=pods, notes=(name,), groupings=groups)
