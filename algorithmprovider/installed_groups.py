"""What installed packages bring; where they bring nothing, ``importlib.metadata`` is not imported, which takes long."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def installed_entries(group: str) -> list[EntryPoint]:
    """The entry points of a group."""
    if not may_be_installed(group):
        return []
    from importlib.metadata import entry_points

    return list(entry_points(group=group))


def may_be_installed(group: str) -> bool:
    """Whether an installed package may have entry points of a group; False is certain.

    Looks at the folders of ``sys.path`` for the files that installers write. True where there are archives, packages
    of older kinds, or other ways to find packages than these folders.
    """
    wanted = group.encode()
    return any(hasattr(finder, "find_distributions") and not _is_standard(finder) for finder in sys.meta_path) or any(
        _may_have(path or ".", wanted) for path in dict.fromkeys(sys.path)
    )


def _is_standard(finder: object) -> bool:
    """Whether packages that a finder finds are in folders."""
    return getattr(finder, "__module__", "") == "_frozen_importlib_external"


def _may_have(folder: str, wanted: bytes) -> bool:
    try:
        names = os.listdir(folder)
    except NotADirectoryError:
        return True
    except OSError:
        return False
    for name in names:
        if name.endswith(".egg"):
            return True
        if name.endswith((".dist-info", ".egg-info")) and wanted in _read(
            os.path.join(folder, name, "entry_points.txt")
        ):
            return True
    return False


def _read(path: str) -> bytes:
    """What is in a file; nothing if there is none."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
