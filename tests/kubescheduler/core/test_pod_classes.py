"""Verdicts brought up to date row by row: the same as judging every row anew."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithmprovider import register_fit_predicate, register_priority_function
from algorithmprovider.custom_code import CustomCodeError
from algorithmprovider.registry import registered_until_the_end
from clusterstate.cache import ClusterCache
from clusterstate.changes import Reads
from clusterstate.footprint import Footprint, TopologyScope, every_sign
from clusterstate.growable import IntArray, Mask
from clusterstate.manifests.decode import Decoder
from clusterstate.pod_counts import Tally
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.pod_classes import FEWEST_STATES, CheckState, ClassState, Memory, Refreshes, ScoreState, Sharing
from kubescheduler.core.totals import ClassTotals
from kubescheduler.engine.spec import Engine, EngineSpec, cache_for
from predicates.types import FitPredicate, Verdict
from priorities.types import PriorityConfig
from tests.support.build import Cluster, make_node, make_pod, resources
from tests.support.laws import costly
from tests.support.releases_tried import RELEASES_TRIED

NODES = 24
RELEASES = pytest.mark.parametrize("release", ["1.4", "1.16", "1.20", "1.36"])
FITTING = ("NodeResourcesFit", "GeneralPredicates", "PodFitsResources")
ASKING = make_pod("in", priority=5, requests=resources(cpu=2500, memory=1))

amounts = st.sampled_from([500, 2000, 4000])
rows = st.integers(0, NODES - 1)
steps = st.lists(
    st.lists(
        st.one_of(
            st.tuples(st.just("add"), rows, amounts),
            st.tuples(st.just("remove"), st.integers(0, 40)),
            st.tuples(st.just("node"), rows, st.sampled_from([2000, 4000])),
        ),
        min_size=1,
        max_size=3,
    ),
    max_size=8,
)
"""What happens between one look and the next."""


class Changing:
    """Nodes, and pods that come and go."""

    def __init__(self, release: str) -> None:
        self.engine = EngineSpec.parse(f"release={release}").engine(lambda _: None)
        self.cache: ClusterCache = cache_for(self.engine, [self.node(at, 4000) for at in range(NODES)])
        self._made = 0

    @staticmethod
    def node(at: int, cpu: int) -> Any:
        return make_node(f"n{at}", allocatable=resources(cpu=cpu, memory=8 << 30, pods=3))

    def run(self, what: str, *given_parts: Any) -> None:
        if what == "add":
            at, cpu = given_parts
            self._made += 1
            self.cache.add_pod(make_pod(f"p{self._made}", node=f"n{at}", requests=resources(cpu=cpu)))
        elif what == "node":
            self.cache.add_node(self.node(*given_parts))
        elif there := self.cache.pods():
            self.cache.remove_pod(there[given_parts[0] % len(there)])

    def fitting(self) -> list[FitPredicate]:
        predicates = self.engine.scheduler(self.cache).algorithm.predicates
        return [predicate for predicate in predicates if predicate.name in FITTING]


def said(state: CheckState) -> dict[str, Any]:
    """What a state says of all rows; a mask that is left out says that no row is set."""
    nowhere = np.zeros(NODES, np.bool_)
    masks: dict[str, Mask | None] = {f"reason {reason}": mask for reason, mask in state.verdict.items()}
    masks |= {"failing": state.failing, "beyond": state.unresolvable}
    return {name: (nowhere if mask is None else mask).tolist() for name, mask in masks.items()}


@RELEASES
@given(given_steps=steps)
def test_rows_with_equal_amounts_are_judged_alike(release: str, given_steps: list[Any]) -> None:
    """Few rows at a time, by what was said of others; masks handed out before stay as they were."""
    world = Changing(release)
    (predicate,) = world.fitting()
    info = world.cache.info(ASKING)
    kept = CheckState(predicate, info)
    late: list[tuple[Mask, Mask]] = []
    for step in [[], *given_steps]:
        for change in step:
            world.run(*change)
        snapshot, log = world.cache.snapshot(), world.cache.columns.log
        kept.refresh(info, Refreshes(snapshot, log))
        fresh = CheckState(predicate, info)
        fresh.refresh(info, Refreshes(snapshot, log))
        assert said(kept) == said(fresh)
        assert (kept.failing is None) == (fresh.failing is None)
        handed = [kept.failing, kept.unresolvable, *kept.verdict.values()]
        late += [(mask, mask.copy()) for mask in handed if mask is not None]
    assert all((mask == before).all() for mask, before in late)


class ByZone:
    """A rule of the pods of app a in a node's zone, of how many pods the node has, and of how often it has changed its
    mind; and what is remembered of it, as a check and as a score."""

    def __init__(self, reads: Reads) -> None:
        nodes = [make_node(f"n{at}", {"zone": f"z{at // 2}"}) for at in range(NODES)]
        self.cluster = Cluster(nodes)
        self.info = self.cluster.info(make_pod())
        self.minds = 0
        self.looked_at: list[int] = []
        self.check = FitPredicate("A", self.verdict, Footprint(reads, scope=self.scope))
        self.score = PriorityConfig("A", self.numbers, footprint=Footprint(reads, scope=self.scope))
        self.reads = reads
        self.kept = CheckState(self.check, self.info), ScoreState(self.score, self.info)

    def tally(self, snapshot: Snapshot) -> Tally:
        return snapshot.tally("a", "zone", lambda info: int(info.labels.get("app") == "a"))

    def scope(self, _: PodInfo, snapshot: Snapshot) -> TopologyScope:
        return TopologyScope(snapshot, [self.tally(snapshot)], every_sign)

    def numbers(self, _: PodInfo, snapshot: Snapshot) -> IntArray:
        self.looked_at.append(len(snapshot))
        near: IntArray = (snapshot.counts(self.tally(snapshot)) > 0).astype(np.int64)
        own = snapshot.pod_count if self.reads & Reads.PODS else 0
        return (near + own + self.minds) % 2

    def verdict(self, pod: PodInfo, snapshot: Snapshot) -> Verdict:
        return {"no": self.numbers(pod, snapshot) == 1}

    def changes_its_mind(self) -> None:
        self.minds += 1
        self.cluster.columns.log.whole(Reads.NAMESPACES)

    def comes(self, row: int, app: str = "a") -> None:
        self.cluster.columns.put_pod(row, make_pod(f"p{row}", {"app": app}), f"p{row}")

    def goes(self, row: int) -> None:
        self.cluster.columns.take_pod(row, f"p{row}")

    def look(self) -> list[int]:
        """How many rows the check and the score were run on, which are compared with what they say of all."""
        self.looked_at = []
        snapshot, log = self.cluster.snapshot, self.cluster.columns.log
        for state in self.kept:
            state.refresh(self.info, Refreshes(snapshot, log))
        found = list(self.looked_at)
        check, score = self.kept
        numbers = self.numbers(self.info, snapshot).tolist()
        assert score.raw.tolist() == numbers
        assert said(check)["failing"] == [number == 1 for number in numbers]
        return found

    def known(self) -> ByZone:
        """The same, once it was looked at as a whole twice."""
        for row in (20, 22):
            self.comes(row)
            assert self.look() == [NODES] * 2
        return self


def test_rows_of_a_domain_are_looked_at_until_something_else_changes() -> None:
    """Where a pod came or went; then all are."""
    world = ByZone(Reads.ALL_PODS | Reads.NAMESPACES).known()
    for step, row in ((world.comes, 0), (world.goes, 0), (world.comes, 2), (world.goes, 2)):
        step(row)
        assert world.look() == [2, 2]
    world.changes_its_mind()
    assert world.look() == [NODES] * 2
    for step in (world.comes, world.goes):
        step(0)
        assert world.look() == [2, 2]


def test_a_rule_that_reads_the_pods_of_a_row_and_of_its_domain() -> None:
    """A pod that does not count for the domain changes its own row; where many have come, every row is looked at."""
    world = ByZone(Reads.PODS | Reads.ALL_PODS).known()
    for row, app, rows in ((5, "b", 1), (8, "a", 2), (9, "a", 1)):
        world.comes(row, app)
        assert world.look() == [rows] * 2
    for row in range(10, 16):
        world.comes(row, "b")
    assert world.look() == [NODES] * 2


def test_everything_is_looked_at_again_after_an_error() -> None:
    """Also where domains are as they were."""
    world = ByZone(Reads.ALL_PODS).known()
    for state in world.kept:
        state.forget()
    world.comes(0, "b")
    assert world.look() == [NODES] * 2


KEYS = ("app", "job-name", "tier")
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
RULES: tuple[dict[str, Any], ...] = (
    {},
    {"affinity": ("podAntiAffinity", "app")},
    {"affinity": ("podAffinity", "tier")},
    {"spread": ("DoNotSchedule", "app")},
    {"spread": ("ScheduleAnyway", "tier")},
)

WORN: tuple[dict[str, str], ...] = (
    {},
    {"app": "a"},
    {"app": "b", "job-name": "a"},
    {"tier": "a"},
    {"app": "a", "tier": "b"},
)
OWNERS = (None, ("ReplicaSet", "u"), ("ReplicaSet", "v"), ("Job", "j"))
APART, NEAR, HARD, SOFT = RULES[1:]
ELSEWHERE = {**NEAR, "namespace": "other"}
"""In another namespace."""
HARD_BY_EXPRESSION = {**HARD, "selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}


def node(at: int) -> dict[str, Any]:
    room = {"cpu": "2", "memory": "8Gi", "pods": "20"}
    avoided = '{"preferAvoidPods":[{"podSignature":{"podController":{"kind":"ReplicaSet","uid":"u"}}}]}'
    metadata = {
        "name": f"n{at}",
        "labels": {HOST: f"n{at}", ZONE: f"z{at % 2}", "failure-domain.beta.kubernetes.io/zone": f"z{at % 2}"},
        "annotations": {"scheduler.alpha.kubernetes.io/preferAvoidPods": avoided} if at == 1 else {},
    }
    status = {"allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}
    return {"kind": "Node", "metadata": metadata, "status": status}


def pod(name: str, worn: dict[str, str], owner: tuple[str, str] | None, rule: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "100m"}}}]}
    if "affinity" in rule:
        kind, key = rule["affinity"]
        term = {"labelSelector": {"matchLabels": {key: "a"}}, "topologyKey": HOST}
        weighted = {"weight": 5, "podAffinityTerm": {"labelSelector": {"matchLabels": {key: "b"}}, "topologyKey": ZONE}}
        required, preferred = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringScheduling"
        spec["affinity"] = {kind: {required: [term], f"{preferred}IgnoredDuringExecution": [weighted]}}
    if "spread" in rule:
        action, key = rule["spread"]
        selector = rule.get("selector", {"matchLabels": {key: "a"}})
        spread = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": action, "labelSelector": selector}
        spec["topologySpreadConstraints"] = [spread]
    namespace = rule.get("namespace", "default")
    metadata: dict[str, Any] = {"name": name, "namespace": namespace, "uid": name, "labels": worn}
    if owner is not None:
        kind, uid = owner
        reference = {"apiVersion": "apps/v1", "kind": kind, "name": uid, "uid": uid, "controller": True}
        metadata["ownerReferences"] = [reference]
    return {"kind": "Pod", "metadata": metadata, "spec": spec}


def owning(kind: str, name: str, key: str) -> dict[str, Any]:
    """What selects pods by a label; ``Without`` is a ReplicaSet of those that lack it."""
    selector: Any = {key: "a"} if kind == "Service" else {"matchLabels": {key: "a"}}
    if kind == "Without":
        kind, selector = "ReplicaSet", {"matchExpressions": [{"key": key, "operator": "DoesNotExist"}]}
    version = "v1" if kind == "Service" else "apps/v1"
    metadata = {"name": name, "namespace": "default", "uid": name}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": {"selector": selector}}


pods = st.tuples(st.just("pod"), st.sampled_from(WORN), st.sampled_from(OWNERS), st.sampled_from(({}, {}, *RULES)))
actions = st.one_of(
    pods,
    pods.map(lambda one: ("ask", *one[1:])),
    st.tuples(
        st.just("add"),
        st.sampled_from(["Service", "ReplicaSet", "Without"]),
        st.sampled_from("uw"),
        st.sampled_from(KEYS),
    ),
    st.tuples(st.just("drop"), st.integers(0, 9)),
)

PLAIN: dict[str, Any] = {}
A, B, T, J = {"app": "a"}, {"app": "b"}, {"tier": "a"}, {"job-name": "a"}
TOLD_APART: dict[str, list[Any]] = {
    "a running pod keeps one of them away": [
        ("pod", B, None, APART),
        *[("pod", B, None, PLAIN)] * 3,
        ("pod", A, None, PLAIN),
    ],
    "a running pod likes one of them": [
        ("pod", B, None, NEAR),
        ("pod", {}, None, PLAIN),
        ("pod", {"tier": "b"}, None, PLAIN),
    ],
    "one of them is what it asks for": [("pod", J, None, NEAR), ("pod", T, None, NEAR), ("pod", J, None, NEAR)],
    "one of them counts itself": [("pod", A, None, PLAIN), ("ask", J, None, HARD), ("ask", A, None, HARD)],
    "a label makes one of them count others": [
        *[("pod", A, None, PLAIN)] * 3,
        ("ask", J, None, SOFT),
        ("ask", T, None, SOFT),
        ("ask", A, None, SOFT),
    ],
    "one of them is in another namespace": [
        *[("pod", T, None, PLAIN)] * 3,
        ("ask", {}, None, ELSEWHERE),
        ("ask", {}, None, NEAR),
    ],
    "an expression selects one of them": [
        ("pod", B, None, PLAIN),
        ("ask", {}, None, HARD_BY_EXPRESSION),
        ("ask", A, None, HARD_BY_EXPRESSION),
    ],
    "a service selects one of them": [
        ("add", "Service", "s", "app"),
        *[("pod", A, None, PLAIN)] * 2,
        ("ask", {}, None, PLAIN),
        ("ask", A, None, PLAIN),
    ],
    "one of them has no labels that a controller could select by": [
        ("add", "Without", "s", "app"),
        *[("pod", J, None, PLAIN)] * 3,
        ("ask", {}, None, PLAIN),
        ("ask", J, None, PLAIN),
    ],
    "a service comes to select one of them": [
        *[("pod", A, None, PLAIN)] * 2,
        ("pod", B, None, PLAIN),
        ("add", "Service", "s", "app"),
        ("pod", A, None, PLAIN),
        ("pod", B, None, PLAIN),
    ],
    "a pod that keeps one of them away comes": [
        ("pod", A, None, PLAIN),
        ("pod", B, None, PLAIN),
        ("pod", B, None, APART),
        ("pod", B, None, PLAIN),
        ("pod", A, None, PLAIN),
    ],
    "a node avoids the controller of one of them": [("pod", A, OWNERS[2], PLAIN), ("pod", A, OWNERS[1], PLAIN)],
}
"""Pods that have the same spec, and what makes a rule tell them apart."""
CUSTOM = FitPredicate("Custom", lambda _, __: {})


def engine_of(release: str) -> Engine:
    notes: list[str] = []
    gates = ",feature-gates=EvenPodsSpread=true" if release == "1.16" else ""
    return EngineSpec.parse(f"release={release}{gates}").engine(notes.append)


def decided(release: str, steps: list[Any]) -> list[tuple[Any, Any]]:
    """Each decision of a scheduler that goes through all the steps, and what one says that has remembered nothing."""
    engine, decoder = engine_of(release), Decoder()
    nodes: list[Any] = [decoder.decode_object(node(at)) for at in range(4)]
    running = engine.scheduler(cache_for(engine, nodes))
    placed: list[Any] = []
    found = []
    for at, (what, *given_) in enumerate(steps):
        if what == "add":
            obj: Any = decoder.decode_object(owning(*given_))
            running.cache.add(obj)
        elif what == "drop":
            if given_[0] < len(placed):
                running.cache.forget_pod(placed.pop(given_[0]))
        else:
            made: Any = decoder.decode_object(pod(f"p{at}", *given_))
            decision = running.decide(made, thorough=True)
            anew = engine.scheduler(running.cache).decide(made, thorough=True)
            found.append((decision.to_dict(), anew.to_dict()))
            if what == "pod" and decision.host is not None:
                placed.append(running.cache.assume_pod(made, decision.host))
    return found


@pytest.mark.parametrize("release", RELEASES_TRIED)
@costly
@given(st.lists(actions, min_size=4, max_size=20))
def test_a_scheduler_decides_as_one_that_remembers_nothing(release: str, steps: list[Any]) -> None:
    """Whatever labels pods have, and whatever begins to select them in between."""
    for remembering, anew in decided(release, steps):
        assert remembering == anew


@pytest.mark.parametrize("release", RELEASES_TRIED)
@pytest.mark.parametrize("steps", TOLD_APART.values(), ids=TOLD_APART)
def test_pods_that_a_rule_tells_apart_share_nothing_of_it(release: str, steps: list[Any]) -> None:
    """The last pod's decision is its own, whatever pods with the same spec found before it."""
    for remembering, anew in decided(release, steps):
        assert remembering == anew


