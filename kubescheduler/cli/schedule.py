"""``kubescheduler schedule``: the main job."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

import click

from kubescheduler.cli.cluster_options import ClusterPlace, check_standard_input, cluster_options
from kubescheduler.cli.common_options import FOREIGN_STATUS, file_option, number_option, output_option, pod_files_option
from kubescheduler.cli.engine_options import EngineOptions, question_options, remarks
from kubescheduler.cli.help_groups import GroupedCommand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from clusterstate.objects import Pod
    from kubescheduler.cli.cluster_files import Inputs
    from kubescheduler.cli.explanation import Explaining
    from kubescheduler.core.decision import Decision
    from kubescheduler.core.equal_runs import PlacedRun
    from kubescheduler.engine.spec import Change, Engine, PodScheduler

FOR_CI = ("junit", "github")
MANY = 200
"""Pods that take long enough to schedule for a progress bar."""


@click.command(
    cls=GroupedCommand,
    short_help="Decide where pods go, and say why.",
    epilog=f"Exit status: 0 every pod has a node, 1 some pod has none, {FOREIGN_STATUS}",
)
@cluster_options
@pod_files_option("pod", "--pod", "Pods to schedule: manifests, controllers with a pod template, or a .csv trace.")
@click.option("--pending", is_flag=True, help="Schedule every pending pod of the cluster, in queue order.")
@question_options
@click.option("--preempt", is_flag=True, help="Say which pods would have to go for one that fits nowhere.")
@click.option("--bind", is_flag=True, help="Have extenders with a bindVerb bind the pods.")
@output_option(
    *("table", "wide", "json", "yaml", "name", "simulator", "junit", "github"),
    help="json and yaml hold everything --explain shows; simulator is kube-scheduler-simulator's export; junit and "
    "github are for CI.",
)
@click.option("--explain", is_flag=True, help="Show the checks and scores of every node; in json and yaml, evidence.")
@number_option(
    "--top", help="--explain for so many nodes, the best of those that fit and the first by name of those that do not."
)
@click.option(
    "--node",
    multiple=True,
    metavar="NAME",
    help="--explain for this node alone, with all that its scores or refusals are made of.  [repeatable]",
)
@file_option("--save", help="Write the cluster with the pods bound (.json, .yaml, .gz of them).")
def schedule(
    cluster: tuple[ClusterPlace, ...],
    pod: tuple[str, ...],
    pending: bool,
    engine: EngineOptions,
    preempt: bool,
    bind: bool,
    output: str,
    explain: bool,
    top: int | None,
    node: tuple[str, ...],
    save: str | None,
) -> int:
    """Decide where pods go in CLUSTER: files, folders, or - for standard input.

    Files are JSON or YAML, also gzipped: what kubectl prints, manifests, or an export of kube-scheduler-simulator.
    Several pods are one run: each is bound before the next is decided. A note names the pods that a StatefulSet would
    not have made yet.

    \b
    Examples:
      kubescheduler schedule cluster.yaml --pod pod.yaml
      kubescheduler schedule nodes.json pods.json --pending -o wide
      kubescheduler schedule cluster.yaml --pod web.yaml --policy-config-file policy.json --explain
      kubescheduler schedule cluster.yaml --pod urgent.yaml --preempt --explain
      kubescheduler schedule cluster.yaml --pod web.yaml --release 1.36 --config scheduler.yaml
      kubectl get nodes,pods,services -A -o json | kubescheduler schedule - --pending --save after.yaml
    """
    from clusterstate.errors import both
    from kubescheduler.cli.cluster_files import check_target, nothing_collected, read_inputs

    explaining = None
    if explain or top is not None or node:
        from kubescheduler.cli.explanation import Explaining

        explaining = Explaining(top, node)
    _check_usage(cluster, pod, pending=pending, explained_names=explaining is not None and output == "name")
    how: dict[str, Any] = {"pending": pending, "keep_manifests": save is not None, **engine.reading}
    read = functools.partial(read_inputs, cluster, pod, **how)
    with nothing_collected():
        configured, inputs = both(engine.engine, read, functools.partial(check_target, save))
        scheduler = engine.scheduler(configured, inputs.cluster)
    remarks(inputs.notes)
    bound = _binding(scheduler) if bind else None
    changes: list[Change] = []
    decide = functools.partial(_decided, scheduler, preempt=preempt, bind=bound, explaining=explaining, changes=changes)
    in_bulk = (
        output in ("table", "wide", "name", *FOR_CI) and explaining is None and bound is None and len(inputs.pods) > 1
    )
    runs = scheduler if in_bulk else None
    notes = engine.notes(configured)
    if output == "simulator":
        render: Callable[[Iterable[Any]], Iterator[str]] = functools.partial(
            _exported, scheduler, configured, inputs, notes
        )
    elif output in FOR_CI:
        render = functools.partial(_results, inputs, configured.release, output, explaining, notes)
    else:
        render = functools.partial(_shown, output, explaining, notes)
    bar = output in ("table", "wide") and explaining is None
    return _run(decide, inputs, render, runs=runs, save=save, changes=changes, pending=pending, bar=bar)


def _shown(output: str, explaining: Explaining | None, notes: Sequence[str], decisions: Iterable[Any]) -> Iterator[str]:
    """For people, and as documents."""
    from kubescheduler.cli.decision_output import decision_document, rendered
    from kubescheduler.cli.output import screen_of

    explain, document = (None, decision_document) if explaining is None else (explaining.text, explaining.document)
    return rendered(decisions, output, screen_of(sys.stdout), notes, explain, document)


def _exported(
    scheduler: PodScheduler, engine: Engine, inputs: Inputs, notes: Sequence[str], decisions: Iterable[Decision]
) -> Iterator[str]:
    """What kube-scheduler-simulator would export, the results of every plugin on the pods."""
    from kubescheduler.report.simulator_export import Results, export_text

    results = Results(scheduler, notes)
    for decision in decisions:
        results.note(decision)
    remarks(results.dropped())
    yield from export_text(inputs.cluster.objects, results, engine.document)


def _results(
    inputs: Inputs,
    release: str,
    output: str,
    explaining: Explaining | None,
    notes: Sequence[str],
    decisions: Iterable[Any],
) -> Iterator[str]:
    """For CI: a case per pod."""
    from clusterstate.selectors.pod_owners import workloads_of
    from kubescheduler.cli.decision_output import decided_suite
    from kubescheduler.report.ci_results import rendered_results

    workloads = workloads_of(inputs.pods, inputs.cluster.objects)
    suite = decided_suite(release, decisions, workloads, None if explaining is None else explaining.text, notes)
    yield from rendered_results("kubescheduler schedule", [suite], output)


def _binding(scheduler: PodScheduler) -> Callable[[Pod, str], str | None]:
    """Has a pod bound on a node as the scheduler's loop does; why that was refused."""
    from kubescheduler.cycle.schedule_one import refused_binding
    from kubescheduler.engine.loop_parts import loop_parts

    return functools.partial(refused_binding, loop_parts(scheduler))


