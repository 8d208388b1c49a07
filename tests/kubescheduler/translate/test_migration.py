"""Tests of migration from whatever configures an older scheduler: configurations, ConfigMaps, manifests."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from clusterstate.errors import ConfigError
from kubescheduler.config.load_config import component_config_from
from kubescheduler.framework.contract.profile import Point, Profile
from kubescheduler.releases.lookup import release_named
from kubescheduler.translate.translating import translation_yaml
from kubescheduler.translate.translation_model import NoteKind, readers
from tests.support.configuring.translating import POLICY, configmap, configuration, deployment, moved, told_of


def profile(document: dict[str, Any], release: str = "1.36") -> Profile:
    form = release_named(release).framework_rules.component
    return component_config_from(document, form, all_problems=True).profiles[0]


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
    before, after = profile(older, readers(configuration(version)["apiVersion"])[-1]), profile(moved(older).plain())
    new = {"VolumeBinding", "DynamicResources", "NodeDeclaredFeatures", "EBSLimits", "GCEPDLimits", "AzureDiskLimits"}
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
    assert told_of(translation, "NodePreferAvoidPods") == ["lost"]


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
    assert told_of(translation, "Mine") == ["check"]


def test_unknown_keys_by_version() -> None:
    """v1beta1 refuses them, as 1.20 does; what v1alpha2 does not have is left out with a note."""
    extender = {"urlPrefix": "http://x", "enableHttps": True}
    with pytest.raises(ConfigError, match="enableHttps: unknown key; did you mean enableHTTPS"):
        moved(configuration("v1beta1", extenders=[extender]))
    translation = moved(configuration("v1alpha2", extenders=[extender], disablePreemption=True, bindTimeoutSeconds=7))
    assert told_of(translation, "enableHttps") == ["lost"]
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
    assert told_of(translation, "healthzBindAddress") == ["lost"]
    assert told_of(translation, "resourceLock") == ["approximate"]


@pytest.mark.parametrize(
    "source",
    [{"policy": {"file": {"path": "/etc/kubernetes/policy.cfg"}}}, {"policy": {"configMap": {"name": "p"}}}],
    ids=["file", "configmap"],
)
def test_the_policy_beside_it(source: dict[str, Any]) -> None:
    """The policy that algorithmSource names is found among what is given; without it the error says which."""
    older = configuration("v1alpha1", algorithmSource=source)
    translation = moved(older, configmap("p", policy__cfg=POLICY))
    assert weights(profile(translation.plain()))["NodeResourcesFit"] == 3
    with pytest.raises(ConfigError, match=r"give (that file|its manifest), too"):
        moved(older)


def test_v1alpha1_of_1_18() -> None:
    """Its plugins come along, the provider's and a policy's too, and each line says where it was written."""
    older = configuration(
        "v1alpha1",
        algorithmSource={"provider": "ClusterAutoscalerProvider"},
        plugins={"postFilter": {"disabled": [{"name": "TaintToleration"}]}},
        hardPodAffinitySymmetricWeight=9,
        disablePreemption=True,
    )
    translation = moved(older, release="1.18", to="1.20")
    (found,) = translation.plain()["profiles"]
    assert translation.from_release == "1.18"
    assert found["plugins"]["preScore"] == {"disabled": [{"name": "TaintToleration"}]}
    assert found["plugins"]["postFilter"] == {"disabled": [{"name": "DefaultPreemption"}]}
    assert found["pluginConfig"] == [{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 9}}]
    assert {"name": "NodeResourcesMostAllocated"} in found["plugins"]["score"]["enabled"]
    assert told_of(translation, "DefaultPodTopologySpread") == ["approximate"]
    assert told_of(moved(older, release="1.18", to="1.19"), "DefaultPodTopologySpread") == ["exact"]
    text = translation_yaml(translation)
    assert "plugins.postFilter.disabled" in text
    assert "profiles[0]." not in text
    with pytest.raises(ConfigError, match=r"there is no plugin Mine: .*; if 1\.18 ran by it, say --from 1\.18$"):
        moved(configuration("v1alpha1", plugins={"score": {"enabled": [{"name": "Mine"}]}}))


def test_a_policy_of_v1alpha1_in_1_18() -> None:
    """The policy says the plugins, the configuration the rest; what 1.18 refuses beside it is refused."""
    source = {"policy": {"configMap": {"name": "p"}}}
    older = configuration("v1alpha1", algorithmSource=source, schedulerName="mine", percentageOfNodesToScore=30)
    document = moved(older, configmap("p", policy__cfg=POLICY), release="1.18").plain()
    assert weights(profile(document))["NodeResourcesFit"] == 3
    assert (document["percentageOfNodesToScore"], profile(document).scheduler_name) == (30, "mine")
    weighed = {**older, "hardPodAffinitySymmetricWeight": 9}
    with pytest.raises(ConfigError, match="hardPodAffinitySymmetricWeight: using PluginConfig and Policy"):
        moved(weighed, configmap("p", policy__cfg=POLICY), release="1.18")
    assert moved(weighed, configmap("p", policy__cfg=POLICY)).from_release == "1.16"


# --- ConfigMaps and manifests --------------------------------------------------------------


def test_a_configmap_with_either_kind() -> None:
    """A policy under policy.cfg, or a configuration under any key; of both the policy, with a note."""
    beta = yaml.safe_dump(configuration("v1beta2"))
    assert moved(configmap("a", policy__cfg=POLICY)).from_release == "1.16"
    assert moved(configmap("b", config__yaml=beta)).from_release == "1.27"
    both = moved(configmap("c", policy__cfg=POLICY, plugin__yaml=beta))
    assert told_of(both, "plugin.yaml") == ["check"]
    with pytest.raises(ConfigError, match="there is no Policy, KubeSchedulerConfiguration or kube-scheduler in it"):
        moved(configmap("d", notes="none"))


def test_several_documents_under_a_key() -> None:
    """A scheduler that mounts the key reads the first of them; a note says that there are more."""
    beta = yaml.safe_dump(configuration("v1beta3", percentageOfNodesToScore=30)) + "---\nkind: Other\n"
    found = moved(configmap("settings", config__yaml=beta))
    assert found.plain()["percentageOfNodesToScore"] == 30
    assert told_of(found, "settings[config.yaml]") == ["check"]
    policy = yaml.safe_dump(json.loads(POLICY)) + "---\nkind: Other\n"
    (note,) = (note for note in moved(configmap("p", policy__cfg=policy)).notes if "first document" in note.text)
    assert note.text == "only the first document is read: 1 more document is ignored"


@pytest.mark.parametrize("shell", [False, True], ids=["command", "shell"])
def test_a_manifest_and_its_flags(shell: bool) -> None:
    """The flags say what is translated and how the process runs; each gets a note, and the new command line is said."""
    flags = (
        *("--policy-configmap=p", "--leader-elect=true", "--leader-elect-resource-lock=endpoints"),
        *("--lock-object-name=mine", "--scheduler-name=mine", "--port=10251", "--address=0.0.0.0"),
        *("--logtostderr=true", "--bind-address=127.0.0.1", "--v=2", "--nonsense=1"),
    )
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    translation = moved(deployment(*flags, shell=shell), service, configmap("p", policy__cfg=POLICY))
    document = translation.plain()
    assert document["leaderElection"] == {"resourceLock": "leases", "leaderElect": True, "resourceName": "mine"}
    assert document["profiles"][0]["schedulerName"] == "mine"
    assert weights(profile(document))["NodeResourcesFit"] == 3
    assert [told_of(translation, f"--{name}") for name in ("port", "logtostderr", "nonsense", "scheduler-name")] == [
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
    assert told_of(translation, "--leader-elect") == ["exact"]
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
        assert len(told_of(translation, "--with-new-filters")) == (3 if asked else 0)


def test_bare() -> None:
    """The same document without any comment."""
    translation = moved(json.loads(POLICY))
    text = translation_yaml(translation, bare=True)
    assert "#" not in text
    assert yaml.safe_load(text) == translation.plain()


# --- v1 --------------------------------------------------------------------------------------


def test_v1_of_today() -> None:
    """A configuration that 1.36 takes stays as it is, with a note on what has changed since v1 was new."""
    plugins = {"score": {"enabled": [{"name": "ImageLocality", "weight": 5}]}}
    translation = moved(configuration("v1", parallelism=4, profiles=[{"schedulerName": "a", "plugins": plugins}]))
    document = translation.plain()
    assert document["profiles"] == [{"schedulerName": "a", "plugins": plugins}]
    assert document["parallelism"] == 4
    (note,) = (note for note in translation.notes if "releases after 1.25" in note.text)
    assert "1.36 (NodeResourcesBalancedAllocation has another formula)" in note.text


@pytest.mark.parametrize(
    ("member", "plugin", "kind", "instead"),
    [
        ("filter", "EBSLimits", "approximate", ["NodeVolumeLimits"]),
        ("multiPoint", "AzureDiskLimits", "approximate", []),
    ],
)
def test_plugins_that_1_36_no_longer_has(member: str, plugin: str, kind: str, instead: list[str]) -> None:
    """1.36 refuses a v1 file that names them: each is replaced or left out, with the note that older versions get."""
    plugins = {member: {"enabled": [{"name": plugin}]}}
    translation = moved(configuration("v1", profiles=[{"plugins": plugins}]))
    assert told_of(translation, plugin) == [kind]
    said = translation.plain()["profiles"][0].get("plugins", {}).get(member, {})
    assert [entry["name"] for entry in said.get("enabled", ())] == instead


@pytest.mark.parametrize("version", ["v1beta2", "v1beta3", "v1"])
@pytest.mark.parametrize("member", ["score", "multiPoint"])
def test_plugins_that_a_version_never_had(version: str, member: str) -> None:
    """No release takes such a file, so it is refused, as everywhere, with what to do, and nothing of it is lost."""
    name = "NodeResourcesMostAllocated"
    args = [{"name": name, "args": {"resources": [{"name": "cpu", "weight": 2}]}}]
    profile = {"plugins": {member: {"enabled": [{"name": name}]}}, "pluginConfig": args}
    with pytest.raises(ConfigError) as raised:
        moved(configuration(version, profiles=[profile]))
    assert list(raised.value.problems) == [
        f"input.yaml: profiles[0].plugins.{member}.enabled[0].name: there is no plugin {name}; use "
        "args.scoringStrategy of NodeResourcesFit, type MostAllocated"
    ]


def test_a_misspelt_plugin() -> None:
    """It may be somebody's own, and is kept; the note asks whether another was meant."""
    plugins = {"score": {"enabled": [{"name": "NodeResourcesBalancedAlocation"}]}}
    translation = moved(configuration("v1", profiles=[{"plugins": plugins}]))
    (note,) = (each for each in translation.notes if "Aloc" in each.path)
    assert note.text.endswith("kept as it is; did you mean NodeResourcesBalancedAllocation?")


