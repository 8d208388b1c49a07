"""Progress of long work, for people: a sign of life and then a bar on a terminal, nothing anywhere else."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TextIO

import click

Progress = Callable[[int, int], None]
"""Told (done, total); the total may grow."""

PATIENCE = 0.5
"""Seconds without news before something turns."""
TURN = 0.1
"""Seconds between two pictures."""
PICTURES = "|/-\\"
CLEARED = "\r\x1b[K"


@contextmanager
def progress(label: str, stream: TextIO, *, smallest: int, hidden: bool = False) -> Iterator[Progress]:
    """What to tell the progress of work with. The bar appears with the first news of work that is at least ``smallest``
    and not done yet; while there is none, something turns after half a second."""
    if hidden or not stream.isatty():
        yield lambda done, total: None  # noqa: ARG005 - nobody is watching
        return
    bars: list[Any] = []
    with ExitStack() as stack:
        waiting = stack.enter_context(_Turning(label, stream))

        def tell(done: int, total: int) -> None:
            if not bars:
                if total < smallest or done >= total:
                    return
                waiting.stop()
                bars.append(stack.enter_context(click.progressbar(length=total, label=label, file=stream)))
            bar = bars[0]
            bar.length = total
            bar.update(done - bar.pos)

        yield tell


class _Turning:
    """A sign of life behind a label, from a thread of its own until it is stopped; nothing of it stays."""

    def __init__(self, label: str, stream: TextIO) -> None:
        self._label = label
        self._stream = stream
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._turn, daemon=True)

    def __enter__(self) -> _Turning:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Returns when nothing more is written."""
        self._over.set()
        self._thread.join()

    def _turn(self) -> None:
        if self._over.wait(PATIENCE):
            return
        for picture in itertools.cycle(PICTURES):
            self._write(f"\r{self._label} {picture}")
            if self._over.wait(TURN):
                break
        self._write(CLEARED)

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
