"""What a dry run sees of a pod, and who wants to know."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Protocol

import msgspec

from clusterstate.objects import Pod


class RealEnd(StrEnum):
    """How an attempt of the real scheduler ended."""

    BOUND = "bound"
    UNSCHEDULABLE = "unschedulable"
    DELETED = "deleted"


class FirstChoice(msgspec.Struct, frozen=True, eq=False):
    """What this configuration did with a pod when it appeared, with its own earlier choices not yet bound in place."""

    node: str | None
    """None: no node."""
    message: str
    """The release's words where there is no node."""


class Sighting(msgspec.Struct, frozen=True, eq=False):
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
    nominated: str = ""
    """The node on which the real scheduler made room for it; empty: nowhere, as far as is known by now."""
    victims: tuple[Pod, ...] = ()
    """The pods below it that began to leave that node while it waited, as they ran before that."""


class Agreement(msgspec.Struct, frozen=True):
    """What a listener makes of an attempt."""

    agrees: bool
    """Whether both schedulers did the same."""
    cause: str
    """Why not, as reports say it; ``same`` where they did the same thing for the same reason."""


class SightingListener(Protocol):
    """Asked about every end of an attempt, while the schedulers' caches are what they were right before it."""

    def ended(self, sighting: Sighting) -> Agreement:
        """Judges an attempt. What is said of a pod that was deleted is not counted."""
        ...


class AgreementObserver:
    """Told of agreement, for metrics; this one counts nothing."""

    def compared(self, agreement: Agreement) -> None:
        """An attempt of the real scheduler was compared."""

    def deleted(self) -> None:
        """A pod was deleted before the real scheduler had said anything of it."""
