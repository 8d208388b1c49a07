"""Where 1.20 and 1.36 differ in how a decision is made, apart from plugins."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs

from kubescheduler.core.decision import Decision
from kubescheduler.framework.decision import fit_error_1_20, fit_error_1_36
from kubescheduler.framework.extending import Note, note_1_20, note_1_36
from kubescheduler.framework.filtering import ErrorText, filter_error_1_20, filter_error_1_36
from kubescheduler.framework.prefiltering import Answer, Narrowed, narrow_1_20, narrow_1_36
from kubescheduler.framework.sampling import wanted_1_20, wanted_1_36
from kubescheduler.framework.state import CycleState


@attrs.frozen
class DecisionRules:
    """One release's ways.

    narrow: what the PreFilter plugins' answers come to. filter_error: the text of a Filter error. note: what an
    extender's filter does to statuses. fit_error: the text when no node fits. wanted: how many passing nodes are
    enough, of (nodes, percentage). nominated_first: a nominated node is tried alone before the others.
    empties: nodes that a filter answers as objects are scored as if they were empty. one_is_enough: one passing node
    is enough when nothing scores.
    """

    narrow: Callable[[Iterator[tuple[str, Answer]], CycleState], Narrowed] = narrow_1_36
    filter_error: ErrorText = filter_error_1_36
    note: Note = note_1_36
    fit_error: Callable[[Decision], str] = fit_error_1_36
    wanted: Callable[[int, int], int] = wanted_1_36
    nominated_first: bool = True
    empties: bool = True
    one_is_enough: bool = True


DECISION_RULES: dict[str, DecisionRules] = {
    "1.20": DecisionRules(
        narrow=narrow_1_20,
        filter_error=filter_error_1_20,
        note=note_1_20,
        fit_error=fit_error_1_20,
        wanted=wanted_1_20,
        nominated_first=False,
        empties=False,
        one_is_enough=False,
    ),
    "1.36": DecisionRules(),
}
"""Release → how a decision is made."""
