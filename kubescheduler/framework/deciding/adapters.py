"""How plugins of both kinds are asked: those that judge columns, and custom ones that are called for each node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any

import msgspec
import numpy as np

from algorithmprovider.pernode import EVERYTHING, NodeInfo, node_infos
from clusterstate.errors import SchedulingError
from clusterstate.footprint import Footprint
from clusterstate.growable import IntArray, Mask
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.status import REJECTED_1_36, Code, Status, is_success
from kubescheduler.framework.contract.custom_plugins import (
    custom_masks,
    custom_post_filter,
    custom_pre_filter,
    custom_score,
    custom_scores,
    custom_status,
    is_custom,
)
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.plugin import Unresolvable
from kubescheduler.framework.contract.runs import change_failed, normalize_failed, score_failed
from predicates.types import FitPredicate, NodeError, Verdict
from priorities.types import PriorityConfig

SKIP = Status(Code.Skip)
"""What a column rule says that has nothing to say."""


def column_check(plugin: Any) -> FitPredicate | None:
    """A plugin's PreFilter and Filter as column rules, if it has them; a custom plugin may call anything ``check``."""
    check = getattr(plugin, "check", None)
    return check if isinstance(check, FitPredicate) else None


def column_score(plugin: Any) -> PriorityConfig | None:
    """A plugin's PreScore and Score as column rules, if it has them."""
    scoring = getattr(plugin, "scoring", None)
    return scoring if isinstance(scoring, PriorityConfig) else None


def status_of(call: Callable[..., Status | None], *args: Any) -> tuple[Status | None, None]:
    """What a plugin answers, also by raising."""
    try:
        return call(*args), None
    except SchedulingError as error:
        return Status.failure(str(error)), None


def ask_status(plugin: Any, method: str, pod: Pod, node: str, *args: Any) -> tuple[Status | None, None]:
    """What a method of a plugin answers, also by raising. node: whom it is asked about, empty for no node."""
    try:
        if is_custom(plugin):
            return custom_status(plugin, method, pod.key, node, *args), None
        return getattr(plugin, method)(*args), None
    except SchedulingError as error:
        return Status.failure(str(error)), None


def binding_by(plugin: Any) -> Callable[[CycleState, Pod, str], tuple[Status | None, None]]:
    """``ask_status`` of a plugin's ``bind``, for (state, pod, node name)."""
    if is_custom(plugin):
        return lambda state, pod, node_name: ask_status(plugin, "bind", pod, node_name, state, pod, node_name)
    return partial(status_of, plugin.bind)


def _info(pod: Pod, snapshot: Snapshot) -> PodInfo:
    """What column rules are given of a pod, the node that it names included."""
    return snapshot.info(pod).naming(pod.node_name)


# --- PreFilter ---------------------------------------------------------------------------------


def ask_pre_filter(
    plugin: Any, state: CycleState, pod: Pod, snapshot: Snapshot
) -> tuple[Status | None, frozenset[str] | None]:
    """(status, the node names that alone may be considered; None: all). A rule that says nothing of the pod skips."""
    check = column_check(plugin)
    try:
        if check is None:
            return custom_pre_filter(plugin, pod.key, state, pod, snapshot)
        return _pre_filter(check, pod, snapshot)
    except SchedulingError as error:
        return Status.failure(str(error)), None


def _pre_filter(check: FitPredicate, pod: Pod, snapshot: Snapshot) -> tuple[Status | None, frozenset[str] | None]:
    info = _info(pod, snapshot)
    if not check.applies(info):
        return SKIP, None
    if check.pre_filter is None:
        return None, None
    answer = check.pre_filter(info, snapshot.whole())
    if answer.reasons:
        return rejection(answer.reasons, pod, any(map(check.unresolvable, answer.reasons))), None
    return (SKIP, None) if answer.skip else (None, answer.nodes)


def rejection(reasons: tuple[str, ...], pod: Pod, unresolvable: bool) -> Status:
    """The status of reasons that column rules gave; a NodeError among them is an Error."""
    for reason in reasons:
        if isinstance(reason, NodeError):
            return Status.failure(reason.about(pod.key))
    return Status(Code.UnschedulableAndUnresolvable if unresolvable else Code.Unschedulable, reasons)


# --- Filter ------------------------------------------------------------------------------------


def filter_mask(plugin: Any, state: CycleState, pod: Pod, snapshot: Snapshot) -> dict[int, Status]:
    """Position in the snapshot → status, of the rows that a plugin's Filter does not pass.

    Rows without a node object are passed over.
    """
    try:
        check = column_check(plugin)
        if check is not None:
            return _by_rules(check, pod, snapshot)
        if hasattr(plugin, "filter_nodes"):
            answer = custom_masks(plugin, pod.key, len(snapshot), state, pod, snapshot)
            return _by_columns(answer, pod, snapshot)
    except SchedulingError as error:
        return dict.fromkeys(np.flatnonzero(snapshot.has_node).tolist(), Status.failure(str(error)))
    out: dict[int, Status] = {}
    for at, node_info in node_infos(snapshot):
        status, _ = ask_status(plugin, "filter", pod, node_info.name, state, pod, node_info)
        if status is not None and not is_success(status):
            out[at] = status
    return out


