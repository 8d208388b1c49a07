"""The names of the releases there are, and what lies between where there is none."""

from __future__ import annotations

import re
from pathlib import Path
from pkgutil import iter_modules

from clusterstate.versions import is_since, number

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
