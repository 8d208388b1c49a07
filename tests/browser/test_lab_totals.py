"""What the lab's page shows of a decision is what ``kubescheduler schedule -o json`` says."""

from __future__ import annotations

import json
import multiprocessing
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from kubescheduler.cli import run
from kubescheduler.lab.scene.verbs import VERBS
from tests.support.pages.lab_page import LabPages, Page, settled
from tests.support.pages.lab_server import lab_server
from tests.support.pages.recorded_scenes import RecordedScene, drawn_scenes
from tests.support.releases_tried import RELEASES_TRIED

COUNT = 13
"""Scenarios of each release: about fifty in all."""
SHOWN = 30
"""Rows of the ranking."""

ROWS = """rows => rows.map(row => [row.dataset.node, row.querySelector(".total").textContent])"""


def said(drawn: RecordedScene, folder: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """What the command says of the pod."""
    run(["schedule", *drawn.arguments(folder), "--preempt", "-o", "json"])
    (found,) = json.loads(capsys.readouterr().out)["items"]
    return found


def shown(page: Page) -> tuple[str, dict[str, int]]:
    """(what the page says of where the pod goes, node → total), best first."""
    page.wait_for_selector("p.verdict")
    settled(page)
    rows = [(node, int(total)) for node, total in page.eval_on_selector_all("ol.ranking li", ROWS)]
    assert [total for _, total in rows] == sorted((total for _, total in rows), reverse=True)
    return page.locator("p.verdict").inner_text(), dict(rows)


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_totals_of_recorded_scenarios(
    release: str, lab_pages: LabPages, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fifty of all releases: where the pod goes or why not, and the totals of the nodes in the ranking."""
    usable = (drawn for drawn in drawn_scenes(release, 3 * COUNT) if not drawn.scene().problems("a"))
    drawn = list(islice(usable, COUNT))
    scenes, turn = [one.scene() for one in drawn], multiprocessing.get_context("fork").Value("i", 0)

    def next_scene() -> Any:
        with turn.get_lock():
            turn.value += 1
            return scenes[turn.value - 1]

    with lab_server(VERBS, next_scene) as server:
        page: Page = None
        for one in drawn:
            if page is None:
                page = lab_pages.opened(server, "screen=tune")
            else:
                page.goto("about:blank")
                page.goto(f"{server.address}&screen=tune")
            expected = said(one, tmp_path, capsys)
            verdict, totals = shown(page)
            assert " ".join((expected["host"] or expected["message"]).split()) in " ".join(verdict.split()), one.name
            if expected["total"]:
                kept = sorted(expected["total"].values(), reverse=True)[:SHOWN]
                assert sorted(totals.values(), reverse=True) == kept, one.name
                assert totals.items() <= expected["total"].items(), one.name
        lab_pages.close()
