from __future__ import annotations

import pytest

from clusterstate.errors import SchedulingError
from clusterstate.objects import (
    FrozenMap,
    LabelSelector,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
    Requirement,
    Taint,
    Toleration,
)
from clusterstate.selectors.matching import (
    LABEL_SELECTOR_OPERATORS,
    NOTHING,
    SelectorError,
    aggregate,
    compile_label_selector,
    compile_map,
    compile_requirement,
    compile_requirements,
    compile_selector,
    compile_selector_1_36,
    node_selector_error_1_20,
    node_selector_errors_1_36,
    parse_int64,
    preferred_error_1_20,
    preferred_error_1_36,
    preferred_errors_1_36,
    requirement_error,
    term_error,
    tolerates,
)
from tests.support.name_rules import NAME_RULE, SUBDOMAIN, VALUE_RULE

LONG = "x" * 64
NO_VALUES = "for 'in', 'notin' operators, values set can't be empty"
SOME_VALUES = "values set must be empty for exists and does not exist"
ONE_VALUE = "for 'Gt', 'Lt' operators, exactly one value is required"
NO_INTEGER = "for 'Gt', 'Lt' operators, the value must be an integer"


def req(key: str, operator: str, *values: str) -> Requirement:
    return Requirement(key, operator, values)


@pytest.mark.parametrize(
    ("requirement", "error"),
    [
        (req("a", "In", "1", ""), None),
        (req("a", "NotIn", "1"), None),
        (req("a", "Exists"), None),
        (req("a", "DoesNotExist"), None),
        (req("a", "Gt", "007"), None),
        (req("a", "In"), NO_VALUES),
        (req("a", "NotIn"), NO_VALUES),
        (req("a", "Exists", "1"), SOME_VALUES),
        (req("a", "DoesNotExist", "1"), SOME_VALUES),
        (req("a", "Gt"), ONE_VALUE),
        (req("a", "Lt", "1", "2"), ONE_VALUE),
        (req("a", "Lt", "1.5"), NO_INTEGER),
        (req("a", "Lt", "9223372036854775808"), NO_INTEGER),
        (req("gen", "Lt", "-1"), f'invalid label value: "-1": at key: "gen": {VALUE_RULE}'),
        (req("gen", "Gt", "+1"), f'invalid label value: "+1": at key: "gen": {VALUE_RULE}'),
        (req("gen", "In", "ok", "a b"), f'invalid label value: "a b": at key: "gen": {VALUE_RULE}'),
        (req("a", "in", "1"), '"in" is not a valid node selector operator'),
        (req("", "=="), '"==" is not a valid node selector operator'),
        (req("/a", "In"), 'invalid label key "/a": prefix part must be non-empty'),
        (req("-", "Exists"), f'invalid label key "-": name part {NAME_RULE}'),
        (req("gen", "In", LONG), f'invalid label value: "{LONG}": at key: "gen": must be no more than 63 characters'),
    ],
)
def test_requirement_error(requirement: Requirement, error: str | None) -> None:
    """Each kind of fault has the release's text, and the first fault is the one that is told."""
    assert requirement_error(requirement) == error


def test_label_selectors_know_four_operators() -> None:
    """Gt and Lt are refused in a label selector, with its own text."""
    text = '"Gt" is not a valid pod selector operator'
    assert requirement_error(req("a", "Gt", "1"), LABEL_SELECTOR_OPERATORS) == text
    with pytest.raises(SelectorError, match=text):
        compile_label_selector(LabelSelector(match_expressions=(req("a", "Gt", "1"),)))


@pytest.mark.parametrize(
    ("requirement", "labels", "matches"),
    [
        (req("a", "In", "1", "2"), {"a": "2"}, True),
        (req("a", "In", "1", "2"), {"a": "3"}, False),
        (req("a", "In", ""), {}, False),
        (req("a", "In", ""), {"a": ""}, True),
        (req("a", "NotIn", "1"), {"a": "2"}, True),
        (req("a", "NotIn", "1"), {"a": "1"}, False),
        (req("a", "NotIn", "1"), {}, True),
        (req("a", "Exists"), {"a": ""}, True),
        (req("a", "Exists"), {"b": ""}, False),
        (req("a", "DoesNotExist"), {"a": ""}, False),
        (req("a", "DoesNotExist"), {}, True),
        (req("a", "Gt", "5"), {"a": "6"}, True),
        (req("a", "Gt", "5"), {"a": "5"}, False),
        (req("a", "Gt", "5"), {"a": "x"}, False),
        (req("a", "Gt", "5"), {"a": "1_0"}, False),
        (req("a", "Gt", "5"), {}, False),
        (req("a", "Lt", "5"), {"a": "-6"}, True),
        (req("a", "Lt", "5"), {"a": "5"}, False),
        (req("a", "Lt", "5"), {}, False),
    ],
)
def test_matching(requirement: Requirement, labels: dict[str, str], matches: bool) -> None:
    """A requirement matches by the release's rules, alone and on one value of its key."""
    assert compile_requirements([requirement])(labels) is matches
    assert compile_requirement(requirement)(labels.get(requirement.key)) is matches


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-0", 0),
        ("+7", 7),
        ("007", 7),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", None),
        ("-9223372036854775809", None),
        ("0" * 5000 + "1", 1),
        ("9" * 5000, None),
        ("", None),
        ("+", None),
        ("--1", None),
        (" 1", None),
        ("1\n", None),
        ("1_000", None),
        ("0x10", None),
        ("1e3", None),
        ("٣", None),
    ],
)
def test_parse_int64(text: str, number: int | None) -> None:
    """Only what Go's ParseInt takes is an integer."""
    assert parse_int64(text) == number


