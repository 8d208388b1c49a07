"""What is remembered of pods: shared by those that no rule can tell apart, and by no others."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithmprovider import register_fit_predicate, register_priority_function
from algorithmprovider.custom_code import CustomCodeError
from algorithmprovider.registry import registered_until_the_end
from clusterstate.manifests.decode import Decoder
from clusterstate.podinfo import PodInfo
from kubescheduler.core.pod_classes import FEWEST_STATES, ClassState, Memory, Sharing
from kubescheduler.core.totals import ClassTotals
from kubescheduler.engine.spec import Engine, EngineSpec, cache_for
from predicates.types import FitPredicate
from tests.support.laws import costly
from tests.support.releases_tried import RELEASES_TRIED

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
    ("memory", "expected"),
    [pytest.param(1 << 28, 20, id="there-is-room"), pytest.param(1, 23, id="there-is-none")],
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
