"""How long the thread that decides may keep the interpreter from the I/O thread."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

TURN = 0.0005
"""Seconds. The I/O thread needs the interpreter for a moment after each packet; with Python's own 5 ms, reading a large
cluster anew while pods are decided on takes as long as there are packets.
"""


@contextmanager
def short_turns() -> Iterator[None]:
    """Threads take turns of ``TURN`` seconds meanwhile, in the whole process."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
