"""Versions of Kubernetes as people write them, the releases there are, and what lies between where there is none."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from pkgutil import iter_modules

DEFAULT_RELEASE = "1.16"
"""The release that decides when nobody names one: the last one with predicates and priorities only."""

_VERSION = re.compile(r"v?(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})(?:[-+_.].*)?", re.DOTALL)


def minor(text: object) -> str | None:
    """The minor release that a version is of (``v1.20.15-gke.1`` → ``1.20``); None for what is no version."""
    found = _VERSION.fullmatch(text.strip()) if isinstance(text, str) else None
    return f"{found[1]}.{found[2]}" if found else None


def is_since(name: str, other: str) -> bool:
    """Whether a release is another one or a later one."""
    return number(name) >= number(other)


def number(name: str) -> tuple[int, ...]:
    """By which releases are ordered: 1.4 comes before 1.16."""
    return tuple(map(int, name.split(".")))


_FILE = re.compile(r"v(\d+)_(\d+)")
_FILES = (_FILE.fullmatch(module.name) for module in iter_modules([str(Path(__file__).parent)]))
RELEASE_NAMES = tuple(sorted((f"{file[1]}.{file[2]}" for file in _FILES if file), key=number))
"""Of every release that has a file here, in the order they came out. Listing them reads none of the files."""

TAKEN_BACK = "~"
"""Between a release and the name of one of its changes: the release without it."""

FIRST_PROFILES, LAST_POLICIES = "1.18", "1.22"
"""Kubernetes 1.18 was the first that decided by plugins in profiles, 1.22 the last that read policies."""

POLICY_RELEASES = tuple(name for name in RELEASE_NAMES if is_since(LAST_POLICIES, name))
"""Those that read policies, or know names of algorithm providers."""

FRAMEWORK_RELEASES = tuple(name for name in RELEASE_NAMES if is_since(name, FIRST_PROFILES))
"""Those that decide by plugins in profiles."""

LEGACY_RELEASES = tuple(name for name in RELEASE_NAMES if name not in FRAMEWORK_RELEASES)
"""Those that decide by predicates and priorities only."""

STEPS = {
    "1.6": "affinity, tolerations and taints are fields of pods and nodes, no longer annotations",
    "1.8": "pods have priorities and preempt others",
    "1.12": "conditions of nodes become taints",
    "1.14": "pod priority can no longer be turned off",
    "1.17": "scores run from 0 to 100",
}
"""Release that is not here → what it decides or reads otherwise than the one before it; the others' files say it."""

LIKE_THE_NEXT = ("1.6", "1.17")
"""Where a release begins to be more like the next one that is here than like the last one: with the fields of pods and
nodes, and with the scale of scores.
"""


def place(name: str) -> int:
    """Where a release stands among those there are, one of whose changes may be taken back (``1.28~name``)."""
    return RELEASE_NAMES.index(name.partition(TAKEN_BACK)[0])


def spoken(names: Iterable[str], word: str = "and") -> str:
    """Some of the releases there are, in their order: ``1.4 and 1.18 to 1.36``, where no other is between."""
    runs: list[list[str]] = []
    for name in names:
        if runs and place(name) == place(runs[-1][-1]) + 1:
            runs[-1].append(name)
        else:
            runs.append([name])
    said = [text for run in runs for text in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else run)]
    return f" {word} ".join((", ".join(said[:-1]), said[-1])) if len(said) > 1 else "".join(said)
