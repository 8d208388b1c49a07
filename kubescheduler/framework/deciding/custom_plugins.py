"""Custom plugins, wrapped for one attempt so that they run over columns like all others."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from algorithmprovider.pernode import EVERYTHING, NodeInfo, node_infos
from clusterstate.errors import SchedulingError
from clusterstate.footprint import Footprint
from clusterstate.growable import Mask
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.status import REJECTED_1_36, Code, is_success
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.runner_results import change_failed
from kubescheduler.framework.deciding.adapters import ask_status, filter_mask
from predicates.types import FitPredicate, NodeError, Verdict


class OwnFilter(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A plugin's Filter in one attempt. Hypothetical changes are passed to its AddPod and RemovePod."""

    plugin: Any
    cycle: CycleState
    pod: Pod
    rejected: frozenset[Code] = REJECTED_1_36
    """The codes that refuse a node; any other is an error."""
    with_changes: bool = True
    """Its PreFilter is enabled, so that AddPod and RemovePod are called."""
    codes: dict[int, Code] = msgspec.field(default_factory=dict)
    """Row → the code with which it last refused it."""

    @cached_property
    def predicate(self) -> FitPredicate:
        """It as a check over columns."""
        return FitPredicate(self.plugin.name, self.check, Footprint(EVERYTHING), beyond=self.beyond)

    def check(self, _: PodInfo, snapshot: Snapshot) -> Verdict:
        """Reason → the rows that the plugin refuses; its codes are kept by row."""
        state = _with_changes(self.plugin, self.cycle, self.pod, snapshot) if self.with_changes else self.cycle
        statuses = filter_mask(self.plugin, state, self.pod, snapshot)
        rows = snapshot.row_numbers.tolist()
        verdict: Verdict = {}
        for row in rows:
            self.codes.pop(row, None)
        for at, status in statuses.items():
            self.codes[rows[at]] = status.code
            rejected = status.code in self.rejected
            reasons = status.all_reasons if rejected else (NodeError(status.error_text),)
            for reason in reasons or ("",):
                verdict.setdefault(reason, np.zeros(len(rows), np.bool_))[at] = True
        return verdict

    def beyond(self, _: PodInfo, snapshot: Snapshot) -> Mask:
        """(n,) bool: the rows that preemption cannot mend."""
        return self.refused_with(Code.UnschedulableAndUnresolvable, snapshot)

    def refused_with(self, code: Code, snapshot: Snapshot) -> Mask:
        """(n,) bool: the rows that it last refused with a code."""
        hit = [row for row, given in self.codes.items() if given is code]
        return np.isin(snapshot.row_numbers, hit)


def _with_changes(plugin: Any, cycle: CycleState, pod: Pod, snapshot: Snapshot) -> CycleState:
    """The state after AddPod and RemovePod for every change, in order; the state itself when there is none."""
    if not snapshot.changes or not hasattr(plugin, "add_pod"):
        return cycle
    state = cycle.clone()
    for done, change in enumerate(snapshot.changes, start=1):
        there = snapshot.until(done).take(np.array([change.row]))
        for _, node_info in node_infos(there):
            _tell(plugin, state, pod, change.pod, node_info, added=change.sign > 0)
    return state


def _tell(plugin: Any, state: CycleState, pod: Pod, other: Pod | None, node_info: NodeInfo, *, added: bool) -> None:
    point, method = ("AddPod", "add_pod") if added else ("RemovePod", "remove_pod")
    status, _ = ask_status(plugin, method, pod, node_info.name, state, pod, other, node_info)
    if status is not None and not is_success(status):
        raise SchedulingError(change_failed(point, plugin.name, status).message)
