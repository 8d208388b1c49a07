"""``kubescheduler registry``: what can be named in a policy, a provider or a profile, and what runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from kubescheduler.cli.common_options import output_option
from kubescheduler.cli.engine_options import EngineOptions, remark, selection_options
from kubescheduler.cli.help_groups import GroupedCommand
from kubescheduler.engine.spec_fields import OPTIONS, SOURCES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from algorithmprovider.registry import Registry
    from kubescheduler.framework.contract.profile import Point
    from kubescheduler.framework.framework_runtime import Framework
    from kubescheduler.framework.profile_map import Profiles
    from kubescheduler.releases.release import FrameworkRules


@click.command(cls=GroupedCommand, epilog="Exit status: 0 everything is listed, 2 wrong input or usage.")
@selection_options
@output_option("table", "json", "yaml", help="json and yaml say more.")
def registry(engine: EngineOptions, output: str) -> int:
    """List the predicates, priorities and providers of a release, or its plugins and where they run.

    \b
    Examples:
      kubescheduler registry
      kubescheduler registry --feature-gates EvenPodsSpread=true -o json
      kubescheduler registry --release 1.36 --config scheduler.yaml
      kubescheduler registry --release 1.20 --policy-config-file policy.json
    """
    from kubescheduler.cli.output import document_text
    from kubescheduler.releases.lookup import RELEASES

    if RELEASES[engine.release].framework is not None:
        plugins = profiles_of(engine)
        shown = plugins_table(plugins) + "\n" if output == "table" else document_text(plugins_document(plugins), output)
    else:
        known = _algorithms(engine)
        document = registry_document(engine.release, known)
        shown = registry_table(known) + "\n" if output == "table" else document_text(document, output)
    click.echo(shown, nl=False)
    return 0


# --- predicates, priorities, providers -------------------------------------------------------


def _algorithms(engine: EngineOptions) -> Registry:
    """Raises ConfigError for options that choose among what is listed anyway."""
    from clusterstate.errors import ConfigError
    from kubescheduler.engine.plugin_options import load_plugins
    from kubescheduler.releases.lookup import RELEASES
    from kubescheduler.releases.names import FRAMEWORK_RELEASES, spoken

    given = [OPTIONS[field] for field in SOURCES if engine.said.get(field) is not None]
    if given:
        others = spoken(FRAMEWORK_RELEASES, "or")
        text = f"release {engine.release} lists all that there is; leave this out, or choose --release {others}"
        raise ConfigError(f"{flag}: {text}" for flag in given)
    load_plugins(engine.plugin)
    record = RELEASES[engine.release]
    return record.legacy_rules.registry(record.gates.parse(engine.said["feature_gates"]))


def registry_table(registry: Registry) -> str:
    """What a policy or provider can name, with who has it by default."""
    from kubescheduler.cli.output import NONE, screen_of, table

    screen = screen_of(sys.stdout)
    comma = "," if screen.width is None else ", "
    rows = [("KIND", "NAME", "WEIGHT", "PROVIDERS")]
    for kind, names in (("predicate", registry.fit_predicates), ("priority", registry.priorities)):
        for name in sorted(names):
            weight = str(registry.priorities[name].weight) if kind == "priority" else ""
            rows.append((kind, name, weight, comma.join(_providers(registry, kind, name)) or NONE))
    rows += [("provider", name, "", "") for name in sorted(registry.providers)]
    return table(rows, screen, gives_way=3, keys=2)


def _providers(registry: Registry, kind: str, name: str) -> list[str]:
    return sorted(
        key
        for key, provider in registry.providers.items()
        if name in (provider.predicates if kind == "predicate" else provider.priorities)
    )


def registry_document(release: str, registry: Registry) -> dict[str, Any]:
    """The registry as JSON shows it."""
    return {
        "release": release,
        "predicates": [
            {
                "name": name,
                "mandatory": name in registry.mandatory,
                "runs": name in registry.ordering,
                "providers": _providers(registry, "predicate", name),
            }
            for name in sorted(registry.fit_predicates)
        ],
        "priorities": [
            {"name": name, "weight": factory.weight, "providers": _providers(registry, "priority", name)}
            for name, factory in sorted(registry.priorities.items())
        ],
        "providers": [
            {"name": name, "predicates": sorted(p.predicates), "priorities": sorted(p.priorities)}
            for name, p in sorted(registry.providers.items())
        ],
        "ordering": list(registry.ordering),
    }


# --- plugins ---------------------------------------------------------------------------------


class RunningPlugins(NamedTuple):
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
        from kubescheduler.framework.contract.profile import Point

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


def profiles_of(flags: EngineOptions) -> RunningPlugins:
    """What the options configure. Raises ConfigError with every problem."""
    from clusterstate.cache import ClusterCache

    spec = flags.spec()
    engine = spec.framework_engine(remark)
    profiles = engine.profiles(engine.services(ClusterCache(spec.release_view())))
    return RunningPlugins(flags.release, engine.rules, profiles, spec.points())


def plugins_table(found: RunningPlugins) -> str:
    """A line for every plugin of every point, then one for every plugin there is."""
    from kubescheduler.cli.output import NONE, screen_of, table

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


def plugins_document(found: RunningPlugins) -> dict[str, Any]:
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
        document["providers"] = sorted(found.rules.component.providers)
    return document


def _points(found: RunningPlugins, frame: Framework) -> dict[str, list[dict[str, Any]]]:
    points: dict[str, list[dict[str, Any]]] = {}
    for point, name, weight in found.rows(frame):
        entry = {"name": name} if weight is None else {"name": name, "weight": weight}
        points.setdefault(point.value, []).append(entry)
    return points
