"""How much is logged."""

from __future__ import annotations

import attrs


@attrs.define(eq=False)
class Verbosity:
    """How much is logged; ``/debug/flags/v`` changes it."""

    level: int = 0
    """As the flag ``-v`` says it."""
