"""``kubescheduler simulate``: pods that come and go."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from kubescheduler.cli.cluster_options import MIRROR, ClusterPlace, check_mirror, check_standard_input, cluster_options
from kubescheduler.cli.common_options import FOREIGN_STATUS, file_option, output_option, pod_files_option
from kubescheduler.cli.engine_options import EngineOptions, WorkloadOption, question_options, remarks
from kubescheduler.cli.help_groups import GroupedCommand

if TYPE_CHECKING:
    from kubescheduler.api.cluster import Cluster
    from kubescheduler.engine.spec import Engine, PodScheduler
    from kubescheduler.simulation.timeline import RunEvent
    from kubescheduler.simulation.workload import Workload

LONG = 2000
"""Events that take long enough for a progress bar."""


@click.command(
    cls=GroupedCommand,
    epilog=f"Exit status: 0 every pod got a node, 1 some pod got none, {FOREIGN_STATUS}",
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
@output_option(
    *("table", "wide", "json", "csv", "timeline", "events", "simulator"),
    help="csv has a line for each pod, timeline for each moment; json has everything; events are "
    "JSON lines as they happen; simulator is kube-scheduler-simulator's export.",
)
@file_option("--plot", help="Draw utilisation over time (.svg, or .png with matplotlib).")
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
    from clusterstate.errors import both
    from kubescheduler.cli.cluster_files import mirrored_inputs, nothing_collected

    check_standard_input(cluster, workload_files)
    check_mirror(mirror, cluster, workload_files)
    read = partial(_inputs, cluster, workload_files, pending, engine)
    if mirror is not None:
        read = partial(mirrored_inputs, mirror, engine.release, engine.gates)
    checks = []
    if plot is not None:
        from kubescheduler.simulation.plot import check_plot

        checks.append(partial(check_plot, plot))
    with nothing_collected():
        configured, (there, workload) = both(engine.engine, read, *checks)
        scheduler = engine.scheduler(configured, there)
    return _run(engine, configured, scheduler, there, workload, preempt=preempt, grace=grace, output=output, plot=plot)


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
    from kubescheduler.cli.decision_output import PassedOverExtenders, exit_status
    from kubescheduler.cli.output import echo, screen_of
    from kubescheduler.cli.progress import progress
    from kubescheduler.cli.simulate_output import rendered_report
    from kubescheduler.simulation.simulation import Simulation
    from kubescheduler.simulation.timeline import Kind, RunEvent

    notes = engine.notes(configured)
    observers, results, listen = [], None, None
    if output == "simulator":
        from kubescheduler.report.simulator_export import Results

        results = Results(scheduler, notes)
        observers.append(results.note)
    elif output == "events":
        listen = _print_event
        for note in notes:
            _print_event(RunEvent(0.0, Kind.NOTE, message=note))
    passed_over = PassedOverExtenders()
    observers += [passed_over.note] if scheduler.algorithm.extenders else []
    how: dict[str, Any] = {"preempt": preempt, "grace": grace, "observers": observers, "listen": listen}
    with progress("simulating", sys.stderr, smallest=LONG, hidden=listen is not None and sys.stdout.isatty()) as tell:
        report = Simulation(scheduler, workload, progress=tell, **how).run()
    if plot is not None:
        from kubescheduler.simulation.plot import write_plot

        write_plot(report, plot, notes)
    if results is not None:
        from kubescheduler.report.simulator_export import export_text

        remarks(results.dropped())
        echo(export_text(there.objects, results, configured.document))
    elif listen is None:
        echo(rendered_report(report, output, [*notes, *report.notes()], screen_of(sys.stdout)))
    remarks(passed_over.remarks())
    waited = {pod.key for pod in there.pending()} if len(report.foreign) < len(report.pods) else ()
    named = [record for record in report.foreign if record.pod.key not in waited]
    errors = [(record.pod.key, record.message) for record in (*report.failed, *named)]
    return exit_status(errors, fine=report.every_pod_had_a_node)


def _print_event(event: RunEvent) -> None:
    click.echo(event.to_json())


def _inputs(
    cluster: tuple[ClusterPlace, ...], files: tuple[str, ...], pending: bool, engine: EngineOptions
) -> tuple[Cluster, Workload]:
    """The cluster and the workload. Raises DecodeError with every fault."""
    from kubescheduler.cli.cluster_files import notes_on_cluster, read_shown, read_workload_for

    there = read_shown(cluster, **engine.reading)
    workload, notes = read_workload_for(there, files, engine.reading, pending=pending)
    nodes = [arrival.node for arrival in workload.nodes]
    remarks((*(there.notes if nodes else notes_on_cluster(there)), *notes, *workload.controllers))
    return there, workload
