"""``kubescheduler snapshot``: a live cluster as a file for all other commands."""

from __future__ import annotations

import click

from kubescheduler.cli.cluster_options import CONTEXT, KUBECONFIG
from kubescheduler.cli.common_options import file_option
from kubescheduler.cli.help_groups import CheckedCommand


@click.command(
    cls=CheckedCommand,
    short_help="Save a cluster as a file.",
    epilog="Exit status: 0 it is saved, 2 the server cannot be reached or refuses, or wrong input or usage.",
)
@KUBECONFIG
@CONTEXT
@file_option("-o", "--output", required=True, help="Where it goes (.json, .yaml, .gz of them).")
@click.option(
    "--redact", is_flag=True, help="Replace names, images and values of labels, and leave out what nobody decides by."
)
def snapshot(kubeconfig: str | None, context: str | None, output: str, redact: bool) -> int:
    """Save everything of a cluster that scheduling reads, for the commands that take CLUSTER.

    All objects are of one resourceVersion, as the API server had them at one moment; where it no longer has that
    version of some kind, the versions are said. Nothing is written to the cluster.

    \b
    Examples:
      kubescheduler snapshot -o cluster.json.gz
      kubescheduler snapshot --context production --redact -o cluster.yaml
    """
    from kubescheduler.cli.cluster_files import check_target, save_server_cluster
    from kubescheduler.cli.cluster_options import ServerCluster

    check_target(output, "-o")
    save_server_cluster(ServerCluster(kubeconfig or "", context), output, "-o", redact=redact)
    return 0
