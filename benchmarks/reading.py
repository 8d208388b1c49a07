"""How fast a cluster is read, in how much memory: ``python -m benchmarks.reading [NODES] [PODS] [--python PYTHON]``.

Writes a cluster as ``kubectl get nodes,pods -A -o json --show-managed-fields`` prints one, then reads it in processes
of their own, as a file and through a pipe. PYTHON: the interpreter of another environment, to compare both in turn.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import IO

from benchmarks.kubectl_lists import written_cluster

READ = """
import gc, resource, sys, time
from kubescheduler.api.cluster import Cluster
gc.disable()
begun = time.process_time()
cluster = Cluster.read(sys.argv[1], release=sys.argv[2], keep_manifests=False)
spent = time.process_time() - begun
print(spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, len(cluster.nodes), len(cluster.pods))
"""

UNIT = "import time; begun = time.process_time(); import numpy, click, attrs; print(time.process_time() - begun)"
"""What a machine is measured by: three imports."""


def main() -> None:
    """Prints a line for each interpreter, release and way of reading."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nodes", type=int, nargs="?", default=5000)
    parser.add_argument("pods", type=int, nargs="?", default=50_000)
    parser.add_argument("--python", action="append", default=[])
    parser.add_argument("--times", type=int, default=5)
    given = parser.parse_args()
    pythons = [sys.executable, *given.python]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cluster.json"
        with path.open("w") as file:
            written_cluster(file, given.nodes, given.pods)
        print(f"{path.stat().st_size / 1e6:.0f} MB, {given.nodes} nodes, {given.pods} pods; median of {given.times}")
        for release in ("1.16", "1.36"):
            for way in ("file", "pipe"):
                rows = [[measured(python, path, release, way) for python in pythons] for _ in range(given.times)]
                for python, runs in zip(pythons, zip(*rows, strict=True), strict=True):
                    seconds, unit, memory = (median(each) for each in zip(*runs, strict=True))
                    times = f"{seconds:6.2f} s CPU ({seconds / unit:5.1f} times three imports)"
                    print(f"{release:5} {way} {times} {memory:6.0f} MB  {python}")


def measured(python: str, path: Path, release: str, way: str) -> tuple[float, float, float]:
    """Seconds of reading, seconds of three imports in the same moment, and megabytes at the most."""
    unit = float(_output(python, UNIT))
    with path.open("rb") as file:
        name, stdin = ("-", file) if way == "pipe" else (str(path), None)
        if stdin is None:
            seconds, memory, *_ = map(float, _output(python, READ, name, release).split())
        else:
            with subprocess.Popen(["cat"], stdin=stdin, stdout=subprocess.PIPE) as cat:
                seconds, memory, *_ = map(float, _output(python, READ, name, release, stdin=cat.stdout).split())
    return seconds, unit, memory


def _output(python: str, code: str, *args: str, stdin: IO[bytes] | None = None) -> str:
    return subprocess.run([python, "-c", code, *args], stdin=stdin, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()
