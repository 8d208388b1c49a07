"""What a reading anew does to decisions, as it is measured."""

from __future__ import annotations

import pytest

from benchmarks.relisting_run import longest_pause


@pytest.mark.parametrize(
    ("moments", "expected"),
    [
        pytest.param([9.0, 10.5, 11.0, 13.0], 2.0, id="between two decisions"),
        pytest.param([9.0, 13.0, 13.5], 3.0, id="before the first"),
        pytest.param([10.5, 11.0], 0.5, id="nothing left to decide"),
        pytest.param([10.5, 19.0], 0.5, id="decisions outside"),
        pytest.param([], 0.0, id="none"),
    ],
)
def test_longest_pause(moments: list[float], expected: float) -> None:
    """The longest time without a decision from 10 to 15, up to the last one."""
    assert longest_pause(moments, 10.0, 15.0) == expected
