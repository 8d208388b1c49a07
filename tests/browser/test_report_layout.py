"""Workloads, evidence and layout of the HTML report, in a real Chromium of several widths."""

from __future__ import annotations

import attrs
import msgspec
import pytest

from docs.generate.report_pictures import example
from tests.support.comparisons import every_cause
from tests.support.pages.layout_faults import Opens, controlled, moved, shown


def test_a_workload_shows_its_pods(report: Opens) -> None:
    """A press on its name leaves its pods in the table; on what has none, those of no workload."""
    found = controlled()
    page = report(found)
    page.click("text=StatefulSet/db")
    assert set(shown(page)) == {p.pod for p in found.pods if p.workload == "StatefulSet/db" and p.differs}
    assert page.locator(".picks[aria-pressed=true]").count() == 1
    page.click("text=pods of no workload")
    assert set(shown(page)) == {p.pod for p in found.pods if p.workload.startswith("Pod/") and p.differs}
    page.click("text=pods of no workload")
    assert set(shown(page)) == set(moved(found))


def test_an_opened_row_says_what_scores_were_made_of(report: Opens) -> None:
    """Formula and product of both nodes under both schedulers, for every term that is not 0."""
    found = example("independent", evidence=True)
    page = report(found)
    one = next(p for p in found.pods if p.changes[0].contributions and p.differs)
    page.locator(f'tr[data-pod="{one.pod}"] .opens').click()
    page.click("text=What these scores were made of")
    said = page.locator(".made dd div").all_inner_texts()
    sentences = [
        sentence.partition(": ")[2]
        for part in one.changes[0].contributions
        for side in (part.old_evidence, part.new_evidence)
        for pair in side
        for sentence in pair
    ]
    assert sentences
    assert [text.split("\n")[-1].strip() for text in said] == sentences


@pytest.mark.parametrize("width", [360, 720, 1280, 1920])
def test_headings_break_between_words_only(report: Opens, width: int) -> None:
    """Every word of a table's heading, and every part of one with hyphens, stands in one line."""
    named = attrs.evolve(controlled(), names=("1.16 packing-policy.json", "1.36 scheduler-config.yaml"))
    page = report(named, {"width": width, "height": 900})
    page.eval_on_selector_all("details", "all => all.forEach((part) => { part.open = true; })")
    page.locator(".opens").first.click()
    broken = page.evaluate(
        """() => [...document.querySelectorAll("thead th")].flatMap((head) => {
            const walker = document.createTreeWalker(head, NodeFilter.SHOW_TEXT), found = [];
            for (let node; (node = walker.nextNode());) {
                for (const word of node.data.matchAll(/[^\\s-]+-?/g)) {
                    const range = document.createRange();
                    range.setStart(node, word.index);
                    range.setEnd(node, word.index + word[0].length);
                    const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
                    if (lines.size > 1) found.push(word[0]);
                }
            }
            return found;
        })"""
    )
    assert broken == []


def test_many_services_do_not_push_the_pods_away(report: Opens) -> None:
    """Their table is closed at first; it opens at a press, and on paper."""
    found = every_cause()
    spread = found.effects[0].spread[0]
    before, after = (
        tuple(
            msgspec.structs.replace(spread, service=f"shop/s{at}", zone_skew=skew, zones={"z0": skew, "z1": 0})
            for at in range(60)
        )
        for skew in (1, 5)
    )
    effects = (
        msgspec.structs.replace(found.effects[0], spread=before),
        msgspec.structs.replace(found.effects[1], spread=after),
    )
    place = "document.getElementById('pods').offsetTop"
    few, page = report(found), report(attrs.evolve(found, effects=effects))
    closed = page.evaluate(place)
    assert abs(closed - few.evaluate(place)) < 60
    page.click("text=60 services are spread differently")
    assert page.evaluate(place) > closed + 1000


@pytest.mark.parametrize("width", [360, 1280, 1920])
def test_mean_lines_do_not_cross_numbers(report: Opens, width: int) -> None:
    """No piece of a histogram's line lies in the box of a number above a bar."""
    page = report(example(), {"width": width, "height": 900})
    crossed = page.evaluate(
        """() => [...document.querySelectorAll(".histogram")].flatMap((chart) => {
            const numbers = [...chart.querySelectorAll("text[text-anchor=middle]")]
                .filter((text) => !text.textContent.includes("%"));
            const path = chart.querySelector(".mean").getAttribute("d");
            const pieces = [...path.matchAll(/M([\\d.]+) ([\\d.]+)V([\\d.]+)/g)];
            return pieces.flatMap(([, x, top, bottom]) => numbers.filter((text) => {
                const box = text.getBBox(), y = Number(text.getAttribute("y"));
                return x > box.x && x < box.x + box.width && top < y && bottom > y - 8;
            }).map((text) => text.textContent));
        })"""
    )
    assert page.locator(".histogram .mean").count() >= 4
    assert crossed == []
