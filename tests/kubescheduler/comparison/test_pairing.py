"""Counterparts of priorities."""

from __future__ import annotations

import pytest

from kubescheduler.comparison.contributions import Pair, paired, rule_of

LEAST, MOST, FIT = "LeastRequestedPriority", "MostRequestedPriority", "NodeResourcesFit"
SELECTOR, EVEN, TOPOLOGY = "SelectorSpreadPriority", "EvenPodsSpreadPriority", "PodTopologySpread"
IMAGE, AFFINITY, CALLED = "ImageLocalityPriority", "NodeAffinityPriority", "extender http://a"


@pytest.mark.parametrize(
    ("old", "new", "pairs"),
    [
        pytest.param([AFFINITY], ["NodeAffinity"], [Pair((AFFINITY,), ("NodeAffinity",), stretched=True)], id="rule"),
        pytest.param([SELECTOR], [TOPOLOGY], [Pair((SELECTOR,), (TOPOLOGY,))], id="subject"),
        pytest.param(
            [SELECTOR, EVEN],
            [TOPOLOGY, "SelectorSpread"],
            [Pair((SELECTOR,), ("SelectorSpread",)), Pair((EVEN,), (TOPOLOGY,))],
            id="rules before subjects",
        ),
        pytest.param([LEAST, MOST], [FIT], [Pair((LEAST, MOST), (FIT,))], id="several share one"),
        pytest.param(
            ["mine", IMAGE],
            ["mine", "yours"],
            [Pair(("mine",), ("mine",)), Pair((IMAGE,), ()), Pair((), ("yours",))],
            id="own names, and none",
        ),
        pytest.param([CALLED], [CALLED], [Pair((CALLED,), (CALLED,), extender=True)], id="extenders"),
        pytest.param([CALLED], [], [Pair((CALLED,), (), extender=True)], id="an extender that is gone"),
    ],
)
def test_pairs(old: list[str], new: list[str], pairs: list[Pair]) -> None:
    """The same name, then the same rule, then the same subject; every name once."""
    names = (tuple((name, rule_of(name)) for name in some) for some in (old, new))
    assert list(paired(*names)) == pairs
