"""An expression, compiled: what the rest of the code uses."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from kubecel.checker import check, validate
from kubecel.evaluation import MOST_COST, EvaluationFrame, Term
from kubecel.faults import NotEvaluatedError
from kubecel.parser import parse
from kubecel.planner import plan
from kubecel.types import CelType
from kubecel.values import Value


class Program(msgspec.Struct, frozen=True, eq=False):
    """An expression that can be evaluated."""

    term: Term
    slots: int
    kind: CelType
    """The type of what it gives."""

    def evaluate(self, subject: Value, limit: int = MOST_COST) -> Value:
        """The value for one subject. Raises ValueFault, CostFault and NotEvaluatedError."""
        return self.run(subject, limit)[0]

    def run(self, subject: Value, limit: int = MOST_COST) -> tuple[Value, int]:
        """(the value, what it cost), as ``evaluate``."""
        frame = EvaluationFrame(subject, self.slots, limit)
        try:
            value = self.term(frame)
        except RecursionError:
            raise NotEvaluatedError("it is too long or nested too deeply") from None
        frame.charge(0)
        return value, frame.cost


def compile_program(source: str, variable: str, fields: Mapping[str, CelType]) -> Program:
    """An expression over one variable with these fields. Raises CompileFault and NotEvaluatedError."""
    try:
        checked = check(parse(source), source, variable, fields)
        validate(checked, source)
        term, slots = plan(checked)
    except RecursionError:
        raise NotEvaluatedError("it is too long or nested too deeply") from None
    return Program(term, slots, checked.kind(checked.root))
