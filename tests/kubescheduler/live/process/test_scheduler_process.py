"""The whole process against an API server."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from kubecel.api_names import SECOND
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.live.events import EventBroadcaster, Surface
from kubescheduler.live.klog import LogWriter
from kubescheduler.live.leadership import LEADER_ANNOTATION
from kubescheduler.live.process.scheduler_process import look_up_events
from kubescheduler.live.transport.api_client import ApiClient
from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.releases.lookup import live_release, recorded_processes
from tests.support.apiserver import FrontServer
from tests.support.apiserver.front_server import hanging_watches
from tests.support.apiserver.storage import StatusError
from tests.support.live.live_cluster import (
    LEASES,
    NODES,
    PODS,
    Cluster,
    RunningProcess,
    StoodClock,
    a_node,
    a_pod,
    running,
    started,
)

RELEASES = pytest.mark.parametrize("release", list(recorded_processes()))


@RELEASES
def test_pods_are_bound(api_server: FrontServer, release: str) -> None:
    """Pods that were there before and pods that come are bound, and an event says so."""
    api_server.storage.create(NODES, "", a_node("n1"))
    api_server.storage.create(PODS, "default", a_pod("before"))
    with running(api_server, release) as cluster:
        cluster.until(lambda: cluster.is_bound("before"))
        cluster.make(PODS, a_pod("after"), a_pod("foreign", schedulerName="another"))
        cluster.until(lambda: cluster.is_bound("after") and len(cluster.events("Scheduled")) == 2)
        assert not cluster.is_bound("foreign")
    bindings = [one.body for one in api_server.asked if one.path.endswith("/binding")]
    assert [body["target"] for body in bindings] == [{"kind": "Node", "name": "n1"}] * 2
    assert cluster.faults() == []


@RELEASES
def test_a_pod_that_fits_nowhere(api_server: FrontServer, release: str) -> None:
    """Its condition and its event say why; a node that has room for it brings it there."""
    api_server.storage.create(NODES, "", a_node("n1"))
    with running(api_server, release) as cluster:
        cluster.make(PODS, a_pod("big", cpu="8"))
        cluster.until(lambda: cluster.condition("big").get("reason") == "Unschedulable")
        assert cluster.condition("big")["message"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
        cluster.until(lambda: len(cluster.events("FailedScheduling")) >= 1)
        cluster.make(NODES, a_node("n2", cpu="16"))
        cluster.until(lambda: cluster.is_bound("big"))
    assert cluster.pod("big")["spec"]["nodeName"] == "n2"


@RELEASES
def test_preemption(api_server: FrontServer, release: str) -> None:
    """A pod of high priority nominates itself and evicts a lower one; once that is gone it takes its place."""
    api_server.storage.create(NODES, "", a_node("n1"))
    with running(api_server, release) as cluster:
        cluster.make(PODS, a_pod("low", cpu="3"))
        cluster.until(lambda: cluster.is_bound("low"))
        cluster.make(PODS, a_pod("high", cpu="3", priority=1000))
        cluster.until(lambda: cluster.pod("low")["metadata"].get("deletionTimestamp") is not None)
        cluster.until(lambda: cluster.pod("high")["status"].get("nominatedNodeName") == "n1")
        cluster.until(lambda: len(cluster.events("Preempted")) == 1)
        cluster.server.storage.delete(PODS, "default", "low")
        cluster.until(lambda: cluster.is_bound("high"))


@pytest.mark.parametrize(
    ("release", "lock", "path"),
    [
        pytest.param("1.16", "endpoints", "/api/v1/endpoints", id="1.16 endpoints"),
        pytest.param("1.20", "leases", LEASES, id="1.20 leases"),
        pytest.param("1.36", "leases", LEASES, id="1.36 leases"),
    ],
)
def test_leadership(api_server: FrontServer, release: str, lock: str, path: str) -> None:
    """It leads before it binds, and gives the lock back when it is stopped."""
    api_server.storage.create(NODES, "", a_node("n1"))
    api_server.storage.create(PODS, "default", a_pod("p"))
    with running(api_server, release, leader_elect=True, resource_lock=lock) as cluster:
        cluster.until(lambda: cluster.is_bound("p"))
        assert api_server.storage.get(path, "kube-system", "kube-scheduler")
    record = api_server.storage.get(path, "kube-system", "kube-scheduler")
    holder = record["spec"]["holderIdentity"] if lock == "leases" else record["metadata"]["annotations"].popitem()[1]
    assert holder == "" if lock == "leases" else '"holderIdentity":""' in holder


@RELEASES
def test_a_lost_answer(api_server: FrontServer, release: str) -> None:
    """A binding that the server did but did not confirm is believed when the pod shows it."""
    api_server.storage.create(NODES, "", a_node("n1"))
    lost: list[str] = []

    async def lose(request: Any) -> None:
        if request.path.endswith("/binding") and not lost:
            lost.append(request.path)
            name = request.path.split("/")[-2]
            api_server.storage.change(PODS, "default", name, lambda pod: pod["spec"].update(nodeName="n1"))
            request.transport.abort()

    api_server.faults.append(lose)
    with running(api_server, release) as cluster:
        cluster.make(PODS, a_pod("p"))
        cluster.until(lambda: len(cluster.events("Scheduled")) == 1)
        cluster.make(PODS, a_pod("q"))
        cluster.until(lambda: cluster.is_bound("q"))
    assert cluster.events("FailedScheduling") == []
    assert len([one for one in api_server.asked if one.path.endswith("/p/binding")]) == 1


ENDPOINTS = "/api/v1/endpoints"
PATHS = {"1.16": ENDPOINTS, "1.20": LEASES, "1.36": LEASES}
EVERY = pytest.mark.parametrize("release", list(PATHS))
ENDED = {
    "1.16": "requested to terminate, exiting",
    "1.20": "requested to terminate, exiting",
    "1.36": '"Requested to terminate, exiting"',
}
QUICK = ("--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=500ms")


def holder(api_server: FrontServer, release: str) -> str:
    document = api_server.storage.get(PATHS[release], "kube-system", "kube-scheduler")
    if PATHS[release] == LEASES:
        return str(document["spec"].get("holderIdentity") or "")
    return str(json.loads(document["metadata"]["annotations"][LEADER_ANNOTATION])["holderIdentity"])


def bound(api_server: FrontServer, name: str) -> bool:
    return bool(api_server.storage.get(PODS, "default", name)["spec"].get("nodeName"))


def last_line(process: RunningProcess) -> str:
    return process.text().splitlines()[-1]


@EVERY
def test_a_clean_end(io: IoThread, api_server: FrontServer, tmp_path: Path, release: str) -> None:
    """SIGTERM: the binding under way is finished, the lock is given back, and the status is 0."""
    api_server.storage.create(NODES, "", a_node("n1"))
    api_server.storage.create(PODS, "default", a_pod("p"))
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def hold(request: Any) -> None:
        if request.path.endswith("/binding"):
            asked.set()
            await go_on.wait()

    api_server.faults.append(hold)
    with started(tmp_path, release, f"--master={api_server.url}") as process:
        process.until(asked.is_set)
        assert holder(api_server, release)
        process.send(signal.SIGTERM)
        io.call(go_on.set)
        assert process.status() == 0
        assert bound(api_server, "p")
        assert holder(api_server, release) == ""
        assert ENDED[release] in last_line(process)


def test_events_that_wait_are_written_at_the_end(io: IoThread, api_server: FrontServer, tmp_path: Path) -> None:
    """SIGTERM in the middle of a backlog: each pod that was bound has its event, although the limit is two a second."""
    names = [f"p{number}" for number in range(60)]
    api_server.storage.create(NODES, "", a_node("n1", cpu="64"))
    for name in names:
        api_server.storage.create(PODS, "default", a_pod(name))
    go_on = asyncio.Event()

    async def hold(request: Any) -> None:
        if request.path.endswith("/events"):
            await go_on.wait()

    api_server.faults.append(hold)
    flags = (f"--master={api_server.url}", "--leader-elect=false", "--kube-api-qps=2", "--kube-api-burst=100")
    with started(tmp_path, "1.36", *flags) as process:
        process.until(lambda: all(bound(api_server, name) for name in names), api_server)
        process.send(signal.SIGTERM)
        io.call(go_on.set)
        assert process.status() == 0
    events = [one.body["regarding"]["name"] for one in api_server.asked if one.path.endswith("/events")]
    assert sorted(set(events)) == sorted(names)


def test_the_second_signal(api_server: FrontServer, tmp_path: Path) -> None:
    """It ends the process at once, with status 1, and the lock is kept."""
    api_server.storage.create(NODES, "", a_node("n1"))
    api_server.storage.create(PODS, "default", a_pod("p"))
    asked = asyncio.Event()

    async def hold(request: Any) -> None:
        if request.path.endswith("/binding"):
            asked.set()
            await asyncio.Event().wait()

    api_server.faults.append(hold)
    with started(tmp_path, "1.36", f"--master={api_server.url}") as process:
        process.until(asked.is_set)
        process.send(signal.SIGINT)
        process.send(signal.SIGTERM)
        assert process.status() == 1
        assert holder(api_server, "1.36")


@pytest.mark.parametrize(
    ("release", "status", "text"),
    [
        pytest.param("1.16", 255, "leaderelection lost", id="1.16"),
        pytest.param("1.20", 255, "leaderelection lost", id="1.20"),
        pytest.param("1.36", 1, '"Leaderelection lost"', id="1.36"),
    ],
)
def test_a_lost_lock(api_server: FrontServer, tmp_path: Path, release: str, status: int, text: str) -> None:
    """Who cannot renew it ends with the release's status and line."""
    with started(tmp_path, release, f"--master={api_server.url}", *QUICK) as process:
        process.until(lambda: bool(holder(api_server, release)), api_server)

        async def refuse(request: Any) -> None:
            if "kube-scheduler" in request.path:
                request.transport.abort()

        api_server.faults.append(refuse)
        assert process.status() == status
        assert text in last_line(process)


