"""Objects that are only freed once the garbage collector finds them."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Left = Callable[[], Counter[str]]
"""How many objects there are of each class, beyond those that were there before."""


@contextmanager
def uncollected(*classes: type) -> Iterator[Left]:
    """Counts objects of these classes while nothing looks for cycles."""
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    before = _counted(classes)
    try:
        yield lambda: _counted(classes) - before
    finally:
        if enabled:
            gc.enable()


def _counted(classes: tuple[type, ...]) -> Counter[str]:
    return Counter(type(found).__name__ for found in gc.get_objects() if type(found) in classes)