# --- which release -------------------------------------------------------------------------

CLUSTER_AUTOSCALER = "--algorithm-provider=ClusterAutoscalerProvider"


def image_of(manifest: dict[str, Any], image: str, **keys: Any) -> dict[str, Any]:
    """The manifest with another image, and perhaps other keys, of its container."""
    manifest["spec"]["template"]["spec"]["containers"][0] |= {"image": image, **keys}
    return manifest


@pytest.mark.parametrize(
    ("image", "release", "spreading"),
    [
        ("k8s.gcr.io/kube-scheduler:v1.20.15", "1.20", 2),
        ("localhost:5000/kube-scheduler-amd64:v1.20.15-gke.1@sha256:0a", "1.20", 2),
        ("gcr.io/google-containers/hyperkube:v1.16.6", "1.16", 1),
        ("example.com/kube-scheduler:latest", "1.16", 1),
        ("example.com/scheduler:v1.20.15", "1.16", 1),
        ("example.com/kube-scheduler:v0.20.1", "1.16", 1),
    ],
)
def test_the_release_of_the_image(image: str, release: str, spreading: int) -> None:
    """A manifest is read as the release of its image does; the default stands where an image says none."""
    translation = moved(image_of(deployment(CLUSTER_AUTOSCALER), image), release=None)
    assert translation.from_release == release
    assert weights(profile(translation.plain()))["PodTopologySpread"] == spreading


