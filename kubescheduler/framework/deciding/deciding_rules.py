"""Where 1.20 and 1.36 differ in how a decision is made, apart from plugins."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from kubescheduler.core.filter_results import FilterResults
from kubescheduler.core.fit_errors import fit_error_1_16, fit_error_1_36
from kubescheduler.core.selection import nodes_to_find
from kubescheduler.core.status import REJECTED_1_20, REJECTED_1_36, Code
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.error_texts import filter_failed_1_20, filter_failed_1_36
from kubescheduler.framework.contract.runner_results import PreFilterOutcome
from kubescheduler.framework.deciding.compiled_profile import Frame
from kubescheduler.framework.deciding.extender_statuses import Note, note_1_20, note_1_36
from kubescheduler.framework.deciding.filter_plugins import ErrorText
from kubescheduler.framework.deciding.node_sampling import wanted_1_36
from kubescheduler.framework.deciding.opportunistic_batch import (
    OpportunisticBatch,
    no_batching,
    opportunistic_batching,
)
from kubescheduler.framework.deciding.post_filter_plugins import Collect, collect_1_20, collect_1_36
from kubescheduler.framework.deciding.pre_filter_plugins import Answer, narrow_1_20, narrow_1_36


class FrameworkDecisionRules(msgspec.Struct, frozen=True):
    """How one release decides, apart from plugins."""

    narrow: Callable[[Iterator[tuple[str, Answer]], CycleState], PreFilterOutcome] = narrow_1_36
    """What the PreFilter plugins' answers come to."""
    rejected: frozenset[Code] = REJECTED_1_36
    """The codes by which a Filter refuses a node."""
    filter_error: ErrorText = filter_failed_1_36
    """The text of a Filter error."""
    pre_score_skips: frozenset[Code] = frozenset({Code.Skip})
    """The codes by which PreScore says that a plugin gives no score."""
    collect: Collect = collect_1_36
    """What the PostFilter plugins' answers come to."""
    note: Note = note_1_36
    """What an extender's filter does to statuses."""
    appends: bool = False
    """The statuses of an extender's filter are added to those of plugins; otherwise they replace them."""
    fit_error: Callable[[FilterResults], str] = fit_error_1_36
    """The text when no node fits."""
    wanted: Callable[[int, int], int] = wanted_1_36
    """How many passing nodes are enough, of (nodes, percentage)."""
    nominated_first: bool = True
    """A nominated node is tried alone before the others."""
    empties: bool = True
    """Nodes that a filter answers as objects are scored as if they were empty."""
    one_is_enough: bool = True
    """One passing node is enough when nothing scores."""
    batching: Callable[[Frame, bool], OpportunisticBatch | None] = opportunistic_batching
    """What a profile keeps from one attempt for the next, of (framework, with extenders); None: nothing."""
    reports_post_filter: bool = True
    """The message ends in what the PostFilter plugins said, so they are always run."""


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
    batching=no_batching,
    reports_post_filter=False,
)

DECIDING_1_36 = FrameworkDecisionRules()
