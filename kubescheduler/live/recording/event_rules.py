"""In what the releases' events differ."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

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
