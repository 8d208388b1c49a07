"""Clusters that change step by step while pods preempt: for laws about what is remembered of preemption."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import attrs
import msgspec
from hypothesis import strategies as st

from clusterstate.cache import ClusterCache
from clusterstate.footprint import Footprint
from clusterstate.growable import Mask
from clusterstate.objects import (
    Affinity,
    LabelSelector,
    Node,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodDisruptionBudget,
    Taint,
)
from kubescheduler.core.algorithm import Algorithm
from kubescheduler.core.attempt import GenericScheduler
from kubescheduler.core.decision import Decision
from kubescheduler.core.nominated import KeptJudgements
from kubescheduler.core.pod_classes import ClassState
from kubescheduler.core.preemption_choice import Candidates
from kubescheduler.core.preemption_memory import KeptVictims, PreemptionMemory
from kubescheduler.core.preemption_rules import PreemptionRules
from kubescheduler.core.preemption_trials import PreemptionAttempt
from kubescheduler.engine.engine_flags import EngineFlags
from kubescheduler.engine.legacy_engine import algorithm_from_provider
from kubescheduler.engine.spec import Engine, EngineSpec, cache_for
from tests.support.build import cache_of, labels, make_node, make_pod, resources
from tests.support.deciders import deciding
from tests.support.rich_worlds import in_tree

PREEMPTING = ("1.16", "1.20", "1.36")
"""The releases that preempt."""
HOST = "kubernetes.io/hostname"
NODES = 5
APPS = ("db", "web")
SORTS = ("even", "odd")
TAINT = Taint("k", "v", "NoSchedule")

ASKED = ((3000, 4, "db", ""), (1500, 3, "web", ""), (1500, 2, "db", "even"))
"""(cpu, priority, app, nodes) of the pods that are asked about after every step."""

nodes = st.integers(0, NODES - 1)
amounts = st.sampled_from([0, 500, 1500])
apps = st.sampled_from(APPS)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("pod"), nodes, amounts, st.integers(0, 4), apps, st.sampled_from([None, 1, 2])),
        st.tuples(st.just("gone"), st.integers(0, 30)),
        st.tuples(st.just("nominate"), st.integers(-1, NODES), amounts, st.integers(1, 5), st.integers(0, 3)),
        st.tuples(st.just("nominate"), st.integers(-1, NODES), amounts, st.integers(1, 5), st.integers(0, 3)),
        st.tuples(st.just("budget"), apps, st.integers(-1, 2), st.sampled_from([(), ("p0", "p6")])),
        st.tuples(st.just("node"), st.integers(0, NODES), st.sampled_from([2000, 3000, None]), st.booleans()),
        st.tuples(st.just("apart"), nodes, apps),
        st.tuples(st.just("preempt"), st.sampled_from(ASKED)),
        st.tuples(st.just("preempt"), st.sampled_from(ASKED)),
    ),
    min_size=1,
    max_size=10,
)
"""What happens to the cluster."""


def node(at: int, cpu: int = 3000, *, tainted: bool = False) -> Node:
    room = resources(cpu=cpu, memory=8 << 30, pods=5)
    return make_node(
        f"n{at}", {HOST: f"n{at}", "nodes": SORTS[at % 2]}, allocatable=room, taints=(TAINT,) if tainted else ()
    )


def pod(name: str, cpu: int, priority: int, app: str = "db", nodes: str = "", **fields: Any) -> Pod:
    """nodes: those that it may run on, ``even`` or ``odd``; empty: all."""
    if nodes:
        fields["node_selector"] = labels({"nodes": nodes})
    return make_pod(name, {"app": app}, priority=priority, requests=resources(cpu=cpu), **fields)


@attrs.define
class ChangingCluster:
    """A cluster with nodes n0, n1 … and pods p0, p1 …"""

    engine: Engine
    cache: ClusterCache
    made: int = 0

    @classmethod
    def of(cls, release: str) -> ChangingCluster:
        engine = EngineSpec.parse(f"release={release}").engine(lambda _: None)
        cache = cache_for(engine, [node(at) for at in range(NODES)])
        there = cls(engine, cache)
        for at in range(2 * NODES):  # even nodes are alike, and odd ones
            priority = at % 2 if at < NODES else 2
            there.run("pod", at % NODES, 1500, priority, APPS[at // NODES], None)
        return there

    def run(self, what: str, *given: Any) -> None:
        """One step that asks nothing."""
        getattr(self, f"_{what}")(*given)

    def _pod(self, at: int, cpu: int, priority: int, app: str, start: int | None) -> None:
        made = pod(self._name(), cpu, priority, app, node=f"n{at}")
        since = None if start is None else f"2020-01-01T00:00:0{start}Z"
        self.cache.add_pod(msgspec.structs.replace(made, start_time=since))

    def _name(self) -> str:
        self.made += 1
        return f"p{self.made - 1}"

    def _gone(self, at: int) -> None:
        there = self.cache.pods()
        if there:
            leaving = there[at % len(there)]
            (self.cache.forget_pod if self.cache.is_assumed(leaving) else self.cache.remove_pod)(leaving)

    def _nominate(self, at: int, cpu: int, priority: int, who: int) -> None:
        name = "" if at < 0 else f"n{at}"
        self.cache.nominate(pod(f"waiting{who}", cpu, priority, nominated=name), name)

    def _budget(self, app: str, allowed: int, disrupted: tuple[str, ...]) -> None:
        meta = ObjectMeta(app, "default")
        budget = PodDisruptionBudget(meta, LabelSelector(labels({"app": app})), max(allowed, 0), disrupted)
        (self.cache.remove if allowed < 0 else self.cache.add)(budget)

    def _node(self, at: int, cpu: int | None, tainted: bool) -> None:
        row = self.cache.columns.row_of.get(f"n{at}")
        if cpu is not None:
            self.cache.add_node(node(at, cpu, tainted=tainted))
        elif row is not None and self.cache.columns.nodes[row] is not None:
            self.cache.remove_node(f"n{at}")

    def _apart(self, at: int, app: str) -> None:
        term = PodAffinityTerm(HOST, LabelSelector(labels({"app": app})))
        affinity = Affinity(None, None, PodAffinity((term,)))
        self.cache.add_pod(pod(self._name(), 0, 1, node=f"n{at}", affinity=affinity))

    def carry_out(self, preemptor: Pod, decision: Decision) -> None:
        """The victims leave, and the pod waits for the node, or runs where it fits."""
        found = decision.preemption
        if decision.host is not None:
            self.cache.assume_pod(msgspec.structs.replace(preemptor, metadata=self._meta()), decision.host)
        elif found is not None and found.chosen:
            for victim in found.candidates[found.chosen[0]].pods:
                (self.cache.forget_pod if self.cache.is_assumed(victim) else self.cache.remove_pod)(victim)
            self.cache.nominate(preemptor, found.chosen[0])

    def _meta(self) -> ObjectMeta:
        name = self._name()
        return ObjectMeta(name, "default", uid=f"default/{name}")


def find_candidates(attempt: PreemptionAttempt, rows: Mask, rules: PreemptionRules) -> Candidates:
    """Where the pod would fit among the rows, (N,) bool, with nothing remembered of another attempt."""
    cache, attempt = attempt.cache, attempt.by([p for p in attempt.predicates if p.applies(attempt.info)])
    state = ClassState(attempt.info, Algorithm("1.36", tuple(attempt.predicates), ()))
    state.check(cache.snapshot(), cache.columns.log, cache.columns.published[1])
    return KeptVictims(cache, attempt.roster).candidates(attempt, state, rows, rules, None)


@contextmanager
def one_by_one() -> Iterator[None]:
    """Every node is tried, and judged beside nominated pods, by itself, and nothing is remembered of it."""

    def tried(_: Any, attempt: PreemptionAttempt, __: Any, rows: Mask, rules: PreemptionRules) -> Candidates:
        return find_candidates(attempt, rows, rules)

    with (
        patch.object(Footprint, "is_row_local", lambda *_: False),
        patch.object(PreemptionMemory, "candidates", tried),
        patch.object(KeptJudgements, "judge", lambda *_, **__: None),
    ):
        yield


def said(decision: Decision) -> dict[str, Any]:
    """All that is said of a pod that fits nowhere."""
    found = decision.preemption
    out: dict[str, Any] = {"host": decision.host, "message": decision.message, "nominated": decision.nominated}
    out |= {"reasons": decision.reasons(), "codes": decision.codes(), "fits": decision.fits()}
    if found is not None:
        out["candidates"] = {
            name: ([p.metadata.name for p in victims.pods], victims.violations)
            for name, victims in found.candidates.items()
        }
        out["chosen"] = list(found.chosen)
        out["cleared"] = [p.metadata.name for p in found.cleared]
    return out


GATES_1_16 = {"TaintNodesByCondition": True, "EvenPodsSpread": False, "ResourceLimitsPriorityFunction": False}
ALGORITHM_1_16 = algorithm_from_provider(EngineFlags(feature_gates=GATES_1_16), "DefaultProvider")
WEB = {"app": "web"}


def node_named(name: str, cpu: int = 3000, **fields: Any) -> Any:
    return make_node(name, allocatable=resources(cpu=cpu, memory=8 << 30, pods=9), **fields)


def pod_at(
    name: str, at: str = "n0", priority: int = 0, cpu: int = 1000, *, start: int | None = None, **fields: Any
) -> Pod:
    """start: minutes past midnight."""
    made = make_pod(name, node=at, priority=priority, requests=resources(cpu=cpu), **fields)
    return made if start is None else msgspec.structs.replace(made, start_time=f"2020-01-01T00:{start:02}:00Z")


def wants(cpu: int = 1000, priority: int = 10, **fields: Any) -> Pod:
    return make_pod("in", priority=priority, requests=resources(cpu=cpu), **fields)


def preempted(
    release: str, cluster: list[Any], asking: Pod, *plugins: Any, extenders: Any = (), thorough: bool = False
) -> Decision:
    """A decision by resources and preemption, in 1.16 by all its rules, for a pod that fits nowhere."""
    if release == "1.16":
        algorithm = msgspec.structs.replace(ALGORITHM_1_16, extenders=tuple(extenders))
        decision = GenericScheduler(algorithm, cache_of(cluster)).decide(asking, preempt=True)
    else:
        made = in_tree(release)
        scheduler = deciding(
            release, *plugins, made["NodeResourcesFit"], made["DefaultPreemption"], cluster=cluster, extenders=extenders
        )
        decision = scheduler.attempt(asking, thorough=thorough).run(preempt=True)
    assert decision.host is None
    return decision


def victims(decision: Decision) -> dict[str, list[str]]:
    """Node → the names of those who would leave, in order."""
    assert decision.preemption is not None
    return {name: [p.metadata.name for p in v.pods] for name, v in decision.preemption.candidates.items()}


def chosen(decision: Decision) -> list[str]:
    assert decision.preemption is not None
    return list(decision.preemption.chosen)


def told(release: str, count: int, reasons: str, text: str) -> str:
    """The message of a pod that may not preempt, or for whom preemption found nothing."""
    return f"0/{count} nodes are available: {reasons}.{f' {text}' if release == '1.36' else ''}"


def cpu_of(made: Pod) -> int:
    return made.spec.containers[0].requests["cpu"]


def budget(allowed: int, *disrupted: str) -> PodDisruptionBudget:
    return PodDisruptionBudget(ObjectMeta("b", "default"), LabelSelector(labels(WEB)), allowed, disrupted)
