"""PodFitsHostPorts and its alias."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.objects import Container, ContainerPort, Pod
from clusterstate.snapshot import PodChange, Snapshot
from predicates.ports import PORTS_TAKEN, conflicts, host_ports, pod_fits_host_ports
from tests.support.build import Cluster, make_node, make_pod

ANY, LOOPBACK, OTHER = "0.0.0.0", "127.0.0.1", "192.0.2.1"


def port(text: str) -> ContainerPort:
    """``ip:port/protocol``, ip and protocol may be empty."""
    ip, rest = text.split(":")
    number, protocol = rest.split("/")
    return ContainerPort(int(number), ip, protocol)


def pod_with(*texts: str, name: str = "p", node: str = "") -> Pod:
    return make_pod(name, node=node, containers=(Container(ports=tuple(map(port, texts))),))


def taken(cluster: Cluster, pod: Pod, snapshot: Snapshot | None = None) -> list[bool]:
    verdict = pod_fits_host_ports(cluster.info(pod), snapshot or cluster.snapshot)
    assert set(verdict) <= {PORTS_TAKEN}
    return [bool(failing) for mask in verdict.values() for failing in mask]


@pytest.mark.parametrize(
    ("wanted", "used", "conflict"),
    [
        pytest.param(f"{LOOPBACK}:8080/TCP", f"{ANY}:8080/TCP", True, id="used-on-all-ips"),
        pytest.param(f"{ANY}:8080/TCP", f"{LOOPBACK}:8080/TCP", True, id="wanted-on-all-ips"),
        pytest.param(f"{LOOPBACK}:8080/TCP", f"{OTHER}:8080/TCP", False, id="different-ips"),
        pytest.param(f"{LOOPBACK}:8080/TCP", f"{LOOPBACK}:8080/TCP", True, id="equal-ips"),
        pytest.param(f"{ANY}:8080/TCP", f"{ANY}:8080/UDP", False, id="different-protocols"),
        pytest.param(f"{ANY}:8080/TCP", f"{ANY}:8081/TCP", False, id="different-ports"),
        pytest.param(":8080/", f"{LOOPBACK}:8080/TCP", True, id="defaults-wanted"),
        pytest.param(f"{LOOPBACK}:8080/TCP", ":8080/", True, id="defaults-used"),
        pytest.param(":8080/UDP", ":8080/", False, id="default-protocol-is-tcp"),
        pytest.param("127.0.0.01:80/TCP", "127.0.0.1:80/TCP", False, id="ips-are-texts"),
    ],
)
def test_when_two_ports_conflict(wanted: str, used: str, conflict: bool) -> None:
    """Same protocol and port, and an IP in common."""
    cluster = Cluster([make_node("a"), make_node("b")], [pod_with(used, name="old", node="a")])
    assert taken(cluster, pod_with(wanted)) == [conflict, False]


def test_init_containers_and_zero_ports_do_not_count() -> None:
    """Neither as wanted nor as used."""
    init = (Container(ports=(port(":80/"),)),)
    cluster = Cluster([make_node("a")], [make_pod("old", node="a", init_containers=init)])
    assert taken(cluster, pod_with(":80/")) == [False]
    for spec in (make_pod(init_containers=init).spec, pod_with(":0/").spec):
        assert host_ports(spec) == frozenset()


# --- what if -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("signs", "conflict"),
    [
        pytest.param([], True, id="both-there"),
        pytest.param([-1], False, id="one-gone-frees-the-port"),
        pytest.param([-1, -1], False, id="both-gone"),
        pytest.param([-1, -1, 1], True, id="one-back"),
        pytest.param([-1, -1, 1, -1], False, id="and-gone-again"),
    ],
)
def test_used_ports_are_a_set(signs: list[int], conflict: bool) -> None:
    """Of two pods with the same port, one that is hypothetically removed frees it, and one put back takes it."""
    cluster = Cluster([make_node("a")], [pod_with(":80/", name=n, node="a") for n in ("one", "two")])
    info = cluster.info(pod_with(":80/"))
    snapshot = cluster.snapshot.what_if([PodChange(0, info, sign) for sign in signs])
    assert taken(cluster, pod_with(f"{LOOPBACK}:80/"), snapshot) == [conflict]


def test_a_pod_thought_away_leaves_other_ports_taken() -> None:
    """Only its own ports are freed, and only on its own node."""
    pods = [pod_with(f"{LOOPBACK}:80/", name="x", node="a"), pod_with(f"{OTHER}:80/", name="y", node="a")]
    cluster = Cluster([make_node("a"), make_node("b")], [*pods, pod_with(f"{LOOPBACK}:80/", name="z", node="b")])
    gone = cluster.snapshot.what_if([PodChange(0, cluster.info(pods[0]), -1)])
    assert taken(cluster, pod_with(":80/"), gone) == [True, True]
    assert taken(cluster, pod_with(f"{LOOPBACK}:80/"), gone) == [False, True]


TEXTS = st.builds(
    "{}:{}/{}".format, st.sampled_from(["", ANY, LOOPBACK, OTHER]), st.integers(1, 2), st.sampled_from(["", "UDP"])
)


@given(st.lists(TEXTS, min_size=1, max_size=3), st.lists(st.lists(TEXTS, max_size=3), max_size=5))
def test_the_tally_agrees_with_comparing_all_pairs(wanted: list[str], used: list[list[str]]) -> None:
    """A row fails exactly if some pair of a wanted and a used port conflicts."""
    names = [f"n{i}" for i in range(len(used))]
    pods = [pod_with(*texts, name=n, node=n) for n, texts in zip(names, used, strict=True)]
    cluster = Cluster([make_node(n) for n in names], pods)
    mine = host_ports(pod_with(*wanted).spec)
    expected = [any(conflicts(a, b) for a in mine for b in host_ports(pod.spec)) for pod in pods]
    assert taken(cluster, pod_with(*wanted)) == expected
