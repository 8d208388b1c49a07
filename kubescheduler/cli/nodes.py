"""``kubescheduler nodes``: which nodes to add so that everything runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import click

from kubescheduler.cli.cluster_options import check_standard_input, cluster_options
from kubescheduler.cli.common_options import ERROR_STATUS, FILE, NO_DEFAULTING, VALIDATE, OneOf, pod_files_option
from kubescheduler.cli.engine_options import EngineOptions, NeededOption, engine_options, remarks
from kubescheduler.cli.help_groups import GroupedCommand

if TYPE_CHECKING:
    from clusterstate.manifests.strictness import Judgement
    from kubescheduler.api.cluster import Cluster
    from kubescheduler.cli.cluster_options import ClusterPlace
    from kubescheduler.cli.output import Screen
    from kubescheduler.engine.engine_contract import Engine
    from kubescheduler.planning.node_plan import LeftOver, NodePlan
    from kubescheduler.planning.shapes import Shape
    from kubescheduler.simulation.workload import Workload


@click.command(
    cls=GroupedCommand,
    short_help="Which nodes to add so that everything runs.",
    epilog=f"Exit status: 0 everything runs with these nodes, 1 some pod fits on no shape, {ERROR_STATUS}",
)
@cluster_options
@click.option(
    "--shapes",
    "shape_files",
    cls=NeededOption,
    required=True,
    multiple=True,
    metavar="FILE",
    type=FILE,
    help="What nodes there are to choose from: Node manifests, entries with cpu and memory, or a .csv of nodes.  "
    "[repeatable]",
)
@pod_files_option("workload_files", "--workload", "What is to run, instead of the cluster's pending pods.")
@click.option("--pending", is_flag=True, help="With --workload: the cluster's pending pods are to run too.")
@click.option(
    "--tries",
    type=click.IntRange(min=0),
    default=200,
    show_default=True,
    metavar="NUMBER",
    help="Run the scheduler at most so often to find better nodes.",
)
@engine_options
@click.option(
    "--top", type=click.IntRange(min=1), default=5, show_default=True, metavar="NUMBER", help="Show so many hints."
)
@NO_DEFAULTING
@VALIDATE
@click.option(
    "-o",
    "--output",
    type=OneOf(["table", "wide", "json", "yaml"]),
    default="table",
    show_default=True,
    help="wide has a line for each new node.",
)
def nodes(
    cluster: tuple[ClusterPlace, ...],
    shape_files: tuple[str, ...],
    workload_files: tuple[str, ...],
    pending: bool,
    tries: int,
    engine: EngineOptions,
    top: int,
    no_defaulting: bool,
    validate: Judgement | None,
    output: str,
) -> int:
    """Which nodes to add to CLUSTER so that everything runs: files, folders, or - for standard input.

    The fewest, or with prices the cheapest, with which every pod gets a node where the scheduler puts it: the answer is
    a run of its own loop in the cluster with the new nodes, on which DaemonSets have their pods. It says whether it is
    proven best, and what new nodes cost at least whatever the scheduler does.

    \b
    Examples:
      kubescheduler nodes cluster.yaml --shapes shapes.yaml
      kubescheduler nodes cluster.yaml --shapes shapes.yaml --workload deployment.yaml --release 1.36
    """
    from clusterstate.errors import InputError, attempt
    from kubescheduler.cli.inputs import nothing_collected, read_shown

    check_standard_input(cluster, shape_files, workload_files)
    problems: list[str] = []
    with nothing_collected():
        configured = attempt(problems, engine.engine)
        there = attempt(
            problems, read_shown, cluster, engine.release, not no_defaulting, validate=validate, gates=engine.gates
        )
        shapes = attempt(problems, _shapes, shape_files, engine.release)
        if there is None or shapes is None or configured is None:
            raise InputError(problems)
        workload = _workload(there, shapes, workload_files, engine, validate, pending=pending, raw=no_defaulting)
    plan = _planned(configured, there, shapes, workload, engine, tries, top)
    for piece in rendered_plan(plan, output, engine.notes(configured)):
        click.echo(piece, nl=False)
    return _status(plan)


def _shapes(files: tuple[str, ...], release: str) -> list[Shape]:
    from kubescheduler.inputs.given import read_paths
    from kubescheduler.planning.shapes import shapes_in

    return shapes_in(read_paths(files, sys.stdin.buffer), release)


def _workload(
    there: Cluster,
    shapes: list[Shape],
    files: tuple[str, ...],
    engine: EngineOptions,
    validate: Judgement | None,
    *,
    pending: bool,
    raw: bool,
) -> Workload:
    """What is to run. Raises DecodeError with every fault."""
    from kubescheduler.cli.inputs import judged_like
    from kubescheduler.planning.node_trials import pending_pods
    from kubescheduler.simulation.workload_files import read_workload

    if not files:
        remarks(there.notes)
        return pending_pods(there, engine.release)
    workload, notes = read_workload(
        files,
        [*there.objects, *(shape.template for shape in shapes)],
        stdin=sys.stdin.buffer,
        defaulting=not raw,
        pending=pending,
        release=engine.release,
        strictness=judged_like(there, validate),
    )
    remarks((*there.notes, *notes))
    return workload


def _planned(
    configured: Engine,
    there: Cluster,
    shapes: list[Shape],
    workload: Workload,
    engine: EngineOptions,
    tries: int,
    top: int,
) -> NodePlan:
    from kubescheduler.api.engine_choice import tie_break_of
    from kubescheduler.api.nodes import is_repeatable
    from kubescheduler.cli.progress import progress
    from kubescheduler.planning.node_plan import plan_nodes

    with progress("running the scheduler", sys.stderr, smallest=tries):
        return plan_nodes(
            configured,
            there.objects,
            shapes,
            workload,
            partial(tie_break_of, configured, engine.tie_break, engine.seed),
            tries=tries,
            repeatable=is_repeatable(engine.tie_break, engine.seed),
            top=top,
        )


def _status(plan: NodePlan) -> int:
    from kubescheduler.cli.decision_text import given_up

    if errors := [(left.pod.key, left.message) for left in plan.left if left.error]:
        return given_up(errors)
    return 0 if plan.everything_runs else 1


def rendered_plan(plan: NodePlan, output: str, notes: list[str]) -> Iterator[str]:
    """The answer in pieces; output: table, wide, json or yaml."""
    from kubescheduler.cli.output import document_text, noted, screen_of, table

    if output in ("json", "yaml"):
        yield document_text({"kind": "NodePlan", **plan.to_dict(), **({"notes": notes} if notes else {})}, output)
        return
    screen = screen_of(sys.stdout)
    yield noted((*notes, *plan.notes), screen)
    first, *rest = plan.sentences()
    parts = [screen.paint(screen.filled(first), "head"), *(screen.filled(text) for text in rest)]
    if plan.shapes:
        shown = plan.table()
        parts.insert(1, table([[str(cell).upper() for cell in shown.header], *_texts(shown.rows)], screen))
    if plan.nodes and output == "wide":
        rows = [(node.name, node.shape, ", ".join((*node.pods, *node.daemons))) for node in plan.nodes]
        parts.append(table([("NODE", "SHAPE", "PODS"), *rows], screen, gives_way=2, keys=2))
    parts += (text for left in plan.left for text in _left_over(left, screen))
    yield "\n\n".join(parts) + "\n"


def _texts(rows: object) -> Iterator[list[str]]:
    assert isinstance(rows, list)
    return ([f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows)


def _left_over(left: LeftOver, screen: Screen) -> Iterator[str]:
    """A pod that stays behind: the message, each shape's reasons, and what would help."""
    from kubescheduler.cli.hint import hint_table
    from kubescheduler.cli.output import NONE, table

    alike = f" and {len(left.others)} more alike" if left.others else ""
    yield screen.filled(f"{left.pod.key}{alike}: {' '.join(left.message.split())}")
    if left.by_shape:
        rows = [(shape, "; ".join(reasons) or NONE) for shape, reasons in left.by_shape.items()]
        yield table([("SHAPE", "WHY NOT"), *rows], screen, gives_way=1, keys=1)
    if left.hints is not None:
        yield "".join(hint_table(left.hints, screen)).rstrip("\n")
