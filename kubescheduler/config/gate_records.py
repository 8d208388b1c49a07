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


ALPHA = Gate(default=False, stage="alpha")
BETA = Gate(default=True, stage="beta")
BETA_OFF = Gate(default=False, stage="beta")
GA = Gate(default=True, stage="GA")
LOCKED = Gate(default=True, stage="GA", locked=True)
