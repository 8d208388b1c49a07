"""Selectors, affinity terms and tolerations as release 1.16 matches them, and what is wrong with them in the
words of the framework releases.

Everything here is a pure function of one set of labels, and of frozen selectors. A selector is compiled once into a
``Matcher``; compiling an equal one again is a look-up. A requirement reads one label only, so columns of label values
can be matched a distinct value at a time: see ``compile_requirement``. Of faults 1.20 reports the first of each term,
1.36 all, each with the path of the field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from clusterstate.errors import SchedulingError
from clusterstate.objects import (
    FrozenMap,
    Labels,
    LabelSelector,
    NodeSelectorTerm,
    PodAffinityTerm,
    PreferredSchedulingTerm,
    Requirement,
    Taint,
    Toleration,
)
from kubecel.api_names import go_quote, label_value_errors, qualified_name_errors, worded_1_20, worded_1_36

LABEL_SELECTOR_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
NODE_SELECTOR_OPERATORS = (*LABEL_SELECTOR_OPERATORS, "Gt", "Lt")
FIELD_OPERATORS = ("In", "NotIn")
NO_INTEGER = "for 'Gt', 'Lt' operators, the value must be an integer"

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


def requirement_error(requirement: Requirement, operators: Collection[str] = NODE_SELECTOR_OPERATORS) -> str | None:
    """The first fault of a requirement, None when it is valid. Upstream: 1.16 ``labels.NewRequirement``.

    ``operators`` is ``NODE_SELECTOR_OPERATORS`` or ``LABEL_SELECTOR_OPERATORS``.
    """
    key, operator, values = requirement.key, requirement.operator, requirement.values
    if operator not in operators:
        kind = "node" if "Gt" in operators else "pod"
        return f"{go_quote(operator)} is not a valid {kind} selector operator"
    if errors := qualified_name_errors(key):
        return f"invalid label key {go_quote(key)}: {'; '.join(errors)}"
    if error := _count_error(operator, len(values)):
        return error
    if operator in ("Gt", "Lt") and parse_int64(values[0]) is None:
        return NO_INTEGER
    for value in values:
        if errors := label_value_errors(value):
            return f"invalid label value: {go_quote(value)}: at key: {go_quote(key)}: {'; '.join(errors)}"
    return None


def _count_error(operator: str, count: int) -> str | None:
    """What is wrong with so many values."""
    if operator in ("In", "NotIn"):
        return None if count else "for 'in', 'notin' operators, values set can't be empty"
    if operator in ("Exists", "DoesNotExist"):
        return "values set must be empty for exists and does not exist" if count else None
    return None if count == 1 else "for 'Gt', 'Lt' operators, exactly one value is required"


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


def _requirements_of(selector: LabelSelector) -> tuple[Requirement, ...]:
    """matchLabels in the order of their keys, then matchExpressions."""
    return _equalities(selector.match_labels) + selector.match_expressions


def _known(compiled: Matcher | str) -> Matcher:
    if isinstance(compiled, str):
        raise SelectorError(compiled)
    return compiled


@lru_cache(maxsize=8192)
def _compile(requirements: tuple[Requirement, ...], operators: tuple[str, ...], empty: Matcher) -> Matcher | str:
    """A matcher, or the text of the first fault."""
    for requirement in requirements:
        if error := requirement_error(requirement, operators):
            return error
    return Matcher(requirements) if requirements else empty


@lru_cache(maxsize=8192)
def _compile_label_selector(selector: LabelSelector) -> Matcher | str:
    return _compile(_requirements_of(selector), LABEL_SELECTOR_OPERATORS, empty=EVERYTHING)


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


def aggregate(errors: Iterable[str]) -> str | None:
    """Several errors as one text: each once, in brackets unless there is just one; None without any.

    Upstream: apimachinery ``Aggregate.Error``.
    """
    distinct = list(dict.fromkeys(errors))
    if not distinct:
        return None
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def _field_error(requirement: Requirement) -> str | None:
    """Only In and NotIn with one value are valid."""
    if requirement.operator not in FIELD_OPERATORS:
        return f"{go_quote(requirement.operator)} is not a valid node field selector operator"
    if len(requirement.values) != 1:
        count, operator = len(requirement.values), go_quote(requirement.operator)
        return f"unexpected number of value ({count}) for node field selector operator {operator}"
    return None


@lru_cache(maxsize=8192)
def term_error(term: NodeSelectorTerm) -> str | None:
    """The first fault of a node selector term, matchExpressions first; None when it is valid."""
    faults = (
        *(requirement_error(requirement, NODE_SELECTOR_OPERATORS) for requirement in term.match_expressions),
        *(_field_error(requirement) for requirement in term.match_fields),
    )
    return next((fault for fault in faults if fault), None)


def counts_as_preferred(term: PreferredSchedulingTerm) -> bool:
    """Whether the framework releases look at a preferred term at all: it weighs something and is not empty."""
    return bool(term.weight and (term.preference.match_expressions or term.preference.match_fields))


# --- 1.20 ----------------------------------------------------------------------------------


def node_selector_error_1_20(terms: Iterable[NodeSelectorTerm]) -> str | None:
    """The faults of a node selector's terms, None when it is valid. Upstream: 1.20 NewNodeSelector."""
    return aggregate(worded_1_20(error) for term in terms if (error := term_error(term)))


