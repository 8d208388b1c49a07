"""``kubescheduler nodes``: which nodes to add so that everything runs, which can go, and which moves empty some."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from kubescheduler.cli.cluster_options import ClusterPlace, check_standard_input, cluster_options
from kubescheduler.cli.common_options import (
    ERROR_STATUS,
    answer_option,
    choice_option,
    file_option,
    number_option,
    pod_files_option,
)
from kubescheduler.cli.engine_options import EngineOptions, question_options, remarks
from kubescheduler.cli.help_groups import GroupedCommand

if TYPE_CHECKING:
    from kubescheduler.api.cluster import Cluster
    from kubescheduler.core.selection import TieBreak
    from kubescheduler.engine.spec import Engine
    from kubescheduler.planning.cluster_autoscaler import Expander
    from kubescheduler.planning.node_plan import LeftOver, NodePlan, ScaleStep
    from kubescheduler.planning.rebalance import Rebalanced
    from kubescheduler.planning.removable_nodes import Removals
    from kubescheduler.planning.shapes import Shape
    from kubescheduler.report.single_file import Section
    from kubescheduler.simulation.workload import Workload


AUTOSCALER = "--as cluster-autoscaler"
ADDING = ("--shapes", AUTOSCALER)
READ_BY = {
    "threshold": ("--remove",),
    "tries": ("--shapes", "--rebalance"),
    "expander": (AUTOSCALER,),
    "priorities": (AUTOSCALER,),
    "max_nodes_per_scaleup": (AUTOSCALER,),
    "acting": ADDING,
    "workload_files": ADDING,
    "pending": ADDING,
}
"""Parameters that not every question reads → those that do."""


@click.command(
    cls=GroupedCommand,
    short_help="Which nodes to add so that everything runs, or which can go.",
    epilog=f"Exit status: 0 everything runs with these nodes, some can go, or moves were found, 1 not, {ERROR_STATUS}",
)
@cluster_options
@file_option(
    "--shapes",
    "shape_files",
    multiple=True,
    help="What nodes there are to choose from: Node manifests, entries with cpu and memory, or a .csv of nodes.  "
    "[repeatable]",
)
@pod_files_option("workload_files", "--workload", "What is to run, instead of the cluster's pending pods.")
@click.option("--pending", is_flag=True, help="With --workload: the cluster's pending pods are to run too.")
@number_option("--tries", least=0, default=200, help="Run the scheduler at most so often to find better nodes.")
@click.option(
    "--remove", is_flag=True, help="Say which nodes can go instead, as the Cluster Autoscaler's scale-down does."
)
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    metavar="SHARE",
    help="With --remove: nodes stay of which more than that share of cpu or memory is asked for.",
)
@click.option(
    "--rebalance",
    metavar="NUMBER|POD",
    help="Say instead which fewest moves of running pods empty so many nodes, or let that pending pod in "
    "([NAMESPACE/]NAME); --tries plans are played at most.",
)
@choice_option(
    "--as",
    "acting",
    choices=["scheduler", "cluster-autoscaler"],
    help="What is enough for the scheduler, or what the Cluster Autoscaler adds if shapes are its node groups.",
)
@click.option(
    "--expander",
    default="least-waste",
    show_default=True,
    metavar="NAME,NAME",
    help="How the Cluster Autoscaler chooses: least-waste, least-nodes, most-pods, price, priority, random; --seed is "
    "of its draws.",
)
@file_option(
    "--priorities",
    help="For its expander priority: the ConfigMap cluster-autoscaler-priority-expander, or its priorities.",
)
@number_option("--max-nodes-per-scaleup", least=0, default=1000, help="Its flag of this name; 0: no limit.")
@question_options
@number_option("--top", default=5, help="Show so many hints.")
@answer_option("wide", help="wide has a line for each new node")
def nodes(
    cluster: tuple[ClusterPlace, ...],
    shape_files: tuple[str, ...],
    workload_files: tuple[str, ...],
    pending: bool,
    tries: int,
    remove: bool,
    threshold: float,
    rebalance: str | None,
    acting: str,
    expander: str,
    priorities: str | None,
    max_nodes_per_scaleup: int,
    engine: EngineOptions,
    top: int,
    output: str,
) -> int:
    """Which nodes to add to CLUSTER so that everything runs: files, folders, or - for standard input.

    The fewest, or with prices the cheapest, with which every pod gets a node where the scheduler puts it: the answer is
    a run of its own loop in the cluster with the new nodes, on which DaemonSets have their pods. It says whether it is
    proven best, and what new nodes cost at least whatever the scheduler does. With --remove it is which nodes can go,
    and where each of their pods then runs; with --rebalance the fewest moves that empty nodes or let a pod in.

    \b
    Examples:
      kubescheduler nodes cluster.yaml --shapes shapes.yaml
      kubescheduler nodes cluster.yaml --shapes shapes.yaml --workload deployment.yaml --release 1.36
      kubescheduler nodes cluster.yaml --shapes shapes.yaml --as cluster-autoscaler --expander most-pods
      kubescheduler nodes cluster.yaml --remove
      kubescheduler nodes cluster.yaml --rebalance 2
    """
    from clusterstate.errors import InputError, attempt
    from kubescheduler.cli.cluster_files import nothing_collected, read_shown
    from kubescheduler.cli.decision_output import exit_status
    from kubescheduler.given import read_paths
    from kubescheduler.planning.shapes import shapes_in

    if [bool(shape_files), remove, rebalance is not None].count(True) != 1:
        raise click.UsageError("say what to find out, one of: --shapes FILE, which nodes to add; --remove; --rebalance")
    adding = AUTOSCALER if acting == "cluster-autoscaler" else "--shapes"
    _refuse_unread("--remove" if remove else adding if shape_files else "--rebalance")
    check_standard_input(cluster, shape_files, workload_files)
    if remove:
        return _remove(cluster, engine, threshold, output)
    if rebalance is not None:
        return _rebalance(cluster, engine, rebalance, tries, output)
    problems: list[str] = []
    with nothing_collected():
        configured = attempt(problems, engine.engine)
        there = attempt(problems, read_shown, cluster, **engine.reading)
        shapes = attempt(problems, lambda: shapes_in(read_paths(shape_files, sys.stdin.buffer), engine.release))
        priced = shapes is not None and shapes[0].price is not None
        groups = (
            attempt(problems, _expander, expander, priorities, engine.seed, max_nodes_per_scaleup, priced)
            if acting == "cluster-autoscaler"
            else None
        )
        if there is None or shapes is None or configured is None or problems:
            raise InputError(problems)
        workload = _workload(there, shapes, workload_files, engine, pending=pending)
    plan = _planned(configured, there, shapes, workload, engine, tries, top, groups)
    sections = _sections(plan, each_node=output != "table")
    _show(plan, "nodes", "NodePlan", sections, engine.notes(configured), engine.release, output)
    nobody = not plan.placed and all(left.foreign for left in plan.left)
    errors = [(left.pod.key, left.message) for left in plan.left if left.error or nobody]
    return exit_status(errors, fine=plan.everything_runs)


def _show(
    found: NodePlan | Removals | Rebalanced,
    command: str,
    kind: str,
    sections: Iterable[Section],
    notes: list[str],
    release: str,
    output: str,
) -> None:
    """Prints an answer; output: table, wide, json, yaml or html."""
    from kubescheduler.cli.output import echo, headed, rendered_answer

    pieces = rendered_answer(
        *(command, f"release {release}", found.sentences()[0], sections, [*notes, *found.notes], output),
        document=lambda: headed(kind, notes, **found.to_dict()),
    )
    echo(pieces)


def _refuse_unread(question: str) -> None:
    """Raises UsageError for what the command line says of another question."""
    context = click.get_current_context()
    given = {name for name in READ_BY if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    unread = [
        each.opts[0]
        for each in context.command.params
        if each.name in given and question not in READ_BY[str(each.name)]
    ]
    if unread:
        raise click.UsageError(f"{', '.join(unread)}: it says nothing of {question}; leave it out")


def _workload(
    there: Cluster, shapes: list[Shape], files: tuple[str, ...], engine: EngineOptions, *, pending: bool
) -> Workload:
    """What is to run. Raises DecodeError with every fault."""
    from kubescheduler.api.nodes import with_daemons
    from kubescheduler.cli.cluster_files import notes_where_daemons_count, read_workload_for
    from kubescheduler.planning.node_trials import pending_pods

    seen = notes_where_daemons_count(there)
    if not files:
        remarks(seen)
        return with_daemons(there, pending_pods(there, engine.release), shapes)
    templates = [shape.template for shape in shapes]
    workload, notes = read_workload_for(there, files, engine.reading, beside=templates, pending=pending)
    remarks((*seen, *notes))
    return with_daemons(there, workload, shapes)


def _planned(
    configured: Engine,
    there: Cluster,
    shapes: list[Shape],
    workload: Workload,
    engine: EngineOptions,
    tries: int,
    top: int,
    groups: Expander | None,
) -> NodePlan:
    from kubescheduler.api.nodes import is_repeatable
    from kubescheduler.cli.progress import progress
    from kubescheduler.planning.node_plan import autoscaled_plan, plan_nodes

    tie_break = partial(engine.ties, configured)
    world = (configured, there.objects, shapes, workload, tie_break)
    with progress("running the scheduler", sys.stderr, smallest=tries):
        if groups is not None:
            return autoscaled_plan(*world, expander=groups, top=top)
        repeatable = is_repeatable(engine.tie_break, engine.seed)
        return plan_nodes(*world, tries=tries, repeatable=repeatable, top=top)


def _expander(names: str, file: str | None, seed: int | None, most: int, priced: bool) -> Expander:
    """How the Cluster Autoscaler chooses. Raises ConfigError with every fault."""
    from pathlib import Path

    from kubescheduler.config.config_text import parse_document, read_document
    from kubescheduler.planning.cluster_autoscaler import Expander, checked_expanders, priorities_of

    document = None if file is None else read_document(Path(file))
    checked = checked_expanders(names, priced=priced, priorities=document)
    if document is None or file is None:
        return Expander(checked, None, seed, most)
    data = document.get("data")
    if isinstance(data, dict):
        document = parse_document(str(data.get("priorities") or ""), f"{file}: data.priorities", "YAML")
    return Expander(checked, priorities_of(document, file), seed, most)


def _remove(cluster: tuple[ClusterPlace, ...], engine: EngineOptions, threshold: float, output: str) -> int:
    from kubescheduler.api.nodes import removals_of
    from kubescheduler.cli.progress import progress

    configured, there, tie_break = _world(cluster, engine)
    with progress("running the scheduler", sys.stderr, smallest=1):
        found = removals_of(configured, there, tie_break, threshold)
    sections = _removal_sections(found)
    _show(found, "nodes --remove", "Removals", sections, engine.notes(configured), engine.release, output)
    return 0 if found.freed else 1


def _rebalance(cluster: tuple[ClusterPlace, ...], engine: EngineOptions, said: str, tries: int, output: str) -> int:
    from kubescheduler.api.nodes import is_repeatable, rebalanced
    from kubescheduler.cli.progress import progress

    wanted = int(said) if said.isdecimal() else said
    if not wanted or not tries:
        fault = "--tries: give 1 or more" if wanted else "--rebalance: give a number of nodes from 1 on, or a pod"
        raise click.UsageError(fault)
    configured, there, tie_break = _world(cluster, engine)
    with progress("running the scheduler", sys.stderr, smallest=1):
        found = rebalanced(configured, there, wanted, tie_break, tries, is_repeatable(engine.tie_break, engine.seed))
    sections = _move_sections(found)
    _show(found, "nodes --rebalance", "Rebalancing", sections, engine.notes(configured), engine.release, output)
    return 1 if found.moves is None else 0


def _world(cluster: tuple[ClusterPlace, ...], engine: EngineOptions) -> tuple[Engine, Cluster, Callable[[], TieBreak]]:
    """The engine, the cluster with its manifests, and what makes the tie-break of a run. Raises InputError."""
    from kubescheduler.cli.cluster_files import notes_on_cluster, read_question

    configured, there = read_question(engine, cluster, keep_manifests=True)
    remarks(notes_on_cluster(there))
    return configured, there, partial(engine.ties, configured)


def _move_sections(found: Rebalanced) -> Iterator[Section]:
    from kubescheduler.report.single_file import Section

    if found.moves:
        moves = [(str(at), each.pod, each.from_node, each.to_node, each.now) for at, each in enumerate(found.moves, 1)]
        yield Section("Moves, in order", [("", "POD", "FROM", "TO", "AS"), *moves], keys=2)
    yield from (Section(texts=[text]) for text in found.sentences()[1:])
    if found.full:
        full = [(each.node, f"{each.pod}: {each.why}") for each in found.full]
        yield Section("Nodes that stay full", [("NODE", "STAYS FULL"), *full], gives_way=1, keys=1)


def _removal_sections(found: Removals) -> Iterator[Section]:
    from kubescheduler.report.single_file import Section

    yield from (Section(texts=[text]) for text in found.sentences()[1:])
    if found.moves:
        moves = [(move.pod, move.from_node, move.to_node, move.now) for move in found.moves]
        yield Section("Pods that move", [("POD", "FROM", "TO", "AS"), *moves], keys=1)
    if found.kept:
        kept = [(each.node, f"{each.used:.0%}", each.reason, " ".join(each.text.split())) for each in found.kept]
        yield Section("Nodes that stay", [("NODE", "USED", "STAYS", "WHY"), *kept], gives_way=3, keys=1)


def _sections(plan: NodePlan, *, each_node: bool) -> Iterator[Section]:
    from kubescheduler.report.single_file import Section

    if plan.steps:
        rows = [("", "ADDS", "FOR", "OF", "INSTEAD OF"), *_steps(plan.steps)]
        yield Section("What the Cluster Autoscaler does", rows, gives_way=4)
    if plan.shapes:
        shown = plan.table()
        cells = [[f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in row] for row in shown.rows]
        yield Section("Shapes", [[str(cell).upper() for cell in shown.header], *cells])
    yield from (Section(texts=[text]) for text in plan.sentences()[1:])
    if plan.nodes and each_node:
        rows = [(node.name, node.shape, ", ".join((*node.pods, *node.daemons))) for node in plan.nodes]
        yield Section("New nodes", [("NODE", "SHAPE", "PODS"), *rows], gives_way=2, keys=2)
    for at, left in enumerate(plan.left):
        yield from _left_over(left, "" if at else "Pods that stay behind")


def _steps(steps: Sequence[ScaleStep]) -> Iterator[tuple[str, ...]]:
    """What the Cluster Autoscaler did, and what else it might have done."""
    from kubescheduler.core.results import counted

    for number, step in enumerate(steps, 1):
        chosen = step.chosen
        others = (each for each in step.options if each.group != chosen.group)
        instead = ", ".join(f"{each.nodes} {each.group} for {each.pods}" for each in others)
        yield (
            str(number),
            f"{chosen.nodes} {chosen.group}",
            counted(chosen.pods, "pod"),
            f"{step.waiting} that wait",
            instead,
        )


def _left_over(left: LeftOver, title: str) -> Iterator[Section]:
    """A pod that stays behind: the message, each shape's reasons, and what would help."""
    from kubescheduler.cli.hint import hint_section
    from kubescheduler.cli.output import NONE
    from kubescheduler.report.single_file import Section

    alike = f" and {len(left.others)} more alike" if left.others else ""
    yield Section(title, texts=[f"{left.pod.key}{alike}: {' '.join(left.message.split())}"])
    if left.by_shape:
        rows = [(shape, "; ".join(reasons) or NONE) for shape, reasons in left.by_shape.items()]
        yield Section(rows=[("SHAPE", "WHY NOT"), *rows], gives_way=1, keys=1)
    if left.hints is not None:
        yield hint_section(left.hints, "")
