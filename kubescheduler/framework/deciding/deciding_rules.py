"""Where 1.20 and 1.36 differ in how a decision is made, apart from plugins."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from kubescheduler.core.filter_results import FilterResults
from kubescheduler.core.status import Code
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.runner_results import PreFilterOutcome
from kubescheduler.framework.deciding.compiled_profile import Frame
from kubescheduler.framework.deciding.extender_statuses import Note
from kubescheduler.framework.deciding.filter_plugins import ErrorText
from kubescheduler.framework.deciding.opportunistic_batch import (
    OpportunisticBatch,
)
from kubescheduler.framework.deciding.post_filter_plugins import Collect
from kubescheduler.framework.deciding.pre_filter_plugins import Answer


class FrameworkDecisionRules(msgspec.Struct, frozen=True):
    """How one release decides, apart from plugins."""

    narrow: Callable[[Iterator[tuple[str, Answer]], CycleState], PreFilterOutcome]
    """What the PreFilter plugins' answers come to."""
    rejected: frozenset[Code]
    """The codes by which a Filter refuses a node."""
    filter_error: ErrorText
    """The text of a Filter error."""
    pre_score_skips: frozenset[Code]
    """The codes by which PreScore says that a plugin gives no score."""
    collect: Collect
    """What the PostFilter plugins' answers come to."""
    note: Note
    """What an extender's filter does to statuses."""
    appends: bool
    """The statuses of an extender's filter are added to those of plugins; otherwise they replace them."""
    fit_error: Callable[[FilterResults], str]
    """The text when no node fits."""
    wanted: Callable[[int, int], int]
    """How many passing nodes are enough, of (nodes, percentage)."""
    nominated_first: bool
    """A nominated node is tried alone before the others."""
    empties: bool
    """Nodes that a filter answers as objects are scored as if they were empty."""
    one_is_enough: bool
    """One passing node is enough when nothing scores."""
    batching: Callable[[Frame, bool], OpportunisticBatch | None]
    """What a profile keeps from one attempt for the next, of (framework, with extenders); None: nothing."""
    reports_post_filter: bool
    """The message ends in what the PostFilter plugins said, so they are always run."""
