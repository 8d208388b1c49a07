"""The fewest moves: what is proven is what playing every plan finds, and plans hold step by step."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache
from itertools import combinations, product
from typing import Any

import pytest

import kubescheduler as ks
from clusterstate.errors import InputError
from kubescheduler.api.engine_choice import engine_spec
from kubescheduler.engine.spec import Engine
from kubescheduler.planning.departures import Fate, fate_of
from kubescheduler.planning.rehearsal import Rehearsal
from tests.support.evictions import budget, owned


def web(name: str, node: str, cpu: Any = 1, **fields: Any) -> dict[str, Any]:
    """A running pod of a ReplicaSet."""
    return owned("ReplicaSet", "web", name, node=node, cpu=cpu, labels={"app": "web"}, **fields)


def small_world(seed: int) -> ks.Cluster:
    """Three nodes, up to four running pods that may keep apart or be few by a budget, and one that waits."""
    rng = random.Random(seed)
    cluster, room = ks.Cluster(release=rng.choice(["1.36", "1.20"])), dict[str, int]()
    for name in "abc":
        room[name] = rng.choice([2, 3, 4])
        cluster = cluster.node(name, cpu=room[name], labels={"kubernetes.io/hostname": name})
    term = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}
    apart = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    for at in range(rng.randint(2, 4)):
        cpu = rng.choice([1, 1, 2])
        where = [name for name in room if room[name] >= cpu]
        if where:
            node = rng.choice(where)
            room[node] -= cpu
            cluster = cluster.add(web(f"web-{at}", node, cpu, spec=apart if rng.random() < 0.2 else None))
    if rng.random() < 0.3:
        cluster = cluster.add(budget("web", "web", **rng.choice([{"minAvailable": 2}, {"maxUnavailable": 1}])))
    return cluster.pod("big", cpu=rng.randint(2, 4))


@cache
def engine_of(release: str) -> Engine:
    """One for all plans."""
    return engine_spec(release).engine(lambda _: None)


def holds(cluster: ks.Cluster, away: tuple[str, ...], plan: tuple[str, ...]) -> Rehearsal | None:
    """What is there after the moves of these pods; None where one does not hold."""
    stage = Rehearsal(engine_of(cluster.release), cluster.objects)
    stage.cordon(away)
    stage.settle()
    for key in plan:
        pod = stage.pod(key)
        assert pod is not None
        if stage.budgets.evict(pod) is not None:
            return None
        kept = pod.node_name in away
        if not kept:
            stage.cordon([pod.node_name])
            stage.settle()
        gone = sum(len(moved.left) for moved in stage.moved)
        stage.evict([pod])
        stage.settle()
        if not kept:
            stage.cordon([pod.node_name], on=False)
            stage.settle()
        if sum(len(moved.left) for moved in stage.moved) != gone + 1 or stage.nowhere():
            return None
    return stage


def running(stage: Rehearsal, node: str) -> list[str]:
    """The pods of a node that come back elsewhere."""
    return [pod.key for pod in stage.pods_on(node) if fate_of(pod) is Fate.REMADE]


def fewest(cluster: ks.Cluster, empty: int, most: int) -> int | None:
    """By playing every plan of up to so many moves, the short ones first. empty: 0 to let default/big in."""
    layers: list[tuple[tuple[str, ...], tuple[str, ...]]] = [(away, ()) for away in combinations("abc", empty)]
    for length in range(most + 1):
        longer: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
        for away, plan in layers:
            stage = holds(cluster, away, plan)
            if stage is None:
                continue
            big = next(pod for pod in stage.waiting if pod.key == "default/big")
            record = stage.record(big)
            if not any(running(stage, node) for node in away) and (empty or (record is not None and record.node)):
                return length
            longer += [(away, (*plan, key)) for node in "abc" for key in running(stage, node)]
        layers = longer
    return None


def test_no_plan_has_fewer_moves() -> None:
    """What is said to be proven fewest is what playing all plans finds, and where none is found no short one does."""
    kinds = Counter[str]()
    for seed, empty in product(range(9), (0, 1, 2)):
        cluster = small_world(seed)
        found = ks.rebalance(cluster, empty=empty) if empty else ks.rebalance(cluster, let_in="big")
        most = 3 if found.moves is None else len(found.moves)
        best = fewest(cluster, empty, most)
        if found.moves is None:
            assert best is None, (seed, empty)
            kinds[f"none of {empty}"] += 1
            continue
        assert found.proven, (seed, empty)
        assert (found.at_least, best) == (len(found.moves), len(found.moves)), (seed, empty)
        played = holds(cluster, found.empty, tuple(move.pod for move in found.moves))
        went = {move.pod for move in found.moves}
        assert all(played.pod(move.now) is not None for move in found.moves if move.now not in went)
        kinds[f"{empty}: {min(len(found.moves), 2)}"] += 1
    assert len(kinds) >= 6, kinds


FULL = ks.Cluster(release="1.36").node("a", cpu=4).node("b", cpu=4)
CASES: dict[str, tuple[ks.Cluster, dict[str, Any], list[tuple[str, str, str]] | None, bool]] = {
    "one node": (FULL.add(web("x", "a")), {"empty": 1}, [], True),
    "the emptier": (FULL.add(web("x", "a"), web("y", "b"), web("z", "b")), {"empty": 1}, [("x", "a", "b")], True),
    "let in": (
        FULL.add(web("x", "a", 2), web("y", "b"), web("z", "b")).pod("big", cpu=4),
        *({"let_in": "big"}, [("x", "a", "b")], True),
    ),
    "two moves": (
        FULL.node("c", cpu=1).add(web("x", "a"), web("y", "a"), web("z", "b", 3)).pod("big", cpu=4),
        *({"let_in": "default/big"}, [("x", "a", "b"), ("y", "a", "c")], True),
    ),
    "fits": (FULL.pod("big", cpu=4), {"let_in": "big"}, [], True),
    "too large": (FULL.add(web("x", "a")).pod("big", cpu=5), {"let_in": "big"}, None, True),
    "bare": (FULL.pod("x", node="a").pod("y", node="b"), {"empty": 1}, None, True),
    "critical": (FULL.add(web("x", "a", priority=2 * 10**9), web("y", "b", 2)), {"empty": 1}, [("y", "b", "a")], True),
    "local storage": (
        FULL.add(web("x", "a", spec={"volumes": [{"name": "d", "emptyDir": {}}]}), web("y", "b", 2)),
        *({"empty": 1}, [("y", "b", "a")], True),
    ),
    "budget": (FULL.add(web("x", "a"), web("y", "b"), budget("w", "web", minAvailable=2)), {"empty": 1}, None, True),
    "daemon set": (FULL.add(owned("DaemonSet", "d", "x", node="a"), web("y", "b")), *({"empty": 1}, [], True)),
}


@pytest.mark.parametrize(("cluster", "asked", "moves", "proven"), CASES.values(), ids=CASES)
def test_what_moves(
    cluster: ks.Cluster, asked: dict[str, Any], moves: list[tuple[str, str, str]] | None, proven: bool
) -> None:
    """Which pods move and where, and which stay where they are."""
    found = ks.rebalance(cluster, **asked)
    said = None if found.moves is None else [(each.pod, each.from_node, each.to_node) for each in found.moves]
    wanted = None if moves is None else [(f"default/{pod}", *nodes) for pod, *nodes in moves]
    assert (said, found.proven) == (wanted, proven)


def test_pods_that_wait_are_told_of() -> None:
    """A node that is to be empty is kept from them, which is said; nothing is where a pod is let in."""
    cluster = FULL.add(web("x", "a", 4)).pod("big", cpu=4)
    found = ks.rebalance(cluster, empty=1)
    assert (found.moves, found.empty) == ((), ("b",))
    assert found.notes[-1] == "nodes that are to be empty are closed to pods that wait (1)"
    assert not ks.rebalance(cluster, let_in="big").notes


HELPLESS: dict[str, tuple[dict[str, Any], str]] = {
    "too big": (
        {"cpu": 9},
        "fits nowhere even without all pods that may be moved: 0/2 nodes are available: 2 Insufficient",
    ),
    "held back": (
        {"spec": {"schedulingGates": [{"name": "quota"}]}},
        "is not tried: waiting for scheduling gates: [quota]",
    ),
}


@pytest.mark.parametrize(("fields", "why"), HELPLESS.values(), ids=HELPLESS)
def test_what_no_moves_let_in(fields: dict[str, Any], why: str) -> None:
    """A note says why, beside how many plans were played."""
    found = ks.rebalance(FULL.add(web("x", "a")).pod("big", **fields), let_in="big")
    assert found.moves is None
    assert found.notes[-1].startswith(f"default/big {why}")


def test_few_tries() -> None:
    """A plan that looked good is told as found, with what it takes at least; without one that is said."""
    cluster = FULL.node("c", cpu=4).add(*(web(f"x-{node}", node, 2) for node in "abc"))
    found = ks.rebalance(cluster.pod("big", cpu=5), let_in="big", tries=3)
    assert (found.moves, found.proven, found.at_least) == (None, False, 1)
    assert "3 plans were played, it takes at least 1 move" in found.sentences()[0]


def test_faults() -> None:
    """A pod that does not wait, and what contradicts itself."""
    cluster = FULL.pod("big", cpu=4).pod("x", node="a")
    with pytest.raises(InputError, match="it does not wait for a node; did you mean default/big"):
        ks.rebalance(cluster, let_in="bigg")
    with pytest.raises(InputError, match="no decision on default/other: profile not found"):
        ks.rebalance(cluster.pod("other", spec={"schedulerName": "volcano"}), let_in="other")
    with pytest.raises(InputError, match="the cluster has 2 nodes: 3 cannot be empty"):
        ks.rebalance(cluster, empty=3)
    for wrong in ({}, {"empty": 1, "let_in": "big"}, {"empty": 0}, {"empty": "x"}, {"let_in": "big", "tries": 0}):
        with pytest.raises(InputError):
            ks.rebalance(cluster, **wrong)
