"""The objects of a real server, asked for by its administrator beside all fronts."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable

from tests.support.apiserver.object_store import Document
from tests.support.apiserver.real_server import RealServer
from tests.support.apiserver.storage import StatusError

PODS, NODES = "/api/v1/pods", "/api/v1/nodes"
LOCKS = ("/api/v1/endpoints", "/api/v1/configmaps", "/apis/coordination.k8s.io/v1/leases")
CLEARED = (PODS, "/api/v1/events")
AT_ONCE = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0, "propagationPolicy": "Background"}


class RealStorage:
    """An ObjectStore."""

    def __init__(self, server: RealServer) -> None:
        self._server = server
        self.listeners: list[Callable[[], None]] = []
        self._made: list[str] = []
        """What is not cleared with its collection."""

    @property
    def version(self) -> int:
        """The resourceVersion of now."""
        return int(self._ask("GET", f"{PODS}?limit=1")["metadata"]["resourceVersion"])

    def all(self, path: str, namespace: str = "") -> list[Document]:
        """The objects of a collection, by namespace and name; none where the server does not have it."""
        try:
            found: list[Document] = self._ask("GET", _address(path, namespace))["items"]
        except StatusError as error:
            if error.code == 404:
                return []
            raise
        return found

    def get(self, path: str, namespace: str, name: str) -> Document:
        """One object."""
        return self._ask("GET", _address(path, namespace, name))

    def create(self, path: str, namespace: str, obj: Document) -> Document:
        """Makes an object, with its status."""
        made = self._ask("POST", _address(path, namespace), obj)
        if path not in (*CLEARED, NODES):
            self._made.append(_address(path, namespace, obj["metadata"]["name"]))
        status = obj.get("status")
        if status and any(made.get("status", {}).get(key) != value for key, value in status.items()):
            made["status"] = {**made.get("status", {}), **status}
            made = self._ask("PUT", _address(path, namespace, obj["metadata"]["name"], "status"), made)
        self._wrote()
        return made

    def replace(self, path: str, namespace: str, name: str, obj: Document) -> Document:
        """Replaces an object, but for its status."""
        made = self._ask("PUT", _address(path, namespace, name), obj)
        self._wrote()
        return made

    def change(self, path: str, namespace: str, name: str, edit: Callable[[Document], None]) -> Document:
        """Replaces an object by what ``edit`` makes of a copy: pods are bound, and statuses written, if need be."""
        before = self.get(path, namespace, name)
        after = copy.deepcopy(before)
        edit(after)
        node = (after.get("spec") or {}).get("nodeName")
        if path == PODS and node != before["spec"].get("nodeName"):
            binding = {"metadata": {"name": name}, "target": {"kind": "Node", "name": node}}
            self._ask("POST", _address(path, namespace, name, "binding"), binding)
            before["spec"]["nodeName"] = node
            after["metadata"].pop("resourceVersion")
        if _without_status(after) != _without_status(before):
            written = self._ask("PUT", _address(path, namespace, name), after)
            after["metadata"]["resourceVersion"] = written["metadata"]["resourceVersion"]
        if after.get("status") != before.get("status"):
            self._ask("PUT", _address(path, namespace, name, "status"), after)
        self._wrote()
        return self.get(path, namespace, name)

    def delete(self, path: str, namespace: str, name: str) -> Document:
        """Deletes an object at once."""
        gone = self._ask("DELETE", _address(path, namespace, name), AT_ONCE)
        self._wrote()
        return gone

    def compact(self) -> None:
        """Forgets what happened until now: a server that starts anew knows of nothing before its start."""
        self._server.kill()
        self._server.start()

    def clear(self) -> None:
        """Deletes what tests make."""
        self.listeners.clear()
        for path in CLEARED:
            for namespace in ("default", "kube-system"):
                self._ask("DELETE", _address(path, namespace), AT_ONCE)
        self._ask("DELETE", NODES, AT_ONCE)
        locks = (_address(path, "kube-system", name) for path in LOCKS for name in ("kube-scheduler", "kubescheduler"))
        for address in (*locks, *self._made):
            with contextlib.suppress(StatusError):
                self._ask("DELETE", address)
        self._made.clear()

    def _wrote(self) -> None:
        for listen in list(self.listeners):
            listen()

    def _ask(self, method: str, path: str, body: Document | None = None) -> Document:
        found: Document = self._server.ask(method, path, body)
        return found


def _address(path: str, namespace: str, *rest: str) -> str:
    group, _, plural = path.rpartition("/")
    return "/".join((group, *(("namespaces", namespace) if namespace else ()), plural, *rest))


def _without_status(obj: Document) -> Document:
    metadata = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
    return {**obj, "metadata": metadata, "status": None}
