"""Schedulers in processes of their own, which come back when they end, as those of a Deployment do."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.live.serving import free_port, trusting
from tests.support.processes.dependent_processes import dependent

QUICK: tuple[str, ...] = (
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=500ms",
)
PORTS = {"1.16": ("--port=0",), "1.20": ("--port=0",), "1.36": ()}
"""Release → flags that close the ports besides the secure one."""
DUMPED = "Dump of scheduling queue"
PENDING = re.compile(r'^scheduler_pending_pods\{queue="(\w+)"\} (\S+)$', re.MULTILINE)


class Replica:
    """One of several schedulers."""

    def __init__(
        self, folder: Path, release: str, url: str, *, qps: int, elects: bool = True, ahead: float = 0.0
    ) -> None:
        """folder: for what it writes. qps: requests a second. ahead: seconds by which its clock is."""
        folder.mkdir()
        self.name, self.url = folder.name, url
        """By what it is known: its name, and the address by which it asks the server."""
        self._log = folder / "stderr.txt"
        self.release, self._port = release, free_port()
        self.statuses: list[int] = []
        """Of the processes that have ended."""
        self._stopping = False
        self._process: subprocess.Popen[bytes] | None = None
        module = ["kubescheduler"] if not ahead else ["tests.support.faults.skewed_process", str(ahead)]
        quick = QUICK if qps < 100 else ()
        election = quick if elects else ("--leader-elect=false",)
        self._command = [
            *(sys.executable, "-m", *module, "run", "--release", release, "--", *PORTS[release], *election),
            *(f"--kube-api-qps={qps}", f"--kube-api-burst={qps}", "-v=2"),
            *(f"--master={url}", "--bind-address=127.0.0.1", f"--secure-port={self._port}"),
            *("--authorization-always-allow-paths=/metrics", "--authentication-skip-lookup=true"),
        ]
        self._guard = threading.Thread(target=self._supervise, daemon=True)
        self._guard.start()

    def _supervise(self) -> None:
        while not self._stopping:
            with self._log.open("ab") as log:
                self._process = subprocess.Popen(dependent(self._command), stdout=log, stderr=log)
                self.statuses.append(self._process.wait())

    def text(self) -> str:
        """What all its processes have logged."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def send(self, number: signal.Signals) -> None:
        """Sends a signal to the process of now."""
        assert self._process is not None
        self._process.send_signal(number)

    def stop(self) -> int:
        """Ends it for good; the last status."""
        self._stopping = True
        self.send(signal.SIGTERM)
        self._guard.join(60)
        if self._guard.is_alive():
            self.send(signal.SIGKILL)
            self._guard.join()
        return self.statuses[-1]

    def queue(self) -> str:
        """What the last dump said of the queue."""
        return self.text().rpartition(DUMPED)[2]

    def is_serving(self) -> bool:
        """Whether it takes requests, and signals."""
        try:
            self.pending()
        except OSError:
            return False
        return True

    def pending(self) -> dict[str, float]:
        """Queue → how many pods are in it, as the metrics say."""
        url = f"https://127.0.0.1:{self._port}/metrics"
        with urllib.request.urlopen(url, timeout=20, context=trusting()) as answer:
            return {queue: float(count) for queue, count in PENDING.findall(answer.read().decode())}


@contextmanager
def replica(
    folder: Path, release: str, url: str, *, qps: int, elects: bool = True, ahead: float = 0.0
) -> Iterator[Replica]:
    """A scheduler, to the end of the block, which it has to end with status 0 and without a traceback ever."""
    one = Replica(folder, release, url, qps=qps, elects=elects, ahead=ahead)
    try:
        yield one
    except BaseException:
        one.stop()
        raise
    assert one.stop() == 0, one.text()[-3000:]
    assert "Traceback" not in one.text()