def test_an_end_before_it_ever_led(api_server: FrontServer, tmp_path: Path) -> None:
    """A candidate that stands by leaves the lock of another alone."""
    lease = {"holderIdentity": "other", "leaseDurationSeconds": 3600, "leaseTransitions": 0}
    api_server.storage.create(LEASES, "kube-system", {"metadata": {"name": "kube-scheduler"}, "spec": lease})
    with started(tmp_path, "1.36", f"--master={api_server.url}") as process:
        process.until(lambda: "Attempting to acquire leader lease" in process.text())
        process.send(signal.SIGTERM)
        assert process.status() == 0
        assert holder(api_server, "1.36") == "other"


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    """It is said, tried again, and ends when it is asked to."""
    with started(tmp_path, "1.36", "--master=http://127.0.0.1:9") as process:
        process.until(lambda: process.text().count("the API server cannot be reached") >= 2)
        process.send(signal.SIGTERM)
        assert process.status() == 0
        assert "Traceback" not in process.text()


def test_a_server_that_does_not_answer(api_server: FrontServer, tmp_path: Path) -> None:
    """A process that waits for the first answer can be ended, too."""
    asked = asyncio.Event()

    async def hang(request: Any) -> None:
        asked.set()
        await asyncio.Event().wait()

    api_server.faults.append(hang)
    with started(tmp_path, "1.36", f"--master={api_server.url}") as process:
        process.until(asked.is_set)
        process.send(signal.SIGTERM)
        assert process.status() == 0
        assert "Traceback" not in process.text()