@pytest.mark.parametrize("release", RELEASES_TRIED)
@pytest.mark.parametrize(
    ("rules", "expected"),
    [pytest.param((), 1, id="rules-of-the-release"), pytest.param((CUSTOM,), 5, id="a-custom-rule-besides")],
)
def test_labels_that_nothing_selects_by_make_no_difference(
    release: str, rules: tuple[FitPredicate, ...], expected: int
) -> None:
    """A pod with labels of its own is decided by what was remembered of the pod before it; not by a custom rule."""
    engine, decoder = engine_of(release), Decoder()
    nodes: list[Any] = [decoder.decode_object(node(at)) for at in range(4)]
    cache = cache_for(engine, nodes)
    made: list[ClassState] = []

    def make(info: PodInfo, share: Sharing) -> ClassState:
        made.append(ClassState(info, engine.scheduler(cache).algorithm, share))
        return made[-1]

    memory = Memory((*engine.scheduler(cache).algorithm.predicates, *rules), make)
    for at in range(5):
        one: Any = decoder.decode_object(pod(f"p{at}", {"job-name": f"j{at}"}, ("Job", f"j{at}"), {}))
        memory.state(cache.info(one), cache.snapshot(), cache.columns.log)
    assert len(made) == expected


def test_pods_whose_controllers_exchange_their_selectors_share_no_state() -> None:
    """What a rule read of a pod is forgotten when controllers change."""
    engine, decoder = engine_of("1.36"), Decoder()
    cache = cache_for(engine, [decoder.decode_object(node(0))])
    scheduler = engine.scheduler(cache)
    configs = [priority.config for priority in scheduler.algorithm.priorities]
    memory = Memory(configs, lambda info, share: ClassState(info, scheduler.algorithm, share))
    u, v = (decoder.decode_object(pod(f"of-{uid}", A, ("ReplicaSet", uid), PLAIN)) for uid in "uv")

    def state(asked: Any) -> ClassState:
        found: ClassState = memory.state(cache.info(asked), cache.snapshot(), cache.columns.log)
        return found

    cache.add(decoder.decode_object(owning("ReplicaSet", "u", "app")))
    state(u)
    cache.add(decoder.decode_object(owning("ReplicaSet", "u", "tier")))
    cache.add(decoder.decode_object(owning("ReplicaSet", "v", "app")))
    assert state(u) is not state(v)


