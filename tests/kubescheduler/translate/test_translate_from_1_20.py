"""Policies and providers of release 1.20, whose SelectorSpreadPriority is PodTopologySpread already."""

from __future__ import annotations

from typing import Any

import pytest

from kubescheduler.config.load_config import component_config_from
from kubescheduler.releases.lookup import RELEASES
from kubescheduler.translate.policy_source import policy_source, provider_source
from kubescheduler.translate.translating import translate
from kubescheduler.translate.translation_model import Translation
from tests.support.configuring.component_build import format_of
from tests.support.configuring.policies_1_20 import policy_config
from tests.support.configuring.translating import args, enabled, policy, priorities, ratio

GATE = "DefaultPodTopologySpread"
GATE_OFF = f"--feature-gates {GATE}=false"
SYSTEM, LIST = {"defaultingType": "System"}, {"defaultingType": "List"}
SELECTING = priorities(SelectorSpreadPriority=3)
ALIAS = priorities(ServiceSpreadingPriority=3)
EVEN = priorities(EvenPodsSpreadPriority=2)
BOTH = [*EVEN, *SELECTING]


def from_policy(entries: list[dict[str, Any]] | None, to: str, *, gate: bool = True) -> Translation:
    """A policy with these priorities; None: without a list."""
    document = policy(predicates=[], **({} if entries is None else {"priorities": entries}))
    return translate(policy_source(document, "1.20", RELEASES["1.20"].gates.resolve({GATE: gate}), "policy.json"), to)


def from_provider(provider: str, to: str, *, gate: bool = True, keep_emphasis: bool = False) -> Translation:
    source = provider_source(provider, "1.20", RELEASES["1.20"].gates.resolve({GATE: gate}))
    return translate(source, to, keep_emphasis=keep_emphasis)


def spreading(translation: Translation) -> dict[str, int]:
    """What the table has before that looks at other pods of the same kind: title → weight."""
    return {part.title: part.weight for part in translation.before.parts if "Spread" in part.name}


def texts(translation: Translation) -> str:
    return "\n".join(map(str, translation.notes))


# --- the feature gate on -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entries", "spread", "weight", "title"),
    [
        (SELECTING, SYSTEM, 3, "PodTopologySpread (System)"),
        (ALIAS, SYSTEM, 3, "PodTopologySpread (System)"),
        (EVEN, LIST, 2, "PodTopologySpread (List)"),
        (BOTH, SYSTEM, 2, "PodTopologySpread (System)"),
        (None, SYSTEM, 2, "PodTopologySpread (System)"),
    ],
    ids=["selector", "alias", "even", "both", "defaults"],
)
@pytest.mark.parametrize("to", ["1.20", "1.36"])
def test_one_plugin(
    to: str, entries: list[dict[str, Any]] | None, spread: dict[str, Any], weight: int, title: str
) -> None:
    """PodTopologySpread before and after, with the same weight: that of EvenPodsSpreadPriority where it is there."""
    found = from_policy(entries, to)
    assert spreading(found) == {title: weight}
    assert enabled(found, "score" if to == "1.20" else "multiPoint")["PodTopologySpread"] == weight
    assert args(found, "PodTopologySpread") == spread


@pytest.mark.parametrize(
    ("entries", "path", "selectors"),
    [
        (SELECTING, "priorities[0] SelectorSpreadPriority", True),
        (ALIAS, "priorities[0] ServiceSpreadingPriority", True),
        (EVEN, "priorities[0] EvenPodsSpreadPriority", False),
        (BOTH, "priorities[1] SelectorSpreadPriority, priorities[0] EvenPodsSpreadPriority", True),
    ],
    ids=["selector", "alias", "even", "both"],
)
def test_what_is_said_of_it(entries: list[dict[str, Any]], path: str, selectors: bool) -> None:
    """That 1.36 rounds, and whose pods are counted where the defaults are System; nothing of SelectorSpread."""
    found = from_policy(entries, "1.36")
    note = next(note for note in found.notes if "1.20 cuts the fraction off" in note.text)
    assert (note.kind.value, note.path) == ("approximate", path)
    assert ("only the one that owns a pod" in note.text) is selectors
    assert not any(text in texts(found) for text in ("not two to one", "are one plugin now", "it also scores pods by"))
    assert from_policy(entries, "1.20").exact


@pytest.mark.parametrize("release", ["1.4", "1.16"])
def test_the_others_have_selector_spreading(release: str) -> None:
    """They are told of zones and nodes, and not of rounding."""
    gates = {} if release == "1.4" else RELEASES[release].gates.resolve({})
    found = texts(translate(policy_source(policy(priorities=SELECTING), release, gates, "p"), "1.36"))
    assert "not two to one" in found
    assert "cuts the fraction off" not in found


