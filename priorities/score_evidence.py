"""What a score was made of: its inputs, and its formula with the numbers filled in.

Formulas are plain arithmetic that can be evaluated: ``+ - * / // ( )`` and ``min max abs``, where ``//`` divides whole
numbers and cuts off toward zero, ``/`` divides in floating point, and whole numbers wrap at 64 bits. Besides those,

    trunc(x)                        without the fraction; -2^63 for what is no number
    round(x)                        to the nearest whole number, halves away from zero
    ln(x)                           the natural logarithm
    std(a, b, …)                    the standard deviation; 0 of one number or none
    float32(x)                      in single precision, and so is what is computed with it
    curve(x, (x1, y1), (x2, y2) …)  straight between the points, cut off toward the one on the left; level outside

Nothing here is worked out while pods are scheduled: a rule makes its evidence when somebody asks for it. The formulas
come from the very functions that score: one of arrays is given ``traced`` ones, and ``formula`` says how a number of
its result came about:

    formula(least(traced(requested), traced(allocatable))[0])        # (4000 - 1500) * 100 // 4000

Masks choose and are not shown; nor are, of numbers that are not traced, the factor 1, the 0 that a sum starts with, and
the 1 that keeps a divisor from being 0.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
import numpy as np

from clusterstate.growable import ABSENT, IntArray
from clusterstate.objects import LabelSelector, NodeSelectorTerm, Requirement
from clusterstate.podinfo import PodInfo
from clusterstate.quantity import format_quantity
from clusterstate.selectors.matching import Matcher
from clusterstate.snapshot import Snapshot
from clusterstate.usage import CPU, EPHEMERAL_STORAGE, MEMORY

Inputs = Mapping[str, Any]
"""Name → number, text with its unit, or a list or mapping of those: plain data."""


class Calculation(msgspec.Struct, frozen=True):
    """How one number came about."""

    formula: str
    """Evaluates to the number."""

    inputs: Inputs = msgspec.field(default_factory=dict)
    """What went into it."""


Explain = Callable[[PodInfo, Snapshot, int], Calculation]
"""Of the pod, a snapshot over exactly the feasible rows, and the position of one of them: its raw score."""

ExplainReduce = Callable[[PodInfo, Snapshot, IntArray, int], Calculation]
"""The same with the raw scores of all feasible rows, (n,): the score that ``reduce`` makes of the row's."""


class RuleEvidence(msgspec.Struct, frozen=True):
    """What a rule that scores can say about its scores."""

    upstream: str
    """The rule's name in kube-scheduler, without the release."""

    page: str
    """The rule's page and heading in docs/."""

    score: Explain
    """The raw score."""

    normalise: ExplainReduce | None = None
    """What normalising makes of it; None where raw scores count as they are."""


class ScoreEvidence(msgspec.Struct, frozen=True):
    """What one rule's score of one node was made of."""

    rule: str
    """The registered key of the priority or plugin, or the extender's address."""

    upstream: str
    """The release and its name for the rule: ``1.16 LeastRequestedPriority``; empty for a custom rule."""

    page: str
    """Where docs/ describe the rule: ``docs/reference/priorities.md#leastrequestedpriority``."""

    inputs: Inputs
    """What went into the score."""

    formula: str | None
    """Evaluates to ``raw``; None for a custom rule, of which nothing but its answer is known."""

    raw: int
    """The score before it is normalised."""

    normalisation: str | None
    """Evaluates to ``normalised``; None where the raw score counts as it is, or a custom rule normalises."""

    normalised: int
    """The score that is weighted."""

    weight: int
    """The rule's weight."""

    product: int
    """``weight * normalised``, wrapping at 64 bits; the products of all rules add up to the node's total."""

    @property
    def sentence(self) -> str:
        """The whole way from the formula to the product in one line."""
        parts = [_equation("custom rule" if self.formula is None else self.formula, self.raw)]
        if self.normalisation is not None:
            parts.append(f"normalised {_equation(self.normalisation, self.normalised)}")
        elif self.normalised != self.raw:
            parts.append(f"normalised {self.normalised}")
        return f"{self.rule}: {'; '.join(parts)}; times {self.weight}: {self.product}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return msgspec.structs.asdict(self)


def _equation(formula: str, number: int) -> str:
    """``1 + 1 = 2``; a formula that is no more than its number stands alone."""
    return formula if formula == str(number) else f"{formula} = {number}"


# --- helpers of the rules ------------------------------------------------------------------


def priority_page(heading: str) -> str:
    """The page of a priority of 1.4 and 1.16."""
    return f"docs/reference/priorities.md#{heading}"


def plugin_page(name: str) -> str:
    """The page of a plugin."""
    return f"docs/reference/plugins.md#{name.lower()}"


def priority_evidence(upstream: str, score: Explain, normalise: ExplainReduce | None = None) -> RuleEvidence:
    """The evidence of a priority that is documented under its own name."""
    return RuleEvidence(upstream, priority_page(upstream.lower()), score, normalise)