@pytest.mark.parametrize(
    ("memory", "expected"), [pytest.param(1 << 28, 20, id="there-is-room"), pytest.param(1, 23, id="there-is-none")]
)
def test_states_least_recently_decided_are_forgotten(
    memory: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the rows that they take; a few are remembered however large they are."""
    monkeypatch.setattr("kubescheduler.core.pod_classes.MEMORY", memory)
    engine, decoder = engine_of("1.16"), Decoder()
    nodes: list[Any] = [decoder.decode_object(node(at)) for at in range(4)]
    cache = cache_for(engine, nodes)
    algorithm = engine.scheduler(cache).algorithm
    made: list[int] = []

    def make(info: PodInfo, share: Sharing) -> ClassState:
        made.append(1)
        return ClassState(info, algorithm, share)

    states = Memory(algorithm.predicates, make)
    for at in [*range(20), 19, 10, 0, 1, 2]:
        one: Any = decoder.decode_object(pod("p", {}, None, {}))
        states.state(cache.info(one).naming(f"n{at}"), cache.snapshot(), cache.columns.log)
    assert len(made) == expected


@pytest.mark.parametrize("kind", ["predicates", "priorities"])
def test_a_rule_that_raised_is_asked_again(kind: str) -> None:
    """Each time, until it answers: nothing that was worked out before the error counts."""
    sound = False

    def rule(pod: Any, meta: Any, node_info: Any) -> Any:
        if not sound:
            raise ZeroDivisionError
        return (True, []) if kind == "predicates" else 1

    with registered_until_the_end():
        (register_fit_predicate if kind == "predicates" else register_priority_function)("Raising", rule)
        policy: Any = {
            "apiVersion": "v1",
            "predicates": [{"name": "PodFitsResources"}],
            "priorities": [{"name": "EqualPriority", "weight": 1}],
        }
        policy[kind].append({"name": "Raising", **({"weight": 1} if kind == "priorities" else {})})
        engine = EngineSpec("1.16", policy=policy).engine(lambda _: None)
        decoder = Decoder()
        scheduler = engine.scheduler(cache_for(engine, [decoder.decode_object(node(at)) for at in range(2)]))
        asked: Any = decoder.decode_object(pod("web", {}, None, {}))
        for _ in range(3):
            with pytest.raises(CustomCodeError):
                scheduler.decide(asked)
        sound = True
        assert scheduler.decide(asked).host == "n0"


def test_what_is_forgotten_of_a_class_takes_no_memory_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with totals that were kept, and before the garbage collector has looked for circles."""
    monkeypatch.setattr("kubescheduler.core.pod_classes.MEMORY", 0)
    engine = EngineSpec.parse("release=1.16").engine(lambda _: None)
    decoder = Decoder()
    cache = cache_for(engine, [decoder.decode_object(node(at)) for at in range(3)])
    running = engine.scheduler(cache)
    gc.collect()
    others = [found for found in gc.get_objects() if isinstance(found, ClassTotals)]  # of schedulers of other tests
    gc.disable()
    try:
        for at in range(FEWEST_STATES + 4):
            document = pod(f"p{at}", {}, None, {})
            document["spec"]["containers"][0]["resources"]["requests"]["cpu"] = f"{at + 1}m"
            one: Any = decoder.decode_object(document)
            for _ in range(3):
                running.decide(one)
        alive = sum(isinstance(found, ClassTotals) for found in gc.get_objects()) - len(others)
    finally:
        gc.enable()
    assert 0 < alive <= FEWEST_STATES
