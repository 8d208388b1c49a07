"""One case of a sweep, from its files to its row."""

from __future__ import annotations

import hashlib
import math
import random
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec

import kubescheduler
from clusterstate.cache import ClusterCache
from clusterstate.columns import Columns
from clusterstate.daemon_pods import is_daemon_pod
from clusterstate.errors import InputError, listed
from clusterstate.objects import Pod
from clusterstate.usage import CPU, MEMORY
from kubescheduler.comparison.tracks import Track
from kubescheduler.core.bulk.placing_in_order import placed_in_order
from kubescheduler.core.decision import Decision
from kubescheduler.core.failed_attempts import failures
from kubescheduler.core.selection import FirstByName, RandomTie, TieBreak
from kubescheduler.engine.engine_contract import Engine, cache_for
from kubescheduler.sweep.case_engine import case_engine, gained
from kubescheduler.sweep.case_files import Contents, FileLocations, placed
from kubescheduler.sweep.cases import Case
from kubescheduler.sweep.cluster_memory import InputsReader
from kubescheduler.sweep.rows import CASE, ERROR, MOVED, PLACEMENTS, PREEMPTIONS, SECONDS, VICTIMS, Row, Value

DIGITS = 6
"""Of shares, after the point."""

Clock = Callable[[], float]
"""Seconds since any fixed moment."""

_READER = InputsReader()
"""What this process has read; cases that follow one another mostly have their cluster in common."""


class CaseOutcome(msgspec.Struct, frozen=True):
    """What running a case gave."""

    row: Row
    notes: tuple[str, ...] = ()
    """Notes on what may be unexpected about the configuration."""
    recorded: bytes = b""
    """What a record of extenders' answers gained on a machine that does not have its file."""


def run_case(case: Case, contents: Contents | None = None, clock: Clock = time.perf_counter) -> CaseOutcome:
    """Schedules the case's pods one after another, each bound before the next, and measures the cluster afterwards.

    contents: the files, where this machine does not have them. Whatever goes wrong is the row's error.
    """
    notes: list[str] = []
    with placed(contents, case.configuration.files) as here:
        try:
            measured = _run(case, contents, here, clock, notes)
            measured[ERROR] = here.by_given_names(str(measured[ERROR]))
            outcome = CaseOutcome({**named(case), **measured}, tuple(notes))
        except InputError as error:
            outcome = failed(case, "; ".join(listed(map(here.by_given_names, error.problems))), notes)
        except Exception as error:  # a case that fails is a row, not the end of the others
            outcome = failed(case, here.by_given_names(f"{type(error).__name__}: {error}"), notes)
        return outcome if contents is None else msgspec.structs.replace(outcome, recorded=gained(case, contents, here))


def failed(case: Case, error: str, notes: list[str] | None = None) -> CaseOutcome:
    """The row of a case that came to nothing."""
    return CaseOutcome({**named(case), ERROR: error}, tuple(notes or ()))


def named(case: Case) -> dict[str, Value]:
    """What is known of a row before its case has run."""
    return {
        CASE: case.id,
        "snapshot": case.snapshot.name,
        "configuration": case.configuration.label,
        "weights": _json(dict(case.configuration.weights)),
        "seed": case.seed,
        "digest": "",
        **({PLACEMENTS: ""} if case.options.placements else {}),
        ERROR: "",
    }


