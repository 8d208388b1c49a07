"""Hints as labels: short, of few kinds, and without names of nodes."""

from __future__ import annotations

from typing import Any

import pytest

import kubescheduler as ks
from clusterstate.objects import Pod
from kubescheduler.engine.spec import EngineSpec, no_notice
from kubescheduler.framework.profiles.plugin_loading import PluginOption
from kubescheduler.hinting.hint_search import LONGEST, OTHERS, short_hints
from kubescheduler.hinting.trials import at_once
from kubescheduler.live.observers import ShortHint

ENGINE = EngineSpec(release="1.36").engine(no_notice)


def asked(cluster: ks.Cluster, *pods: Pod) -> list[ShortHint | None]:
    return short_hints(ENGINE, cluster.objects, pods, at_once)


def of(cluster: ks.Cluster, manifest: dict[str, Any]) -> ShortHint | None:
    (found,) = asked(cluster, cluster.to_place(manifest).pods[0])
    return found


WORLD = ks.Cluster(release="1.36")
LONG = "x" * 60
CASES: dict[str, tuple[ks.Cluster, dict[str, Any], str, str]] = {
    "request": (WORLD.node("a", cpu=2), ks.pod("web", cpu=3), "request", "ask for 2 cpu instead of 3"),
    "toleration": (
        WORLD.node("a", taints=["gpu:NoSchedule"]),
        ks.pod("web"),
        "toleration",
        "tolerate gpu:NoSchedule",
    ),
    "cordon": (WORLD.node("a", unschedulable=True), ks.pod("web"), "cordon", "uncordon a node"),
    "node": (
        WORLD.node("a", pods=1).pod("o", node="a"),
        ks.pod("web"),
        "size",
        "make a node larger",
    ),
    "cut": (
        WORLD.node("a"),
        ks.pod("web", spec={"nodeSelector": {LONG: LONG}}),
        "nodeSelector",
        f"drop {LONG}={LONG} from the nodeSelector"[: LONGEST - 1] + "…",
    ),
    "gate": (
        WORLD.node("a"),
        ks.pod("web", spec={"schedulingGates": [{"name": "wait"}]}),
        "schedulingGate",
        "remove the scheduling gate wait",
    ),
}


@pytest.mark.parametrize(("cluster", "manifest", "kind", "text"), CASES.values(), ids=CASES)
def test_words(cluster: ks.Cluster, manifest: dict[str, Any], kind: str, text: str) -> None:
    """The pod's own change as it is, cut where it is long; of others the sort."""
    assert of(cluster, manifest) == ShortHint(kind, text)


def test_a_pod_that_fits_has_none() -> None:
    """The cluster may have changed since it was tried."""
    assert of(WORLD.node("a"), ks.pod("web")) is None


def test_no_name_of_a_node() -> None:
    """A hundred nodes, each of which would do with a change of its own, make one text."""
    cluster = WORLD
    for at in range(100):
        cluster = cluster.node(f"node-{at}", pods=1).pod(f"o{at}", node=f"node-{at}")
    pods = cluster.to_place([ks.pod("web"), ks.pod("web2")]).pods
    assert set(asked(cluster, *pods)) == {ShortHint("size", OTHERS["size"])}


def test_a_pause_before_each_decision() -> None:
    """What it raises ends the search."""

    class EndedError(Exception):
        pass

    def end() -> None:
        raise EndedError

    cluster = WORLD.node("a", cpu=1)
    pauses: list[int] = []
    (pod,) = cluster.to_place(ks.pod("web", cpu=2)).pods
    short_hints(ENGINE, cluster.objects, [pod], lambda: pauses.append(1))
    assert len(pauses) == ks.hints(cluster, ks.pod("web", cpu=2), top=1).decisions
    with pytest.raises(EndedError):
        short_hints(ENGINE, cluster.objects, [pod], end)


def test_plugins_of_others_are_not_asked() -> None:
    """Code of others decides on real pods alone."""
    cluster = WORLD.node("a", cpu=1)
    (pod,) = cluster.to_place(ks.pod("web", cpu=2)).pods

    class Own:
        name = "Own"

        def filter(self, state: object, pod: Pod, node_info: object) -> None:
            raise AssertionError("asked")

    profile = {"schedulerName": "default-scheduler", "plugins": {"filter": {"enabled": [{"name": "Own"}]}}}
    document = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    component = {**document, "profiles": [profile]}
    spec = EngineSpec("1.36", component=component, plugins=(PluginOption("Own", lambda *_: Own()),))
    assert short_hints(spec.engine(no_notice), cluster.objects, [pod], at_once) == [None]
