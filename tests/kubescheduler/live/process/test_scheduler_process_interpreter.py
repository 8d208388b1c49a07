"""Turns of threads."""

from __future__ import annotations

import gc
import sys

import pytest

from kubescheduler.live.process.scheduler_process import LONG_COLLECTION, TURN, GcFreeze, gc_freeze, switch_interval


def fail_in_short_turns() -> None:
    with switch_interval():
        raise ValueError(sys.getswitchinterval())


def test_turns_are_short_meanwhile() -> None:
    """Whatever happens meanwhile, the process has its own turns again in the end."""
    before = sys.getswitchinterval()
    with pytest.raises(ValueError, match=r"^[0-9.e-]+$") as caught:
        fail_in_short_turns()
    assert caught.value.args[0] == pytest.approx(TURN, rel=0.01)
    assert sys.getswitchinterval() == before


@pytest.mark.parametrize(
    ("generation", "seconds", "expected"),
    [
        pytest.param(2, 2 * LONG_COLLECTION, 1, id="long full collection"),
        pytest.param(2, LONG_COLLECTION / 2, 0, id="short full collection"),
        pytest.param(1, 2 * LONG_COLLECTION, 0, id="young objects alone"),
    ],
)
def test_what_a_long_full_collection_left_is_set_aside(generation: int, seconds: float, expected: int) -> None:
    """Objects are set aside after full collections that take longer than the limit."""
    moments, times = iter([10.0, 10.0 + seconds]), [0]

    def set_aside() -> None:
        times[0] += 1

    lasting = GcFreeze(lambda: next(moments), set_aside)
    for phase in ("start", "stop"):
        lasting(phase, {"generation": generation})
    assert times == [expected]


def test_objects_set_aside_are_not_gone_through_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a long collection what it left is frozen, until the end."""
    monkeypatch.setattr("kubescheduler.live.process.scheduler_process.LONG_COLLECTION", -1.0)
    before = gc.get_freeze_count()
    with gc_freeze():
        known = [[number] for number in range(1000)]
        gc.collect()
        assert gc.get_freeze_count() > before + len(known)
    assert gc.get_freeze_count() == 0
    gc.collect()
    assert gc.get_freeze_count() == 0
