"""``kubescheduler registry``: what can be named in a policy or provider."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kubescheduler.cli.options import FEATURE_GATES, PLUGIN, RELEASE, OneOf

if TYPE_CHECKING:
    from algorithmprovider.registry import Registry


@click.command()
@RELEASE
@PLUGIN
@FEATURE_GATES
@click.option(
    "-o", "--output", type=OneOf(["table", "json"]), default="table", show_default=True, help="JSON says more."
)
def registry(release: str, plugin: tuple[str, ...], feature_gates: str, output: str) -> None:
    """List the predicates, priorities and providers of a release.

    \b
    Examples:
      kubescheduler registry
      kubescheduler registry --feature-gates EvenPodsSpread=true -o json
    """
    from algorithmprovider import registry as registry_of
    from kubescheduler.cli.plugins import load_plugins
    from kubescheduler.config.gates import parse_gates

    load_plugins(plugin)
    known = registry_of(release, parse_gates(release, feature_gates))
    click.echo(registry_json(release, known) if output == "json" else registry_table(known))


def registry_table(registry: Registry) -> str:
    """What a policy or provider can name, with who has it by default."""
    from kubescheduler.cli.output import NONE, table

    rows = [("KIND", "NAME", "WEIGHT", "PROVIDERS")]
    for kind, names in (("predicate", registry.fit_predicates), ("priority", registry.priorities)):
        for name in sorted(names):
            weight = str(registry.priorities[name].weight) if kind == "priority" else ""
            rows.append((kind, name, weight, ",".join(_providers(registry, kind, name)) or NONE))
    rows += [("provider", name, "", "") for name in sorted(registry.providers)]
    return table(rows)


def _providers(registry: Registry, kind: str, name: str) -> list[str]:
    return sorted(
        key
        for key, provider in registry.providers.items()
        if name in (provider.predicates if kind == "predicate" else provider.priorities)
    )


def registry_json(release: str, registry: Registry) -> str:
    import msgspec

    document = {
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
        "ordering": registry.ordering,
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
