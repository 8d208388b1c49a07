"""How the releases' runners react to what plugins answer."""

from __future__ import annotations

from kubescheduler.core.status import REJECTED_1_20, REJECTED_1_36, Code
from kubescheduler.framework.running import runner_filter, runner_prefilter, runner_reserve
from kubescheduler.framework.running.profile_plugins import RunnerReactions

REACTIONS_1_20 = RunnerReactions(
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
)

REACTIONS_1_36 = RunnerReactions(
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
)
