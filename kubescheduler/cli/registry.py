"""``kubescheduler registry``: what can be named in a policy or provider."""

from __future__ import annotations

import click

from kubescheduler.cli.options import PLUGIN, RELEASE


@click.command()
@RELEASE
@PLUGIN
@click.option("--feature-gates", metavar="A=true,B=false", default="", help="As kube-scheduler takes them.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def registry(release: str, plugin: tuple[str, ...], feature_gates: str, output: str) -> None:
    """List the predicates, priorities and providers of a release.

    \b
    Examples:
      kubescheduler registry
      kubescheduler registry --feature-gates EvenPodsSpread=true -o json
    """
    from algorithmprovider import registry as registry_of
    from kubescheduler.cli.output import registry_json, registry_table
    from kubescheduler.cli.plugins import load_plugins
    from kubescheduler.config.gates import parse_gates

    load_plugins(plugin)
    known = registry_of(release, parse_gates(release, feature_gates))
    click.echo(registry_json(release, known) if output == "json" else registry_table(known))
