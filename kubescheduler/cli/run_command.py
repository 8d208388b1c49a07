"""``kubescheduler run``: the scheduler itself, in a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kubescheduler.cli.common_options import CLUSTER, PLUGIN, ReleaseName, file_option, server_version, spec_option
from kubescheduler.cli.help_groups import GroupedCommand
from kubescheduler.releases.names import RELEASE_NAMES

EXTRA = "kubescheduler run needs the extra 'live': pip install 'kubescheduler[live]'"


class ReleaseToRun(ReleaseName):
    """``cluster`` is found out once the flags are read: they name the server."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The minor release that is meant, or ``cluster``."""
        return CLUSTER if value == CLUSTER else super().convert(value, param, ctx)


def _kubeconfig_of(flags: tuple[str, ...]) -> str:
    """The kubeconfig that the flags name, or the configuration that they name; empty for none.

    Raises UsageError for --master, which names a server without a kubeconfig.
    """
    given = dict(zip(flags, (*flags[1:], ""), strict=True))
    given |= {name: value for name, equals, value in (flag.partition("=") for flag in flags) if equals}
    if "--master" in given:
        text = "--release cluster asks the server of a kubeconfig: leave out --master, or say the release"
        raise click.UsageError(text)
    if "--kubeconfig" in given or "--config" not in given:
        return given.get("--kubeconfig", "")
    from kubescheduler.config.config_text import read_configuration

    document, _ = read_configuration(Path(given["--config"]))
    return str((document.get("clientConnection") or {}).get("kubeconfig") or "")


@click.command(
    cls=GroupedCommand,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    epilog="Exit status: 0 asked to end, 1 faulty flags or files, 255 (1.36: 1) lost leadership; 2 wrong usage here.",
)
@spec_option("release", type=ReleaseToRun(RELEASE_NAMES))
@PLUGIN
@click.option("--context", metavar="NAME", help="The context of the kubeconfig; by default its current one.")
@click.option("--dry-run", is_flag=True, help="Write nothing: decide beside the real scheduler, and compare.")
@click.option(
    "--real", metavar="KEY=VALUE,…", help="The real scheduler's configuration, as for compare.  [default: RELEASE's]"
)
@file_option("--results", help="JSON lines, one for each attempt.  [default: to stdout]")
@file_option("--report", help="In the end, the page of compare -o html.")
@file_option("--mirror", help="Record the traffic, for simulate and compare --mirror.")
@click.argument("flags", nargs=-1, type=click.UNPROCESSED, metavar="[FLAG]...")
def run(
    release: str,
    plugin: tuple[str, ...],
    context: str | None,
    dry_run: bool,
    real: str | None,
    results: str | None,
    report: str | None,
    mirror: str | None,
    flags: tuple[str, ...],
) -> int:
    """Schedule the pods of a cluster, as kube-scheduler of the release does.

    FLAGs are those of the release's kube-scheduler: --kubeconfig, --config, --leader-elect, --secure-port and so on.
    What lists them is

    \b
      kubescheduler run --release 1.36 -- --help

    With --dry-run nothing is written. Each pod is decided as it appears, and once more when the real scheduler's
    choice is seen; a line says what the one did, what the other does, and why they differ. A signal ends it. Its exit
    status is 0 where everything agrees, 1 where something differs, 2 where nothing was compared, for wrong input and a
    server out of reach.

    \b
    Examples:
      kubescheduler run --release 1.36 --kubeconfig ~/.kube/config --leader-elect=false
      kubescheduler run --release 1.16 --policy-config-file policy.json --scheduler-name old
      kubescheduler run --release cluster --kubeconfig ~/.kube/config --leader-elect=false
      kubescheduler run --dry-run --release 1.36 --kubeconfig ~/.kube/config --real release=1.20
    """
    import importlib.util

    if importlib.util.find_spec("httptools") is None:
        raise click.UsageError(EXTRA)
    from clusterstate.errors import ConfigError
    from kubescheduler.cli.engine_options import remark
    from kubescheduler.cli.whole_run import whole_run
    from kubescheduler.engine.plugin_options import plugins_for
    from kubescheduler.releases.lookup import live_release

    if release == CLUSTER:
        version = server_version(_kubeconfig_of(flags), context)
        release = ReleaseName(RELEASE_NAMES).convert(version, None, None)
        remark(f"the API server is of {version}: release {release} decides")
    try:
        live = live_release(release)
    except ConfigError as error:
        raise click.UsageError("\n".join(error.problems)) from None
    if dry_run:
        from kubescheduler.cli.dry_running import DryRunOptions, whole_dry_run

        options = DryRunOptions(real or "", results or "-", report, mirror)
        return whole_dry_run(live, flags, plugins_for(live.name, plugin), context, options)
    for option, value in {"real": real, "results": results, "report": report, "mirror": mirror}.items():
        if value is not None:
            raise click.UsageError(f"--{option}: only a dry run has one; add --dry-run")
    return whole_run(live, flags, plugins_for(live.name, plugin), context)