def test_hyperkube() -> None:
    """The program that was all programs is told which one to be."""
    manifest = image_of(deployment(), "hyperkube:v1.20.1", command=["/hyperkube", "scheduler", CLUSTER_AUTOSCALER])
    assert moved(manifest, release=None).source == "Deployment my-scheduler"


def test_another_release_than_the_image() -> None:
    """The one that is named counts, with a note that says where the image is."""
    manifest = image_of(deployment(CLUSTER_AUTOSCALER), "kube-scheduler:v1.20.15")
    translation = moved(manifest, release="1.16")
    assert translation.from_release == "1.16"
    assert told_of(translation, "input.yaml: Deployment my-scheduler, container kube-scheduler") == ["check"]
    assert told_of(moved(manifest, release="1.20"), "input.yaml: Deployment my-scheduler") == []


@pytest.mark.parametrize(("version", "between"), [("1.14.3", "1.13 and 1.15"), ("1.17.0", "1.16 and 1.18")])
def test_an_image_of_a_release_that_is_not_there(version: str, between: str) -> None:
    """It is an error that names the neighbours, not the reading of another release; --from says which one it is."""
    manifest = image_of(deployment("--feature-gates=PodPriority=false"), f"kube-scheduler:v{version}")
    with pytest.raises(
        ConfigError, match=f"container kube-scheduler: its image is of v{version}: .* between {between}"
    ):
        moved(manifest, release=None)
    translation = moved(manifest, release="1.16")
    place = "input.yaml: Deployment my-scheduler, container kube-scheduler"
    assert told_of(translation, f"{place}: --feature-gates PodPriority=false") == ["check"]
    assert [note.advice for note in translation.notes if note.path == place] == [""]


