"""``kubescheduler sweep``: many clusters, many configurations, one row each."""

from __future__ import annotations

import functools
import os
import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from kubescheduler.cli.cluster_options import ClusterPlace, cluster_options
from kubescheduler.cli.common_options import (
    EXTENDERS,
    NO_DEFAULTING,
    PLUGIN,
    PREEMPT,
    RUNNING,
    VALIDATE,
    choice_option,
    file_option,
    number_option,
    pod_files_option,
    specs,
)
from kubescheduler.cli.help_groups import GroupedCommand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterstate.manifests.fields import Judgement
    from kubescheduler.sweep.cases import Case, Configuration
    from kubescheduler.sweep.rows import Rows
    from kubescheduler.sweep.sweeping import Runner, SweepSummary

FEW = 10
"""Cases that take long enough for a progress bar."""
SHOWN = 5
"""Errors that are told of; all are in the rows."""


@click.command(
    cls=GroupedCommand,
    short_help="Run many clusters with many configurations.",
    epilog="Exit status: 0 every case has its row, 2 an error: some row has one, no case has a pod, or wrong input or "
    "usage.",
)
@partial(cluster_options, name="snapshots")
@click.option(
    "--config-spec",
    "--spec",
    "config_specs",
    shell_complete=specs,
    multiple=True,
    metavar="KEY=VALUE,…",
    help="A configuration, as release=1.16,policy=p.json.  [repeatable]",
)
@file_option(
    "--grid",
    "grid_files",
    multiple=True,
    help="Configurations with every combination of weights: TOML, YAML or JSON.  [repeatable]",
)
@EXTENDERS
@PLUGIN
@click.option("--seeds", metavar="0..9", help="Run each with these seeds of the tie-break.  [default: first by name]")
@choice_option(
    "--tie-break",
    choices=["random", "upstream"],
    help="With --seeds, among equal totals: any, or as the release does it.",
)
@pod_files_option(
    "pod_files",
    "--pods",
    "Pods to schedule: manifests, controllers with a pod template, or a .csv trace.  "
    "[default: each snapshot's pending ones]",
)
@RUNNING
@PREEMPT
@VALIDATE
@click.option("--whole-folders", is_flag=True, help="A folder is one snapshot, as schedule reads it.")
@NO_DEFAULTING
@file_option("--out", required=True, help="Where the rows go: .csv, or .parquet.")
@click.option("--placements", is_flag=True, help="Add a column with the node of every pod, as JSON.")
@click.option(
    "--timings", is_flag=True, help="Add a column with the seconds of deciding; then rows differ between runs."
)
@click.option("--retry-errors", is_flag=True, help="Run again what has a row with an error.")
@number_option("--workers", help="Local processes.  [default: one per CPU]")
@click.option("--scheduler", metavar="tcp://HOST:PORT", help="Run on this dask.distributed cluster instead.")
def sweep(
    snapshots: tuple[ClusterPlace, ...],
    config_specs: tuple[str, ...],
    grid_files: tuple[str, ...],
    extenders: str,
    plugin: tuple[str, ...],
    seeds: str | None,
    tie_break: str,
    pod_files: tuple[str, ...],
    running: str | None,
    validate: Judgement | None,
    whole_folders: bool,
    no_defaulting: bool,
    out: str,
    retry_errors: bool,
    workers: int | None,
    scheduler: str | None,
    **wanted: bool,
) -> int:
    """Schedule the pods of SNAPSHOTS with every configuration and seed, one row for each case.

    SNAPSHOTS are files, globs, and folders, in which every file and every folder is a snapshot. A case that is in the
    output already is not run again, so a sweep that was stopped goes on with the same command. With --kubeconfig the
    one snapshot is the cluster as it is now, saved beside the rows; a sweep that goes on takes what is saved there.

    \b
    Examples:
      kubescheduler sweep snapshots/ --config-spec release=1.16 --config-spec release=1.36 --out rows.csv
      kubescheduler sweep 'snapshots/*.json' --grid weights.toml --seeds 0..9 --out rows.parquet
      kubescheduler sweep snapshots/ --grid weights.toml --out rows.csv --scheduler tcp://10.0.0.1:8786
    """
    from clusterstate.errors import InputError, attempt
    from kubescheduler import __version__
    from kubescheduler.sweep.cases import CustomModules, SweepOptions, cases_of, find_snapshots, parse_seeds
    from kubescheduler.sweep.rows import check_output, columns_of, open_rows
    from kubescheduler.sweep.run_case import with_certificates
    from kubescheduler.sweep.sweeping import check_dask

    if scheduler is not None and workers is not None:
        raise click.UsageError("--workers is for local processes: leave it out, or leave out --scheduler")
    if pod_files and running is not None:
        raise click.UsageError("say which pods to schedule: either --pods FILE or --running")
    problems: list[str] = []
    clusters = attempt(problems, lambda: find_snapshots(_files_of(snapshots, out), whole_folders=whole_folders))
    configurations = attempt(problems, _configurations, config_specs, grid_files, extenders)
    numbers = attempt(problems, lambda: () if seeds is None else parse_seeds(seeds))
    pods = attempt(problems, _pod_files, pod_files)
    modules = attempt(problems, CustomModules.of, plugin)
    attempt(problems, check_output, out)
    if scheduler is not None:
        attempt(problems, check_dask, scheduler)
    if clusters is None or configurations is None or numbers is None or pods is None or modules is None or problems:
        raise InputError(problems)
    sent = [one if scheduler is None else with_certificates(one, modules) for one in configurations]
    options = SweepOptions(
        pods,
        tie_break,
        **wanted,
        running=running or "",
        version=__version__,
        validate=validate,
        defaulting=not no_defaulting,
        modules=modules,
    )
    cases = cases_of(clusters, sent, numbers, options)
    _tell_of_twins(len(clusters) * len(sent) * max(1, len(numbers)) - len(cases))
    rows = open_rows(out, columns_of(**wanted, running=running is not None))
    summary = _sweep(cases, _runner(scheduler, workers), rows, out, retry_errors=retry_errors)
    asked = sum(int(rows.rows[case.id].get("pods") or 0) for case in cases)
    return _report(summary, asked, out)


