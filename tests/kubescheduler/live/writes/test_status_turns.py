"""Status writes of one pod: in order, one at a time, and none that nobody needs any more."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any

import attrs
import pytest

from clusterstate.objects import Pod
from kubescheduler.live.writes.status_turns import StatusTurns
from tests.support.live.dry_runs import read
from tests.support.live.served_clusters import a_pod


def a(message: str) -> dict[str, Any]:
    """A condition."""
    return {"conditions": [{"type": "PodScheduled", "message": message}]}


def to(node: str) -> dict[str, Any]:
    """A nomination."""
    return {"nominatedNodeName": node}


@attrs.define(eq=False)
class HeldWrites:
    """Writes that take until they are let go."""

    go: asyncio.Event = attrs.field(factory=asyncio.Event)
    begun: list[Mapping[str, Any]] = attrs.field(factory=list)
    fails: int = 0
    """How many of the first ones fail."""

    async def write(self, _: Pod, status: Mapping[str, Any]) -> None:
        self.begun.append(status)
        await self.go.wait()
        if len(self.begun) <= self.fails:
            raise ConnectionError("no")


def the_pod(name: str = "p") -> Pod:
    document = a_pod(name)
    document["metadata"]["uid"] = name
    found: Pod = read(document, "Pod")
    return found


def written(asked: list[Mapping[str, Any]], fails: int = 0) -> tuple[list[Any], list[Any]]:
    """(what is written of these, what each comes to), when all are asked for while the first is under way."""

    async def run() -> tuple[list[Any], list[Any]]:
        writes = HeldWrites(fails=fails)
        turns = StatusTurns(writes.write)
        works: list[Coroutine[Any, Any, None]] = [turns.take(the_pod(), status) for status in asked]
        tasks = [asyncio.ensure_future(work) for work in works]
        await asyncio.sleep(0)
        writes.go.set()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert len(turns) == 0
        return writes.begun, outcomes

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param([a("x")], [a("x")], id="one"),
        pytest.param([a("x"), a("y")], [a("x"), a("y")], id="another"),
        pytest.param([a("x"), a("x"), a("x")], [a("x")], id="the same again"),
        pytest.param([a("x"), a("y"), a("z")], [a("x"), a("z")], id="one that waits is replaced"),
        pytest.param([a("x"), a("y"), a("x")], [a("x")], id="and says then what is written"),
        pytest.param(
            [a("x"), to("n"), to("m"), a("y")], [a("x"), to("m"), a("y")], id="other members keep their place"
        ),
        pytest.param([a("x"), to("n"), a("x")], [a("x"), to("n"), a("x")], id="not the last that was written"),
        pytest.param([a("x"), to("n"), {**a("x"), **to("")}], [a("x"), to("n"), {**a("x"), **to("")}], id="both"),
    ],
)
def test_what_is_written(asked: list[Mapping[str, Any]], expected: list[Mapping[str, Any]]) -> None:
    """Everything that was asked for is written, or what came later in its stead."""
    assert written(asked) == (expected, [None] * len(asked))


def test_a_write_that_fails_is_not_written() -> None:
    """The same status is written by who comes next."""
    begun, outcomes = written([a("x"), a("x")], fails=1)
    assert begun == [a("x"), a("x")]
    assert [type(outcome) for outcome in outcomes] == [ConnectionError, type(None)]


def test_who_replaced_a_write_hears_of_its_failure() -> None:
    """As who asked for it first."""
    _, outcomes = written([a("x"), a("y"), a("z")], fails=2)
    assert [type(outcome) for outcome in outcomes] == [ConnectionError] * 3


def test_pods_do_not_wait_for_one_another() -> None:
    """Writes of different pods are under way at the same time."""

    async def run() -> int:
        writes = HeldWrites()
        turns = StatusTurns(writes.write)
        tasks = [asyncio.ensure_future(turns.take(the_pod(name), a("x"))) for name in "abc"]
        await asyncio.sleep(0)
        under_way = len(writes.begun)
        writes.go.set()
        await asyncio.gather(*tasks)
        return under_way

    assert asyncio.run(run()) == 3


def test_a_write_that_is_given_up_leaves_nothing() -> None:
    """Neither while it waits nor while it is under way."""

    async def run() -> tuple[int, list[Any]]:
        writes = HeldWrites()
        turns = StatusTurns(writes.write)
        tasks = [asyncio.ensure_future(turns.take(the_pod(), status)) for status in (a("x"), to("n"), a("y"))]
        await asyncio.sleep(0)
        for task in tasks[:2]:
            task.cancel()
        writes.go.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        return len(turns), writes.begun

    assert asyncio.run(run()) == (0, [a("x"), a("y")])
