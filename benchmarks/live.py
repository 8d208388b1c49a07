"""Throughput of live schedulers against a real API server.

    python benchmarks/live.py --server https://127.0.0.1:6443 --token T --nodes 1000 --pods 5000 --beside PROGRAM

A backlog of pods is there before a scheduler starts; what is measured is how it is worked off. With ``--beside`` the
command of another scheduler (which gets the same flags) takes turns, each ``--rounds`` times: machines are noisy, so
look at the ratio. The server must have no kubelets and no other scheduler, and let pods in without a service account.
One JSON line a round: pods/s from the first binding to the last, and to the last event that says so, seconds from the
start to the first binding, CPU milliseconds a pod (user and system, of the scheduler alone), the most memory.

With ``--relist`` all pods are read anew once ``RELIST_AFTER`` of the backlog are bound; one JSON line a round: the
seconds that took, the same reading by a client that does nothing else just before, also amid the backlog, decisions
meanwhile, and the longest pause between two (seconds) from then on and before. Where the server's own answer takes as
long, it is the server that is measured.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import signal
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import attrs
import click

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.workloads import HOSTNAME, Manifest, node, pod

GROUPS = 50
"""Groups of pods that keep off one another's nodes, in the backlog with anti-affinity."""
AT_ONCE = 32
"""Requests at the same time."""
PODS = "/api/v1/namespaces/default/pods"
BACKLOG = {"labelSelector": "app!=running"}
"""The pods of a backlog, bound or not."""


def plain_pod(index: int) -> Manifest:
    """A pod of the backlog: 100m of cpu, 500Mi of memory."""
    return pod(f"pod-{index}", "default")


def apart_pod(index: int) -> Manifest:
    """The same, with required anti-affinity by host name to its group; 1 of ``GROUPS``."""
    labels = {"app": f"group-{index % GROUPS}"}
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": HOSTNAME}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return pod(f"pod-{index}", "default", labels=labels, affinity=affinity)


