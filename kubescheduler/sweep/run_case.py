"""One case of a sweep, from its files to its row."""

from __future__ import annotations

import hashlib
import math
import random
import time
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import msgspec

import kubescheduler
from clusterstate.cache import ClusterCache
from clusterstate.columns import Columns
from clusterstate.daemon_pods import is_daemon_pod
from clusterstate.errors import InputError
from clusterstate.objects import Pod
from clusterstate.usage import CPU, MEMORY
from kubescheduler.core.failed_attempts import failures
from kubescheduler.core.selection import FirstByName, RandomTie, TieBreak
from kubescheduler.engine.engines import Engine, PodScheduler
from kubescheduler.sweep.case_files import Contents, placed
from kubescheduler.sweep.cases import FILE_FIELDS, Case
from kubescheduler.sweep.cluster_memory import InputsReader
from kubescheduler.sweep.reweighting import weighted_engine
from kubescheduler.sweep.rows import CASE, ERROR, PLACEMENTS, SECONDS, Row, Value

DIGITS = 6
"""Of shares, after the point."""

Clock = Callable[[], float]
"""Seconds since any fixed moment."""

_READER = InputsReader()
"""What this process has read; cases that follow one another mostly have their cluster in common."""


@attrs.frozen
class CaseOutcome:
    """What running a case gave."""

    row: Row
    notes: tuple[str, ...] = ()
    """Notes on what may be unexpected about the configuration."""


def run_case(case: Case, contents: Contents | None = None, clock: Clock = time.perf_counter) -> CaseOutcome:
    """Schedules the case's pods one after another, each bound before the next, and measures the cluster afterwards.

    contents: the files, where this machine does not have them. Whatever goes wrong is the row's error.
    """
    notes: list[str] = []
    try:
        measured = _run(case, contents, clock, notes)
    except InputError as error:
        return failed(case, "; ".join(error.problems), notes)
    except Exception as error:  # a case that fails is a row, not the end of the others
        return failed(case, f"{type(error).__name__}: {error}", notes)
    return CaseOutcome({**named(case), **measured}, tuple(notes))


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


def _run(case: Case, contents: Contents | None, clock: Clock, notes: list[str]) -> dict[str, Value]:
    if case.options.version != kubescheduler.__version__:
        raise InputError(
            f"this worker has kubescheduler {kubescheduler.__version__}, the sweep was started with "
            f"{case.options.version}; install the same version everywhere"
        )
    engine = _engine(case, contents, notes)
    inputs = _READER.inputs(case, contents)
    cache = ClusterCache.of(inputs.objects, case.configuration.spec.release_view())
    scheduler = engine.scheduler(cache, _tie_break(case, engine))
    start = clock()
    placements: dict[str, str | None] = {}
    errors: list[str] = []
    for pod in inputs.pods:
        placements[pod.key] = _place(pod, scheduler, errors)
    seconds = clock() - start
    text = _json(placements)
    measured: dict[str, Value] = {
        "pods": len(placements),
        "scheduled": sum(node is not None for node in placements.values()),
        "unschedulable": sum(node is None for node in placements.values()),
        **_use(cache),
        "digest": hashlib.sha256(text.encode()).hexdigest(),
        ERROR: _given_up(errors),
    }
    return measured | _if_wanted(case, {PLACEMENTS: text, SECONDS: round(seconds, DIGITS)})


def _if_wanted(case: Case, values: dict[str, Value]) -> dict[str, Value]:
    wanted = {PLACEMENTS: case.options.placements, SECONDS: case.options.timings}
    return {name: value for name, value in values.items() if wanted[name]}


def _engine(case: Case, contents: Contents | None, notes: list[str]) -> Engine:
    configuration = case.configuration
    spec = configuration.spec
    with placed(contents, configuration.files) as here:

        def note(text: str) -> None:
            notes.append(f"{configuration.label}: {here.by_given_names(text)}")

        paths: dict[str, Any] = {
            field: here.path(name) for field in FILE_FIELDS if (name := getattr(spec, field)) is not None
        }
        local = attrs.evolve(configuration, spec=attrs.evolve(spec, **paths))
        if local.digest() != case.configured:
            names = ", ".join(configuration.files)
            raise InputError(f"{names}: changed after the sweep began; run the same command again")
        try:
            return weighted_engine(local.spec, dict(configuration.weights), note)
        except InputError as error:
            raise InputError(here.by_given_names(problem) for problem in error.problems) from error


def _tie_break(case: Case, engine: Engine) -> TieBreak:
    if case.seed is None:
        return FirstByName()
    rng = random.Random(case.seed)
    return engine.upstream_tie(rng) if case.options.tie_break == "upstream" else RandomTie(rng)


def _place(pod: Pod, scheduler: PodScheduler, errors: list[str]) -> str | None:
    """The node that the pod gets. One that is not even tried gets none, which is no error."""
    decision = scheduler.decide(pod, in_sequence=True)
    if decision.host is not None:
        scheduler.cache.assume_pod(pod, decision.host)
    errors += (f"Pod {pod.key}: {text}" for text in list(failures(decision))[:1])
    return decision.host


def _given_up(errors: list[str]) -> str:
    """Attempts that ended in an error, not for want of room, or went on without an extender."""
    if not errors:
        return ""
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
