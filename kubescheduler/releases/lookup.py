"""Finds the record of a release by its name."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.releases.names import RELEASE_NAMES, release_of
from kubescheduler.releases.release import Release

if TYPE_CHECKING:
    from kubescheduler.live.process.release_live import LiveRelease
    from kubescheduler.releases.daemon_controllers import DaemonController


class ReleaseTable(Mapping[str, Release]):
    """Name → record, oldest first. A record is imported when it is first asked for."""

    def __getitem__(self, name: str) -> Release:
        if name not in RELEASE_NAMES:
            raise KeyError(name)
        module = importlib.import_module(f"kubescheduler.releases.v{name.replace('.', '_')}")
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


def live_release(name: str) -> LiveRelease:
    """The process as which a release runs: its own where that was recorded, otherwise the one of its kind.

    Raises ConfigError for one that cannot run.
    """
    record = release_named(name)
    if record.live is None:
        runs = ", ".join(each for each, release in RELEASES.items() if release.live is not None)
        raise ConfigError(f"release {name} decides here but does not run; those that run are {runs}")
    live = record.live()
    if live.name == record.name:
        return live
    version = f"v{record.version}"
    metrics = msgspec.structs.replace(live.metrics, version=version)
    return msgspec.structs.replace(live, name=record.name, version=version, metrics=metrics, recorded=live.name)


def recorded_processes() -> dict[str, LiveRelease]:
    """Name → process, of every release whose process was recorded, oldest first."""
    every = (release.live() for release in RELEASES.values() if release.live is not None)
    return {live.name: live for live in every}
