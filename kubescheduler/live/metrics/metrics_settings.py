"""Which metrics a process shows, as its flags say it."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from clusterstate.errors import ConfigError


@attrs.frozen
class MetricsSettings:
    """Which metrics a process shows."""

    shows_hidden: bool = False
    """Also those that are too old to be shown. Upstream: --show-hidden-metrics-for-version."""
    disabled: tuple[str, ...] = ()
    """Names of those that are not shown. Upstream: --disabled-metrics."""


def metrics_settings(version: str, hidden_fault: str, shown: str, disabled: Sequence[str]) -> MetricsSettings:
    """version: of the release; shown: the version whose hidden metrics are to be shown, empty for none.

    Raises ConfigError with the release's text (hidden_fault) for any version but the minor release before.
    """
    major, minor = version.removeprefix("v").split(".")[:2]
    wanted = f"{major}.{int(minor) - 1}"
    if shown not in ("", wanted):
        raise ConfigError(hidden_fault % {"given": shown, "wanted": wanted})
    return MetricsSettings(bool(shown), tuple(disabled))