@attrs.frozen(eq=False)
class LiveCluster:
    """An API server without a kubelet, as its administrator sees it."""

    server: str
    """Its address, as https://HOST:PORT; its certificate is not looked at."""
    token: str
    """Of an administrator."""

    def make(self, nodes: int, running: int = 0) -> None:
        """Nodes, and pods that run on them: pod k on node k mod N."""
        asyncio.run(self._post("/api/v1/nodes", (_anonymous(node(index, ())) for index in range(nodes))))
        asyncio.run(self._post(PODS, (_placed(index, nodes) for index in range(running))))

    def fill(self, make: Callable[[int], Manifest], pods: int) -> None:
        """A backlog of pods that no scheduler has seen."""
        asyncio.run(self._post(PODS, (_anonymous(make(index)) for index in range(pods))))

    def clear(self) -> None:
        """Deletes the backlog, bound or not."""
        asyncio.run(self._clear())

    def watch(
        self,
        pods: int,
        ready: Callable[[], None],
        first: Callable[[], None],
        seconds: float,
        written: list[float] | None = None,
    ) -> list[float]:
        """Sees pods being bound; the moments (time.monotonic) of each, once there are ``pods``, or at the time-out.

        ready: called once the watch is open; starts the scheduler. first: called when the first pod is bound. Pods
        that were bound before are not counted. written: filled with the moments of as many events "Scheduled", which
        are waited for as well.
        """
        return asyncio.run(self._watch(pods, ready, first, seconds, written))

    def read_pods(self) -> float:
        """Reads all pods as the first events of a watch, as 1.36 does; the seconds until all are there."""
        return asyncio.run(self._read_pods())

    # --- requests ------------------------------------------------------------------------------

    def session(self) -> aiohttp.ClientSession:
        """For requests to the server."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return aiohttp.ClientSession(
            self.server,
            connector=aiohttp.TCPConnector(ssl=context, limit=AT_ONCE + 1),
            headers={"Authorization": f"Bearer {self.token}"},
            timeout=aiohttp.ClientTimeout(total=None),
        )

    async def _post(self, path: str, objects: Iterable[Manifest]) -> None:
        async with self.session() as session:
            left = iter(objects)

            async def work() -> None:
                for obj in left:
                    async with session.post(path, json=obj) as answer:
                        if answer.status not in (201, 409):
                            raise RuntimeError(await answer.text())

            await asyncio.gather(*(work() for _ in range(AT_ONCE)))

    async def _clear(self) -> None:
        now = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
        async with self.session() as session:
            async with session.get(PODS, params=BACKLOG, headers={"Accept": SHORT_LIST}) as answer:
                names = iter([item["metadata"]["name"] for item in (await answer.json())["items"] or ()])

            async def work() -> None:
                for name in names:
                    async with session.delete(f"{PODS}/{name}", json=now) as answer:
                        await answer.read()

            await asyncio.gather(*(work() for _ in range(AT_ONCE)))

    async def _read_pods(self) -> float:
        started, last = time.monotonic(), b""
        async with self.session() as session, session.get("/api/v1/pods", params=INITIAL) as stream:
            async for chunk in stream.content.iter_any():
                if INITIAL_EVENTS_END in last + chunk:
                    break
                last = chunk[-len(INITIAL_EVENTS_END) :]
        return time.monotonic() - started

    async def _watch(
        self,
        pods: int,
        ready: Callable[[], None],
        first: Callable[[], None],
        seconds: float,
        written: list[float] | None,
    ) -> list[float]:
        moments: list[float] = []
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds), self.session() as session, asyncio.TaskGroup() as tasks:
                if written is not None:
                    opened = asyncio.Event()
                    tasks.create_task(_see(session, EVENTS, SCHEDULED, pods, opened.set, _begun, written))
                    await opened.wait()
                await _see(session, PODS, BOUND, pods, ready, first, moments)
        return moments


BOUND = {"fieldSelector": "spec.nodeName!="}
EVENTS, SCHEDULED = "/api/v1/namespaces/default/events", {"fieldSelector": "reason=Scheduled"}


async def _see(
    session: aiohttp.ClientSession,
    path: str,
    selector: dict[str, str],
    count: int,
    ready: Callable[[], None],
    first: Callable[[], None],
    moments: list[float],
) -> None:
    """Watches objects that come into view from now on, until there are so many."""
    async with session.get(path, params={"limit": "1"}) as answer:
        version = (await answer.json())["metadata"]["resourceVersion"]
    query, begins = {**selector, "watch": "true", "resourceVersion": version}, ready
    while len(moments) < count:
        async with session.get(path, params=query, headers={"Accept": SHORT}) as stream:
            begins()
            last = await _count(stream.content, count, first, moments)
        query["resourceVersion"], begins = last or query["resourceVersion"], _begun


INITIAL = {
    "watch": "true",
    "allowWatchBookmarks": "true",
    "sendInitialEvents": "true",
    "resourceVersionMatch": "NotOlderThan",
    "fieldSelector": "status.phase!=Succeeded,status.phase!=Failed",
}
INITIAL_EVENTS_END = b"k8s.io/initial-events-end"
SHORT = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
SHORT_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
"""Short answers, so that watching costs little."""


def _begun() -> None:
    """A stream that the server ended goes on from its last version: it ends those that do not keep up."""


async def _count(content: aiohttp.StreamReader, pods: int, first: Callable[[], None], moments: list[float]) -> str:
    """Until so many pods came into view, or the stream ends; its last version, empty where nothing came.

    Changes of pods that were seen are not counted.
    """
    rest, last = b"", b""
    async for chunk in content.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        now = time.monotonic()
        begins, last = not moments, lines[-1] if lines else last
        moments += [now for line in lines if line.startswith(b'{"type":"ADDED"')]
        if begins and moments:
            first()
        if len(moments) >= pods:
            break
    return str(json.loads(last)["object"]["metadata"]["resourceVersion"]) if last else ""


def _anonymous(obj: Manifest) -> Manifest:
    """A manifest for the server to give a uid to."""
    text: dict[str, Any] = json.loads(json.dumps(obj))
    del text["metadata"]["uid"]
    return {"apiVersion": "v1", **text}


def _placed(index: int, nodes: int) -> Manifest:
    """A running pod."""
    made = pod(f"running-{index}", "default", cpu="10m", labels={"app": "running"})
    made["spec"] |= {"nodeName": node(index % nodes, ())["metadata"]["name"]}
    return _anonymous(made)


OURS = f"{sys.executable} -m kubescheduler run --release {{release}} --"
RELISTING = f"{sys.executable} {Path(__file__).with_name('relisting_run.py')} run --release {{release}} --"
RELIST_AFTER = 500
"""Pods that are bound before pods are read anew."""
TICK = os.sysconf("SC_CLK_TCK")


@attrs.frozen
class LiveMeasure:
    """One round of one scheduler."""

    scheduler: str
    """``ours`` or ``beside``."""
    bound: int
    """Pods."""
    pods_per_second: float
    """From the first binding to the last."""
    events_per_second: float
    """From the first binding to the last event "Scheduled"."""
    first_seconds: float
    """From the start of the process to the first binding."""
    cpu_ms_per_pod: float
    """User and system time, from the first binding to the last."""
    start_cpu_seconds: float
    """User and system time up to the first binding."""
    memory_mib: float
    """The most that was resident."""


class RunningScheduler:
    """A scheduler's process."""

    def __init__(self, command: Sequence[str]) -> None:
        self.started = time.monotonic()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(command, stdout=self._log, stderr=subprocess.STDOUT)

    def cpu(self) -> float:
        """Seconds of user and system time so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def memory(self) -> float:
        """The most that was resident, MiB."""
        return self._status("VmHWM")

    def resident(self) -> float:
        """What is resident, MiB."""
        return self._status("VmRSS")

    def _status(self, key: str) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith(key)).split()[1]) / 1024

    def end(self) -> str:
        """Its log."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._log.seek(0)
        return self._log.read().decode(errors="replace")


