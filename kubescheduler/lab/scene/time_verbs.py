"""The verb ``time``, a simulation of a scene; ``timeAt`` and the edit ``fork``, any of its moments.

A simulation notes every attempt and where every pod waits, and can be ended before any attempt.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import attrs
import msgspec

from clusterstate.errors import listed
from clusterstate.manifests.kinds import encode_object
from clusterstate.objects import ClusterObject, Node, Pod
from clusterstate.usage import CPU, MEMORY, PODS
from kubescheduler.api.cluster import Cluster
from kubescheduler.api.engine_choice import tie_break_of
from kubescheduler.api.whole_runs import workload_of
from kubescheduler.core.decision import Decision
from kubescheduler.core.results import counted
from kubescheduler.cycle.schedule_one import PodAttempt
from kubescheduler.engine.spec import PodScheduler, cache_for
from kubescheduler.lab.scene.scene import Change, Edit, KeptValues, Parameters, Scene, Verb, parameters, verb
from kubescheduler.lab.scene.scene_state import SceneFault
from kubescheduler.queue.entry import Place
from kubescheduler.simulation.simulation import Simulation
from kubescheduler.simulation.simulation_report import RUNNING, WAITING, PodRecord, Report, UsageRecorder, share
from kubescheduler.simulation.workload import ARRIVES_AFTER, DURATION, Workload

HELD = "waiting"
"""The lane of pods that Permit plugins hold."""

LANES = {
    Place.ACTIVE: "active",
    Place.BACKOFF: "backoff",
    Place.UNSCHEDULABLE: "unschedulable",
    Place.GATED: "gated",
}
"""Place in the queue → lane."""


class TriedPod(msgspec.Struct, frozen=True):
    """One attempt of a run."""

    number: int
    """From 0, in the order they were made."""
    time: float
    """Seconds after the start."""
    pod: str
    """namespace/name."""
    node: str
    """The node that was chosen; empty: none."""
    message: str
    """Why none was chosen, or why the pod could not be kept there."""
    nominated: str
    """Where the pod is to wait for room; empty: nowhere."""


@attrs.define
class Stay:
    """A pod in a lane, from one moment to another."""

    lane: str
    pod: str
    start: float
    """Seconds after the start."""
    end: float | None = None
    """None: until the end of the run."""
    attempts: list[int] = attrs.field(factory=list)
    """The attempts that were made meanwhile, by number."""


class Ended(Exception):
    """The run has come to where it was to end."""


class RecordedRun(Simulation):
    """One run of a workload over the scheduler's cluster, which it changes; ``play`` is called once."""

    def __init__(
        self,
        scheduler: PodScheduler,
        workload: Workload,
        *,
        before: int | None = None,
        until: float | None = None,
        most: int = 5000,
        **options: Any,
    ) -> None:
        """before: the run ends before the attempt of that number. until: it ends after so many seconds. most: or after
        so many attempts. options: see ``Simulation``.
        """
        self.attempts: list[TriedPod] = []
        self.stays: list[Stay] = []
        self.ended = ""
        self._before = most if before is None else min(before, most)
        self._until = until
        self._open: dict[str, Stay] = {}
        self._places: dict[str, str] = {}
        super().__init__(scheduler, workload, progress=self._moment_over, **options)

    def play(self) -> Report | None:
        """Runs; None when the run was ended before everything had happened: ``ended`` says why."""
        try:
            return self.run()
        except Ended as end:
            self._moment_over(0, 0)
            self.ended = str(end)
            return None

    @property
    def records(self) -> list[PodRecord]:
        """What is known of every pod that has come, or was made to leave."""
        return list(self._records.values())

    @property
    def held(self) -> dict[str, str]:
        """Pod that Permit plugins hold → the node on which its place is kept."""
        return {held.pod.key: self._places.get(held.pod.key, "") for held in self._waiting}

    @property
    def usage(self) -> Any:
        """What was in use so far."""
        return self._usage

    def _next_moment(self) -> float | None:
        moment = super()._next_moment()
        if moment is not None and self._until is not None and moment > self._until:
            raise Ended(f"the run was ended after {self._until:g} seconds")
        return moment

    def _decide(self, *asked: Any) -> Decision:
        if len(self.attempts) >= self._before:
            raise Ended(f"the run was ended after {self._before} attempts")
        return super()._decide(*asked)

    def _note(self, attempt: PodAttempt) -> None:
        number, record = len(self.attempts), self._records[attempt.pod.key]
        self._goes(record.pod.key, LANES[Place.ACTIVE])
        self._open[record.pod.key].attempts.append(number)
        super()._note(attempt)
        if attempt.waits:
            self._places[record.pod.key] = attempt.node_name
        decision = attempt.decision
        failed = "" if attempt.binding is not None else record.message
        nominated = (decision.nominated if decision is not None else None) or ""
        self.attempts.append(TriedPod(number, self.now, record.pod.key, attempt.node_name, failed, nominated))

    # --- lanes -------------------------------------------------------------------------------

    def _moment_over(self, done: int, noted: int) -> None:  # noqa: ARG002
        held = self.held
        for record in self._records.values():
            if record.outcome == WAITING or record.pod.key in self._open:
                self._goes(record.pod.key, self._lane(record, held))

    def _goes(self, pod: str, lane: str) -> None:
        """Notes the lane in which a pod is from now on; empty: none."""
        there = self._open.get(pod)
        if there is not None and there.lane == lane:
            return
        if there is not None:
            there.end = self.now
            del self._open[pod]
        if lane:
            self._open[pod] = Stay(lane, pod, self.now)
            self.stays.append(self._open[pod])

    def _lane(self, record: PodRecord, held: dict[str, str]) -> str:
        if record.outcome != WAITING:
            return ""
        if record.pod.key in held:
            return HELD
        place = self._queue.place(record.pod)
        return "" if place is None else LANES[place]


