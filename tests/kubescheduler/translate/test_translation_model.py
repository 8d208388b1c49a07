"""Whatever configures a release, as every later release takes it: what is written is read by its target."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from clusterstate.errors import ConfigError
from kubescheduler.config.load_config import component_config_from
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import points_by_plugin
from kubescheduler.releases.names import place
from kubescheduler.translate.translating import translation_yaml
from kubescheduler.translate.translation_model import (
    default_weights,
    format_of,
    gone_since,
    later,
    readers,
)
from tests.support.configuring.translating import (
    GROUP,
    anti_affinity,
    configuration,
    deployment,
    label_preference,
    label_presence,
    moved,
    policy,
    predicates,
    priorities,
    ratio,
)

TARGETS = ("1.18", "1.19", "1.20", "1.22", "1.23", "1.24", "1.25", "1.28", "1.29", "1.31", "1.36")


def scores(*enabled: dict[str, Any], disabled: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Profiles that say this of scores."""
    return [{"plugins": {"score": {"enabled": list(enabled), "disabled": [{"name": name} for name in disabled]}}}]


MOST = {"name": "NodeResourcesMostAllocated", "weight": 5}
LABEL = [
    {
        "plugins": {"filter": {"enabled": [{"name": "NodeLabel"}]}},
        "pluginConfig": [{"name": "NodeLabel", "args": {"absentLabels": ["retiring"]}}],
    }
]
LIMITS = [{"plugins": {"filter": {"disabled": [{"name": "EBSLimits"}], "enabled": [{"name": "EBSLimits"}]}}}]

SOURCES: dict[str, tuple[str, dict[str, Any]]] = {
    "defaults of 1.4": ("1.4", policy(predicates=predicates("GeneralPredicates"),
        priorities=priorities(EqualPriority=1))),
    "defaults of 1.16": ("1.16", policy()),
    "every kind of entry": ("1.16", policy(predicates=[*predicates("MaxEBSVolumeCount", "MaxCinderVolumeCount",
        "PodFitsHostPorts"), label_presence("Aa", "a")], priorities=[*priorities(MostRequestedPriority=3,
        NodePreferAvoidPodsPriority=7, SelectorSpreadPriority=2),
        ratio("Fill", 2, (0, 0), (70, 10), (100, 0), cpu=3, memory=1), label_preference("Bb", 2, "b"),
        anti_affinity("Cc", 2, "rack")])),
    "a policy of 1.18": ("1.18", policy(priorities=priorities(SelectorSpreadPriority=2, EvenPodsSpreadPriority=3))),
    "a policy of 1.22": ("1.22", policy(priorities=priorities(LeastRequestedPriority=2, ImageLocalityPriority=3))),
    "v1alpha1": ("1.16", configuration("v1alpha1", disablePreemption=True, bindTimeoutSeconds=7)),
    "v1alpha2": ("1.18", configuration("v1alpha2", disablePreemption=True, bindTimeoutSeconds=7,
        profiles=scores({"name": "DefaultPodTopologySpread", "weight": 4},
        disabled=("DefaultPodTopologySpread", "NodeResourceLimits")))),
    "v1beta1": ("1.19", configuration("v1beta1", profiles=scores(MOST, disabled=("NodeResourcesLeastAllocated",)))),
    "v1beta1, labels": ("1.20", configuration("v1beta1", profiles=LABEL)),
    "v1beta2": ("1.22", configuration("v1beta2", leaderElection={"leaderElect": True, "resourceLock": "endpoints"})),
    "v1beta3": ("1.23", configuration("v1beta3", profiles=scores({"name": "SelectorSpread", "weight": 2}))),
    "v1beta3, limits": ("1.23", configuration("v1beta3", profiles=LIMITS)),
    "v1": ("1.25", configuration("v1", profiles=LIMITS)),
    "a manifest": ("1.18", deployment("--algorithm-provider=ClusterAutoscalerProvider",
        "--leader-elect-resource-lock=endpoints")),
}  # fmt: skip
"""Source → (the release that runs by it, its document)."""


