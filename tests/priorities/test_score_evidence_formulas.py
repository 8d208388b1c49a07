"""How numbers come about, from the functions that compute them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priorities.requested_framework import least, most
from priorities.score_evidence import formula, traced
from priorities.types import idiv
from tests.support.references.formulas import evaluate

SEVEN, THREE, ONE = (traced(np.array([number])) for number in (7, 3, 1))


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ((SEVEN - THREE) * 2, "(7 - 3) * 2"),
        (10 - (SEVEN - THREE), "10 - (7 - 3)"),
        (10 * (SEVEN / THREE), "10 * (7 / 3)"),
        (SEVEN * THREE // 2, "7 * 3 // 2"),
        (idiv(THREE - SEVEN, THREE), "(3 - 7) // 3"),
        (np.minimum(SEVEN, THREE), "min(7, 3)"),
        (np.abs(SEVEN - THREE), "abs(7 - 3)"),
        ((SEVEN / THREE).astype(np.int64), "trunc(7 / 3)"),
        ((SEVEN * THREE).astype(np.int64), "7 * 3"),
        (np.maximum(SEVEN, 1), "7"),
        (SEVEN * 1, "7"),
        (SEVEN * ONE, "7 * 1"),
        (SEVEN * (THREE > SEVEN), "0"),
        (np.where(SEVEN > THREE, SEVEN + 1, THREE), "7 + 1"),
        (np.add.reduce(traced(np.array([[1], [2], [3]]))), "1 + 2 + 3"),
        ([sum([*SEVEN, *THREE])], "7 + 3"),
    ],
)
def test_what_is_shown(result: Any, text: str) -> None:
    """Operations stand as they are written, with parentheses where they are needed."""
    assert formula(result[0]) == text


@pytest.mark.parametrize("share", [least, most])
@given(requested=st.integers(0, 2**40), allocatable=st.integers(0, 2**40))
def test_a_formula_comes_to_the_number(share: Any, requested: int, allocatable: int) -> None:
    """What is shown of a function's number evaluates to what the function gives."""
    amounts = np.array([requested]), np.array([max(allocatable, 1)])
    assert evaluate(formula(share(*map(traced, amounts))[0])) == share(*amounts)[0]