HELD_NOTE = "{} keeps its place on {} while Permit plugins hold it; here it runs there"
UPDATES_NOTE = "what became of other objects than pods and nodes during the run is left out"


def cluster_then(cluster: Cluster, workload: Workload, run: RecordedRun) -> tuple[Cluster, list[str]]:
    """The cluster at the moment at which a run ended, and what is otherwise there than it was in the run.

    cluster: as it was before the run. Pods that are to come are not there, those that have gone neither.
    """
    notes: list[str] = [UPDATES_NOTE] if workload.updates else []
    held, records = run.held, run.records
    there = {pod.key: pod for pod in cluster.pods}
    coming = {pod.key for pod in workload.pods()}
    known = {record.pod.key for record in records}
    gone = [r.pod.key for r in records if r.outcome not in (RUNNING, WAITING) and r.pod.key in there]
    gone += [key for key, pod in there.items() if key in coming and key not in known and not pod.node_name]
    cluster = cluster.without_pod(*gone) if gone else cluster
    cluster = _with_nodes(cluster, workload, run)
    fresh = [record.pod for record in records if record.outcome in (RUNNING, WAITING) and record.pod.key not in there]
    cluster = _with_new(cluster, (*workload.objects, *fresh))
    stays = {key: pod.node_name for key, pod in there.items()}
    placed = {r.pod.key: r.node for r in records if r.outcome == RUNNING and stays.get(r.pod.key) != r.node}
    placed |= held
    notes += [HELD_NOTE.format(pod, node) for pod, node in held.items()]
    cluster = cluster.with_hosts(placed) if placed else cluster
    edits = {("Pod", r.pod.key): partial(_with_status, r.pod) for r in records if r.outcome in (RUNNING, WAITING)}
    cluster = cluster._changed(edits) if edits else cluster  # all at once: each edit reads the whole list
    return cluster, notes


def _with_nodes(cluster: Cluster, workload: Workload, run: RecordedRun) -> Cluster:
    """With nodes that have joined, without those that have left."""
    joined = [a.node for a in workload.nodes if a.at <= run.now and (a.leaves_at is None or a.leaves_at > run.now)]
    left = [a.node.name for a in workload.nodes if a.leaves_at is not None and a.leaves_at <= run.now]
    names = {node.name for node in cluster.nodes}
    if off := [name for name in left if name in names]:
        cluster = cluster.without_node(*off)
    return _with_new(cluster, [node for node in joined if node.name not in names])


def _with_new(cluster: Cluster, objects: Iterable[ClusterObject]) -> Cluster:
    manifests = [_manifest(obj) for obj in objects]
    return cluster.add(manifests) if manifests else cluster


def _manifest(obj: ClusterObject) -> dict[str, Any]:
    """As it was written, or as the fields that a scheduler reads; a pod on no node."""
    encoded = encode_object(obj)
    written = {**encoded, **((obj.manifest if isinstance(obj, Pod | Node) else None) or {})}
    if isinstance(obj, Pod):
        written["metadata"] = {**written["metadata"], "name": obj.metadata.name, "namespace": obj.metadata.namespace}
        written["spec"] = {key: value for key, value in written["spec"].items() if key != "nodeName"}
        written.pop("status", None)
    return written


