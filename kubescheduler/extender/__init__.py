"""HTTP extenders: services that refuse, score and bind beside the scheduler's own rules."""

from __future__ import annotations

from kubescheduler.extender.answers import ExtenderError, FilterResult, Score, Victims
from kubescheduler.extender.client import HTTPExtender
from kubescheduler.extender.config import ExtenderConfig, ManagedResource, TLSConfig
from kubescheduler.extender.encoding import NodeEncoder
from kubescheduler.extender.wire import WIRE_1_4, WIRE_1_16, WIRE_1_20, WIRE_1_36, WireFormat

__all__ = [
    "WIRE_1_4",
    "WIRE_1_16",
    "WIRE_1_20",
    "WIRE_1_36",
    "ExtenderConfig",
    "ExtenderError",
    "FilterResult",
    "HTTPExtender",
    "ManagedResource",
    "NodeEncoder",
    "Score",
    "TLSConfig",
    "Victims",
    "WireFormat",
]
