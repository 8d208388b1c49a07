"""How the releases' runners react to what plugins answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import attrs

from clusterstate.objects import Pod
from clusterstate.snapshot import Snapshot
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.status import REJECTED_1_20, REJECTED_1_36, Code, Status
from kubescheduler.framework.deciding.pre_filter_plugins import PreFilterOutcome
from kubescheduler.framework.running import runner_filter, runner_prefilter, runner_reserve

if TYPE_CHECKING:
    from kubescheduler.framework.running.framework_runtime import Framework

RunPostFilter = Callable[["Framework", CycleState, Pod, Mapping[str, Status]], tuple[str | None, Status | None]]


@attrs.frozen(eq=False)
class Reactions:
    """One release's runner.

    rejected: the codes that refuse a pod or node. handed_on: of those, what Reserve, PreBind and Bind hand on
    as it is; everything else becomes an Error there. pre_score_skips: codes by which a PreScore plugin says that it
    gives no score. filter_error: of (plugin, pod, status), what becomes of an answer that rejects nothing.
    permit_rejected: of (plugin, pod, status). permit_waits: of (pod, the last Wait). wait_rejected: of (pod, status).
    """

    rejected: frozenset[Code]
    handed_on: frozenset[Code]
    pre_score_skips: frozenset[Code]
    pre_filter: Callable[[Framework, CycleState, Pod, Snapshot], PreFilterOutcome]
    filter: Callable[[Framework, CycleState, Pod, Snapshot], Status | None]
    filter_error: Callable[[str, Pod, Status], Status]
    post_filter: RunPostFilter
    permit_rejected: Callable[[str, Pod, Status], Status]
    permit_waits: Callable[[Pod, Status], Status]
    wait_rejected: Callable[[Pod, Status], Status]


REACTIONS: dict[str, Reactions] = {
    "1.20": Reactions(
        rejected=REJECTED_1_20,
        handed_on=frozenset(),
        pre_score_skips=frozenset(),
        pre_filter=runner_prefilter.pre_filter_1_20,
        filter=runner_filter.filter_1_20,
        filter_error=runner_filter.filter_error_1_20,
        post_filter=runner_filter.post_filter_1_20,
        permit_rejected=runner_reserve.permit_rejected_1_20,
        permit_waits=runner_reserve.permit_waits_1_20,
        wait_rejected=runner_reserve.wait_rejected_1_20,
    ),
    "1.36": Reactions(
        rejected=REJECTED_1_36,
        handed_on=REJECTED_1_36,
        pre_score_skips=frozenset({Code.Skip}),
        pre_filter=runner_prefilter.pre_filter_1_36,
        filter=runner_filter.filter_1_36,
        filter_error=runner_filter.filter_error_1_36,
        post_filter=runner_filter.post_filter_1_36,
        permit_rejected=runner_reserve.permit_rejected_1_36,
        permit_waits=runner_reserve.permit_waits_1_36,
        wait_rejected=runner_reserve.wait_rejected_1_36,
    ),
}
"""Release → how it reacts."""
