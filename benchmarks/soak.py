"""Memory of ``kubescheduler run`` while pods come and go for an hour: does it reach a plateau?

On an API server without a kubelet, whose nodes and pods are made here: RATE pods a second of random sizes, one in fifty
too large for any node, and as many of the oldest deleted once KEEP are there. Every minute a line of JSON says what is
resident, how many pods were made until then, and how many are bound; the last one how much each pod of the second half
cost.

    nice python -m benchmarks.soak --server https://127.0.0.1:6443 --token TOKEN --minutes 60
"""

from __future__ import annotations

import asyncio
import json
import random
import shlex
import tempfile
import time
from collections import deque
from typing import Any

import aiohttp
import click

from benchmarks.live import BOUND, OURS, PODS, SHORT_LIST, LiveCluster, RunningScheduler, kubeconfig
from benchmarks.workloads import pod

MEBI = 1024
LARGE = 50
"""One in so many pods fits nowhere."""
NOW = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}


class Soak:
    """Pods that come and go."""

    def __init__(self, session: aiohttp.ClientSession, keep: int, seed: int) -> None:
        self._session = session
        self._rng = random.Random(seed)
        self._keep = keep
        self._there: deque[str] = deque()
        self.made = 0

    async def second(self, rate: int) -> None:
        """One second's pods."""
        started = asyncio.get_running_loop().time()
        await asyncio.gather(*(self._make() for _ in range(rate)))
        over = max(0, len(self._there) - self._keep)
        await asyncio.gather(*(self._delete(self._there.popleft()) for _ in range(over)))
        await asyncio.sleep(max(0.0, started + 1.0 - asyncio.get_running_loop().time()))

    async def _make(self) -> None:
        self.made += 1
        name = f"soak-{self.made}"
        size = "640" if self._rng.randrange(LARGE) == 0 else f"{self._rng.randrange(10, 100)}m"
        manifest: dict[str, Any] = {"apiVersion": "v1", **pod(name, "default", cpu=size)}
        del manifest["metadata"]["uid"]
        async with self._session.post(PODS, json=manifest) as answer:
            if answer.status != 201:
                raise click.ClickException(await answer.text())
        self._there.append(name)

    async def _delete(self, name: str) -> None:
        async with self._session.delete(f"{PODS}/{name}", json=NOW) as answer:
            await answer.read()

    async def bound(self) -> int:
        """Pods that are there and have a node."""
        # Not limit=1 and remainingItemCount: a server does not say that of a list with a selector.
        async with self._session.get(PODS, params=BOUND, headers={"Accept": SHORT_LIST}) as answer:
            return len((await answer.json())["items"] or ())


async def soak(
    cluster: LiveCluster, scheduler: RunningScheduler, rate: int, minutes: int, keep: int, seed: int
) -> None:
    """Prints the lines."""
    resident: list[tuple[int, float]] = []
    async with cluster.session() as session:
        soaking = Soak(session, keep, seed)
        end = time.monotonic() + minutes * 60
        while time.monotonic() < end:
            minute = time.monotonic() + 60
            while time.monotonic() < minute:
                await soaking.second(rate)
            resident.append((soaking.made, round(scheduler.resident(), 1)))
            line = {"minute": len(resident), "made": soaking.made, "bound_now": await soaking.bound()}
            click.echo(json.dumps({**line, "rss_mib": resident[-1][1], "cpu_s": scheduler.cpu()}))
    half = resident[len(resident) // 2 :]
    grown = (half[-1][1] - half[0][1]) * MEBI / max(1, half[-1][0] - half[0][0])
    click.echo(json.dumps({"second_half_kib_a_pod": round(grown, 3), "rss_mib": [half[0][1], half[-1][1]]}))


@click.command(help=__doc__)
@click.option("--server", required=True, help="https://HOST:PORT of the API server.")
@click.option("--token", required=True, help="Of an administrator.")
@click.option("--command", default="", help="Of another scheduler.  [default: kubescheduler run]")
@click.option("--release", default="1.36", show_default=True)
@click.option("--nodes", default=200, show_default=True)
@click.option("--rate", default=15, show_default=True, help="Pods a second.")
@click.option("--keep", default=3000, show_default=True, help="Pods that are there at a time.")
@click.option("--minutes", default=60, show_default=True)
@click.option("--seed", default=1, show_default=True)
def main(
    server: str, token: str, command: str, release: str, nodes: int, rate: int, keep: int, minutes: int, seed: int
) -> None:
    """The command."""
    cluster = LiveCluster(server, token)
    cluster.make(nodes)
    cluster.clear()
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(kubeconfig(server, token), file)
        file.flush()
        ours = OURS.format(release=release)
        flags = [f"--kubeconfig={file.name}", "--leader-elect=false", "--secure-port=0"]
        scheduler = RunningScheduler([*shlex.split(command or ours), *flags])
        try:
            asyncio.run(soak(cluster, scheduler, rate, minutes, keep, seed))
        finally:
            scheduler.end()


if __name__ == "__main__":
    main()