@pytest.mark.parametrize(
    ("provider", "resources"),
    [("DefaultProvider", "NodeResourcesLeastAllocated"), ("ClusterAutoscalerProvider", "NodeResourcesMostAllocated")],
)
@pytest.mark.parametrize("to", ["1.20", "1.36"])
def test_providers(to: str, provider: str, resources: str) -> None:
    """Before, there are the plugins of 1.20, with one PodTopologySpread; scores had 0 to 100 then too."""
    found = from_provider(provider, to)
    assert {part.title: part.weight for part in found.before.parts} == {
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
        "InterPodAffinity": 1,
        resources: 1,
        "NodeAffinity": 1,
        "PodTopologySpread (System)": 2,
        "TaintToleration": 1,
    }
    assert found.before.sum == found.after.sum == 8
    assert "scores run from 0 to 100" not in texts(found)
    assert "SpreadPriority" not in texts(found)


def test_shares_that_stay_are_no_loss() -> None:
    """Packing of 1.20's ClusterAutoscalerProvider was outweighed before, and a smaller weight keeps it on top."""
    found = from_provider("ClusterAutoscalerProvider", "1.36", keep_emphasis=True)
    note = next(note for note in found.notes if "packs pods with weight" in note.text)
    assert note.kind.value == "check"
    assert "weight 1 of 8, 12% of the highest total; before it was weight 1 of 8, 12%" in note.text
    assert enabled(found, "multiPoint")["NodeResourcesFit"] == 2


def test_weights_of_32_bits() -> None:
    """One of which 32 bits hold nothing is 0 in 1.20, and in its table."""
    found = from_policy([ratio("Fill", 2**32, (0, 0), (100, 10), cpu=1)], "1.36")
    assert [part.weight for part in found.before.parts] == [0]


# --- the feature gate off ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entries", "before", "weight"),
    [
        (SELECTING, {"SelectorSpread": 3}, 3),
        (EVEN, {"PodTopologySpread (List)": 2}, 2),
        (BOTH, {"PodTopologySpread (List)": 2, "SelectorSpread": 3}, 3),
        (None, {"PodTopologySpread (List)": 2, "SelectorSpread": 1}, 2),
    ],
    ids=["selector", "even", "both", "defaults"],
)
def test_selector_spread_of_1_20(entries: list[dict[str, Any]] | None, before: dict[str, int], weight: int) -> None:
    """1.36 has no such plugin: a note on the gate says so where it ran."""
    found = from_policy(entries, "1.36", gate=False)
    assert spreading(found) == before
    assert enabled(found, "multiPoint")["PodTopologySpread"] == weight
    assert any(note.path == GATE_OFF for note in found.notes) is ("SelectorSpread" in before)
    assert ("not two to one" in texts(found)) is ("SelectorSpread" in before)
    assert ("are one plugin now" in texts(found)) is (len(before) == 2)


@pytest.mark.parametrize(
    "entries", [SELECTING, ALIAS, EVEN, BOTH, None], ids=["selector", "alias", "even", "both", "-"]
)
def test_it_stays_in_1_20(entries: list[dict[str, Any]] | None) -> None:
    """By name, so that the document needs no gate."""
    found = from_policy(entries, "1.20", gate=False)
    document = policy(predicates=[], **({} if entries is None else {"priorities": entries}))
    own = policy_config(document, RELEASES["1.20"].gates.resolve({GATE: False})).profiles[0]
    for gate in (True, False):
        gates = RELEASES["1.20"].gates.resolve({GATE: gate})
        read = component_config_from(found.plain(), format_of("1.20"), all_problems=True, feature_gates=gates).profiles[
            0
        ]
        assert read.plugins == own.plugins
        assert dict(own.plugin_config).items() <= dict(read.plugin_config).items()
    assert found.exact
    assert ("exact", GATE_OFF) in {(note.kind.value, note.path) for note in found.notes}


def test_where_selector_spread_comes_from() -> None:
    """Its line names the priority, not a default."""
    found = from_policy(SELECTING, "1.20", gate=False)
    members = found.document.value["profiles"][0]["plugins"]["score"]["enabled"]
    assert [said.origin for said in members] == ["from priorities[0] SelectorSpreadPriority (weight 3)"]


def test_a_provider_with_selector_spread() -> None:
    """Beside PodTopologySpread without System defaults, which the document spells out."""
    found = from_provider("DefaultProvider", "1.20", gate=False)
    assert spreading(found) == {"PodTopologySpread (List)": 2, "SelectorSpread": 1}
    assert found.after == found.before
    assert enabled(found, "score")["SelectorSpread"] == 1
    assert args(found, "PodTopologySpread") == LIST
    lost = from_provider("DefaultProvider", "1.36", gate=False)
    assert ("approximate", GATE_OFF) in {(note.kind.value, note.path) for note in lost.notes}
