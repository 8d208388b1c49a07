"""Which events are the same one again, and what is written of them. Upstream: eventBroadcasterImpl."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import attrs
import msgspec

from kubescheduler.live.recording.event_rules import EventRules

REFRESH = 30 * 60.0
"""Seconds after which a series that goes on is written anew."""
FINISHED = 6 * 60.0
"""Seconds without anything new after which an event is forgotten, and how often that is looked at."""

ALIKE = ("action", "reason", "reportingController", "reportingInstance", "regarding", "related")
"""Members that events of one series have in common."""

Document = dict[str, Any]


@attrs.define(eq=False)
class KnownEvent:
    """An event that was written. There is one for each pod of the last minutes, so that it is kept short."""

    body: bytes
    """As it was sent."""
    last: float
    """When it came last, by the monotonic clock."""
    last_text: str
    """The same, as MicroTime."""
    count: int = 0
    """Of its series; 0: it came once."""

    def event(self) -> Document:
        """As it was sent."""
        found: Document = msgspec.json.decode(self.body)
        return found


@attrs.define(eq=False)
class EventSeries:
    """The events that may come again. Used on the I/O thread."""

    rules: EventRules
    _known: dict[bytes, KnownEvent] = attrs.field(factory=dict)

    def __len__(self) -> int:
        return len(self._known)

    def record(self, event: Document, now: float) -> KnownEvent | None:
        """Takes an event in; what is to be written at once: a new event, or one that became a series. None: nothing.

        now: seconds by the monotonic clock.
        """
        key = self._key(event)
        known = self._known.get(key)
        if known is None:
            self._known[key] = known = KnownEvent(msgspec.json.encode(event), now, event["eventTime"])
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

    def _key(self, event: Document) -> bytes:
        """Equal for equal events alone, as far as 128 bits can tell."""
        parts = [event.get(part) for part in ALIKE]
        return blake2b(
            msgspec.json.encode([*parts, event["type"] if self.rules.by_type else ""]), digest_size=16
        ).digest()
