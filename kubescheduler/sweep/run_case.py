"""One case of a sweep, from its files to its row: its engine, its cluster, its pods."""

from __future__ import annotations

import hashlib
import random
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec

import kubescheduler
from clusterstate.cache import ClusterCache
from clusterstate.errors import InputError, listed
from clusterstate.manifests.fields import STRICT, strictness_of
from clusterstate.objects import ClusterObject, Pod
from clusterstate.usage import CPU, MEMORY
from kubescheduler.api.cluster import Cluster
from kubescheduler.comparison.effects import Utilisation, cluster_effects
from kubescheduler.comparison.running_pods import asked_pods, taken_out
from kubescheduler.comparison.tracks import NOTHING_RUNS, Track, pods_to_compare
from kubescheduler.core.decision import Decision, failures, went_on_without
from kubescheduler.core.equal_runs import placed_in_order
from kubescheduler.core.selection import FirstByName, RandomTie, TieBreak
from kubescheduler.engine.engine_flags import Notice
from kubescheduler.engine.spec import Engine, EngineSpec, cache_for, no_notice
from kubescheduler.extender.access import RECORD, ExtenderAccess, files_of
from kubescheduler.extender.client import HTTPExtender
from kubescheduler.extender.recorded_answers import forget_record
from kubescheduler.simulation.openb_trace import read_inputs_of
from kubescheduler.simulation.pods_to_place import pods_in
from kubescheduler.sweep.cases import (
    Case,
    Configuration,
    Contents,
    CustomModules,
    FileLocations,
    digest_of,
    loaded,
    placed,
)
from kubescheduler.sweep.rows import (
    CASE,
    ERROR,
    MOVED,
    PLACEMENTS,
    PREEMPTIONS,
    SECONDS,
    VICTIMS,
    Row,
    Value,
    columns_of,
)
from kubescheduler.sweep.weights import weighted_engine


def case_engine(case: Case, contents: Contents | None, here: FileLocations, notes: list[str]) -> Engine:
    """The engine. here: where the configuration's files are. notes: gets what may be unexpected.

    Raises InputError with every fault, also when a file is no longer what the case's id stands for.
    """
    configuration = case.configuration

    def note(text: str) -> None:
        notes.append(f"{configuration.label}: {here.by_given_names(text)}")

    local = msgspec.structs.replace(configuration, spec=_located(configuration, here))
    if local.digest() != case.configured:
        names = ", ".join(configuration.files)
        raise InputError(f"{names}: changed after the sweep began; run the same command again")
    return _made(local, case.options.modules, contents, note)


def _made(configuration: Configuration, modules: CustomModules, contents: Contents | None, notice: Notice) -> Engine:
    """With the custom rules and plugins."""
    spec = configuration.spec
    with loaded(modules, contents) as plugins:
        if spec.record.framework is not None:
            spec = msgspec.structs.replace(spec, plugins=(*spec.plugins, *plugins))
        return weighted_engine(spec, dict(configuration.weights), notice)


def _located(configuration: Configuration, here: FileLocations) -> EngineSpec:
    """The spec with its files where they are on this machine."""
    spec = configuration.spec
    paths: dict[str, Any] = {field: here.path(name) for field, name in spec.files.items()}
    if configuration.recorded is not None:
        mode = ExtenderAccess.named(spec.extenders).mode
        paths["extenders"] = f"{mode} {here.path(configuration.recorded)}"
    if here.paths:
        paths["certificate_places"] = {name: here.path(name) for name in configuration.certificates}
    return msgspec.structs.replace(spec, **paths)


def with_certificates(configuration: Configuration, modules: CustomModules) -> Configuration:
    """The configuration with the certificate and key files of its extenders, to be sent along.

    Without any where no engine can be made of it: its cases say why.
    """
    try:
        engine = _made(configuration, modules, None, no_notice)
    except InputError:
        return configuration
    http = (extender for extender in engine.extenders if isinstance(extender, HTTPExtender))
    names = (name for extender in http for name in files_of(extender.config))
    return msgspec.structs.replace(configuration, certificates=tuple(dict.fromkeys(names)))


def gained(case: Case, contents: Contents, here: FileLocations) -> bytes:
    """What a record of extenders' answers gained while the case ran on a machine that was sent the file so far.

    The file is forgotten: it goes when the case ends.
    """
    name = case.configuration.recorded
    if name is None:
        return b""
    forget_record(here.path(name))
    if ExtenderAccess.named(case.configuration.spec.extenders).mode != RECORD:
        return b""
    try:
        with open(here.path(name), "rb") as file:
            data = file.read()
    except OSError:  # nothing was asked
        return b""
    return data[len(zlib.decompress(contents[name])) if name in contents else 0 :]


REMEMBERED = 2
"""Clusters: that of the cases under way, and the next one's."""


class SweepInputs(msgspec.Struct, frozen=True):
    """A cluster that was read, and its pods to schedule."""

    objects: tuple[ClusterObject, ...]
    """The cluster."""
    pods: tuple[Pod, ...]
    """What to schedule, in order."""
    running: Mapping[str, Pod] = NOTHING_RUNS
    """``namespace/name`` → the pod as it runs, of those that are taken out first."""
    notes: tuple[str, ...] = ()
    """What was left out of the pods, and why."""


