"""What is known of the cluster lasts: the garbage collector is kept from going through it again and again."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import attrs

LONGEST = 0.05
"""Seconds of a full collection from which on what it left is set aside. The interpreter stands still meanwhile: with
50,000 pods for 0.4 s of CPU time, several times as long where others want the CPU.
"""


@attrs.define(eq=False)
class LastingObjects:
    """Sets aside what a long full collection of the garbage collector left; one of ``gc.callbacks``.

    Objects set aside are freed by their reference counts as ever, but cycles among them are not found any more. The
    objects of a cluster have no cycles.
    """

    clock: Callable[[], float] = time.perf_counter
    """Seconds."""
    set_aside: Callable[[], None] = gc.freeze
    """Takes everything that there is out of later collections."""
    _started: float = 0.0

    def __call__(self, phase: str, info: Mapping[str, Any]) -> None:
        """A collection starts or stops."""
        if info["generation"] < 2:
            return
        if phase == "start":
            self._started = self.clock()
        elif self.clock() - self._started > LONGEST:
            self.set_aside()


@contextmanager
def short_collections() -> Iterator[None]:
    """Full collections stay short meanwhile, in the whole process, however many objects are known."""
    lasting = LastingObjects()
    gc.callbacks.append(lasting)
    try:
        yield
    finally:
        gc.callbacks.remove(lasting)
        gc.unfreeze()
