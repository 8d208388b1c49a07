"""How much memory processes hold."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_SHARE = re.compile(r"^Pss: +(\d+) kB", re.MULTILINE)


def resident_bytes(processes: Iterable[int]) -> int:
    """What they hold together, what is shared counted once; 0 where the system does not say it (it is not Linux)."""
    kilobytes = 0
    for process in processes:
        with suppress(OSError):
            found = _SHARE.search(Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii"))
            kilobytes += int(found[1]) if found else 0
    return kilobytes * 1024
