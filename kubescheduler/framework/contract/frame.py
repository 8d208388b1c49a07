"""The plugins of one profile at their points, and what goes with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.observer import Observer, Watch
from kubescheduler.framework.contract.plugin import Plugin
from kubescheduler.framework.contract.profile import Point, Profile


class Frame(msgspec.Struct, eq=False):
    """What a decision needs of a framework. Upstream: the fields of frameworkImpl."""

    release: str
    profile: Profile
    plugins: Mapping[Point, tuple[Plugin, ...]]
    """Point → its plugins in the order they run."""
    score_weights: Mapping[str, int]
    """Plugin → weight."""
    placement_weights: Mapping[str, int]
    """Plugin → weight."""
    instances: Mapping[str, Plugin]
    """Every plugin that was made, by the name it is enabled under."""
    handle: Handle
    watch: Watch

    @property
    def profile_name(self) -> str:
        """The ``schedulerName`` of the pods it is for."""
        return self.profile.scheduler_name

    @property
    def feature_gates(self) -> Mapping[str, bool]:
        """Every gate of the release → whether it is on."""
        return self.handle.feature_gates

    @property
    def observer(self) -> Observer:
        """Who is told what can be measured."""
        return self.watch.observer

    @property
    def run_all_filters(self) -> bool:
        """A 1.20 policy's alwaysCheckAllPredicates."""
        return self.profile.run_all_filters

    def at(self, point: Point) -> tuple[Any, ...]:
        """The plugins of a point in the order they run."""
        return self.plugins.get(point, ())
