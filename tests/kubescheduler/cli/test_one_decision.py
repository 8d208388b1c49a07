"""Every command, the pytest plugin and Python give a pod the same answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from clusterstate.cache import ClusterCache
from kubescheduler.api.cluster import Cluster
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.simulation.openb_trace import read_inputs_of
from kubescheduler.simulation.pods_to_place import pods_in
from kubescheduler.sweep.run_case import run_case
from kubescheduler.testing.named_inputs import cluster_of
from kubescheduler.testing.placements import Placer
from tests.kubescheduler.cli.conftest import CLUSTER, Run, pod
from tests.support.comparisons import one_case

PODS = {
    "plain": pod("asked"),
    "huge": pod("asked", "64"),
    "gated": pod("asked", spec=", schedulingGates: [{name: quota}]"),
    "foreign": pod("asked", spec=", schedulerName: other"),
}
GATED = "waiting for scheduling gates: [quota]"
FOREIGN_1_16 = "the pod names scheduler other, and this one is default-scheduler"
FOREIGN = 'profile not found for scheduler name "other"'
HUGE = {
    "1.4": "pod (asked) failed to fit in any node\nfit failure on node (n1): Insufficient cpu\n"
    "fit failure on node (n2): Insufficient cpu\n",
    "1.16": "0/2 nodes are available: 2 Insufficient cpu.",
    "1.20": "0/2 nodes are available: 2 Insufficient cpu.",
    "1.36": "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, "
    "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
}
UNTRIED = {
    ("gated", "1.36"): GATED,
    ("foreign", "1.16"): FOREIGN_1_16,
    ("foreign", "1.20"): FOREIGN,
    ("foreign", "1.36"): FOREIGN,
}

Answer = tuple[str | None, str | None]
"""(host, message), the message empty for a pod with a host; None where it is not reported."""


def by_schedule(kubescheduler: Run, release: str) -> Answer:
    out = kubescheduler("schedule", "cluster.yaml", "--pod", "asked.yaml", "--release", release, "-o", "json").out
    [decision] = json.loads(out)["items"]
    return decision["host"], decision["message"]


def by_compare(kubescheduler: Run, release: str) -> Answer:
    versions = ("--old", "release=1.16", "--new", f"release={release}")
    found = kubescheduler("compare", "cluster.yaml", "--pods", "asked.yaml", *versions, "-o", "json")
    if found.status == 2:  # no scheduler tries the pod, and nothing is compared
        return None, found.err.strip().partition("which no scheduler here tries: ")[2]
    outcome = json.loads(found.out)["pods"][0]["outcomes"][1]
    return outcome["host"], outcome["message"]


def by_simulate(kubescheduler: Run, release: str) -> Answer:
    given = ("--workload", "asked.yaml", "--release", release, "-o", "json")
    [record] = json.loads(kubescheduler("simulate", "cluster.yaml", *given).out)["pods"]
    return record["node"] or None, record["message"]


def by_capacity(kubescheduler: Run, release: str) -> Answer:
    given = ("--pod", "asked.yaml", "--limit", "1", "--release", release, "-o", "json")
    [room] = json.loads(kubescheduler("capacity", "cluster.yaml", *given).out)["items"]
    [host] = [node["name"] for node in room["nodes"] if node["count"]] or [None]
    return host, "" if host else room["message"].replace("asked-1", "asked")


def by_evaluate(kubescheduler: Run, release: str) -> Answer:
    nodes = list(yaml.safe_load_all(Path("cluster.yaml").read_text()))
    for node in nodes:
        node["status"]["allocatable"] = node["status"]["capacity"]
    query = {"id": "q", "pod": yaml.safe_load(Path("asked.yaml").read_text())}
    scenario = json.dumps({"id": "s", "cluster": {"nodes": nodes}, "queries": [query]})
    result = json.loads(kubescheduler("evaluate", "--release", release, stdin=scenario.encode()).out)
    return (result["best"] or [None])[0], result["error"]


def by_sweep(_: Run, release: str) -> Answer:
    Path("snapshot.yaml").write_text(f"{CLUSTER}{Path('asked.yaml').read_text()}")
    row = run_case(one_case("snapshot.yaml", f"release={release}", placements=True)).row
    if row["error"]:  # no scheduler tries the pod, and nothing is counted
        return None, str(row["error"]).partition("which no scheduler here tries: ")[2]
    return json.loads(str(row["placements"]))["default/asked"], None


def by_the_pytest_plugin(_: Run, release: str) -> Answer:
    decision = Placer(EngineSpec(release=release), cluster_of("cluster.yaml", [Path()])).schedule("asked.yaml")
    return decision.host, decision.message


def by_python(_: Run, release: str) -> Answer:
    spec = EngineSpec(release=release)
    objects = Cluster.read("cluster.yaml", release=release).objects
    cache = ClusterCache.of(objects, spec.release_view())
    [asked] = pods_in(read_inputs_of(["asked.yaml"]), objects, release=release).pods
    decision = spec.engine(print).scheduler(cache).decide(asked)
    return decision.host, decision.message


WAYS: dict[str, Callable[[Run, str], Answer]] = {
    "schedule": by_schedule,
    "compare": by_compare,
    "simulate": by_simulate,
    "capacity": by_capacity,
    "evaluate": by_evaluate,
    "sweep": by_sweep,
    "pytest": by_the_pytest_plugin,
    "Python": by_python,
}


@pytest.mark.parametrize("release", ["1.4", "1.16", "1.20", "1.36"])
@pytest.mark.parametrize("kind", PODS)
@pytest.mark.parametrize("way", WAYS)
def test_the_same_answer_everywhere(kubescheduler: Run, folder: Path, way: str, kind: str, release: str) -> None:
    """The host, and the release's whole message: of gates, of foreign schedulers, and of PostFilter."""
    (folder / "asked.yaml").write_text(PODS[kind])
    if (way, kind) == ("evaluate", "gated"):
        pytest.skip("the evaluate protocol asks about pods that are in the queue already")
    host = None if kind == "huge" or (kind, release) in UNTRIED else "n1"
    expected = HUGE[release] if kind == "huge" else UNTRIED.get((kind, release), "")
    found, message = WAYS[way](kubescheduler, release)
    assert found == host
    if message is not None:
        assert message == expected
