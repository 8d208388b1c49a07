from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given

from kubescheduler.config.component import (
    component_config_from,
    component_document,
    default_config,
    read_component_config,
    write_component_config,
)
from kubescheduler.framework.contract.profile import Enabled, Point, Profile, SchedulerConfig
from kubescheduler.releases import v1_20, v1_36
from tests.support.configuring.component_build import comparable, entry, format_of, plugin_set, plugins, read
from tests.support.configuring.component_strategies import documents

OWN = frozenset({Point.FILTER})
POINTS = {
    "1.20": {**v1_20.FRAMEWORK.points_by_plugin, "Mine": OWN},
    "1.36": {**v1_36.FRAMEWORK.points_by_plugin, "Mine": OWN},
}


def again(config: SchedulerConfig) -> SchedulerConfig:
    """What is written, read again with every check."""
    document = yaml.safe_load(write_component_config(config, format_of(config.release)))
    return component_config_from(document, format_of(config.release), all_problems=True, points=POINTS[config.release])


def same_after_writing(document: dict[str, Any], release: str) -> None:
    config = component_config_from(document, format_of(release), all_problems=True, points=POINTS[release])
    assert comparable(again(config)) == comparable(config)


@given(documents("1.20"))
def test_reading_what_was_written_1_20(document: dict[str, Any]) -> None:
    """Reading what was written gives the same configuration."""
    same_after_writing(document, "1.20")


@given(documents("1.36"))
def test_reading_what_was_written_1_36(document: dict[str, Any]) -> None:
    """Reading what was written gives the same configuration."""
    same_after_writing(document, "1.36")


@pytest.mark.parametrize("provider", v1_20.PROVIDERS)
@pytest.mark.parametrize("spread", [True, False])
def test_providers_are_written_out(provider: str, spread: bool) -> None:
    """1.20 writes the provider's plugins, so that no provider needs to be named when it is read."""
    config = default_config(format_of("1.20"), {"DefaultPodTopologySpread": spread}, provider)
    assert again(config).profiles[0].plugins == config.profiles[0].plugins


def test_order_of_args_1_20() -> None:
    """1.20 writes args in the order of the plugins' names."""
    config = read("1.20", profiles=[{"pluginConfig": [entry("VolumeBinding"), entry("NodeAffinity")]}])
    names = [found["name"] for found in config.document["profiles"][0]["pluginConfig"]]
    assert names == sorted(names)
    assert "NodeResourcesLeastAllocated" in names


def test_order_of_args_1_36() -> None:
    """1.36 writes args as they are given, the others behind."""
    config = read("1.36", profiles=[{"pluginConfig": [entry("VolumeBinding"), entry("NodeAffinity")]}])
    names = [found["name"] for found in config.document["profiles"][0]["pluginConfig"]]
    assert names[:2] == ["VolumeBinding", "NodeAffinity"]


def test_sets_as_they_are_meant_1_36() -> None:
    """1.36 writes what points say besides multiPoint, not the lists they become."""
    sets = plugins(score=plugin_set(("NodeAffinity", 9), disabled=("ImageLocality",)))
    written = read("1.36", profiles=[{"plugins": sets}]).document["profiles"][0]["plugins"]
    assert written.keys() == {"multiPoint", "score"}
    assert written["score"] == sets["score"]
    assert written["multiPoint"]["enabled"][:2] == [{"name": "SchedulingGates"}, {"name": "PrioritySort"}]


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
