"""Evaluates the formulas of scores, with arithmetic of its own: Go's whole numbers and floating point."""

from __future__ import annotations

import ast
import json
import math
import operator
import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.evidence import rule_evidence
from predicates.types import FitPredicate, NodeError
from priorities.score_evidence import ScoreEvidence
from priorities.types import PriorityConfig

BITS = 64


def whole(number: int) -> int:
    """A whole number of 64 bits, wrapped."""
    return (number + (1 << (BITS - 1))) % (1 << BITS) - (1 << (BITS - 1))


def _is_float(*numbers: Any) -> bool:
    return any(isinstance(number, float | np.floating) for number in numbers)


def _exactly(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(left: Any, right: Any) -> Any:
        if _is_float(left, right):
            return operation(*_alike(left, right))
        return whole(operation(left, right))

    return apply


def _alike(left: Any, right: Any) -> tuple[Any, Any]:
    """Both in single precision if one is, else both in double precision."""
    kind = np.float32 if isinstance(left, np.float32) or isinstance(right, np.float32) else np.float64
    return kind(left), kind(right)


def _divide(left: Any, right: Any) -> Any:
    return operator.truediv(*_alike(left, right))


def _whole_quotient(left: int, right: int) -> int:
    assert not _is_float(left, right)
    sign = 1 if (left < 0) == (right < 0) else -1
    return sign * (abs(left) // abs(right))


def trunc(number: Any) -> int:
    return -(2**63) if math.isnan(number) else int(number)


def rounded(number: Any) -> int:
    return int(math.copysign(math.floor(abs(number) + 0.5), number)) if number else 0


def curve(at: int, *points: tuple[int, int]) -> int:
    at = min(max(at, 0), 100)
    if at <= points[0][0]:
        return points[0][1]
    for (left, low), (right, high) in pairwise(points):
        if at <= right:
            return low + _whole_quotient((high - low) * (at - left), right - left)
    return points[-1][1]


def deviation(*shares: float) -> float:
    if len(shares) < 2:
        return 0.0
    if len(shares) == 2:
        return abs((shares[0] - shares[1]) / 2)
    total, squares = 0.0, 0.0
    for share in shares:
        total += share
    mean = total / len(shares)
    for share in shares:
        squares += (share - mean) * (share - mean)
    return math.sqrt(squares / len(shares))


OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: _exactly(operator.add),
    ast.Sub: _exactly(operator.sub),
    ast.Mult: _exactly(operator.mul),
    ast.Div: _divide,
    ast.FloorDiv: _whole_quotient,
}
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "trunc": trunc,
    "round": rounded,
    "ln": math.log,
    "std": deviation,
    "float32": np.float32,
    "curve": curve,
}


def evaluate(formula: str) -> Any:
    """A formula's number. Raises for whatever is no plain arithmetic."""
    with np.errstate(all="ignore"):
        return _value(ast.parse(formula, mode="eval").body)


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Tuple(elts=parts):
            return tuple(_value(part) for part in parts)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=op, right=right):
            return OPERATORS[type(op)](_value(left), _value(right))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            return FUNCTIONS[name](*(_value(arg) for arg in args))
    raise ValueError(f"not arithmetic: {ast.dump(node)}")


def agrees(found: ScoreEvidence) -> None:
    """Asserts that evidence itself comes to its numbers."""
    if found.formula is not None:
        assert evaluate(found.formula) == found.raw, found
        if found.normalisation is None:
            assert found.normalised == found.raw, found
    if found.normalisation is not None:
        assert evaluate(found.normalisation) == found.normalised, found
    assert whole(found.weight * found.normalised) == found.product, found


def explained(config: PriorityConfig, release: str, pod: PodInfo, feasible: Snapshot) -> list[ScoreEvidence]:
    """The evidence of every feasible row, each of which agrees with itself and with the rule's arrays."""
    raw = config.map(pod, feasible)
    raw = raw if config.settle is None else config.settle(pod, feasible, raw)
    final = raw if config.reduce is None else config.reduce(pod, feasible, raw)
    constant = config.constant(pod)
    out = [rule_evidence(config, release, pod, feasible, at, 3) for at in range(len(feasible))]
    for found, before, after in zip(out, raw.tolist(), final.tolist(), strict=True):
        assert found.formula is not None
        assert (found.raw, found.normalised) == (before, after if constant is None else constant)
        agrees(found)
        msgspec.json.encode(found.to_dict())
    return out


def is_heading(page: str) -> bool:
    """Whether a page of docs/ is there and has the heading after ``#``, if one is named."""
    path, _, anchor = page.partition("#")
    text = (Path(__file__).parents[3] / path).read_text()
    headings = (line.lstrip("# ") for line in text.splitlines() if line.startswith("#"))
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return not anchor or anchor in anchors


def hold_to_evidence(check: FitPredicate, pod: PodInfo, snapshot: Snapshot) -> int:
    """Holds every reason's evidence to the verdict on every row with a node; how many refusals were held.

    A reason that refuses a row has evidence that refuses it; where a check passes, none of its evidence refuses.
    """
    assert check.evidence is not None, check.name
    refusals = 0
    for row in np.flatnonzero(snapshot.has_node).tolist():
        there = snapshot.take(np.array([row]))
        verdict = check.check(pod, there) if check.applies(pod) else {}
        refused = any(mask[0] for mask in verdict.values())
        if any(isinstance(reason, NodeError) for reason in verdict if verdict[reason][0]):
            continue
        for reason, mask in verdict.items():
            if isinstance(reason, NodeError) or (refused and not mask[0]):
                continue
            found = check.evidence.explain(pod, there, reason)
            assert found.refuses is bool(mask[0]), (check.name, reason, there.names[0], found)
            json.dumps(found.facts())
            if mask[0]:
                refusals += 1
                assert found.text, (check.name, reason, found)
    return refusals
