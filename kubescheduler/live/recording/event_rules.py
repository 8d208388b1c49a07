"""Which events are the same one again, and what each release writes of them.

Upstream: eventBroadcasterImpl; for events of core/v1 EventCorrelator.
"""

from __future__ import annotations

import re
import uuid
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from datetime import datetime
from hashlib import blake2b
from typing import Any

import attrs
import msgspec

Document = dict[str, Any]

SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LONGEST_NAME = 253


class EventRules(msgspec.Struct, frozen=True, eq=False):
    """How one release writes its events."""

    group_version: str
    """Of the API it asks for; where the server does not have it, core/v1 takes its place."""
    discovery_timeout: str
    """The query of the question whether the server has it."""
    metadata: Mapping[str, Any]
    """What stands in an event's metadata besides name and namespace."""
    source: Callable[[str], Document]
    """Of a controller's name: the member deprecatedSource."""
    first_count: int
    """Of a series, when the event came for the second time."""
    series: Callable[[int, str], Document]
    """Of (count, last time): the member series."""
    by_type: bool
    """Whether events of two types are never one series."""
    name: Callable[[str, int], str]
    """Of (the object's name, nanoseconds since 1970): the event's name."""
    says_related: bool
    """Whether the other object that an event concerns is written; 1.36 loses it."""
    core_component: bool
    """Whether events of core/v1 also say their component as reportingComponent."""


def micro_time(moment: datetime) -> str:
    """A moment with microseconds, as Kubernetes' MicroTime."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def whole_seconds(moment: datetime) -> str:
    """A moment as Kubernetes' Time."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def plain_name(name: str, nanoseconds: int) -> str:
    """The object's name with the time."""
    return f"{name}.{nanoseconds:x}"


def valid_name(name: str, nanoseconds: int) -> str:
    """The same, or a random one where that is no name that the server takes (1.36)."""
    text = plain_name(name, nanoseconds)
    fits = len(text) <= LONGEST_NAME and SUBDOMAIN.fullmatch(text)
    return text if fits else str(uuid.uuid4())


def no_source(_: str) -> Document:
    """An empty one."""
    return {}


def component_source(controller: str) -> Document:
    """The controller as the component."""
    return {"component": controller}


def series(count: int, last: str) -> Document:
    """How often, and when last."""
    return {"count": count, "lastObservedTime": last}


def series_with_state(count: int, last: str) -> Document:
    """The same, with a member that v1beta1 has (1.16)."""
    return {"count": count, "lastObservedTime": last, "state": ""}


REFRESH = 30 * 60.0
"""Seconds after which a series that goes on is written anew."""
FINISHED = 6 * 60.0
"""Seconds without anything new after which an event is forgotten, and how often that is looked at."""

ALIKE = ("action", "reason", "reportingController", "reportingInstance", "regarding", "related")
"""Members that events of one series have in common."""


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
        event: Document = msgspec.json.decode(self.body)
        return event


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


BURST, REFILL = 25, 1 / 300
"""Events at once of one source and object, and how many more a second."""
SIMILAR, WITHIN = 10, 600.0
"""Events that differ in their text alone are put together after so many within so many seconds."""
COMBINED = "(combined from similar events): "
REMEMBERED = 4096
"""Entries of each table; the oldest is dropped."""


@attrs.define(eq=False)
class EventSpamFilter:
    """Decides what becomes of an event of core/v1. Times are seconds of the monotonic clock."""

    _tokens: OrderedDict[Hashable, tuple[float, float]] = attrs.field(factory=OrderedDict)
    _similar: OrderedDict[Hashable, tuple[set[str], float]] = attrs.field(factory=OrderedDict)
    _written: OrderedDict[Hashable, tuple[str, int, str]] = attrs.field(factory=OrderedDict)

    def passes(self, event: Document, now: float) -> bool:
        """Whether an event is written at all."""
        key = (event["source"].get("component"), _about(event))
        tokens, last = self._tokens.pop(key, (float(BURST), now))
        tokens = min(float(BURST), tokens + (now - last) * REFILL)
        _remember(self._tokens, key, (max(tokens - 1, 0.0) if tokens >= 1 else tokens, now))
        return tokens >= 1

    def correlated(self, event: Document, now: float) -> tuple[Document, str]:
        """(the event to write, the name of the one that it counts up; empty for a new one)."""
        event = self._aggregated(event, now)
        key = (_about(event), event["reason"], event["type"], event["message"])
        name, count, first = self._written.get(key, ("", 0, event["firstTimestamp"]))
        event = {**event, "count": count + 1, "firstTimestamp": first}
        if name:
            event["metadata"] = {**event["metadata"], "name": name}
        _remember(self._written, key, (event["metadata"]["name"], count + 1, first))
        return event, name

    def _aggregated(self, event: Document, now: float) -> Document:
        key = (event["source"].get("component"), _about(event), event["type"], event["reason"])
        texts, last = self._similar.pop(key, (set(), now))
        if now - last > WITHIN:
            texts = set()
        texts = texts | {event["message"]}
        combined = len(texts) > SIMILAR
        _remember(self._similar, key, (set(list(texts)[: SIMILAR + 1]), now))
        return {**event, "message": COMBINED + event["message"]} if combined else event


def _about(event: Document) -> Hashable:
    return tuple(sorted((event.get("involvedObject") or {}).items()))


def _remember(table: OrderedDict[Hashable, Any], key: Hashable, value: Any) -> None:
    table[key] = value
    table.move_to_end(key)
    if len(table) > REMEMBERED:
        table.popitem(last=False)
