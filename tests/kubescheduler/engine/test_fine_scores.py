"""Legacy formulas on the finer scale."""

from __future__ import annotations

import random

import pytest

from clusterstate.cache import ClusterCache
from clusterstate.objects import FrozenMap, ObjectMeta, Service
from kubescheduler.comparison.contributions import Judgement, terms
from kubescheduler.engine.spec import EngineSpec
from tests.support.compared import GIB, node, pod

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
