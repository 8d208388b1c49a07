"""Where the document of --config comes from, and what a configuration is written as."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.errors import ConfigError
from kubescheduler.config.config_text import read_configuration
from kubescheduler.config.load_config import (
    component_config_from,
    component_document,
    default_config,
    read_component_config,
    write_component_config,
)
from kubescheduler.engine.spec import Engine, EngineSpec
from kubescheduler.framework.contract.profile import Enabled, Point, Profile, SchedulerConfig
from kubescheduler.releases import v1_20, v1_36
from kubescheduler.releases.lookup import release_named
from tests.support.configuring.component_build import comparable, error, format_of, names, read, weights
from tests.support.configuring.component_strategies import documents
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


@pytest.mark.parametrize(("all_problems", "place"), [(True, 1), (False, 7)])
def test_faults_name_the_place_in_the_file(all_problems: bool, place: int) -> None:
    """Not the one after the defaults that the release puts before it, which its own text has."""
    score = {"enabled": [{"name": "ImageLocality", "weight": 2}, {"name": "NodeResourcesMostAllocated"}]}
    document = configuration("v1beta2", profiles=[{"plugins": {"score": score}}])
    form = release_named("1.22").framework_rules.component
    with pytest.raises(ConfigError) as raised:
        component_config_from(document, form, all_problems=all_problems)
    assert f"profiles[0].plugins.score.enabled[{place}]: Invalid value" in raised.value.problems[0]


@pytest.mark.parametrize("key", ["healthzBindAddress", "metricsBindAddress"])
def test_addresses(key: str) -> None:
    """v1beta2 has the addresses for nothing: only port 0 is allowed; v1beta3 does not know them."""
    text = f'{key}: Invalid value: "0.0.0.0:10251": must be empty or with an explicit 0 port'
    assert error("1.36", version="v1beta2", **{key: "0.0.0.0:10251"}) == text
    assert error("1.36", version="v1beta3", **{key: ""}) == f'strict decoding error: unknown field "{key}"'
    for allowed in ("", "0.0.0.0:0"):
        given: dict[str, Any] = {key: allowed}
        assert read("1.36", version="v1beta2", **given).notes == ()


OWN = frozenset({Point.FILTER})
POINTS = {
    "1.20": {**v1_20.FRAMEWORK.points_by_plugin, "Mine": OWN},
    "1.36": {**v1_36.FRAMEWORK.points_by_plugin, "Mine": OWN},
}


def again(config: SchedulerConfig) -> SchedulerConfig:
    """What is written, read again with every check."""
    document = yaml.safe_load(write_component_config(config, format_of(config.release)))
    return component_config_from(document, format_of(config.release), all_problems=True, points=POINTS[config.release])


@pytest.mark.parametrize("release", POINTS)
@given(data=st.data())
def test_reading_what_was_written(release: str, data: st.DataObject) -> None:
    """Reading what was written gives the same configuration."""
    drawn = data.draw(documents(release))
    config = component_config_from(drawn, format_of(release), all_problems=True, points=POINTS[release])
    assert comparable(again(config)) == comparable(config)


@pytest.mark.parametrize("release", POINTS)
def test_profiles_made_elsewhere(release: str) -> None:
    """A profile that was not read is written as the lists it has."""
    lists = {
        Point.QUEUE_SORT: (Enabled("PrioritySort"),),
        Point.FILTER: (Enabled("NodeName"), Enabled("TaintToleration")),
        Point.SCORE: (Enabled("ImageLocality", 3),),
        Point.BIND: (Enabled("DefaultBinder"),),
    }
    config = msgspec.structs.replace(default_config(format_of(release)), profiles=(Profile("mine", lists),))
    found = again(config).profiles[0]
    assert (found.scheduler_name, found.plugins) == ("mine", lists)


@pytest.mark.parametrize(("release", "version"), [("1.20", "v1beta1"), ("1.36", "v1")])
def test_text(release: str, version: str, tmp_path: Path) -> None:
    """The text is YAML of the release's version, which the scheduler reads from a file."""
    config = default_config(format_of(release))
    text = write_component_config(config, format_of(config.release))
    assert text.startswith(f"apiVersion: kubescheduler.config.k8s.io/{version}\n")
    assert "leaseDuration: 15s\n" in text
    path = tmp_path / "config.yaml"
    path.write_text(text)
    assert comparable(read_component_config(path, format_of(release))) == comparable(config)
    assert component_document(config, format_of(config.release)) == config.document


@pytest.mark.parametrize("release", ["1.20", "1.36"])
def test_a_plugin_that_is_not_there_is_disabled(release: str) -> None:
    """A note names the one that is meant; an entry that names none is a fault, as is an apiVersion that is no text."""
    plugins = {"score": {"disabled": [{"name": "NodeResourceFit"}, {"name": "*"}]}}
    form, given = format_of(release), configuration(VERSIONS[release], profiles=[{"plugins": plugins}])
    (note,) = component_config_from(given, form, all_problems=True).notes
    assert note.startswith("profiles[0].plugins.score.disabled[0].name: nothing is disabled: there is no plugin")
    assert "did you mean NodeResourcesFit?" in note
    plugins["score"]["disabled"].append({"name": ""})
    with pytest.raises(ConfigError, match=r"profiles\[0\]\.plugins\.score\.disabled\[2\]\.name: missing"):
        component_config_from(given, form, all_problems=True)


@pytest.mark.parametrize("release", ["1.16", "1.18", "1.20", "1.36"])
def test_an_api_version_that_is_no_text(release: str, tmp_path: Path) -> None:
    """It is a fault of the document."""
    path = tmp_path / "config.yaml"
    path.write_text("apiVersion: [v1]\nkind: KubeSchedulerConfiguration\n")
    with pytest.raises(ConfigError, match=rf"apiVersion: release {release} does not read \['v1'\]"):
        engine(release, config_file=str(path))