@lru_cache(maxsize=8192)
def preferred_error_1_20(terms: tuple[PreferredSchedulingTerm, ...]) -> str | None:
    """The faults of preferred terms that count, None without any. Upstream: 1.20 NewPreferredSchedulingTerms."""
    return node_selector_error_1_20(term.preference for term in terms if counts_as_preferred(term))


# --- 1.36 ----------------------------------------------------------------------------------


ShowsList = Callable[[Sequence[str]], str]
"""Texts → how a release shows their list."""


def json_list(values: Sequence[str]) -> str:
    """A list as JSON; the API leaves an empty one out."""
    return f"[{','.join(map(go_quote, values))}]" if values else "null"


def node_selector_errors_1_36(terms: Iterable[NodeSelectorTerm], path: str, shown: ShowsList = json_list) -> list[str]:
    """Every fault of a node selector, whose own path is ``path``. Upstream: 1.36 NewNodeSelector."""
    return [
        error
        for index, term in enumerate(terms)
        for error in _term_errors_1_36(term, f"{path}{'.' if path else ''}nodeSelectorTerms[{index}]", shown)
    ]


def preferred_errors_1_36(
    terms: Iterable[PreferredSchedulingTerm], path: str, shown: ShowsList = json_list
) -> list[str]:
    """Every fault of the preferred terms that count; the list's own path is ``path``.

    Upstream: 1.36 NewPreferredSchedulingTerms.
    """
    return [
        error
        for index, term in enumerate(terms)
        if counts_as_preferred(term)
        for error in _term_errors_1_36(term.preference, f"{path}[{index}]", shown)
    ]


@lru_cache(maxsize=8192)
def preferred_error_1_36(terms: tuple[PreferredSchedulingTerm, ...]) -> str | None:
    """The same of a pod's terms as one text, None without any."""
    return aggregate(preferred_errors_1_36(terms, ""))


def _term_errors_1_36(term: NodeSelectorTerm, path: str, shown: ShowsList) -> Iterator[str]:
    for index, requirement in enumerate(term.match_expressions):
        yield from dict.fromkeys(_label_errors(requirement, f"{path}.matchExpressions[{index}]", shown))
    for index, requirement in enumerate(term.match_fields):
        yield from _field_errors(requirement, f"{path}.matchFields[{index}]", shown)


def _label_errors(requirement: Requirement, path: str, shown: ShowsList = json_list) -> Iterator[str]:
    """Upstream: 1.36 ``labels.NewRequirement``."""
    key, operator, values = requirement.key, requirement.operator, requirement.values
    if operator not in NODE_SELECTOR_OPERATORS:
        yield _unsupported(f"{path}.operator", operator, NODE_SELECTOR_OPERATORS)
        return
    if errors := qualified_name_errors(key):
        yield f"{path}.key: Invalid value: {go_quote(key)}: {worded_1_36('; '.join(errors))}"
    if error := _count_error(operator, len(values)):
        yield f"{path}.values: Invalid value: {shown(values)}: {error}"
    if operator in ("Gt", "Lt"):
        for index, value in enumerate(values):
            if parse_int64(value) is None:
                yield f"{path}.values[{index}]: Invalid value: {go_quote(value)}: {NO_INTEGER}"
    for index, value in enumerate(values):
        if errors := label_value_errors(value):
            yield f"{path}.values[{index}][{key}]: Invalid value: {go_quote(value)}: {worded_1_36('; '.join(errors))}"


def _field_errors(requirement: Requirement, path: str, shown: ShowsList) -> Iterator[str]:
    if requirement.operator not in FIELD_OPERATORS:
        yield _unsupported(f"{path}.operator", requirement.operator, FIELD_OPERATORS)
    elif len(requirement.values) != 1:
        yield f"{path}.values: Invalid value: {shown(requirement.values)}: must have one element"


def _unsupported(path: str, value: str, supported: Iterable[str]) -> str:
    return f"{path}: Unsupported value: {go_quote(value)}: supported values: {', '.join(map(go_quote, supported))}"


BEFORE, SINCE = "is not a valid pod selector operator", "is not a valid label selector operator"


def compile_selector(selector: LabelSelector | None) -> Matcher:
    """The matcher of a label selector: None matches nothing, an empty one everything.

    Raises SelectorError with the text of the first invalid requirement.
    """
    try:
        return compile_label_selector(selector)
    except SelectorError as error:
        raise SelectorError(str(error).replace(BEFORE, SINCE)) from None


def compile_selector_1_36(selector: LabelSelector | None) -> Matcher:
    """The same; all faults of the first invalid requirement are told, with their paths.

    Upstream: 1.36 LabelSelectorAsSelector.
    """
    try:
        return compile_selector(selector)
    except SelectorError as error:
        if SINCE in str(error) or selector is None:
            raise
        wrong = ([fault.removeprefix(".") for fault in _label_errors(r, "")] for r in _requirements_of(selector))
        found = map(aggregate, wrong)
        raise SelectorError(next((text for text in found if text), str(error))) from None
