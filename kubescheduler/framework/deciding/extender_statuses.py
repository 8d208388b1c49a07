"""What HTTP extenders say in framework releases: statuses with codes, and scores on the scale of plugins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from clusterstate.growable import IntArray
from clusterstate.objects import Pod
from clusterstate.snapshot import Snapshot
from kubescheduler.core.decision_records import ExtenderTrace
from kubescheduler.core.extender_calls import Extender, FilterAnswer, filter_with_extenders
from kubescheduler.core.status import Code, Status
from kubescheduler.extender.answered_nodes import AnsweredRows, node_not_found

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


class LeftByExtenders(msgspec.Struct, frozen=True, eq=False):
    """What extenders' filters leave of the nodes."""

    feasible: IntArray
    """(n,) the rows that are left, in the order of the last answer."""
    emptied: bool
    """Whether an answer came as node objects."""
    refused: Mapping[str, Status]
    """Node → status."""
    traces: tuple[ExtenderTrace, ...]
    """What each extender said."""
    answered: AnsweredRows
    """The answered nodes that are not, or not so, in the cluster."""


def ask_filters(
    pod: Pod, extenders: Sequence[Extender], snapshot: Snapshot, feasible: IntArray, note: Note
) -> LeftByExtenders:
    """What every interested extender's filter leaves, and says of the nodes that it refuses.

    Raises SchedulingError when one that is not ignorable fails. Upstream: findNodesThatPassExtenders.
    """
    refused: Refused = {}
    as_objects: list[bool] = []

    def hear(answer: FilterAnswer) -> None:
        note(refused, answer)
        as_objects.append(answer.as_objects)

    answered = AnsweredRows(snapshot, node_not_found)
    left, traces = filter_with_extenders(pod, extenders, answered, feasible, hear)
    return LeftByExtenders(left, any(as_objects), refused, traces, answered)