class InputsReader:
    """Reads the clusters of cases, each once while its cases follow one another. Several threads may use it."""

    def __init__(self) -> None:
        self._read: OrderedDict[object, SweepInputs] = OrderedDict()

    def inputs(self, case: Case, contents: Contents | None) -> SweepInputs:
        """Raises InputError with every fault, also when a file is no longer what the case's id stands for."""
        release = case.configuration.spec.release
        gates = case.configuration.spec.gates
        options = case.options
        how = options.defaulting, options.validate, options.running, release, gates
        key = (case.snapshot, options.pod_files, case.pods_digest, how)
        held = self._read.get(key)
        if held is None:
            files = (*case.snapshot.files, *case.options.pod_files)
            with placed(contents, files) as here:
                try:
                    held = _read(case, here, release)
                except InputError as error:
                    raise InputError(here.by_given_names(problem) for problem in error.problems) from error
        self._read[key] = held
        for old in list(self._read)[:-REMEMBERED]:
            self._read.pop(old, None)
        return held


def _read(case: Case, here: FileLocations, release: str) -> SweepInputs:
    files = [here.path(name) for name in case.snapshot.files]
    pod_files = [here.path(name) for name in case.options.pod_files]
    if digest_of(files) != case.snapshot.digest:
        raise InputError(f"{case.snapshot.name}: it was changed after the sweep began; run the same command again")
    if pod_files and digest_of(pod_files) != case.pods_digest:
        names = ", ".join(case.options.pod_files)
        raise InputError(f"{names}: changed after the sweep began; run the same command again")
    validate, defaulting, gates = case.options.validate, case.options.defaulting, case.configuration.spec.gates
    how: dict[str, Any] = {"defaulting": defaulting, "validate": validate, "gates": gates}
    there = Cluster.read(*files, release=release, keep_manifests=False, **how)
    asked = None
    if pod_files:
        strictness = strictness_of(validate, STRICT).under(there.strictness.accepted)
        asked = pods_in(read_inputs_of(pod_files), there, defaulting=defaulting, release=release, strictness=strictness)
    found = asked_pods(there, release, asked, running=case.options.running)
    each = taken_out(found.objects, found.pods)
    return SweepInputs(tuple(each.objects), tuple(each.pods), each.running, found.notes)


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
    pods, left_out = pods_to_compare(inputs.pods, [engine]) if inputs.pods else ([], ())
    notes += (*inputs.notes, *(f"{case.configuration.label}: {text}" for text in left_out))
    cache = cache_for(engine, inputs.objects)
    scheduler = engine.scheduler(cache, _tie_break(case, engine))
    track = Track(scheduler, case.options.preempt, moves=True, running=inputs.running)
    start = clock()
    placements: dict[str, str | None] = {}
    errors: list[str] = []
    without: dict[str, None] = {}
    one = partial(_place, track=track, errors=errors, without=without)
    for part in map(one, pods) if inputs.running else placed_in_order(scheduler.place_run, pods, one):
        placements.update([(part.pod.key, part.host)] if isinstance(part, Decision) else part.by_pod())
    placements.update((pod.key, None) for pod in track.evicted if pod not in cache and pod.key in placements)
    seconds = clock() - start
    notes += (f"{case.configuration.label}: {text}" for text in without)
    if errors:
        return {ERROR: f"attempts that failed: {len(errors)}, the first of {errors[0]}"}
    text = _json(placements)
    measured: dict[str, Value] = {
        "pods": len(placements),
        "scheduled": sum(node is not None for node in placements.values()),
        "unschedulable": sum(node is None for node in placements.values()),
        **_use(cache),
        "digest": hashlib.sha256(text.encode()).hexdigest(),
        ERROR: "",
    }
    more: dict[str, Value] = {PLACEMENTS: text, SECONDS: round(seconds, 6)}
    more |= {
        MOVED: sum(node != inputs.running[key].node_name for key, node in placements.items() if key in inputs.running)
    }
    more |= {PREEMPTIONS: track.preemptions, VICTIMS: len(track.evicted)}
    options = case.options
    wanted = columns_of(
        placements=options.placements, timings=options.timings, preempt=options.preempt, running=bool(options.running)
    )
    return measured | {column.name: more[column.name] for column in wanted if column.name in more}


def _tie_break(case: Case, engine: Engine) -> TieBreak:
    if case.seed is None:
        return FirstByName()
    rng = random.Random(case.seed)
    return engine.upstream_tie(rng) if case.options.tie_break == "upstream" else RandomTie(rng)


def _place(pod: Pod, track: Track, errors: list[str], without: dict[str, None]) -> Decision:
    """Decides on a pod and places it. One that gates hold back gets none, which is no error. without: gets the
    ignorable extenders that did not answer."""
    decision = track.run(pod)
    errors += (f"Pod {pod.key}: {text}" for text in list(failures(decision))[:1])
    without.update(dict.fromkeys(went_on_without(decision, True)))
    return decision


# --- how full the cluster is -------------------------------------------------------------------


def _use(cache: ClusterCache) -> dict[str, Value]:
    """Means, maxima and standard deviations are of requested / allocatable over the nodes that have any."""
    found = cluster_effects(cache)
    use = {each.resource: each for each in found.utilisation}
    values: dict[str, Value] = {"nodes": len(found.nodes), "nodes_used": found.nodes_used}
    for name in (CPU, MEMORY):
        each = use.get(name, Utilisation(name, 0.0, 0.0, 0.0, 0.0))
        values |= {f"{name}_mean": each.mean, f"{name}_max": each.most, f"{name}_stddev": each.deviation}
    return values


def _json(value: Mapping[str, Any]) -> str:
    return msgspec.json.encode(value, order="sorted").decode()
