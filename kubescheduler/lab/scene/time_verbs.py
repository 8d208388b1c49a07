"""The verb ``time``, a simulation of a scene; ``timeAt`` and the edit ``fork``, any of its moments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from clusterstate.errors import listed
from clusterstate.usage import CPU, MEMORY, PODS
from kubescheduler.api.cluster import Cluster
from kubescheduler.api.engine_choice import tie_break_of
from kubescheduler.api.whole_runs import workload_of
from kubescheduler.engine.engine_contract import cache_for
from kubescheduler.lab.recorded_run import HELD, LANES, RecordedRun, Stay, TriedPod, cluster_then
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_state import SceneFault
from kubescheduler.lab.scene.side_schedulers import KeptValues
from kubescheduler.lab.scene.verb_contract import Change, Edit, Parameters, Verb, parameters, verb
from kubescheduler.simulation.simulation_report import RUNNING, WAITING
from kubescheduler.simulation.utilisation import UsageRecorder, share
from kubescheduler.simulation.workload import ARRIVES_AFTER, DURATION, Workload

MOST_SAMPLES = 2000
"""Moments of which the use is told; of more, evenly spaced ones."""
MOST_STAYS = 5000
"""Stays in one lane."""


def sampled(usage: UsageRecorder, end: float) -> dict[str, Any]:
    """``samples``: times, then by time the shares of cpu, memory and pods in use and the pods that wait."""
    rows = usage.samples
    step = -(-len(rows) // MOST_SAMPLES) or 1
    kept = [*rows[:-1:step], *rows[-1:]]
    at = [usage.resources.index(name) for name in (CPU, MEMORY, PODS)]
    columns = [[share(row.used[place], row.capacity[place]) for row in kept] for place in at]
    times = [row.time for row in kept]
    pending = [row.pending for row in kept]
    if times and times[-1] < end:
        times.append(end)
        columns = [[*column, column[-1]] for column in columns]
        pending.append(pending[-1])
    return {"samples": [times, *columns], "pending": pending, "samplesMore": len(rows) - len(kept)}


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
    tries, pods = len(run.attempts), len(records)
    text = (
        f"After {end:g} s and {tries} attempt{'s' * (tries != 1)}, of {pods} pod{'s' * (pods != 1)} {', '.join(parts)}"
    )
    return f"{text}; {run.ended}." if run.ended else f"{text}."


KEPT = "time"
"""The key under which a scene keeps runs."""
MOMENTS = "moments"
"""The key under which it keeps scenes of their moments."""

MOST_EVENTS = 2000
"""Events that one answer has at most."""


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
    events = [event.to_dict() for event in run.events[:MOST_EVENTS]]
    return {
        "side": want.side,
        "release": scene.side(want.side).release,
        "duration": end,
        **sampled(run.usage, end),
        "lanes": lanes(run.stays),
        "attempts": tried_rows(run),
        "events": events,
        "eventsMore": len(run.events) - len(events),
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
