"""Scores and totals as a page shows them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubescheduler.cli import run
from kubescheduler.lab.scene.verbs import VERBS
from tests.support.pages.recorded_scenes import RecordedScene, drawn_scenes
from tests.support.releases_tried import RELEASES_TRIED

CASES = [drawn for release in RELEASES_TRIED for drawn in drawn_scenes(release, count=8, seed=3)]


@pytest.mark.parametrize("drawn", CASES, ids=lambda drawn: drawn.name)
def test_raw_normalised_and_product_are_those_of_why(drawn: RecordedScene) -> None:
    """In every release, also where it does not keep raw scores."""
    scene = drawn.scene()
    if scene.problems("a"):
        return
    for node in VERBS["decision"](scene, {"to": 4})["nodes"]:
        evidence = VERBS["why"](scene, {"node": node["name"]})["scores"]
        said = {one["rule"]: [one["raw"], one["normalised"], one["product"]] for one in evidence}
        assert {rule: list(score.values()) for rule, score in node["scores"].items()} == said


TOTALS = [drawn for release in RELEASES_TRIED for drawn in drawn_scenes(release)]


def shown(drawn: RecordedScene) -> dict[str, Any]:
    """The verb ``decision`` with every node."""
    scene = drawn.scene()
    first = VERBS["decision"](scene, {"from": 0, "to": 500})
    for start in range(500, first["total"], 500):
        first["nodes"] += VERBS["decision"](scene, {"from": start, "to": start + 500})["nodes"]
    return first


@pytest.mark.parametrize("drawn", TOTALS, ids=lambda drawn: drawn.name)
def test_fifty_scenarios_of_each_release(
    drawn: RecordedScene, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Host, message, who fits, reasons by check, totals, best nodes; products add up to totals."""
    run(["schedule", *drawn.arguments(tmp_path), "--preempt", "-o", "json"])
    text = capsys.readouterr().out
    assert (not text) == bool(drawn.scene().problems("a"))  # a policy that the release does not take
    if not text:
        return
    (said,) = json.loads(text)["items"]
    answer = shown(drawn)
    nodes = {node["name"]: node for node in answer["nodes"]}
    assert (answer["host"], answer["message"], answer["error"]) == (said["host"], said["message"], said["error"])
    assert sorted(name for name, node in nodes.items() if node["fits"]) == said["fits"]
    totals = {name: node["total"] for name, node in nodes.items() if node["total"] is not None}
    assert (totals if answer["scored"] else {}) == said["total"]
    assert sorted(name for name, node in nodes.items() if node["best"] and answer["scored"]) == (
        said["best"] if answer["scored"] else []
    )
    for node in nodes.values():
        assert node["total"] is None or sum(one["product"] for one in node["scores"].values()) == node["total"]
    failed = {
        name: sorted(reason for reasons in node["refused"].values() for reason in reasons)
        for name, node in nodes.items()
        if node["refused"]
    }
    if said["error"] is not None:
        return  # the command says no more; a scene shows which nodes the error was met on
    assert failed == {name: sorted(reasons) for name, reasons in said["failed"].items()}
    if "codes" in said:
        assert {name: node["code"] for name, node in nodes.items() if "code" in node and node["refused"]} == said[
            "codes"
        ]
    found = answer["preemption"]
    expected = said["preemption"]
    assert (found is None) == (expected is None)
    if found is not None:
        assert sorted(one["node"] for one in found["candidates"] if one["chosen"]) == expected["chosen"]
        victims = {one["node"]: [victim["key"] for victim in one["victims"]] for one in found["candidates"]}
        assert victims == {name: one["victims"] for name, one in expected["candidates"].items()}
