"""The words in which releases refuse node selector terms."""

from __future__ import annotations

import pytest

from clusterstate.objects import FrozenMap, LabelSelector, NodeSelectorTerm, PreferredSchedulingTerm, Requirement
from clusterstate.selectors.matching import (
    SelectorError,
    aggregate,
    compile_selector,
    compile_selector_1_36,
    node_selector_error_1_20,
    node_selector_errors_1_36,
    preferred_error_1_20,
    preferred_error_1_36,
    preferred_errors_1_36,
    term_error,
)

NO_LABEL = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
NAME = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
ALL = 'supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"'
LONG = "x" * 64

EXPRESSIONS: dict[str, tuple[Requirement, str, list[str]]] = {
    "value": (
        Requirement("gen", "Gt", ("-1",)),
        f'invalid label value: "-1": at key: "gen": {NO_LABEL}',
        [f'values[0][gen]: Invalid value: "-1": {NO_LABEL}'],
    ),
    "no-integer": (
        Requirement("gen", "Lt", ("x",)),
        "for 'Gt', 'Lt' operators, the value must be an integer",
        ["values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer"],
    ),
    "neither": (
        Requirement("gen", "Lt", ("-",)),
        "for 'Gt', 'Lt' operators, the value must be an integer",
        [
            "values[0]: Invalid value: \"-\": for 'Gt', 'Lt' operators, the value must be an integer",
            f'values[0][gen]: Invalid value: "-": {NO_LABEL}',
        ],
    ),
    "operator": (
        Requirement("gen", "Is"),
        '"Is" is not a valid node selector operator',
        [f'operator: Unsupported value: "Is": {ALL}'],
    ),
    "no-values": (
        Requirement("gen", "In"),
        "for 'in', 'notin' operators, values set can't be empty",
        ["values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"],
    ),
    "values-too-many": (
        Requirement("gen", "Exists", ("a", "b")),
        "values set must be empty for exists and does not exist",
        ['values: Invalid value: ["a","b"]: values set must be empty for exists and does not exist'],
    ),
    "not-one-value": (
        Requirement("gen", "Gt"),
        "for 'Gt', 'Lt' operators, exactly one value is required",
        ["values: Invalid value: null: for 'Gt', 'Lt' operators, exactly one value is required"],
    ),
    "key": (
        Requirement("-", "Exists"),
        f'invalid label key "-": name part {NAME}',
        [f'key: Invalid value: "-": name part {NAME}'],
    ),
    "prefix": (
        Requirement("A/b", "Exists"),
        f'invalid label key "A/b": prefix part {SUBDOMAIN}',
        [f'key: Invalid value: "A/b": prefix part {SUBDOMAIN}'],
    ),
    "length": (
        Requirement("gen", "In", (LONG,)),
        f'invalid label value: "{LONG}": at key: "gen": must be no more than 63 characters',
        [f'values[0][gen]: Invalid value: "{LONG}": must be no more than 63 bytes'],
    ),
}


