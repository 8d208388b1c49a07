"""Classes of pods that are added together."""

from __future__ import annotations

import pytest

from clusterstate.hypothetical import BeyondRowsError, ClassesOfRun
from clusterstate.objects import Affinity, PodAffinity
from clusterstate.pod_counts import Tally
from clusterstate.podinfo import PodInfo
from tests.support.build import cache_of, make_pod

CACHE = cache_of()


def info(name: str, **spec: object) -> PodInfo:
    return CACHE.info(make_pod("p", {"name": name}, **spec))  # type: ignore[arg-type]


def counting(*names: str) -> Tally:
    """A tally of the pods of some names."""
    return Tally(None, lambda one: int(one.labels["name"] in names))


def test_a_class_that_counts_alike_is_admitted() -> None:
    """As long as nothing was counted, any class is; then those that add the same to everything that was."""
    classes = ClassesOfRun([info("a"), info("b")])
    assert classes.admits(info("c"))
    assert classes.weight(counting("a", "b", "c")) == 1
    assert not classes.admits(info("d"))
    assert classes.admits(info("a"))
    assert classes.weight(counting("d")) == 0


def test_what_is_counted_for_the_first_time_counts_for_all() -> None:
    """A class that was admitted before, and adds something else, is found out."""
    classes = ClassesOfRun([info("a")])
    assert classes.admits(info("b"))
    with pytest.raises(BeyondRowsError, match="do not count alike"):
        classes.weight(counting("a"))


def test_pods_with_affinity_are_not_admitted() -> None:
    """They may matter to where others go."""
    classes = ClassesOfRun([info("a")])
    assert not classes.may_have_affinity
    assert not classes.admits(info("a", affinity=Affinity(pod_affinity=PodAffinity())))
