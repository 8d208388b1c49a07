"""The evaluate protocol: scenarios in, one result per query out.

At the end is what becomes of a pod that fits nowhere while the cluster changes: its place in the queue after each
event.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import msgspec

from clusterstate.cache import ClusterCache
from clusterstate.errors import ConfigError, DecodeError, KubeSchedulerError, attempt_at, nearest
from clusterstate.manifests.decode import SECTIONS, Decoder, decode_cluster
from clusterstate.manifests.fields import describe, step
from clusterstate.objects import ClusterObject, Pod
from kubescheduler.engine.engine_flags import EngineFlags
from kubescheduler.engine.spec import Engine, PodScheduler, cache_for, engine_for
from kubescheduler.releases.lookup import release_named
from kubescheduler.sources.untrusted import TooLongError, check_values, is_utf8

if TYPE_CHECKING:
    from kubescheduler.core.decision import Decision
    from kubescheduler.core.extender_calls import ExtenderTrace
    from kubescheduler.core.preemption_choice import Preemption
    from kubescheduler.core.status import Status
    from kubescheduler.engine.framework_engine import FrameworkEngine
    from kubescheduler.framework.contract.cycle_state import VirtualTime
    from kubescheduler.framework.contract.handle import Services
    from kubescheduler.queue.scheduling_queue import SchedulingQueue
    from kubescheduler.releases.release import Release


def evaluate(lines: Iterable[bytes], release: str, feature_gates: str = "") -> Iterator[dict[str, Any]]:
    """Results for scenarios given as JSON Lines, in order. A bad query or line gives a result with ``error``.

    feature_gates: what every scenario starts from, as the flag has them. Raises ConfigError for faults in it.
    """
    at_start = release_named(release).gates.given_and_known(feature_gates)
    for line in lines:
        if line.strip():
            yield from _scenario_results(line, release, at_start)


def _scenario_results(line: bytes, release: str, at_start: Mapping[str, bool]) -> Iterator[dict[str, Any]]:
    name: Any = ""
    queries: list[Any] = []
    try:
        document = object_of(line_value(line), "a line")
        name = document.get("id", "")
        if isinstance(document.get("queries"), list):
            queries = document["queries"]
        check_scenario(document)
        scenario = Scenario.of(document, release_named(release), at_start)
    except Exception as error:
        for query in queries or [None]:
            yield _failed(name, id_of(query), release, error)
        return
    for at, query in enumerate(queries):
        try:
            check_query(object_of(query, f"queries[{at}]"), f"queries[{at}].")
            yield scenario.answer(query)
        except Exception as error:
            yield _failed(name, id_of(query), release, error)


def _failed(scenario: Any, query: Any, release: str, error: Exception) -> dict[str, Any]:
    if isinstance(error, KubeSchedulerError):
        text = str(error)
    elif isinstance(error, RecursionError):
        text = "nested too deeply to be read"
    elif isinstance(error, MemoryError):
        text = "there is not enough memory for this"
    else:
        text = "a fault in kubescheduler: this could not be answered; please report it with the line"
    return {"scenario": scenario, "query": query, "release": release, **_nothing(), "error": text}


# --- a scenario -------------------------------------------------------------------------------


TOO_LATE = "{} reads feature gates when it starts: give --feature-gates to the command"


class ScenarioFlags(EngineFlags, frozen=True, eq=False):
    """What a scenario says of every scheduler."""

    at_start: Mapping[str, bool] = msgspec.field(default_factory=dict)
    """The gates that were not at their defaults when the release started."""

    @property
    def registering_gates(self) -> Mapping[str, bool]:
        """Those that are read once, at the start, as they were then: a scenario speaks of them too late."""
        early = frozenset[str]() if self.record.legacy is None else self.record.legacy.read_at_start
        started = self.record.gates.resolve(self.at_start)
        return {**self.gates, **{name: started[name] for name in early}}


class Asked(msgspec.Struct, frozen=True, eq=False):
    """One configuration that queries name."""

    engine: Engine
    scheduler: PodScheduler
    notes: tuple[str, ...] = ()
    """What of it has no effect."""


class Scenario(msgspec.Struct, eq=False):
    """One scenario under way: its cluster, and a scheduler for each configuration its queries name."""

    name: str
    release: Release
    cache: ClusterCache
    objects: list[ClusterObject]
    """The cluster, with the pods that the sequence has bound so far."""
    flags: EngineFlags
    """What is said of every scheduler: the feature gates."""
    notes: tuple[str, ...]
    """What of the feature gates has no effect."""
    sequence: bool
    _today: float | None = None
    _asked: dict[bytes, Asked] = msgspec.field(default_factory=dict)

    @classmethod
    def of(cls, document: Mapping[str, Any], release: Release, at_start: Mapping[str, bool] = {}) -> Scenario:
        """Decodes the cluster as it is stored: nothing is defaulted, unless the release itself does it.

        at_start: gates that are not at their defaults when the release starts.
        """
        said = document.get("featureGates") or {}
        if release.reads_gates_at_start:
            asked = release.gates.resolve({**at_start, **said})
            late = [name for name in said if asked.get(name) != at_start.get(name, release.gates.known(name).default)]
            notes = [f"featureGates: {name}: {TOO_LATE.format(release.name)}" for name in late]
            gates = release.gates.of_document(at_start)
        else:
            gates = release.gates.of_document({**at_start, **said})
            notes = release.gates.notes(gates)
        cluster = dict(document.get("cluster") or {})
        if isinstance(pods := cluster.get("pods"), list):
            cluster["pods"] = list(map(with_uid, pods))
        objects = decode_cluster(cluster, decoder=Decoder(prepare=release.decoding))
        return cls(
            name=str(document.get("id", "")),
            release=release,
            cache=ClusterCache.of(objects, release.view(gates)),
            objects=objects,
            flags=ScenarioFlags(release.name, feature_gates=gates, at_start=at_start),
            notes=tuple(notes),
            sequence=bool(document.get("sequence")),
        )

    def answer(self, query: Mapping[str, Any]) -> dict[str, Any]:
        """One result. In a sequence the pod is then bound to the first of the best nodes."""
        decoder = Decoder(prepare=self.release.decoding)
        pod = decoder.decode_object({"kind": "Pod", **with_uid(query.get("pod") or {})}, keep_manifest=True)
        if not isinstance(pod, Pod):
            raise DecodeError(f"query {query.get('id')}: pod: it is a {type(pod).__name__}")
        self._today = seconds_of_time(query.get("now"))
        events = _events_of(query, decoder)
        asked = self.configured({key: query[key] for key in CONFIGURATION_FIELDS if query.get(key) is not None})
        decision = asked.scheduler.decide(pod, thorough=True, enqueued=True, preempt=bool(query.get("preempt")))
        result = {"scenario": self.name, "query": query.get("id"), "release": self.release.name, **result_of(decision)}
        if events is not None:
            result["queue"] = places_after(asked.engine, cache_for(asked.engine, self.objects), pod, events)
        if notes := (*self.notes, *asked.notes):
            result["notes"] = list(notes)
        best = decision.best()
        if self.sequence and best:
            self.cache.assume_pod(pod, best[0])
            self.objects.append(pod.on(best[0]))
        return result

    def configured(self, configuration: Mapping[str, Any]) -> Asked:
        """What decides by a provider, policy or component configuration. Raises ConfigError."""
        key = msgspec.json.encode((configuration, self._today))  # a scheduler keeps verdicts, which time may change
        asked = self._asked.get(key)
        if asked is None:
            if len(configuration) > 1:
                raise ConfigError(f"only one of {', '.join(configuration)} can be given")
            said = {CONFIGURATION_FIELDS[key]: value for key, value in configuration.items()}
            flags = msgspec.structs.replace(self.flags, **said)
            engine = engine_for(flags)
            scheduler = scheduler_on(engine, self.cache, _clock(self._today))
            notes = notes_on_configuration(engine, flags)
            asked = self._asked[key] = Asked(engine, scheduler, notes)
        return asked


def scheduler_on(engine: Engine, cache: ClusterCache, today: Callable[[], float]) -> PodScheduler:
    """A scheduler over a cluster for which it is ``today``, in seconds since the epoch; legacy ones ask no clock."""
    if release_named(engine.release).framework is None:
        return engine.scheduler(cache)
    profiled = cast("FrameworkEngine", engine)
    return profiled.over(msgspec.structs.replace(profiled.services(cache), today=today))


def notes_on_configuration(engine: Engine, flags: EngineFlags) -> tuple[str, ...]:
    """What of the configuration that an engine was made of has no effect, or another than one may think."""
    policy, component = flags.policy, flags.component
    if flags.record.framework is not None:
        profiled = cast("FrameworkEngine", engine)
        policies, notices = profiled.rules.policies, list(profiled.config.notes)
        if policies is not None and policy is not None:
            from kubescheduler.config.policy_1_20 import checked_policy_config_1_20

            plugins = profiled.rules.plugins
            checked_policy_config_1_20(policy, flags.gates, plugins=plugins, rules=policies, notice=notices.append)
        return tuple(notices)
    if policy is not None:
        return flags.record.legacy_rules.parse(policy, release=flags.release, strict=False).notes
    if component is None:
        return ()
    from kubescheduler.engine.v1alpha1_engine import component_notes

    return component_notes(flags, component)


def _events_of(query: Mapping[str, Any], decoder: Decoder) -> list[TimedEvent] | None:
    """What happens after the decision; None where nobody asks."""
    if query.get("events") is None:
        return None
    events = [{key: _stored(value) for key, value in event.items()} for event in query["events"]]
    return decoded_events(events, decoder)


def _stored(value: Any) -> Any:
    return with_uid(value) if isinstance(value, dict) and value.get("kind") == "Pod" else value


def _clock(moment: float | None) -> Callable[[], float]:
    """A clock that stands at a moment, in seconds since the epoch; None: the machine's."""
    return time.time if moment is None else lambda: moment


