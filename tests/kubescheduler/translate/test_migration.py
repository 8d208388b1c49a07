"""Tests of migration from whatever configures an older scheduler: configurations, ConfigMaps, manifests."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from clusterstate.errors import ConfigError
from kubescheduler.config.component import component_config_from
from kubescheduler.config.component.format_1_36 import FORMAT_1_36, FORMAT_V1BETA
from kubescheduler.framework.contract.points import Point
from kubescheduler.framework.contract.profile import Profile
from kubescheduler.translate.commented_yaml import translation_yaml
from kubescheduler.translate.translation_model import NoteKind
from tests.support.configuring.migrations import POLICY, configmap, configuration, deployment, moved, told


def profile(document: dict[str, Any], *, older: bool = False) -> Profile:
    return component_config_from(document, FORMAT_V1BETA if older else FORMAT_1_36, all_problems=True).profiles[0]


def weights(found: Profile) -> dict[str, int]:
    return {plugin.name: plugin.weight or 1 for plugin in found.plugins[Point.SCORE]}


# --- older versions ------------------------------------------------------------------------

SETS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "disabled": {"score": {"disabled": [{"name": "ImageLocality"}]}},
    "weights": {"score": {"disabled": [{"name": "NodeAffinity"}], "enabled": [{"name": "NodeAffinity", "weight": 7}]}},
    "only": {"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "TaintToleration", "weight": 2}]}},
    "filter": {"filter": {"disabled": [{"name": "NodePorts"}]}, "preFilter": {"disabled": [{"name": "NodePorts"}]}},
}


@pytest.mark.parametrize("version", ["v1beta2", "v1beta3"])
@pytest.mark.parametrize("plugins", SETS.values(), ids=SETS.keys())
def test_the_same_scores_and_filters(version: str, plugins: dict[str, Any]) -> None:
    """The document of v1 scores with the weights that the older one had, and filters by the same plugins."""
    older = configuration(version, profiles=[{"plugins": plugins}])
    before, after = profile(older, older=True), profile(moved(older).plain())
    new = {"VolumeBinding", "DynamicResources", "NodeDeclaredFeatures"}
    assert {n: w for n, w in weights(after).items() if n not in new} == {
        n: w for n, w in weights(before).items() if n not in new
    }
    filters = [{plugin.name for plugin in found.plugins[Point.FILTER]} - new for found in (before, after)]
    assert filters[0] == filters[1]


@pytest.mark.parametrize("version", ["v1alpha2", "v1beta1"])
def test_packing_becomes_a_strategy(version: str) -> None:
    """NodeResourcesMostAllocated in place of the default is the strategy of NodeResourcesFit, with its weight."""
    score = {
        "disabled": [{"name": "NodeResourcesLeastAllocated"}],
        "enabled": [{"name": "NodeResourcesMostAllocated", "weight": 5}],
    }
    translation = moved(configuration(version, profiles=[{"plugins": {"score": score}}]))
    found = profile(translation.plain())
    assert weights(found)["NodeResourcesFit"] == 5
    assert weights(found)["TaintToleration"] == weights(found)["InterPodAffinity"] == 1
    strategy = translation.plain()["profiles"][0]["pluginConfig"][0]["args"]["scoringStrategy"]
    assert strategy["type"] == "MostAllocated"
    assert told(translation, "NodePreferAvoidPods") == ["lost"]


def test_no_score_by_fullness() -> None:
    """NodeResourcesLeastAllocated that is disabled keeps NodeResourcesFit from scoring."""
    score = {"disabled": [{"name": "NodeResourcesLeastAllocated"}]}
    found = profile(moved(configuration("v1beta1", profiles=[{"plugins": {"score": score}}])).plain())
    assert "NodeResourcesFit" not in weights(found)
    assert "NodeResourcesFit" in {plugin.name for plugin in found.plugins[Point.FILTER]}


def test_labels_and_constraints() -> None:
    """NodeLabel becomes addedAffinity, and constraints keep the defaulting that they had."""
    config = [
        {"name": "NodeLabel", "args": {"absentLabels": ["retiring"]}},
        {
            "name": "PodTopologySpread",
            "args": {
                "defaultConstraints": [{"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway"}]
            },
        },
    ]
    plugins = {"filter": {"enabled": [{"name": "NodeLabel"}]}}
    document = moved(configuration("v1beta1", profiles=[{"plugins": plugins, "pluginConfig": config}])).plain()
    args = {entry["name"]: entry["args"] for entry in document["profiles"][0]["pluginConfig"]}
    required = args["NodeAffinity"]["addedAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert required["nodeSelectorTerms"][0]["matchExpressions"] == [{"key": "retiring", "operator": "DoesNotExist"}]
    assert args["PodTopologySpread"]["defaultingType"] == "List"


@pytest.mark.parametrize("member", ["score", "multiPoint"])
def test_foreign_plugins_are_kept(member: str) -> None:
    """What does not come with kube-scheduler stays, with a note."""
    plugins = {member: {"enabled": [{"name": "Mine", "weight": 2}]}}
    translation = moved(configuration("v1beta3", profiles=[{"plugins": plugins}]))
    assert {"name": "Mine", "weight": 2} in translation.plain()["profiles"][0]["plugins"][member]["enabled"]
    assert told(translation, "Mine") == ["check"]


def test_unknown_keys_by_version() -> None:
    """v1beta1 refuses them, as 1.20 does; what v1alpha2 does not have is left out with a note."""
    extender = {"urlPrefix": "http://x", "enableHttps": True}
    with pytest.raises(ConfigError, match="enableHttps: unknown key; did you mean enableHTTPS"):
        moved(configuration("v1beta1", extenders=[extender]))
    translation = moved(configuration("v1alpha2", extenders=[extender], disablePreemption=True, bindTimeoutSeconds=7))
    assert told(translation, "enableHttps") == ["lost"]
    document = translation.plain()
    assert document["extenders"] == [{"urlPrefix": "http://x"}]
    assert document["profiles"][0]["plugins"]["postFilter"] == {"disabled": [{"name": "DefaultPreemption"}]}
    assert {"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 7}} in document["profiles"][0]["pluginConfig"]


# --- 1.16 ----------------------------------------------------------------------------------


def test_v1alpha1_is_migrated_whole() -> None:
    """Provider, weight, election, client, timeouts and the scheduler's name come along, each loss with a note."""
    older = configuration(
        "v1alpha1",
        schedulerName="mine",
        algorithmSource={"provider": "ClusterAutoscalerProvider"},
        hardPodAffinitySymmetricWeight=9,
        percentageOfNodesToScore=40,
        disablePreemption=True,
        bindTimeoutSeconds=30,
        leaderElection={"lockObjectName": "mine"},
        clientConnection={"kubeconfig": "/etc/k"},
        healthzBindAddress="0.0.0.0:10251",
    )
    translation = moved(older)
    document = translation.plain()
    assert document["leaderElection"] == {"resourceName": "mine", "resourceLock": "leases"}
    assert document["percentageOfNodesToScore"] == 40
    assert document["enableProfiling"] is False
    assert document["clientConnection"]["kubeconfig"] == "/etc/k"
    (found,) = document["profiles"]
    assert found["schedulerName"] == "mine"
    assert found["plugins"]["postFilter"]["disabled"] == [{"name": "DefaultPreemption"}]
    args = {entry["name"]: entry["args"] for entry in found["pluginConfig"]}
    assert args["InterPodAffinity"] == {"hardPodAffinityWeight": 9}
    assert args["VolumeBinding"] == {"bindTimeoutSeconds": 30}
    assert args["NodeResourcesFit"]["scoringStrategy"]["type"] == "MostAllocated"
    assert told(translation, "healthzBindAddress") == ["lost"]
    assert told(translation, "resourceLock") == ["approximate"]


