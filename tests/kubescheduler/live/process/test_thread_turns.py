"""Turns of threads."""

from __future__ import annotations

import sys

import pytest

from kubescheduler.live.process.thread_turns import TURN, short_turns


def fail_in_short_turns() -> None:
    with short_turns():
        raise ValueError(sys.getswitchinterval())


def test_turns_are_short_meanwhile() -> None:
    """Whatever happens meanwhile, the process has its own turns again in the end."""
    before = sys.getswitchinterval()
    with pytest.raises(ValueError, match=r"^[0-9.e-]+$") as caught:
        fail_in_short_turns()
    assert caught.value.args[0] == pytest.approx(TURN, rel=0.01)
    assert sys.getswitchinterval() == before
