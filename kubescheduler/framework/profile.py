"""A profile: which plugins run at which point, with what weights and args."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from kubescheduler.framework.points import Point

DEFAULT_SCHEDULER_NAME = "default-scheduler"


@attrs.frozen
class Enabled:
    """An entry of an enabled list; weight 0: not given."""

    name: str
    weight: int = 0


@attrs.frozen(eq=False)
class Profile:
    """One profile of a completed configuration.

    plugins: point → its plugins in the order they run, after merging with the defaults and, in 1.36, after multiPoint
    was expanded. multi_point: 1.36: the merged multiPoint list, whose weights count where the score point names none.
    plugin_config: (plugin, args) in order, defaults filled in; args is a record of ``framework.args``, or the mapping as
    written for a plugin without one. percentage_of_nodes_to_score: None: the configuration's.
    """

    scheduler_name: str = DEFAULT_SCHEDULER_NAME
    plugins: Mapping[Point, tuple[Enabled, ...]] = attrs.field(factory=dict)
    multi_point: tuple[Enabled, ...] = ()
    plugin_config: tuple[tuple[str, Any], ...] = ()
    percentage_of_nodes_to_score: int | None = None
    run_all_filters: bool = False
    """A 1.20 policy's alwaysCheckAllPredicates."""


@attrs.frozen(eq=False)
class SchedulerConfig:
    """A completed KubeSchedulerConfiguration as the scheduler uses it; durations in seconds.

    extenders: configurations in the order they are asked, ignorable ones last. document: the completed
    configuration as it would be written, in its own API version.
    """

    release: str
    profiles: tuple[Profile, ...]
    extenders: tuple[Any, ...] = ()
    percentage_of_nodes_to_score: int = 0
    pod_initial_backoff_seconds: int = 1
    pod_max_backoff_seconds: int = 10
    parallelism: int = 16
    document: Mapping[str, Any] = attrs.field(factory=dict)
