"""What a feature gate is."""

from __future__ import annotations

from typing import Literal

import msgspec

Stage = Literal["alpha", "beta", "GA", "deprecated"]


class Gate(msgspec.Struct, frozen=True):
    """One feature gate of one release."""

    default: bool
    """What it is when nobody sets it."""
    stage: Stage
    """How far the feature has come."""
    locked: bool = False
    """It cannot be set to anything but its default."""
