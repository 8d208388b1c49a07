"""The releases there are: one record each, from ``engine/record_1_4.py`` to ``engine/record_1_36.py``.

To add a release: name it in ``clusterstate.release_names`` and write its record beside the others.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from clusterstate.release_names import RELEASE_NAMES
from clusterstate.release_steps import release_of
from kubescheduler.engine.release_record import Release

if TYPE_CHECKING:
    from kubescheduler.engine.daemon_controllers import DaemonController


class ReleaseTable(Mapping[str, Release]):
    """Name → record, oldest first. A record is imported when it is first asked for."""

    def __getitem__(self, name: str) -> Release:
        if name not in RELEASE_NAMES:
            raise KeyError(name)
        module = importlib.import_module(f"kubescheduler.engine.record_{name.replace('.', '_')}")
        record: Release = module.RELEASE
        return record

    def __iter__(self) -> Iterator[str]:
        return iter(RELEASE_NAMES)

    def __len__(self) -> int:
        return len(RELEASE_NAMES)


RELEASES = ReleaseTable()


def release_named(name: str) -> Release:
    """The record of a release, or of the one that a version is of. Raises ConfigError for one that is not known."""
    return RELEASES[name if name in RELEASE_NAMES else release_of(name)]


def daemons_among(names: Iterable[str]) -> DaemonController:
    """The DaemonSet controller for several releases on one cluster: the newest one's, which places pods itself if one
    of the older ones does, since that one's scheduler is never asked about them.
    """
    records = [RELEASES[name] for name in names]
    found = newest(record.name for record in records).daemons
    return msgspec.structs.replace(found, places=any(record.daemons.places for record in records))


def newest(names: Iterable[str]) -> Release:
    """The record of the newest of these releases: every release reads what a newer one writes."""
    return RELEASES[max(names, key=RELEASE_NAMES.index)]
