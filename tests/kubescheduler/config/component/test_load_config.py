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
from kubescheduler.framework.contract.profile import Point
from kubescheduler.releases.lookup import release_named
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


OLDER = pytest.mark.parametrize("version", ["v1beta2", "v1beta3"])
GONE = ("NodeLabel", "NodePreferAvoidPods", "NodeResourcesMostAllocated", "RequestedToCapacityRatio", "ServiceAffinity")


def test_v1beta2_defaults() -> None:
    """v1beta2 has its own lists and weights, and no multiPoint."""
    profile = read("1.36", version="v1beta2").profiles[0]
    assert names(profile, Point.PRE_ENQUEUE) == ["SchedulingGates"]
    assert names(profile, Point.PRE_FILTER)[-2:] == ["VolumeZone", "NodeAffinity"]
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


@pytest.mark.parametrize("release", ["1.25", "1.27"])
def test_v1beta2_lists_only_what_runs(release: str) -> None:
    """Every plugin of its lists takes part at that point in each release that reads it."""
    form = release_named(release).framework_rules
    profile = component_config_from(configuration("v1beta2"), form.component, all_problems=True).profiles[0]
    for point, enabled in profile.plugins.items():
        assert all(point in form.points_by_plugin[plugin.name] for plugin in enabled)


@pytest.mark.parametrize(
    ("release", "versions"),
    [
        ("1.24", ("v1beta3", "v1beta2")),
        ("1.25", ("v1", "v1beta3", "v1beta2")),
        ("1.27", ("v1", "v1beta3", "v1beta2")),
        ("1.28", ("v1", "v1beta3")),
        ("1.29", ("v1",)),
    ],
)
def test_versions_that_are_read(release: str, versions: tuple[str, ...]) -> None:
    """v1 came in 1.25; v1beta2 went in 1.28, v1beta3 in 1.29."""
    form = release_named(release).framework_rules.component
    for version in ("v1beta1", "v1beta2", "v1beta3", "v1"):
        if version in versions:
            assert component_config_from(configuration(version), form, all_problems=True).release == release
        else:
            with pytest.raises(ConfigError, match=f"does not read kubescheduler.config.k8s.io/{version}"):
                component_config_from(configuration(version), form, all_problems=True)


@pytest.mark.parametrize(
    ("release", "version", "name", "refused"),
    [
        ("1.28", "v1", "SelectorSpread", "was invalid in version"),
        ("1.28", "v1beta3", "SelectorSpread", ""),
        ("1.29", "v1", "SelectorSpread", "there is no plugin SelectorSpread"),
        ("1.30", "v1", "EBSLimits", ""),
        ("1.31", "v1", "EBSLimits", "was invalid in version"),
    ],
)
def test_plugins_that_a_version_refuses(release: str, version: str, name: str, refused: str) -> None:
    """By name, though an older version that is read too may have them."""
    point = "filter" if name == "EBSLimits" else "score"
    document = configuration(version, profiles=[{"plugins": {point: {"enabled": [{"name": name}]}}}])
    form = release_named(release).framework_rules.component
    if refused:
        with pytest.raises(ConfigError, match=refused):
            component_config_from(document, form, all_problems=True)
    else:
        assert component_config_from(document, form, all_problems=True).release == release


def test_v1beta3_defaults() -> None:
    """v1beta3 has the multiPoint list of v1, with its weights."""
    profile = read("1.36", version="v1beta3").profiles[0]
    assert profile.multi_point == default_config(format_of("1.28")).profiles[0].multi_point


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
def test_written_in_its_version(version: str) -> None:
    """What is written is of the version that was read, and means the same."""
    sets = plugins(score=plugin_set(("ImageLocality", 4), disabled=("NodeAffinity",)))
    keys: dict[str, Any] = {"profiles": [{"plugins": sets, "pluginConfig": [entry("VolumeBinding")]}]}
    config = read("1.36", version=version, **keys)
    assert config.document["apiVersion"] == f"kubescheduler.config.k8s.io/{version}"
    again = component_config_from(config.document, format_of("1.36", version), all_problems=True)
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
@pytest.mark.parametrize("name", GONE)
def test_plugins_that_are_gone(version: str, name: str) -> None:
    """A plugin that no longer exists is a fault, with what to use instead; disabling it is none."""
    keys: dict[str, Any] = {"profiles": [{"plugins": plugins(score=plugin_set("ImageLocality", name))}]}
    (problem,) = problems("1.36", version=version, **keys)
    assert problem.startswith(f"profiles[0].plugins.score.enabled[1].name: there is no plugin {name}; ")
    disabled = {"profiles": [{"plugins": plugins(score=plugin_set(disabled=(name,)))}]}
    assert read("1.36", version=version, all_problems=True, **disabled).profiles


@pytest.mark.parametrize("key", ["healthzBindAddress", "metricsBindAddress"])
def test_addresses(key: str) -> None:
    """v1beta2 has the addresses for nothing: only port 0 is allowed; v1beta3 does not know them."""
    text = f'{key}: Invalid value: "0.0.0.0:10251": must be empty or with an explicit 0 port'
    assert error("1.36", version="v1beta2", **{key: "0.0.0.0:10251"}) == text
    assert error("1.36", version="v1beta3", **{key: ""}) == f'strict decoding error: unknown field "{key}"'
    for allowed in ("", "0.0.0.0:0"):
        given: dict[str, Any] = {key: allowed}
        assert read("1.36", version="v1beta2", **given).notes == ()


@OLDER
@pytest.mark.parametrize(
    "keys",
    [{"delayCacheUntilActive": True}, {"profiles": [{"percentageOfNodesToScore": 3}]}],
    ids=["delay", "percentage"],
)
def test_members_of_v1_only(version: str, keys: dict[str, Any]) -> None:
    """What v1 added is unknown."""
    assert "unknown field" in error("1.36", version=version, **keys)
