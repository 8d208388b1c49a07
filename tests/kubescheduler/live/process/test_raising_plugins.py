"""Plugins that raise, several profiles, and extenders that bind, in a whole process."""

from __future__ import annotations

from typing import Any

import pytest

from kubescheduler.engine.spec import EngineSpec
from kubescheduler.framework.plugin_loading import with_plugin
from tests.support.apiserver import FrontServer
from tests.support.live.live_cluster import NODES, PODS, a_node, a_pod, running

GROUP = "kubescheduler.config.k8s.io"
POINTS = {
    "filter": lambda self, state, pod, node_info: self.fail(),
    "score": lambda self, state, pod, node_info: self.fail() or 1,
    "reserve": lambda self, state, pod, node_name: self.fail(),
    "permit": lambda self, state, pod, node_name: (self.fail(), 0.0),
    "pre_bind": lambda self, state, pod, node_name: self.fail(),
    "post_bind": lambda self, state, pod, node_name: self.fail(),
}
"""Method → what it does."""


def raising(method: str, times: list[int]) -> type:
    """A plugin that raises so many times at one point, and lets every pod pass from then on."""

    def fail(_: Any) -> None:
        if times[0]:
            times[0] -= 1
            raise KeyError("mine")

    def made(self: Any, args: Any, handle: Any) -> None:
        """Takes what every plugin is given."""

    return type("Mine", (), {"name": "Mine", "__init__": made, "fail": fail, method: POINTS[method]})


def document(**profile: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler", **profile}],
    }


@pytest.mark.parametrize("method", list(POINTS))
def test_a_plugin_that_raises(api_server: FrontServer, method: str) -> None:
    """The process goes on: it is logged, and the pod is tried again like after any error."""
    plugin = with_plugin("Mine", raising(method, [1]))
    wanted = document(plugins={"multiPoint": {"enabled": [{"name": "Mine"}]}})
    spec = EngineSpec(release="1.36", plugins=(plugin,), component=wanted)
    api_server.storage.create(NODES, "", a_node("n1"))
    api_server.storage.create(NODES, "", a_node("n2"))
    with running(api_server, "1.36", spec=spec) as cluster:
        cluster.make(PODS, a_pod("p"))
        cluster.until(lambda: cluster.is_bound("p"))
        cluster.make(PODS, a_pod("q"))
        cluster.until(lambda: cluster.is_bound("q") and len(cluster.events("Scheduled")) == 2)
    assert any("KeyError" in line and "mine" in line for line in cluster.faults())
    failed = [event["note"] for event in cluster.events("FailedScheduling")]
    assert bool(failed) is (method != "post_bind")
    assert all("mine" in note for note in failed)


def test_several_profiles(api_server: FrontServer) -> None:
    """Each pod is placed by the profile that it names, and its event says so; pods of others are left alone."""
    whole = document()
    whole["profiles"] = [{"schedulerName": "one"}, {"schedulerName": "two"}]
    api_server.storage.create(NODES, "", a_node("n1"))
    with running(api_server, "1.36", spec=EngineSpec(release="1.36", component=whole)) as cluster:
        cluster.make(PODS, *(a_pod(name, schedulerName=name) for name in ("default-scheduler", "one", "two")))
        cluster.until(lambda: cluster.is_bound("one", "two") and len(cluster.events("Scheduled")) == 2)
        assert not cluster.is_bound("default-scheduler")
    by_pod = {event["regarding"]["name"]: event["reportingController"] for event in cluster.events("Scheduled")}
    assert by_pod == {"one": "one", "two": "two"}


def test_an_extender_that_binds(api_server: FrontServer, address: str) -> None:
    """The extender is asked to bind, and nothing is posted to the server."""
    api_server.storage.create(NODES, "", a_node("n1"))
    entry = {"urlPrefix": f"{address}/good", "filterVerb": "filter", "bindVerb": "bind", "weight": 1}
    spec = EngineSpec(release="1.36", component=document() | {"extenders": [entry]})
    with running(api_server, "1.36", spec=spec) as cluster:
        cluster.make(PODS, a_pod("p"))
        cluster.until(lambda: len(cluster.events("Scheduled")) == 1)
    assert [one for one in api_server.asked if one.path.endswith("/binding")] == []