@pytest.mark.parametrize(
    ("release", "texts"),
    [
        pytest.param("1.16", ("Dump of cached NodeInfo\nNode name: n1\n", "Dump of scheduling queue:\n"), id="1.16"),
        pytest.param(
            "1.36",
            ('"Dump of cached NodeInfo" nodes=<', "\tNode name: n1\n", '"Dump of scheduling queue" summary="'),
            id="1.36",
        ),
    ],
)
def test_a_dump(api_server: FrontServer, tmp_path: Path, release: str, texts: tuple[str, ...]) -> None:
    """SIGUSR2 writes cache and queue to the log, and the process goes on."""
    api_server.storage.create(NODES, "", a_node("n1"))
    api_server.storage.create(PODS, "default", a_pod("p"))
    api_server.storage.create(PODS, "default", a_pod("big", cpu="64"))
    with started(tmp_path, release, f"--master={api_server.url}", "--leader-elect=false", "-v=3") as process:
        process.until(lambda: bound(api_server, "p"), api_server)
        process.until(lambda: "big" in process.text())
        process.send(signal.SIGUSR2)
        process.until(lambda: "Dump of scheduling queue" in process.text() and "name: big" in process.text())
        for text in (*texts, "Scheduled Pods(number: 1):", "name: p, namespace: default, uid: "):
            assert text in process.text()
        assert "mismatch" not in process.text()
        process.send(signal.SIGTERM)
        assert process.status() == 0


