"""v1alpha1 as release 1.18 reads it, one profile whose plugins count, and as 1.16 reads and writes it, at the end."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.config.component_format import ConfigMapName, Lifted
from kubescheduler.config.v1alpha1 import V1Alpha1Config, lifted_v1alpha1, read_v1alpha1, v1alpha1_document
from kubescheduler.engine.spec import EngineSpec, engine_for, no_notice
from kubescheduler.framework.contract.profile import LeaderElection, Point, SchedulerConfig
from kubescheduler.framework.plugins.inter_pod_affinity import InterPodAffinityArgs

GROUP = "kubescheduler.config.k8s.io"


def document(version: str = "v1alpha1", **keys: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/{version}", "kind": "KubeSchedulerConfiguration", **keys}


def config(notes: list[str] | None = None, **keys: Any) -> SchedulerConfig:
    notice = no_notice if notes is None else notes.append
    return EngineSpec("1.18", component=document(**keys)).component_config(notice)


def faults(*, strict: bool = False, **keys: Any) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        EngineSpec("1.18", component=document(**keys), strict=strict).engine(no_notice)
    return caught.value.problems


def enabled(found: SchedulerConfig, point: Point) -> list[str]:
    return [plugin.name for plugin in found.profiles[0].plugins.get(point, ())]


# --- what it comes to ----------------------------------------------------------------------

OFF = {"disabled": [{"name": "TaintToleration"}]}


FILE = {"policy": {"file": {"path": "/etc/policy.cfg"}}}
MAP = {"policy": {"configMap": {"name": "p"}}}
SOURCES: dict[str, tuple[dict[str, Any], tuple[Any, ...]]] = {
    "nothing": ({}, ("DefaultProvider", None, None)),
    "provider": ({"provider": "ClusterAutoscalerProvider"}, ("ClusterAutoscalerProvider", None, None)),
    "file": (FILE, (None, "/etc/policy.cfg", None)),
    "configmap": (MAP, (None, None, ConfigMapName("kube-system", "p"))),
    "both": ({**FILE, "provider": "DefaultProvider"}, ("DefaultProvider", None, None)),
}


@pytest.mark.parametrize("reader", [read_v1alpha1, partial(lifted_v1alpha1, release="1.18")], ids=["1.16", "1.18"])
@pytest.mark.parametrize(("source", "expected"), SOURCES.values(), ids=SOURCES)
def test_the_source(
    reader: Callable[..., V1Alpha1Config | Lifted], source: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    """A provider goes before a policy, a ConfigMap is of kube-system unless it says otherwise."""
    found = reader(document(algorithmSource=source))
    assert (found.provider, found.policy_file, found.policy_configmap) == expected


def test_defaults() -> None:
    """Those of 1.18, not of 1.16: both locks, profiling, back-off of a second to ten, a weight of 1 by the plugin."""
    found = config()
    assert found.leader_election.resource_lock == "endpointsleases"
    assert (found.enable_profiling, found.enable_contention_profiling) == (True, True)
    assert (found.pod_initial_backoff_seconds, found.pod_max_backoff_seconds) == (1, 10)
    assert dict(found.profiles[0].plugin_config)["InterPodAffinity"] == InterPodAffinityArgs(1)
    assert found.document["apiVersion"] == f"{GROUP}/v1alpha2"


def test_everything_else_is_read() -> None:
    """The provider's plugins without those that are disabled, the lock under its old name, back-off and preemption."""
    notes: list[str] = []
    found = config(
        notes,
        algorithmSource={"provider": "ClusterAutoscalerProvider"},
        plugins={"score": {"disabled": [{"name": "ImageLocality"}]}, "normalizeScore": OFF},
        failureDomains="a",
        leaderElection={"lockObjectName": "mine", "leaseDuration": "20s"},
        podMaxBackoffSeconds=30,
        percentageOfNodesToScore=40,
        disablePreemption=True,
    )
    assert "ImageLocality" not in enabled(found, Point.SCORE)
    assert "NodeResourcesMostAllocated" in enabled(found, Point.SCORE)
    assert enabled(found, Point.POST_FILTER) == []
    election = found.leader_election
    assert (election.resource_name, election.lease_duration_ns) == ("mine", 20_000_000_000)
    assert (found.pod_max_backoff_seconds, found.percentage_of_nodes_to_score) == (30, 40)
    assert list(found.notes) == [
        "plugins.normalizeScore: unknown key: release 1.18 ignores it",
        "failureDomains: unknown key: release 1.18 ignores it",
    ]


# --- faults --------------------------------------------------------------------------------

AFFINITY = {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 3}}
FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "type": ({"bindTimeoutSeconds": "7"}, "config: bindTimeoutSeconds: expected an integer"),
    "name": ({"schedulerName": ""}, "config: schedulerName: Required value"),
    "lock": ({"leaderElection": {"lockObjectName": "a", "resourceName": "b"}},
        "ResourceName and LockObjectName are both set and do not match, ResourceName: b, LockObjectName: a"),
    "plugin": ({"plugins": {"postFilter": {"enabled": [{"name": "Mine"}]}}},
        "config: plugins.postFilter.enabled[0].name: there is no plugin Mine"),
    "weight": ({"hardPodAffinitySymmetricWeight": 101}, "config: hardPodAffinitySymmetricWeight: Invalid value: 101"),
    "weight twice": ({"hardPodAffinitySymmetricWeight": 1, "pluginConfig": [AFFINITY]},
        "config: hardPodAffinitySymmetricWeight: repeated config for plugin InterPodAffinity"),
    "profiles": ({"profiles": [{}], "strict": True}, "profiles: unknown key"),
    "provider": ({"algorithmSource": {"provider": "Mine"}}, 'algorithm provider "Mine" is not registered'),
}  # fmt: skip


