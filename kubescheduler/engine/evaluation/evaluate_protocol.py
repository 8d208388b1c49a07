"""The evaluate protocol: scenarios in, one result per query out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.cache import ClusterCache
from clusterstate.errors import ConfigError, DecodeError, KubeSchedulerError
from clusterstate.manifests.decode import Decoder, decode_cluster
from clusterstate.objects import Pod
from kubescheduler.engine.engine_contract import cache_for
from kubescheduler.engine.engine_flags import EngineFlags
from kubescheduler.engine.engines import engine_for
from kubescheduler.engine.evaluation.evaluate_checks import (
    CONFIGURATION_KEYS,
    check_query,
    check_scenario,
    id_of,
    line_value,
    object_of,
    queries_of,
    seconds_of_time,
)
from kubescheduler.engine.evaluation.evaluate_configurations import Asked, notes_on_configuration, scheduler_on
from kubescheduler.releases.lookup import release_named

if TYPE_CHECKING:
    from clusterstate.objects import ClusterObject
    from kubescheduler.core.decision import Decision
    from kubescheduler.core.decision_records import ExtenderTrace, Preemption
    from kubescheduler.core.status import Status
    from kubescheduler.engine.engine_contract import Engine
    from kubescheduler.engine.evaluation.evaluate_events import TimedEvent
    from kubescheduler.releases.release import Release


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
    def of(cls, document: Mapping[str, Any], release: Release) -> Scenario:
        """Decodes the cluster as it is stored: nothing is defaulted, unless the release itself does it."""
        gates = release.gates.of_document(document.get("featureGates") or {})
        objects = decode_cluster(document.get("cluster") or {}, decoder=Decoder(prepare=release.decoding))
        return cls(
            name=str(document.get("id", "")),
            release=release,
            cache=ClusterCache.of(objects, release.view(gates)),
            objects=objects,
            flags=EngineFlags(release.name, feature_gates=gates),
            notes=tuple(release.gates.notes(gates)),
            sequence=bool(document.get("sequence")),
        )

    def answer(self, query: Mapping[str, Any]) -> dict[str, Any]:
        """One result. In a sequence the pod is then bound to the first of the best nodes."""
        decoder = Decoder(prepare=self.release.decoding)
        pod = decoder.decode_object({"kind": "Pod", **(query.get("pod") or {})}, keep_manifest=True)
        if not isinstance(pod, Pod):
            raise DecodeError(f"query {query.get('id')}: pod: it is a {type(pod).__name__}")
        self._today = seconds_of_time(query.get("now"))
        events = _events_of(query, decoder)
        asked = self.configured({key: query[key] for key in CONFIGURATION_KEYS if query.get(key) is not None})
        decision = asked.scheduler.decide(pod, thorough=True, enqueued=True, preempt=bool(query.get("preempt")))
        result = {"scenario": self.name, "query": query.get("id"), "release": self.release.name, **result_of(decision)}
        if events is not None:
            from kubescheduler.engine.evaluation.evaluate_events import places_after

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
            engine = self._engine(configuration)
            scheduler = scheduler_on(engine, self.cache, _clock(self._today))
            notes = notes_on_configuration(engine, self.flags, *map(configuration.get, CONFIGURATION_KEYS))
            asked = self._asked[key] = Asked(engine, scheduler, notes)
        return asked

    def _engine(self, configuration: Mapping[str, Any]) -> Engine:
        if len(configuration) > 1:
            raise ConfigError(f"only one of {', '.join(configuration)} can be given")
        return engine_for(self.flags, *map(configuration.get, CONFIGURATION_KEYS))


def _events_of(query: Mapping[str, Any], decoder: Decoder) -> list[TimedEvent] | None:
    """What happens after the decision; None where nobody asks."""
    if query.get("events") is None:
        return None
    from kubescheduler.engine.evaluation.evaluate_events import decoded_events

    return decoded_events(query["events"], decoder)


def _clock(moment: float | None) -> Callable[[], float]:
    """A clock that stands at a moment, in seconds since the epoch; None: the machine's."""
    return time.time if moment is None else lambda: moment


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


def _preemption(found: Preemption | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "candidates": {
            name: {"victims": [pod.key for pod in victims.pods], "pdbViolations": victims.violations}
            for name, victims in found.candidates.items()
        },
        "chosen": list(found.chosen),
        "clearedNominations": [pod.key for pod in found.cleared],
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


def evaluate(lines: Iterable[bytes], release: str) -> Iterator[dict[str, Any]]:
    """Results for scenarios given as JSON Lines, in order. A bad query or line gives a result with ``error``."""
    for line in lines:
        if line.strip():
            yield from _scenario_results(line, release)


def _scenario_results(line: bytes, release: str) -> Iterator[dict[str, Any]]:
    name: Any = ""
    queries: list[Any] = [None]
    try:
        document = object_of(line_value(line), "a line")
        name = document.get("id", "")
        queries = queries_of(document)
        check_scenario(document)
        scenario = Scenario.of(document, release_named(release))
    except Exception as error:
        for query in queries:
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
