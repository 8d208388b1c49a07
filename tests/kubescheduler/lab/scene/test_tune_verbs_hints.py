"""Hints in a scene: each can be applied, does what it says, and can be undone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

import kubescheduler as ks
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_state import SceneFault
from kubescheduler.lab.scene.verbs import VERBS
from tests.support.hint_worlds import HintWorld, hint_worlds
from tests.support.laws import costly
from tests.support.releases_tried import RELEASES_TRIED


def opened(release: str, **spec: Any) -> Scene:
    """Three nodes, each of which refuses the pod that waits for another reason."""
    cluster = (
        ks.Cluster(release=release)
        .node("a", cpu=4, memory="8Gi")
        .node("b", cpu=8, memory="8Gi", labels={"disk": "ssd"}, taints=["dedicated=db:NoSchedule"])
        .node("c", cpu=2, memory="8Gi", labels={"disk": "ssd"})
        .pod("cache", node="c", cpu="1500m", memory="1Gi")
        .pod("web", cpu=2, memory="1Gi", node_selector={"disk": "ssd"})
    )
    return Scene.opened(cluster, sides=[EngineSpec(release, **spec)])


def goal(scene: Scene, pod: str | None = None) -> str | None:
    """Where a pod goes, or would by preemption."""
    decision = scene.decision("a", pod)
    chosen = decision.preemption.chosen if decision.host is None and decision.preemption else ()
    return decision.host or (chosen[0] if chosen else None)


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_every_hint_can_be_applied_and_undone(release: str) -> None:
    """A fresh scene of the changed state agrees where the pod goes."""
    scene = opened(release)
    answer = VERBS["hints"](scene, {"top": 100})
    kinds = {change["kind"] for one in answer["hints"] for change in one["changes"]}
    assert {"request", "toleration", "nodeSelector", "taint", "label", "node", "eviction", "check"} <= kinds
    for one in answer["hints"]:
        VERBS["edit"](scene, {"edit": one["edit"]})
        assert goal(Scene(scene.state)) == one["host"], one["text"]
        VERBS["undo"](scene, {})
        assert scene.decision("a").host is None


VOLUME = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}
STORAGE = {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "example.com/disk"}
STORAGE |= {"volumeBindingMode": "WaitForFirstConsumer"}
DEVICES: tuple[dict[str, Any], ...] = (
    {"kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}},
    {
        "kind": "ResourceSlice",
        "metadata": {"name": "of-a"},
        "spec": {
            "nodeName": "a",
            "driver": "d",
            "pool": {"name": "a", "resourceSliceCount": 1},
            "devices": [{"name": "0"}],
        },
    },
)
REQUIRED = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "kubernetes.io/hostname"}
MISSING: dict[str, tuple[str, tuple[dict[str, Any], ...], dict[str, Any], str]] = {
    "claim": ("1.16", (STORAGE,), VOLUME, "create the PersistentVolumeClaim default/data of"),
    "claim and volume": ("1.36", (), VOLUME, "create the PersistentVolumeClaim default/data, bound"),
    "pod": ("1.36", (), {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [REQUIRED]}}},
        "run a pod with app=db on a"),
    "claim for a device": ("1.36", DEVICES, {"resourceClaims": [{"name": "gpu", "resourceClaimName": "mine"}]},
        "create the ResourceClaim default/mine"),
    "template": ("1.36", DEVICES, {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}]},
        "create the ResourceClaimTemplate default/one"),
}  # fmt: skip
"""Name → (release, what there is, the pod's spec, how the hint that creates what is missing begins)."""


@pytest.mark.parametrize(("release", "there", "spec", "text"), MISSING.values(), ids=MISSING.keys())
def test_what_is_missing_is_created(
    release: str, there: tuple[dict[str, Any], ...], spec: dict[str, Any], text: str
) -> None:
    """The pod then goes where the hint says."""
    cluster = ks.Cluster(release=release).node("a", labels={"kubernetes.io/hostname": "a"})
    cluster = cluster.add(*there) if there else cluster
    scene = Scene.opened(cluster.pod("web", spec=spec), sides=[EngineSpec(release)])
    hint = next(one for one in VERBS["hints"](scene, {})["hints"] if one["text"].startswith(text))
    VERBS["edit"](scene, {"edit": hint["edit"]})
    assert Scene(scene.state).decision("a").host == hint["host"] == "a"


@pytest.mark.parametrize("release", ["1.16", "1.36"])
@given(world=hint_worlds(alternatives=False))
@costly
def test_hints_of_any_world_hold_once_applied(release: str, world: HintWorld) -> None:
    """Whatever refuses the pod."""
    scene = Scene.opened(world.cluster(release), pods=[world.pod], sides=[EngineSpec(release)])
    for one in VERBS["hints"](scene, {"top": 6, "pairs": False})["hints"]:
        VERBS["edit"](scene, {"edit": one["edit"]})
        assert goal(Scene(scene.state)) == one["host"], one["text"]
        VERBS["undo"](scene, {})


def test_a_weight_that_makes_a_node_win_is_written_into_the_configuration() -> None:
    """The wanted node wins by it."""
    cluster = ks.Cluster(release="1.36").node("a", cpu=8).node("b", cpu=4, labels={"disk": "ssd"})
    term = {"weight": 1, "preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}}
    pod = ks.pod("web", cpu=2)
    pod["spec"]["affinity"] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    scene = Scene.opened(cluster, pods=[pod])
    VERBS["edit"](scene, {"edit": {"do": "weights", "side": "a", "weights": {"NodeResourcesFit": 90}}})
    assert scene.decision("a").host == "a"
    found = VERBS["hints"](scene, {"node": "b", "pairs": False})["hints"]
    weights = [one for one in found if one["changes"][0]["kind"] == "weight"]
    assert weights
    VERBS["edit"](scene, {"edit": weights[0]["edit"]})
    assert scene.decision("a").host == "b"


def test_a_check_of_a_policy_goes_also_where_a_predicate_stands_for_several() -> None:
    """The Policy is written as a configuration then."""
    scene = opened("1.20", policy={"kind": "Policy", "apiVersion": "v1"})
    found = [one for one in VERBS["hints"](scene, {"top": 100})["hints"] if one["changes"][0]["kind"] == "check"]
    assert found
    VERBS["edit"](scene, {"edit": found[0]["edit"]})
    assert scene.side("a").kind == "config"
    assert scene.decision("a").host == found[0]["host"]


def test_a_pod_that_runs_is_looked_at_as_if_it_waited() -> None:
    """And waits after a hint was applied."""
    scene = opened("1.36")
    answer = VERBS["hints"](scene, {"pod": "default/cache", "node": "b"})
    assert (answer["host"], answer["reached"]) == ("a", False)
    VERBS["edit"](scene, {"edit": answer["hints"][0]["edit"]})
    assert scene.decision("a", "default/cache").host == "b"
    assert VERBS["hints"](scene, {"pod": "default/cache", "node": "b"})["text"] == (
        "default/cache goes to b as things are."
    )


def test_a_hint_of_before_is_refused() -> None:
    """Once the scene has changed so that it is none any more."""
    scene = opened("1.36")
    first = VERBS["hints"](scene, {})["hints"][0]
    VERBS["edit"](scene, {"edit": first["edit"]})
    with pytest.raises(SceneFault, match="there is none any more"):
        VERBS["edit"](scene, {"edit": first["edit"]})


def test_a_search_that_is_stopped_is_not_gone_on_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cache may be half way through a change."""
    from kubescheduler.hinting.trials import Trials

    class Stopped(BaseException):
        """As a server stops a question that was overtaken."""

    scene = opened("1.36")
    before = VERBS["hints"](scene, {})["hints"]
    scene.extra.clear()
    count = [0]
    whole = Trials.decide

    def decide(self: Trials, proposals: Any, **how: Any) -> Any:
        count[0] += 1
        if count[0] == 5:
            raise Stopped
        return whole(self, proposals, **how)

    monkeypatch.setattr(Trials, "decide", decide)
    with pytest.raises(Stopped):
        VERBS["hints"](scene, {})
    assert "hint searches" not in scene.extra
    assert VERBS["hints"](scene, {})["hints"] == before
