"""A real API server's nodes and pods for measures of live schedulers: made, cleared and watched."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import time
from collections.abc import Callable, Iterable
from typing import Any

import aiohttp
import attrs

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
