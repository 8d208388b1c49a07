"""Files outside that a scene is made of, as a plugin's module: what the server looks at from time to time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path


def stamps(paths: Iterable[Path]) -> Mapping[Path, tuple[int, int] | None]:
    """Path → (time of its last change in ns, size in bytes); None for a file that is not there."""
    return {path: _stamp(path) for path in paths}


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size
