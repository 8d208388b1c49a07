"""How many events of core/v1 one object may have. Upstream: EventCorrelator."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

import attrs

BURST, REFILL = 25, 1 / 300
"""Events at once of one source and object, and how many more a second."""
SIMILAR, WITHIN = 10, 600.0
"""Events that differ in their text alone are put together after so many within so many seconds."""
COMBINED = "(combined from similar events): "
REMEMBERED = 4096
"""Entries of each table; the oldest is dropped."""

Document = dict[str, Any]


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
