"""The evaluate protocol: scenarios in, one result per query out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs
import msgspec

from clusterstate.cache import ClusterCache
from clusterstate.errors import ConfigError, DecodeError, KubeSchedulerError
from clusterstate.manifests.decode import Decoder, decode_cluster
from clusterstate.manifests.fields import describe, step
from clusterstate.objects import Pod
from kubescheduler.core.decision import Decision
from kubescheduler.core.decision_records import ExtenderTrace, Preemption
from kubescheduler.engine.engine_flags import EngineFlags
from kubescheduler.engine.engines import Engine, PodScheduler, engine_for
from kubescheduler.engine.release_record import Release
from kubescheduler.engine.releases import release_named

CONFIGURATION_KEYS = ("provider", "policy", "componentConfig")

_OBJECT, _FLAG, _TEXT = (dict, "an object"), (bool, "true or false"), (str, "text")
SCENARIO_TYPES: Mapping[str, tuple[type, str]] = {"cluster": _OBJECT, "featureGates": _OBJECT, "sequence": _FLAG}
"""Member of a line → its type, and what messages call it."""
QUERY_TYPES: Mapping[str, tuple[type, str]] = {
    "pod": _OBJECT,
    "provider": _TEXT,
    "policy": _OBJECT,
    "componentConfig": _OBJECT,
    "preempt": _FLAG,
}
"""The same of a query."""


@attrs.define(eq=False)
class Scenario:
    """One scenario under way: its cluster, and a scheduler for each configuration its queries name."""

    name: str
    release: Release
    cache: ClusterCache
    feature_gates: Mapping[str, bool]
    sequence: bool
    _schedulers: dict[bytes, PodScheduler] = attrs.field(factory=dict)

    @classmethod
    def of(cls, document: Mapping[str, Any], release: Release) -> Scenario:
        """Decodes the cluster as it is stored: nothing is defaulted, unless the release itself does it."""
        gates = release.gates.resolve(document.get("featureGates") or {})
        objects = decode_cluster(document.get("cluster") or {}, decoder=Decoder(prepare=release.decoding))
        return cls(
            name=str(document.get("id", "")),
            release=release,
            cache=ClusterCache.of(objects, release.view(gates)),
            feature_gates=gates,
            sequence=bool(document.get("sequence")),
        )

    def answer(self, query: Mapping[str, Any]) -> dict[str, Any]:
        """One result. In a sequence the pod is then bound to the first of the best nodes."""
        decoder = Decoder(prepare=self.release.decoding)
        pod = decoder.decode_object({"kind": "Pod", **(query.get("pod") or {})}, keep_manifest=True)
        if not isinstance(pod, Pod):
            raise DecodeError(f"query {query.get('id')}: pod: it is a {type(pod).__name__}")
        scheduler = self._scheduler({key: query[key] for key in CONFIGURATION_KEYS if query.get(key) is not None})
        decision = scheduler.decide(pod, thorough=True, enqueued=True, preempt=bool(query.get("preempt")))
        best = decision.best()
        if self.sequence and best:
            self.cache.assume_pod(pod, best[0])
        return {"scenario": self.name, "query": query.get("id"), "release": self.release.name, **result_of(decision)}

    def _scheduler(self, configuration: Mapping[str, Any]) -> PodScheduler:
        key = msgspec.json.encode(configuration)
        scheduler = self._schedulers.get(key)
        if scheduler is None:
            scheduler = self._schedulers[key] = self._engine(configuration).scheduler(self.cache)
        return scheduler

    def _engine(self, configuration: Mapping[str, Any]) -> Engine:
        if len(configuration) > 1:
            raise ConfigError(f"only one of {', '.join(configuration)} can be given")
        flags = EngineFlags(self.release.name, feature_gates=self.feature_gates)
        return engine_for(flags, *map(configuration.get, CONFIGURATION_KEYS))


def result_of(decision: Decision) -> dict[str, Any]:
    """A decision in the shape of the protocol."""
    if decision.error is not None:
        return {**_nothing(), "weights": dict(decision.weights), "error": decision.error}
    feasible = bool(len(decision.feasible))
    return {
        "fits": decision.fits(),
        "failed": {name: sorted(reasons) for name, reasons in decision.reasons().items()},
        "checks": {
            name: {check: sorted(reasons) for check, reasons in checks.items()}
            for name, checks in decision.checks().items()
        },
        **_statuses(decision),
        "scores": decision.scores.to_dict() if feasible else {},
        "weights": dict(decision.weights),
        "total": decision.total(),
        "best": decision.best(),
        "preemption": _preemption(decision.preemption),
        "error": None,
        **({"extenders": _extenders(decision.extenders)} if decision.extenders else {}),
    }


def _statuses(decision: Decision) -> dict[str, Any]:
    """What only releases whose statuses have codes say."""
    if not decision.coded:
        return {}
    feasible = bool(len(decision.feasible))
    return {"codes": decision.codes(), "raw": {name: decision.raw(name) for name in decision.raws} if feasible else {}}


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
        document = _object(_decoded(line), "a line")
        name = document.get("id", "")
        if "queries" not in document:
            raise DecodeError(
                "queries: missing; a scenario has them beside its cluster, and an answer is given to each"
            )
        queries = _list(document["queries"], "queries")
        _checked(document, SCENARIO_TYPES, "")
        scenario = Scenario.of(document, release_named(release))
    except Exception as error:
        for query in queries:
            yield _failed(name, _id_of(query), release, error)
        return
    for at, query in enumerate(queries):
        try:
            _checked(_object(query, f"queries[{at}]"), QUERY_TYPES, f"queries[{at}].")
            yield scenario.answer(query)
        except Exception as error:
            yield _failed(name, _id_of(query), release, error)


def _id_of(query: Any) -> Any:
    return query.get("id") if isinstance(query, dict) else None


def _decoded(line: bytes) -> Any:
    """The JSON of a line. Raises DecodeError."""
    try:
        return msgspec.json.decode(line)
    except msgspec.DecodeError as error:
        if line.isascii() or _is_utf8(line):
            raise DecodeError(f"a line: {error}") from error
        raise DecodeError("a line: it is not UTF-8 text") from error
    except UnicodeDecodeError as error:
        raise DecodeError("a line: it is not UTF-8 text") from error


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DecodeError(f"{what}: must be an object, not {describe(value)}")
    return value


def _list(value: Any, what: str) -> list[Any]:
    if value is not None and not isinstance(value, list):
        raise DecodeError(f"{what}: must be a list, not {describe(value)}")
    return value or []


def _checked(given: Mapping[str, Any], types: Mapping[str, tuple[type, str]], where: str) -> None:
    """Raises DecodeError with every member of the wrong type; null counts as absent."""
    wrong = [
        f"{where}{key}: must be {name}, not {describe(given[key])}"
        for key, (kind, name) in types.items()
        if given.get(key) is not None and not isinstance(given[key], kind)
    ]
    gates = given.get("featureGates") if "featureGates" in types else None
    if isinstance(gates, dict):
        wrong += (
            f"featureGates{step(gate)}: must be true or false, not {describe(value)}"
            for gate, value in gates.items()
            if not isinstance(value, bool)
        )
    if wrong:
        raise DecodeError(wrong)


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
