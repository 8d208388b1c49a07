"""What was refused: statuses, codes, and the text for a pod that fits nowhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubescheduler.core.decision import Decision
from kubescheduler.core.filter_and_score import Scored
from kubescheduler.core.filter_results import NO_VALUES, RowValues, fit_error_1_16, fit_error_1_36, items, row_values
from kubescheduler.core.preemption_choice import Preemption, nominee_of
from kubescheduler.core.status import Code, Status
from tests.support.build import make_pod

POD = make_pod()
NAMES = ("n0", "n1", "n2")
ABSENT = Status.unresolvable("left out")


def mask(*rows: int) -> Any:
    out = np.zeros(3, np.bool_)
    out[list(rows)] = True
    return out


def decision(**fields: Any) -> Decision:
    """Of three nodes."""
    return Decision(
        **{"pod": POD, "release": "1.36", "coded": True, "names": NAMES, "listed": mask(0, 1, 2), "nodes_total": 3}
        | fields
    )


REFUSED = (("A", {"a": mask(0), "b": mask(0, 1)}), ("B", {"c": mask(1, 2)}))


@pytest.mark.parametrize(
    ("fields", "statuses"),
    [
        ({}, {}),
        ({"verdicts": REFUSED}, {"n0": (2, "a", "b"), "n1": (2, "b"), "n2": (2, "c")}),
        (
            {"verdicts": REFUSED, "every_reason": True, "unresolvable": {"B": mask(1)}},
            {"n0": (2, "a", "b"), "n1": (3, "b", "c"), "n2": (2, "c")},
        ),
        ({"verdicts": REFUSED, "pending": {"A": mask(0)}}, {"n0": (6, "a", "b"), "n1": (2, "b"), "n2": (2, "c")}),
        ({"verdicts": REFUSED, "unresolvable": {"A": mask(1)}}, {"n0": (2, "a", "b"), "n1": (3, "b"), "n2": (2, "c")}),
        (
            {"verdicts": REFUSED, "unresolvable": {"B": mask(1, 2)}},
            {"n0": (2, "a", "b"), "n1": (2, "b"), "n2": (3, "c")},
        ),
        (
            {"verdicts": REFUSED, "judged": mask(2), "absent": ABSENT},
            {"n0": (3, "left out"), "n1": (3, "left out"), "n2": (2, "c")},
        ),
        ({"verdicts": REFUSED, "listed": mask(0, 2)}, {"n0": (2, "a", "b"), "n2": (2, "c")}),
        (
            {
                "verdicts": REFUSED,
                "with_nominated": row_values({1: (("B", ("x", "y")),)}),
                "nominated_codes": row_values({1: Code(3)}),
            },
            {"n0": (2, "a", "b"), "n1": (3, "x", "y"), "n2": (2, "c")},
        ),
        (
            {"with_nominated": row_values({1: (("B", ("x",)),)}), "judged": mask(0), "absent": ABSENT},
            {"n1": (3, "left out"), "n2": (3, "left out")},
        ),
        (
            {"verdicts": REFUSED, "refused": {"n0": Status.unresolvable("no"), "ghost": Status.unschedulable("who")}},
            {"n0": (3, "no"), "n1": (2, "b"), "n2": (2, "c"), "ghost": (2, "who")},
        ),
        (
            {"verdicts": REFUSED, "refused": {"n0": Status.unschedulable("no")}, "appends": True},
            {"n0": (2, "a", "b", "no"), "n1": (2, "b"), "n2": (2, "c")},
        ),
        ({"refused": {"n0": Status.unschedulable("no")}, "appends": True}, {"n0": (2, "no")}),
    ],
    ids=[
        "none",
        "first plugin",
        "all plugins",
        "pending",
        "hopeless",
        "hopeless for a later plugin",
        "named nodes",
        "sampled",
        "nominated",
        "nominated outside",
        "replaced",
        "appended",
        "only an extender",
    ],
)
def test_statuses(fields: Any, statuses: dict[str, tuple[Any, ...]]) -> None:
    """Reasons in order under one code; the codes by row say the same."""
    made = decision(**fields)
    assert made.statuses() == {
        name: Status(Code(code), reasons)
        for name, (code, *_), reasons in ((name, given, given[1:]) for name, given in statuses.items())
    }
    assert made.reasons() == {name: list(given[1:]) for name, given in statuses.items()}
    assert [list(made.reasons_at(at)) for at in range(3)] == [made.reasons().get(name, []) for name in NAMES]
    assert made.codes() == {name: Code(given[0]).name for name, given in statuses.items()}
    assert made.row_codes().tolist() == [statuses.get(name, (0,))[0] for name in NAMES]


REFUSING = [Code.Unschedulable, Code.UnschedulableAndUnresolvable, Code.Pending]
masks = st.lists(st.booleans(), min_size=3, max_size=3).map(np.array)


@given(
    verdicts=st.lists(st.tuples(st.sampled_from("AB"), st.dictionaries(st.sampled_from("xyz"), masks)), max_size=3),
    unresolvable=st.dictionaries(st.sampled_from("AB"), masks),
    pending=st.dictionaries(st.sampled_from("AB"), masks),
    listed=masks,
    judged=st.none() | masks,
    absent=st.none() | st.just(ABSENT),
    beside=st.dictionaries(st.integers(0, 2), st.sampled_from([None, *REFUSING])),
    every=st.booleans(),
    refused=st.dictionaries(st.sampled_from(NAMES), st.sampled_from(REFUSING)),
    appends=st.booleans(),
)
def test_law_codes_by_row_are_those_by_name(
    verdicts: Any,
    unresolvable: Any,
    pending: Any,
    listed: Any,
    judged: Any,
    absent: Any,
    beside: Any,
    every: bool,
    refused: Any,
    appends: bool,
) -> None:
    """Whatever was refused by whom."""
    made = decision(
        verdicts=tuple(verdicts),
        unresolvable=unresolvable,
        pending=pending,
        listed=listed,
        judged=judged,
        absent=absent,
        with_nominated=row_values(dict.fromkeys(beside, (("N", ("n",)),))),
        nominated_codes=row_values({row: code for row, code in beside.items() if code is not None}),
        every_reason=every,
        refused={name: Status(code, ("no",)) for name, code in refused.items()},
        appends=appends,
    )
    codes = made.codes()
    assert sum(made.rows_by_code().values(), np.zeros(3, np.int64)).tolist() == [int(n in codes) for n in NAMES]
    assert [Code(code).name for code in made.row_codes().tolist()] == [codes.get(name, "Success") for name in NAMES]


# --- texts -------------------------------------------------------------------------------------


def test_items_are_sorted_as_texts() -> None:
    """Ten goes before two."""
    assert items([["b"]] * 2 + [["a", "b"]] * 9 + [["a"], ["x"]]) == "1 x, 10 a, 11 b"
    assert items([]) == ""


TAINTED = "node(s) had taint {k: v}, that the pod didn't tolerate"


@pytest.mark.parametrize(
    ("fields", "old", "new"),
    [
        (
            {"verdicts": (("A", {TAINTED: mask(1)}), ("B", {"Insufficient cpu": mask(0, 2)}))},
            f"0/3 nodes are available: 1 {TAINTED}, 2 Insufficient cpu.",
            f"0/3 nodes are available: 1 {TAINTED}, 2 Insufficient cpu.",
        ),
        ({}, "0/3 nodes are available: .", "0/3 nodes are available:"),
        (
            {"verdicts": REFUSED, "post_filter_message": "preemption: no"},
            "0/3 nodes are available: 1 a, 1 c, 2 b.",
            "0/3 nodes are available: 1 a, 1 c, 2 b. preemption: no",
        ),
        (
            {
                "judged": mask(),
                "absent": Status.unresolvable("r"),
                "pre_filter_rejection": Status.unresolvable("r"),
                "post_filter_message": "x",
            },
            "0/3 nodes are available: 3 r.",
            "0/3 nodes are available: r. x",
        ),
        (
            {"judged": mask(0), "absent": ABSENT, "verdicts": (("A", {"a": mask(0)}),)},
            "0/3 nodes are available: 1 a, 2 left out.",
            "0/3 nodes are available: 1 a, 2 left out.",
        ),
        ({"post_filter_message": "x"}, "0/3 nodes are available: .", "0/3 nodes are available: x"),
    ],
    ids=["reasons", "none", "PostFilter", "PreFilter", "named nodes", "only PostFilter"],
)
def test_texts(fields: Any, old: str, new: str) -> None:
    """1.20 counts reasons; 1.36 tells a PreFilter rejection once, and what PostFilter came to."""
    assert fit_error_1_16(decision(**fields)) == old
    assert fit_error_1_36(decision(**fields)) == new


# --- nominations and scores ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "nominee"),
    [
        (None, None),
        (Preemption(), ""),
        (Preemption(chosen=("n1", "n2")), "n1"),
        (Preemption(keeps_nomination=True), None),
    ],
    ids=["not asked", "no candidate", "chosen", "not eligible"],
)
def test_nominations(found: Preemption | None, nominee: str | None) -> None:
    """By default they are preemption's; what PostFilter came to goes before."""
    assert nominee_of(found) == decision(preemption=found).nominated == nominee
    assert decision(preemption=found, nominated="n9").nominated == "n9"
    assert decision(preemption=found, nominated=None).nominated is None


