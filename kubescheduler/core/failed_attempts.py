"""What keeps a decision from being an answer: errors, and extenders that did not answer."""

from __future__ import annotations

from collections.abc import Iterator

from kubescheduler.core.decision import Decision
from kubescheduler.core.generic_scheduler import NO_NODES


def gave_up(decision: Decision | None) -> bool:
    """Whether an error ended the attempt, so that nobody knows where the pod would go.

    A cluster without nodes is an answer: the pod fits nowhere.
    """
    return decision is not None and decision.tried and decision.error not in (None, NO_NODES)


def failures(decision: Decision) -> Iterator[str]:
    """What a scheduler did instead of answering, as ``gave up: …``; nothing for a decision that is an answer.

    A release goes on without scores that an extender does not send, and without an ignorable extender. Where the pod
    would go with them is then unknown.
    """
    if decision.error is not None:
        if decision.tried:
            yield f"gave up: {decision.error}"
        return
    for trace in decision.extenders:
        for error in (trace.filter_error, trace.prioritize_error):
            if error is not None:
                yield f"went on without its extender: {error}"
