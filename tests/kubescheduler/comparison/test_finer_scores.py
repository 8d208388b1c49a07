"""Legacy formulas on the finer scale."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clusterstate.cache import ClusterCache
from clusterstate.objects import (
    Container,
    ContainerImage,
    FrozenMap,
    LabelSelector,
    ObjectMeta,
    Service,
    TopologySpreadConstraint,
)
from kubescheduler.comparison.differences import Judgement, terms
from kubescheduler.engine.spec import EngineSpec
from tests.support.build import labels
from tests.support.comparisons import GIB, Policies, node, pod

ROUNDED = 20
"""Less than this is lost by rounding twice to tenths, for two resources and for their mean."""


@pytest.mark.parametrize("provider", ["DefaultProvider", "ClusterAutoscalerProvider"])
@pytest.mark.parametrize("release", ["1.4", "1.16"])
def test_fine_scores_are_the_coarse_ones_less_rounding(release: str, provider: str) -> None:
    """No priority is further from ten times its score than rounding explains, on any node."""
    rng = random.Random(5)
    nodes = [node(f"n{at}", rng.choice((2000, 3700, 8000)), rng.choice((3, 8, 13)) * GIB) for at in range(8)]
    there = [
        pod(f"r{at}", rng.randrange(0, 400, 30), GIB // 9, on=f"n{rng.randrange(8)}", label={"app": "x"})
        for at in range(20)
    ]
    cluster = [*nodes, *there, Service(ObjectMeta("x", "default"), FrozenMap({"app": "x"}))]
    spec = EngineSpec(release=release, provider=provider)
    scheduler = spec.engine(print).scheduler(ClusterCache.of(cluster, spec.release_view()))
    judgement = Judgement(scheduler, scheduler.decide(pod("p", label={"app": "x"})))
    fits = judgement.decision.fits()
    assert len(fits) == len(nodes)
    for host in fits[1:]:
        for term in terms(judgement, (fits[0], host)).values():
            assert all(abs(f - 10 * c) < ROUNDED for f, c in zip(term.fine, term.scores, strict=True)), term


ZONE = "failure-domain.beta.kubernetes.io/zone"
WEB = FrozenMap({"app": "web"})
SOFT = TopologySpreadConstraint(1, "kubernetes.io/hostname", "ScheduleAnyway", LabelSelector(labels(WEB)))
IMAGE = "registry.example/web:1"


def _spread_world(zoned: bool) -> list[Any]:
    """Nodes n0 to n3 with 0, 1, 2 and 4 pods of a service, and more and more of an image."""
    zones: list[dict[str, Any]] = [{ZONE: "a"}, {ZONE: "b"}] * 2 if zoned else [{}] * 4
    images = [ContainerImage((IMAGE,), 300 * at << 20) for at in range(4)]
    nodes = [msgspec.structs.replace(node(f"n{at}", **zones[at]), images=(images[at],)) for at in range(4)]
    pods = [pod(f"r{at}-{n}", on=f"n{at}", label=WEB) for at, count in enumerate((0, 1, 2, 4)) for n in range(count)]
    return [*nodes, *pods, Service(ObjectMeta("web", "default"), WEB)]


@pytest.mark.parametrize("zoned", [False, True], ids=["hosts", "zones"])
@pytest.mark.parametrize(
    ("release", "priority", "fine"),
    [
        ("1.4", "SelectorSpreadPriority", (100, 75, 50, 0)),
        ("1.4", "ServiceSpreadingPriority", (100, 75, 50, 0)),
        ("1.4", "ImageLocalityPriority", (0, 29, 60, 90)),
        ("1.16", "SelectorSpreadPriority", (100, 75, 50, 0)),
        ("1.16", "ServiceSpreadingPriority", (100, 75, 50, 0)),
        ("1.16", "EvenPodsSpreadPriority", (100, 85, 71, 42)),
    ],
)
def test_finer_forms_by_hand(tmp_path: Path, release: str, priority: str, fine: tuple[int, ...], zoned: bool) -> None:
    """In hundredths what the release says in tenths; of a node in a zone two thirds are the zone's."""
    weights: dict[str, Any] = {priority: 1}
    spec = msgspec.structs.replace(Policies(tmp_path).policy(release, **weights), feature_gates=GATES.get(release, ""))
    scheduler = spec.engine(print).scheduler(ClusterCache.of(_spread_world(zoned), spec.release_view()))
    wanting = pod("p", label=WEB, containers=(Container("c", image=IMAGE),), topology_spread_constraints=(SOFT,))
    judgement = Judgement(scheduler, scheduler.decide(wanting))
    found = [terms(judgement, ("n0", f"n{at}"))[priority] for at in range(4)]
    assert all(abs(f - 10 * c) < ROUNDED for term in found for f, c in zip(term.fine, term.scores, strict=True))
    if not zoned or priority in ("ImageLocalityPriority", "EvenPodsSpreadPriority"):
        assert tuple(term.fine[1] for term in found) == fine
    else:
        assert any(f % 10 for term in found for f in term.fine)


GATES = {"1.16": "EvenPodsSpread=true", "1.20": "DefaultPodTopologySpread=false"}


@pytest.mark.parametrize("old", ["1.4", "1.16"])
@pytest.mark.parametrize("zoned", [False, True], ids=["hosts", "zones"])
def test_spreading_that_is_only_finer_is_no_changed_formula(tmp_path: Path, old: str, zoned: bool) -> None:
    """What 1.20 says of services in hundredths is the old formula; nothing of it is left for another cause."""
    sides = []
    for release, name in ((old, "SelectorSpreadPriority"), ("1.20", "SelectorSpread")):
        spec = msgspec.structs.replace(
            Policies(tmp_path).policy(release, SelectorSpreadPriority=1), feature_gates=GATES.get(release, "")
        )
        scheduler = spec.engine(print).scheduler(ClusterCache.of(_spread_world(zoned), spec.release_view()))
        judgement = Judgement(scheduler, scheduler.decide(pod("p", label=WEB)))
        sides.append([terms(judgement, ("n0", f"n{at}"))[name] for at in range(4)])
    assert [term.fine for term in sides[0]] == [term.scores for term in sides[1]]
    assert any(term.rounding(finest=True) for term in sides[0])


def test_a_score_that_is_no_number_is_not_rounded(tmp_path: Path) -> None:
    """1.4 divides 0 by 0 in zones where nothing counts; that is no matter of finer scores."""
    zoned: dict[str, Any] = {ZONE: "a"}
    nodes = [node("n0", **zoned), node("n1")]
    cluster = [*nodes, pod("r", on="n1", label=WEB), Service(ObjectMeta("web", "default"), WEB)]
    spec = Policies(tmp_path).policy("1.4", SelectorSpreadPriority=1)
    scheduler = spec.engine(print).scheduler(ClusterCache.of(cluster, spec.release_view()))
    term = terms(Judgement(scheduler, scheduler.decide(pod("p", label=WEB))), ("n0", "n1"))["SelectorSpreadPriority"]
    assert term.scores == (-(2**63), 0)
    assert term.rounding(finest=True) == 0