# --- results ----------------------------------------------------------------------------------


def result_of(decision: Decision) -> dict[str, Any]:
    """A decision in the shape of the protocol."""
    if decision.error is not None:
        return {**_nothing(), "weights": dict(decision.weights), "error": decision.error}
    feasible = bool(len(decision.feasible))
    statuses = decision.statuses()
    return {
        "fits": decision.fits(),
        "failed": {name: sorted(status.all_reasons) for name, status in statuses.items()},
        "checks": {
            name: {check: sorted(reasons) for check, reasons in checks.items()}
            for name, checks in decision.checks().items()
        },
        **_coded(decision, statuses),
        "scores": decision.scores.to_dict() if feasible else {},
        "weights": dict(decision.weights),
        "total": decision.total(),
        "best": decision.best(),
        "preemption": _preemption(decision.preemption),
        "error": None,
        **({"extenders": _extenders(decision.extenders)} if decision.extenders else {}),
    }


def _coded(decision: Decision, statuses: Mapping[str, Status]) -> dict[str, Any]:
    """What only releases whose statuses have codes say. statuses: by node that was refused."""
    if not decision.coded:
        return {}
    feasible = bool(len(decision.feasible))
    return {
        "codes": {name: status.code.name for name, status in statuses.items()},
        "raw": {name: decision.raw(name) for name in decision.raws} if feasible else {},
    }


