"""A value for each of some rows: a mapping that knows which rows share a value."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kubescheduler.core.lazy_results import NO_VALUES, RowValues, row_values

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


def test_nothing() -> None:
    """An empty mapping is always the same one."""
    assert row_values({}) is NO_VALUES
    assert list(NO_VALUES.by_value()) == []
