"""A real kube-apiserver with its etcd, where ``KUBEBUILDER_ASSETS`` names a folder that has both."""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import IO

ASSETS = os.environ.get("KUBEBUILDER_ASSETS", "")
TOKEN = "admin-token"
SECONDS = 120.0
"""Until a server has to be ready."""


class RealApiServer:
    """Both programs, with their data in a folder. ``kill`` and ``start`` may take turns; the port stays."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port, self._etcd_port, peer_port = free_ports(3)
        self.url = f"https://127.0.0.1:{self._port}"
        (folder / "tokens.csv").write_text(f"{TOKEN},admin,admin,system:masters\n")
        subprocess.run(["openssl", "genrsa", "-out", folder / "sa.key", "2048"], check=True, capture_output=True)
        client, peer = f"http://127.0.0.1:{self._etcd_port}", f"http://127.0.0.1:{peer_port}"
        self._logs: list[IO[bytes]] = []
        self._etcd = self._run(
            "etcd",
            f"--data-dir={folder / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--listen-peer-urls={peer}",
            "--unsafe-no-fsync",
        )
        self._server: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts the API server, and waits until it is ready."""
        key = self._folder / "sa.key"
        self._server = self._run(
            "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
            f"--cert-dir={self._folder / 'certs'}",
            f"--secure-port={self._port}",
            "--bind-address=127.0.0.1",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            f"--token-auth-file={self._folder / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,DefaultTolerationSeconds",
            "--service-cluster-ip-range=10.0.0.0/24",
        )
        end = time.monotonic() + SECONDS
        while not self._ready():
            assert time.monotonic() < end, "the API server does not get ready"
            time.sleep(0.2)

    def kill(self) -> None:
        """Ends the API server at once; what it had stored stays."""
        assert self._server is not None
        self._server.kill()
        self._server.wait()

    def close(self) -> None:
        """Ends both at once."""
        for process in (self._server, self._etcd):
            if process is not None:
                process.kill()
                process.wait()
        for log in self._logs:
            log.close()

    def _run(self, program: str, *flags: str) -> subprocess.Popen[bytes]:
        log = (self._folder / f"{program}.log").open("ab")
        self._logs.append(log)
        return subprocess.Popen([str(Path(ASSETS) / program), *flags], stdout=log, stderr=log)

    def _ready(self) -> bool:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        asked = urllib.request.Request(f"{self.url}/readyz", headers={"Authorization": f"Bearer {TOKEN}"})
        try:
            with urllib.request.urlopen(asked, context=context, timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


def free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that nobody has."""
    found = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in found]
    for one in found:
        one.close()
    return ports
