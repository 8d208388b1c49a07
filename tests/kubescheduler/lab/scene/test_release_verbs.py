"""By which releases a side can decide, and at which steps the pod that is asked about goes elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

import kubescheduler as ks
from clusterstate.errors import InputError
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_state import SceneFault
from kubescheduler.lab.scene.verbs import VERBS
from kubescheduler.releases.names import LAST_POLICIES, RELEASE_NAMES, place

PREFERENCE = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]}]}
PREFERS = {
    "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": PREFERENCE}]}
}
POLICY = {"kind": "Policy", "apiVersion": "v1", "priorities": [{"name": "LeastRequestedPriority", "weight": 1}]}


def opened(release: str = "1.22", **how: Any) -> Scene:
    """A pod that goes to the emptier node while its soft taint weighs 1, and to the other since it weighs 3."""
    cluster = (
        ks.Cluster(release=release)
        .node("n1", cpu=4, memory="8Gi", taints=["a=b:PreferNoSchedule"])
        .node("n2", cpu=4, memory="8Gi")
        .pod("full", node="n2", cpu="3800m", memory="7600Mi")
        .pod("web", cpu="100m", memory="100Mi", spec={"affinity": PREFERS})
        .pod("other", cpu="100m", memory="100Mi")
    )
    return Scene.opened(cluster, sides=[EngineSpec(release, **how)])


def step(scene: Scene, before: str, release: str) -> dict[str, Any]:
    return VERBS["releaseStep"](scene, {"before": before, "release": release})


def test_every_release_reads_the_defaults() -> None:
    """All that there are, oldest first."""
    answer = VERBS["releases"](opened(), {})
    assert [(each["release"], each["problem"]) for each in answer["releases"]] == [(name, "") for name in RELEASE_NAMES]


def test_who_does_not_read_a_policy() -> None:
    """A release that cannot says why."""
    answer = VERBS["releases"](opened("1.16", policy=POLICY), {})
    problems = {each["release"]: each["problem"] for each in answer["releases"]}
    assert [name for name, why in problems.items() if not why] == list(RELEASE_NAMES[: place(LAST_POLICIES) + 1])
    assert "policy" in problems["1.36"].lower()


def test_the_step_at_which_a_pod_moves() -> None:
    """Where it goes before and after, and by which change; at another step it stays."""
    scene = opened()
    found = step(scene, "1.22", "1.23")
    assert (found["pod"], found["hosts"]) == ("default/web", ["n1", "n2"])
    assert [change["name"] for change in found["changes"]] == ["taint-toleration-weighs-3"]
    assert found["changes"][0]["text"].startswith("TaintToleration weighs 3")
    assert found["text"].startswith("changed-weight: ")
    assert (step(scene, "1.23", "1.24")["hosts"], step(scene, "1.23", "1.24")["changes"]) == (["n2", "n2"], [])
    assert scene.decision("a").host == "n1"
    assert step(scene, "1.21", "1.24")["changes"] == found["changes"]


def test_answers_are_kept_while_the_release_changes() -> None:
    """They are of the description, the pod and the cluster: with another of these all is asked anew."""
    scene = opened()
    of, found = VERBS["releases"](scene, {})["of"], step(scene, "1.22", "1.23")
    VERBS["edit"](scene, {"edit": {"do": "release", "side": "a", "release": "1.30"}})
    assert VERBS["releases"](scene, {})["of"] == of
    assert step(scene, "1.22", "1.23") is found
    VERBS["edit"](scene, {"edit": {"do": "ask", "pod": "default/other"}})
    assert VERBS["releases"](scene, {})["of"] != of
    assert step(scene, "1.22", "1.23")["pod"] == "default/other"
    VERBS["edit"](scene, {"edit": {"do": "ask", "pod": "default/web"}})
    scene.touched()
    assert step(scene, "1.22", "1.23") is not found


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"before": "1.23", "release": "1.22"}, "1.22 is not later than 1.23"),
        ({"before": "1.22", "release": "1.99"}, "release 1.99 is not known"),
        ({"release": "1.22"}, "before"),
        ({"before": "1.22", "release": "1.23", "side": "c"}, "side"),
    ],
    ids=["order", "release", "parameters", "side"],
)
def test_what_cannot_be_answered(asked: dict[str, str], message: str) -> None:
    """It is said."""
    with pytest.raises(InputError, match=message):
        VERBS["releaseStep"](opened(), asked)


def test_a_release_that_cannot_read() -> None:
    """There is no step to it, and nothing of it is kept."""
    scene = opened(policy=POLICY)
    with pytest.raises(InputError):
        step(scene, "1.22", "1.23")
    assert step(scene, "1.21", "1.22")["hosts"]
    with pytest.raises(SceneFault, match="pod"):
        step(Scene.opened(ks.Cluster(release="1.22").node("a")), "1.21", "1.22")
