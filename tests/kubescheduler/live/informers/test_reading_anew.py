"""Objects that are read again: what is known already costs nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from clusterstate.manifests.decode import Decoder
from clusterstate.manifests.documents import Item
from kubescheduler.live.informers.raw_objects import RawObjects
from kubescheduler.live.informers.stored_objects import Key, Stored, StoredObjects


class CountingDecoder(Decoder):
    """Counts what it decodes."""

    decoded = 0

    def decode_item(self, item: Item, *, keep_manifest: bool = False) -> Any:
        type(self).decoded += 1
        return super().decode_item(item, keep_manifest=keep_manifest)


def raw(name: str, version: str, uid: str = "u") -> msgspec.Raw:
    meta = {"name": name, "namespace": "default", "uid": uid, "resourceVersion": version}
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return msgspec.Raw(json.dumps({"kind": "Pod", "apiVersion": "v1", "metadata": meta, "spec": spec}).encode())


@pytest.mark.parametrize(
    ("again", "decoded", "changes"),
    [
        pytest.param([raw("a", "1"), raw("b", "2")], 0, [], id="as they were"),
        pytest.param([raw("a", "1"), raw("b", "3")], 1, ["=b"], id="changed"),
        pytest.param([raw("a", "1", uid="w"), raw("b", "2")], 1, ["=a"], id="another of the same name and version"),
        pytest.param([raw("b", "2"), raw("c", "4")], 1, ["+c", "-a"], id="one came and one went"),
    ],
)
def test_what_is_read_again(again: list[msgspec.Raw], decoded: int, changes: list[str]) -> None:
    """Only objects at another version are decoded, and only they are reported, with what is gone."""
    decoder = type("Counting", (CountingDecoder,), {"decoded": 0})()
    objects, store = RawObjects("Pod", decoder, pytest.fail), StoredObjects("Pod")
    store.replace(read for one in (raw("a", "1"), raw("b", "2")) if (read := objects.read(one)) is not None)
    type(decoder).decoded = 0
    found = [read for one in again if (read := objects.read(one, store.get)) is not None]
    told = []
    for change in store.replace(found):
        sign = "-" if change.new is None else ("+" if change.old is None else "=")
        told.append(sign + (change.old if change.new is None else change.new).metadata.name)
    assert (type(decoder).decoded, told) == (decoded, changes)
    assert len(store) == 2


def test_what_stays_is_never_missing() -> None:
    """Another thread that looks an object up while everything is replaced finds it: it would take it for deleted."""
    objects, store = RawObjects("Pod", Decoder(), pytest.fail), StoredObjects("Pod")
    found = [read for name in "abc" if (read := objects.read(raw(name, "1"))) is not None]
    store.replace(found)

    def replacing() -> Iterator[tuple[Key, Stored]]:
        for read in found[:2]:
            assert [store.get(*key) is not None for key, _ in found] == [True] * 3
            assert len(list(store)) == 3
            yield read

    assert [change.new for change in store.replace(replacing())] == [None]
    assert len(store) == 2


def test_an_object_that_nobody_foresaw() -> None:
    """Whatever the decoder raises, the object is reported and left out, and the informer goes on."""

    class Failing(Decoder):
        def decode_item(self, item: Item, *, keep_manifest: bool = False) -> Any:
            raise OverflowError("too large")

    troubles: list[str] = []
    assert RawObjects("Pod", Failing(), troubles.append).read(raw("a", "1")) is None
    assert troubles == ["an object of kind Pod cannot be read: OverflowError: too large"]
