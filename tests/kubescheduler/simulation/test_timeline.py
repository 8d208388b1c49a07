"""What is to happen in a simulation, in order of time, and how its moments are written."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

from hypothesis import example, given
from hypothesis import strategies as st

from kubescheduler.simulation.timeline import Events
from kubescheduler.simulation.workload import MOMENTS, timestamp

noted = st.lists(st.tuples(st.sampled_from((0.0, 1.0, 2.5, 3.0)), st.integers(0, 2)), max_size=12)
"""Events as (time, kind)."""


@given(noted, st.lists(noted, max_size=4))
def test_events_come_by_time_then_by_kind_then_as_they_were_noted(
    first: list[tuple[float, int]], later: list[list[tuple[float, int]]]
) -> None:
    """Whether they are noted before the first moment or at a later one, at which each may cause more."""
    events, waiting, done = Events(), list[tuple[float, int, int]](), list[tuple[float, int, int]]()

    def note(time: float, kind: int) -> None:
        entry = (time, kind, events.noted)
        waiting.append(entry)
        events.at(time, kind, partial(done.append, entry))

    for time, kind in first:
        note(time, kind)
    more = iter(later)
    while (moment := events.next) is not None:
        assert moment == min(waiting)[0]
        due, seen = sorted(entry for entry in waiting if entry[0] <= moment), len(done)
        events.run(moment)
        assert done[seen:] == due
        waiting[:] = [entry for entry in waiting if entry not in due]
        for time, kind in next(more, ()):
            note(max(time, moment), kind)
    assert not waiting
    assert events.done == events.noted


@given(st.integers(-int(MOMENTS), int(MOMENTS)), st.sampled_from((0.0, 0.5, 59.0, 3599.0)))
@example(0, 0.0)
@example(-1, 0.0)
@example(1_577_836_799, 59.0)
def test_moments_are_written_as_the_calendar_has_them(epoch: int, seconds: float) -> None:
    """Also whole seconds, and those before 1970."""
    written = timestamp(float(epoch), seconds)
    assert written.endswith("Z")
    assert datetime.fromisoformat(written) == datetime.fromtimestamp(epoch + seconds, UTC)
    assert written == datetime.fromtimestamp(epoch + seconds, UTC).isoformat().replace("+00:00", "Z")