@pytest.mark.parametrize(("requirement", "old", "new"), EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_expressions(requirement: Requirement, old: str, new: list[str]) -> None:
    """1.20 tells the first fault, 1.36 all of them with their paths."""
    term = NodeSelectorTerm((requirement,))
    assert node_selector_error_1_20([term]) == old
    path = "p.nodeSelectorTerms[1].matchExpressions[0]"
    assert node_selector_errors_1_36([NodeSelectorTerm(), term], "p") == [f"{path}.{text}" for text in new]


FIELDS: dict[str, tuple[Requirement, str, str]] = {
    "operator": (
        Requirement("metadata.name", "Exists"),
        '"Exists" is not a valid node field selector operator',
        'operator: Unsupported value: "Exists": supported values: "In", "NotIn"',
    ),
    "values": (
        Requirement("metadata.name", "In", ("a", "b")),
        'unexpected number of value (2) for node field selector operator "In"',
        'values: Invalid value: ["a","b"]: must have one element',
    ),
}


@pytest.mark.parametrize(("requirement", "old", "new"), FIELDS.values(), ids=FIELDS)
def test_fields(requirement: Requirement, old: str, new: str) -> None:
    """Only In and NotIn with one value."""
    preferred = (PreferredSchedulingTerm(1, NodeSelectorTerm((), (requirement,))),)
    assert preferred_error_1_20(preferred) == old
    assert preferred_error_1_36(preferred) == f"[0].matchFields[0].{new}"


def test_a_term_is_valid_in_all_releases_or_in_none() -> None:
    """They differ in words only."""
    for requirement, *_ in EXPRESSIONS.values():
        assert term_error(NodeSelectorTerm((requirement,)))
    valid = [
        NodeSelectorTerm((Requirement("a", "In", ("",)),), (Requirement("x", "NotIn", ("y",)),)),
        NodeSelectorTerm(),
    ]
    assert node_selector_error_1_20(valid) is None
    assert node_selector_errors_1_36(valid, "") == []


def test_preferred_terms_that_do_not_count_are_not_parsed() -> None:
    """Those without weight."""
    bad = NodeSelectorTerm((Requirement("gen", "Is"),))
    terms = (PreferredSchedulingTerm(0, bad), PreferredSchedulingTerm(1, NodeSelectorTerm()))
    assert preferred_error_1_20(terms) is None
    assert preferred_error_1_36(terms) is None
    assert preferred_errors_1_36((*terms, PreferredSchedulingTerm(1, bad)), "p") == [
        f'p[2].matchExpressions[0].operator: Unsupported value: "Is": {ALL}'
    ]


def test_several_faults_are_one_text() -> None:
    """Each once; 1.20 has one a term, 1.36 all."""
    bad = NodeSelectorTerm((Requirement("gen", "Is"), Requirement("gen", "Was")))
    other = NodeSelectorTerm((Requirement("gen", "In"),))
    assert node_selector_error_1_20([bad, bad]) == '"Is" is not a valid node selector operator'
    assert node_selector_error_1_20([bad, other]) == (
        "[\"Is\" is not a valid node selector operator, for 'in', 'notin' operators, values set can't be empty]"
    )
    assert preferred_error_1_36((PreferredSchedulingTerm(1, bad),)) == (
        f'[[0].matchExpressions[0].operator: Unsupported value: "Is": {ALL}, '
        f'[0].matchExpressions[1].operator: Unsupported value: "Was": {ALL}]'
    )
    assert aggregate([]) is None


LABEL = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
SELECTORS = {
    "operator": (
        LabelSelector(match_expressions=(Requirement("a", "Near", ("b",)),)),
        '"Near" is not a valid label selector operator',
    ),
    "value": (
        LabelSelector(FrozenMap({"service": "x y"})),
        f'values[0][service]: Invalid value: "x y": {LABEL}',
    ),
    "no values": (
        LabelSelector(match_expressions=(Requirement("a", "In"),)),
        "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
    ),
    "values of Exists": (
        LabelSelector(match_expressions=(Requirement("a", "Exists", ("b",)),)),
        'values: Invalid value: ["b"]: values set must be empty for exists and does not exist',
    ),
    "the first requirement counts": (
        LabelSelector(FrozenMap({"b": "?"}), (Requirement("a", "In"),)),
        f'values[0][b]: Invalid value: "?": {LABEL}',
    ),
    "all its faults": (
        LabelSelector(match_expressions=(Requirement("a", "Exists", ("!",)),)),
        '[values: Invalid value: ["!"]: values set must be empty for exists and does not exist, '
        f'values[0][a]: Invalid value: "!": {LABEL}]',
    ),
}


@pytest.mark.parametrize(("selector", "text"), SELECTORS.values(), ids=SELECTORS.keys())
def test_invalid_selectors(selector: LabelSelector, text: str) -> None:
    """The paths begin at the requirement."""
    with pytest.raises(SelectorError) as caught:
        compile_selector_1_36(selector)
    assert str(caught.value) == text


def test_valid_selectors() -> None:
    """They are the same in both releases."""
    selector = LabelSelector(FrozenMap({"a": "b"}))
    assert compile_selector_1_36(selector) == compile_selector(selector)
    assert compile_selector_1_36(None) == compile_selector(None)