@pytest.mark.parametrize(
    ("release", "flags", "text"),
    [
        pytest.param("1.36", ("--nosuch",), "\n\nError: unknown flag: --nosuch\n", id="an unknown flag"),
        pytest.param("1.36", ("x",), 'Error: "kube-scheduler" does not take any arguments, got ["x"]\n',
                     id="an argument of 1.36"),
        pytest.param("1.20", ("x",), "arguments are not supported\n", id="an argument of 1.20"),
        pytest.param("1.36", ("--kubeconfig=no",), '"command failed" err="stat no: no such file', id="no kubeconfig"),
        pytest.param("1.16", ("--kubeconfig=no",), "stat no: no such file or directory\n", id="no kubeconfig in 1.16"),
        pytest.param("1.36", ("--master=http://127.0.0.1:9", "--leader-elect-lease-duration=5s"),
                     'err="couldn\'t create leader elector: leaseDuration must be greater than renewDeadline"',
                     id="a lease that is too short"),
        pytest.param("1.36", ("--master=http://127.0.0.1:9", "--leader-elect-resource-lock=endpoints"),
                     'err="couldn\'t create resource lock: endpoints lock is removed, migrate to leases"',
                     id="a lock that is gone"),
    ],
)  # fmt: skip
def test_what_cannot_be_started(tmp_path: Path, release: str, flags: tuple[str, ...], text: str) -> None:
    """Status 1 with the release's text, and nothing is left running."""
    with started(tmp_path, release, *flags) as process:
        assert process.status() == 1
        assert text in process.text()
        assert "Traceback" not in process.text()


