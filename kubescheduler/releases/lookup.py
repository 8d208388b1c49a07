"""Finds the record of a release by its name, what changed between releases, and a witness of each change.

A version (``v1.36``, ``1.36.2``, ``v1.20.15-gke.1``) is its minor release. A witness is a small cluster and a pod that
the releases on both sides answer differently for the change alone. Witnesses are data, ``witnesses/<release>.yaml``:
change → what is asked, where the answers differ, both answers. Clusters, pods and answers are those of the evaluate
protocol. A change that no single decision shows says why in their place.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.releases.names import LIKE_THE_NEXT, RELEASE_NAMES, STEPS, TAKEN_BACK, minor, number, place
from kubescheduler.releases.release import Change, Release, without

if TYPE_CHECKING:
    from kubescheduler.framework.plugins.plugin_record import InTreePlugin
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


def release_named(name: object) -> Release:
    """The record of a release, or of the one that a version is of; ``1.28~name`` is 1.28 without that change of its,
    ``1.28~name~other`` without both.

    Raises ConfigError for one that is not known.
    """
    release, *taken_back = name.split(TAKEN_BACK) if isinstance(name, str) else ("",)
    record = RELEASES[release if release in RELEASE_NAMES else release_of(release or name)]
    return reduce(without, taken_back, record)


def daemons_among(names: Iterable[str]) -> DaemonController:
    """The DaemonSet controller for several releases on one cluster: the newest one's, which places pods itself if one
    of the older ones does, since that one's scheduler is never asked about them.
    """
    records = [release_named(name) for name in names]
    found = newest(record.name for record in records).daemons
    return msgspec.structs.replace(found, places=any(record.daemons.places for record in records))


def newest(names: Iterable[str]) -> Release:
    """The record of the newest of these releases: every release reads what a newer one writes."""
    return release_named(max(names, key=place))


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


# --- what lies between --------------------------------------------------------------------------


def changes_between(low: str, high: str, about: str = "") -> Iterator[tuple[Release, Change]]:
    """Every change of the releases after ``low`` up to ``high``, oldest first, each with its release.

    about: only those that have this in their name, text or kind, whatever the case.
    """
    sought = about.casefold()
    for name in RELEASE_NAMES:
        if number(low) < number(name) <= number(high):
            for change in RELEASES[name].changes:
                if sought in f"{change.name} {change.text} {change.kind.value}".casefold():
                    yield RELEASES[name], change


def changes_of_rule(name: str) -> Iterator[tuple[Release, Change]]:
    """Every change that concerns a predicate, priority or plugin, oldest first, each with its release: it has the name
    in its text, or puts another record in place of the plugin's.
    """
    named = re.compile(rf"\b{re.escape(name)}\b")
    for release in RELEASES.values():
        if release.made is None:
            continue
        before = release.made(release.name, ())
        for change in release.changes:
            after = change.edit(before)
            if named.search(change.text) or _plugin(before, name) is not _plugin(after, name):
                yield release, change
            before = after


def _plugin(release: Release, name: str) -> InTreePlugin | None:
    return release.framework.plugins.get(name) if release.framework is not None else None


def release_of(text: object, among: Sequence[str] = RELEASE_NAMES) -> str:
    """The release that is meant. Raises ConfigError, with ``advice``, for one that is not ``among`` those there are."""
    name = minor(text)
    if name is None or name not in among:
        hint = f"; {advice(name, among)}" if name else ""
        raise ConfigError(f"release {text} is not known; known are {', '.join(among)}{hint}")
    return name


def advice(name: str, among: Sequence[str] = RELEASE_NAMES) -> str:
    """Which releases are next to one that is not here, and what lies between."""
    older = max((each for each in among if number(each) < number(name)), key=number, default="")
    newer = min((each for each in among if number(each) > number(name)), key=number, default="")
    if not older or not newer:
        end = f"newer than all of them, nearest to {older}" if older else f"older than all of them, nearest to {newer}"
        steps = _steps(name, older or newer)
        return f"it is {end}" + (f", from which it differs by {steps}" if steps else "")
    like_newer = any(number(older) < number(each) <= number(name) for each in LIKE_THE_NEXT)
    near, far = (newer, older) if like_newer else (older, newer)
    from_near, from_far = (_steps(name, each) or "what is not known here" for each in (near, far))
    return (
        f"it is between {older} and {newer}, more like {near}: from that it differs by {from_near}; "
        f"from {far} by {from_far}"
    )


def _steps(name: str, other: str) -> str:
    return steps_between(*sorted((name, other), key=number))


def steps_between(low: str, high: str) -> str:
    """What the releases after ``low`` up to ``high`` decide or read otherwise; empty where nothing is known."""
    between = [name for name in {*STEPS, *RELEASE_NAMES} if number(low) < number(name) <= number(high)]
    texts = {name: STEPS.get(name) or RELEASES[name].summary for name in sorted(between, key=number)}
    return ", ".join(f"{name} ({text})" for name, text in texts.items() if text)


WITNESSES = Path(__file__).parent / "witnesses"


class Witness(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What shows a change."""

    pod: dict[str, Any]
    """The pod that is decided."""
    differs: tuple[str, ...]
    """Where the answers differ: the keys that lead to the place in a result."""
    cluster: dict[str, list[dict[str, Any]]] = {}
    before: Any = None
    """What the older release answers there; None for nothing."""
    after: Any = None
    """What the newer one does."""
    provider: str | None = None
    policy: dict[str, Any] | None = None
    component_config: dict[str, Any] | None = None
    feature_gates: dict[str, bool] = {}
    preempt: bool = False
    """Whether preemption is asked for."""
    beside: tuple[str, ...] = ()
    """Other changes of the release that show in the rest of the answer."""
    recorded: str = ""
    """A recorded scenario and query that both releases answer differently for this change alone; empty where there is
    none, and the witness is ours only."""

    def scenario(self) -> dict[str, Any]:
        """One scenario of the evaluate protocol."""
        query = {"id": "q", "pod": self.pod, "preempt": self.preempt}
        how = {"provider": self.provider, "policy": self.policy, "componentConfig": self.component_config}
        query |= {key: value for key, value in how.items() if value is not None}
        cluster = {**self.cluster, "pods": [_with_uid(pod) for pod in self.cluster.get("pods", [])]}
        return {"id": "witness", "cluster": cluster, "featureGates": self.feature_gates, "queries": [query]}

    def alone(self, release: str) -> str:
        """The name of the newer release without the other changes that show."""
        return TAKEN_BACK.join((release, *self.beside))


class NoWitness(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What stands in place of a witness."""

    none: str
    """Why no single decision shows the change."""


def _with_uid(pod: dict[str, Any]) -> dict[str, Any]:
    """A running pod as the API server stores it; its name stands for its uid."""
    return {**pod, "metadata": {"uid": pod["metadata"]["name"], **pod["metadata"]}}


@cache
def witnesses(release: str) -> dict[str, Witness | NoWitness]:
    """Change → what shows it, of the changes of a release; empty where nothing was written down."""
    import yaml

    path = WITNESSES / f"{release}.yaml"
    found = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader) if path.exists() else {}
    return {name: _entry(said) for name, said in found.items()}


def _entry(said: dict[str, Any]) -> Witness | NoWitness:
    return msgspec.convert(said, NoWitness) if "none" in said else msgspec.convert(said, Witness)
