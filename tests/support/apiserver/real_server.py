"""A real API server, and its objects."""

from __future__ import annotations

import contextlib
import copy
import http.client
import os
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import msgspec
import trustme
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.support.apiserver.storage import Document, StatusError
from tests.support.processes.dependent_processes import dependent

SECONDS = 120.0
"""Until a server is given up."""
ACCOUNTS = '"system:serviceaccounts,system:serviceaccounts:kube-system"'
TOKENS = {
    "admin-token": "admin,admin,system:masters",
    "scheduler-token": "system:kube-scheduler,scheduler,",
    "deployed-token": f"system:serviceaccount:kube-system:kubescheduler,deployed,{ACCOUNTS}",
    "nobody-token": "nobody,uid-nobody,",
}
"""Token → name, uid and group of its user."""
ADMISSION = "ServiceAccount,TaintNodesByCondition,DefaultTolerationSeconds,Priority"
"""Left out, so that pods and nodes stay as they are made."""
CODES = {400: "BadRequest", 403: "Forbidden", 404: "NotFound", 409: "Conflict", 422: "Invalid"}


class RealServer:
    """Both programs, with their data in a folder. ``kill`` and ``start`` may take turns; the port stays."""

    def __init__(self, binaries: Path, folder: Path) -> None:
        """Starts etcd. folder: an empty one."""
        self._binaries, self._folder = binaries, folder
        self.clients, self.proxies = trustme.CA(), trustme.CA()
        """The authority of users; that of front proxies, of which the one called ``front`` is allowed."""
        store, peers, self._port = free_ports(3)
        self.url = f"https://127.0.0.1:{self._port}"
        self._logs: list[IO[bytes]] = []
        self._lock = threading.Lock()
        self._connection: http.client.HTTPSConnection | None = None
        urls = (f"http://127.0.0.1:{store}", f"http://127.0.0.1:{peers}")
        etcd = {"data-dir": str(folder / "etcd"), "listen-client-urls": urls[0], "listen-peer-urls": urls[1]}
        etcd["unsafe-no-fsync"] = "true"
        self._etcd = self._run("etcd", etcd, {"ETCD_ADVERTISE_CLIENT_URLS": urls[0]})
        flags = {**_flags(folder, self.clients, self.proxies), "etcd-servers": urls[0], "secure-port": str(self._port)}
        self._api_flags = flags
        self._server: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts the API server, and waits until it is ready."""
        self._server = self._run("kube-apiserver", self._api_flags, {})
        end = time.monotonic() + SECONDS
        while not self._ready():
            text = (self._folder / "kube-apiserver.log").read_text(errors="replace")[-2000:]
            assert self._server.poll() is None, text
            assert time.monotonic() < end, text
            time.sleep(0.2)

    def kill(self) -> None:
        """Ends the API server at once; what it has stored stays."""
        assert self._server is not None
        self._server.kill()
        self._server.wait()

    def revive(self) -> None:
        """Starts the API server again where a test has left it dead."""
        if self._server is None or self._server.poll() is not None:
            self.start()

    def close(self) -> None:
        """Ends both at once."""
        if self._connection is not None:
            self._connection.close()
        for process in (self._server, self._etcd):
            if process is not None:
                process.kill()
                process.wait()
        for log in self._logs:
            log.close()

    def ask(self, method: str, path: str, body: object = None, *, token: str = "admin-token") -> Any:
        """A request of an administrator, or of somebody else, and what is answered. Raises StatusError, OSError."""
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        data = None if body is None else msgspec.json.encode(body)
        with self._lock:
            status, text = self._answer(method, path, data, headers)
        if status >= 400:
            message = msgspec.json.decode(text).get("message", "") if text.startswith(b"{") else text.decode()
            raise StatusError(status, CODES.get(status, ""), message)
        return msgspec.json.decode(text) if path.startswith("/api") else text

    def _answer(self, method: str, path: str, data: bytes | None, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """Over a connection that is kept; once more over a new one where the kept one is gone."""
        if self._connection is not None:
            try:
                return self._exchanged(self._connection, method, path, data, headers)
            except (OSError, http.client.HTTPException):
                self._connection.close()
        self._connection = http.client.HTTPSConnection("127.0.0.1", self._port, timeout=30, context=_anybody())
        return self._exchanged(self._connection, method, path, data, headers)

    @staticmethod
    def _exchanged(
        connection: http.client.HTTPSConnection, method: str, path: str, data: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        connection.request(method, path, data, dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.read()

    def _ready(self) -> bool:
        try:
            self.ask("GET", "/readyz")
            self.ask("GET", "/api/v1/namespaces/default")
        except (StatusError, OSError, http.client.HTTPException):
            return False
        return True

    def _run(self, program: str, flags: Mapping[str, str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        log = (self._folder / f"{program}.log").open("ab")
        self._logs.append(log)
        command = [str(self._binaries / program), *(f"--{name}={value}" for name, value in flags.items())]
        environment = {**os.environ, **environment}
        return subprocess.Popen(dependent(command), stdout=log, stderr=log, cwd=self._folder, env=environment)


def assets() -> Path | None:
    """The folder of the binaries; None where nobody names one."""
    found = os.environ.get("KUBEBUILDER_ASSETS")
    return Path(found) if found and (Path(found) / "kube-apiserver").exists() else None


@contextmanager
def real_server(binaries: Path, folder: Path) -> Iterator[RealServer]:
    """An empty server while the block lasts. folder: an empty one."""
    server = RealServer(binaries, folder)
    try:
        server.start()
        yield server
    finally:
        server.close()


def _flags(folder: Path, users: trustme.CA, front_proxies: trustme.CA) -> Mapping[str, str]:
    tokens, clients, proxies, key = (folder / name for name in ("tokens.csv", "clients.crt", "proxies.crt", "sa.key"))
    tokens.write_text("".join(f"{token},{user}\n" for token, user in TOKENS.items()))
    users.cert_pem.write_to_path(str(clients))
    front_proxies.cert_pem.write_to_path(str(proxies))
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())
    key.write_bytes(private.private_bytes(*form))
    return {
        "bind-address": "127.0.0.1",
        "cert-dir": str(folder / "certs"),
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": str(key),
        "service-account-signing-key-file": str(key),
        "service-cluster-ip-range": "10.0.0.0/24",
        "token-auth-file": str(tokens),
        "authorization-mode": "RBAC",
        "disable-admission-plugins": ADMISSION,
        "client-ca-file": str(clients),
        "requestheader-client-ca-file": str(proxies),
        "requestheader-allowed-names": "front",
        "requestheader-username-headers": "X-Remote-User",
        "requestheader-group-headers": "X-Remote-Group",
        "requestheader-extra-headers-prefix": "X-Remote-Extra-",
    }


def _anybody() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that nobody has, no two alike."""
    found = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in found]
    for one in found:
        one.close()
    return ports


PODS, NODES = "/api/v1/pods", "/api/v1/nodes"
LOCKS = ("/api/v1/endpoints", "/api/v1/configmaps", "/apis/coordination.k8s.io/v1/leases")
CLEARED = (PODS, "/api/v1/events")
AT_ONCE = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0, "propagationPolicy": "Background"}


class RealStorage:
    """The objects of a real server, asked for as those of a Storage."""

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
