"""The server in this process: routes and streams."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
import re
from collections.abc import Callable
from typing import Any

from aiohttp import web

from kubescheduler.live.transport.io_thread import IoThread
from tests.support.apiserver.front_server import FrontServer
from tests.support.apiserver.storage import Document, StatusError, Storage

MERGE_KEYS = {
    "conditions": "type",
    "containers": "name",
    "reservedFor": "uid",
    "schedulingGates": "name",
    "taints": "key",
}
"""List → the member by which its entries are told apart."""


def merged(target: Document, patch: Document) -> Document:
    """A document with a patch applied."""
    out = dict(target)
    for key, value in patch.items():
        if key.startswith("$"):
            continue
        if value is None:
            out.pop(key, None)
        elif isinstance(value, dict):
            out[key] = merged(out.get(key) or {}, value)
        elif isinstance(value, list) and key in MERGE_KEYS:
            out[key] = _list(out.get(key) or [], value, MERGE_KEYS[key])
        else:
            out[key] = value
    return out


def _list(target: list[Document], patch: list[Document], key: str) -> list[Document]:
    entries = {entry[key]: entry for entry in target}
    for entry in patch:
        if entry.get("$patch") == "delete":
            entries.pop(entry[key], None)
        else:
            entries[entry[key]] = merged(entries.get(entry[key], {}), entry)
    return list(entries.values())


TIME = "2026-01-01T00:00:00Z"
"""Real servers write the second of the change; all of a test is within one."""


def take_over(before: Document, after: Document, manager: str, part: str) -> None:
    """Notes in ``after`` that somebody changed the fields in which it differs from ``before``.

    manager: the first word of the user agent. part: the subresource, empty for the object. Upstream: apimachinery's
    managedFieldsUpdater, in API servers since 1.18.
    """
    entries = copy.deepcopy(before["metadata"].get("managedFields", []))
    changed = _changed(_bare(before), _bare(after))
    if changed:
        same = (entry for entry in entries if (entry["manager"], entry.get("subresource", "")) == (manager, part))
        entry = next(same, None)
        if entry is None:
            entry = {"manager": manager, "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {}}
            entries.append({**entry, **({"subresource": part} if part else {})})
            entry = entries[-1]
        entry["fieldsV1"] = _union(entry["fieldsV1"], changed)
        entry["time"] = TIME
    if entries:
        after["metadata"]["managedFields"] = entries


def _bare(obj: Document) -> Document:
    metadata = {key: value for key, value in obj["metadata"].items() if key not in ("managedFields", "resourceVersion")}
    return {**obj, "metadata": metadata}


def _changed(before: Any, after: Any) -> Document:
    """The fields in which two values differ, as FieldsV1; lists are one field."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return {}
    return {
        f"f:{key}": _changed(before.get(key), after.get(key))
        for key in sorted({*before, *after})
        if before.get(key) != after.get(key)
    }


def _union(first: Document, second: Document) -> Document:
    return {key: _union(first.get(key, {}), second.get(key, {})) for key in sorted({*first, *second})}


def field(obj: Document, path: str) -> str:
    """The value of a field, as text."""
    value: Any = obj
    for part in path.split("."):
        value = (value or {}).get(part)
    if value is None and path == "status.phase":
        return "Pending"
    return "" if value is None else str(value)


def selects(selector: str) -> Callable[[Document | None], bool]:
    """Whether an object is selected; one that is not there is not."""
    terms = []
    for term in filter(None, selector.split(",")):
        negated = "!=" in term
        path, _, value = term.partition("!=" if negated else "=")
        terms.append((path, value.lstrip("="), negated))

    def selected(obj: Document | None) -> bool:
        return obj is not None and all((field(obj, path) == value) is not negated for path, value, negated in terms)

    return selected


PATH = re.compile(
    r"(?P<group>/api/v1|/apis/[^/]+/[^/]+)(?:/namespaces/(?P<namespace>[^/]+)(?=/))?/(?P<plural>[^/]+)"
    r"(?:/(?P<name>[^/]+))?(?:/(?P<part>[^/]+))?"
)
KINDS = {
    "pods": "Pod",
    "nodes": "Node",
    "namespaces": "Namespace",
    "leases": "Lease",
    "events": "Event",
    "endpoints": "Endpoints",
    "configmaps": "ConfigMap",
    "poddisruptionbudgets": "PodDisruptionBudget",
}
"""Plural → kind, where something depends on it."""


