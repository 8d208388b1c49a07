"""Small sweeps for tests."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import kubescheduler
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.framework.profiles.plugin_loading import PluginOption
from kubescheduler.sweep.cases import Case, Configuration, SweepOptions, cases_of, find_snapshots
from kubescheduler.sweep.rows import columns_of, open_rows
from kubescheduler.sweep.run_case import CaseOutcome, run_case
from kubescheduler.sweep.weights import grid_of

COLUMNS = columns_of(placements=False, timings=False)
OPTIONS = SweepOptions(version=kubescheduler.__version__)

GRID = {"base": ["release=1.16", "release=1.4"], "weights": {"LeastRequestedPriority": [0, 3]}}


def node(name: str, cpu: str = "4", memory: str = "8Gi") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": {"cpu": cpu, "memory": memory, "pods": "110"}},
    }


def pod(name: str, cpu: str = "500m", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **spec}}


def write(path: Path, *objects: dict[str, Any]) -> str:
    """A snapshot of these objects."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return str(path)


def write_snapshots(folder: Path, count: int) -> str:
    """A folder of snapshots, no two alike, each with equal nodes and three pending pods."""
    for at in range(count):
        pods = [pod(f"p{number}", f"{100 * (at + 1)}m") for number in range(3)]
        write(folder / f"s{at}.json", *(node(f"n{number}") for number in range(4)), *pods)
    return str(folder)


def two_hundred(folder: Path) -> list[Case]:
    """5 snapshots × 4 configurations × 10 seeds."""
    snapshots = find_snapshots([write_snapshots(folder, 5)])
    return cases_of(snapshots, grid_of(GRID), range(10), OPTIONS)


def one_case(snapshot: str, spec: str = "release=1.16", seed: int | None = None, **options: Any) -> Case:
    """One snapshot, one configuration."""
    seeds = () if seed is None else (seed,)
    chosen = SweepOptions(**{"version": kubescheduler.__version__, **options})
    configuration = Configuration(spec, EngineSpec.parse(spec))
    (case,) = cases_of(find_snapshots([snapshot], whole_folders=True), [configuration], seeds, chosen)
    return case


def run_here(cases: Sequence[Case]) -> Generator[CaseOutcome]:
    """In this process, one after another."""
    for case in cases:
        yield run_case(case)


def deadly(args: Any, handle: Any) -> Any:
    """A plugin that ends the process that makes it."""
    os.kill(os.getpid(), signal.SIGKILL)


def deadly_case(snapshot: str) -> Case:
    """A case that no process survives."""
    spec = EngineSpec(release="1.36", plugins=(PluginOption("Deadly", deadly),))
    (case,) = cases_of(find_snapshots([snapshot]), [Configuration("deadly", spec)], (), OPTIONS)
    return case


def rows_in(path: Path) -> list[dict[str, Any]]:
    """The rows of a finished file, in order."""
    return [dict(row) for row in open_rows(str(path), COLUMNS).rows.values()]
