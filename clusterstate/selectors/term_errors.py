"""What is wrong with node selector terms and label selectors, in the words of the framework releases.

1.20 reports the first error of each term; 1.36 reports every error, each with the path of the field.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from clusterstate.objects import LabelSelector, NodeSelectorTerm, PreferredSchedulingTerm, Requirement
from clusterstate.resource_names import worded_1_20, worded_1_36
from clusterstate.selectors.matching import Matcher, SelectorError, compile_label_selector, parse_int64, requirements_of
from clusterstate.selectors.node_selection import counts_as_preferred, term_error
from kubecel.api_names import go_quote, label_value_errors, qualified_name_errors

LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
FIELD_OPERATORS = ("In", "NotIn")

NO_VALUES = "for 'in', 'notin' operators, values set can't be empty"
SOME_VALUES = "values set must be empty for exists and does not exist"
NOT_ONE_VALUE = "for 'Gt', 'Lt' operators, exactly one value is required"
NO_INTEGER = "for 'Gt', 'Lt' operators, the value must be an integer"
NOT_ONE_FIELD_VALUE = "must have one element"


def aggregate(errors: Iterable[str]) -> str | None:
    """Several errors as one text: each once, in brackets unless there is just one; None without any.

    Upstream: apimachinery ``Aggregate.Error``.
    """
    distinct = list(dict.fromkeys(errors))
    if not distinct:
        return None
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


# --- 1.20 ----------------------------------------------------------------------------------


def _term_errors_1_20(terms: Iterable[NodeSelectorTerm]) -> Iterator[str]:
    for term in terms:
        if error := term_error(term):
            yield worded_1_20(error)


def node_selector_error_1_20(terms: Iterable[NodeSelectorTerm]) -> str | None:
    """The faults of a node selector's terms, None when it is valid. Upstream: 1.20 NewNodeSelector."""
    return aggregate(_term_errors_1_20(terms))


@lru_cache(maxsize=8192)
def preferred_error_1_20(terms: tuple[PreferredSchedulingTerm, ...]) -> str | None:
    """The faults of preferred terms that count, None without any. Upstream: 1.20 NewPreferredSchedulingTerms."""
    return aggregate(_term_errors_1_20(term.preference for term in terms if counts_as_preferred(term)))


# --- 1.36 ----------------------------------------------------------------------------------


def node_selector_errors_1_36(terms: Iterable[NodeSelectorTerm], path: str) -> list[str]:
    """Every fault of a node selector, whose own path is ``path``. Upstream: 1.36 NewNodeSelector."""
    return [
        error
        for index, term in enumerate(terms)
        for error in _term_errors_1_36(term, f"{path}{'.' if path else ''}nodeSelectorTerms[{index}]")
    ]


def preferred_errors_1_36(terms: Iterable[PreferredSchedulingTerm], path: str) -> list[str]:
    """Every fault of the preferred terms that count; the list's own path is ``path``.

    Upstream: 1.36 NewPreferredSchedulingTerms.
    """
    return [
        error
        for index, term in enumerate(terms)
        if counts_as_preferred(term)
        for error in _term_errors_1_36(term.preference, f"{path}[{index}]")
    ]


@lru_cache(maxsize=8192)
def preferred_error_1_36(terms: tuple[PreferredSchedulingTerm, ...]) -> str | None:
    """The same of a pod's terms as one text, None without any."""
    return aggregate(preferred_errors_1_36(terms, ""))


def _term_errors_1_36(term: NodeSelectorTerm, path: str) -> Iterator[str]:
    for index, requirement in enumerate(term.match_expressions):
        yield from dict.fromkeys(_label_errors(requirement, f"{path}.matchExpressions[{index}]"))
    for index, requirement in enumerate(term.match_fields):
        yield from _field_errors(requirement, f"{path}.matchFields[{index}]")


def label_requirement_error_1_36(requirement: Requirement) -> str | None:
    """Every fault of a requirement of a label selector as one text, None without any; paths begin at it."""
    return aggregate(error.removeprefix(".") for error in _label_errors(requirement, ""))


def _label_errors(requirement: Requirement, path: str) -> Iterator[str]:
    """Upstream: 1.36 ``labels.NewRequirement``."""
    key, operator, values = requirement.key, requirement.operator, requirement.values
    if operator not in LABEL_OPERATORS:
        yield _unsupported(f"{path}.operator", operator, LABEL_OPERATORS)
        return
    if errors := qualified_name_errors(key):
        yield f"{path}.key: Invalid value: {go_quote(key)}: {_since_1_36(errors)}"
    if error := _count_error(operator, len(values)):
        yield f"{path}.values: Invalid value: {_list(values)}: {error}"
    if operator in ("Gt", "Lt"):
        for index, value in enumerate(values):
            if parse_int64(value) is None:
                yield f"{path}.values[{index}]: Invalid value: {go_quote(value)}: {NO_INTEGER}"
    for index, value in enumerate(values):
        if errors := label_value_errors(value):
            yield f"{path}.values[{index}][{key}]: Invalid value: {go_quote(value)}: {_since_1_36(errors)}"


def _count_error(operator: str, count: int) -> str | None:
    if operator in ("In", "NotIn"):
        return None if count else NO_VALUES
    if operator in ("Exists", "DoesNotExist"):
        return SOME_VALUES if count else None
    return None if count == 1 else NOT_ONE_VALUE


def _field_errors(requirement: Requirement, path: str) -> Iterator[str]:
    if requirement.operator not in FIELD_OPERATORS:
        yield _unsupported(f"{path}.operator", requirement.operator, FIELD_OPERATORS)
    elif len(requirement.values) != 1:
        yield f"{path}.values: Invalid value: {_list(requirement.values)}: {NOT_ONE_FIELD_VALUE}"


def _unsupported(path: str, value: str, supported: Iterable[str]) -> str:
    return f"{path}: Unsupported value: {go_quote(value)}: supported values: {', '.join(map(go_quote, supported))}"


def _list(values: Sequence[str]) -> str:
    """A list as JSON; the API leaves an empty one out."""
    return f"[{','.join(map(go_quote, values))}]" if values else "null"


def _since_1_36(errors: Iterable[str]) -> str:
    return worded_1_36("; ".join(errors))


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
        found = map(label_requirement_error_1_36, requirements_of(selector))
        raise SelectorError(next((text for text in found if text), str(error))) from None
