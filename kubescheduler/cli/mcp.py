"""``kubescheduler mcp``: tools for assistants, over one cluster."""

from __future__ import annotations

import importlib.util
from functools import partial
from pathlib import Path
from typing import Any

import click

from kubescheduler.cli.cluster_options import ClusterPlace, check_standard_input, cluster_options
from kubescheduler.cli.common_options import FILE, ReleaseName
from kubescheduler.cli.help_groups import GroupedCommand
from kubescheduler.releases.names import RELEASE_NAMES

EXTRA = "kubescheduler mcp needs the extra 'mcp': pip install 'kubescheduler[mcp]'"


@click.command(
    cls=GroupedCommand,
    short_help="Serve tools for assistants by the Model Context Protocol.",
    epilog="Exit status: 0 the client has gone, 2 wrong input or usage.",
)
@cluster_options
@click.option(
    "--release",
    type=ReleaseName(RELEASE_NAMES),
    default="1.16",
    show_default=True,
    help="Whose rules decide, unless a call says another.",
)
@click.option("--policy-config-file", type=FILE, metavar="FILE", help="A Policy to decide by.")
@click.option("--config", type=FILE, metavar="FILE", help="A KubeSchedulerConfiguration to decide by.")
@click.option("--feature-gates", metavar="A=true,B=false", help="As kube-scheduler takes them.")
@click.option(
    "--allow-paths",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Calls may name files in this folder as their cluster.  [default: none]",
)
@click.option(
    "--http",
    type=click.IntRange(1, 65535),
    metavar="PORT",
    help="Serve streamable HTTP on 127.0.0.1 at this port.  [default: stdio]",
)
@click.option("--patience", type=click.FloatRange(min=1), default=60.0, show_default=True, help="Seconds for one call.")
def mcp(
    cluster: tuple[ClusterPlace, ...],
    release: str,
    policy_config_file: str | None,
    config: str | None,
    feature_gates: str | None,
    allow_paths: Path | None,
    http: int | None,
    patience: float,
) -> int:
    """Serve what CLUSTER is asked about as tools for an assistant: decide, why, hint, compare, capacity, drain, outage,
    nodes, explain, registry.

    CLUSTER is files, folders, or with --context a cluster's API server, read anew for every call. No tool changes
    anything, and none reads another file or asks another server.

    \b
    Examples:
      kubescheduler mcp cluster.yaml --release 1.36
      kubescheduler mcp --context prod --release cluster --http 8137
    """
    from clusterstate.errors import InputError
    from kubescheduler.api.engine_choice import engine_spec
    from kubescheduler.cli.cluster_files import read_shown

    if importlib.util.find_spec("mcp") is None:
        raise InputError(EXTRA)
    check_standard_input(cluster)
    if "-" in cluster:
        raise click.UsageError("CLUSTER: standard input is the client's; name a file")
    from kubescheduler.mcp_tools import Tools, server_of

    decided_by: dict[str, Any] = {"policy": policy_config_file, "config": config, "gates": feature_gates}
    engine_spec(release, **decided_by).engine(lambda _: None)  # what is wrong is said now, and not to an assistant
    read = partial(read_shown, cluster, defaulting=True, keep_manifests=True)
    read(release)
    tools = Tools(read, release, {name: said for name, said in decided_by.items() if said is not None}, allow_paths)
    server = server_of(tools, patience)
    if http is None:
        server.run("stdio")
    else:
        server.run("streamable-http", host="127.0.0.1", port=http)
    return 0
