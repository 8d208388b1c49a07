"""``kubescheduler run``: the scheduler itself, in a cluster."""

from __future__ import annotations

import click

from kubescheduler.cli.common_options import PLUGIN, RELEASE
from kubescheduler.cli.terminal.help_groups import GroupedCommand

EXTRA = "kubescheduler run needs the extra 'live': pip install 'kubescheduler[live]'"


@click.command(
    cls=GroupedCommand,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    epilog="Exit status: 0 asked to end, 1 faulty flags or files, 255 (1.36: 1) lost leadership; 2 wrong usage here.",
)
@RELEASE
@PLUGIN
@click.option("--context", metavar="NAME", help="The context of the kubeconfig; by default its current one.")
@click.argument("flags", nargs=-1, type=click.UNPROCESSED, metavar="[FLAG]...")
def run(release: str, plugin: tuple[str, ...], context: str | None, flags: tuple[str, ...]) -> int:
    """Schedule the pods of a cluster, as kube-scheduler of the release does.

    FLAGs are those of the release's kube-scheduler: --kubeconfig, --config, --leader-elect, --secure-port and so on;
    ``kubescheduler run --release 1.36 -- --help`` lists them.

    \b
    Examples:
      kubescheduler run --release 1.36 --kubeconfig ~/.kube/config --leader-elect=false
      kubescheduler run --release 1.16 --policy-config-file policy.json --scheduler-name old-scheduler
    """
    import importlib.util

    if importlib.util.find_spec("aiohttp") is None:
        raise click.UsageError(EXTRA)
    from clusterstate.errors import ConfigError
    from kubescheduler.cli.plugin_options import plugins_for
    from kubescheduler.cli.running.whole_run import whole_run
    from kubescheduler.live.process.release_live import live_release

    try:
        live = live_release(release)
    except ConfigError as error:
        raise click.UsageError("\n".join(error.problems)) from None
    return whole_run(live, flags, plugins_for(live.name, plugin), context)
