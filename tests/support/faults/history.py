"""What became of the pods of a server, and who led when and bound meanwhile."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import aiohttp
import attrs
import msgspec

from kubescheduler.live.transport.io_thread import IoThread
from tests.support.apiserver.front_server import Answered, FrontServer

PODS = "/api/v1/pods"


@attrs.define(eq=False)
class SeenPod:
    """One pod."""

    name: str
    node: str = ""
    bound: int = 0
    """The version at which it was first seen on its node."""
    gone: int = 0
    """The version at which it was deleted; 0: it is there."""


class PodHistory:
    """Watches the pods of a server without a gap; a server that was away is listed anew."""

    def __init__(self, io: IoThread, url: str, token: str) -> None:
        self._io, self._url = io, url
        self._headers = {"Authorization": f"Bearer {token}"}
        self.pods: dict[str, SeenPod] = {}
        """By uid."""
        self.moved: list[str] = []
        """Pods that were seen on a second node."""

    @contextmanager
    def running(self) -> Iterator[PodHistory]:
        """Watches while the block lasts."""
        watching: Future[None] = self._io.submit(self._watch())
        try:
            yield self
        finally:
            watching.cancel()

    def present(self) -> list[SeenPod]:
        """The pods that are there."""
        return [pod for pod in list(self.pods.values()) if not pod.gone]

    def on_node(self) -> Counter[str]:
        """Node → how many pods are there on it."""
        return Counter(pod.node for pod in self.present() if pod.node)

    def most_on_a_node(self) -> int:
        """The most pods that any node had at any version."""
        happened = [(pod.bound, pod.node, 1) for pod in self.pods.values() if pod.node]
        happened += [(pod.gone, pod.node, -1) for pod in self.pods.values() if pod.node and pod.gone]
        there: Counter[str] = Counter()
        most: defaultdict[str, int] = defaultdict(int)
        for _, node, count in sorted(happened):
            there[node] += count
            most[node] = max(most[node], there[node])
        return max(most.values(), default=0)

    # --- on the I/O thread -----------------------------------------------------------------------

    async def _watch(self) -> None:
        connector = aiohttp.TCPConnector(ssl=False)
        timeout = aiohttp.ClientTimeout(total=None)
        async with aiohttp.ClientSession(
            self._url, connector=connector, headers=self._headers, timeout=timeout
        ) as http:
            version = 0
            while True:
                try:
                    version = version or await self._listed(http)
                    async for event in _events(http, version):
                        version = self._noted(event)
                        if not version:
                            break
                except (aiohttp.ClientError, OSError):
                    await asyncio.sleep(0.1)

    async def _listed(self, http: aiohttp.ClientSession) -> int:
        async with http.get(PODS) as answer:
            answer.raise_for_status()
            found = await answer.json()
        version = int(found["metadata"]["resourceVersion"])
        there = set()
        for pod in found["items"]:
            there.add(pod["metadata"]["uid"])
            self._seen(pod)
        for uid, known in self.pods.items():
            if uid not in there and not known.gone:
                known.gone = version
        return version

    def _noted(self, event: Any) -> int:
        """The version of an event; 0: the server has forgotten what came next."""
        if event["type"] == "ERROR":
            return 0
        version = int(event["object"]["metadata"]["resourceVersion"])
        if event["type"] != "BOOKMARK":
            self._seen(event["object"])
        if event["type"] == "DELETED":
            self.pods[event["object"]["metadata"]["uid"]].gone = version
        return version

    def _seen(self, pod: Any) -> None:
        meta, node = pod["metadata"], pod["spec"].get("nodeName", "")
        known = self.pods.setdefault(meta["uid"], SeenPod(meta["name"]))
        if node and not known.node:
            known.node, known.bound = node, int(meta["resourceVersion"])
        elif node != known.node:
            self.moved.append(meta["name"])


async def _events(http: aiohttp.ClientSession, version: int) -> AsyncIterator[Any]:
    """The events of a watch, to its end. Raises ClientError, also when the server refuses it."""
    query = {"watch": "true", "resourceVersion": str(version), "allowWatchBookmarks": "true"}
    async with http.get(PODS, params=query) as answer:
        if answer.status == 410:
            yield {"type": "ERROR"}
            return
        answer.raise_for_status()
        rest = b""
        async for chunk in answer.content.iter_any():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield json.loads(line)


HOLDER = re.compile(r'holderIdentity\\*":\\*"([^"\\]*)')
LOCK = re.compile(r".*/(leases|endpoints|configmaps)(/kube-scheduler)?([?].*)?")


@attrs.frozen
class Leadership:
    """The beginning of one."""

    at: float
    """Seconds of the monotonic clock."""
    identity: str
    """As the lock says it; empty when it was given back."""
    url: str
    """By which the server was asked."""


def leaders(front: FrontServer) -> list[Leadership]:
    """Each change of the leader, in order."""
    found: list[Leadership] = []
    for one in front.done:
        identity = _holder(one)
        if identity is not None and (not found or found[-1].identity != identity):
            found.append(Leadership(one.at, identity, one.asked.url if identity else ""))
    return found


def renewals(front: FrontServer) -> int:
    """How often somebody took the lock, or held on to it."""
    return sum(1 for one in front.done if _holder(one))


def _holder(one: Answered) -> str | None:
    """Who holds the lock after a request; None: the request did not say."""
    asked = one.asked
    if asked.method == "GET" or one.code not in (200, 201) or not LOCK.fullmatch(asked.path):
        return None
    match = HOLDER.search(_text(asked.body))
    return None if match is None else match[1]


def _text(body: Any) -> str:
    return msgspec.json.encode(body).decode()


def bound_by_others(front: FrontServer) -> list[str]:
    """Bindings that were asked for by somebody who did not lead then: (path, who, who led)."""
    changes, at, leader, found = leaders(front), 0, "", []
    for asked in sorted(front.asked, key=lambda one: one.at):
        if not asked.path.endswith("/binding"):
            continue
        while at < len(changes) and changes[at].at <= asked.at:
            leader, at = changes[at].url, at + 1
        if asked.url != leader:
            found.append(f"{asked.path} by {asked.url}, led by {leader or 'nobody'}")
    return found
