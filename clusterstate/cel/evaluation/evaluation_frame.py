"""What one evaluation works with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusterstate.cel.cel_faults import CostFault, NotEvaluatedError

MOST_COST = 1_000_000
"""Of a selector of devices. Upstream: resource.k8s.io CELSelectorExpressionMaxCost."""

MOST_MADE = 40_000_000
"""Elements, characters and bytes that functions may make in one evaluation here."""

UNSET = object()
"""A variable that nobody asked for yet."""


class EvaluationFrame:
    """The variable of the environment, those that the expression binds, and what it cost so far."""

    __slots__ = ("cost", "limit", "made", "slots", "subject")

    def __init__(self, subject: Any, slots: int, limit: int = MOST_COST) -> None:
        self.subject = subject
        self.slots = [UNSET] * slots
        self.cost = 0
        self.limit = limit
        self.made = 0

    def charge(self, amount: int) -> None:
        """Raises CostFault when the limit is passed."""
        self.cost += amount
        if self.cost > self.limit:
            raise CostFault

    def count(self, elements: int) -> None:
        """Takes note of a value that was made. Raises NotEvaluatedError for too many of them, whatever they cost."""
        self.made += elements
        if self.made > MOST_MADE:
            raise NotEvaluatedError("its values would become too large")


Term = Callable[[EvaluationFrame], Any]
"""A value out of a frame; may raise ValueFault, CostFault and NotEvaluatedError."""
