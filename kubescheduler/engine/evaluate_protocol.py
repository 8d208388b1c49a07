"""The evaluate protocol: scenarios in, one result per query out."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs
import msgspec

from clusterstate.cache import ClusterCache
from clusterstate.errors import ConfigError, DecodeError, KubeSchedulerError
from clusterstate.manifests.decode import Decoder, decode_cluster
from clusterstate.objects import Pod
from kubescheduler.core.decision import Decision
from kubescheduler.core.decision_records import ExtenderTrace, Preemption
from kubescheduler.engine.engine_flags import EngineFlags
from kubescheduler.engine.engines import Engine, PodScheduler, engine_for
from kubescheduler.engine.release_record import Release
from kubescheduler.engine.releases import release_named

CONFIGURATION_KEYS = ("provider", "policy", "componentConfig")


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
        "scores": {name: decision.score(name) for name in decision.scores} if feasible else {},
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
    name, queries = "", [{"id": None}]
    try:
        document = msgspec.json.decode(line)
        name, queries = document.get("id", ""), document.get("queries") or []
        scenario = Scenario.of(document, release_named(release))
    except Exception as error:
        for query in queries:
            yield _failed(name, query.get("id"), release, error)
        return
    for query in queries:
        try:
            yield scenario.answer(query)
        except Exception as error:
            yield _failed(name, query.get("id"), release, error)


def _failed(scenario: Any, query: Any, release: str, error: Exception) -> dict[str, Any]:
    known = isinstance(error, KubeSchedulerError | msgspec.DecodeError)
    text = str(error) if known else "".join(traceback.format_exception(error)[-2:]).strip()
    return {"scenario": scenario, "query": query, "release": release, **_nothing(), "error": text}