@pytest.mark.parametrize("release", ["1.20", "1.36"])
def test_what_the_leader_before_bound_is_known_first(api_server: FrontServer, release: str) -> None:
    """A pod that nobody told of holds the only place: the new leader, whose watch hangs, does not give it away."""
    held = {"holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 1}
    lease = {"metadata": {"name": "kube-scheduler", "namespace": "kube-system"}, "spec": held}
    api_server.storage.create(LEASES, "kube-system", lease)
    prepared: list[bool] = []

    async def keep(request: Any) -> Any:
        """Nobody gets the lock that was given back until everything is prepared, however long that takes."""
        if prepared or request.method != "PUT" or "/leases/" not in request.path:
            return None
        return web.json_response(StatusError(409, "Conflict", "taken").document, status=409)

    api_server.faults.append(keep)
    with running(api_server, release, leader_elect=True, retry_period_ns=SECOND // 4) as cluster:
        cluster.make(NODES, a_node("n", cpu="1"))
        cluster.make(PODS, a_pod("waits", cpu="800m"))
        cluster.until(lambda: bool(watches(api_server)))
        cluster.until(lambda: "waits" in {stored.obj.metadata.name for stored in cluster.informers.stores["Pod"]})
        api_server.faults.append(hanging_watches(PODS))
        asked = len(watches(api_server))
        api_server.cut()
        cluster.until(lambda: len(watches(api_server)) > asked)
        cluster.make(PODS, a_pod("there", cpu="800m", nodeName="n"))
        prepared.append(True)
        cluster.until(lambda: bool(cluster.condition("waits")))
        assert cluster.condition("waits").get("reason") == "Unschedulable"
        assert not cluster.pod("waits")["spec"].get("nodeName")
        api_server.faults.clear()


def watches(server: FrontServer) -> list[str]:
    return [one.path for one in list(server.asked) if one.path.startswith(f"{PODS}?") and "watch=true" in one.path]


RULES_1_36 = live_release("1.36").events


@pytest.mark.parametrize(
    ("refusals", "said"),
    [
        pytest.param([], [], id="at once"),
        pytest.param([401, 401], ["does not accept our credentials; asking it again: Unauthorized"] * 2, id="later"),
    ],
)
def test_who_is_not_known_asks_again(
    io: IoThread, api_server: FrontServer, api: ApiClient, refusals: list[int], said: list[str]
) -> None:
    """Each refusal is one line; the question is asked until the server accepts the credentials."""
    lines: list[str] = []
    left = list(refusals)

    async def refuse(_: web.Request) -> web.StreamResponse | None:
        return web.json_response({"kind": "Status", "message": "Unauthorized"}, status=left.pop()) if left else None

    api_server.faults.append(refuse)
    log, clock = LogWriter(lines.append), StoodClock()
    surface = Surface("host", lambda _: "")
    events = EventBroadcaster(api, io, RULES_1_36, surface, trouble=lines.append, clock=clock)

    async def look() -> None:
        await look_up_events(api, RULES_1_36, events, log, clock)
        await asyncio.gather(*events.tasks)

    io.wait(look())
    assert [line.partition("the API server ")[2].strip() for line in lines] == said
    assert clock.slept == [1.0, 2.0][: len(refusals)]
    assert [one.path.partition("?")[0] for one in api_server.asked] == ["/apis/events.k8s.io/v1"] * (1 + len(refusals))


def statuses(api_server: FrontServer, name: str) -> list[tuple[str, int]]:
    """(method, resourceVersion that it says) of each status written of a pod; 0: it says none."""
    asked = [one for one in api_server.asked if one.path == f"/api/v1/namespaces/default/pods/{name}/status"]
    return [(one.method, int(one.body.get("metadata", {}).get("resourceVersion", 0))) for one in asked]


def pass_by(cluster: Cluster) -> None:
    """Has everything that was reported until now taken in, and what is active tried."""
    cluster.make(PODS, a_pod("later"))
    cluster.until(lambda: len(cluster.events("Scheduled")) == 1)


@pytest.mark.parametrize(("release", "attempts"), [("1.16", 2), ("1.20", 2), ("1.36", 1)])
def test_an_own_status_has_the_pod_tried_again(api_server: FrontServer, release: str, attempts: int) -> None:
    """In 1.16 and 1.20, since it changes managedFields. The second attempt changes nothing, and is the last."""
    api_server.storage.create(NODES, "", a_node("n1"))
    with running(api_server, release) as cluster:
        cluster.make(PODS, a_pod("big", cpu="8"))
        cluster.until(lambda: len(cluster.events("FailedScheduling")) == attempts)
        pass_by(cluster)
    assert len(cluster.events("FailedScheduling")) == attempts
    assert len(statuses(api_server, "big")) == 1


@pytest.mark.parametrize(("release", "bindings"), [("1.16", 2), ("1.20", 2), ("1.36", 1)])
def test_a_refused_binding(api_server: FrontServer, release: str, bindings: int) -> None:
    """For the same reason the status that says so has the pod tried again; 1.36 waits for its back-off, here long."""
    api_server.storage.create(NODES, "", a_node("n1"))
    refused: list[str] = []

    async def refuse(request: Any) -> Any:
        if request.path.endswith("/binding") and not refused:
            refused.append(request.path)
            return web.json_response(StatusError(409, "Conflict", "taken").document, status=409)
        return None

    api_server.faults.append(refuse)
    slow = {"podInitialBackoffSeconds": 60, "podMaxBackoffSeconds": 60, "kind": "KubeSchedulerConfiguration"}
    spec = EngineSpec(release=release)
    if release == "1.36":
        spec = EngineSpec(release=release, component={"apiVersion": "kubescheduler.config.k8s.io/v1", **slow})
    with running(api_server, release, spec=spec) as cluster:
        cluster.make(PODS, a_pod("p"))
        cluster.until(lambda: len(statuses(api_server, "p")) == 1)
        if bindings > 1:
            cluster.until(lambda: cluster.is_bound("p"))
    assert len([one for one in api_server.asked if one.path.endswith("/binding")]) == bindings


@pytest.mark.parametrize(("release", "status"), [("1.16", "True"), ("1.20", "False"), ("1.36", "False")])
def test_a_status_of_a_pod_that_was_bound_meanwhile(api_server: FrontServer, release: str, status: str) -> None:
    """Another one bound it. 1.16 writes the pod as it was tried and is refused; patches are not."""
    api_server.storage.create(NODES, "", a_node("n1"))
    lost: list[str] = []

    async def lose(request: Any) -> Any:
        if request.path.endswith("/binding") and not lost:
            lost.append(request.path)
            api_server.storage.change(PODS, "default", "p", bind)
            return web.json_response(StatusError(409, "Conflict", "taken").document, status=409)
        return None

    api_server.faults.append(lose)
    with running(api_server, release) as cluster:
        cluster.make(PODS, a_pod("p"))
        cluster.until(lambda: len(statuses(api_server, "p")) == 1 and len(cluster.events("FailedScheduling")) == 1)
        pass_by(cluster)
    assert cluster.condition("p")["status"] == status
    assert len(statuses(api_server, "p")) == 1
    assert len([one for one in api_server.asked if one.path.endswith("/p/binding")]) == 1
    assert not any("in the cache" in line for line in cluster.log)


def test_a_preemptor_of_1_16(api_server: FrontServer) -> None:
    """Its condition goes onto the pod as it was tried, its nominated node onto the pod as it is then.

    The nominated node is written once more where the pod, which these writes have tried again, is tried before anybody
    was told that its victim goes: the victim is chosen again then. Upstream does the same.
    """
    api_server.storage.create(NODES, "", a_node("n1"))
    with running(api_server, "1.16") as cluster:
        cluster.make(PODS, a_pod("low", cpu="3"))
        cluster.until(lambda: cluster.is_bound("low"))
        cluster.make(PODS, a_pod("high", cpu="3", priority=1000))
        cluster.until(lambda: cluster.pod("high")["status"].get("nominatedNodeName") == "n1")
        cluster.until(lambda: cluster.pod("low")["metadata"].get("deletionTimestamp") is not None)
    path, written = "/api/v1/namespaces/default/pods/high", statuses(api_server, "high")
    assert len(written) >= 2
    assert {method for method, _ in written} == {"PUT"}
    said = {("GET", path): "read ", ("PUT", f"{path}/status"): "write "}
    order = "".join(said.get((one.method, one.path), "") for one in api_server.asked)
    assert order.removesuffix("read ") == "write " + "read write " * (len(written) - 1)  # it may end after a read
    assert [version for _, version in written] == sorted({version for _, version in written})


def bind(pod: dict[str, Any]) -> None:
    """As the server does."""
    pod["spec"]["nodeName"] = "n1"
    pod["status"]["conditions"] = [{"type": "PodScheduled", "status": "True"}]
