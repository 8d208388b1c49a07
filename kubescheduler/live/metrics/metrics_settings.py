"""Which metrics a process shows, as its flags say it."""

from __future__ import annotations

import msgspec


class MetricsSettings(msgspec.Struct, frozen=True):
    """Which metrics a process shows."""

    shows_hidden: bool = False
    """Also those that are too old to be shown. Upstream: --show-hidden-metrics-for-version."""
    disabled: tuple[str, ...] = ()
    """Names of those that are not shown. Upstream: --disabled-metrics."""