@pytest.mark.parametrize(("given", "text"), FAULTS.values(), ids=FAULTS)
def test_faults(given: dict[str, Any], text: str) -> None:
    """With the places that are written, though 1.18 checks a profile."""
    assert text in "\n".join(faults(**given))


def test_1_19_does_not_read_it() -> None:
    """Nor does a release before it know plugins."""
    with pytest.raises(ConfigError, match=f"release 1.19 does not read {GROUP}/v1alpha1"):
        EngineSpec("1.19", component=document()).engine(no_notice)


# --- a policy ------------------------------------------------------------------------------

POLICY = {"apiVersion": "v1", "kind": "Policy", "priorities": [{"name": "MostRequestedPriority", "weight": 3}]}


@pytest.fixture
def policy(tmp_path: Path) -> dict[str, Any]:
    """The source that names it."""
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(POLICY))
    return {"policy": {"file": {"path": str(path)}}}


def test_a_policy_that_it_names(policy: dict[str, Any]) -> None:
    """It says the plugins; all else is the configuration's, no preemption too."""
    found = config(algorithmSource=policy, schedulerName="mine", percentageOfNodesToScore=40, disablePreemption=True)
    assert enabled(found, Point.SCORE) == ["NodeResourcesMostAllocated"]
    assert enabled(found, Point.POST_FILTER) == []
    assert (found.profiles[0].scheduler_name, found.percentage_of_nodes_to_score) == ("mine", 40)
    assert enabled(config(algorithmSource=policy), Point.POST_FILTER) == ["DefaultPreemption"]


BESIDE: dict[str, tuple[dict[str, Any], str]] = {
    "plugins": ({"plugins": {}}, "plugins: using Plugins and Policy simultaneously is not supported"),
    "args": ({"pluginConfig": [AFFINITY]}, "pluginConfig: using PluginConfig and Policy simultaneously is not"),
    "weight": ({"hardPodAffinitySymmetricWeight": 1}, "hardPodAffinitySymmetricWeight: using PluginConfig and Policy"),
}


@pytest.mark.parametrize(("given", "text"), BESIDE.values(), ids=BESIDE)
def test_no_plugins_beside_a_policy(policy: dict[str, Any], given: dict[str, Any], text: str) -> None:
    """1.18 refuses them, and a weight, which is an arg."""
    assert text in faults(algorithmSource=policy, **given)[0]


def test_flags_beside_a_configuration(tmp_path: Path, policy: dict[str, Any]) -> None:
    """1.18 passes them over, later releases do not; a weight is no arg beside a policy."""
    path = Path(policy["policy"]["file"]["path"])
    (tmp_path / "config.yaml").write_text(f"apiVersion: {GROUP}/v1alpha2\nkind: KubeSchedulerConfiguration\n")
    (tmp_path / "beta.yaml").write_text(
        f"apiVersion: {GROUP}/v1beta1\nkind: KubeSchedulerConfiguration\npercentageOfNodesToScore: 30\n"
    )
    notes: list[str] = []
    spec = EngineSpec("1.18", config_file=str(tmp_path / "config.yaml"), policy_file=str(path))
    assert len(enabled(spec.component_config(notes.append), Point.SCORE)) > 1
    assert notes == ["--policy-config-file has no effect beside --config"]
    later = EngineSpec("1.19", config_file=str(tmp_path / "beta.yaml"), policy_file=str(path))
    found = later.component_config(no_notice)
    assert enabled(found, Point.SCORE) == ["NodeResourcesMostAllocated"]
    assert found.percentage_of_nodes_to_score == 30
    weighed = EngineSpec("1.18", policy_file=str(path), hard_pod_affinity_symmetric_weight=7)
    with pytest.raises(ConfigError, match=r"^--hard-pod-affinity-symmetric-weight: using PluginConfig and Policy"):
        weighed.engine(no_notice)


def test_a_scenario(policy: dict[str, Any]) -> None:
    """A scenario names a provider; a policy elsewhere cannot be read there."""
    source = {"provider": "ClusterAutoscalerProvider"}
    assert engine_for(EngineSpec("1.18", component=document(algorithmSource=source))).document["kind"]
    with pytest.raises(ConfigError, match=r'^couldn.t create scheduler using provider "Mine"'):
        engine_for(EngineSpec("1.18", component=document(algorithmSource={"provider": "Mine"})))
    with pytest.raises(ConfigError, match=r"algorithmSource\.policy: it is elsewhere, in .*policy\.json"):
        engine_for(EngineSpec("1.18", component=document(algorithmSource=policy)))


# --- 1.16 ----------------------------------------------------------------------------------


def problems(found: dict[str, Any], *, strict: bool = False) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        read_v1alpha1(found, strict=strict)
    return caught.value.problems


def test_defaults_1_16() -> None:
    """What is not said is as 1.16 has it: the default provider, an endpoints lock, no profiling."""
    config = read_v1alpha1(document())
    assert config == V1Alpha1Config(provider="DefaultProvider")
    assert config.leader_election == LeaderElection(resource_lock="endpoints")
    assert (config.enable_profiling, config.bind_timeout_seconds) == (False, 600)


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
            f"release 1.16 does not read componentconfig/v1alpha1; it is called {GROUP}/v1alpha1 now; write that",
        ),
        ({"kind": "Policy", "apiVersion": "v1"}, "give the file as --policy-config-file"),
        (document(algorithmSource={**FILE, "provider": ""}), "algorithmSource.provider: it is empty, and still goes"),
        (document(plugins={"score": {"enabled": [{"name": "Mine"}]}}), "there is no plugin Mine"),
    ],
    ids=["version", "group", "policy", "no-provider", "plugin"],
)
def test_faults_1_16(found: dict[str, Any], text: str) -> None:
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
