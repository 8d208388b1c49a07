"""Tests of the shares of scores of migrated component configurations, and of the weights that keep packing on top."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.config.load_config import component_config_from
from kubescheduler.framework.contract.profile import Point, SchedulerConfig
from kubescheduler.releases import v1_36
from kubescheduler.translate.translating import translation_document
from kubescheduler.translate.translation_model import Emphasis, NoteKind, Role, Translation
from tests.support.configuring.translating import configuration, moved, told_of

SWAP = {
    "disabled": [{"name": "NodeResourcesLeastAllocated"}],
    "enabled": [{"name": "NodeResourcesMostAllocated", "weight": 2}],
}
STRATEGY = [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}]
PACKING: dict[str, dict[str, Any]] = {
    "v1alpha2": {"plugins": {"score": SWAP}},
    "v1beta1": {"plugins": {"score": SWAP}},
    "v1beta2": {"pluginConfig": STRATEGY},
    "v1beta3": {"pluginConfig": STRATEGY},
}


def weights(emphasis: Emphasis) -> dict[str, int]:
    """Title → weight."""
    return {part.title: part.weight for part in emphasis.parts}


def accepted(translation: Translation) -> SchedulerConfig:
    """What 1.36 makes of it."""
    return component_config_from(translation.plain(), v1_36.FORMAT, all_problems=True)


@pytest.mark.parametrize("version", PACKING)
def test_shares_before_and_after(version: str) -> None:
    """Both sides are complete: what packs and what spreads, with the weights that the releases run by."""
    translation = moved(configuration(version, profiles=[PACKING[version]]))
    assert translation.before.weight(Role.PACKS) == translation.after.weight(Role.PACKS) > 0
    assert weights(translation.after)["NodeResourcesFit (MostAllocated)"] == translation.after.weight(Role.PACKS)
    spreading = {"DefaultPodTopologySpread": 1, "PodTopologySpread (List)": 1}
    before = spreading if version == "v1alpha2" else {"PodTopologySpread (System)": 2}
    assert before.items() <= weights(translation.before).items()
    assert weights(translation.after)["PodTopologySpread (System)"] == 2
    ((kind),) = told_of(translation, "profiles[0] NodeResourcesFit (MostAllocated)")
    assert kind == "check"


@pytest.mark.parametrize("version", PACKING)
def test_kept_emphasis(version: str) -> None:
    """With the weights that are written nothing outweighs packing, and 1.36 runs by them."""
    translation = moved(configuration(version, profiles=[PACKING[version]]), keep_emphasis=True)
    after = translation.after
    assert after.weight(Role.PACKS) > after.weight(Role.SPREADS)
    (profile,) = accepted(translation).profiles
    scores = {plugin.name: plugin.weight for plugin in profile.plugins[Point.SCORE]}
    assert scores["NodeResourcesFit"] == after.weight(Role.PACKS)
    assert told_of(translation, "--keep-emphasis: profiles[0]") == ["approximate"]
    plain = moved(configuration(version, profiles=[PACKING[version]]))
    assert translation.before == plain.before


def test_nothing_to_keep() -> None:
    """A configuration that packs nothing stays as it is."""
    document = configuration("v1beta3")
    kept = moved(document, keep_emphasis=True)
    assert kept.plain() == moved(document).plain()
    assert told_of(kept, "--keep-emphasis: profiles[0]") == ["exact"]


def test_every_profile_by_itself() -> None:
    """Shares, notes and weights are those of each profile."""
    profiles = [{"schedulerName": "plain"}, {"schedulerName": "packs", **PACKING["v1beta3"]}]
    translation = moved(configuration("v1beta3", profiles=profiles), keep_emphasis=True)
    assert [shares.name for shares in translation.shares] == ["plain", "packs"]
    assert translation.before.weight(Role.PACKS) == 0
    (packs,) = translation.others
    assert packs.after.weight(Role.PACKS) > packs.after.weight(Role.SPREADS)
    assert told_of(translation, "--keep-emphasis: profiles[0]") == ["exact"]
    assert told_of(translation, "--keep-emphasis: profiles[1]") == ["approximate"]
    (others,) = translation_document(translation)["otherProfiles"]
    assert others["name"] == "packs"
    assert len(accepted(translation).profiles) == 2


ONLY_FIT = {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit"}]}
NO_DEFAULTS = {
    "multiPoint": {
        "disabled": [{"name": "*"}],
        "enabled": [{"name": name} for name in ("PrioritySort", "ImageLocality", "DefaultBinder")],
    }
}


@pytest.mark.parametrize(
    ("version", "plugins", "to", "otherwise"),
    [
        ("v1beta2", {}, "1.36", ["NodeResourcesBalancedAllocation", "ImageLocality"]),
        ("v1", {}, "1.36", ["NodeResourcesBalancedAllocation", "ImageLocality"]),
        ("v1", NO_DEFAULTS, "1.36", ["ImageLocality"]),
        ("v1", {}, "1.30", ["ImageLocality"]),
        ("v1", {"score": ONLY_FIT}, "1.36", []),
        ("v1", {}, "1.28", []),
    ],
)  # fmt: skip
def test_scores_with_another_formula(version: str, plugins: dict[str, Any], to: str, otherwise: list[str]) -> None:
    """What scores otherwise in the target is approximate, whichever version the configuration is written in."""
    translation = moved(configuration(version, profiles=[{"plugins": plugins}]), to=to)
    assert [note.path for note in translation.notes if note.kind is NoteKind.APPROXIMATE] == otherwise
    assert translation.exact == (not otherwise)


def test_a_weight_of_nothing_is_one() -> None:
    """A plugin that is enabled without a weight has weight 1."""
    score = {"disabled": SWAP["disabled"], "enabled": [{"name": "NodeResourcesMostAllocated"}]}
    translation = moved(configuration("v1beta1", profiles=[{"plugins": {"score": score}}]))
    assert weights(translation.before)["NodeResourcesMostAllocated"] == 1


def test_a_plugin_that_is_not_there_is_disabled() -> None:
    """Nothing is disabled by it, of which a note names the plugin that is meant; an entry without a name is a fault."""
    score: dict[str, Any] = {"disabled": [{"name": "NodeResourceFit"}]}
    translation = moved(configuration("v1beta3", profiles=[{"plugins": {"score": score}}]))
    (text,) = [note.text for note in translation.notes if "NodeResourceFit" in note.path]
    assert text.endswith("did you mean NodeResourcesFit?")
    score["disabled"].append(None)
    with pytest.raises(ConfigError, match=r"profiles\[0\]\.plugins\.score\.disabled\[1\]\.name: missing"):
        moved(configuration("v1beta3", profiles=[{"plugins": {"score": score}}]))


def test_constraints_of_the_configuration_spread() -> None:
    """A list of constraints by default spreads as the system's does; an empty list does not."""

    def spread(**args: Any) -> Role:
        config = [{"name": "PodTopologySpread", "args": {"defaultingType": "List", **args}}]
        translation = moved(configuration("v1beta3", profiles=[{"pluginConfig": config}]))
        (part,) = (part for part in translation.after.parts if part.name == "PodTopologySpread")
        return part.role

    constraint = {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway"}
    assert spread(defaultConstraints=[constraint]) is Role.SPREADS
    assert spread() is Role.OTHER


def test_a_ratio_beside_another_type_is_left_out() -> None:
    """Nothing reads it, and 1.36 refuses it."""
    strategy = {"type": "MostAllocated", "requestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 1}]}}
    config = [{"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}]
    translation = moved(configuration("v1beta3", profiles=[{"pluginConfig": config}]))
    (found,) = (note for note in translation.notes if note.path.endswith("requestedToCapacityRatio"))
    assert found.kind is NoteKind.EXACT
