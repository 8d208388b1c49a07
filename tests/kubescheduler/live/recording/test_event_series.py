"""What is remembered of events."""

from __future__ import annotations

import tracemalloc
from typing import Any

import msgspec

from kubescheduler.live.recording.event_series import FINISHED, EventSeries
from kubescheduler.releases.lookup import live_release

RULES_1_36 = live_release("1.36").events

EVENTS = 1000


def an_event(number: int, **members: Any) -> dict[str, Any]:
    return {
        "kind": "Event",
        "apiVersion": "events.k8s.io/v1",
        "metadata": {"name": f"pod-{number}.18a4c2f3e5d6b7a8", "namespace": "default"},
        "eventTime": f"2026-01-01T00:00:00.{number:06}Z",
        "reportingController": "default-scheduler",
        "reportingInstance": "default-scheduler-host",
        "action": "Binding",
        "reason": "Scheduled",
        "regarding": {"kind": "Pod", "namespace": "default", "name": f"pod-{number}", "uid": f"uid-{number}"},
        "note": f"Successfully assigned default/pod-{number} to node-1",
        "type": "Normal",
        **members,
    }


def test_an_event_is_remembered_in_little_memory() -> None:
    """There is one for each pod of the last minutes: less than two kilobytes each, whatever else the process holds."""
    series = EventSeries(RULES_1_36)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(EVENTS):
            series.record(an_event(number), 0.0)
        used = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert len(series) == EVENTS
    assert used < EVENTS * 1500


def test_events_are_forgotten() -> None:
    """What did not come again for six minutes makes room."""
    series = EventSeries(RULES_1_36)
    for number in range(EVENTS):
        series.record(an_event(number), 0.0)
    assert series.finish(FINISHED) == []
    assert len(series) == EVENTS
    assert series.finish(FINISHED + 1) == []
    assert len(series) == 0


def test_a_series_is_of_events_that_are_alike() -> None:
    """Whatever the text and the time; of another reason, or about another object, it is another event."""
    series = EventSeries(RULES_1_36)
    first = series.record(an_event(1), 0.0)
    assert first is not None
    assert series.record(an_event(1, note="other", eventTime="later"), 1.0) is first
    assert (first.count, first.last_text) == (2, "later")
    assert first.event() == msgspec.json.decode(msgspec.json.encode(an_event(1)))
    for other in (an_event(2), an_event(1, reason="Other"), an_event(1, type="Warning"), an_event(1, related={})):
        found = series.record(other, 1.0)
        assert found is not None
        assert found.count == 0
