"""The recorded decisions of the real kube-scheduler, every part of every query."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kubescheduler.engine.evaluate_protocol import evaluate
from kubescheduler.releases.names import FRAMEWORK_RELEASES, RELEASE_NAMES
from tests.support.releases_tried import vectors_dir

PARTS = ("error", "fits", "failed", "checks", "codes", "raw", "scores", "weights", "total", "best", "preemption")
EXTENDER_SERVER = Path(__file__).parents[2] / "shared" / "tools" / "extender_server.py"
RECORDED_AT = "http://127.0.0.1:28900"
FILES = sorted(vectors_dir().glob("*/*.jsonl.gz"))


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt") as lines:
        yield from map(json.loads, lines)


def differing(expected: dict[str, Any], actual: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The parts that are not equal; of two refusals nothing more is compared."""
    if expected.get("error") and actual["error"]:
        return {}
    found = {part: (expected[part], actual.get(part)) for part in PARTS if part in expected}
    return {part: pair for part, pair in found.items() if (pair[0] or None) != (pair[1] or None)}


def compare(path: Path, address: str = RECORDED_AT) -> int:
    """Asserts that every query of a file agrees; how many there are."""
    count = 0
    for row in rows(path):
        line = msgspec.json.encode(row["scenario"]).replace(RECORDED_AT.encode(), address.encode())
        for expected, actual in zip(row["results"], evaluate([line], path.parent.name), strict=True):
            assert (actual["scenario"], actual["query"]) == (expected["scenario"], expected["query"])
            assert differing(expected, actual) == {}, f"{path.name} {expected['scenario']}/{expected['query']}"
            count += 1
    return count


@pytest.mark.parametrize(
    "path", [f for f in FILES if not f.name.startswith("extender")], ids=lambda f: f"{f.parent.name}-{f.name[:-9]}"
)
def test_every_recorded_query_agrees(path: Path) -> None:
    """Fits, reasons, checks, scores, totals, best nodes and preemption are those of the real scheduler."""
    assert compare(path) >= (8 if path.name == "modern-minimal.jsonl.gz" else 38)


@pytest.fixture(scope="module")
def extender_address() -> Iterator[str]:
    """The extender that the decisions were recorded against, in a process of its own."""
    command = [sys.executable, str(EXTENDER_SERVER), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process.stdout.readline().split()[-1]
        process.terminate()


@pytest.mark.skipif(not EXTENDER_SERVER.exists(), reason="the recorded extender is kept beside the project, not in it")
@pytest.mark.parametrize("path", [f for f in FILES if f.name.startswith("extender")], ids=lambda f: f.parent.name)
def test_every_recorded_query_with_extenders_agrees(path: Path, extender_address: str) -> None:
    """The same with HTTP extenders of all manners."""
    assert compare(path, extender_address) >= 48


MOST_BYTES = 10 << 20


def test_what_is_recorded() -> None:
    """Every release, those with statuses with codes and raw scores; the folder stays small."""
    assert {path.parent.name for path in FILES} == {*RELEASE_NAMES}
    for path in FILES:
        results = next(rows(path))["results"]
        framework = path.parent.name in FRAMEWORK_RELEASES
        assert all(("codes" in result and "raw" in result) == framework for result in results if not result["error"])
    assert sum(path.stat().st_size for path in vectors_dir().rglob("*.gz")) <= MOST_BYTES


def test_the_real_trace_agrees() -> None:
    """1,523 nodes of a real cluster and the first 500 pods of its trace, each bound before the next."""
    scenario = gzip.decompress((vectors_dir() / "openb-1.16.scenario.json.gz").read_bytes())
    expected = rows(vectors_dir() / "openb-1.16.jsonl.gz")
    for brief, actual in zip(expected, evaluate([scenario], "1.16"), strict=True):
        top = max(actual["total"].values(), default=None)
        fits, best, ties = len(actual["fits"]), actual["best"][:1], len(actual["best"])
        assert brief == {
            "query": actual["query"],
            "fits": fits,
            "best": best,
            "ties": ties,
            "top": top,
            "error": actual["error"],
        }
