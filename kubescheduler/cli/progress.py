"""Progress of long work, for people: a bar on a terminal, nothing anywhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TextIO

import click

Progress = Callable[[int, int], None]
"""Told (done, total); the total may grow."""


@contextmanager
def progress(label: str, stream: TextIO, *, smallest: int, hidden: bool = False) -> Iterator[Progress]:
    """What to tell the progress of work with. The bar appears with the first news of work that is at least ``smallest``
    and not done yet."""
    if hidden or not stream.isatty():
        yield _nothing
        return
    bars: list[Any] = []
    with ExitStack() as stack:

        def tell(done: int, total: int) -> None:
            if not bars:
                if total < smallest or done >= total:
                    return
                bars.append(stack.enter_context(click.progressbar(length=total, label=label, file=stream)))
            bar = bars[0]
            bar.length = total
            bar.update(done - bar.pos)

        yield tell


def _nothing(done: int, total: int) -> None:
    """Nobody is watching."""