def plugin_evidence(name: str, score: Explain, normalise: ExplainReduce | None = None) -> RuleEvidence:
    """The evidence of a plugin."""
    return RuleEvidence(name, plugin_page(name), score, normalise)


def one_row(snapshot: Snapshot, at: int) -> Snapshot:
    """The same cluster over one of the rows."""
    return snapshot.take(snapshot.row_numbers[at : at + 1])


def number(row: IntArray) -> int:
    """The number of a snapshot's only row."""
    return int(row[0])


def pods_evidence(
    count: Callable[[PodInfo, Snapshot], IntArray],
    selectors: Callable[[PodInfo, Snapshot], Iterable[Mapping[str, str] | LabelSelector | Matcher | None]],
    heading: str = "selectors",
) -> Explain:
    """Of a raw score that is a number of pods on the node itself. selectors: what they are selected by."""

    def explain(pod: PodInfo, snapshot: Snapshot, at: int) -> Calculation:
        counted = number(count(pod, one_row(snapshot, at)))
        texts = [selector_text(selector) for selector in selectors(pod, snapshot)]
        return Calculation(str(counted), {"pods on the node": counted, heading: texts})

    return explain


def added(terms: list[str]) -> str:
    """``a + b + …``; 0 without any."""
    return " + ".join(terms) or "0"


BYTES = (MEMORY, EPHEMERAL_STORAGE)


def amount(resource: str, number: int) -> str:
    """``500m`` of cpu (in millicores), ``200Mi`` of what is counted in bytes, a plain number of all else."""
    if resource == CPU:
        return f"{number}m"
    return size(number) if resource in BYTES else str(number)


def size(number: int) -> str:
    """A number of bytes."""
    return format_quantity(number * 1000, binary=True)


def resource_inputs(resources: Iterable[str], requested: IntArray, allocatable: IntArray) -> dict[str, dict[str, str]]:
    """Of each resource what its pods ask for, the incoming one included, and what the node has; (k,) amounts."""
    pairs = zip(resources, requested.tolist(), allocatable.tolist(), strict=True)
    return {
        name: {"requested": amount(name, wanted), "allocatable": amount(name, there)} for name, wanted, there in pairs
    }


def labels_text(labels: Mapping[str, str]) -> str:
    """``app=web,tier=front``."""
    return ",".join(f"{key}={value}" for key, value in labels.items()) or "no labels"


def requirements_text(requirements: Iterable[Requirement]) -> str:
    """``disk In (ssd), zone Exists``."""
    return ", ".join(
        f"{r.key} {r.operator} ({', '.join(r.values)})" if r.values else f"{r.key} {r.operator}" for r in requirements
    )


def term_text(term: NodeSelectorTerm) -> str:
    """What a node selector term asks for."""
    return requirements_text((*term.match_expressions, *term.match_fields)) or "nothing"


def selector_text(selector: Mapping[str, str] | LabelSelector | Matcher | None) -> str:
    """What a selector asks for."""
    if selector is None:
        return "nothing"
    if isinstance(selector, Matcher):
        return "nothing" if selector.never else requirements_text(selector.requirements) or "everything"
    if isinstance(selector, LabelSelector):
        pairs = [labels_text(selector.match_labels)] if selector.match_labels else []
        return ", ".join([*pairs, requirements_text(selector.match_expressions)]).strip(", ") or "everything"
    return labels_text(selector) if selector else "everything"


def domain_text(snapshot: Snapshot, key: str, at: int) -> str:
    """``zone=a``, the topology domain of a row, or that it has none."""
    code = int(snapshot.label_codes(key)[0][at])
    return f"no {key}" if code == ABSENT else f"{key}={snapshot.label_values(key)[code]}"


def zone_text(zone: tuple[str, ...] | str) -> str:
    """``eu, eu-1``: a region and a zone, in either form of a zone key."""
    parts = zone.split(":\0:") if isinstance(zone, str) else zone
    return ", ".join(part for part in parts if part)


# --- which rules of different releases are the same ---------------------------------------------

RULES: Mapping[str, str] = {
    "LeastRequestedPriority": "least",
    "NodeResourcesLeastAllocated": "least",
    "MostRequestedPriority": "most",
    "NodeResourcesMostAllocated": "most",
    "RequestedToCapacityRatioPriority": "ratio",
    "RequestedToCapacityRatio": "ratio",
    "NodeResourcesFit": "fit",
    "BalancedResourceAllocation": "balance",
    "NodeResourcesBalancedAllocation": "balance",
    "SelectorSpreadPriority": "selector spread",
    "ServiceSpreadingPriority": "selector spread",
    "SelectorSpread": "selector spread",
    "EvenPodsSpreadPriority": "topology spread",
    "PodTopologySpread": "topology spread",
    "InterPodAffinityPriority": "pod affinity",
    "InterPodAffinity": "pod affinity",
    "NodeAffinityPriority": "node affinity",
    "NodeAffinity": "node affinity",
    "TaintTolerationPriority": "taints",
    "TaintToleration": "taints",
    "ImageLocalityPriority": "images",
    "ImageLocality": "images",
    "NodePreferAvoidPodsPriority": "avoidance",
    "NodePreferAvoidPods": "avoidance",
    "NodeLabel": "labels",
    "ServiceAffinity": "service labels",
}
"""Priority or plugin → the rule it stands for, whatever the release."""