def _decided(
    scheduler: PodScheduler,
    pod: Pod,
    *,
    preempt: bool,
    bind: Callable[[Pod, str], str | None] | None,
    explaining: Explaining | None,
    changes: list[Change],
) -> Decision:
    """The decision on one pod, which is bound before the next. A binding that is rejected leaves it without a node.

    explaining: what its scores and refusals were made of is worked out before it is bound. changes: gets the volumes
    and claims that are bound with it.
    """
    from kubescheduler.engine.spec import place

    decision = scheduler.decide(pod, preempt=preempt, in_sequence=True)
    if explaining is not None:
        explaining.work_out(decision)
    if decision.host is None:
        return decision
    rejected = None if bind is None else bind(pod, decision.host)
    if rejected is not None:
        import attrs

        return attrs.evolve(decision, host=None, error=rejected)
    changes += place(scheduler, pod, decision.host)
    return decision


def _run(
    decide: Callable[[Pod], Decision],
    inputs: Inputs,
    render: Callable[[Iterable[Any]], Iterator[str]],
    *,
    runs: PodScheduler | None,
    save: str | None,
    changes: Sequence[Change],
    pending: bool,
    bar: bool,
) -> int:
    """Schedules the pods, saves, prints. What is saved is saved even if nobody reads the output.

    changes: volumes and claims that were bound with the pods so far.
    runs: what places pods that are alike in bulk; None: each is decided by itself, as more than a line is shown of it.
    pending: whether these are all that wait; those of other schedulers are then left to them.
    bar: whether a bar may stand on the terminal that the answer goes to.
    """
    from clusterstate.manifests.decode import Item
    from kubescheduler.cli.cluster_files import save_cluster
    from kubescheduler.cli.decision_output import PassedOverExtenders, exit_status
    from kubescheduler.cli.output import echo
    from kubescheduler.core.decision import gave_up
    from kubescheduler.core.equal_runs import placed_in_order
    from kubescheduler.simulation.pods_to_place import made_too_early

    hosts: dict[str, str | None] = {}
    errors: list[tuple[str, str]] = []
    foreign: dict[str, str] = {}
    passed_over = PassedOverExtenders()

    def noted(pod: Pod) -> Decision:
        decision = decide(pod)
        if decision.foreign:
            foreign[pod.key] = decision.message
        elif gave_up(decision):
            errors.append((pod.key, decision.message))
        passed_over.note(decision)
        return decision

    parts = map(noted, inputs.pods) if runs is None else placed_in_order(runs.place_run, inputs.pods, noted)
    pieces: Iterable[str] = render(_decisions(parts, len(inputs.pods), hosts, bar=bar))
    if save is not None:
        pieces = list(pieces)
        read = ((entry.obj, entry.item or Item("", entry.manifest())) for entry in inputs.cluster.entries())
        save_cluster(save, read, inputs.pods, hosts, [obj for _, obj in changes])
    echo(pieces)
    remarks([*passed_over.remarks(), *made_too_early(inputs.in_turn, hosts)])
    if not pending or len(foreign) == len(hosts):
        errors += foreign.items()
    return exit_status(errors, fine=all(host is not None or pod in foreign for pod, host in hosts.items()))


def _check_usage(
    cluster: Sequence[ClusterPlace], pod_files: Sequence[str], *, pending: bool, explained_names: bool
) -> None:
    if bool(pod_files) == pending:
        raise click.UsageError("say which pods to schedule: either --pod FILE or --pending")
    check_standard_input(cluster, pod_files)
    if explained_names:
        raise click.UsageError("-o name explains nothing: leave out --explain, or choose another output")


def _decisions(
    parts: Iterable[Decision | PlacedRun], total: int, hosts: dict[str, str | None], *, bar: bool
) -> Iterator[Any]:
    """The decision on each pod, or its BulkPlacement, each bound before the next. hosts: gets the node of each pod.
    A bar would spoil what is streamed to the same terminal."""
    from kubescheduler.cli.progress import progress
    from kubescheduler.core.decision import Decision

    with progress("scheduling", sys.stderr, smallest=MANY, hidden=not bar and sys.stdout.isatty()) as tell:
        done = 0
        tell(done, total)
        for part in parts:
            for answer in (part,) if isinstance(part, Decision) else part.placements():
                hosts[answer.pod.key] = answer.host
                done += 1
                yield answer
            tell(done, total)
