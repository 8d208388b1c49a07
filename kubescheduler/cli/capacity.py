"""``kubescheduler capacity``: how many more fit."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from kubescheduler.cli.cluster_options import ClusterPlace, check_standard_input, cluster_options
from kubescheduler.cli.common_options import FOREIGN_STATUS, number_option, output_option, pod_files_option
from kubescheduler.cli.engine_options import EngineOptions, NeededOption, question_options, remarks
from kubescheduler.cli.help_groups import GroupedCommand

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clusterstate.objects import Pod
    from kubescheduler.engine.spec import PodScheduler
    from kubescheduler.simulation.room import Observe, Room

MANY = 1000
"""Placed pods that take long enough for a progress bar."""
FEW_NODES = 3
"""Nodes that a line of the table names."""


@click.command(
    cls=GroupedCommand,
    epilog=f"Exit status: 0 at least one more of each fits, 1 none of some, {FOREIGN_STATUS}",
)
@cluster_options
@pod_files_option(
    "pod_files",
    "--pod",
    "Pods to ask about, or controllers with a pod template, of which one pod is asked about.",
    cls=NeededOption,
    required=True,
)
@number_option("--limit", default=100_000, help="Stop after so many of each.")
@question_options
@output_option("table", "wide", "json", help="wide has a line for each node.")
def capacity(
    cluster: tuple[ClusterPlace, ...], pod_files: tuple[str, ...], limit: int, engine: EngineOptions, output: str
) -> int:
    """How many more of each pod fit in CLUSTER: files, folders, .csv files of nodes, or - for standard input.

    Copies of a pod are placed one after another until none fits; what stops the next one is shown by node. Each pod of
    the files has the cluster to itself, beside what runs in it. Of a DaemonSet it is how many of its nodes have room
    for its pod.

    \b
    Examples:
      kubescheduler capacity cluster.yaml --pod web.yaml
      kubescheduler capacity cluster.yaml --pod small.yaml --pod large.yaml -o json
    """
    from clusterstate.errors import both
    from kubescheduler.cli.cluster_files import notes_on_cluster, nothing_collected, read_asked
    from kubescheduler.cli.decision_output import PassedOverExtenders, exit_status
    from kubescheduler.cli.output import echo

    check_standard_input(cluster, pod_files)
    with nothing_collected():
        configured, (there, asked) = both(engine.engine, partial(read_asked, cluster, pod_files, **engine.reading))
        there = there.with_accompanying(asked.accompanying)
        scheduler = engine.scheduler(configured, there)
    remarks((*notes_on_cluster(there), *asked.notes, *asked.controllers))
    passed_over = PassedOverExtenders()
    rooms = [_room(pods, scheduler, limit, passed_over.note) for pods in asked.distinct()]
    notes = [*engine.notes(configured), *dict.fromkeys(note for room in rooms for note in room.notes)]
    echo(_rendered(rooms, output, notes))
    remarks(passed_over.remarks())
    errors = [(room.pod.key, room.error) for room in rooms if room.error is not None]
    return exit_status(errors, fine=all(room.count for room in rooms))


def _room(pods: Sequence[Pod], scheduler: PodScheduler, limit: int, observe: Observe) -> Room:
    """Of one pod, or of the pods of a DaemonSet. With a bar on a terminal, if there are places for many."""
    from kubescheduler.cli.progress import progress
    from kubescheduler.simulation.room import room_of

    columns = scheduler.cache.columns
    places = min(limit, int((columns.allowed_pods.view - columns.pod_count.view).sum()))
    with progress(pods[0].key, sys.stderr, smallest=MANY) as tell:
        return room_of(pods, scheduler, limit=limit, progress=lambda done: tell(done, places), observe=observe)


def _rendered(rooms: Sequence[Room], output: str, notes: Sequence[str]) -> Iterator[str]:
    """The answers in pieces; output: table, wide or json."""
    from kubescheduler.cli.output import headed, list_document, noted, screen_of, table

    if output == "json":
        yield from list_document(headed("CapacityList", notes), map(_document, rooms), "json")
        return
    screen = screen_of(sys.stdout)
    yield noted(notes, screen)
    head = ("NAMESPACE", "POD", "MORE", "NODES", "MESSAGE")
    yield table([head, *map(_row, rooms)], screen, gives_way=4, keys=2) + "\n"
    for room in (each for each in rooms if each.error is None):
        yield f"\n{screen.filled(f'{room.pod.key}:')}\n"
        yield table(_by_node(room) if output == "wide" else _by_reason(room), screen, gives_way=2, keys=1) + "\n"


def _row(room: Room) -> tuple[str, ...]:
    from kubescheduler.cli.output import ERROR, NONE

    metadata = room.pod.metadata
    if room.error is not None:
        return (metadata.namespace, metadata.name, ERROR, NONE, room.error)
    count = f"{room.count} or more" if room.limited else str(room.count)
    return (metadata.namespace, metadata.name, count, str(len(room.placed)), room.message)


def _by_node(room: Room) -> Iterator[tuple[str, ...]]:
    yield ("NODE", "MORE", "WHY NOT ANOTHER")
    for name, (placed, reasons) in room.by_node().items():
        yield (name, str(placed), _why_no_more(room, reasons))


def _by_reason(room: Room) -> Iterator[tuple[str, ...]]:
    """Nodes alike in what they say are one line."""
    alike: dict[str, list[tuple[str, int]]] = {}
    for name, (placed, reasons) in room.by_node().items():
        alike.setdefault(_why_no_more(room, reasons), []).append((name, placed))
    yield ("NODES", "MORE", "WHY NOT ANOTHER", "SUCH AS")
    for text, nodes in sorted(alike.items(), key=lambda item: (-len(item[1]), item[0])):
        names = ", ".join(name for name, _ in nodes[:FEW_NODES]) + ", …" * (len(nodes) > FEW_NODES)
        yield (str(len(nodes)), str(sum(placed for _, placed in nodes)), text, names)


def _why_no_more(room: Room, reasons: Sequence[str]) -> str:
    return "; ".join(reasons) or ("not asked after --limit" if room.limited else room.unlooked)


def _document(room: Room) -> dict[str, Any]:
    metadata = room.pod.metadata
    by_node = room.by_node().items() if room.error is None else ()
    return {
        "pod": {"namespace": metadata.namespace, "name": metadata.name, "uid": metadata.uid},
        "count": room.count if room.error is None else None,
        "limited": room.limited,
        "message": room.message,
        "error": room.error,
        "nodes": [{"name": name, "count": placed, "reasons": reasons} for name, (placed, reasons) in by_node],
    }
