"""What a refusal was made of itself decides the verdict, for every check of every release."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from algorithmprovider.release_1_4 import FIT_PREDICATES as FIT_PREDICATES_1_4
from algorithmprovider.release_1_16 import FIT_PREDICATES
from clusterstate.cache import ClusterCache
from clusterstate.objects import Pod
from kubescheduler.releases.lookup import release_named
from predicates.labels import label_presence_factory, label_presence_factory_1_4
from predicates.refusal_evidence import (
    AnyOf,
    Conflict,
    InUse,
    LimitReached,
    LimitsReached,
    Need,
    NotSelected,
    Refusal,
    Shortage,
    Uneven,
    Unmet,
)
from predicates.service_affinity import service_affinity_factory, service_affinity_factory_1_4
from predicates.types import FitPredicate, PredicateArgs
from tests.predicates.test_laws import POD_PARTS, clusters
from tests.support.build import make_pod
from tests.support.references.evidence_law import hold_to_evidence
from tests.support.rich_worlds import DrawnCluster, in_tree, incoming, worlds

LEGACY: dict[str, dict[str, FitPredicate]] = {
    "1.4": {
        **{name: factory(PredicateArgs()) for name, factory in FIT_PREDICATES_1_4.items()},
        "Labels": label_presence_factory_1_4("Labels", ("zone",), True)(PredicateArgs()),
        "Services": service_affinity_factory_1_4("Services", ("zone", "disk"))(PredicateArgs()),
    },
    "1.16": {
        **{name: factory(PredicateArgs()) for name, factory in FIT_PREDICATES.items()},
        "Labels": label_presence_factory("Labels", ("zone",), False)(PredicateArgs()),
        "Services": service_affinity_factory("Services", ("zone", "disk"))(PredicateArgs()),
    },
}


def plugins_with_checks(release: str) -> dict[str, FitPredicate]:
    checks = {name: getattr(plugin, "check", None) for name, plugin in in_tree(release).items()}
    return {name: check for name, check in checks.items() if check is not None}


CHECKS = {**LEGACY, **{release: plugins_with_checks(release) for release in ("1.20", "1.36")}}


@pytest.mark.parametrize("release", CHECKS)
def test_every_check_has_evidence(release: str) -> None:
    """Every registered predicate and every in-tree Filter can say what a refusal was made of, and where it is told."""
    assert len(CHECKS[release]) > 10
    for name, check in CHECKS[release].items():
        assert check.evidence is not None, name
        assert check.evidence.page.startswith("docs/reference/")


@pytest.mark.parametrize("release", CHECKS)
@settings(max_examples=40)
@given(world=worlds(), pod=incoming)
def test_law_evidence_decides_the_verdict(release: str, world: DrawnCluster, pod: Pod) -> None:
    """On every node of a random cluster: what refuses has evidence that refuses, and what passes has none."""
    cache = world.cache(release)
    info, snapshot = cache.info(pod), cache.snapshot()
    for check in CHECKS[release].values():
        hold_to_evidence(check, info, snapshot)


@pytest.mark.parametrize("release", CHECKS)
@settings(max_examples=40)
@given(world=clusters(), fields=POD_PARTS)
def test_law_evidence_of_nodes_and_their_pods(release: str, world: Any, fields: Any) -> None:
    """The same in clusters that are richer in taints, conditions, labels and ports."""
    nodes, pods, services = world
    cache = ClusterCache.of([*nodes, *pods, *services], release_named(release).default_view)
    info, snapshot = cache.info(make_pod("in", **fields)), cache.snapshot()
    for check in CHECKS[release].values():
        hold_to_evidence(check, info, snapshot)


# --- the facts -----------------------------------------------------------------------------

MET, MISSED = Need("a", "a", True), Need("disk=ssd", "hdd", False)


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        (Shortage("cpu", 5000, 1000, 4000), "asks 5, 3 of 4 free"),
        (Shortage("memory", 1 << 30, 0, 1 << 29), "asks 1Gi, 512Mi of 512Mi free"),
        (Shortage("pods", 1, 4, 4), "asks 1, 0 of 4 free"),
        (LimitReached("ebs", 39, 40, 39), "ebs: 40 with this pod, at most 39"),
        (LimitsReached((LimitReached("x", 1, 2, None), LimitReached("y", 1, 2, 1))), "y: 2 with this pod, at most 1"),
        (Unmet((MET, MISSED)), "wants disk=ssd, found hdd"),
        (NotSelected((MISSED,), None), "wants disk=ssd, found hdd"),
        (NotSelected((), ((MISSED,), (MET, MISSED))), "wants disk=ssd, found hdd or wants disk=ssd, found hdd"),
        (NotSelected((), ((),)), "no term picks a node"),
        (NotSelected((), None, unreadable=True), "the pod's affinity cannot be read"),
        (Conflict((InUse("host port TCP 80", "held", ("a/b",)),)), "wants host port TCP 80, held by a/b"),
        (Uneven("zone", "a", 3, 1, 1, 1), "zone=a has 3, with this pod 4; the emptiest has 1, and maxSkew is 1"),
        (Uneven("zone", None, 0, 1, 0, 1), "the node has no zone"),
        (AnyOf((Unmet((MET,)), Unmet((MISSED,)))), "wants disk=ssd, found hdd"),
    ],
    ids=str,
)
def test_facts_that_refuse(facts: Refusal, text: str) -> None:
    """They say so in one line, and are plain data."""
    assert facts.refuses
    assert facts.text == text
    assert facts.facts()


@pytest.mark.parametrize(
    "facts",
    [
        Shortage("cpu", 1, 3999, 4000),
        Shortage("gpu", 1, 0, 0, provided_by_class=True),
        LimitReached("ebs", 38, 39, 39),
        LimitReached("ebs", 38, 99, 39, applies=False),
        LimitsReached((LimitReached("x", 3, 3, 1),)),
        Unmet((MISSED,), applies=False),
        NotSelected((MET,), ((MISSED,), (MET,))),
        Conflict((InUse("host port TCP 80", "held", ()),)),
        Uneven("zone", "a", 1, 1, 1, 1),
        Uneven("zone", None, 0, 1, 0, 1, tells_missing=False),
        AnyOf(()),
    ],
    ids=str,
)
def test_facts_that_refuse_nothing(facts: Refusal) -> None:
    """The node may still be refused for something else."""
    assert not facts.refuses
