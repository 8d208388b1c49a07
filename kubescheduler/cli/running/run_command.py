"""``kubescheduler run``: the scheduler itself, in a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kubescheduler.cli.common_options import PLUGIN, RELEASE
from kubescheduler.cli.terminal.help_groups import GroupedCommand

if TYPE_CHECKING:
    from kubescheduler.live.flags.flag_parsing import FlagValues
    from kubescheduler.live.process.release_live import LiveRelease

EXTRA = "kubescheduler run needs the extra 'live': pip install 'kubescheduler[live]'"


@click.command(
    cls=GroupedCommand,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    epilog="Exit status: that of the release's kube-scheduler; 2 wrong input or usage.",
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

    from clusterstate.errors import ConfigError
    from kubescheduler.live.flags.flag_parsing import flag_help, parse_flags

    if importlib.util.find_spec("aiohttp") is None:
        raise click.UsageError(EXTRA)
    from kubescheduler.live.process.release_live import live_release

    try:
        live = live_release(release)
        values = parse_flags(live.flags, flags)
        if values["help"]:
            click.echo(flag_help(live.flags), nl=False)
            return 0
        return _run(live, values, plugin, context)
    except ConfigError as error:
        raise click.UsageError("\n".join(error.problems)) from None


def _run(live: LiveRelease, values: FlagValues, plugin: tuple[str, ...], context: str | None) -> int:
    import os
    import signal
    import sys

    from kubescheduler.cli.plugin_options import plugins_for
    from kubescheduler.live.process.process_options import engine_spec, process_settings
    from kubescheduler.live.process.scheduler_process import SchedulerProcess

    def say(line: str) -> None:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()

    spec = engine_spec(live, values, plugins_for(live.name, plugin), os.environ)
    process = SchedulerProcess(process_settings(live, spec, values, context, say), say)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: process.stop())
    return process.run()
