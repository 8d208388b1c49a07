"""A real kube-apiserver with etcd, from the binaries in the folder that ``KUBEBUILDER_ASSETS`` names."""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

import attrs
import msgspec
import trustme
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

SECONDS = 90.0
"""Until a server is given up."""
TOKENS = {
    "admin-token": "admin,admin,system:masters",
    "scheduler-token": "system:kube-scheduler,scheduler,",
    "nobody-token": "nobody,uid-nobody,",
}
"""Token → name, uid and group of its user."""
ADMISSION = "ServiceAccount,TaintNodesByCondition,DefaultTolerationSeconds"
"""Left out, so that pods and nodes stay as they are made."""


@attrs.frozen(eq=False)
class RealServer:
    """A server that runs."""

    url: str
    clients: trustme.CA
    """The authority of users."""
    proxies: trustme.CA
    """The authority of front proxies; the one called ``front`` is allowed."""

    def ask(self, method: str, path: str, body: object = None) -> object:
        """A request of an administrator. Raises HTTPError."""
        headers = {"Authorization": "Bearer admin-token", "Content-Type": "application/json"}
        data = None if body is None else msgspec.json.encode(body)
        with urlopen(Request(self.url + path, data, headers, method=method), context=_anybody(), timeout=20) as answer:
            text: bytes = answer.read()
        return msgspec.json.decode(text) if path.startswith("/api") else text


def assets() -> Path | None:
    """The folder of the binaries; None where nobody names one."""
    found = os.environ.get("KUBEBUILDER_ASSETS")
    return Path(found) if found and (Path(found) / "kube-apiserver").exists() else None


@contextmanager
def real_server(binaries: Path, folder: Path) -> Iterator[RealServer]:
    """An empty server while the block lasts. folder: an empty one."""
    store, peers, port = (_free_port() for _ in range(3))
    server = RealServer(f"https://127.0.0.1:{port}", trustme.CA(), trustme.CA())
    with ExitStack() as running:
        urls = (f"http://127.0.0.1:{store}", f"http://127.0.0.1:{peers}")
        etcd = {"data-dir": str(folder / "etcd"), "listen-client-urls": urls[0], "listen-peer-urls": urls[1]}
        advertised = {"ETCD_ADVERTISE_CLIENT_URLS": urls[0]}
        running.enter_context(_process(binaries / "etcd", etcd, folder, advertised))
        flags = {**_flags(folder, server), "etcd-servers": urls[0], "secure-port": str(port)}
        process = running.enter_context(_process(binaries / "kube-apiserver", flags, folder, {}))
        _wait_for(server, process, folder / "kube-apiserver.log")
        yield server


def _flags(folder: Path, server: RealServer) -> Mapping[str, str]:
    tokens, clients, proxies, key = (folder / name for name in ("tokens.csv", "clients.crt", "proxies.crt", "sa.key"))
    tokens.write_text("".join(f"{token},{user}\n" for token, user in TOKENS.items()))
    server.clients.cert_pem.write_to_path(str(clients))
    server.proxies.cert_pem.write_to_path(str(proxies))
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


@contextmanager
def _process(
    binary: Path, flags: Mapping[str, str], folder: Path, environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    command = [str(binary), *(f"--{name}={value}" for name, value in flags.items())]
    with (folder / f"{binary.name}.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env={**os.environ, **environment})
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for(server: RealServer, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + SECONDS
    while True:
        try:
            server.ask("GET", "/readyz")
        except (URLError, OSError):
            text = log.read_text(errors="replace")[-2000:]
            assert process.poll() is None, text
            assert time.monotonic() < end, text
            time.sleep(0.2)
        else:
            return


def _anybody() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
