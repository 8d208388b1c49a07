"""Lists, sets, and macros over both."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubecel import CostFault, ValueFault
from tests.support.references.cel import evaluate, fault_of


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("[1, 2, 3, 4].slice(1, 3)", [2, 3]),
        ("[[1], [2, 3]].flatten()", [1, 2, 3]),
        ("[[[1, 2], [3]], [[4]]].flatten(2)", [1, 2, 3, 4]),
        ("[[[1, 2], [3]], [[4]]].flatten(0).size()", 2),
        ("[3, 1, 2].sort() + ['b', 'a'].sort().map(x, x.size())", [1, 2, 3, 1, 1]),
        ("['foo', 'a', 'ba'].sortBy(x, x.size())", ["a", "ba", "foo"]),
        ("lists.range(4) + lists.range(0)", [0, 1, 2, 3]),
        ("[1, 2].reverse()", [2, 1]),
        ("[1, 2, 1, 3].distinct() == [1, 2, 3] && [dyn(1), dyn(1.0), dyn(1u)].distinct().size() == 1", True),
        ("[1, 2, 2].isSorted() && !['b', 'a'].isSorted() && [duration('1s'), duration('1h')].isSorted()", True),
        ("[1, 2].sum() == 3 && [1u, 2u].sum() == 3u && [0.5].sum() == 0.5", True),
        ("[duration('1s'), duration('1h')].sum() == duration('3601s')", True),
        ("[1, 3, 2].max() * 10 + [3, 1].min()", 31),
        ("[1, 2, 2].indexOf(2) * 10 + [1, 2, 2].lastIndexOf(2) + ['a'].indexOf('x')", 11),
        ("[1, 2].first().orValue(0) + [1, 2].last().value() + [].first().orValue(5)", 8),
        ("sets.contains([1, 2], [2]) && sets.equivalent([1, 2, 1], [2, 1]) && !sets.intersects([1], [2])", True),
        ("[1, 2, 3].exists_one(x, x > 2) && [1, 2].existsOne(i, v, v == 2) && ![1, 1].exists_one(x, x == 1)", True),
        ("[1, 2, 3].map(x, x > 1, x * 2)", [4, 6]),
        ("{'a': 1, 'b': 2}.map(k, k)", ["a", "b"]),
        ("{'a': 1}.all(k, v, k == 'a' && v == 1) && [5].exists(i, v, i == 0 && v == 5)", True),
        ("[5, 6].transformList(i, v, i * v)", [0, 6]),
        ("[5, 6].transformList(i, v, v > 5, v)", [6]),
        ("{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v + 1)", {"b": 3}),
        ("{'a': 1}.transformMapEntry(k, v, {v: k})", {1: "a"}),
        ("cel.bind(x, [1, 2], x + x.map(y, y * 2))", [1, 2, 2, 4]),
        ("cel.bind(never, 1 / 0, 5)", 5),
        ("[1, 2].exists(x, 1 / (x - 1) == 1) && ![1, 0].all(x, 1 / x > 1)", True),
        ("[[1, 2], [3]].map(x, x.map(y, x.size() + y))", [[3, 4], [4]]),
        ("[1, 2].map(x, [3].map(x, x + 1)) == [[4], [4]]", True),
    ],
)
def test_lists(source: str, expected: object) -> None:
    """Each function and macro of lists gives what cel-go's gives."""
    assert evaluate(source) == expected


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("[1].slice(-1, 1)", "cannot slice(-1, 1), negative indexes not supported"),
        ("[1].slice(1, 0)", "cannot slice(1, 0), start index must be less than or equal to end index"),
        ("[1].slice(0, 2)", "cannot slice(0, 2), list is length 1"),
        ("dyn(true).distinct()", "no such overload: distinct(bool)"),
        ("[[1]].flatten(dyn('a'))", "no such overload: list(dyn).flatten(string)"),
        ("[1].flatten(-1)", "level must be non-negative"),
        ("[dyn(1), dyn('a')].sort()", "list elements must have the same type"),
        ("[dyn({})].sort()", "list elements must be comparable"),
        ("[1].slice(1, 1).max()", "max called on empty list"),
        ("[1][1]", "index out of bounds: 1"),
        ("[1][dyn('a')]", "unsupported index type 'string' in list"),
        ("[1][dyn(0.5)]", "unsupported index value 0.5 in list"),
        ("{'a': 1}.b", "no such key: b"),
        ("{'a': 1}[dyn(b'a')]", "invalid qualifier type: types.Bytes"),
        ("['a', 'b'].transformMapEntry(i, v, {'k': v})", "insert failed: key k already exists"),
        ("[1, 2].map(x, x / 0)", "division by zero"),
        ("dyn(1).all(x, true)", "got 'types.Int', expected iterable type"),
        ("dyn('a').all(i, v, true)", "unsupported comprehension range type: types.String"),
    ],
)
def test_what_lists_cannot_do(source: str, fault: str) -> None:
    """Faults say what cel-go says."""
    assert fault_of(source) == fault


@pytest.mark.parametrize(
    "source", ["lists.range(2000000).size()", "lists.range(300000).map(x, x).size()", "lists.range(5000).distinct()"]
)
def test_lists_that_cost_too_much(source: str) -> None:
    """What would cost more than allowed is not made first."""
    with pytest.raises(CostFault):
        evaluate(source)


@given(st.lists(st.integers(-9, 9), max_size=6), st.lists(st.integers(-9, 9), max_size=6))
def test_sets_are_pythons(one: list[int], other: list[int]) -> None:
    """Lists as sets behave as sets."""
    assert evaluate(f"sets.contains({one}, {other})") == (set(other) <= set(one))
    assert evaluate(f"sets.equivalent({one}, {other})") == (set(other) == set(one))
    assert evaluate(f"sets.intersects({one}, {other})") == bool(set(other) & set(one))


@given(st.lists(st.integers(-9, 9), max_size=8))
def test_sorting_lists(values: list[int]) -> None:
    """A sorted list is sorted and has the same elements."""
    assert evaluate(f"{values}.sort()") == sorted(values)
    assert evaluate(f"{values}.sort().isSorted()") is True
    assert evaluate(f"{values}.sortBy(x, -x)") == sorted(values, reverse=True)


TERMS = ("true", "false", "1 / 0 > 0", "dyn(5)", "[1][2] == 1")


@given(st.lists(st.sampled_from(TERMS), min_size=2, max_size=4))
def test_the_order_of_terms_decides_no_truth(terms: list[str]) -> None:
    """``&&`` and ``||`` give the same truth, or an error, in any order."""
    shuffled = sorted(terms)
    for sign in ("&&", "||"):
        assert _outcome(f" {sign} ".join(f"({term})" for term in terms)) == _outcome(
            f" {sign} ".join(f"({term})" for term in shuffled)
        )


def _outcome(source: str) -> object:
    try:
        return evaluate(source)
    except ValueFault:
        return "error"
