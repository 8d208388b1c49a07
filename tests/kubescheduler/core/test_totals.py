"""Totals that are kept and patched: the same decisions as without, also when they are read much later."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clusterstate import pod_counts
from clusterstate.growable import IntArray, Mask
from clusterstate.manifests.decode import Decoder
from clusterstate.usage import wrap
from kubescheduler.core import pod_classes, totals
from kubescheduler.core.decision import Decision
from kubescheduler.core.filter_and_score import Scored
from kubescheduler.core.selection import FirstByName, RandomTie, ReservoirTie, RoundRobinTie, TieBreak
from kubescheduler.core.totals import ClassTotals, LazyScores, TotalTable
from kubescheduler.engine.spec import Engine, EngineSpec, cache_for
from tests.support.amount_steps import (
    ALONE_ONCE_FULL,
    BEYOND_AMOUNTS,
    BY_AMOUNTS,
    FULL_DISKS,
    LIKED_AND_FULL,
    REFUSED_LONG_AGO,
    STEADY_REFUSALS,
)
from tests.support.laws import costly

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
TIES: dict[str, Callable[[], TieBreak]] = {
    "first": FirstByName,
    "random": lambda: RandomTie(random.Random(1)),
    "reservoir": lambda: ReservoirTie(random.Random(1)),
    "round robin": RoundRobinTie,
}
ENGINES = {
    "1.4": "release=1.4",
    "1.16": "release=1.16,feature-gates=EvenPodsSpread=true",
    "1.20": "release=1.20",
    "1.20 by services": "release=1.20,feature-gates=DefaultPodTopologySpread=false",
    "1.36": "release=1.36",
}
"""Releases with every rule that may be remembered; in 1.20 SelectorSpread scores only without default constraints."""
SIZES = ({"cpu": "1", "memory": "2Gi", "pods": "4"}, {"cpu": "2", "memory": "4Gi", "pods": "20"})


def node(at: int, size: int, change: str) -> dict[str, Any]:
    """The node of a number. change: what is special about it."""
    labels = {HOST: f"n{at}", ZONE: f"z{at % 2}", "failure-domain.beta.kubernetes.io/zone": f"z{at % 2}"}
    if change == "keyless":
        labels = {}
    if change == "disk":
        labels["disk"] = "ssd"
    effect = {"soft": "PreferNoSchedule", "hard": "NoSchedule"}.get(change)
    spec: dict[str, Any] = {"unschedulable": change == "cordoned"}
    if effect is not None:
        spec["taints"] = [{"key": "k", "effect": effect}]
    images = [{"names": ["big:1"], "sizeBytes": 500_000_000}] if change == "image" else []
    status = {
        "allocatable": SIZES[size],
        "images": images,
        "conditions": [{"type": "Ready", "status": str(change != "not ready")}],
    }
    return {"kind": "Node", "metadata": {"name": f"n{at}", "labels": labels}, "spec": spec, "status": status}


def pod(name: str, kind: str) -> dict[str, Any]:
    """A pod that some rule has something to say about."""
    of_a_team, kind = kind in OF_A_TEAM, kind.removesuffix(" of t")
    container: dict[str, Any] = {"name": "c", "resources": {"requests": {"cpu": "200m", "memory": "100Mi"}}}
    spec: dict[str, Any] = {"containers": [container]}
    labels = {} if kind in ("plain", "bare large") else {"app": "a"}
    if of_a_team:
        labels["team"] = "t"
    term: dict[str, Any] = {
        "labelSelector": {"matchLabels": {"app": "a"}},
        "topologyKey": ZONE if kind in ("near", "dislikes") else HOST,
    }
    required, preferred = "requiredDuringScheduling", "preferredDuringScheduling"
    ignored = "IgnoredDuringExecution"
    wanted = {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}
    constraint: dict[str, Any] = {"maxSkew": 1, "topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "a"}}}
    kinds: dict[str, dict[str, Any]] = {
        "near": {"affinity": {"podAffinity": {required + ignored: [term]}}},
        "near by host": {"affinity": {"podAffinity": {required + ignored: [term]}}},
        "dislikes": {"affinity": {"podAntiAffinity": {preferred + ignored: [{"weight": 7, "podAffinityTerm": term}]}}},
        "apart from z": {"affinity": {"podAntiAffinity": {required + ignored: [{**term, **OF_Z}]}}},
        "apart": {"affinity": {"podAntiAffinity": {required + ignored: [term]}}},
        "likes": {"affinity": {"podAffinity": {preferred + ignored: [{"weight": 5, "podAffinityTerm": term}]}}},
        "disk": {"affinity": {"nodeAffinity": {preferred + ignored: [{"weight": 9, "preference": wanted}]}}},
        "even": {"topologySpreadConstraints": [{**constraint, "whenUnsatisfiable": "DoNotSchedule"}]},
        "rather even": {"topologySpreadConstraints": [{**constraint, "whenUnsatisfiable": "ScheduleAnyway"}]},
    }
    if kind == "port":
        container["ports"] = [{"containerPort": 80, "hostPort": 80}]
    if kind == "image":
        container["image"] = "big:1"
    if kind in ("large", "bare large"):
        container["resources"] = {"requests": {"cpu": "700m", "memory": "1Gi"}}
    metadata = {"name": name, "namespace": "default", "uid": name, "labels": labels}
    return {"kind": "Pod", "metadata": metadata, "spec": {**spec, **kinds.get(kind, {})}}


OF_A_TEAM = ("owned of t", "disk of t", "dislikes of t", "rather even of t")
"""Kinds that a second service selects too, and that differ in nothing else from those without a team."""
OF_Z = {"labelSelector": {"matchLabels": {"app": "z"}}}
"""Selects no pod."""
AFFINE = ("apart from z", "apart", "near", "near by host", "likes", "dislikes")
KINDS = ("plain", "owned", *OF_A_TEAM, "large", "bare large", "port", "image", "disk", *AFFINE, "even", "rather even")
CHANGES = ("", "disk", "soft", "hard", "cordoned", "image")
nodes = st.tuples(st.integers(0, 7), st.integers(0, 1), st.sampled_from((*CHANGES, "keyless", "not ready")))
runs = st.tuples(st.just("run"), st.sampled_from(KINDS), st.integers(1, 6))
steps = st.one_of(
    runs,
    runs,
    runs,
    st.tuples(st.just("drop"), st.integers(0, 9)),
    st.tuples(st.just("put"), nodes),
    st.tuples(st.just("remove"), st.integers(0, 7)),
    st.tuples(st.just("service"), st.booleans()),
    st.tuples(st.just("nominate"), st.integers(0, 7)),
)

steps_read_anew = st.one_of(
    runs,
    st.tuples(st.just("drop"), st.integers(0, 9)),
    st.tuples(
        st.just("put"), st.tuples(st.integers(0, 7), st.integers(0, 1), st.sampled_from(("", "disk", "keyless")))
    ),
    st.tuples(st.just("service"), st.booleans()),
)
"""Steps after which a cluster that is read anew knows everything; not what nodes had which image when."""

EVERY_KIND = [("run", kind, 4) for kind in KINDS]
"""A run of each kind, so that every rule has its say for pods that are remembered."""
AMID_CHANGES = [
    *[("run", "plain", 5), ("drop", 0), ("run", "plain", 2), ("nominate", 1), ("run", "plain", 2)],
    *[("put", (3, 1, "disk")), ("run", "disk", 3), ("put", (3, 1, "")), ("run", "disk", 3)],
    *[("run", "owned", 3), ("service", False), ("run", "owned", 3), ("service", True), ("run", "owned", 3)],
    *[("remove", 5), ("run", "plain", 3), ("put", (5, 0, "soft")), ("run", "plain", 3)],
]
"""Runs with something else between like pods."""

DOMAINS = [
    *[("run", kind, 2) for kind in ("near", "apart", "near", "likes", "dislikes", "near", "likes", "apart", "plain")],
    *[("drop", 1), ("run", "near", 1), ("drop", 0), ("run", "apart", 1), ("put", (3, 1, "keyless"))],
    *[("run", kind, 2) for kind in ("likes", "apart", "near", "dislikes", "likes", "near by host", "near by host")],
    *[("drop", 9), ("run", "dislikes", 2), ("run", "near by host", 2), ("drop", 9), ("run", "near by host", 2)],
]
"""Terms of affinity of every sort, and a node without the labels that they ask for."""
FIRST_OF_ITS_GROUP = [
    *[("run", "near", 1), ("drop", 0)] * 3,
    *[("run", "near", 3), ("drop", 0), ("drop", 0), ("run", "near", 1), ("drop", 0), ("drop", 0), ("run", "near", 2)],
]
"""A pod wants to be with others like it where there is none, then one, then none again."""
LEFT = [
    *[("run", "owned", 2), ("run", "near by host", 2), ("drop", 1), ("run", "near by host", 2)],
    *[("drop", 0), ("run", "near by host", 2), ("drop", 0), ("run", "near by host", 2)],
    *[
        ("run", "near", 2),
        ("put", (1, 1, "keyless")),
        ("run", "near", 2),
        ("put", (0, 1, "keyless")),
        ("run", "near", 2),
    ],
]
"""Nodes that the pods leave which others want to be with, or that leave their domain."""
UNLISTED = [
    *[("run", "plain", 8), ("remove", 0), ("put", (1, 1, "not ready")), ("run", "plain", 2)],
    *[("drop", 0), ("run", "plain", 1)] * 8,
]
"""Pods leave a node that is not there any more, and one that 1.4 does not look at."""
LEVELS = [
    *[("run", "owned", 6), ("run", "likes", 5), ("drop", 2), ("run", "likes", 4), ("drop", 0), ("run", "likes", 3)],
    *[("run", "large", 3), ("drop", 1), ("run", "likes", 3), ("drop", 6), ("drop", 6), ("run", "likes", 3)],
]
"""The node with the most liked pods changes, so that all others score differently."""
SHARED_NO_MORE = [("run", "near", 1), ("run", "even", 2)]
"""A score that was one number for the rows that fit differs once further rows fit."""

SHARED_CHECKS = [
    *[("run", "large", 5), ("run", "bare large", 3), ("drop", 6), ("drop", 1), ("run", "large", 2), ("drop", 3)],
    *[("run", "bare large", 5), ("drop", 0), ("drop", 0), ("run", "large", 2), ("run", "bare large", 4), ("drop", 2)],
    *[("run", "large", 3), ("drop", 9), ("drop", 8), ("run", "bare large", 3), ("drop", 5), ("run", "large", 2)],
]
"""Pods that differ in labels fill nodes in turn, so that verdicts they share are brought up to date for one another."""

OF_TWO_SERVICES = [
    *[("run", kind, 1) for kind in ("owned", "owned of t", "plain") * 3],
    *[("run", kind, 1) for kind in ("disk", "disk of t") * 2],
    *[("drop", 1), ("run", "owned", 1), ("put", (3, 1, "disk")), ("run", "disk of t", 1), ("run", "disk", 2)],
    *[("service", False), ("run", "owned", 1), ("service", True), ("run", "owned of t", 2), ("run", "owned", 2)],
    *[("put", (0, 0, "soft")), ("run", "owned of t", 1), ("run", "owned", 1), ("put", (0, 0, ""))],
    *[("run", "owned of t", 2), ("run", "large", 5), ("run", "owned", 1), ("run", "owned of t", 1)],
]
"""Pods of two services in turn, which have in common what is kept of all rules but spreading."""
VOLATILE = [
    *[("run", "dislikes", 2), ("run", "dislikes of t", 2), ("run", "dislikes", 9), ("run", "dislikes of t", 2)],
    *[("drop", 1), ("run", "dislikes of t", 4), ("run", "dislikes", 2)],
]
"""A rule that scores whole domains otherwise with every pod, for pods of two services."""
REPELLED = [
    *[("run", "apart from z", 1), ("run", "owned", 1)] * 2,
    *[("run", "owned", 3), ("run", "apart", 1), ("run", "owned", 2)],
    *[("run", "owned of t", 2), ("drop", 4), ("run", "owned", 2), ("run", "owned of t", 3)],
]
"""A rule has nothing to say of a pod, then something, then nothing again."""

EVEN_AMONG_SOME = [
    *[("run", "rather even", 3), ("run", "rather even of t", 3), ("put", (6, 0, "keyless")), ("run", "rather even", 2)],
    *[("run", "rather even of t", 2), ("put", (6, 0, ""))],
    *[("put", (at, 1, "hard")) for at in (1, 3, 5)],
    *[("run", "rather even", 5), ("run", "rather even of t", 5), ("put", (7, 1, "keyless")), ("run", "rather even", 3)],
    *[("run", "rather even of t", 3), ("put", (1, 1, "")), ("put", (7, 1, "")), ("run", "rather even", 3)],
    *[("run", "rather even of t", 3)],
]
"""Pods that are spread where few nodes of a zone fit, and where some have no zone."""


def said(decision: Decision) -> Any:
    """Everything that a decision says."""
    raws = {name: decision.raw(name) for name in decision.raws}
    return decision.to_dict(), decision.codes(), raws, decision.best()


class Worlds:
    """A scheduler that goes through steps, and beside it for each decision one that has remembered nothing."""

    def __init__(self, engine: str, tie: str) -> None:
        self.engine: Engine = EngineSpec.parse(ENGINES[engine]).engine(lambda _: None)
        self.decoder = Decoder()
        self.tie = TIES[tie]()
        first = [self.decode(node(at, at % 2, CHANGES[at % 3])) for at in range(8)]
        self.cache = cache_for(self.engine, first)
        self.running = self.engine.scheduler(self.cache, self.tie)
        self.placed: list[Any] = []
        self.services: list[Any] = []
        self.made: list[tuple[Decision, Any]] = []

    def decode(self, document: dict[str, Any]) -> Any:
        """The object of a manifest."""
        return self.decoder.decode_object(document)

    def decide(self, kind: str, *, late: bool) -> None:
        """Decides one more pod and places it. late: what was decided is read at the end."""
        one = self.decode(pod(f"p{len(self.made)}", kind))
        fresh = self.engine.scheduler(self.cache, pickle.loads(pickle.dumps(self.tie)))
        first = fresh.decide(one) if len(self.made) % 2 else None  # which brings counts up to date for the other
        decision = self.running.decide(one)
        anew = first or fresh.decide(one)
        assert decision.host == anew.host
        if not late:
            assert said(decision) == said(anew)
        self.made.append((decision, said(anew)))
        if decision.host is not None:
            self.placed.append(self.cache.assume_pod(one, decision.host))

    def step(self, what: str, *given_: Any) -> None:
        """Makes one of ``steps``."""
        if what == "run":
            for at in range(given_[1]):
                self.decide(given_[0], late=at % 2 == 0)
        elif what == "drop":
            if given_[0] < len(self.placed):
                self.cache.forget_pod(self.placed.pop(given_[0]))
        elif what == "put":
            self.cache.add_node(self.decode(node(*given_[0])))
        elif what == "remove":
            if any(found is not None and found.name == f"n{given_[0]}" for found in self.cache.columns.nodes):
                self.cache.remove_node(f"n{given_[0]}")
        elif what == "nominate":
            self.cache.nominate(self.decode(pod("waits", "large")), f"n{given_[0]}")
        else:
            self.services = []
            for selector in ({"app": "a"}, {"team": "t"}):
                service = {"kind": "Service", "metadata": {"name": next(iter(selector)), "namespace": "default"}}
                made = self.decode({"apiVersion": "v1", **service, "spec": {"selector": selector}})
                (self.cache.add if given_[0] else self.cache.remove)(made)
                self.services += [made] if given_[0] else []


@pytest.mark.parametrize("engine", ENGINES)
@example(EVERY_KIND, 8, "random")
@example(EVERY_KIND, 1, "reservoir")
@example(AMID_CHANGES, 8, "round robin")
@example(SHARED_NO_MORE, 8, "first")
@example(OF_TWO_SERVICES, 8, "random")
@example(VOLATILE, 1, "reservoir")
@example(REPELLED, 8, "round robin")
@example(EVEN_AMONG_SOME, 8, "first")
@example(SHARED_CHECKS, 8, "random")
@example(DOMAINS, 1, "reservoir")
@example(DOMAINS, 8, "round robin")
@example(FIRST_OF_ITS_GROUP, 1, "first")
@example(LEFT, 1, "random")
@example(LEVELS, 8, "reservoir")
@example([("service", False), *LEVELS], 8, "round robin")
@example(UNLISTED, 8, "first")
@example(BY_AMOUNTS, 1, "random")
@example(BEYOND_AMOUNTS, 8, "reservoir")
@example(STEADY_REFUSALS, 8, "round robin")
@example(FULL_DISKS, 8, "first")
@example(REFUSED_LONG_AGO, 1, "random")
@example(ALONE_ONCE_FULL, 8, "reservoir")
@example(LIKED_AND_FULL, 8, "round robin")
@costly
@given(st.lists(steps, min_size=2, max_size=14), st.sampled_from([1, 8]), st.sampled_from(list(TIES)))
def test_patched_totals_are_those_of_a_scheduler_that_remembers_nothing(
    engine: str, found: Any, share: int, tie: str
) -> None:
    """Whatever pods come and go, nodes change and services appear; also what is read when all is over. share: one of
    so many rows is patched sooner than all are looked at; with 1, no more than two at a time."""
    with (
        patch.object(totals, "FEW", 2 if share == 1 else totals.FEW),
        patch.object(pod_counts, "LONGEST", 4),
        patch.object(pod_counts, "MOST_TALLIES", 5 if share == 1 else pod_counts.MOST_TALLIES),
        patch.object(pod_counts, "TALLY_ROWS", 0),
        patch.object(pod_classes, "PATCH_SHARE", share),
        patch.object(totals, "LEAST_CHANGES", share),
    ):
        worlds = Worlds(engine, tie)
        for step in [("service", True), *found]:
            worlds.step(*step)
        for decision, expected in worlds.made:
            assert said(decision) == expected


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["plain", "owned", "disk", "image", "dislikes", "rather even"])
def test_most_decisions_on_like_pods_are_patched(engine: str, kind: str) -> None:
    """Only the first of a run, and those that something else than single rows has changed for, look at all rows."""
    patched: list[bool] = []
    real = ClassTotals.patch

    def counting(self: ClassTotals, *arguments: Any) -> Any:
        found = real(self, *arguments)
        patched.append(found is not None)
        return found

    worlds = Worlds(engine, "first")
    worlds.step("service", True)
    with patch.object(ClassTotals, "patch", counting):
        for _ in range(9):
            worlds.decide(kind, late=True)
    assert patched.count(True) >= 3


@pytest.mark.parametrize("engine", ENGINES)
@example([("run", "owned", 1), ("run", "apart", 1), ("run", "owned", 9), ("run", "dislikes", 1), ("run", "owned", 2)])
@example([("run", kind, 1) for kind in (*AFFINE, *AFFINE)])
@example([("service", True), ("run", "owned", 5), ("service", False), ("run", "owned", 1), ("service", True)])
@example([("run", "rather even", 5), *[("put", (at, 0, "keyless")) for at in (0, 2, 4, 6)]])
@given(st.lists(steps_read_anew, max_size=12))
@costly
def test_what_is_counted_on_the_way_is_what_a_cluster_read_anew_counts(engine: str, found: Any) -> None:
    """Decisions on every kind of pod are those of a cluster that is made of the same nodes and pods; half of the kinds
    are asked after a step, the others after the next one, and all after the last."""
    worlds, kinds = Worlds(engine, "first"), ("owned", "rather even", *AFFINE)
    for at, step in enumerate(found, start=1):
        worlds.step(*step)
        objects = [node for node in worlds.cache.columns.nodes if node is not None]
        objects += worlds.services
        fresh = worlds.engine.scheduler(cache_for(worlds.engine, [*objects, *worlds.placed]), FirstByName())
        for kind in kinds if at == len(found) else kinds[at % 2 :: 2]:
            asked = worlds.decode(pod("asked", kind))
            assert said(worlds.running.decide(asked)) == said(fresh.decide(asked))


ROWS = 7
HUGE = (1 << 60, 1 << 61, 1 << 62)

Row = tuple[int, int, bool]
"""(what the one rule gives, what the other one does, whether the row fits)."""
amounts = st.one_of(st.integers(0, 4), st.sampled_from([sign * number for number in HUGE for sign in (1, -1)]))
small = st.integers(0, 3)
rows = st.tuples(amounts, small, st.sampled_from([True, True, True, False]))
plain_rows = st.tuples(small, small, st.sampled_from([True, True, True, False]))
weights = st.one_of(st.integers(1, 3), st.sampled_from([1 << 40, *HUGE]))


class Lowest:
    """The last of the tied rows."""

    def choose(self, tied: IntArray, _: IntArray) -> int:
        return int(tied[-1])


class Changing:
    """A table of two rules, beside what it has to say."""

    def __init__(self, first: list[Row], plain: int, weight: int) -> None:
        self.rows = list(first)
        self.weights = {"near": plain, "far": weight}
        self.ranks = np.array([3, 1, 0, 6, 5, 2, 4])
        self.held: list[tuple[LazyScores, Any]] = []
        self.begin()

    @property
    def fits(self) -> Mask:
        return np.array([fits for *_, fits in self.rows])

    def totalled(self) -> Scored:
        """Added up anew."""
        feasible = self.fits.nonzero()[0]
        near = np.array([self.rows[row][0] for row in feasible], np.int64)
        far = np.array([self.rows[row][1] for row in feasible], np.int64)
        both = zip(near.tolist(), far.tolist(), strict=True)
        totals = [wrap(self.weights["near"] * one + self.weights["far"] * other) for one, other in both]
        return Scored(np.array(totals, np.int64), {"near": near, "far": far}, {"near": near, "far": far})

    def begin(self) -> None:
        """Makes the table."""
        whole = {name: np.array([row[at] for row in self.rows], np.int64) for at, name in enumerate(("near", "far"))}
        fitted = self.fits.nonzero()[0]
        self.table = TotalTable(self.totalled(), whole, ("near", "far"), self.weights, fitted, self.ranks)
        self.stands = self.table.put(np.zeros(0, np.int64), {}, self.fits)

    def change(self, changes: dict[int, Row]) -> bool:
        """Whether the table went along."""
        for row, now in changes.items():
            self.rows[row] = now
        given = list(changes.values())
        numbers = {name: np.array([row[at] for row in given], np.int64) for at, name in enumerate(("near", "far"))}
        self.stands = self.table.put(np.array(list(changes), np.int64), numbers, self.fits)
        return self.stands

    def compare(self) -> None:
        """All that the table says, unless it gave up; what it has given away is compared once more at the end."""
        if not self.stands:
            return
        expected, feasible = self.totalled(), self.fits.nonzero()[0]
        assert self.table.totals(feasible).tolist() == expected.totals.tolist()
        best = feasible[expected.totals == expected.totals.max()]
        assert self.table.choose(FirstByName()) == best[self.ranks[best].argmin()]
        assert self.table.choose(Lowest()) == best[-1]
        given = self.table.held(feasible)
        self.held.append((given, listed(expected)))
        if len(self.held) % 2:
            assert listed(given) == listed(expected)


def listed(given: Any) -> Any:
    """Totals and scores as lists."""
    scores, raws = ({name: found.tolist() for name, found in by.items()} for by in (given.scores, given.raws))
    return given.totals.tolist(), scores, raws


FALLS = [(0, 3, True), (1, 1, True), (1, 1, True), (2, 1, True), (0, 1, True), (1, 0, True), (0, 0, True)]
LOW = {0: (-(1 << 62), 0, True)}
"""With a weight of 2 the lowest total that there is."""
OUT = (0, 0, False)
LAST_IS_LOWEST = [(0, 0, True), (0, 0, True), OUT, (0, 0, True), OUT, (1 << 62, 0, True), (0, 0, True)]
"""With a weight of 2 row 5 has the lowest total that there is; it is the last to fit."""
STEPS = [{0: (0, 2, True)}, {0: (0, 2, False)}, {1: (2, 0, True)}, {0: (0, 3, True)}, {3: (0, 1, False)}]


@example(first=FALLS, steps=STEPS, plain=1, weight=2)
@example(first=FALLS, steps=STEPS, plain=1, weight=1 << 60)
@example(first=FALLS, steps=[*STEPS] * 8, plain=1, weight=1)
@example(first=FALLS, steps=[LOW, {0: (0, 1, True)}], plain=2, weight=1)
@example(first=LAST_IS_LOWEST, steps=[{0: OUT}, {1: OUT}, {3: OUT, 6: OUT}], plain=2, weight=1)
@given(
    first=st.one_of(*[st.lists(kind, min_size=ROWS, max_size=ROWS) for kind in (rows, plain_rows)]),
    steps=st.lists(st.dictionaries(st.integers(0, ROWS - 1), rows, min_size=1, max_size=2), max_size=8),
    plain=weights,
    weight=weights,
)
def test_a_table_says_what_adding_up_says(
    first: list[Row], steps: list[dict[int, Row]], plain: int, weight: int
) -> None:
    """The totals, the best of them, the scores, and what was said before; or it gives up, and is made anew. Totals come
    near the end of 64 bits, and beyond."""
    if not any(fits for *_, fits in first):
        return
    changing = Changing(first, plain, weight)
    changing.compare()
    for step in steps:
        stands = changing.change(step)
        if not changing.fits.any():
            return
        if not stands:
            changing.begin()
        changing.compare()
    for given_before, expected in changing.held:
        assert listed(given_before) == expected
