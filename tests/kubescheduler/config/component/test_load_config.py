"""Where the document of --config comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from clusterstate.errors import ConfigError
from kubescheduler.config.component import component_config_from, default_config
from kubescheduler.config.config_text import read_configuration
from kubescheduler.engine.engine_contract import Engine
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.framework.contract.profile import Enabled, Point
from kubescheduler.framework.profiles.default_plugins import DEFAULTS_V1BETA2, LATER_THAN_V1BETA3, enabled_everywhere
from kubescheduler.releases import v1_36
from tests.support.configuring.component_build import (
    args_of,
    comparable,
    entry,
    error,
    format_of,
    names,
    plugin_set,
    plugins,
    problems,
    read,
    weights,
)
from tests.support.configuring.translating import POLICY, configmap, configuration

VERSIONS = {"1.16": "v1alpha1", "1.20": "v1beta1", "1.36": "v1"}


def engine(release: str, **where: Any) -> Engine:
    return EngineSpec(release, **where).engine(lambda _: None)


def in_configmap(release: str, **keys: Any) -> dict[str, Any]:
    """A ConfigMap with a configuration of the release among other texts."""
    said = configuration(VERSIONS[release], percentageOfNodesToScore=40, **keys)
    return configmap("settings", notes="KubeSchedulerConfiguration: see config.yaml", config__yaml=yaml.safe_dump(said))


@pytest.mark.parametrize("release", VERSIONS)
@pytest.mark.parametrize("several", [False, True], ids=["alone", "among others"])
def test_a_configuration_in_a_configmap(release: str, several: bool, tmp_path: Path) -> None:
    """A ConfigMap stands for the configuration that it holds, also where it is not the first document."""
    path = tmp_path / "map.yaml"
    others = [{"kind": "ServiceAccount"}, configmap("other", a="b")] if several else []
    path.write_text("---\n".join(map(yaml.safe_dump, [*others, in_configmap(release)])))
    document, name = read_configuration(path)
    assert (document["percentageOfNodesToScore"], name) == (40, f"{path}[config.yaml]")
    engine(release, config_file=str(path))
    engine(release, component=in_configmap(release))


@pytest.mark.parametrize("release", VERSIONS)
def test_faults_are_named_with_their_key(release: str, tmp_path: Path) -> None:
    """What is wrong in it has the file, the key and the path."""
    path = tmp_path / "map.yaml"
    path.write_text(yaml.safe_dump(in_configmap(release, leaderElection=5)))
    with pytest.raises(ConfigError, match=r"map\.yaml\[config\.yaml\]: leaderElection"):
        engine(release, config_file=str(path))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({"a": "b"}, "no key of this ConfigMap holds a KubeSchedulerConfiguration$"),
        ({"policy.cfg": POLICY}, "holds a KubeSchedulerConfiguration; it has a policy at policy.cfg: give the file as"),
        ({"a": json.dumps(configuration("v1")), "b": json.dumps(configuration("v1"))}, "several keys hold .*: a, b;"),
        ({"a": "kind: KubeSchedulerConfiguration\n b: ["}, r"map\.yaml\[a\]:2:"),
        (None, "no key of this ConfigMap holds a KubeSchedulerConfiguration$"),
    ],
    ids=["none", "policy", "several", "unreadable", "no data"],
)
def test_configmaps_without_one(data: dict[str, str] | None, text: str, tmp_path: Path) -> None:
    """A ConfigMap without a configuration, or with several, is an error that says what is in it."""
    path = tmp_path / "map.yaml"
    path.write_text(yaml.safe_dump({"kind": "ConfigMap", "data": data}))
    with pytest.raises(ConfigError, match=text):
        read_configuration(path)


V1_LIST = enabled_everywhere(v1_36.MULTI_POINT, v1_36.PLUGINS)
OLDER = pytest.mark.parametrize("version", ["v1beta2", "v1beta3"])
GONE = (
    "AzureDiskLimits",
    "CinderLimits",
    "EBSLimits",
    "GCEPDLimits",
    "NodeLabel",
    "NodePreferAvoidPods",
    "NodeResourcesLeastAllocated",
    "NodeResourcesMostAllocated",
    "RequestedToCapacityRatio",
    "SelectorSpread",
    "ServiceAffinity",
)


def test_v1beta2_defaults() -> None:
    """v1beta2 has its own lists and weights, and no multiPoint."""
    profile = read("1.36", version="v1beta2").profiles[0]
    assert profile.plugins == DEFAULTS_V1BETA2
    assert profile.multi_point == ()
    assert weights(profile) == {
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
        "InterPodAffinity": 1,
        "NodeResourcesFit": 1,
        "NodeAffinity": 1,
        "PodTopologySpread": 2,
        "TaintToleration": 1,
    }


def test_v1beta2_lists_only_what_runs() -> None:
    """Every plugin of its lists takes part at that point in 1.36."""
    for point, enabled in DEFAULTS_V1BETA2.items():
        assert all(point in v1_36.FRAMEWORK.points_by_plugin[plugin.name] for plugin in enabled)


def test_v1beta3_defaults() -> None:
    """v1beta3 has a multiPoint list, with today's weights."""
    profile = read("1.36", version="v1beta3").profiles[0]
    assert profile.multi_point == (
        *(plugin for plugin in V1_LIST if plugin.name not in LATER_THAN_V1BETA3),
        Enabled("SchedulingGates"),
    )
    assert {name: weight or 1 for name, weight in weights(profile).items()} == {
        name: weight or 1
        for name, weight in weights(default_config(format_of("1.36")).profiles[0]).items()
        if name != "DynamicResources"
    }
    added = {"DynamicResources", "NodeDeclaredFeatures"}
    assert set(V1_LIST) - set(profile.multi_point) == {plugin for plugin in V1_LIST if plugin.name in added}