def test_raw_scores() -> None:
    """By node, one number standing for all."""
    made = decision(feasible=np.array([2, 0]), scored=Scored(raws={"A": np.array([5, 7]), "B": 3}))
    assert made.raw("A") == {"n2": 5, "n0": 7}
    assert made.raw("B") == {"n2": 3, "n0": 3}


def test_a_legacy_release_has_no_codes_and_no_raw_scores() -> None:
    """Refused nodes have reasons only, and the raw score is the score."""
    made = decision(coded=False, verdicts=REFUSED, feasible=np.array([2]), scored=Scored(scores={"P": 4}))
    assert (made.codes(), made.raw("P")) == ({}, {"n2": 4})
    assert made.reasons() == {"n0": ["a", "b"], "n1": ["b"], "n2": ["c"]}


# --- values by row -----------------------------------------------------------------------------

GIVEN = st.dictionaries(st.integers(0, 8), st.sampled_from("ab"))


@given(GIVEN)
def test_any_mapping_from_rows(given_values: dict[int, str]) -> None:
    """Equal to it, in its order; a second time it is taken as it is."""
    made = row_values(given_values)
    assert made == given_values
    assert list(made) == list(given_values)
    assert repr(made) == repr(given_values)
    assert row_values(made) is made
    assert np.flatnonzero(made.mask(9)).tolist() == sorted(given_values)


@given(GIVEN, st.permutations("abc"))
def test_rows_by_value(given_values: dict[int, str], distinct: Any) -> None:
    """Each value that some row has comes once, with its rows."""
    which = np.array([distinct.index(value) for value in given_values.values()], np.int64)
    made = RowValues(np.array(list(given_values), np.int64), which, distinct)
    found = [(value, rows.tolist()) for value, rows in made.by_value()]
    assert sorted(found) == [
        (value, [row for row, there in given_values.items() if there == value])
        for value in sorted(set(given_values.values()))
    ]


def test_no_rows() -> None:
    """An empty mapping is always the same one."""
    assert row_values({}) is NO_VALUES
    assert list(NO_VALUES.by_value()) == []