@pytest.mark.parametrize(
    "source",
    [
        {"policy": {"file": {"path": "/etc/kubernetes/policy.cfg"}}},
        {"policy": {"configMap": {"name": "p"}}},
    ],
    ids=["file", "configmap"],
)
def test_the_policy_beside_it(source: dict[str, Any]) -> None:
    """The policy that algorithmSource names is found among what is given; without it the error says which."""
    older = configuration("v1alpha1", algorithmSource=source)
    translation = moved(older, configmap("p", policy__cfg=POLICY))
    assert weights(profile(translation.plain()))["NodeResourcesFit"] == 3
    with pytest.raises(ConfigError, match=r"give (that file|its manifest), too"):
        moved(older)


# --- ConfigMaps and manifests --------------------------------------------------------------


def test_a_configmap_with_either_kind() -> None:
    """A policy under policy.cfg, or a configuration under any key; of both the policy, with a note."""
    beta = yaml.safe_dump(configuration("v1beta2"))
    assert moved(configmap("a", policy__cfg=POLICY)).from_release == "1.16"
    assert moved(configmap("b", config__yaml=beta)).from_release == "1.27"
    both = moved(configmap("c", policy__cfg=POLICY, plugin__yaml=beta))
    assert told(both, "plugin.yaml") == ["check"]
    with pytest.raises(ConfigError, match="there is no Policy, KubeSchedulerConfiguration or kube-scheduler in it"):
        moved(configmap("d", notes="none"))


def test_several_documents_under_a_key() -> None:
    """A scheduler that mounts the key reads the first of them; a note says that there are more."""
    beta = yaml.safe_dump(configuration("v1beta3", percentageOfNodesToScore=30)) + "---\nkind: Other\n"
    found = moved(configmap("settings", config__yaml=beta))
    assert found.plain()["percentageOfNodesToScore"] == 30
    assert told(found, "settings[config.yaml]") == ["check"]
    policy = yaml.safe_dump(json.loads(POLICY)) + "---\nkind: Other\n"
    (note,) = (note for note in moved(configmap("p", policy__cfg=policy)).notes if "first document" in note.text)
    assert note.text == "only the first document is read: 1 more document is ignored"


