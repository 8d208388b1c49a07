"""PreFilter: what is said of a pod before any node is looked at, and what the releases make of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clusterstate.changes import ChangeLog
from clusterstate.objects import Pod
from clusterstate.snapshot import Snapshot
from kubescheduler.core.status import REJECTED_1_20, Code, Status
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.runner_results import Names, PreFilterOutcome, failed
from kubescheduler.framework.deciding.adapters import SKIP, ask_pre_filter, rejection
from kubescheduler.framework.deciding.class_state import ProfileState
from kubescheduler.framework.deciding.compiled_profile import Compiled

Answer = tuple[Status | None, Names | None]
"""(status, None: Success; the node names that alone may be considered, None: all)."""


ALL_NODES = PreFilterOutcome()


def answers(
    pod: Pod, state: ProfileState, compiled: Compiled, cycle: CycleState, snapshot: Snapshot, log: ChangeLog
) -> Iterator[tuple[str, Answer]]:
    """(plugin, its answer) one after the other, each asked when it is its turn; of those that have something to say."""
    for name in state.asked:
        own = compiled.own_pre_filters.get(name)
        if own is not None:
            yield name, ask_pre_filter(own, cycle, pod, snapshot)
            continue
        answer = state.ask(name, snapshot, log)
        status = SKIP if answer.skip else None
        if answer.reasons:
            unresolvable = compiled.pre_checks[name].unresolvable
            status = rejection(answer.reasons, pod, any(map(unresolvable, answer.reasons)))
        yield name, (status, answer.nodes)


def narrow_1_20(given: Iterator[tuple[str, Answer]], cycle: CycleState) -> PreFilterOutcome:  # noqa: ARG001
    """The first answer that is no Success ends it. Upstream: 1.20 RunPreFilterPlugins."""
    for name, (status, _) in given:
        if status is None or status.code is Code.Success:
            continue
        rejected = status.code in REJECTED_1_20
        return PreFilterOutcome(status.by(name) if rejected else failed("PreFilter", name, status), last=name)
    return ALL_NODES


def narrow_1_36(given: Iterator[tuple[str, Answer]], cycle: CycleState) -> PreFilterOutcome:
    """Names are intersected, and the last Unschedulable is reported at the end. Upstream: 1.36 RunPreFilterPlugins."""
    rejected: Status | None = None
    nodes: Names | None = None
    by: list[str] = []
    for name, (status, names) in given:
        code = Code.Success if status is None else status.code
        if code is Code.Skip:
            cycle.skip_filter.add(name)
        elif status is not None and code is Code.UnschedulableAndUnresolvable:
            return PreFilterOutcome(status.by(name), last=name)
        elif status is not None and code is Code.Unschedulable:
            rejected = status.by(name)
        elif status is not None and code is not Code.Success:
            return PreFilterOutcome(failed("PreFilter", name, status), last=name)
        elif names is not None:
            by.append(name)
            nodes = names if nodes is None else nodes & names
            if not nodes:
                return PreFilterOutcome(_contradiction(sorted(by)), nodes, tuple(sorted(by)), name)
    return PreFilterOutcome(rejected, nodes, tuple(sorted(by)))


def _contradiction(by: Sequence[str]) -> Status:
    """No node has a name that every plugin gave."""
    if len(by) == 1:
        return Status.unresolvable(f"node(s) didn't satisfy plugin {by[0]}")
    return Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(by)}] simultaneously")


def outside(by: Sequence[str]) -> Status:
    """The status of nodes that the PreFilter plugins' names leave out."""
    return Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(by)}]")