def test_an_image_of_v1() -> None:
    """Releases that read v1 run by its defaults and their flags; of later ones only what changed since is said."""
    manifest = image_of(deployment("--leader-elect=false", "--nonsense=1", "--v=2"), "kube-scheduler:v1.28.3")
    translation = moved(manifest, release=None)
    assert translation.from_release == "1.28"
    assert translation.plain()["leaderElection"] == {"leaderElect": False}
    assert told_of(translation, "--nonsense") == ["check"]
    (note,) = (note for note in translation.notes if "releases after 1.28" in note.text)
    assert ("1.29 (" in note.text, "1.28 (" in note.text) == (True, False)
    newest = moved(image_of(deployment(), "kube-scheduler:v1.36.2"), release=None)
    assert told_of(newest, "v1") == []
    with pytest.raises(ConfigError, match=r"kube-scheduler 1\.36 has no --algorithm-provider and does not"):
        moved(image_of(deployment(CLUSTER_AUTOSCALER), "kube-scheduler:v1.36.2"), release=None)


def test_a_configuration_says_its_release() -> None:
    """An image counts where it reads the version, else the last that does; v1alpha1 is read as 1.16 reads it."""
    beta = configmap("settings", config__yaml=yaml.safe_dump(configuration("v1beta2")))
    manifest = deployment("--config=/etc/k/config.yaml", mounts={"/etc/k": "settings"})
    assert moved(beta, image_of(manifest, "kube-scheduler:v1.22.6"), release=None).from_release == "1.22"
    assert moved(beta, image_of(manifest, "kube-scheduler:v1.20.1"), release=None).from_release == "1.27"
    alpha = configmap("settings", config__yaml=yaml.safe_dump(configuration("v1alpha1")))
    with pytest.raises(ConfigError, match=r"its image is of v1\.17\.2: release 1\.17 is not known"):
        moved(alpha, image_of(manifest, "kube-scheduler:v1.17.2"), release=None)


