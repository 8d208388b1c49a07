"""Tests of release 1.16 deciding by its own component configuration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from clusterstate.cache import ClusterCache
from clusterstate.errors import ConfigError
from clusterstate.objects import Node, ObjectMeta
from kubescheduler.engine.legacy_engine import LegacyEngine
from kubescheduler.engine.spec import EngineSpec, cache_for, engine_for
from tests.support.comparisons import pod

POLICY = {"kind": "Policy", "apiVersion": "v1", "priorities": [{"name": "MostRequestedPriority", "weight": 7}]}
CONFIGMAP = {
    "kind": "ConfigMap",
    "apiVersion": "v1",
    "metadata": {"name": "p", "namespace": "kube-system"},
    "data": {"policy.cfg": json.dumps(POLICY)},
}
FILE = {"policy": {"file": {"path": "/nowhere/policy.json"}}}
MAP = {"policy": {"configMap": {"name": "p"}}}


DOCUMENT = {"apiVersion": "kubescheduler.config.k8s.io/v1alpha1", "kind": "KubeSchedulerConfiguration"}


def config(path: Path, **keys: Any) -> str:
    (path / "config.yaml").write_text(yaml.safe_dump({**DOCUMENT, **keys}), encoding="utf-8")
    return str(path / "config.yaml")


def engine(spec: EngineSpec) -> tuple[LegacyEngine, list[str]]:
    notes: list[str] = []
    made = spec.engine(notes.append)
    assert isinstance(made, LegacyEngine)
    return made, notes


def weights(made: LegacyEngine) -> dict[str, int]:
    return {priority.config.name: priority.weight for priority in made.algorithm.priorities}


def test_a_provider_and_settings(tmp_path: Path) -> None:
    """The provider, the share of nodes, no preemption and the scheduler's name count; flags beside it do not."""
    path = config(
        tmp_path,
        algorithmSource={"provider": "ClusterAutoscalerProvider"},
        percentageOfNodesToScore=40,
        disablePreemption=True,
        schedulerName="mine",
    )
    made, notes = engine(EngineSpec("1.16", config_file=path, provider="DefaultProvider"))
    assert "MostRequestedPriority" in weights(made)
    assert made.algorithm.percentage_of_nodes_to_score == 40
    assert not made.algorithm.behaviour.preempts
    assert made.algorithm.scheduler_name == "mine"
    assert notes == ["--algorithm-provider has no effect beside --config"]


def test_a_policy_beside_the_configuration(tmp_path: Path) -> None:
    """The file of that name beside the configuration stands for one on another machine; a flag goes before it."""
    path = config(tmp_path, algorithmSource=FILE)
    with pytest.raises(ConfigError, match=r"missing policy config file /nowhere/policy\.json"):
        EngineSpec("1.16", config_file=path).engine(print)
    (tmp_path / "policy.json").write_text(json.dumps(POLICY), encoding="utf-8")
    (tmp_path / "other.json").write_text(json.dumps({**POLICY, "priorities": []}), encoding="utf-8")
    made, notes = engine(EngineSpec("1.16", config_file=path))
    assert weights(made) == {"MostRequestedPriority": 7}
    assert notes == [f"{tmp_path / 'policy.json'} stands for /nowhere/policy.json, which algorithmSource names"]
    made, _ = engine(EngineSpec("1.16", config_file=path, policy_file=str(tmp_path / "other.json")))
    assert weights(made) == {}


def test_a_policy_in_a_configmap(tmp_path: Path) -> None:
    """Its manifest is asked for, and has to be the one that is named."""
    path = config(tmp_path, algorithmSource=MAP)
    with pytest.raises(ConfigError, match="couldn't get policy config map kube-system/p"):
        EngineSpec("1.16", config_file=path).engine(print)
    manifest = tmp_path / "configmap.yaml"
    manifest.write_text(yaml.safe_dump(CONFIGMAP), encoding="utf-8")
    made, _ = engine(EngineSpec("1.16", config_file=path, policy_configmap=str(manifest)))
    assert weights(made) == {"MostRequestedPriority": 7}
    manifest.write_text(yaml.safe_dump({**CONFIGMAP, "metadata": {"name": "q"}}), encoding="utf-8")
    with pytest.raises(ConfigError, match="names ConfigMap kube-system/p, this is kube-system/q"):
        EngineSpec("1.16", config_file=path, policy_configmap=str(manifest)).engine(print)


@pytest.mark.parametrize("release", ["1.16", "1.18"])
def test_an_empty_policy(release: str) -> None:
    """A policy with neither a file nor a ConfigMap has no lists: the default ones stand in their place."""
    component = {**DOCUMENT, "algorithmSource": {"policy": {}}}
    policy = {"kind": "Policy", "apiVersion": "v1"}
    node = Node(ObjectMeta("n"))
    engines = [
        EngineSpec(release, component=component).engine(print),
        EngineSpec(release, policy=policy).engine(print),
        engine_for(EngineSpec(release, component=component)),
    ]
    weights, *others = (
        made.scheduler(cache_for(made, [node])).decide(pod("p"), thorough=True).weights for made in engines
    )
    assert weights
    assert others == [weights, weights]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({}, {"algorithmSource": {"provider": "DefaultProvider"}, "percentageOfNodesToScore": 0}),
        ({"provider": "ClusterAutoscalerProvider"}, {"algorithmSource": {"provider": "ClusterAutoscalerProvider"}}),
        ({"hard_pod_affinity_symmetric_weight": 9}, {"hardPodAffinitySymmetricWeight": 9}),
        ({"percentage_of_nodes_to_score": 30}, {"percentageOfNodesToScore": 30}),
    ],
    ids=["nothing", "provider", "weight", "percentage"],
)
def test_flags_are_written(flags: dict[str, Any], expected: dict[str, Any]) -> None:
    """What flags say is written as a configuration says it."""
    written = yaml.safe_load(EngineSpec("1.16", **flags).written_config(print))
    assert {key: written[key] for key in expected} == expected


def test_pods_of_other_schedulers(tmp_path: Path) -> None:
    """A pod that names another scheduler than the configuration is not tried."""
    made, _ = engine(EngineSpec("1.16", config_file=config(tmp_path, schedulerName="mine")))
    waiting = pod("p")
    decision = made.scheduler(ClusterCache.of([], made.view)).decide(waiting)
    assert (decision.tried, decision.error) == (
        False,
        "the pod names scheduler default-scheduler, and this one is mine",
    )