def _run(
    case: Case, contents: Contents | None, here: FileLocations, clock: Clock, notes: list[str]
) -> dict[str, Value]:
    if case.options.version != kubescheduler.__version__:
        raise InputError(
            f"this worker has kubescheduler {kubescheduler.__version__}, the sweep was started with "
            f"{case.options.version}; install the same version everywhere"
        )
    engine = case_engine(case, contents, here, notes)
    inputs = _READER.inputs(case, contents)
    cache = cache_for(engine, inputs.objects)
    scheduler = engine.scheduler(cache, _tie_break(case, engine))
    track = Track(scheduler, case.options.preempt, moves=True, running=inputs.running)
    start = clock()
    placements: dict[str, str | None] = {}
    errors: list[str] = []
    one = partial(_place, track=track, errors=errors)
    for part in map(one, inputs.pods) if inputs.running else placed_in_order(scheduler, inputs.pods, one):
        placements.update([(part.pod.key, part.host)] if isinstance(part, Decision) else part.by_pod())
    placements.update((pod.key, None) for pod in track.evicted if pod not in cache and pod.key in placements)
    seconds = clock() - start
    if errors:
        return {ERROR: _given_up(errors)}
    text = _json(placements)
    measured: dict[str, Value] = {
        "pods": len(placements),
        "scheduled": sum(node is not None for node in placements.values()),
        "unschedulable": sum(node is None for node in placements.values()),
        **_use(cache),
        "digest": hashlib.sha256(text.encode()).hexdigest(),
        ERROR: "",
    }
    more: dict[str, Value] = {PLACEMENTS: text, SECONDS: round(seconds, DIGITS)}
    more |= {MOVED: sum(placements[key] != pod.node_name for key, pod in inputs.running.items())}
    more |= {PREEMPTIONS: track.preemptions, VICTIMS: len(track.evicted)}
    return measured | _if_wanted(case, more)


def _if_wanted(case: Case, values: dict[str, Value]) -> dict[str, Value]:
    options = case.options
    wanted = {PLACEMENTS: options.placements, SECONDS: options.timings}
    wanted |= {MOVED: bool(options.running)}
    wanted |= {PREEMPTIONS: options.preempt, VICTIMS: options.preempt}
    return {name: value for name, value in values.items() if wanted[name]}


def _tie_break(case: Case, engine: Engine) -> TieBreak:
    if case.seed is None:
        return FirstByName()
    rng = random.Random(case.seed)
    return engine.upstream_tie(rng) if case.options.tie_break == "upstream" else RandomTie(rng)


def _place(pod: Pod, track: Track, errors: list[str]) -> Decision:
    """Decides on a pod and places it. One that is not even tried gets none, which is no error."""
    track.take_out(pod)
    decision = track.decide(pod).decision
    track.place(pod, decision.host)
    errors += (f"Pod {pod.key}: {text}" for text in list(failures(decision))[:1])
    return decision


def _given_up(errors: list[str]) -> str:
    """Attempts that ended in an error, not for want of room, or went on without an extender: nothing was measured."""
    return f"attempts that failed: {len(errors)}, the first of {errors[0]}"


# --- how full the cluster is -------------------------------------------------------------------


def _use(cache: ClusterCache) -> dict[str, Value]:
    """Nodes are used that have pods other than those of DaemonSets and static ones, which come with every node."""
    columns = cache.columns
    rows = [row for row, node in enumerate(columns.nodes) if node is not None]
    used = {pod.node_name for pod in cache.pods() if not is_daemon_pod(pod)}
    return {
        "nodes": len(rows),
        "nodes_used": sum(node.name in used for node in columns.nodes if node is not None),
        **_shares(columns, rows, CPU, "cpu"),
        **_shares(columns, rows, MEMORY, "memory"),
    }


def _shares(columns: Columns, rows: list[int], resource: str, name: str) -> dict[str, Value]:
    """Mean, maximum and standard deviation over nodes of requested / allocatable; nodes that have none are left out.

    Summed exactly, so that every machine comes to the same digits.
    """
    index = columns.resources[resource]
    requested, allocatable = columns.requested.data[index, rows], columns.allocatable.data[index, rows]
    shares = [r / a for r, a in zip(requested.tolist(), allocatable.tolist(), strict=True) if a > 0]
    count = len(shares) or 1
    mean = math.fsum(shares) / count
    deviation = math.sqrt(math.fsum((share - mean) ** 2 for share in shares) / count)
    values = {"mean": mean, "max": max(shares, default=0.0), "stddev": deviation}
    return {f"{name}_{what}": round(value, DIGITS) for what, value in values.items()}


def _json(value: Mapping[str, Any]) -> str:
    return msgspec.json.encode(value, order="sorted").decode()
