"""Files that appear whole or not at all, and keep the mode of what they replace."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

PART = ".part"
"""Goes behind the name of a file that is being written; with the process's number before it."""


@contextmanager
def whole_file(path: str | Path) -> Iterator[IO[bytes]]:
    """A file to write to; it takes the place of ``path`` when the block ends well, and is gone when it does not.

    A link stays one, and what it leads to is replaced. Raises OSError when it cannot be written, or is no regular file.
    """
    try:
        target = Path(path).resolve()
    except RuntimeError as error:  # a link that leads to itself
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from error
    mode = _mode(target)
    part = target.with_name(f"{target.name[:200]}.{os.getpid()}{PART}")
    try:
        handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if mode is None else 0o600)
        with open(handle, "wb") as file:
            if mode is not None:
                os.fchmod(handle, mode)
            yield file
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def write_whole(path: str | Path, text: str) -> None:
    """Writes a text as ``whole_file`` does; to a device or a pipe it goes as it is. Raises OSError."""
    if Path(path).exists() and not Path(path).is_file():
        Path(path).write_text(text, encoding="utf-8", newline="")
        return
    with whole_file(path) as file:
        file.write(text.encode("utf-8", "replace"))


def _mode(target: Path) -> int | None:
    """The permissions of what is there; None where nothing is."""
    try:
        found = target.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise OSError(0, "it is no regular file")
    return stat.S_IMODE(found.st_mode)