@pytest.mark.parametrize("shell", [False, True], ids=["command", "shell"])
def test_a_manifest_and_its_flags(shell: bool) -> None:
    """The flags say what is translated and how the process runs; each gets a note, and the new command line is said."""
    flags = (
        "--policy-configmap=p",
        "--leader-elect=true",
        "--leader-elect-resource-lock=endpoints",
        "--lock-object-name=mine",
        "--scheduler-name=mine",
        "--port=10251",
        "--address=0.0.0.0",
        "--logtostderr=true",
        "--bind-address=127.0.0.1",
        "--v=2",
        "--nonsense=1",
    )
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    translation = moved(deployment(*flags, shell=shell), service, configmap("p", policy__cfg=POLICY))
    document = translation.plain()
    assert document["leaderElection"] == {"resourceLock": "leases", "leaderElect": True, "resourceName": "mine"}
    assert document["profiles"][0]["schedulerName"] == "mine"
    assert weights(profile(document))["NodeResourcesFit"] == 3
    assert [told(translation, f"--{name}") for name in ("port", "logtostderr", "nonsense", "scheduler-name")] == [
        ["lost"],
        ["lost"],
        ["check"],
        ["exact"],
    ]
    (line,) = (note.text for note in translation.notes if note.path == "command line")
    assert line.endswith("--config=FILE --bind-address=127.0.0.1 --v=2")


def test_a_mounted_configuration() -> None:
    """The file of --config comes from the ConfigMap that is mounted there; most flags beside it had no effect."""
    beta = yaml.safe_dump(configuration("v1beta3", percentageOfNodesToScore=30))
    manifest = deployment(
        "--config=/etc/kubernetes/config.yaml", "--leader-elect=false", mounts={"/etc/kubernetes": "settings"}
    )
    translation = moved(configmap("settings", config__yaml=beta), manifest)
    assert translation.plain()["percentageOfNodesToScore"] == 30
    assert "leaderElection" not in translation.plain()
    assert told(translation, "--leader-elect") == ["exact"]
    with pytest.raises(ConfigError, match=r"--config is /etc/kubernetes/config\.yaml: give ConfigMap settings, too"):
        moved(manifest)


# --- options -------------------------------------------------------------------------------


def test_with_new_filters() -> None:
    """The filters that pods of today rely on are enabled, each with a note."""
    document = json.loads(POLICY)
    names = {"VolumeBinding", "NodeVolumeLimits", "PodTopologySpread"}
    for asked in (False, True):
        translation = moved(document, with_new_filters=asked)
        filters = {plugin.name for plugin in profile(translation.plain()).plugins[Point.FILTER]}
        assert names & filters == (names if asked else set())
        assert len(told(translation, "--with-new-filters")) == (3 if asked else 0)


def test_bare() -> None:
    """The same document without any comment."""
    translation = moved(json.loads(POLICY))
    text = translation_yaml(translation, bare=True)
    assert "#" not in text
    assert yaml.safe_load(text) == translation.plain()


@pytest.mark.parametrize(
    ("document", "text"),
    [
        (configuration("v1"), "there is nothing to translate"),
        (configuration("v1gamma"), "is not known; known are v1alpha1, v1alpha2, v1beta1, v1beta2, v1beta3"),
    ],
    ids=["v1", "unknown"],
)
def test_what_is_not_migrated(document: dict[str, Any], text: str) -> None:
    """A configuration of today, and one of no version."""
    with pytest.raises(ConfigError, match=text):
        moved(document)


def test_every_kind_of_note_is_used() -> None:
    """Notes say how well something came across."""
    kinds = {note.kind for note in moved(configuration("v1beta1")).notes}
    assert {NoteKind.CHECK, NoteKind.LOST, NoteKind.APPROXIMATE} <= kinds


def container(**keys: Any) -> dict[str, Any]:
    """A Pod with one container."""
    return {"kind": "Pod", "metadata": {"name": "s"}, "spec": {"containers": [{"image": "kube-scheduler", **keys}]}}


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"kind": "Deployment", "spec": "x"}, 'Deployment: spec: must be an object, not "x"'),
        ({"kind": "Deployment", "spec": {"template": []}}, "spec.template: must be an object, not a list"),
        ({"kind": "Pod", "spec": {"volumes": ["x"]}}, r"spec.volumes\[0\]: must be an object"),
        ({"kind": "Pod", "metadata": "x"}, "metadata: must be an object"),
        (container(command="kube-scheduler"), r"Pod s: spec.containers\[0\].command: must be a list"),
        (container(args={}), r"containers\[0\].args: must be a list"),
        (container(volumeMounts=[5]), r"volumeMounts\[0\]: must be an object, not 5"),
        ({"kind": "ConfigMap", "metadata": {"name": "c"}, "data": []}, "ConfigMap c: data: must be an object"),
    ],
    ids=["spec", "template", "volumes", "metadata", "command", "args", "mounts", "data"],
)
def test_malformed_manifests(document: dict[str, Any], text: str) -> None:
    """What is no manifest inside is an error with its path."""
    with pytest.raises(ConfigError, match=text):
        moved(document)
