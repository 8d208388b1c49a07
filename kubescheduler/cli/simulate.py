"""``kubescheduler simulate``: pods that come and go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kubescheduler.cli.cluster_options import (
    MIRROR,
    WorkloadOption,
    check_mirror,
    check_standard_input,
    cluster_options,
)
from kubescheduler.cli.common_options import ERROR_STATUS, FILE, OneOf, pod_files_option
from kubescheduler.cli.engine_options import EngineOptions, question_options, remarks
from kubescheduler.cli.help_groups import GroupedCommand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubescheduler.api.cluster import Cluster
    from kubescheduler.cli.cluster_options import ClusterPlace
    from kubescheduler.engine.spec import Engine, PodScheduler
    from kubescheduler.report.simulator_export import Results
    from kubescheduler.simulation.timeline import RunEvent
    from kubescheduler.simulation.workload import Workload

LONG = 2000
"""Events that take long enough for a progress bar."""


@click.command(
    cls=GroupedCommand,
    epilog=f"Exit status: 0 every pod got a node, 1 some pod got none, {ERROR_STATUS}",
)
@cluster_options
@pod_files_option("workload_files", "--workload", "What comes.", cls=WorkloadOption, required=True)
@MIRROR
@click.option("--pending", is_flag=True, help="The cluster's pending pods come too, at the start.")
@click.option("--preempt", is_flag=True, help="Pods may take the place of pods with a lower priority.")
@click.option(
    "--grace",
    type=click.FloatRange(min=0),
    default=0,
    show_default=True,
    metavar="SECONDS",
    help="How long preempted pods take to leave.",
)
@question_options
@click.option(
    "-o",
    "--output",
    type=OneOf(["table", "wide", "json", "csv", "timeline", "events", "simulator"]),
    default="table",
    show_default=True,
    help="csv has a line for each pod, timeline for each moment; json has everything; events are "
    "JSON lines as they happen; simulator is kube-scheduler-simulator's export.",
)
@click.option("--plot", metavar="FILE", type=FILE, help="Draw utilisation over time (.svg, or .png with matplotlib).")
def simulate(
    cluster: tuple[ClusterPlace, ...],
    workload_files: tuple[str, ...],
    mirror: str | None,
    pending: bool,
    preempt: bool,
    grace: float,
    engine: EngineOptions,
    output: str,
    plot: str | None,
) -> int:
    """Run a workload on CLUSTER: files, folders, .csv files of nodes, or - for standard input.

    A workload has pods, controllers with a pod template (Deployment, ReplicaSet, StatefulSet, ReplicationController,
    Job, CronJob, DaemonSet), nodes that join, or is a .csv trace. Annotations say when they come and how long they
    stay: kubescheduler/arrives-after and kubescheduler/duration, as in 90, 15m or 1h30m. The clock is virtual.

    \b
    Examples:
      kubescheduler simulate cluster.yaml --workload deployment.yaml
      kubescheduler simulate cluster.yaml --workload batch.yaml --preempt -o json
      kubescheduler simulate openb_nodes.csv --workload openb_pods.csv --plot openb.svg
      kubescheduler simulate --mirror day.jsonl.gz --release 1.36 -o csv
    """
    from clusterstate.errors import InputError, attempt
    from kubescheduler.cli.inputs import mirrored_inputs, nothing_collected

    check_standard_input(cluster, workload_files)
    check_mirror(mirror, cluster, workload_files)
    problems: list[str] = []
    with nothing_collected():
        configured = attempt(problems, engine.engine)
        inputs = attempt(
            problems,
            lambda: (
                _inputs(cluster, workload_files, pending, engine)
                if mirror is None
                else mirrored_inputs(mirror, engine.release, engine.gates)
            ),
        )
        attempt(problems, _check_plot, plot)
        if configured is None or inputs is None or problems:
            raise InputError(problems)
        there, workload = inputs
        scheduler = engine.scheduler(configured, there)
    return _run(engine, configured, scheduler, there, workload, preempt=preempt, grace=grace, output=output, plot=plot)


def _check_plot(plot: str | None) -> None:
    """See ``check_plot``; nothing is imported where nothing is drawn."""
    if plot is not None:
        from kubescheduler.simulation.plot import check_plot

        check_plot(plot)


def _run(
    engine: EngineOptions,
    configured: Engine,
    scheduler: PodScheduler,
    there: Cluster,
    workload: Workload,
    *,
    preempt: bool,
    grace: float,
    output: str,
    plot: str | None,
) -> int:
    """Runs the workload, draws and prints; the exit status."""
    import sys

    from kubescheduler.cli.decision_text import PassedOverExtenders, given_up
    from kubescheduler.cli.output import screen_of
    from kubescheduler.cli.progress import progress
    from kubescheduler.cli.simulate_output import rendered_report
    from kubescheduler.simulation.simulation import Simulation
    from kubescheduler.simulation.timeline import Kind, RunEvent

    notes = engine.notes(configured)
    results = _plugin_results(scheduler, notes) if output == "simulator" else None
    passed_over = PassedOverExtenders()
    observers = [] if results is None else [results.note]
    observers += [passed_over.note] if scheduler.algorithm.extenders else []
    listen = _print_event if output == "events" else None
    for note in notes if listen is not None else ():
        _print_event(RunEvent(0.0, Kind.NOTE, message=note))
    with progress("simulating", sys.stderr, smallest=LONG, hidden=listen is not None and sys.stdout.isatty()) as tell:
        report = Simulation(
            scheduler, workload, preempt=preempt, grace=grace, progress=tell, observers=observers, listen=listen
        ).run()
    if plot is not None:
        from kubescheduler.simulation.plot import write_plot

        write_plot(report, plot, notes)
    pieces = (
        () if listen is not None else rendered_report(report, output, [*notes, *report.notes()], screen_of(sys.stdout))
    )
    if results is not None:
        from kubescheduler.report.simulator_export import export_text

        remarks(results.dropped())
        pieces = export_text(there.objects, results, configured.document)
    for piece in pieces:
        click.echo(piece, nl=False)
    remarks(passed_over.remarks())
    if errors := [(record.pod.key, record.message) for record in report.failed]:
        return given_up(errors)
    return 0 if report.every_pod_had_a_node else 1


def _plugin_results(scheduler: PodScheduler, notes: Sequence[str]) -> Results:
    """What gathers the results of every plugin, for an export."""
    from kubescheduler.report.simulator_export import Results

    return Results(scheduler, notes)


def _print_event(event: RunEvent) -> None:
    click.echo(event.to_json())


def _inputs(
    cluster: tuple[ClusterPlace, ...],
    files: tuple[str, ...],
    pending: bool,
    engine: EngineOptions,
) -> tuple[Cluster, Workload]:
    """The cluster and the workload. Raises DecodeError with every fault."""
    import sys

    from kubescheduler.cli.inputs import judged_like, notes_on_cluster, read_shown
    from kubescheduler.simulation.workload_files import read_workload

    there = read_shown(cluster, **engine.reading)
    workload, notes = read_workload(
        files,
        there,
        stdin=sys.stdin.buffer,
        defaulting=not engine.no_defaulting,
        pending=pending,
        release=engine.release,
        strictness=judged_like(there, engine.validate),
    )
    nodes = [arrival.node for arrival in workload.nodes]
    remarks((*(there.notes if nodes else notes_on_cluster(there)), *notes, *workload.controllers))
    return there, workload
