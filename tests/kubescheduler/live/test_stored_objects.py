"""Objects that are recognised by their versions: never one that reading it whole would find changed."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from clusterstate.manifests.decode import Decoder
from kubescheduler.live.stored_objects import (
    Key,
    ListMeta,
    RawObjects,
    Stored,
    StoredObjects,
    unchanged_event,
    unchanged_items,
)


def a_pod(name: Any = "a", version: str = "1", uid: str = "u", **meta: Any) -> dict[str, Any]:
    whole = {"name": name, "namespace": "default", "uid": uid, "resourceVersion": version, **meta}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": whole, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def encoded(document: Any) -> bytes:
    return json.dumps(document).encode()


@pytest.fixture
def objects() -> RawObjects:
    return RawObjects("Pod", Decoder(), pytest.fail)


@pytest.fixture
def store(objects: RawObjects) -> StoredObjects:
    """Pods a and b at version 1."""
    store = StoredObjects("Pod")
    both = (objects.read(msgspec.Raw(encoded(a_pod(name)))) for name in "ab")
    store.replace(read for read in both if read is not None)
    return store


@pytest.mark.parametrize(
    ("event", "recognised"),
    [
        pytest.param({"type": "ADDED", "object": a_pod()}, True, id="as it was"),
        pytest.param({"object": a_pod(labels={"x": "y"}), "type": "ADDED"}, True, id="in another order"),
        pytest.param({"type": "ADDED", "object": a_pod(version="2")}, False, id="changed"),
        pytest.param({"type": "ADDED", "object": a_pod(uid="w")}, False, id="another of the name"),
        pytest.param({"type": "ADDED", "object": a_pod(name="c")}, False, id="new"),
        pytest.param({"type": "ADDED", "object": a_pod(namespace="other")}, False, id="of another namespace"),
        pytest.param({"type": "DELETED", "object": a_pod()}, False, id="gone"),
        pytest.param({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "1"}}}, False, id="bookmark"),
        pytest.param({"type": "ERROR", "object": {"kind": "Status", "code": 410}}, False, id="error"),
        pytest.param({"type": "ADDED", "object": a_pod(name=3)}, False, id="a name that is no text"),
        pytest.param([], False, id="no event"),
    ],
)
def test_events(store: StoredObjects, event: Any, recognised: bool) -> None:
    """Only what was added, and is known at its version, is recognised; the rest is left to be read whole."""
    found = unchanged_event(encoded(event), store.get)
    assert found == ((("default", "a"), store.get("default", "a")) if recognised else None)


def test_an_event_that_is_no_json(store: StoredObjects) -> None:
    """It is left to be read, and to fail there."""
    assert unchanged_event(b'{"type":"ADDED"', store.get) is None


@pytest.mark.parametrize(
    ("items", "unchanged"),
    [
        pytest.param([a_pod("a"), a_pod("b")], [True, True], id="as they were"),
        pytest.param([a_pod("b", "3"), a_pod("a"), a_pod("c")], [False, True, False], id="changed and new"),
        pytest.param([a_pod("a"), {"kind": "Pod", "spec": {}}], [], id="without metadata"),
        pytest.param([], [], id="none"),
        pytest.param(None, [], id="null"),
    ],
)
def test_items(store: StoredObjects, objects: RawObjects, items: Any, unchanged: list[bool]) -> None:
    """A page has the known objects themselves where they are unchanged, and what is read of the others."""
    body = encoded({"metadata": {"resourceVersion": "9", "continue": "m"}, "items": items})
    assert [one is not None for one in unchanged_items(body, store.get)] == unchanged
    if unchanged or not items:
        assert objects.read_page(body, store.get) == (ListMeta("9", "m"), plainly_read(objects, store, items))


def plainly_read(objects: RawObjects, store: StoredObjects, items: Any) -> list[tuple[Key, Any]]:
    """The same page item by item; new objects are compared as such."""
    read = [objects.read(msgspec.Raw(encoded(item)), store.get) for item in items or ()]
    return [(one[0], SameObject(one[1])) for one in read if one is not None]


class SameObject:
    """Equals what is stored of an object of the same name and version; the same one where it is known."""

    def __init__(self, stored: Stored) -> None:
        self.stored = stored

    def __eq__(self, other: object) -> bool:
        mine = self.stored
        return isinstance(other, Stored) and (
            other is mine or (other.obj == mine.obj and other.is_at(mine.version, mine.uid))
        )

    def __hash__(self) -> int:
        return hash(self.stored.uid)
