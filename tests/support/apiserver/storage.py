"""What the server keeps: objects by path, each at a version, and what became of them in order."""

from __future__ import annotations

import copy
import functools
import threading
import uuid
from collections.abc import Callable
from typing import Any, TypeVar, cast

import attrs

F = TypeVar("F", bound=Callable[..., Any])

Document = dict[str, Any]
Key = tuple[str, str]
"""(namespace, name)."""


class StatusError(Exception):
    """An answer that says no."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message

    @property
    def document(self) -> Document:
        """The Status."""
        said = {"status": "Failure", "message": self.message, "reason": self.reason, "code": self.code}
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, **said}


@attrs.frozen(eq=False)
class Happening:
    """Something that became of an object."""

    version: int
    type: str
    """ADDED, MODIFIED or DELETED."""
    path: str
    """Of the collection, without a namespace."""
    before: Document | None
    after: Document | None


def locked(method: F) -> F:
    """A method of Storage that one thread is in at a time."""

    @functools.wraps(method)
    def alone(self: Storage, *args: Any, **kwargs: Any) -> Any:
        with self.lock:
            return method(self, *args, **kwargs)

    return cast("F", alone)


class Storage:
    """Objects of all kinds, for any thread. Every write has the next version, and is told to ``listeners``."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.version = 0
        self.oldest = 0
        """Versions before this one are compacted."""
        self.happenings: list[Happening] = []
        self.listeners: list[Callable[[], None]] = []
        self._objects: dict[str, dict[Key, Document]] = {}

    @locked
    def all(self, path: str, namespace: str = "") -> list[Document]:
        """The objects of a collection, by namespace and name."""
        found = sorted(self._objects.get(path, {}).items())
        return [obj for key, obj in found if not namespace or key[0] == namespace]

    @locked
    def get(self, path: str, namespace: str, name: str) -> Document:
        """Raises StatusError 404."""
        try:
            return self._objects[path][namespace, name]
        except KeyError:
            plural = path.rpartition("/")[2]
            raise StatusError(404, "NotFound", f'{plural} "{name}" not found') from None

    @locked
    def create(self, path: str, namespace: str, obj: Document) -> Document:
        """Gives an object its uid and version. Raises StatusError 409 when its name is taken."""
        meta = obj.setdefault("metadata", {})
        if namespace:
            meta["namespace"] = namespace
        if "name" not in meta:
            meta["name"] = f"{meta['generateName']}{self.version:05}"
        name = meta["name"]
        if (namespace, name) in self._objects.get(path, {}):
            plural = path.rpartition("/")[2]
            raise StatusError(409, "AlreadyExists", f'{plural} "{name}" already exists')
        meta.setdefault("uid", str(uuid.uuid4()))
        meta.setdefault("generation", 1)
        meta.setdefault("creationTimestamp", "2026-01-01T00:00:00Z")
        return self._put(path, namespace, name, "ADDED", None, obj)

    @locked
    def replace(self, path: str, namespace: str, name: str, obj: Document) -> Document:
        """Nothing happens where nothing changes. Raises StatusError 404, 409 for another version."""
        before = self.get(path, namespace, name)
        said = (obj.get("metadata") or {}).get("resourceVersion")
        if said and said != before["metadata"]["resourceVersion"]:
            text = "the object has been modified; please apply your changes to the latest version and try again"
            plural = path.rpartition("/")[2]
            raise StatusError(409, "Conflict", f'Operation cannot be fulfilled on {plural} "{name}": {text}')
        version = {"resourceVersion": before["metadata"]["resourceVersion"]}
        same = {**obj, "metadata": {**before["metadata"], **(obj.get("metadata") or {}), **version}}
        return before if same == before else self._put(path, namespace, name, "MODIFIED", before, obj)

    @locked
    def change(self, path: str, namespace: str, name: str, edit: Callable[[Document], None]) -> Document:
        """Replaces an object by what ``edit`` makes of a copy; nothing happens where that changes nothing."""
        before = self.get(path, namespace, name)
        after = copy.deepcopy(before)
        edit(after)
        return before if after == before else self._put(path, namespace, name, "MODIFIED", before, after)

    @locked
    def delete(self, path: str, namespace: str, name: str) -> Document:
        """Raises StatusError 404."""
        before = self.get(path, namespace, name)
        del self._objects[path][namespace, name]
        last = copy.deepcopy(before)
        self._happened("DELETED", path, before, last)
        return last

    @locked
    def compact(self) -> None:
        """Forgets what happened until now: a watch from before is refused with 410."""
        self.oldest = self.version
        self.happenings.clear()

    @locked
    def since(self, version: int, path: str) -> tuple[int, list[Happening]]:
        """(the present version, what became of a collection after another one)."""
        return self.version, [one for one in self.happenings if one.version > version and one.path == path]

    def _put(
        self, path: str, namespace: str, name: str, type_: str, before: Document | None, obj: Document
    ) -> Document:
        after = copy.deepcopy(obj)
        if before is not None:
            for kept in ("namespace", "uid", "creationTimestamp"):
                if kept in before["metadata"]:
                    after["metadata"].setdefault(kept, before["metadata"][kept])
        self._objects.setdefault(path, {})[namespace, name] = after
        self._happened(type_, path, before, after)
        return after

    def _happened(self, type_: str, path: str, before: Document | None, after: Document) -> None:
        self.version += 1
        after["metadata"]["resourceVersion"] = str(self.version)
        self.happenings.append(Happening(self.version, type_, path, before, after))
        for listen in list(self.listeners):
            listen()
