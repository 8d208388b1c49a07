"""PreFilter: what is said of a pod before any node is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs

from clusterstate.changes import ChangeLog
from clusterstate.errors import SchedulingError
from clusterstate.objects import Pod
from clusterstate.snapshot import Snapshot
from kubescheduler.framework.classstate import ProfileState
from kubescheduler.framework.compiled import Compiled
from kubescheduler.framework.plugin import PreFilterResult
from kubescheduler.framework.state import CycleState
from kubescheduler.framework.status import Code, Status
from predicates.types import NodeError

Answer = tuple[Status | None, frozenset[str] | None]
"""(status, None: Success; the node names that alone may be considered, None: all)."""


@attrs.frozen(eq=False)
class Narrowed:
    """What all PreFilter plugins came to.

    rejected: the status that ends the attempt, None when nodes are to be looked at. nodes: the names that are left,
    None: all. by: the plugins that gave names, sorted. last: the plugin after which no other was asked, empty when all
    were.
    """

    rejected: Status | None = None
    nodes: frozenset[str] | None = None
    by: tuple[str, ...] = ()
    last: str = ""


ALL_NODES = Narrowed()


def answers(
    pod: Pod, state: ProfileState, compiled: Compiled, cycle: CycleState, snapshot: Snapshot, log: ChangeLog
) -> Iterator[tuple[str, Answer]]:
    """(plugin, its answer) one after the other, each asked when it is its turn; of those that have something to say."""
    for name in state.asked:
        own = compiled.own_pre_filters.get(name)
        if own is None:
            answer = state.ask(name, snapshot, log)
            status = None
            if answer.reasons:
                status = _status(compiled.pre_checks[name].unresolvable, answer.reasons, pod)
            elif answer.skip:
                status = Status(Code.Skip)
            yield name, (status, answer.nodes)
        else:
            yield name, own_answer(own.pre_filter(cycle, pod, snapshot))


def _status(unresolvable: Callable[[str], bool], reasons: Sequence[str], pod: Pod) -> Status:
    for reason in reasons:
        if isinstance(reason, NodeError):
            return Status.failure(reason.about(pod.key))
    code = Code.UnschedulableAndUnresolvable if any(map(unresolvable, reasons)) else Code.Unschedulable
    return Status(code, tuple(reasons))


def own_answer(answered: Any) -> Answer:
    """The answer of a plugin of one's own: a Status, a PreFilterResult, both as a pair, or None."""
    if answered is None or isinstance(answered, Status):
        return answered, None
    if isinstance(answered, PreFilterResult):
        return None, answered.node_names
    result, status = answered
    return status, None if result is None else result.node_names


def narrow_1_20(given: Iterator[tuple[str, Answer]], cycle: CycleState) -> Narrowed:  # noqa: ARG001
    """The first rejection ends it. Upstream: 1.20 RunPreFilterPlugins."""
    for name, (status, _) in given:
        if status is None or status.code is Code.Success:
            continue
        if status.code not in (Code.Unschedulable, Code.UnschedulableAndUnresolvable):
            raise SchedulingError(f'running PreFilter plugin "{name}": {status.message}')
        return Narrowed(status.by(name), last=name)
    return ALL_NODES


def narrow_1_36(given: Iterator[tuple[str, Answer]], cycle: CycleState) -> Narrowed:
    """Names are intersected; Unschedulable is remembered, the last one counts. Upstream: 1.36 RunPreFilterPlugins."""
    rejected: Status | None = None
    nodes: frozenset[str] | None = None
    by: list[str] = []
    for name, (status, names) in given:
        code = Code.Success if status is None else status.code
        if code is Code.Skip:
            cycle.skip_filter.add(name)
        elif code is Code.UnschedulableAndUnresolvable and status is not None:
            return Narrowed(status.by(name), nodes, tuple(sorted(by)), name)
        elif code is Code.Unschedulable and status is not None:
            rejected = status.by(name)
        elif code is not Code.Success and status is not None:
            raise SchedulingError(f'running PreFilter plugin "{name}": {status.message}')
        elif names is not None:
            by.append(name)
            nodes = names if nodes is None else nodes & names
            if not nodes:
                return Narrowed(_contradiction(sorted(by)), nodes, tuple(sorted(by)), name)
    return Narrowed(rejected, nodes, tuple(sorted(by)))


def _contradiction(by: Sequence[str]) -> Status:
    if len(by) == 1:
        return Status.unresolvable(f"node(s) didn't satisfy plugin {by[0]}")
    return Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(by)}] simultaneously")


def outside(by: Sequence[str]) -> Status:
    """The status of nodes that the PreFilter plugins' names leave out."""
    return Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(by)}]")
