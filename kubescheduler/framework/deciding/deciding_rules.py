"""Where 1.20 and 1.36 differ in how a decision is made, apart from plugins."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs

from kubescheduler.core.filter_results import FilterResults
from kubescheduler.core.fit_errors import fit_error_1_16, fit_error_1_36
from kubescheduler.core.selection import nodes_to_find
from kubescheduler.core.status import REJECTED_1_20, REJECTED_1_36, Code
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.error_texts import filter_failed_1_20, filter_failed_1_36
from kubescheduler.framework.contract.runner_results import PreFilterOutcome
from kubescheduler.framework.deciding.extender_statuses import Note, note_1_20, note_1_36
from kubescheduler.framework.deciding.filter_plugins import ErrorText
from kubescheduler.framework.deciding.node_sampling import wanted_1_36
from kubescheduler.framework.deciding.post_filter_plugins import Collect, collect_1_20, collect_1_36
from kubescheduler.framework.deciding.pre_filter_plugins import Answer, narrow_1_20, narrow_1_36


@attrs.frozen
class FrameworkDecisionRules:
    """One release's ways.

    narrow: what the PreFilter plugins' answers come to. rejected: the codes by which a Filter refuses a node.
    filter_error: the text of a Filter error. pre_score_skips: the codes by which PreScore says that a plugin gives no
    score. collect: what the PostFilter plugins' answers come to. note: what an extender's filter does to statuses;
    appends: these are added to those of plugins, else they replace them. fit_error: the text when no node fits.
    wanted: how many passing nodes are enough, of (nodes, percentage). nominated_first: a nominated node is tried alone
    before the others. empties: nodes that a filter answers as objects are scored as if they were empty. one_is_enough:
    one passing node is enough when nothing scores. reports_post_filter: the message ends in what the PostFilter plugins
    said, so they are always run.
    """

    narrow: Callable[[Iterator[tuple[str, Answer]], CycleState], PreFilterOutcome] = narrow_1_36
    rejected: frozenset[Code] = REJECTED_1_36
    filter_error: ErrorText = filter_failed_1_36
    pre_score_skips: frozenset[Code] = frozenset({Code.Skip})
    collect: Collect = collect_1_36
    note: Note = note_1_36
    appends: bool = False
    fit_error: Callable[[FilterResults], str] = fit_error_1_36
    wanted: Callable[[int, int], int] = wanted_1_36
    nominated_first: bool = True
    empties: bool = True
    one_is_enough: bool = True
    reports_post_filter: bool = True


DECIDING_1_20 = FrameworkDecisionRules(
    narrow=narrow_1_20,
    rejected=REJECTED_1_20,
    filter_error=filter_failed_1_20,
    pre_score_skips=frozenset(),
    collect=collect_1_20,
    note=note_1_20,
    appends=True,
    fit_error=fit_error_1_16,
    wanted=nodes_to_find,
    nominated_first=False,
    empties=False,
    one_is_enough=False,
    reports_post_filter=False,
)

DECIDING_1_36 = FrameworkDecisionRules()