def _nothing() -> dict[str, Any]:
    return {
        "fits": [],
        "failed": {},
        "checks": {},
        "scores": {},
        "weights": {},
        "total": {},
        "best": [],
        "preemption": None,
        "error": None,
    }


def _preemption(preemption: Preemption | None) -> dict[str, Any] | None:
    if preemption is None:
        return None
    return {
        "candidates": {
            name: {"victims": [pod.key for pod in victims.pods], "pdbViolations": victims.violations}
            for name, victims in preemption.candidates.items()
        },
        "chosen": list(preemption.chosen),
        "clearedNominations": [pod.key for pod in preemption.cleared],
    }


def _extenders(traces: Iterable[ExtenderTrace]) -> dict[str, dict[str, Any]]:
    out: dict[str, dict[str, Any]] = {}
    for trace in traces:
        entry = out.setdefault(trace.name, {})
        if trace.failed is not None:
            entry["filter"] = dict(trace.failed)
        if trace.scores is not None:
            entry |= {"prioritize": dict(trace.scores), "weight": trace.weight}
        if trace.filter_error is not None:
            entry["filterError"] = trace.filter_error
        if trace.prioritize_error is not None:
            entry["prioritizeError"] = trace.prioritize_error
    return out


# --- what a line may have ---------------------------------------------------------------------


Types = Mapping[str, tuple[tuple[type, ...], str]]
"""Member → its types, and what messages call them."""


