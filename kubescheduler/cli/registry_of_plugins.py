"""The plugins of a framework release: which run where in every profile, and which there are."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec

from clusterstate.cache import ClusterCache
from kubescheduler.cli.engine_options import EngineOptions, remark
from kubescheduler.cli.tables import NONE, table
from kubescheduler.cli.terminal.screen import screen_of
from kubescheduler.framework.contract.points import Point
from kubescheduler.framework.profiles.profile_map import Profiles
from kubescheduler.framework.running.framework_runtime import Framework
from kubescheduler.releases.release import FrameworkRules


class Found(msgspec.Struct, frozen=True, eq=False):
    """The plugins of a release and where they run."""

    release: str
    """The release's name."""
    rules: FrameworkRules
    """The release's."""
    profiles: Profiles
    """As configured."""
    known: Mapping[str, Collection[Point]]
    """Every plugin there is → the points it takes part in."""

    def rows(self, frame: Framework) -> Iterator[tuple[Point, str, int | None]]:
        """(point, plugin, its weight where that counts) in the order they run."""
        weights = {Point.SCORE: frame.score_weights, Point.PLACEMENT_SCORE: frame.placement_weights}
        for point in self.rules.points:
            for plugin in frame.at(point):
                yield point, plugin.name, weights[point].get(plugin.name) if point in weights else None

    def points(self, name: str) -> list[str]:
        """Where a plugin takes part, in the order in which points run."""
        return [point.value for point in self.rules.points if point in self.known[name]]

    def enabled(self, name: str) -> list[str]:
        """The profiles that enable a plugin."""
        return [profile for profile, frame in self.profiles.items() if name in frame.instances]


def profiles_of(flags: EngineOptions) -> Found:
    """What the options configure. Raises ConfigError with every problem."""
    spec = flags.spec()
    engine = spec.framework_engine(remark)
    profiles = engine.profiles(engine.services(ClusterCache(spec.release_view())))
    return Found(flags.release, engine.rules, profiles, spec.points())


def plugins_table(found: Found) -> str:
    """A line for every plugin of every point, then one for every plugin there is."""
    screen = screen_of(sys.stdout)
    comma = "," if screen.width is None else ", "
    running = [("PROFILE", "POINT", "PLUGIN", "WEIGHT")]
    for profile, frame in found.profiles.items():
        for point, name, weight in found.rows(frame):
            running.append((profile, point.value, name, "" if weight is None else str(weight)))
    known = [("PLUGIN", "POINTS", "PROFILES")]
    for name in sorted(found.known):
        known.append((name, comma.join(found.points(name)), comma.join(found.enabled(name)) or NONE))
    return f"{table(running, screen, keys=3)}\n\n{table(known, screen, gives_way=1, keys=1)}"


def plugins_document(found: Found) -> dict[str, Any]:
    """The same as data; providers where the release has some."""
    document: dict[str, Any] = {
        "release": found.release,
        "profiles": [
            {"schedulerName": profile, "points": _points(found, frame)} for profile, frame in found.profiles.items()
        ],
        "plugins": [
            {"name": name, "points": found.points(name), "profiles": found.enabled(name)}
            for name in sorted(found.known)
        ],
    }
    if found.rules.policies is not None:
        document["providers"] = sorted(found.rules.policies.providers)
    return document


def _points(found: Found, frame: Framework) -> dict[str, list[dict[str, Any]]]:
    points: dict[str, list[dict[str, Any]]] = {}
    for point, name, weight in found.rows(frame):
        entry = {"name": name} if weight is None else {"name": name, "weight": weight}
        points.setdefault(point.value, []).append(entry)
    return points
