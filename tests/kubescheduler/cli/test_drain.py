"""``kubescheduler drain``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.kubescheduler.cli.conftest import Run

CLUSTER = """
apiVersion: v1
kind: List
items:
- {kind: Node, apiVersion: v1, metadata: {name: a, labels: {pool: old}}, status: {allocatable: {cpu: "4", pods: "9"}}}
- {kind: Node, apiVersion: v1, metadata: {name: b}, status: {allocatable: {cpu: "4", pods: "9"}}}
- kind: Pod
  apiVersion: v1
  metadata:
    name: web-x2bcd
    labels: {app: web}
    ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: w, controller: true}]
  spec: {nodeName: a, containers: [{name: c, image: c, resources: {requests: {cpu: "1"}}}]}
"""
CLOSED = """
- kind: PodDisruptionBudget
  apiVersion: policy/v1
  metadata: {name: web}
  spec: {maxUnavailable: 0, selector: {matchLabels: {app: web}}}
"""
BARE = """
- {kind: Pod, apiVersion: v1, metadata: {name: bare}, spec: {nodeName: a, containers: [{name: c, image: c}]}}
"""
FINE = """\
! pods end at once, and those that come back are taken to be ready as soon as they have a node
1 node drained: 1 evicted, 1 runs again

POD                 FROM   TO   WHY
default/web-x2bcd   a      b    as web-7cvpp
"""


@pytest.fixture
def drain(kubescheduler: Run) -> Run:
    """``kubescheduler drain -`` with more arguments."""
    return lambda *args, stdin=b"": kubescheduler("drain", "-", *args, stdin=stdin)


@pytest.mark.parametrize("nodes", [("a",), ("--node", "a"), ("-l", "pool=old")])
def test_table(drain: Run, nodes: tuple[str, ...]) -> None:
    """A line for every pod."""
    outcome = drain(*nodes, stdin=CLUSTER.encode())
    assert (outcome.status, outcome.out, outcome.err) == (0, FINE, "")


def test_a_budget_blocks(drain: Run) -> None:
    """Which is an answer, and no good one; deleting pods goes past it."""
    text = (CLUSTER + CLOSED).encode()
    outcome = drain("a", "-o", "json", stdin=text)
    assert outcome.status == 1
    [blocked] = json.loads(outcome.out)["blocked"]
    assert (blocked["pod"], blocked["budgets"], blocked["opens"]) == (
        "default/web-x2bcd",
        ["default/web"],
        "maxUnavailable: 1",
    )
    assert drain("a", "--disable-eviction", stdin=text).status == 0


APART = """
- kind: Pod
  apiVersion: v1
  metadata: &of_db
    name: db-0
    labels: {app: db}
    ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: db, uid: d, controller: true}]
  spec: &apart
    nodeName: a
    affinity:
      podAntiAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
        - {topologyKey: host, labelSelector: {matchLabels: {app: db}}}
    containers: [{name: c, image: c}]