CONFIGURATION_FIELDS = {"provider": "provider", "policy": "policy", "componentConfig": "component"}
"""Member of a query → the field of ``EngineFlags``."""


_OBJECT, _FLAG, _TEXT, _LIST = ((dict,), "an object"), ((bool,), "true or false"), ((str,), "text"), ((list,), "a list")


_ANYTHING = ((object,), "anything")


_SECONDS = ((int, float), "a number of seconds")


SCENARIO_TYPES: Types = {
    "id": _ANYTHING,
    "cluster": _OBJECT,
    "featureGates": _OBJECT,
    "sequence": _FLAG,
    "queries": _LIST,
}
"""What a line has."""


QUERY_TYPES: Types = {
    "id": _ANYTHING,
    "pod": _OBJECT,
    "provider": _TEXT,
    "policy": _OBJECT,
    "componentConfig": _OBJECT,
    "preempt": _FLAG,
    "now": _TEXT,
    "events": _LIST,
}
"""What a query has."""


EVENT_TYPES: Types = {"after": _SECONDS, "old": _OBJECT, "new": _OBJECT}
"""What an event of a query has."""


def check_scenario(document: Mapping[str, Any]) -> None:
    """Raises DecodeError with every member that a line does not have, or of a wrong type; null counts as absent."""
    wrong = [*_unknown(document, SCENARIO_TYPES, ""), *_wrong(document, SCENARIO_TYPES, "")]
    if document.get("queries") is None:
        wrong.append("queries: missing; a scenario has them beside its cluster, and an answer is given to each")
    cluster, gates = document.get("cluster"), document.get("featureGates")
    if isinstance(cluster, dict):
        wrong += _unknown({key: cluster[key] for key in cluster if key != "kind"}, SECTIONS, "cluster")
    if isinstance(gates, dict):
        wrong += (
            f"featureGates{step(gate)}: must be true or false, not {describe(value)}"
            for gate, value in gates.items()
            if not isinstance(value, bool)
        )
    if wrong:
        raise DecodeError(wrong)


def check_query(query: Mapping[str, Any], where: str) -> None:
    """Raises DecodeError with every member that a query does not have, or of a wrong type; null counts as absent."""
    wrong = [*_unknown(query, QUERY_TYPES, where.rstrip(".")), *_wrong(query, QUERY_TYPES, where)]
    events = query.get("events")
    for at, event in enumerate(events if isinstance(events, list) else ()):
        place = f"{where}events[{at}]"
        if isinstance(event, dict):
            wrong += (*_unknown(event, EVENT_TYPES, place), *_wrong(event, EVENT_TYPES, f"{place}."))
        else:
            wrong.append(f"{place}: must be an object, not {describe(event)}")
    if wrong:
        raise DecodeError(wrong)


def _unknown(given: Mapping[str, Any], known: Collection[str], where: str) -> Iterator[str]:
    for key in given:
        if key not in known:
            hint = nearest(key, known) or f"; there are {', '.join(known)}"
            yield f"{where}{step(key)}: unknown key{hint}".removeprefix(".")


def _wrong(given: Mapping[str, Any], types: Types, where: str) -> Iterator[str]:
    for key, (kinds, name) in types.items():
        value = given.get(key)
        is_flag = isinstance(value, bool) and not {bool, object}.intersection(kinds)
        if value is not None and (is_flag or not isinstance(value, kinds)):
            yield f"{where}{key}: must be {name}, not {describe(value)}"


# --- values -----------------------------------------------------------------------------------