def _with_status(pod: Pod, before: Mapping[str, Any]) -> dict[str, Any]:
    """With what the run wrote of the pod: where it waits for room, since when it runs, that it is leaving and why."""
    known = {one["type"]: one for one in (before.get("status") or {}).get("conditions") or ()}
    conditions = [
        {
            **known.get(one.type, {}),
            "type": one.type,
            "status": one.status,
            **({"reason": one.reason} if one.reason else {}),
        }
        for one in pod.conditions
    ]
    written = {
        "nominatedNodeName": pod.nominated_node_name or None,
        "startTime": pod.start_time,
        "conditions": conditions or None,
    }
    leaving = {"deletionTimestamp": pod.metadata.deletion_timestamp}
    return _put(_put(before, "status", written), "metadata", leaving)


def _put(manifest: Mapping[str, Any], part: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """With some values of a part; None: without the key, and a part that is then empty is not there."""
    rest = {key: value for key, value in (manifest.get(part) or {}).items() if key not in values}
    rest |= {key: value for key, value in values.items() if value is not None}
    return {**{key: value for key, value in manifest.items() if key != part}, **({part: rest} if rest else {})}


MOST_SAMPLES = 2000
"""Moments of which the use is told; of more, evenly spaced ones."""
MOST_STAYS = 5000
"""Stays in one lane."""


def sampled(usage: UsageRecorder, end: float) -> dict[str, Any]:
    """``samples``: times, then by time the shares of cpu, memory and pods in use."""
    rows = usage.samples
    step = -(-len(rows) // MOST_SAMPLES) or 1
    kept = [*rows[:-1:step], *rows[-1:]]
    at = [usage.resources.index(name) for name in (CPU, MEMORY, PODS)]
    columns = [[share(row.used[place], row.capacity[place]) for row in kept] for place in at]
    times = [row.time for row in kept]
    if times and times[-1] < end:
        times.append(end)
        columns = [[*column, column[-1]] for column in columns]
    return {"samples": [times, *columns]}


def lanes(stays: Sequence[Stay]) -> dict[str, Any]:
    """Lane → who was in it from when to when, and the attempts meanwhile."""
    names = (*LANES.values(), HELD)
    out: dict[str, Any] = {name: [] for name in names}
    for stay in sorted(stays, key=lambda stay: stay.start):
        if len(out[stay.lane]) < MOST_STAYS:
            row = {"pod": stay.pod, "from": stay.start, "to": stay.end, "attempts": stay.attempts}
            out[stay.lane].append(row)
    return {**out, "more": max(0, len(stays) - sum(map(len, out.values())))}


def tried_rows(run: RecordedRun) -> list[dict[str, Any]]:
    """Every attempt."""
    return [
        {
            "id": one.number,
            "t": one.time,
            "pod": one.pod,
            "result": "placed" if one.node else "preempts" if one.nominated else "failed",
            "node": one.node or one.nominated or None,
            "text": one.message.rstrip(),
        }
        for one in run.attempts
    ]


def run_text(run: RecordedRun, end: float) -> str:
    """The run in a sentence or two."""
    records = run.records
    waiting = sum(record.outcome == WAITING for record in records)
    running = sum(record.outcome == RUNNING for record in records)
    gone = len(records) - waiting - running
    parts = [
        f"{running} {'runs' if running == 1 else 'run'}",
        f"{waiting} {'waits' if waiting == 1 else 'wait'}",
        *([f"{gone} {'has' if gone == 1 else 'have'} gone"] if gone else []),
    ]
    tries, pods = counted(len(run.attempts), "attempt"), counted(len(records), "pod")
    text = f"After {end:g} s and {tries}, of {pods} {', '.join(parts)}"
    return f"{text}; {run.ended}." if run.ended else f"{text}."


KEPT = "time"
"""The key under which a scene keeps runs."""
MOMENTS = "moments"
"""The key under which it keeps scenes of their moments."""


class TimeParameters(Parameters, frozen=True):
    """Of ``time``."""

    side: str = "a"

    workload: str = ""
    """Manifests of what comes, with annotations for when and how long; besides the pods that wait."""
    pending: bool = True
    """Whether the pods that wait come too; those without annotations at the start."""
    until: float | None = None
    """Seconds after which the run is ended."""
    seed: int | None = None
    """Of ties that are drawn; None: the side's own."""
    grace: float = 0.0
    """Seconds that evicted pods stay."""


class PlayedRun(msgspec.Struct, frozen=True, eq=False):
    """A run that was asked for; its cluster is not kept."""

    rows: dict[str, Any]
    """What ``time`` answers."""
    attempts: tuple[TriedPod, ...]


def time(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """A simulation of the scene: what is in use, who waits for what, and every attempt."""
    want = parameters(TimeParameters, asked)
    scene.extra[f"{KEPT} {want.side}"] = want
    return dict(_played(scene, want).rows)


@verb
def time_at(scene: Scene, attempt: int, side: str = "a") -> tuple[Scene, TriedPod, list[str]]:
    """The scene before an attempt of the run that was asked for last on that side, the attempt, and notes. Raises
    SceneFault for a number that there is not."""
    text = scene.extra.get(f"{KEPT} {side}") or TimeParameters(side)
    attempts = _played(scene, text).attempts
    if not 0 <= attempt < len(attempts):
        raise SceneFault(f"attempt: there is no attempt {attempt}; the run has {len(attempts)}")
    tried = attempts[attempt]
    of = (scene.state.cluster, scene.side(side))
    kept: KeptValues = scene.extra.setdefault(MOMENTS, KeptValues(2))
    moment, notes = kept.value(of, lambda: _moment(scene, text, tried), text, attempt)
    return moment, tried, notes


def fork(scene: Scene, asked: Mapping[str, Any]) -> Change:
    """Makes the cluster before an attempt the scene's."""
    moment, attempt, notes = time_at(scene, asked)
    state = moment.state
    done = f"Went to the moment {attempt.time:g} s, before the attempt of {attempt.pod}"
    return done, msgspec.structs.replace(
        state, sides=scene.state.sides, notes=tuple(dict.fromkeys((*state.notes, *notes)))
    )


# --- runs ------------------------------------------------------------------------------------


def _played(scene: Scene, want: TimeParameters) -> PlayedRun:
    """The run, remembered as long as neither the cluster nor the side changes."""
    kept: KeptValues = scene.extra.setdefault(KEPT, KeptValues(4))

    def play() -> PlayedRun:
        run, _, notes = _made(scene, want, None)
        report = run.play()
        end = run.now if report is None else report.end
        return PlayedRun(_rows(scene, want, run, end, notes), tuple(run.attempts))

    return kept.value((scene.state.cluster, scene.side(want.side)), play, want)


def _rows(scene: Scene, want: TimeParameters, run: RecordedRun, end: float, notes: Sequence[str]) -> dict[str, Any]:
    return {
        "side": want.side,
        "release": scene.side(want.side).release,
        "duration": end,
        **sampled(run.usage, end),
        "lanes": lanes(run.stays),
        "attempts": tried_rows(run),
        "notes": listed(notes),
        "text": run_text(run, end),
    }


def _made(scene: Scene, want: TimeParameters, before: int | None) -> tuple[RecordedRun, Workload, list[str]]:
    side, engine, cluster = scene.side(want.side), scene.engine(want.side), scene.cluster(want.side)
    cluster, given = _workload_items(cluster, want)
    if not given and not (want.pending and cluster.pending()):
        raise SceneFault("workload: no pod waits, and none is to come")
    workload, notes = workload_of(cluster, given, pending=want.pending)
    seed = side.seed if want.seed is None else want.seed
    tie_break = tie_break_of(engine, side.tie_break, 0 if seed is None else seed)  # a run can be run again
    scheduler = engine.scheduler(cache_for(engine, cluster.objects), tie_break)
    run = RecordedRun(scheduler, workload, before=before, until=want.until, preempt=True, grace=want.grace)
    return run, workload, notes


def _workload_items(cluster: Cluster, want: TimeParameters) -> tuple[Cluster, list[Any]]:
    """The cluster without pods that say when they come or how long they stay, and what comes."""
    given: list[Any] = [f"{want.workload}\n"] if want.workload.strip() else []
    if not want.pending:
        return cluster, given
    timed = {pod.key for pod in cluster.pending() if pod.metadata.annotations.keys() & {ARRIVES_AFTER, DURATION}}
    manifests = [entry.manifest() for entry in cluster.entries() if entry.key[0] == "Pod" and entry.key[1] in timed]
    return (cluster.without_pod(*timed) if timed else cluster), [*given, *manifests]


def _moment(scene: Scene, want: TimeParameters, attempt: TriedPod) -> tuple[Scene, list[str]]:
    """The scene as it was before an attempt: the run is run again up to there, and goes the same way."""
    run, workload, _ = _made(scene, want, attempt.number)
    run.play()
    cluster, notes = cluster_then(scene.state.cluster, workload, run)
    state = msgspec.structs.replace(scene.state, cluster=cluster, asked=attempt.pod, sides=(scene.side(want.side),))
    return Scene(state), notes


VERBS: Mapping[str, Verb] = {"time": time}
EDITS: Mapping[str, Edit] = {"fork": fork}
"""``do`` → the edit."""