def test_no_requirement_matches_nothing() -> None:
    """A term without expressions selects no node."""
    assert compile_requirements(()) is NOTHING
    assert not NOTHING({"a": "1"})
    assert not NOTHING.everything


def test_label_selector_absent_and_empty() -> None:
    """An absent selector matches nothing, an empty one everything."""
    assert not compile_label_selector(None)({})
    assert compile_label_selector(LabelSelector())({})
    assert compile_label_selector(LabelSelector()).everything


def test_label_selector_is_a_conjunction() -> None:
    """matchLabels and matchExpressions must all hold."""
    matcher = compile_label_selector(
        LabelSelector(FrozenMap({"app": "web", "tier": "1"}), (req("env", "NotIn", "dev"),))
    )
    assert matcher({"app": "web", "tier": "1"})
    assert not matcher({"app": "web"})
    assert not matcher({"app": "web", "tier": "1", "env": "dev"})
    assert matcher.keys == {"app", "tier", "env"}
    assert matcher.requirements == (req("app", "In", "web"), req("tier", "In", "1"), req("env", "NotIn", "dev"))


def test_invalid_label_selector() -> None:
    """The first fault is raised, a bad matchLabels entry before the expressions, and each time anew."""
    selector = LabelSelector(FrozenMap({"a": "b c"}), (req("a", "In"),))
    for _ in range(2):
        with pytest.raises(SelectorError) as caught:
            compile_label_selector(selector)
        assert str(caught.value) == f'invalid label value: "b c": at key: "a": {VALUE_RULE}'
    assert isinstance(caught.value, SchedulingError)


@pytest.mark.parametrize(
    ("labels", "of", "matches"),
    [
        (None, {"a": "1"}, True),
        ({}, {}, True),
        ({"a": "1"}, {"a": "1", "b": "2"}, True),
        ({"a": "1", "b": "3"}, {"a": "1", "b": "2"}, False),
        ({"a": ""}, {}, False),
        ({"a": "1", "b": "no good"}, {}, True),
        ({"a": "1", "/b": "2"}, {"a": "3"}, True),
    ],
    ids=["none", "empty", "subset", "other", "absent", "bad-value", "bad-key"],
)
def test_compile_map(labels: dict[str, str] | None, of: dict[str, str], matches: bool) -> None:
    """A map is a conjunction of equalities, and one invalid pair makes it match everything."""
    assert compile_map(labels)(of) is matches


@pytest.mark.parametrize(
    ("toleration", "taint", "expected"),
    [
        (Toleration(), Taint("k", "", "NoSchedule"), True),
        (Toleration(), Taint("k", "v", "NoSchedule"), False),
        (Toleration(operator="Exists"), Taint("k", "v", "NoExecute"), True),
        (Toleration("k", "Equal", "v"), Taint("k", "v", "NoSchedule"), True),
        (Toleration("k", "", "v"), Taint("k", "v", "NoSchedule"), True),
        (Toleration("k", "Equal", "v"), Taint("k", "w", "NoSchedule"), False),
        (Toleration("k", "Exists", "v"), Taint("k", "w", "NoSchedule"), True),
        (Toleration("k", "Exists"), Taint("j", "", "NoSchedule"), False),
        (Toleration("k", "Exists", effect="NoExecute"), Taint("k", "", "NoSchedule"), False),
        (Toleration("k", "Exists", effect="NoSchedule"), Taint("k", "", "NoSchedule"), True),
        (Toleration("k", "exists"), Taint("k"), False),
    ],
)
def test_tolerates(toleration: Toleration, taint: Taint, expected: bool) -> None:
    """Tolerations cover taints by the rules of release 1.16."""
    assert tolerates(toleration, taint) is expected


