"""The scores of rows are those of the evidence."""

from __future__ import annotations

import pytest

import kubescheduler as ks
from kubescheduler.lab.scene.verbs import VERBS
from tests.support.pages.recorded_scenes import RecordedScene, drawn_scenes

CASES = [drawn for release in ks.RELEASES for drawn in drawn_scenes(release, count=8, seed=3)]


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
