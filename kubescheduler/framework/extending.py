"""What HTTP extenders say in framework releases: statuses with codes, and scores on the scale of plugins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import attrs
import numpy as np

from clusterstate.errors import SchedulingError
from clusterstate.growable import IntArray
from clusterstate.objects import Pod
from clusterstate.snapshot import Snapshot
from kubescheduler.core.algorithm import Extender, FilterAnswer
from kubescheduler.core.decision import ExtenderTrace
from kubescheduler.core.extending import nodes_of
from kubescheduler.framework.status import Code, Status

SCALE = 10
"""An extender scores 0–10, a plugin 0–100."""

Refused = dict[str, Status]
Note = Callable[[Refused, FilterAnswer], None]
"""Writes what an answer says of failed nodes into the statuses."""


def note_1_20(refused: Refused, answer: FilterAnswer) -> None:
    """A message is added to the status that a node has."""
    for name, message in answer.failed.items():
        before = refused.get(name)
        reasons = (message,) if before is None else (*before.reasons, message)
        refused[name] = Status(Code.Unschedulable if before is None else before.code, reasons)


def note_1_36(refused: Refused, answer: FilterAnswer) -> None:
    """The last word counts, and what cannot be mended goes before what just failed."""
    for name, message in answer.failed.items():
        refused[name] = Status.unschedulable(message)
    for name, message in answer.unresolvable.items():
        refused[name] = Status.unresolvable(message)


@attrs.frozen(eq=False)
class Filtered:
    """feasible: (n,) the rows that are left, in the order of the last answer. emptied: the answer came as node
    objects. refused: node → status."""

    feasible: IntArray
    emptied: bool
    refused: Mapping[str, Status]
    traces: tuple[ExtenderTrace, ...]


def ask_filters(
    pod: Pod, extenders: Sequence[Extender], snapshot: Snapshot, feasible: IntArray, note: Note
) -> Filtered:
    """Every interested extender in turn, until no node is left; an ignorable one that fails changes nothing.

    Raises SchedulingError when another fails. Upstream: findNodesThatPassExtenders.
    """
    traces: list[ExtenderTrace] = []
    refused: Refused = {}
    emptied = False
    for extender in extenders:
        config = extender.config
        trace = ExtenderTrace(config.url_prefix, config.weight)
        if len(feasible) and config.filter_verb and extender.is_interested(pod):
            try:
                answer = extender.filter(pod, nodes_of(snapshot, feasible), snapshot.known_names)
            except SchedulingError as error:
                if not config.ignorable:
                    raise
                trace = attrs.evolve(trace, filter_error=str(error))
            else:
                feasible = np.array([_row(snapshot, name) for name in answer.nodes], np.int64)
                emptied = emptied or answer.as_objects
                note(refused, answer)
                unresolvable = dict(answer.unresolvable) or None
                trace = attrs.evolve(trace, failed=dict(answer.failed), unresolvable=unresolvable)
        traces.append(trace)
    return Filtered(feasible, emptied, refused, tuple(traces))


def _row(snapshot: Snapshot, name: str) -> int:
    row = snapshot.row_of(name)
    if row is None or snapshot.node(row) is None:
        raise SchedulingError(f'nodeinfo not found for node name "{name}"')
    return row
