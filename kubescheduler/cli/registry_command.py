"""``kubescheduler registry``: what can be named in a policy, a provider or a profile, and what runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kubescheduler.cli.common_options import OneOf
from kubescheduler.cli.engine_options import EngineOptions, selection_options
from kubescheduler.cli.terminal.help_groups import GroupedCommand
from kubescheduler.engine.spec_fields import OPTIONS, SOURCES

if TYPE_CHECKING:
    from algorithmprovider.registry import Registry


@click.command(cls=GroupedCommand, epilog="Exit status: 0 everything is listed, 2 wrong input or usage.")
@selection_options
@click.option(
    "-o",
    "--output",
    type=OneOf(["table", "json", "yaml"]),
    default="table",
    show_default=True,
    help="json and yaml say more.",
)
def registry(engine: EngineOptions, output: str) -> int:
    """List the predicates, priorities and providers of a release, or its plugins and where they run.

    \b
    Examples:
      kubescheduler registry
      kubescheduler registry --feature-gates EvenPodsSpread=true -o json
      kubescheduler registry --release 1.36 --config scheduler.yaml
      kubescheduler registry --release 1.20 --policy-config-file policy.json
    """
    from kubescheduler.releases.lookup import RELEASES

    if RELEASES[engine.release].framework is not None:
        from kubescheduler.cli.registry_of_plugins import plugins_document, plugins_table, profiles_of

        found = profiles_of(engine)
        shown = plugins_table(found) if output == "table" else _text(plugins_document(found), output)
    else:
        known = _algorithms(engine)
        shown = registry_table(known) if output == "table" else _text(registry_document(engine.release, known), output)
    click.echo(shown)
    return 0


def _text(document: dict[str, Any], output: str) -> str:
    from kubescheduler.sources.foreign_text import json_text, yaml_dumper

    if output == "json":
        return json_text(document, 2)
    return yaml_dumper()(document).rstrip("\n")


# --- predicates, priorities, providers -------------------------------------------------------


def _algorithms(engine: EngineOptions) -> Registry:
    """Raises ConfigError for options that choose among what is listed anyway."""
    from clusterstate.errors import ConfigError
    from kubescheduler.engine.plugin_options import load_plugins
    from kubescheduler.releases.lookup import RELEASES
    from kubescheduler.releases.names import FRAMEWORK_RELEASES

    given = [OPTIONS[field] for field in SOURCES if engine.said.get(field) is not None]
    if given:
        others = " or ".join(FRAMEWORK_RELEASES)
        text = f"release {engine.release} lists all that there is; leave this out, or choose --release {others}"
        raise ConfigError(f"{flag}: {text}" for flag in given)
    load_plugins(engine.plugin)
    record = RELEASES[engine.release]
    return record.legacy_rules.registry(record.gates.parse(engine.said["feature_gates"]))


def registry_table(registry: Registry) -> str:
    """What a policy or provider can name, with who has it by default."""
    import sys

    from kubescheduler.cli.tables import NONE, table
    from kubescheduler.cli.terminal.screen import screen_of

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
