"""Which events are the same one again, and what is written of them. Upstream: eventBroadcasterImpl."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import attrs

from kubescheduler.live.recording.event_rules import EventRules

REFRESH = 30 * 60.0
"""Seconds after which a series that goes on is written anew."""
FINISHED = 6 * 60.0
"""Seconds without anything new after which an event is forgotten, and how often that is looked at."""

Document = dict[str, Any]


@attrs.define(eq=False)
class KnownEvent:
    """An event that was written."""

    event: Document
    """As it was sent."""
    last: float
    """When it came last, by the monotonic clock."""
    last_text: str
    """The same, as MicroTime."""
    count: int = 0
    """Of its series; 0: it came once."""


@attrs.define(eq=False)
class EventSeries:
    """The events that may come again. Used on the I/O thread."""

    rules: EventRules
    _known: dict[Hashable, KnownEvent] = attrs.field(factory=dict)

    def __len__(self) -> int:
        return len(self._known)

    def record(self, event: Document, now: float) -> KnownEvent | None:
        """Takes an event in; what is to be written at once: a new event, or one that became a series. None: nothing.

        now: seconds by the monotonic clock.
        """
        key = self._key(event)
        known = self._known.get(key)
        if known is None:
            self._known[key] = known = KnownEvent(event, now, event["eventTime"])
            return known
        known.last, known.last_text = now, event["eventTime"]
        if known.count:
            known.count += 1
            return None
        known.count = self.rules.first_count
        return known

    def forget(self, event: Document) -> None:
        """An event that the server refused is not known."""
        self._known.pop(self._key(event), None)

    def running(self) -> list[KnownEvent]:
        """The series, which are written anew every ``REFRESH`` seconds."""
        return [known for known in self._known.values() if known.count]

    def finish(self, now: float) -> list[KnownEvent]:
        """Drops what has not come for long; the series among that, which are written for the last time."""
        over = {key: known for key, known in self._known.items() if known.last < now - FINISHED}
        for key in over:
            del self._known[key]
        return [known for known in over.values() if known.count]

    def patch(self, known: KnownEvent) -> Document:
        """What is sent of a series."""
        return {"series": self.rules.series(known.count, known.last_text)}

    def _key(self, event: Document) -> Hashable:
        parts = (
            "action",
            "reason",
            "reportingController",
            "reportingInstance",
            *(("type",) if self.rules.by_type else ()),
        )
        objects = (tuple(sorted((event.get(member) or {}).items())) for member in ("regarding", "related"))
        return (*(event[part] for part in parts), *objects)