def line_value(line: bytes) -> Any:
    """The JSON of a line. Raises DecodeError."""
    try:
        check_values(line)
        return msgspec.json.decode(line)
    except TooLongError as error:
        raise DecodeError(f"a line: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DecodeError(f"a line: {error if is_utf8(line) else 'it is not UTF-8 text'}") from error


def with_uid(pod: Any) -> Any:
    """The manifest of a pod that has no uid with its ``NAMESPACE/NAME`` as one."""
    meta = pod.get("metadata") if isinstance(pod, dict) else None
    if not isinstance(meta, dict) or meta.get("uid"):
        return pod
    return {**pod, "metadata": {**meta, "uid": f"{meta.get('namespace') or ''}/{meta.get('name')}"}}


def id_of(query: Any) -> Any:
    """What a query calls itself; None for nothing."""
    return query.get("id") if isinstance(query, dict) else None


def object_of(value: Any, what: str) -> dict[str, Any]:
    """The value, which is an object. Raises DecodeError for any other, which the text calls ``what``."""
    if not isinstance(value, dict):
        raise DecodeError(f"{what}: must be an object, not {describe(value)}")
    return value


def seconds_of_time(text: str | None) -> float | None:
    """A moment as Kubernetes writes it, in seconds since the epoch. Raises DecodeError for what is none."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            raise ValueError
        return moment.timestamp()
    except (ValueError, OverflowError) as error:
        raise DecodeError(f"now: {describe(text)} is no time; write it as 2020-01-31T12:00:00Z") from error


LONGEST = 7 * 24 * 3600.0
"""Seconds that an event may come after the attempt."""


class TimedEvent(msgspec.Struct, frozen=True):
    """An object that came (``old`` is None), changed or went (``new`` is None); neither: only time passed."""

    after: float
    """Seconds after the attempt."""
    old: ClusterObject | None
    new: ClusterObject | None


def decoded_events(events: Iterable[Mapping[str, Any]], decoder: Decoder) -> list[TimedEvent]:
    """The events of a query. Raises DecodeError with every fault; one that comes before the last is one."""
    timed: list[TimedEvent] = []
    problems: list[str] = []
    last = 0.0
    for at, event in enumerate(events):
        objects: dict[str, ClusterObject | None] = {"old": None, "new": None}
        for side in objects:
            if event.get(side) is not None:
                decoding = partial(decoder.decode_object, event[side], keep_manifest=True)
                objects[side] = attempt_at(f"events[{at}].{side}", problems, decoding)
        after = float(last if event.get("after") is None else event["after"])
        if not last <= after <= LONGEST:
            problems.append(f"events[{at}].after: must be from {last:g}, the event before it, to {LONGEST:g} seconds")
        kinds = {type(obj) for obj in objects.values() if obj is not None}
        if len(kinds) > 1:
            problems.append(f"events[{at}]: old and new must be of one kind")
        last = max(last, min(after, LONGEST))
        timed.append(TimedEvent(last, objects["old"], objects["new"]))
    if problems:
        raise DecodeError(problems)
    return timed


def places_after(engine: Engine, cache: ClusterCache, pod: Pod, events: Sequence[TimedEvent]) -> list[str | None]:
    """Where in the queue the pod is after it was tried in vain, and after each event; None: in none, as it was bound.

    The attempt does not preempt. The cache is changed by the events.
    """
    from kubescheduler.cycle.bindings import InOrderBindings
    from kubescheduler.cycle.event_handlers import EventHandlers
    from kubescheduler.cycle.schedule_one import SchedulerLoop
    from kubescheduler.engine.loop_parts import loop_parts
    from kubescheduler.framework.contract.cycle_state import VirtualTime
    from kubescheduler.framework.contract.handle import at_once

    clock = VirtualTime()

    def adapted(services: Services) -> Services:
        return msgspec.structs.replace(services, time=clock, in_background=at_once, reports_failures=False)

    parts = loop_parts(engine.scheduler(cache), adapted, preempt=False)
    with SchedulerLoop(parts, bindings=InOrderBindings()) as loop:
        handlers = EventHandlers(loop.cycles)
        parts.queue.add(pod)
        attempt = loop.run_once()
        if attempt is not None and attempt.node_name:
            return [None] * (1 + len(events))
        places = [_place(parts.queue, pod)]
        for event in events:
            _pass_time(parts.queue, clock, event.after)
            if event.old is not None or event.new is not None:
                handlers.changed(event.old, event.new)
            places.append(_place(parts.queue, pod))
        return places


def _place(queue: SchedulingQueue, pod: Pod) -> str | None:
    place = queue.place(pod)
    return None if place is None else place.value


def _pass_time(queue: SchedulingQueue, clock: VirtualTime, until: float) -> None:
    """Moves the clock, with every tick of the queue on the way."""
    while (tick := queue.next_flush()) is not None and clock.now() < tick <= until:
        clock.move_to(tick)
        queue.flush_due()
    clock.move_to(until)
    queue.flush_due()