class ApiServer(FrontServer):
    """Serves a Storage."""

    storage: Storage

    def __init__(self, io: IoThread, *, groups: tuple[str, ...] | None = None) -> None:
        """groups: with their versions; None: all."""
        super().__init__(io)
        self.storage = Storage()
        self.tokens: dict[str, Document] = {}
        """Token → the user that a TokenReview finds."""
        self.allowed: set[tuple[str, str]] = set()
        """(user, path) that a SubjectAccessReview allows."""
        self.groups = groups
        """The API groups that are there; None: all."""
        self._changed: asyncio.Event | None = None

    def __enter__(self) -> ApiServer:
        self.start()
        return self

    async def _start(self, port: int) -> None:
        self._changed = asyncio.Event()
        if self._notify not in self.storage.listeners:
            self.storage.listeners.append(self._notify)
        await super()._start(port)

    def _notify(self) -> None:
        loop = self._io.loop
        loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        assert self._changed is not None
        self._changed.set()
        self._changed = asyncio.Event()

    # --- requests ------------------------------------------------------------------------------

    async def _served(self, request: web.Request, body: Any) -> web.StreamResponse:
        if request.path.count("/") < 4 and request.path.startswith("/apis/"):
            if not self._has(request.path):
                raise StatusError(404, "NotFound", "the server could not find the requested resource")
            return web.json_response({"kind": "APIResourceList", "groupVersion": request.path[6:], "resources": []})
        match = PATH.fullmatch(request.path)
        if match is None or not self._has(match["group"]):
            raise StatusError(404, "NotFound", "the server could not find the requested resource")
        if match["plural"] in ("tokenreviews", "subjectaccessreviews"):
            return web.json_response(self._reviewed(match["plural"], body), status=201)
        path, namespace = f"{match['group']}/{match['plural']}", match["namespace"] or ""
        if not match["name"]:
            return await self._collection(request, path, namespace, body)
        return self._object(request, path, namespace, match["name"], match["part"] or "", body)

    def _has(self, group: str) -> bool:
        return self.groups is None or group.removeprefix("/apis/").removeprefix("/api/") in self.groups

    def _reviewed(self, plural: str, body: Document) -> Document:
        if plural == "tokenreviews":
            user = self.tokens.get(body["spec"]["token"])
            status: Document = {"authenticated": user is not None, "user": user or {}}
            return {**body, "status": status if user else {**status, "error": "invalid bearer token"}}
        spec = body["spec"]
        path = spec.get("nonResourceAttributes", {}).get("path", "")
        return {**body, "status": {"allowed": (spec.get("user", ""), path) in self.allowed}}

    async def _collection(self, request: web.Request, path: str, namespace: str, body: Any) -> web.StreamResponse:
        if request.method == "POST":
            return web.json_response(self.storage.create(path, namespace, body), status=201)
        if request.query.get("watch") == "true":
            return await self._watch(request, path, namespace)
        kind = KINDS.get(path.rpartition("/")[2], "Object")
        selected = selects(request.query.get("fieldSelector", ""))
        items = [obj for obj in self.storage.all(path, namespace) if selected(obj)]
        metadata = {"resourceVersion": str(self.storage.version)}
        if request.query.get("resourceVersion") != "0" and "limit" in request.query:
            start, limit = int(request.query.get("continue", "0")), int(request.query["limit"])
            if len(items) > start + limit:
                metadata["continue"] = str(start + limit)
            items = items[start : start + limit]
        return web.json_response({"kind": f"{kind}List", "apiVersion": "v1", "metadata": metadata, "items": items})

    def _object(
        self, request: web.Request, path: str, namespace: str, name: str, part: str, body: Any
    ) -> web.StreamResponse:
        storage = self.storage
        manager = request.headers.get("User-Agent", "").partition("/")[0]
        match request.method, part:
            case "GET", "":
                return web.json_response(storage.get(path, namespace, name))
            case "POST", "binding":
                self._bind(path, namespace, name, body)
                return web.json_response({"kind": "Status", "apiVersion": "v1", "status": "Success"}, status=201)
            case "PUT", ("" | "status"):
                before = storage.get(path, namespace, name)
                if not part and path.endswith("/resourceclaims"):
                    body = {**body, "status": before.get("status", {})}
                after = body if not part else {**before, "metadata": body["metadata"], "status": body.get("status", {})}
                take_over(before, after, manager, part)
                return web.json_response(storage.replace(path, namespace, name, after))
            case "PATCH", ("" | "status"):

                def edit(obj: Document) -> None:
                    before = copy.deepcopy(obj)
                    obj.update(merged(obj, body))
                    take_over(before, obj, manager, part)

                return web.json_response(storage.change(path, namespace, name, edit))
            case "DELETE", "":
                return web.json_response(self._deleted(path, namespace, name, body))
        raise StatusError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")

    def _bind(self, path: str, namespace: str, name: str, body: Document) -> None:
        """As the server does: refuses pods that are bound or gated, and says in the status that it is scheduled."""
        pod = self.storage.get(path, namespace, name)
        taken = pod["spec"].get("nodeName")
        text = f'Operation cannot be fulfilled on pods/binding "{name}": '
        if taken:
            raise StatusError(409, "Conflict", f'{text}pod {name} is already assigned to node "{taken}"')
        if pod["spec"].get("schedulingGates"):
            raise StatusError(409, "Conflict", f"{text}pod {name} has non-empty .spec.schedulingGates")
        said = (body.get("metadata") or {}).get("uid")
        if said and said != pod["metadata"]["uid"]:
            raise StatusError(409, "Conflict", f"{text}the UID in the precondition does not match the UID in record")

        def edit(obj: Document) -> None:
            obj["spec"]["nodeName"] = body["target"]["name"]
            status = obj.setdefault("status", {})
            status.pop("nominatedNodeName", None)
            done = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
            others = [one for one in status.get("conditions", []) if one["type"] != "PodScheduled"]
            status["conditions"] = [*others, done]

        self.storage.change(path, namespace, name, edit)

    def _deleted(self, path: str, namespace: str, name: str, body: Document | None) -> Document:
        """A pod on a node is asked to leave; anything else, and a pod that is to go at once, is gone."""
        obj = self.storage.get(path, namespace, name)
        at_once = (body or {}).get("gracePeriodSeconds") == 0
        if not path.endswith("/pods") or at_once or not obj["spec"].get("nodeName"):
            return self.storage.delete(path, namespace, name)

        def edit(pod: Document) -> None:
            pod["metadata"].setdefault("deletionTimestamp", "2026-01-01T00:00:30Z")

        return self.storage.change(path, namespace, name, edit)

    # --- streams -------------------------------------------------------------------------------

    async def _watch(self, request: web.Request, path: str, namespace: str) -> web.StreamResponse:
        said = request.query.get("resourceVersion", "")
        version = int(said) if said else self.storage.version
        initial = request.query.get("sendInitialEvents") == "true"
        if not initial and version < self.storage.oldest:
            raise StatusError(410, "Expired", f"too old resource version: {version} ({self.storage.oldest})")
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        return await self._streamed(
            request, response, self._stream(response, request, path, namespace, version, initial)
        )

    async def _stream(
        self, response: web.StreamResponse, request: web.Request, path: str, namespace: str, version: int, initial: bool
    ) -> None:
        selected = selects(request.query.get("fieldSelector", ""))

        def wanted(obj: Document | None) -> bool:
            return selected(obj) and (not namespace or (obj or {})["metadata"].get("namespace") == namespace)

        if initial:
            version = self.storage.version
            for obj in self.storage.all(path, namespace):
                if wanted(obj):
                    await _send(response, "ADDED", obj)
            annotations = {"k8s.io/initial-events-end": "true"}
            await _send(response, "BOOKMARK", _bookmark(version, annotations=annotations))
        seconds = float(request.query.get("timeoutSeconds", "300"))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while True:
                    changed = self._changed
                    assert changed is not None
                    version = await self._send_since(response, path, version, wanted)
                    await changed.wait()

    async def _send_since(
        self, response: web.StreamResponse, path: str, version: int, wanted: Callable[[Document | None], bool]
    ) -> int:
        """What happened after a version, as one who sees only selected objects is told of it."""
        newest, happened = self.storage.since(version, path)
        for one in happened:
            gone = one.type == "DELETED"
            was, is_ = wanted(one.before), not gone and wanted(one.after)
            if was or is_:
                type_ = "DELETED" if not is_ else ("MODIFIED" if was else "ADDED")
                await _send(response, type_, one.after)
        return newest


def _bookmark(version: int, **metadata: Any) -> Document:
    return {"metadata": {"resourceVersion": str(version), **metadata}}


async def _send(response: web.StreamResponse, type_: str, obj: Document | None) -> None:
    await response.write(json.dumps({"type": type_, "object": obj}).encode() + b"\n")
