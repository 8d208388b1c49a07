"""A real kube-apiserver with etcd, from the binaries in the folder that ``KUBEBUILDER_ASSETS`` names."""

from __future__ import annotations

import http.client
import os
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import msgspec
import trustme
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.support.apiserver.storage import StatusError
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
    """Ports of the loopback interface that nobody has."""
    found = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in found]
    for one in found:
        one.close()
    return ports