def _files_of(places: Sequence[ClusterPlace], out: str) -> list[str]:
    """Names of files; of a server's cluster one that is saved now, unless it was saved before. Raises InputError."""
    from kubescheduler.cli.cluster_files import check_target, save_server_cluster

    names: list[str] = []
    for place in places:
        if isinstance(place, str):
            names.append(place)
            continue
        names.append(f"{out}.cluster.json.gz")
        check_target(names[-1], "--out")
        if not os.path.exists(names[-1]):
            save_server_cluster(place, names[-1], "--out")
    return names


def _configurations(specs: Sequence[str], grids: Sequence[str], extenders: str) -> list[Configuration]:
    """All of them, the default one if there is none. Raises ConfigError with the faults of all."""
    from clusterstate.errors import ConfigError, attempt
    from kubescheduler.engine.engine_flags import max_pd_volumes
    from kubescheduler.engine.spec import EngineSpec
    from kubescheduler.sweep.cases import Configuration
    from kubescheduler.sweep.weights import DEFAULT_BASE, read_grid

    problems: list[str] = []
    out: list[Configuration] = []
    volumes = max_pd_volumes(os.environ)
    for text in specs or (() if grids else (DEFAULT_BASE,)):
        spec = attempt(problems, EngineSpec.parse, text, max_pd_volumes=volumes)
        if spec is not None:
            out.append(Configuration(text or DEFAULT_BASE, spec))
    for path in grids:
        out += attempt(problems, read_grid, path, max_pd_volumes=volumes) or ()
    if problems:
        raise ConfigError(problems)
    out = [one.asking(extenders) for one in out]
    for one in out:
        attempt(problems, getattr, one.spec, "extender_access")
    if problems:
        raise ConfigError(dict.fromkeys(problems))
    return out


def _pod_files(paths: Sequence[str]) -> tuple[str, ...]:
    """The files of --pods. Raises InputError with every one that is not there."""
    from clusterstate.errors import InputError
    from kubescheduler.sources.files import is_special
    from kubescheduler.sweep.cases import manifests

    problems = [f"--pods {path}: no such file or folder; check the path" for path in paths if not os.path.exists(path)]
    problems += [
        f"--pods {path}: this is no regular file, and a sweep reads it often" for path in paths if is_special(path)
    ]
    if problems:
        raise InputError(problems)
    return tuple(name for path in paths for name in manifests(path))


def _tell_of_twins(number: int) -> None:
    if number:
        from kubescheduler.cli.engine_options import remark

        remark(f"{number} cases are the same as others: equal snapshots or configurations have one row")


def _runner(scheduler: str | None, workers: int | None) -> Runner:
    if scheduler is not None:
        from kubescheduler.sweep.sweeping import run_on_dask

        return functools.partial(run_on_dask, address=scheduler)
    from kubescheduler.sweep.sweeping import run_locally

    return functools.partial(run_locally, workers=workers or os.cpu_count() or 1)


def _sweep(cases: Sequence[Case], runner: Runner, rows: Rows, out: str, *, retry_errors: bool) -> SweepSummary:
    """Runs what has no row. An interrupt says how to go on."""
    from kubescheduler.cli.engine_options import remark
    from kubescheduler.cli.progress import progress
    from kubescheduler.sweep.sweeping import sweep as run_sweep

    try:
        with progress("sweeping", sys.stderr, smallest=FEW) as tell:
            return run_sweep(cases, runner, rows, retry_errors=retry_errors, progress=tell, notice=remark)
    except KeyboardInterrupt:
        there = sum(case.id in rows.rows for case in cases)
        remark(f"{there} of {len(cases)} cases are in {out}; run the same command again to go on")
        raise click.Abort from None


def _report(summary: SweepSummary, asked: int, out: str) -> int:
    """The counts, and the errors that most rows have. asked: how many pods the cases had to place, all together."""
    from collections import Counter

    from kubescheduler.cli.engine_options import remark
    from kubescheduler.cli.output import table
    from kubescheduler.sources.untrusted import shown

    counts = (summary.cases, summary.there, summary.new, len(summary.failed))
    click.echo(table([("CASES", "THERE", "NEW", "FAILED", "ROWS"), (*map(str, counts), out)]))
    errors = Counter(error for _, error in summary.failed)
    for error, times in errors.most_common(SHOWN):
        click.echo(f"error: {shown(f'{times} failed: {error}')}", err=True)
    if len(errors) > SHOWN:
        remark(f"there are {len(errors) - SHOWN} more errors; see the error column of {out}")
    if not (summary.failed or asked):
        click.echo(
            "error: no pod was placed: no snapshot has a pending one; name some with --pods or --running", err=True
        )
    return 2 if summary.failed or not asked else 0
