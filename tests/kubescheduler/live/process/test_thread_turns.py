"""Turns of threads."""

from __future__ import annotations

import sys

import pytest

from kubescheduler.live.process.thread_turns import TURN, short_turns


def test_turns_are_short_meanwhile() -> None:
    """Whatever happens meanwhile, the process has its own turns again in the end."""
    before = sys.getswitchinterval()
    with pytest.raises(ValueError, match="x"), short_turns():
        assert sys.getswitchinterval() == pytest.approx(TURN, rel=0.01)
        raise ValueError("x")
    assert sys.getswitchinterval() == before
