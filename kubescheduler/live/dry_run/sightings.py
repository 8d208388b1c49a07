"""What a dry run sees of a pod, and who wants to know."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Protocol

import attrs

from clusterstate.objects import Pod


class RealEnd(StrEnum):
    """How an attempt of the real scheduler ended."""

    BOUND = "bound"
    UNSCHEDULABLE = "unschedulable"
    DELETED = "deleted"


@attrs.frozen(eq=False)
class FirstChoice:
    """What this configuration did with a pod when it appeared, with its own earlier choices not yet bound in place."""

    node: str | None
    """None: no node."""
    message: str
    """The release's words where there is no node."""


@attrs.frozen(eq=False)
class Sighting:
    """A pod whose attempt by the real scheduler has come to an end."""

    pod: Pod
    """As it was while it waited."""
    end: RealEnd
    node: str | None
    """Where the real scheduler bound it; None: nowhere."""
    appeared: datetime
    """When it was first seen, or seen to wait again."""
    ended: datetime
    """When the end was seen."""
    first: FirstChoice | None
    """None where a pod is tried anew after it was unschedulable: nobody knows when that began."""


class SightingListener(Protocol):
    """Asked about every end of an attempt, while the schedulers' caches are what they were right before it."""

    def ended(self, sighting: Sighting) -> bool:
        """Judges an attempt; whether both did the same. A deleted pod's answer is not counted."""
        ...


class AgreementObserver(Protocol):
    """Counts agreement, for a metric."""

    def compared(self, agrees: bool) -> None:
        """An attempt of the real scheduler was compared."""
        ...


class NoAgreementObserver:
    """Counts nothing."""

    def compared(self, agrees: bool) -> None:
        """Nothing is counted."""
