"""Assumed pods that nobody confirms."""

from __future__ import annotations

import pytest

from clusterstate.errors import ClusterStateError
from kubescheduler.cycle.bindings import AssumedPods
from tests.support.build import cache_of, make_node, make_pod


class Setting:
    def __init__(self, *, from_assume: bool = False) -> None:
        self.now = 0.0
        self.cache = cache_of([make_node("n")])
        self.assumed = AssumedPods(self.cache, lambda: self.now, from_assume=from_assume)
        self.pod = make_pod("a")
        self.assumed.assume(self.pod, "n")

    def expired_at(self, now: float) -> bool:
        self.now = now
        return bool(self.assumed.sweep())


def test_a_pod_expires_after_its_binding_finished() -> None:
    """More than thirty seconds after it, and never before it finished."""
    setting = Setting()
    assert not setting.expired_at(1000.0)
    setting.assumed.finish_binding(setting.pod)
    assert not setting.expired_at(1030.0)
    assert setting.expired_at(1030.5)
    assert setting.pod not in setting.cache
    assert len(setting.assumed) == 0


def test_1_4_counts_from_the_assumption() -> None:
    """A binding that takes long does not help."""
    setting = Setting(from_assume=True)
    setting.now = 20.0
    setting.assumed.finish_binding(setting.pod)
    assert not setting.expired_at(30.0)
    assert setting.expired_at(31.0)


def test_confirmed_pods_do_not_expire() -> None:
    """They are there."""
    setting = Setting()
    setting.assumed.finish_binding(setting.pod)
    setting.assumed.confirm(setting.pod.on("n"))
    assert not setting.expired_at(100.0)
    assert setting.pod in setting.cache


def test_forgotten_pods_are_gone() -> None:
    """Also for a later sweep; forgetting twice is an error."""
    setting = Setting()
    setting.assumed.finish_binding(setting.pod)
    setting.assumed.forget(setting.pod)
    assert setting.pod not in setting.cache
    assert not setting.expired_at(100.0)
    with pytest.raises(ClusterStateError, match="wasn't assumed so cannot be forgotten"):
        setting.assumed.forget(setting.pod)


def test_finishing_what_was_not_assumed_does_nothing() -> None:
    """It was confirmed before its binding call returned."""
    setting = Setting()
    setting.assumed.finish_binding(make_pod("other"))
    assert len(setting.assumed) == 1