SUBJECTS: Mapping[str, str] = {
    "least": "resources",
    "most": "resources",
    "ratio": "resources",
    "fit": "resources",
    "selector spread": "spread",
    "topology spread": "spread",
}
"""Rules with the same aim; what has no exact counterpart is paired with the rest of these."""


def counterparts(name: str, known: Iterable[str]) -> list[str]:
    """Of these names the ones of the same rule, else the ones with the same aim."""
    rule = RULES.get(name, name)
    names = list(known)
    same = [other for other in names if RULES.get(other) == rule]
    return same or [other for other in names if SUBJECTS.get(RULES.get(other, ""), other) == SUBJECTS.get(rule, rule)]


SUM, PRODUCT, ONE = range(3)
"""How strongly the parts of a text hold together."""

Operator = Callable[[Any, Any], Any]


class Traced:
    """A number, and how it came about."""

    __slots__ = ("holds", "text", "value")

    def __init__(self, value: Any, text: str = "", holds: int = ONE) -> None:
        self.value = value
        self.text = text or str(value)
        self.holds = holds

    def __bool__(self) -> bool:
        return bool(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __abs__(self) -> Traced:
        return Traced(abs(self.value), f"abs({self.text})")

    __hash__ = None  # type: ignore[assignment]


def _of(number: Any) -> Traced:
    return number if isinstance(number, Traced) else Traced(number)


def _is_plain(number: Any, value: int) -> bool:
    return not isinstance(number, Traced) and bool(number == value)


def _inside(number: Traced, holds: int) -> str:
    return number.text if number.holds >= holds else f"({number.text})"


def _operation(sign: str, holds: int, compute: Operator) -> Operator:
    def operate(left: Any, right: Any) -> Any:
        if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
            return NotImplemented
        one, other = _of(left), _of(right)
        value = compute(one.value, other.value)
        if isinstance(right, bool):
            return Traced(value, one.text if right or sign == "+" else "0", one.holds)
        if sign == "*" and _is_plain(right, 1):
            return one
        if sign == "+" and _is_plain(left, 0):
            return other
        return Traced(value, f"{_inside(one, holds)} {sign} {_inside(other, holds + 1)}", holds)

    return operate


for _name, _sign, _holds, _compute in (
    ("add", "+", SUM, operator.add),
    ("sub", "-", SUM, operator.sub),
    ("mul", "*", PRODUCT, operator.mul),
    ("truediv", "/", PRODUCT, operator.truediv),
    ("floordiv", "//", PRODUCT, operator.floordiv),
):
    _operate = _operation(_sign, _holds, _compute)
    setattr(Traced, f"__{_name}__", _operate)
    setattr(Traced, f"__r{_name}__", lambda self, other, operate=_operate: operate(other, self))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _compare = getattr(operator, _name)
    setattr(Traced, f"__{_name}__", lambda self, other, compare=_compare: compare(self.value, _of(other).value))


def _least(left: Any, right: Any) -> Traced:
    one, other = _of(left), _of(right)
    return Traced(min(one.value, other.value), f"min({one.text}, {other.text})")


def _most(left: Any, right: Any) -> Traced:
    one, other = _of(left), _of(right)
    if right == 1 <= one.value:
        return one
    return Traced(max(one.value, other.value), f"max({one.text}, {other.text})")


def _whole(number: Any) -> Traced:
    one = _of(number)
    return Traced(int(one.value), f"trunc({one.text})") if isinstance(one.value, float) else one


_SHOWN: dict[str, Any] = {
    "minimum": np.frompyfunc(_least, 2, 1),
    "maximum": np.frompyfunc(_most, 2, 1),
}
_WHOLE, _TRACED = np.frompyfunc(_whole, 1, 1), np.frompyfunc(_of, 1, 1)


class _Array(np.ndarray[Any, Any]):
    """Of traced numbers."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: Any, *inputs: Any, out: Any = (), **options: Any) -> Any:
        if out:
            options["out"] = tuple(map(np.asarray, out))
        plain = [np.asarray(each) if isinstance(each, _Array) else each for each in inputs]
        shown = _SHOWN.get(ufunc.__name__, ufunc) if method == "__call__" else ufunc
        return _array(getattr(shown, method)(*plain, **options))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _array(super().__array_function__(function, types, args, kwargs))

    def astype(self, *_: Any, **__: Any) -> Any:
        """Whole numbers, whatever the type."""
        return _array(_WHOLE(np.asarray(self)))


def _array(result: Any) -> Any:
    return result.view(_Array) if isinstance(result, np.ndarray) and result.dtype == object else result


def traced(numbers: Any) -> Any:
    """An array, or a single number, whose numbers show in formulas."""
    return _array(_TRACED(numbers))


def formula(number: Any) -> str:
    """How a number came about."""
    return _of(number).text
