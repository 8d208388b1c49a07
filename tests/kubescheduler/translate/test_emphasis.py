"""Packing that other scores outweigh."""

from __future__ import annotations

from typing import Any

import pytest

from kubescheduler.releases.lookup import RELEASES
from kubescheduler.translate.policy_source import provider_source
from kubescheduler.translate.translating import translate
from kubescheduler.translate.translation_model import Note, Role, Translation
from tests.support.configuring.translating import args, enabled, policy, priorities, ratio, told, translated

PACKING = priorities(MostRequestedPriority=10, BalancedResourceAllocation=1)
OUTWEIGHED = priorities(MostRequestedPriority=1, BalancedResourceAllocation=1, SelectorSpreadPriority=1)
FIT = {"1.20": "NodeResourcesMostAllocated", "1.36": "NodeResourcesFit"}


def warning(translation: Translation) -> Note | None:
    """The note about packing, None if there is none."""
    return next((note for note in translation.notes if "packs pods with weight" in note.text), None)


def autoscaler(release: str, to: str, *, keep: bool = False) -> Translation:
    source = provider_source("ClusterAutoscalerProvider", release, RELEASES[release].gates.resolve({}))
    return translate(source, to, keep_emphasis=keep)


@pytest.mark.parametrize("to", ["1.20", "1.36"])
@pytest.mark.parametrize(
    ("entries", "warned"),
    [
        (PACKING, False),
        (OUTWEIGHED, True),
        (priorities(MostRequestedPriority=2, BalancedResourceAllocation=1, SelectorSpreadPriority=1), True),
        (priorities(MostRequestedPriority=1), False),
        (priorities(LeastRequestedPriority=1, SelectorSpreadPriority=9), False),
        ([ratio("Fill", 1, (0, 0), (100, 10)), *priorities(BalancedResourceAllocation=1)], True),
    ],
    ids=["packs", "outweighed", "equal", "alone", "never packed", "shape"],
)
def test_who_is_warned(to: str, entries: list[dict[str, Any]], warned: bool) -> None:
    """Those whose packing weighs no more than what spreads."""
    assert (warning(translated(policy(priorities=entries), to)) is not None) is warned


def test_the_numbers() -> None:
    """Weights and shares, before and after, and what to do."""
    note = warning(autoscaler("1.16", "1.20"))
    assert note.kind.value == "approximate"
    assert note.text == (
        "packs pods with weight 1 of 8, 12% of the highest total; before it was weight 1 of 7, 14%. What spreads them "
        "weighs as much or more: NodeResourcesBalancedAllocation 1, PodTopologySpread (System) 2 (weight 3 of 8, 38%; "
        "before, weight 2 of 7, 29% spread)"
    )
    assert note.advice == (
        "to keep packing on top, give NodeResourcesMostAllocated weight 2 and give PodTopologySpread defaultingType "
        "List without constraints: --keep-emphasis writes that"
    )


@pytest.mark.parametrize("to", ["1.20", "1.36"])
def test_keep_emphasis(to: str) -> None:
    """The suggested weights are in the document, with the old ones beside them, and packing then wins."""
    found = autoscaler("1.16", to, keep=True)
    weights = enabled(found, "score" if to == "1.20" else "multiPoint")
    assert weights[FIT[to]] == 2
    assert args(found, "PodTopologySpread") == {"defaultingType": "List"}
    assert found.after.weight(Role.PACKS) > found.after.weight(Role.SPREADS)
    assert ("approximate", "--keep-emphasis") in told(found)


@pytest.mark.parametrize("to", ["1.20", "1.36"])
def test_keep_emphasis_where_nothing_has_to_change(to: str) -> None:
    """The document is the same."""
    document = policy(priorities=PACKING)
    kept = translated(document, to, keep_emphasis=True)
    assert kept.plain() == translated(document, to).plain()
    assert ("exact", "--keep-emphasis") in told(kept)


def test_the_old_ratio_is_kept() -> None:
    """Most 6 against Balanced 2 and spreading 5: packing stays three times as heavy as balance, and wins."""
    entries = priorities(MostRequestedPriority=6, BalancedResourceAllocation=2, SelectorSpreadPriority=5)
    found = translated(policy(priorities=entries), "1.36", keep_emphasis=True)
    assert enabled(found, "multiPoint")["NodeResourcesFit"] == 6


def test_shares() -> None:
    """Of the highest total, extenders among them, without the priority that is the same for all nodes."""
    extender = {"urlPrefix": "http://e", "prioritizeVerb": "p", "weight": 2}
    entries = priorities(MostRequestedPriority=6, NodePreferAvoidPodsPriority=10_000)
    found = translated({**policy(priorities=entries), "extenders": [extender]}, "1.36")
    assert found.before.document() == [
        {"name": "MostRequestedPriority", "weight": 6, "share": 75.0, "role": "packs"},
        {"name": "extender (http://e)", "weight": 2, "share": 25.0, "role": ""},
    ]
    assert [part["share"] for part in found.after.document()] == [75.0, 25.0]


def test_beside_the_defaults_packing_would_be_lost() -> None:
    """The numbers of the classic accident: 11 for the other defaults of 1.36."""
    note = next(n for n in autoscaler("1.16", "1.36").notes if "default scores of 1.36" in n.text)
    assert "which weigh 11, that would be 8% of the highest total" in note.text
