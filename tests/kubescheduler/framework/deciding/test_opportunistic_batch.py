"""Opportunistic batching: pods like the one before take the next node of its ranking."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.objects import Pod, TopologySpreadConstraint
from kubescheduler.core.status import Status
from kubescheduler.framework.contract.plugin import SignedPod
from kubescheduler.framework.deciding.opportunistic_batch import OpportunisticBatch, sign_of, signs_of
from kubescheduler.framework.deciding.score_plugins import HeapTie
from tests.support.deciders import answers, frame, plugin, scoring
from tests.support.runs_of_pods import BatchingScheduler, document, filling, sized

NODES = [sized(name, cpus) for name, cpus in (("a", 3), ("b", 4), ("c", 5))]
"""Empty ones score the higher the larger they are: c, b, a."""
LARGE = sized("large", 64)
"""Scores best of all."""


def test_the_next_node_of_the_ranking_is_taken_without_scores() -> None:
    """A node that came since would score best, and is not looked at."""
    world = BatchingScheduler.of(NODES)
    assert world.place(filling("p1")) == "c"
    world.cache.add(LARGE)
    decision = world.decide(filling("p2"))
    assert (decision.host, decision.fits(), decision.total()) == ("b", ["b"], {})
    assert decision.from_kept_ranking
    assert decision.notes == (
        "default/p2: b is the next node of the ranking kept from the pod before, which looks the same; not scored",
    )
    assert decision.thorough() is decision
    assert world.counted() == ["no_hint", "hint_used"]


def test_the_ranking_serves_until_it_is_empty() -> None:
    """Then the nodes are scored again, of which just one is left."""
    world = BatchingScheduler.of(NODES)
    assert [world.place(filling(f"p{number}")) for number in range(3)] == ["c", "b", "a"]
    world.cache.add(LARGE)
    assert world.place(filling("p4")) == "large"
    assert world.counted() == ["no_hint", "hint_used", "hint_used", "no_hint", "empty_list"]


def small(world: BatchingScheduler) -> Any:
    return world.decide(filling("p2", cpus=2))


def after_a_skipped_one(world: BatchingScheduler) -> Any:
    return world.decide(filling("p2"), skip=1)


def late(world: BatchingScheduler) -> Any:
    return world.decide(filling("p2"), now=0.6)


def just_in_time(world: BatchingScheduler) -> Any:
    return world.decide(filling("p2"), now=0.5)


def without_the_last_node(world: BatchingScheduler) -> Any:
    world.cache.forget_pod(filling("p1").on("c"))
    world.cache.remove_node("c")
    return world.decide(filling("p2"))


def with_room_on_the_last_node(world: BatchingScheduler) -> Any:
    world.cache.forget_pod(filling("p1").on("c"))
    return world.decide(filling("p2"))


def after_a_failure(world: BatchingScheduler) -> Any:
    assert world.place(filling("big", cpus=99)) is None
    return world.decide(filling("p2"))


def unsigned(world: BatchingScheduler) -> Any:
    spread = TopologySpreadConstraint(1, "zone", "ScheduleAnyway")
    return world.decide(filling("p2", topology_spread_constraints=(spread,)))


def nominated(world: BatchingScheduler) -> Any:
    return world.decide(filling("p2", nominated="large"))


def on_a_full_hint(world: BatchingScheduler) -> Any:
    world.cache.assume_pod(filling("other"), "b")
    return world.decide(filling("p2"))


@pytest.mark.parametrize(
    ("then", "host", "counted"),
    [
        (small, "large", ["pod_incompatible", "no_hint"]),
        (after_a_skipped_one, "large", ["pod_skipped", "no_hint"]),
        (late, "large", ["expired", "no_hint"]),
        (just_in_time, "b", ["hint_used"]),
        (without_the_last_node, "large", ["node_missing", "no_hint"]),
        (with_room_on_the_last_node, "large", ["node_not_full", "no_hint"]),
        (after_a_failure, "large", ["pod_incompatible", "no_hint", "pod_skipped", "no_hint"]),
        (unsigned, "large", ["pod_incompatible", "no_hint", "pod_not_batchable"]),
        (nominated, "large", ["hint_not_used", "empty_list"]),
        (on_a_full_hint, "large", ["hint_not_used"]),
    ],
    ids=lambda case: getattr(case, "__name__", ""),
)
def test_when_a_ranking_serves(then: Any, host: str, counted: list[str]) -> None:
    """For the very next pod, alike, within half a second, while the last node has no room for it."""
    world = BatchingScheduler.of(NODES)
    world.place(filling("p1"))
    world.cache.add(LARGE)
    world.counted()
    decision = then(world)
    assert decision.host == host
    assert decision.from_kept_ranking == (host == "b")
    assert world.counted() == counted


def test_a_question_on_its_own_neither_keeps_nor_uses_a_ranking() -> None:
    """So the answer to it depends on nothing that was asked before."""
    world = BatchingScheduler.of(NODES)
    for name in ("p1", "p2"):
        decision = world.scheduler.decide(filling(name))
        assert decision.host is not None
        world.cache.assume_pod(filling(name), decision.host)
        world.cache.add(LARGE)
    assert decision.host == "large"
    assert world.counted() == []


def test_pods_that_are_placed_in_sequence_share_a_ranking() -> None:
    """Time stands still among them."""
    world = BatchingScheduler.of(NODES)
    hosts = []
    for name in ("p1", "p2"):
        decision = world.scheduler.decide(filling(name), in_sequence=True)
        assert decision.host is not None
        world.cache.assume_pod(filling(name), decision.host)
        world.cache.add(LARGE)
        hosts.append(decision.host)
    assert hosts == ["c", "b"]


def test_the_release_takes_equal_nodes_in_the_order_of_its_heap() -> None:
    """Not in that of names, and as if the nodes were scored once."""
    nodes = [sized(f"n{number}", 4) for number in range(4)]
    world = BatchingScheduler.of(nodes, tie_break=HeapTie(random.Random(0)))
    assert [world.place(filling(f"p{number}")) for number in range(4)] == ["n0", "n3", "n2", "n1"]


@pytest.mark.parametrize(
    "changed",
    [{"configured": {**document(), "profiles": [{}]}}, {"gates": "OpportunisticBatching=false"}],
    ids=["default profile", "gate off"],
)
def test_where_every_pod_is_scored(changed: dict[str, Any]) -> None:
    """With default constraints no pod is signed; without the gate nothing is kept."""
    world = BatchingScheduler.of(NODES, **changed)
    world.place(filling("p1"))
    world.cache.add(LARGE)
    decision = world.decide(filling("p2"))
    assert (decision.host, decision.from_kept_ranking) == ("large", False)
    gate_off = "gates" in changed
    assert world.counted() == ([] if gate_off else ["no_hint", "pod_not_batchable", "no_hint", "pod_not_batchable"])


@given(
    sizes=st.lists(st.integers(2, 8), min_size=1, max_size=6),
    pods=st.lists(st.integers(1, 5), min_size=1, max_size=8),
    default=st.booleans(),
)
def test_where_no_pod_is_signed_attempts_in_a_row_decide_as_questions_do(
    sizes: list[int], pods: list[int], default: bool
) -> None:
    """Under the default profile, and under any with the gate off."""
    nodes = [sized(f"n{at}", cpus) for at, cpus in enumerate(sizes)]
    configured = {**document(), "profiles": [{}]} if default else document()
    gates = "" if default else "OpportunisticBatching=false"
    world, plain = (BatchingScheduler.of(nodes, configured, gates=gates) for _ in range(2))
    for at, cpus in enumerate(pods):
        pod = filling(f"p{at}", cpus=cpus)
        asked = plain.scheduler.decide(pod)
        if asked.host is not None:
            plain.cache.assume_pod(pod, asked.host)
        assert world.place(pod) == asked.host


# --- who signs ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "fragments"),
    [({"mine": 1}, {"mine": 1}), (None, {}), (Status(), {}), (Status.unschedulable("cannot be signed"), None)],
    ids=["fragments", "nothing", "success", "refused"],
)
def test_what_a_custom_plugin_signs(answer: Any, fragments: Any) -> None:
    """A mapping, nothing at all, or that it cannot."""
    sign = sign_of(plugin("Mine", **answers(sign_pod=answer, score=1)))
    assert sign is not None
    assert sign(signed(filling("p"))) == fragments


def signed(pod: Pod) -> SignedPod:
    world = BatchingScheduler.of(NODES)
    return SignedPod(pod, world.cache.info(pod), world.cache.snapshot())


@pytest.mark.parametrize(
    ("made", "signs"),
    [
        (plugin("Mine", **answers(score=1)), False),
        (plugin("Mine", **answers(score=1, sign_pod={})), True),
        (plugin("Mine", **answers(reserve=None)), True),
        (scoring("Mine", 1, 2, 3), False),
    ],
    ids=["scores unsigned", "scores and signs", "takes no part in deciding", "columns unsigned"],
)
def test_one_plugin_that_does_not_sign_is_enough(made: Any, signs: bool) -> None:
    """Of those that filter and score."""
    assert (signs_of(frame("1.36", made)) is not None) == signs


def test_a_pod_of_other_amounts_or_labels_has_another_signature() -> None:
    """Those of the same workload have the same one, whatever they are called."""
    world = BatchingScheduler.of(NODES)
    framework = world.scheduler.profiles["default-scheduler"]
    batch = OpportunisticBatch(signs_of(framework), framework.observer, framework.profile_name)

    def of(pod: Pod) -> Any:
        return batch.signature(SignedPod(pod, world.cache.info(pod), world.cache.snapshot()))

    assert of(filling("p1")) == of(filling("p2"))
    assert of(filling("p1")) != of(filling("p2", cpus=2))
    assert of(filling("p1")) != of(filling("p2", label={"app": "x"}))
