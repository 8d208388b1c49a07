"""The best of rows whose scores follow from their group, found without adding up all totals."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from clusterstate.topology.row_groups import GroupedScores, RowGroups
from kubescheduler.core import best_rows
from kubescheduler.core.best_rows import BestTotals
from kubescheduler.core.lazy_results import LOWEST

ROWS = 6
small = st.integers(0, 3)
numbers = st.lists(small, min_size=ROWS, max_size=ROWS)


def groups_of(numbers: list[int]) -> RowGroups:
    """Rows with equal numbers are a group."""
    _, first, of_row = np.unique(numbers, return_index=True, return_inverse=True)
    return RowGroups(of_row, first)


@example(
    totals=[3, 3, 3, 0, 0, 0],
    ranks=[0, 1, 2, 3, 4, 5],
    kinds=([0] * ROWS, [0] * ROWS),
    steps=[(5, 2, True, 0, {0: 0, 1: 0, 2: 0})],
    by_group=[3] * ROWS,
    limits=(4, 2, 4),
)
@given(
    numbers,
    st.permutations(range(ROWS)),
    st.tuples(numbers, numbers),
    st.lists(
        st.tuples(st.integers(0, ROWS - 1), small, st.booleans(), st.integers(0, 1), st.dictionaries(small, small)),
        max_size=8,
    ),
    numbers,
    st.sampled_from([(1, 1, 1), (4, 2, 1), (4, 9, 4)]),
)
def test_law_the_first_by_name_of_the_rows_with_the_highest_sum(
    totals: list[int],
    ranks: list[int],
    kinds: tuple[list[int], list[int]],
    steps: list[tuple[int, int, bool, int, dict[int, int]]],
    by_group: list[int],
    limits: tuple[int, int, int],
) -> None:
    """Whichever rows change, come to fit or no longer do, and have scores of their own; or it is said not to be known,
    which never happens where nothing is limited. limits: of groups, of rows passed over, of what is queued."""
    every = np.arange(ROWS)
    table = BestTotals(np.array(totals), np.array(ranks))
    both = [groups_of(numbers) for numbers in kinds]
    fits = np.ones(ROWS, np.bool_)
    now = list(totals)
    with (
        patch.object(best_rows, "FEWEST_ROWS", 0),
        patch.object(best_rows, "MOST_GROUPS", limits[0]),
        patch.object(best_rows, "MOST_PASSED_OVER", limits[1]),
        patch.object(best_rows, "STALE", limits[2]),
    ):
        for row, number, fit, which, own in steps:
            fits[row] = fit
            now[row] = number
            table.totals[row] = number if fit else LOWEST
            table.changed([row])
            if not fits.any():
                continue
            groups = both[which]
            rows = np.array([at for at in own if fits[at]], np.int64)
            values = [min(own[at], by_group[groups.of_row[at]]) for at in rows.tolist()]
            scores = GroupedScores(groups, rows, np.array([*by_group[: len(groups)], *values], np.int64))
            sums = np.array(now) + 2 * scores.of_rows(every)
            best = max(np.flatnonzero(fits).tolist(), key=lambda at: (sums[at], -ranks[at]))
            assert table.choose_with(scores, 2) in ((best,) if limits[1] > ROWS else (best, None))
