from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.errors import SchedulingError
from clusterstate.objects import FrozenMap, LabelSelector, PodAffinityTerm, Requirement, Taint, Toleration
from clusterstate.selectors.matching import (
    EVERYTHING,
    LABEL_SELECTOR_OPERATORS,
    NOTHING,
    Matcher,
    SelectorError,
    any_tolerates,
    compile_label_selector,
    compile_map,
    compile_requirement,
    compile_requirements,
    parse_int64,
    requirement_error,
    term_namespaces,
    tolerates,
)

VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
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


@given(st.integers(-(2**65), 2**65))
def test_parse_int64_is_bounded(number: int) -> None:
    """A decimal number is read back just when it fits 64 bits."""
    assert parse_int64(str(number)) == (number if -(2**63) <= number < 2**63 else None)


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


def test_compiling_again_is_a_look_up() -> None:
    """Equal selectors share one matcher."""
    assert compile_map({"a": "1"}) is compile_map(FrozenMap({"a": "1"}))
    assert compile_requirements([req("a", "Exists")]) is compile_requirements((req("a", "Exists"),))
    assert compile_label_selector(LabelSelector()) is EVERYTHING
    assert Matcher((req("a", "Exists"),)) == compile_requirements([req("a", "Exists")])


@given(st.dictionaries(st.sampled_from("abc"), st.sampled_from("123")), st.sampled_from("123"))
def test_operators_are_opposites(labels: dict[str, str], value: str) -> None:
    """NotIn is the opposite of In, DoesNotExist of Exists."""
    for yes, no in [
        (req("a", "In", value), req("a", "NotIn", value)),
        (req("a", "Exists"), req("a", "DoesNotExist")),
    ]:
        assert compile_requirements([yes])(labels) is not compile_requirements([no])(labels)


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


def test_any_tolerates() -> None:
    """One toleration is enough, and none covers nothing."""
    taint = Taint("k", "v", "NoSchedule")
    assert any_tolerates((Toleration("j"), Toleration("k", "Exists")), taint)
    assert not any_tolerates((), taint)


@pytest.mark.parametrize(
    ("namespaces", "expected"),
    [(None, {"own"}), ((), {"own"}), (("a", "b", "a"), {"a", "b"})],
    ids=["absent", "empty", "list"],
)
def test_term_namespaces(namespaces: tuple[str, ...] | None, expected: set[str]) -> None:
    """An absent or empty list means the owner's namespace."""
    assert term_namespaces(PodAffinityTerm("zone", namespaces=namespaces), "own") == expected
