"""Selectors, affinity terms and tolerations as release 1.16 matches them.

Everything here is a pure function of one set of labels, and of frozen selectors. A selector is compiled once into a
``Matcher``; compiling an equal one again is a look-up. A requirement reads one label only, so columns of label values
can be matched a distinct value at a time: see ``compile_requirement``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache

from clusterstate.errors import SchedulingError
from clusterstate.objects import (
    FrozenMap,
    Labels,
    LabelSelector,
    PodAffinityTerm,
    Requirement,
    Taint,
    Toleration,
)
from kubecel.api_names import go_quote, label_value_errors, qualified_name_errors

LABEL_SELECTOR_OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist"})
NODE_SELECTOR_OPERATORS = LABEL_SELECTOR_OPERATORS | {"Gt", "Lt"}

_VALUE_COUNTS: dict[str, tuple[Callable[[int], bool], str]] = {
    "In": (lambda n: n > 0, "for 'in', 'notin' operators, values set can't be empty"),
    "NotIn": (lambda n: n > 0, "for 'in', 'notin' operators, values set can't be empty"),
    "Exists": (lambda n: n == 0, "values set must be empty for exists and does not exist"),
    "DoesNotExist": (lambda n: n == 0, "values set must be empty for exists and does not exist"),
    "Gt": (lambda n: n == 1, "for 'Gt', 'Lt' operators, exactly one value is required"),
    "Lt": (lambda n: n == 1, "for 'Gt', 'Lt' operators, exactly one value is required"),
}

_INT64 = re.compile(r"[+-]?0*[0-9]{1,19}")


class SelectorError(SchedulingError):
    """A selector that the release cannot parse; its own text."""


def parse_int64(text: str) -> int | None:
    """The base-10 int64 that ``text`` spells as Go's ``ParseInt`` reads it, or None.

    One sign and digits: no spaces, underscores or other bases.
    """
    if not _INT64.fullmatch(text):
        return None
    sign, digits = (text[0], text[1:]) if text[0] in "+-" else ("", text)
    number = int(sign + (digits.lstrip("0") or "0"))
    return number if -(2**63) <= number < 2**63 else None


# --- validity ------------------------------------------------------------------------------


def key_error(key: str) -> str | None:
    """The text for a key that is not a qualified name."""
    errors = qualified_name_errors(key)
    return f"invalid label key {go_quote(key)}: {'; '.join(errors)}" if errors else None


def value_error(key: str, value: str) -> str | None:
    """The text for a value that no label can have."""
    errors = label_value_errors(value)
    if not errors:
        return None
    return f"invalid label value: {go_quote(value)}: at key: {go_quote(key)}: {'; '.join(errors)}"


def requirement_error(requirement: Requirement, operators: Collection[str] = NODE_SELECTOR_OPERATORS) -> str | None:
    """The first fault of a requirement, None when it is valid. Upstream: 1.16 ``labels.NewRequirement``.

    ``operators`` is ``NODE_SELECTOR_OPERATORS`` or ``LABEL_SELECTOR_OPERATORS``.
    """
    key, operator, values = requirement.key, requirement.operator, requirement.values
    if operator not in operators:
        kind = "node" if "Gt" in operators else "pod"
        return f"{go_quote(operator)} is not a valid {kind} selector operator"
    if error := key_error(key):
        return error
    count_is_right, count_error = _VALUE_COUNTS[operator]
    if not count_is_right(len(values)):
        return count_error
    if operator in ("Gt", "Lt") and parse_int64(values[0]) is None:
        return "for 'Gt', 'Lt' operators, the value must be an integer"
    return next((error for value in values if (error := value_error(key, value))), None)


# --- matching ------------------------------------------------------------------------------


@lru_cache(maxsize=8192)
def compile_requirement(requirement: Requirement) -> Callable[[str | None], bool]:
    """The test of one valid requirement on the value of its key, None for a label that is not there."""
    match requirement.operator:
        case "In":
            return frozenset(requirement.values).__contains__
        case "NotIn":
            refused = frozenset(requirement.values)
            return lambda value: value not in refused
        case "Exists":
            return lambda value: value is not None
        case "DoesNotExist":
            return lambda value: value is None
    operand = parse_int64(requirement.values[0])
    assert operand is not None, requirement
    greater = requirement.operator == "Gt"
    return lambda value: _compares(value, operand, greater)


def _compares(value: str | None, operand: int, greater: bool) -> bool:
    number = None if value is None else parse_int64(value)
    if number is None:
        return False
    return number > operand if greater else number < operand


class Matcher:
    """All of ``requirements`` at once, or nothing at all when ``never`` is set.

    Without requirements it matches everything. ``requirements`` are valid; equality is ``In`` with one value.
    """

    __slots__ = ("_hash", "_tests", "never", "requirements")

    def __init__(self, requirements: tuple[Requirement, ...] = (), never: bool = False) -> None:
        self.requirements = requirements
        self.never = never
        self._tests = tuple((requirement.key, compile_requirement(requirement)) for requirement in requirements)
        self._hash = hash((requirements, never))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Matcher):
            return NotImplemented
        return self.requirements == other.requirements and self.never == other.never

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Matcher({self.requirements!r}, never={self.never})"

    def __call__(self, labels: Mapping[str, str]) -> bool:
        if self.never:
            return False
        get = labels.get
        # asked for every pair of pods, and all(…) takes twice as long
        for key, test in self._tests:  # noqa: SIM110
            if not test(get(key)):
                return False
        return True

    @property
    def everything(self) -> bool:
        """It matches whatever the labels are."""
        return not self.never and not self.requirements

    @property
    def marks(self) -> frozenset[tuple[str, ...]] | None:
        """Labels, as (key, value), of which whatever matches has one; None: there need not be any."""
        if self.never:
            return frozenset()
        wanted = [requirement for requirement in self.requirements if requirement.operator == "In"]
        if not wanted:
            return None
        narrowest = min(wanted, key=lambda requirement: len(requirement.values))
        return frozenset((narrowest.key, value) for value in narrowest.values)

    @property
    def keys(self) -> frozenset[str]:
        """The labels it reads."""
        return frozenset(requirement.key for requirement in self.requirements)


EVERYTHING = Matcher()
NOTHING = Matcher(never=True)


def compile_requirements(requirements: Iterable[Requirement]) -> Matcher:
    """The matcher of a node selector term's matchExpressions. Upstream: 1.16 ``NodeSelectorRequirementsAsSelector``.

    No requirement at all matches nothing. Raises SelectorError with the text of the first invalid requirement.
    """
    return _known(_compile(tuple(requirements), NODE_SELECTOR_OPERATORS, empty=NOTHING))


def compile_label_selector(selector: LabelSelector | None) -> Matcher:
    """The matcher of a label selector. Upstream: 1.16 ``LabelSelectorAsSelector``.

    None matches nothing, an empty selector everything. matchLabels are checked in key order, before matchExpressions.
    Raises SelectorError with the text of the first invalid requirement.
    """
    return NOTHING if selector is None else _known(_compile_label_selector(selector))


def compile_map(labels: Mapping[str, str] | None) -> Matcher:
    """The matcher of a plain map (nodeSelector, a service's selector). Upstream: 1.16 ``SelectorFromSet``.

    None or an empty map matches everything, and so does a map with one invalid key or value.
    """
    if not labels:
        return EVERYTHING
    return _compile_map(labels if isinstance(labels, FrozenMap) else FrozenMap(labels))


def _equalities(labels: Mapping[str, str]) -> tuple[Requirement, ...]:
    return tuple(Requirement(key, "In", (labels[key],)) for key in sorted(labels))


def requirements_of(selector: LabelSelector) -> tuple[Requirement, ...]:
    """matchLabels in the order of their keys, then matchExpressions."""
    return _equalities(selector.match_labels) + selector.match_expressions


def _known(compiled: Matcher | str) -> Matcher:
    if isinstance(compiled, str):
        raise SelectorError(compiled)
    return compiled


@lru_cache(maxsize=8192)
def _compile(requirements: tuple[Requirement, ...], operators: frozenset[str], empty: Matcher) -> Matcher | str:
    """A matcher, or the text of the first fault."""
    for requirement in requirements:
        if error := requirement_error(requirement, operators):
            return error
    return Matcher(requirements) if requirements else empty


@lru_cache(maxsize=8192)
def _compile_label_selector(selector: LabelSelector) -> Matcher | str:
    return _compile(requirements_of(selector), LABEL_SELECTOR_OPERATORS, empty=EVERYTHING)


@lru_cache(maxsize=8192)
def _compile_map(labels: Labels) -> Matcher:
    compiled = _compile(_equalities(labels), LABEL_SELECTOR_OPERATORS, empty=EVERYTHING)
    return EVERYTHING if isinstance(compiled, str) else compiled


# --- affinity terms and tolerations --------------------------------------------------------


def term_namespaces(term: PodAffinityTerm, owner_namespace: str) -> frozenset[str]:
    """The namespaces a pod affinity term looks into: its own list, or the owner's when absent or empty (1.16)."""
    return frozenset(term.namespaces or (owner_namespace,))


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether a toleration covers a taint. Upstream: 1.16 ``Toleration.ToleratesTaint``.

    An empty effect or key covers all; the operator ``Exists`` any value, ``Equal`` or none the same value, others none.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    return toleration.covers_value(taint)


def any_tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Whether one of the tolerations covers the taint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)