def test_v1beta2_merging() -> None:
    """Lists are merged point by point, defaults replaced in place."""
    sets = plugins(
        score=plugin_set(("TaintToleration", 5), ("ImageLocality", 2), disabled=("NodeResourcesFit",)),
        postFilter=plugin_set(disabled=("*",)),
    )
    profile = read("1.36", version="v1beta2", profiles=[{"plugins": sets}]).profiles[0]
    assert list(weights(profile).items())[:3] == [
        ("NodeResourcesBalancedAllocation", 1),
        ("ImageLocality", 2),
        ("InterPodAffinity", 1),
    ]
    assert weights(profile)["TaintToleration"] == 5
    assert "NodeResourcesFit" not in weights(profile)
    assert Point.POST_FILTER not in profile.plugins


def test_v1beta3_merging() -> None:
    """multiPoint and points are merged as in v1."""
    sets = plugins(
        multiPoint=plugin_set(("ImageLocality", 4), disabled=("NodePorts",)), score=plugin_set("NodeAffinity")
    )
    profile = read("1.36", version="v1beta3", profiles=[{"plugins": sets}]).profiles[0]
    assert "NodePorts" not in names(profile, Point.FILTER)
    assert names(profile, Point.SCORE)[0] == "NodeAffinity"
    assert weights(profile)["ImageLocality"] == 4


@OLDER
def test_written_as_v1(version: str) -> None:
    """What is written is v1, and means the same."""
    sets = plugins(score=plugin_set(("ImageLocality", 4), disabled=("NodeAffinity",)))
    keys: dict[str, Any] = {"profiles": [{"plugins": sets, "pluginConfig": [entry("VolumeBinding")]}]}
    config = read("1.36", version=version, **keys)
    assert config.document["apiVersion"] == "kubescheduler.config.k8s.io/v1"
    again = component_config_from(config.document, format_of("1.36"), all_problems=True)
    assert comparable(again) == comparable(config)
    assert again.notes == ()


@OLDER
def test_args(version: str) -> None:
    """Args say the version of the document."""
    typed = {"apiVersion": f"kubescheduler.config.k8s.io/{version}", "kind": "InterPodAffinityArgs"}
    keys: dict[str, Any] = {
        "profiles": [{"pluginConfig": [entry("InterPodAffinity", **typed, hardPodAffinityWeight=7)]}]
    }
    assert args_of(read("1.36", version=version, **keys), "InterPodAffinity").hard_pod_affinity_weight == 7


@OLDER
def test_notes(version: str) -> None:
    """It is said what the version does otherwise."""
    notes = "\n".join(read("1.36", version=version).notes)
    assert "does not enable DynamicResources and NodeDeclaredFeatures" in notes
    assert "EBSLimits, GCEPDLimits and AzureDiskLimits" in notes
    assert ("weight 1" in notes) == (version == "v1beta2")


@OLDER
@pytest.mark.parametrize("name", GONE)
def test_plugins_that_are_gone(version: str, name: str) -> None:
    """A plugin that no longer exists is a fault, also in pluginConfig; disabling it is none."""
    keys: dict[str, Any] = {"profiles": [{"plugins": plugins(score=plugin_set("ImageLocality", name))}]}
    text = error("1.36", version=version, **keys)
    start = f'profiles[0].plugins.score.enabled[1]: Invalid value: "{name}": release 1.36 has no such plugin; '
    assert text.startswith(start)
    assert problems("1.36", version=version, **keys).count(text) == 1
    config = {"profiles": [{"pluginConfig": [entry(name)]}]}
    assert error("1.36", version=version, **config).startswith("profiles[0].pluginConfig[0]: Invalid value:")
    disabled = {"profiles": [{"plugins": plugins(score=plugin_set(disabled=(name,)))}]}
    assert read("1.36", version=version, all_problems=True, **disabled).release == "1.36"


@pytest.mark.parametrize("key", ["healthzBindAddress", "metricsBindAddress"])
def test_addresses(key: str) -> None:
    """v1beta2 has the addresses for nothing: only port 0 is allowed; v1beta3 does not know them."""
    text = f'{key}: Invalid value: "0.0.0.0:10251": must be empty or with an explicit 0 port'
    assert error("1.36", version="v1beta2", **{key: "0.0.0.0:10251"}) == text
    assert error("1.36", version="v1beta3", **{key: ""}) == f'strict decoding error: unknown field "{key}"'
    for allowed in ("", "0.0.0.0:0"):
        given: dict[str, Any] = {key: allowed}
        config = read("1.36", version="v1beta2", **given)
        assert any(key in note for note in config.notes) == bool(allowed)


@OLDER
@pytest.mark.parametrize(
    "keys",
    [{"delayCacheUntilActive": True}, {"profiles": [{"percentageOfNodesToScore": 3}]}],
    ids=["delay", "percentage"],
)
def test_members_of_v1_only(version: str, keys: dict[str, Any]) -> None:
    """What v1 added is unknown."""
    assert "unknown field" in error("1.36", version=version, **keys)
