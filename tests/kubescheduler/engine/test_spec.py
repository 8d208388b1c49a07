"""What a user says of one scheduler, and what comes of it in every release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clusterstate.cache import ClusterCache
from clusterstate.errors import ConfigError, attempt
from clusterstate.objects import Pod
from kubescheduler.engine.framework_engine import FrameworkEngine, unused_plugins
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugin_loading import PluginOption, with_plugin
from kubescheduler.releases.names import RELEASE_NAMES
from tests.support.build import make_node, make_pod

V1 = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
V1BETA1 = V1.replace("/v1", "/v1beta1") + "leaderElection: {leaderElect: false}\n"
POLICY = {
    "kind": "Policy",
    "apiVersion": "v1",
    "predicates": [{"name": "PodFitsResources"}],
    "priorities": [{"name": "MostRequestedPriority", "weight": 7}],
}


def faults(spec: EngineSpec) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as raised:
        spec.engine(print)
    return raised.value.problems


def weights(spec: EngineSpec) -> dict[str, int]:
    scheduler = spec.engine(print).scheduler(ClusterCache.of([make_node("a"), make_node("b")], spec.release_view()))
    return dict(scheduler.decide(make_pod("p")).weights)


# --- in one line -----------------------------------------------------------------------------


def test_in_one_line() -> None:
    """Keys as the command line has them; several gates are separated by semicolons."""
    spec = EngineSpec.parse("release=1.20, policy=p.json,feature-gates=A=true;B=false,percentage-of-nodes-to-score=50")
    assert spec == EngineSpec(
        "1.20", policy_file="p.json", feature_gates="A=true,B=false", percentage_of_nodes_to_score=50
    )
    assert EngineSpec.parse("") == EngineSpec()


def test_every_fault_of_every_line() -> None:
    """With the line, and the nearest key or release."""
    problems: list[str] = []
    for text in ("relase=1.36,policy", "release=1.63", "percentage-of-nodes-to-score=half", "release=1.36"):
        attempt(problems, EngineSpec.parse, text)
    first, second, third, fourth = problems
    assert first == "relase=1.36,policy: relase: there is no such key; did you mean release?"
    assert second.startswith("relase=1.36,policy: policy: write it as key=value; keys are release, ")
    assert third.startswith(f"release=1.63: release 1.63 is not known; known are {', '.join(RELEASE_NAMES)}")
    assert fourth.endswith(": percentage-of-nodes-to-score: expected a whole number, found 'half'")


# --- legacy releases -------------------------------------------------------------------------


def test_1_4_reads_no_configuration() -> None:
    """It is refused, and what to use instead is said."""
    assert faults(EngineSpec("1.4", config_file="c.yaml")) == (
        "--config: release 1.4 reads no component configuration; give it an --algorithm-provider or a "
        f"--policy-config-file, or choose --release 1.16 or 1.18 to {RELEASE_NAMES[-1]}",
    )


def test_the_legacy_policy_flag(tmp_path: Path) -> None:
    """It lets a policy file go before a ConfigMap in 1.16 and 1.20, and is unknown before and after."""
    (tmp_path / "policy.json").write_text(json.dumps(POLICY))
    file = str(tmp_path / "policy.json")
    for release, name in (("1.16", "MostRequestedPriority"), ("1.20", "NodeResourcesMostAllocated")):
        spec = EngineSpec(release, policy_file=file, policy_configmap="missing.yaml", use_legacy_policy_config=True)
        assert weights(spec)[name] == 7
        needed = "policyConfigFile: Required value: required when --use-legacy-policy-config is true"
        assert faults(EngineSpec(release, use_legacy_policy_config=True)) == (needed,)
    for release in ("1.4", "1.36"):
        problem = faults(EngineSpec(release, use_legacy_policy_config=True))[0]
        assert problem.startswith("unknown flag: --use-legacy-policy-config")


# --- 1.20 ------------------------------------------------------------------------------------


def test_1_20_by_provider_policy_and_configuration(tmp_path: Path) -> None:
    """A policy goes before a provider; a configuration's profiles start from the provider's plugins."""
    (tmp_path / "policy.json").write_text(json.dumps(POLICY))
    (tmp_path / "config.yaml").write_text(V1BETA1)
    autoscaler = EngineSpec("1.20", provider="ClusterAutoscalerProvider")
    assert "NodeResourcesMostAllocated" in weights(autoscaler)
    assert "NodeResourcesMostAllocated" in weights(
        msgspec.structs.replace(autoscaler, config_file=str(tmp_path / "config.yaml"))
    )
    assert weights(msgspec.structs.replace(autoscaler, policy_file=str(tmp_path / "policy.json"))) == {
        "NodeResourcesMostAllocated": 7
    }


def test_1_20_faults(tmp_path: Path) -> None:
    """With the file and the path in it, and the nearest name."""
    policy = {**POLICY, "predicates": [{"name": "PodFitsResource"}], "priorities": [{"name": "Most", "weight": 1}]}
    (tmp_path / "policy.json").write_text(json.dumps(policy))
    problems = faults(EngineSpec("1.20", policy_file=str(tmp_path / "policy.json")))
    assert len(problems) == 2
    assert all(problem.startswith(f"{tmp_path}/policy.json: ") for problem in problems)
    text = 'couldn\'t create scheduler using provider "Default": algorithm provider "Default" is not registered'
    assert faults(EngineSpec("1.20", provider="Default"))[0].startswith(text)
    assert faults(EngineSpec("1.20", hard_pod_affinity_symmetric_weight=101)) == (
        "hardPodAffinitySymmetricWeight: Invalid value: 101: not in valid range [0-100]",
    )
    (tmp_path / "config.yaml").write_text(V1BETA1 + "profiles: [{pluginConfig: [{name: NodeAffinity}]}]\n")
    beside = EngineSpec("1.20", policy_file=str(tmp_path / "policy.json"), config_file=str(tmp_path / "config.yaml"))
    assert faults(beside) == ("cannot set a Plugin config and Policy config",)


def test_the_hard_weight_lasts_without_a_configuration(tmp_path: Path) -> None:
    """Beside one it has no effect, and that is said."""
    (tmp_path / "config.yaml").write_text(V1BETA1)
    spec = EngineSpec("1.20", hard_pod_affinity_symmetric_weight=50)
    args = dict(spec.component_config(print).profiles[0].plugin_config)["InterPodAffinity"]
    assert args.hard_pod_affinity_weight == 50
    notes: list[str] = []
    msgspec.structs.replace(spec, config_file=str(tmp_path / "config.yaml")).engine(notes.append)
    assert "--hard-pod-affinity-symmetric-weight has no effect beside --config" in notes


@pytest.mark.parametrize("release", ["1.4", "1.16", "1.20"])
@pytest.mark.parametrize(
    ("said", "named", "tried"),
    [
        (None, None, True),
        (None, "default-scheduler", True),
        (None, "batch", False),
        ("batch", "batch", True),
        ("batch", None, False),
    ],
    ids=["nobody-named", "the-default-named", "another-named", "named-like-the-flag", "named-unlike-the-flag"],
)
def test_scheduler_name_says_whose_pods_are_tried(
    release: str, said: str | None, named: str | None, tried: bool
) -> None:
    """Pods that name another scheduler than ``--scheduler-name`` are left alone in every release with the flag."""
    made = EngineSpec(release, scheduler_name=said).engine(print)
    annotations = {"scheduler.alpha.kubernetes.io/name": named} if named and release == "1.4" else {}
    waiting = make_pod("p", scheduler_name=named or "", annotations=annotations)
    decision = made.scheduler(ClusterCache.of([make_node("n")], made.view)).decide(waiting)
    assert decision.tried == tried
    assert (decision.host == "n") == tried


def test_scheduler_name_beside_a_configuration(tmp_path: Path) -> None:
    """The configuration names its profiles itself, and the flag is said to have no effect."""
    config = tmp_path / "config.yaml"
    for release, version in (("1.16", "v1alpha1"), ("1.20", "v1beta1")):
        config.write_text(f"apiVersion: kubescheduler.config.k8s.io/{version}\nkind: KubeSchedulerConfiguration\n")
        notes: list[str] = []
        made = EngineSpec(release, config_file=str(config), scheduler_name="batch").engine(notes.append)
        assert "--scheduler-name has no effect beside --config" in notes
        assert made.scheduler(ClusterCache.of([make_node("n")], made.view)).decide(make_pod("p")).host == "n"


# --- 1.36 ------------------------------------------------------------------------------------


def test_1_36_knows_no_providers_and_policies() -> None:
    """All such flags at once, as the release says it, with what to use instead."""
    spec = EngineSpec(
        "1.36",
        provider="DefaultProvider",
        policy_file="p.json",
        policy_configmap="c",
        hard_pod_affinity_symmetric_weight=1,
        scheduler_name="mine",
    )
    problems = faults(spec)
    assert [problem.split(":")[1].strip() for problem in problems] == [
        "--algorithm-provider",
        "--policy-config-file",
        "--policy-configmap",
        "--hard-pod-affinity-symmetric-weight",
        "--scheduler-name",
    ]
    assert all(problem.startswith("unknown flag: ") and "--config" in problem for problem in problems)


def test_1_36_by_configuration(tmp_path: Path) -> None:
    """Weights of the configuration; every fault with its path."""
    config = tmp_path / "config.yaml"
    enabled = "{score: {enabled: [{name: NodeAffinity, weight: 9}]}}"
    config.write_text(f"{V1}profiles: [{{schedulerName: default-scheduler, plugins: {enabled}}}]\n")
    assert weights(EngineSpec("1.36", config_file=str(config)))["NodeAffinity"] == 9
    config.write_text(f"{V1}parallelism: 0\npercentageOfNodesToScore: 101\nprofiles: [{{schedulerNam: x}}]\n")
    problems = faults(EngineSpec("1.36", config_file=str(config)))
    assert all(problem.startswith(f"{config}: ") for problem in problems)
    assert len(problems) >= 3


# --- custom plugins --------------------------------------------------------------------


class Picky:
    """Refuses node b."""

    name = "Picky"

    def filter(self, state: Any, pod: Pod, node_info: Any) -> None: ...

    def score(self, state: Any, pod: Pod, node_info: Any) -> int:
        return 1


def makes_picky(args: Any, handle: Handle) -> Picky:
    return Picky()


def needs_args(args: Any, handle: Handle) -> Picky:
    assert args["wanted"]
    return Picky()


def registers(args: Any, handle: Handle) -> Any:
    """What registers predicates makes nothing."""


def declares(args: Any, handle: Handle) -> Picky:
    raise AssertionError("it need not be made")


declares.points = frozenset({Point.FILTER})  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("factory", "points"),
    [(Picky, {Point.FILTER, Point.SCORE}), (makes_picky, {Point.FILTER, Point.SCORE}), (declares, {Point.FILTER})],
)
def test_where_own_plugins_take_part(factory: Any, points: set[Point]) -> None:
    """A class says it by its methods, a function by what it makes or declares."""
    spec = EngineSpec("1.36", plugins=(with_plugin("Picky", factory),))
    assert set(spec.points()["Picky"]) == points
    assert set(spec.points()["NodeName"]) == {Point.FILTER}


def test_plugins_that_are_none() -> None:
    """All of them, each with what to do."""
    options = (PluginOption("registers", registers), PluginOption("needs", needs_args))
    nowhere, needs = faults(EngineSpec("1.36", plugins=options))
    assert nowhere.startswith("plugin registers: what it makes takes part in no extension point")
    assert "for releases 1.4 and 1.16" in nowhere
    assert needs.startswith(f"plugin needs: its factory cannot do without args ({__file__}, line ")
    assert ": TypeError: " in needs
    assert needs.endswith("give it an attribute points")


def test_plugins_that_no_profile_enables(tmp_path: Path) -> None:
    """They are known, and a note says that they do nothing."""
    notes: list[str] = []
    spec = EngineSpec("1.36", plugins=(with_plugin("Picky", makes_picky),))
    engine = spec.engine(notes.append)
    assert notes == ["plugin Picky is known, but no profile enables it; enable it with --config"]
    assert isinstance(engine, FrameworkEngine)
    config = tmp_path / "config.yaml"
    profile = "{schedulerName: default-scheduler, plugins: {multiPoint: {enabled: [{name: Picky, weight: 3}]}}}"
    config.write_text(f"{V1}profiles: [{profile}]\n")
    notes.clear()
    used = msgspec.structs.replace(spec, config_file=str(config))
    assert weights(used)["Picky"] == 3
    assert unused_plugins(used, used.component_config(notes.append)) == notes == []


def test_names_that_are_taken() -> None:
    """A custom plugin cannot replace the scheduler's."""
    from clusterstate.errors import RegistryError

    with pytest.raises(RegistryError, match="a plugin named NodeName already exists"):
        EngineSpec("1.36", plugins=(with_plugin("NodeName", makes_picky),)).engine(lambda _: None)


@pytest.mark.parametrize("release", ["v1.36", "1.36.2", "v1.36.0-gke.1"])
def test_a_version_is_its_release(release: str) -> None:
    """However the release is named, its minor release decides."""
    assert EngineSpec.parse(f"release={release}").release == EngineSpec(release).release == "1.36"
    assert msgspec.structs.replace(EngineSpec(), release=release) == EngineSpec("1.36")
