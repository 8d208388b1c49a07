"""The garbage collector goes through what lasts only until that takes long."""

from __future__ import annotations

import gc

import pytest

from kubescheduler.live.process.lasting_objects import LONGEST, LastingObjects, short_collections


@pytest.mark.parametrize(
    ("generation", "seconds", "expected"),
    [
        pytest.param(2, 2 * LONGEST, 1, id="long full collection"),
        pytest.param(2, LONGEST / 2, 0, id="short full collection"),
        pytest.param(1, 2 * LONGEST, 0, id="young objects alone"),
    ],
)
def test_what_a_long_full_collection_left_is_set_aside(generation: int, seconds: float, expected: int) -> None:
    """Objects are set aside after full collections that take longer than the limit."""
    moments, times = iter([10.0, 10.0 + seconds]), [0]

    def set_aside() -> None:
        times[0] += 1

    lasting = LastingObjects(lambda: next(moments), set_aside)
    for phase in ("start", "stop"):
        lasting(phase, {"generation": generation})
    assert times == [expected]


def test_objects_set_aside_are_not_gone_through_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a long collection what it left is frozen, until the end."""
    monkeypatch.setattr("kubescheduler.live.process.lasting_objects.LONGEST", -1.0)
    before = gc.get_freeze_count()
    with short_collections():
        known = [[number] for number in range(1000)]
        gc.collect()
        assert gc.get_freeze_count() > before + len(known)
    assert gc.get_freeze_count() == 0
    gc.collect()
    assert gc.get_freeze_count() == 0