# --- which container -----------------------------------------------------------------------


def test_several_schedulers() -> None:
    """The container that is meant is named by its name, or with its workload where several have the name."""
    first, second = deployment("--scheduler-name=a"), image_of(deployment("--scheduler-name=b"), "x", name="other")
    third = {**deployment("--scheduler-name=c"), "metadata": {"name": "third"}}
    with pytest.raises(ConfigError, match=r"one of my-scheduler/kube-scheduler, other, third/kube-scheduler$"):
        moved(first, second, third)

    def name(container: str) -> str:
        return str(moved(first, second, third, container=container).plain()["profiles"][0]["schedulerName"])

    assert [name(one) for one in ("my-scheduler/kube-scheduler", "other", "third/kube-scheduler")] == ["a", "b", "c"]
    with pytest.raises(ConfigError, match="--container kube-scheduler: several kube-schedulers have this name"):
        name("kube-scheduler")
    with pytest.raises(
        ConfigError, match="--container nginx: no container of this name runs kube-scheduler; there are"
    ):
        name("nginx")
    with pytest.raises(ConfigError, match=r"--container nginx: no container of this name runs kube-scheduler$"):
        moved(json.loads(POLICY), container="nginx")


# --- policies without a kind ---------------------------------------------------------------


def test_rules_that_are_dropped() -> None:
    """1.16 reads nothing of a policy without apiVersion: that is lost, and 1.4, which reads it, is named."""
    rules = {"priorities": [{"name": "MostRequestedPriority", "weight": 3}]}
    (note,) = (note for note in moved(rules).notes if note.path == "input.yaml")
    assert note.kind is NoteKind.LOST
    assert "ignored: priorities" in note.text
    assert "--from 1.4" in note.advice
    assert told_of(moved(rules, release="1.4"), "input.yaml") == []
    assert told_of(moved({"apiVersion": "v1", **rules}), "input.yaml") == []
    assert told_of(moved({"Priorities": []}), "input.yaml") == ["check"]


def container(**keys: Any) -> dict[str, Any]:
    """A Pod with one container."""
    return {"kind": "Pod", "metadata": {"name": "s"}, "spec": {"containers": [{"image": "kube-scheduler", **keys}]}}


@pytest.mark.parametrize(
    ("document", "text"),
    [
        (configuration("v1", profile=[]), "profile: unknown key; did you mean profiles"),
        (configuration("v1gamma"), "is not known; known are v1alpha1, v1alpha2, v1beta1, v1beta2, v1beta3"),
        ({"replicas": 2, "image": {"tag": "1"}}, "there is no Policy, KubeSchedulerConfiguration or kube-scheduler"),
        ({"kind": "Deployment", "spec": "x"}, 'Deployment: spec: must be an object, not "x"'),
        ({"kind": "Deployment", "spec": {"template": []}}, "spec.template: must be an object, not a list"),
        ({"kind": "Pod", "spec": {"volumes": ["x"]}}, r"spec.volumes\[0\]: must be an object"),
        ({"kind": "Pod", "metadata": "x"}, "metadata: must be an object"),
        (container(command="kube-scheduler"), r"Pod s: spec.containers\[0\].command: must be a list"),
        (container(args={}), r"containers\[0\].args: must be a list"),
        (container(volumeMounts=[5]), r"volumeMounts\[0\]: must be an object, not 5"),
        ({"kind": "ConfigMap", "metadata": {"name": "c"}, "data": []}, "ConfigMap c: data: must be an object"),
    ],
    ids=[
        "v1",
        "unknown",
        "values of a Helm chart",
        "spec",
        "template",
        "volumes",
        "metadata",
        "command",
        "args",
        "mounts",
        "data",
    ],
)
def test_what_is_not_migrated(document: dict[str, Any], text: str) -> None:
    """What its releases refuse, what is of no version or no scheduler at all, and what is no manifest inside."""
    with pytest.raises(ConfigError, match=text):
        moved(document)