@pytest.mark.parametrize("name", SOURCES)
def test_the_target_reads_what_is_written(name: str) -> None:
    """In the newest version that it reads, whatever is lost; the commented text says the same."""
    release, document = SOURCES[name]
    for to in TARGETS[next(at for at, each in enumerate(TARGETS) if place(each) >= place(release)) :]:
        for keep_emphasis in (False, True):
            found = moved(document, release=release, to=to, keep_emphasis=keep_emphasis)
            form = format_of(to)
            config = component_config_from(found.plain(), form, all_problems=True)
            assert (config.release, found.plain()["apiVersion"]) == (to, form.native)
            assert yaml.safe_load(translation_yaml(found)) == found.plain()
            running = {plugin.name for plugins in config.profiles[0].plugins.values() for plugin in plugins}
            assert running <= points_by_plugin(form.plugins).keys()


@pytest.mark.parametrize(
    ("source", "to", "texts", "not_yet"),
    [
        ("every kind of entry", "1.22", ("1.22 does not read the annotation",), ("no longer reads policies", "1.24")),
        ("every kind of entry", "1.24", ("1.23 no longer reads policies", "1.23 does not read"), ("1.36", "CSINode")),
        ("every kind of entry", "1.31", ("1.31 sees such volumes as CSI volumes",), ("1.36",)),
        ("every kind of entry", "1.36", ("1.23 no longer reads policies", "1.31 sees such volumes"), ()),
        ("v1beta2", "1.24", ("1.24 has no lock on endpoints",), ("no longer reads it",)),
        ("v1beta2", "1.28", ("1.28 no longer reads it",), ("1.29", "1.36")),
        ("v1beta3, limits", "1.28", (), ("no such plugin", "no longer reads it")),
        ("v1beta3, limits", "1.31", ("1.29 no longer reads it", "1.31 has no such plugin"), ("1.36",)),
        ("v1beta1, labels", "1.22", (), ("no longer reads it",)),
        ("v1beta1, labels", "1.23", ("1.23 no longer reads it",), ("1.24",)),
        ("a manifest", "1.22", ("1.22 no longer has it", "nearest that was recorded"), ("1.23",)),
    ],
)
def test_notes_say_since_when(source: str, to: str, texts: tuple[str, ...], not_yet: tuple[str, ...]) -> None:
    """The release at which something goes is named, and nothing of releases after the target is."""
    release, document = SOURCES[source]
    notes = "\n".join(map(str, moved(document, release=release, to=to).notes))
    assert [text for text in texts if text not in notes] == []
    assert [text for text in not_yet if text in notes] == []


def test_weights_that_a_target_changed() -> None:
    """Those of TaintToleration and its like are written out where they were 1 before, from 1.23 on."""
    document = configuration("v1beta2")
    before = default_weights(format_of("1.22"))
    for to in ("1.23", "1.24", "1.25"):
        config = component_config_from(moved(document, release="1.22", to=to).plain(), format_of(to), all_problems=True)
        after = {plugin.name: plugin.weight for plugin in config.profiles[0].plugins[Point.SCORE]}
        assert before.items() <= after.items()


def test_an_older_target() -> None:
    """Nothing is migrated to an older release."""
    with pytest.raises(ConfigError, match=r"release 1\.20 is older than 1\.25"):
        moved(configuration("v1"), release="1.25", to="1.20")
    later("1.20", "1.20")


def test_records() -> None:
    """Which releases read a version, and from which on a plugin cannot be named."""
    assert readers(f"{GROUP}/v1beta2") == ["1.22", "1.23", "1.24", "1.25", "1.26", "1.27"]
    assert gone_since("NodePreferAvoidPods", "1.20", "1.36") == "1.23"
    assert gone_since("EBSLimits", "1.20", "1.36") == "1.31"
    assert gone_since("NodePreferAvoidPods", "1.20", "1.21") == "1.21"
