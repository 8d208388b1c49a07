"""Names that are put together when they are read are those of the rows."""

from __future__ import annotations

import numpy as np

from kubescheduler.comparison.tracks import TiedNames, TiedRows


def test_names_are_a_sequence_like_a_tuple() -> None:
    """Equal to the tuple of them, in order, with its hash and its text."""
    tied, same = TiedNames(("c", "a", "b"), np.array([1, 2])), ("a", "b")
    assert tied == same
    assert tied == TiedNames(("a", "b"), np.array([0, 1]))
    assert tied != ("a",)
    assert tied != ["a", "b"]
    assert (len(tied), tied[0], tied[-1], tied[1:], list(tied)) == (2, "a", "b", ("b",), ["a", "b"])
    assert (hash(tied), repr(tied)) == (hash(same), repr(same))


def test_rows_without_the_first_share_memory() -> None:
    """Only where they are the same."""
    kept = TiedRows()
    first = kept.kept(np.array([3, 4, 5]))
    second = kept.kept(np.array([4, 5]))
    assert np.shares_memory(first, second)
    assert kept.kept(np.array([6])).tolist() == [6]
    assert kept.kept(np.array([7, 8, 9])).tolist() == [7, 8, 9]
    assert kept.kept(np.array([8, 8])).tolist() == [8, 8]