def measure(cluster: LiveCluster, name: str, command: Sequence[str], pods: int, seconds: float) -> LiveMeasure:
    """Starts a scheduler on a backlog, and ends it once that is worked off."""
    running: list[RunningScheduler] = []
    early: list[float] = []
    written: list[float] = []

    def first() -> None:
        early.append(running[0].cpu())

    moments = cluster.watch(pods, lambda: running.append(RunningScheduler(command)), first, seconds, written)
    scheduler = running[0]
    cpu, memory = scheduler.cpu(), scheduler.memory()
    log = scheduler.end()
    if len(moments) < pods or len(written) < pods:
        done = f"bound {len(moments)} and wrote {len(written)} events of {pods} pods"
        raise click.ClickException(f"{name} {done} in {seconds:g} s; its log:\n{log}")
    return LiveMeasure(
        name,
        len(moments),
        round(len(moments) / (moments[-1] - moments[0]), 1),
        round(len(written) / (written[-1] - moments[0]), 1),
        round(moments[0] - scheduler.started, 2),
        round((cpu - early[0]) * 1000 / len(moments), 2),
        round(early[0], 2),
        round(memory, 1),
    )


def measure_relist(cluster: LiveCluster, command: Sequence[str], seconds: float) -> dict[str, Any]:
    """Starts a scheduler on a backlog, has it read all pods anew in the middle, and ends it."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            if len(cluster.watch(RELIST_AFTER, _nothing, _nothing, seconds)) < RELIST_AFTER:
                raise click.ClickException(f"fewer than {RELIST_AFTER} pods were bound in {seconds:g} s")
            alone = cluster.read_pods()
            process.stdin.write(b"\n")
            process.stdin.flush()
            return {**json.loads(process.stdout.readline()), "server_seconds": round(alone, 2)}
        finally:
            process.terminate()


def _nothing() -> None:
    """The scheduler runs already."""


def kubeconfig(server: str, token: str) -> dict[str, Any]:
    """For both schedulers."""
    cluster = {"name": "c", "cluster": {"server": server, "insecure-skip-tls-verify": True}}
    context, user = {"name": "c", "context": {"cluster": "c", "user": "u"}}, {"name": "u", "user": {"token": token}}
    whole = {"apiVersion": "v1", "kind": "Config", "current-context": "c"}
    return {**whole, "clusters": [cluster], "contexts": [context], "users": [user]}


@click.command(help=__doc__)
@click.option("--server", required=True, help="https://HOST:PORT of the API server.")
@click.option("--token", required=True, help="Of an administrator.")
@click.option("--nodes", default=1000, show_default=True)
@click.option("--pods", default=5000, show_default=True, help="Of the backlog.")
@click.option("--running", default=0, show_default=True, help="Pods that are on nodes already.")
@click.option("--anti-affinity", is_flag=True, help="Pods keep off the nodes of their group's other pods.")
@click.option("--release", default="1.36", show_default=True)
@click.option("--beside", default="", help="The command of a scheduler that takes turns.")
@click.option("--rounds", default=1, show_default=True)
@click.option("--qps", default=5000, show_default=True, help="--kube-api-qps and --kube-api-burst of both.")
@click.option("--seconds", default=300.0, show_default=True, help="After which a round has failed.")
@click.option("--relist", is_flag=True, help="Measure how all pods are read anew in the middle of the backlog.")
@click.option("--made", is_flag=True, help="The nodes and running pods are there from an earlier run.")
def main(
    server: str,
    token: str,
    nodes: int,
    pods: int,
    running: int,
    anti_affinity: bool,
    release: str,
    beside: str,
    rounds: int,
    qps: int,
    seconds: float,
    relist: bool,
    made: bool,
) -> None:
    """The command."""
    if relist and beside:
        raise click.UsageError("--relist: another scheduler's informers cannot be had to read anew; leave --beside out")
    cluster = LiveCluster(server, token)
    if not made:
        cluster.make(nodes, running)
    commands = {"ours": shlex.split(OURS.format(release=release)), **({"beside": [beside]} if beside else {})}
    found: dict[str, list[LiveMeasure]] = {name: [] for name in commands}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(kubeconfig(server, token), file)
        file.flush()
        flags = [f"--kubeconfig={file.name}", "--leader-elect=false", "--secure-port=0"]
        flags += [f"--kube-api-qps={qps}", f"--kube-api-burst={qps}"]
        for name in list(commands) * rounds:
            cluster.clear()
            cluster.fill(apart_pod if anti_affinity else plain_pod, pods)
            if relist:
                lever = shlex.split(RELISTING.format(release=release))
                click.echo(json.dumps(measure_relist(cluster, [*lever, *flags], seconds)))
                continue
            found[name].append(measure(cluster, name, [*commands[name], *flags], pods, seconds))
            click.echo(json.dumps(attrs.asdict(found[name][-1])))
    if beside:
        for name, doing in (("pods_per_second", "binds"), ("events_per_second", "writes the events of")):
            ours, others = (statistics.median(getattr(one, name) for one in found[who]) for who in ("ours", "beside"))
            click.echo(f"ours {doing} {ours / others:.2f} times as many pods a second")


if __name__ == "__main__":
    main()
