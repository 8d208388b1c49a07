"""kube-scheduler-simulator's annotations and export files."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clusterstate.cache import ClusterCache
from clusterstate.manifests.decode import decode_cluster
from clusterstate.objects import Pod
from kubescheduler.core.decision import Decision
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.report.simulator_export import MOST_BYTES, PREFIX, annotated, export, fitting, result_annotations
from tests.support.build import make_node, make_pod, resources

RAN = {
    "preFilter": ("NodeResourcesFit",),
    "filter": ("NodeUnschedulable", "TaintToleration", "NodeResourcesFit"),
    "preScore": ("TaintToleration",),
    "bind": ("DefaultBinder",),
}


def decided(pod: Pod, release: str = "1.36", *others: Pod) -> Decision:
    """On a free, a cordoned and a full node."""
    nodes = [make_node("free"), make_node("cordoned", unschedulable=True), make_node("full")]
    full = make_pod("filler", requests=resources(cpu=4000), node="full", priority=0)
    spec = EngineSpec(release=release)
    cache = ClusterCache.of([*nodes, full, *others], spec.release_view())
    return spec.engine(lambda _: None).scheduler(cache).decide(pod, preempt=True)


def read(decision: Decision, name: str) -> Any:
    """The value of one annotation."""
    return json.loads(result_annotations(decision, RAN)[PREFIX + name])


ONE_CPU = resources(cpu=1000)


def test_filters_stop_at_the_first_that_refuses() -> None:
    """A node shows the plugins that passed, and the one that did not."""
    decision = decided(make_pod(requests=ONE_CPU))
    assert read(decision, "filter-result") == {
        "free": dict.fromkeys(RAN["filter"], "passed"),
        "cordoned": {"NodeUnschedulable": "node(s) were unschedulable"},
        "full": {"NodeUnschedulable": "passed", "TaintToleration": "passed", "NodeResourcesFit": "Insufficient cpu"},
    }
    assert result_annotations(decision, RAN)[PREFIX + "selected-node"] == "free"


@pytest.mark.parametrize("release", ["1.4", "1.16", "1.20", "1.36"])
def test_final_scores_are_weighted(release: str) -> None:
    """Final scores are those before weights times weights, and add up to the totals."""
    decision = decided(make_pod(requests=ONE_CPU), release, make_pod("other", node="cordoned"))
    for node, total in decision.total().items():
        final = read(decision, "finalscore-result")[node]
        assert sum(map(int, final.values())) == total
        assert {name: str(decision.score(name)[node] * decision.weights[name]) for name in final} == final


def test_victims_of_preemption() -> None:
    """The nominated node says that pods would go, the others nothing."""
    decision = decided(make_pod(requests=resources(cpu=4000), priority=10), "1.36", blocker("free"))
    assert read(decision, "postfilter-result") == {
        "free": {"DefaultPreemption": "preemption victim"},
        "cordoned": {},
        "full": {},
    }
    assert PREFIX + "selected-node" not in result_annotations(decision, RAN)
    assert read(decision, "finalscore-result") == {}


def blocker(node: str) -> Pod:
    return make_pod("blocker", requests=ONE_CPU, node=node, priority=-5)


def test_a_pod_that_pre_filter_refuses() -> None:
    """The plugin's words are in the status; no node was looked at."""
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "missing"}}]
    manifest = {
        "metadata": {"name": "p", "namespace": "default", "uid": "p"},
        "spec": {"containers": [{"name": "c"}], "volumes": volumes},
    }
    [pod] = decode_cluster({"pods": [manifest]})
    assert isinstance(pod, Pod)
    ran = {"preFilter": ("NodePorts", "VolumeRestrictions", "VolumeZone"), "filter": ("NodeName",)}
    given = result_annotations(decided(pod), ran)
    assert json.loads(given[PREFIX + "prefilter-result-status"]) == {
        "NodePorts": "success",
        "VolumeRestrictions": 'persistentvolumeclaim "missing" not found',
    }
    assert given[PREFIX + "filter-result"] == "{}"


def test_history_keeps_every_attempt_until_it_is_too_long() -> None:
    """The newest attempt is last; the oldest go first."""
    decision = decided(make_pod(requests=ONE_CPU))
    once = result_annotations(decision, RAN)[PREFIX + "result-history"]
    twice = result_annotations(decision, RAN, once)[PREFIX + "result-history"]
    assert [len(json.loads(once)), len(json.loads(twice))] == [1, 2]
    long = json.dumps([{"old": "x" * MOST_BYTES}])
    assert len(json.loads(result_annotations(decision, RAN, long)[PREFIX + "result-history"])) == 1


def weight(annotations: dict[str, str]) -> int:
    """Bytes as an API server counts them."""
    return sum(len(name.encode()) + len(text.encode()) for name, text in annotations.items())


@pytest.mark.parametrize(
    ("length", "dropped"),
    [
        pytest.param(100, None, id="all fit"),
        pytest.param(80_000, ["earlier attempts"], id="one attempt of the history"),
        pytest.param(120_000, ["result-history"], id="no history"),
        pytest.param(180_000, ["result-history", "filter-result"], id="not the longest"),
        pytest.param(300_000, ["result-history", "filter-result", "score-result"], id="nothing long"),
    ],
)
def test_annotations_fit_what_an_api_server_takes(length: int, dropped: list[str] | None) -> None:
    """History goes first, then the longest results; what is missing is said."""
    results = {"filter-result": "f" * length, "score-result": "s" * (length // 2 + 120_000 * (length > 200_000))}
    earlier = [] if length > 100_000 else [{"old": "x" * length}]
    found = fitting({**results, "selected-node": "n1"}, earlier, MOST_BYTES)
    assert weight({PREFIX + name: text for name, text in found.items()}) <= MOST_BYTES
    assert found["selected-node"] == "n1"
    assert json.loads(found.get("dropped-results", "null")) == dropped


def test_the_pods_own_annotations_take_room_too() -> None:
    """All annotations of an object count, also those that are not the simulator's."""
    pod = make_pod(requests=ONE_CPU, annotations={"mine": "x" * (MOST_BYTES - 1000)})
    annotations = annotated(decided(pod), RAN)["metadata"]["annotations"]
    assert weight(annotations) <= MOST_BYTES
    assert "result-history" in annotations[PREFIX + "dropped-results"]
    assert len(annotations["mine"]) == MOST_BYTES - 1000


def test_an_export_is_read_back() -> None:
    """The pod has its node and its results; everything else is as it was."""
    decision = decided(make_pod(requests=ONE_CPU))
    nodes = [make_node("free"), make_node("full")]
    document = export([*nodes, decision.pod], {decision.pod.key: annotated(decision, RAN)}, {"kind": "X"})
    back = decode_cluster({key: items for key, items in document.items() if key != "schedulerConfig"})
    pods = [obj for obj in back if isinstance(obj, Pod)]
    assert [(pod.key, pod.node_name) for pod in pods] == [("default/p", "free")]
    assert pods[0].metadata.annotations[PREFIX + "selected-node"] == "free"
    assert [obj for obj in back if not isinstance(obj, Pod)] == nodes
    assert document["schedulerConfig"] == {"kind": "X"}
