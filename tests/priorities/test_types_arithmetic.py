"""Division that cuts off toward zero, and scores stretched to 0–10."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from priorities.types import default_normalize, default_normalize_reversed, idiv, normalize, normalize_reversed, scaled
from tests.support.build import Cluster, make_pod

CASES = {
    "spec-affinity": ([0, 3, 7], [0, 4, 10], [10, 6, 0]),
    "spec-taints": ([0, 1, 3], [0, 3, 10], [10, 7, 0]),
    "eight-of-ten": ([8, 10], [8, 10], [2, 0]),
    "all-zero": ([0, 0], [0, 0], [10, 10]),
    "all-equal": ([4, 4], [10, 10], [0, 0]),
    "no-row": ([], [], []),
    "negative-cut-off-toward-zero": ([-1, 3], [-3, 10], [13, 0]),
    "only-negative-stays": ([-2, 0], [-2, 0], [10, 10]),
}


def anything() -> tuple[PodInfo, Snapshot]:
    cluster = Cluster()
    return cluster.info(make_pod()), cluster.snapshot


@pytest.mark.parametrize(("raw", "normal", "reverse"), CASES.values(), ids=CASES)
def test_normalize(raw: list[int], normal: list[int], reverse: list[int]) -> None:
    """Upstream's NormalizeReduce in both directions."""
    numbers = np.array(raw, np.int64)
    assert normalize(*anything(), numbers).tolist() == normal
    assert normalize_reversed(*anything(), numbers).tolist() == reverse


@given(st.lists(st.integers(-(2**62), 2**62), max_size=5), st.integers(1, 2**62))
def test_idiv_cuts_off_toward_zero(dividends: list[int], divisor: int) -> None:
    """Quotients are those of the absolute values, with the sign put back."""
    expected = [abs(n) // divisor * (1 if n >= 0 else -1) for n in dividends]
    assert idiv(np.array(dividends, np.int64), divisor).tolist() == expected


FRAMEWORK = {
    "worked-example": ([3, 2, 0], [100, 66, 0], [0, 34, 100]),
    "all-zero": ([0, 0], [0, 0], [100, 100]),
    "no-row": ([], [], []),
    "negative-cut-off-toward-zero": ([-1, 3], [-33, 100], [133, 0]),
    "only-negative-stays": ([-2, 0], [-2, 0], [100, 100]),
}


@pytest.mark.parametrize(("raw", "normal", "reverse"), FRAMEWORK.values(), ids=FRAMEWORK)
def test_default_normalize(raw: list[int], normal: list[int], reverse: list[int]) -> None:
    """Upstream's DefaultNormalizeScore in both directions."""
    numbers = np.array(raw, np.int64)
    assert default_normalize(*anything(), numbers).tolist() == normal
    assert default_normalize_reversed(*anything(), numbers).tolist() == reverse


def test_scores_of_points_are_scaled() -> None:
    """From 0-10 to 0-100."""
    assert scaled(((0, 0), (50, 7))) == [(0, 0), (50, 70)]