- {kind: Pod, apiVersion: v1, metadata: {<<: *of_db, name: db-1}, spec: {<<: *apart, nodeName: b}}
- {kind: PodDisruptionBudget, apiVersion: policy/v1, metadata: {name: db}, spec: {maxUnavailable: 1, selector: {matchLabels: {app: db}}}}
"""  # noqa: E501


@pytest.mark.parametrize("output", ["table", "html"])
def test_what_has_changed_since_a_pod_was_tried(drain: Run, output: str) -> None:
    """A node that is other than at the last attempt is shown with its reason, without what that was made of."""
    hosts = CLUSTER.replace("{pool: old}", "{pool: old, host: a}").replace("{name: b}", "{name: b, labels: {host: b}}")
    outcome = drain("a", "-o", output, "--release", "1.36", stdin=(hosts + APART).encode())
    assert (outcome.status, outcome.err) == (1, "")
    assert "match pod anti-affinity rules" in outcome.out


def test_for_ci(drain: Run) -> None:
    """What a budget keeps, and what fits nowhere, fails; the exit status is the same."""
    outcome = drain("a", "-o", "github", stdin=CLUSTER.encode())
    assert (outcome.status, outcome.out.splitlines()[-1]) == (0, "kubescheduler drain: 1 passed")
    outcome = drain("a", "-o", "junit", stdin=(CLUSTER + CLOSED).encode())
    assert outcome.status == 1
    assert '<failure type="blocked" message="Cannot evict pod as it would violate' in outcome.out
    outcome = drain("a", "--order", "-o", "github", stdin=(CLUSTER + CLOSED).encode())
    assert outcome.status == 1
    assert "::error title=drain::order: There is no order" in outcome.out
    assert '<testsuite name="a"' in drain("a", "--order", "-o", "junit", stdin=(CLUSTER + CLOSED).encode()).out


def test_order(drain: Run) -> None:
    """The steps, or what makes every order impossible."""
    outcome = drain("a", "--order", "--batch", "2", stdin=CLUSTER.encode())
    assert outcome.status == 0
    assert "An order in which every budget holds and every pod runs again: 1 step." in outcome.out
    outcome = drain("a", "--order", stdin=(CLUSTER + CLOSED).encode())
    assert outcome.status == 1
    assert "There is no order in which every budget holds" in outcome.out
    assert "would open: maxUnavailable: 1" in outcome.out


def test_an_upgrade(drain: Run, tmp_path: Path) -> None:
    """Nodes that come first and nodes that come back are said; the file has one shape, or is refused."""
    shape = tmp_path / "shape.yaml"
    shape.write_text("{name: more, cpu: 2, memory: 4Gi}")
    how = ("a", "b", "--order", "--surge", "1", "--shape", str(shape), "--kubernetes-upgrade", "1.15:1.16")
    outcome = drain(*how, stdin=CLUSTER.encode())
    assert (outcome.status, outcome.err) == (0, "")
    assert "1 node comes first: more-1; at the end it can go again, with every budget held" in outcome.out
    assert "! which kubelet they run is not said by a, b\n" in outcome.out
    found = json.loads(drain(*how, "-o", "json", stdin=CLUSTER.encode()).out)
    assert found["kubernetesUpgrade"] == {"from": "1.15", "to": "1.16"}
    assert (found["surge"]["nodes"], found["surge"]["canGo"]) == (["more-1"], True)
    outcome = drain(*how, "-o", "github", stdin=CLUSTER.encode())
    assert "::notice title=drain::surge: 1 node comes first: more-1; at the end it can go again" in outcome.out
    assert "::notice title=drain::kubernetes-upgrade: each node comes back after its step with" in outcome.out
    assert outcome.out.splitlines()[-1] == "kubescheduler drain: 4 passed"
    outcome = drain(*how, "-o", "junit", stdin=CLUSTER.encode())
    assert "<system-out>step 1: a\nstep 2: b</system-out>" in outcome.out
    assert 'name="kubernetes-upgrade">' in outcome.out
    shape.write_text("[{name: more, cpu: 2, memory: 4Gi}, {name: less, cpu: 1, memory: 4Gi}]")
    outcome = drain(*how, stdin=CLUSTER.encode())
    outcome.refused("shapes: expected one, found 2: more, less")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("a",), "node a: cannot delete Pods that declare no controller (use --force to override): default/bare"),
        (("c", "--force"), "there is no node c in the cluster"),
        (("--node", "A"), "there is no node A in the cluster; did you mean a?"),
        ((), "say which nodes"),
        (("a", "--batch", "2"), "--batch: this is said of an order: give --order as well"),
        (("a", "--surge", "2", "--kubernetes-upgrade", "1.2:1.3"), "--surge, --kubernetes-upgrade: this is said of"),
        (("a", "--order", "--surge", "2"), "--surge says how many nodes come first, --shape of what kind: give both"),
        (("a", "--order", "--surge", "2", "--shape", "-"), "standard input can be read once"),
        (("a", "--order", "--kubernetes-upgrade", "1.3"), "--kubernetes-upgrade: expected two versions of the kubelet"),
    ],
)
def test_errors(drain: Run, args: tuple[str, ...], said: str) -> None:
    """One message and status 2."""
    drain(*args, stdin=(CLUSTER + BARE).encode()).refused(said)


def test_without_a_cluster(kubescheduler: Run) -> None:
    """A file that is not there is said to be none."""
    kubescheduler("drain", "nowhere.yaml", "a").refused("there is no file nowhere.yaml")
