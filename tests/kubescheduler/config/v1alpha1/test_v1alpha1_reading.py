"""Tests of the component configuration of release 1.16: reading, defaults, writing."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.config.component.component_format import ConfigMapName
from kubescheduler.config.v1alpha1 import V1Alpha1Config, read_v1alpha1, v1alpha1_document
from kubescheduler.framework.contract.profile import LeaderElection

GROUP = "kubescheduler.config.k8s.io"


def document(version: str = "v1alpha1", **keys: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/{version}", "kind": "KubeSchedulerConfiguration", **keys}


def problems(found: dict[str, Any], *, strict: bool = False) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        read_v1alpha1(found, strict=strict)
    return caught.value.problems


def test_defaults() -> None:
    """What is not said is as 1.16 has it: the default provider, an endpoints lock, no profiling."""
    config = read_v1alpha1(document())
    assert config == V1Alpha1Config(provider="DefaultProvider")
    assert config.leader_election == LeaderElection(resource_lock="endpoints")
    assert (config.enable_profiling, config.bind_timeout_seconds) == (False, 600)


FILE = {"policy": {"file": {"path": "/etc/policy.cfg"}}}
MAP = {"policy": {"configMap": {"name": "p"}}}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({}, ("DefaultProvider", None, None)),
        ({"provider": "ClusterAutoscalerProvider"}, ("ClusterAutoscalerProvider", None, None)),
        (FILE, (None, "/etc/policy.cfg", None)),
        (MAP, (None, None, ConfigMapName("kube-system", "p"))),
        ({**FILE, "provider": "DefaultProvider"}, ("DefaultProvider", None, None)),
    ],
    ids=["nothing", "provider", "file", "configmap", "provider-before-policy"],
)
def test_algorithm_source(source: dict[str, Any], expected: tuple[Any, ...]) -> None:
    """A provider, a file or a ConfigMap, of kube-system unless it says otherwise."""
    config = read_v1alpha1(document(algorithmSource=source))
    assert (config.provider, config.policy_file, config.policy_configmap) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"lockObjectName": "mine"}, ("mine", "kube-system")),
        ({"resourceName": "mine", "resourceNamespace": "ours"}, ("mine", "ours")),
        ({"lockObjectName": "mine", "resourceName": "mine"}, ("mine", "kube-system")),
    ],
    ids=["old", "new", "both"],
)
def test_lock_names(given: dict[str, str], expected: tuple[str, str]) -> None:
    """Either spelling names the lock."""
    election = read_v1alpha1(document(leaderElection=given)).leader_election
    assert (election.resource_name, election.resource_namespace) == expected


def test_unknown_keys() -> None:
    """They are ignored with a note, and refused when that is asked for."""
    found = document(failureDomains="a,b", schedulername="mine")
    config = read_v1alpha1(found)
    assert config.scheduler_name == "default-scheduler"
    assert config.notes == (
        "failureDomains: unknown key: release 1.16 ignores it",
        "schedulername: unknown key: release 1.16 ignores it; did you mean schedulerName?",
    )
    assert len(problems(found, strict=True)) == 2


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (
            document("v1"),
            f"apiVersion: release 1.16 does not read {GROUP}/v1; 1.16 reads v1alpha1; this is for a later --release",
        ),
        (
            {"apiVersion": "componentconfig/v1alpha1", "kind": "KubeSchedulerConfiguration"},
            "release 1.16 does not read",
        ),
        ({"kind": "Policy", "apiVersion": "v1"}, "give the file as --policy-config-file"),
        (document(bindTimeoutSeconds="600"), "bindTimeoutSeconds: expected an integer"),
        (
            document(leaderElection={"lockObjectName": "a", "resourceName": "b"}),
            "ResourceName and LockObjectName are both set and do not match, ResourceName: b, LockObjectName: a",
        ),
        (document(algorithmSource={**FILE, "provider": ""}), "algorithmSource.provider: it is empty, and still goes"),
        (document(plugins={"score": {"enabled": [{"name": "Mine"}]}}), "there is no plugin Mine"),
    ],
    ids=["version", "group", "policy", "type", "lock", "no-provider", "plugin"],
)
def test_faults(found: dict[str, Any], text: str) -> None:
    """Each says where and what."""
    assert text in "\n".join(problems(found))


def test_an_empty_policy_is_written() -> None:
    """It is neither a provider nor elsewhere."""
    config = read_v1alpha1(document(algorithmSource={"policy": {}}))
    assert v1alpha1_document(config)["algorithmSource"] == {"policy": {}}
    assert read_v1alpha1(v1alpha1_document(config)) == config


def test_what_is_written_is_read_again() -> None:
    """The whole of it, under both spellings of the lock."""
    config = read_v1alpha1(
        document(
            schedulerName="mine",
            algorithmSource=MAP,
            hardPodAffinitySymmetricWeight=7,
            percentageOfNodesToScore=40,
            disablePreemption=True,
            bindTimeoutSeconds=5,
            leaderElection={"leaderElect": False, "leaseDuration": "60s", "lockObjectName": "mine"},
            clientConnection={"qps": 12.5, "kubeconfig": "/etc/k"},
            healthzBindAddress=":80",
            enableProfiling=True,
        )
    )
    written = v1alpha1_document(config)
    assert read_v1alpha1(written) == config
    assert written["leaderElection"]["lockObjectName"] == written["leaderElection"]["resourceName"] == "mine"
    assert written["healthzBindAddress"] == "0.0.0.0:80"
