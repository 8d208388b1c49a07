"""Durations as Go prints them."""

from __future__ import annotations

import pytest

from kubescheduler.framework.contract.go_durations import go_duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (15, "15s"),
        (90, "1m30s"),
        (900, "15m0s"),
        (3600, "1h0m0s"),
        (0.5, "500ms"),
        (1.5, "1.5s"),
        (0.0015, "1.5ms"),
        (0.000002, "2µs"),
        (5e-9, "5ns"),
        (-2, "-2s"),
    ],
)
def test_go_duration(seconds: float, text: str) -> None:
    """Units are chosen and zeros dropped as in Go."""
    assert go_duration(seconds) == text
