"""Where the document of --config comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from clusterstate.errors import ConfigError
from kubescheduler.config.config_text import read_configuration
from kubescheduler.engine.engine_contract import Engine
from kubescheduler.engine.spec import EngineSpec
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