def ask_filter(plugin: Any, state: CycleState, pod: Pod, there: Snapshot) -> tuple[Status | None, None]:
    """A plugin's Filter on a snapshot of one row."""
    return filter_mask(plugin, state, pod, there).get(0), None


def _by_rules(check: FitPredicate, pod: Pod, snapshot: Snapshot) -> dict[int, Status]:
    info = _info(pod, snapshot)
    if not check.applies(info):
        return {}
    verdict = check.check(info, snapshot)
    beyond = None if check.beyond is None or not verdict else check.beyond(info, snapshot)
    out: dict[int, Status] = {}
    for at, reasons in _by_row(verdict, snapshot).items():
        hopeless = (beyond is not None and bool(beyond[at])) or any(map(check.unresolvable, reasons))
        out[at] = rejection(tuple(reasons), pod, hopeless)
    return out


def _by_columns(answer: Mapping[str | Status, Mask], pod: Pod, snapshot: Snapshot) -> dict[int, Status]:
    out: dict[int, Status] = {}
    for reason, mask in answer.items():
        status = reason if isinstance(reason, Status) else rejection((reason,), pod, isinstance(reason, Unresolvable))
        for at in np.flatnonzero(mask & snapshot.has_node).tolist():
            out[at] = _joined(out.get(at), status)
    return {at: status for at, status in out.items() if not is_success(status)}


def _joined(before: Status | None, status: Status) -> Status:
    """Two statuses of one node; what is no rejection wins, then what cannot be mended."""
    if before is None or (before.code in REJECTED_1_36 and status.code not in REJECTED_1_36):
        return status
    if before.code not in REJECTED_1_36:
        return before
    return Status(max(before.code, status.code), (*before.reasons, *status.reasons))


def _by_row(verdict: Verdict, snapshot: Snapshot) -> dict[int, list[str]]:
    out: dict[int, list[str]] = {}
    here = snapshot.has_node
    for reason, mask in verdict.items():
        for at in np.flatnonzero(mask & here).tolist():
            out.setdefault(at, []).append(reason)
    return dict(sorted(out.items()))


# --- PostFilter --------------------------------------------------------------------------------


def ask_post_filter(
    plugin: Any, state: CycleState, pod: Pod, statuses: Mapping[str, Status]
) -> tuple[Status | None, str | None]:
    """(status, the node that the pod is nominated to; empty: it no longer is; None: nothing is said)."""
    try:
        return custom_post_filter(plugin, pod.key, state, pod, statuses)
    except SchedulingError as error:
        return Status.failure(str(error)), None


# --- PreScore and Score ------------------------------------------------------------------------


def ask_pre_score(plugin: Any, state: CycleState, pod: Pod, feasible: Snapshot) -> tuple[Status | None, None]:
    """``feasible``: over exactly the nodes that fit."""
    config = column_score(plugin)
    if config is None:
        return ask_status(plugin, "pre_score", pod, "", state, pod, feasible)

    def goes_on() -> Status | None:
        return None if config.pre_score(_info(pod, feasible), feasible.whole()) else SKIP

    return status_of(goes_on)


def score_rows(plugin: Any, state: CycleState, pod: Pod, feasible: Snapshot) -> IntArray:
    """(n,) int64, a plugin's raw scores of exactly the nodes that fit.

    Raises SchedulingError with the release's text when it fails.
    """
    try:
        return _raw(plugin, state, pod, feasible)
    except SchedulingError as error:
        raise SchedulingError(score_failed(plugin.name, error)) from error


def _raw(plugin: Any, state: CycleState, pod: Pod, feasible: Snapshot) -> IntArray:
    config = column_score(plugin)
    if config is not None:
        info = _info(pod, feasible)
        raw = config.map(info, feasible)
        return raw if config.settle is None else config.settle(info, feasible, raw)
    if hasattr(plugin, "score_nodes"):
        return custom_scores(plugin, "score_nodes", pod.key, len(feasible), state, pod, feasible)
    out = np.zeros(len(feasible), np.int64)
    for at, node_info in node_infos(feasible):
        out[at] = custom_score(plugin, pod.key, node_info.name, state, pod, node_info)
    return out


def normalize_rows(
    plugin: Any, state: CycleState, pod: Pod, raw: IntArray, feasible: Snapshot | None = None
) -> IntArray:
    """(n,) int64 from (n,): a plugin's NormalizeScore, if it has one. ``feasible`` is needed by column rules only.

    Raises SchedulingError with the release's text when it fails.
    """
    config = column_score(plugin)
    try:
        if config is not None:
            return (
                raw if config.reduce is None or feasible is None else config.reduce(_info(pod, feasible), feasible, raw)
            )
        if not hasattr(plugin, "normalize_scores"):
            return raw
        return custom_scores(plugin, "normalize_scores", pod.key, len(raw), state, pod, raw)
    except SchedulingError as error:
        raise SchedulingError(normalize_failed(plugin.name, error)) from error


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
