"""A KubeSchedulerConfiguration as it was written: what it does not say is None."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from kubescheduler.extender.config import ExtenderConfig
    from kubescheduler.framework.contract.profile import PluginSet

MULTI_POINT = "multiPoint"
"""The member of ``plugins`` that stands for all points."""

ALL = "*"
"""In a disabled list: all defaults."""


class PluginConfig(msgspec.Struct, frozen=True):
    """An entry of ``pluginConfig``."""

    name: str = ""
    args: Any = None
    """As written; after decoding a record of ``framework.args`` where the plugin has an args type."""


class WrittenProfile(msgspec.Struct, frozen=True):
    """A profile."""

    scheduler_name: str | None = None
    plugins: Mapping[str, PluginSet] | None = None
    """Member → its set, of the members that are written."""
    plugin_config: tuple[PluginConfig, ...] = ()
    percentage_of_nodes_to_score: int | None = None


class Written(msgspec.Struct, frozen=True):
    """The whole document."""

    parallelism: int | None = None
    leader_election: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Attribute of the record → value."""
    client_connection: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Attribute of the record → value."""
    healthz_bind_address: str | None = None
    metrics_bind_address: str | None = None
    enable_profiling: bool | None = None
    enable_contention_profiling: bool | None = None
    percentage_of_nodes_to_score: int | None = None
    pod_initial_backoff_seconds: int | None = None
    pod_max_backoff_seconds: int | None = None
    profiles: tuple[WrittenProfile, ...] = ()
    extenders: tuple[ExtenderConfig, ...] = ()
    delay_cache_until_active: bool = False