ALL = 'supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"'

EXPRESSIONS: dict[str, tuple[Requirement, list[str]]] = {
    "value": (req("gen", "Gt", "-1"), [f'values[0][gen]: Invalid value: "-1": {VALUE_RULE}']),
    "no-integer": (req("gen", "Lt", "x"), [f'values[0]: Invalid value: "x": {NO_INTEGER}']),
    "neither": (
        req("gen", "Lt", "-"),
        [f'values[0]: Invalid value: "-": {NO_INTEGER}', f'values[0][gen]: Invalid value: "-": {VALUE_RULE}'],
    ),
    "operator": (req("gen", "Is"), [f'operator: Unsupported value: "Is": {ALL}']),
    "no-values": (req("gen", "In"), [f"values: Invalid value: null: {NO_VALUES}"]),
    "values-too-many": (req("gen", "Exists", "a", "b"), [f'values: Invalid value: ["a","b"]: {SOME_VALUES}']),
    "not-one-value": (req("gen", "Gt"), [f"values: Invalid value: null: {ONE_VALUE}"]),
    "key": (req("-", "Exists"), [f'key: Invalid value: "-": name part {NAME_RULE}']),
    "length": (req("gen", "In", LONG), [f'values[0][gen]: Invalid value: "{LONG}": must be no more than 63 bytes']),
}


@pytest.mark.parametrize(("requirement", "new"), EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_expressions(requirement: Requirement, new: list[str]) -> None:
    """1.20 tells the first fault, 1.36 all of them with their paths."""
    term = NodeSelectorTerm((requirement,))
    assert node_selector_error_1_20([term]) == (requirement_error(requirement) or "a fault")
    path = "p.nodeSelectorTerms[1].matchExpressions[0]"
    assert node_selector_errors_1_36([NodeSelectorTerm(), term], "p") == [f"{path}.{text}" for text in new]


def test_the_prefix_of_a_key() -> None:
    """1.20 has the words of 1.36 for it."""
    term = NodeSelectorTerm((req("A/b", "Exists"),))
    assert node_selector_error_1_20([term]) == f'invalid label key "A/b": prefix part {SUBDOMAIN}'
    [new] = node_selector_errors_1_36([term], "p")
    assert new.endswith(f'.key: Invalid value: "A/b": prefix part {SUBDOMAIN}')


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
    bad = NodeSelectorTerm((req("gen", "Is"),))
    terms = (PreferredSchedulingTerm(0, bad), PreferredSchedulingTerm(1, NodeSelectorTerm()))
    assert preferred_error_1_20(terms) is None
    assert preferred_error_1_36(terms) is None
    assert preferred_errors_1_36((*terms, PreferredSchedulingTerm(1, bad)), "p") == [
        f'p[2].matchExpressions[0].operator: Unsupported value: "Is": {ALL}'
    ]


def test_several_faults_are_one_text() -> None:
    """Each once; 1.20 has one a term, 1.36 all."""
    bad = NodeSelectorTerm((req("gen", "Is"), req("gen", "Was")))
    other = NodeSelectorTerm((req("gen", "In"),))
    assert node_selector_error_1_20([bad, bad]) == '"Is" is not a valid node selector operator'
    assert node_selector_error_1_20([bad, other]) == (f'["Is" is not a valid node selector operator, {NO_VALUES}]')
    assert preferred_error_1_36((PreferredSchedulingTerm(1, bad),)) == (
        f'[[0].matchExpressions[0].operator: Unsupported value: "Is": {ALL}, '
        f'[0].matchExpressions[1].operator: Unsupported value: "Was": {ALL}]'
    )
    assert aggregate([]) is None


def selecting(*expressions: Requirement, **labels: str) -> LabelSelector:
    return LabelSelector(FrozenMap(labels), expressions)


SELECTORS = {
    "operator": (selecting(req("a", "Near", "b")), '"Near" is not a valid label selector operator'),
    "value": (selecting(service="x y"), f'values[0][service]: Invalid value: "x y": {VALUE_RULE}'),
    "no values": (selecting(req("a", "In")), f"values: Invalid value: null: {NO_VALUES}"),
    "values of Exists": (selecting(req("a", "Exists", "b")), f'values: Invalid value: ["b"]: {SOME_VALUES}'),
    "the first requirement counts": (
        selecting(req("a", "In"), b="?"),
        f'values[0][b]: Invalid value: "?": {VALUE_RULE}',
    ),
    "all its faults": (
        selecting(req("a", "Exists", "!")),
        f'[values: Invalid value: ["!"]: {SOME_VALUES}, values[0][a]: Invalid value: "!": {VALUE_RULE}]',
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
