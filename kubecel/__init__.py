"""CEL, the Common Expression Language, as Kubernetes has it: its libraries, cost limits and error texts.

Read ``program.py`` first; the README says what there is. Here is what can go wrong with an expression.
"""

from __future__ import annotations

NO_OVERLOAD = "no such overload"
COST_EXCEEDED = "operation cancelled: actual cost limit exceeded"


class NotEvaluatedError(Exception):
    """An expression, or a part of one, that is not understood or would need too much memory here."""


class CompileFault(Exception):
    """An expression that is no CEL of Kubernetes, or no condition: its text is a CEL compile error."""


class ValueFault(Exception):
    """An expression that fails for this input; CEL calls it a runtime error. ``&&``, ``||`` may absorb it."""


class CostFault(Exception):
    """The evaluation cost more than it may; nothing absorbs that."""

    def __init__(self) -> None:
        super().__init__(COST_EXCEEDED)
