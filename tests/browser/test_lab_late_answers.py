"""Weights on the lab's page: a ranking that arrives late is dropped."""

from __future__ import annotations

from typing import Any

from tests.support.lab_page import LabPages, Page, RunningLab, settled, show_screen, slow_answers

POD = "web-6d5f9-wq6rb"


def tuned(lab: RunningLab, pages: LabPages) -> Page:
    """The screen with the weights, and the ranking of a pod that fits several nodes."""
    page = pages.opened(lab)
    settled(page)
    page.locator(".pod-choice", has_text="wq6rb").click()
    page.locator(".pod-choice[aria-pressed=true]", has_text="wq6rb").wait_for()
    show_screen(page, "Tune")
    page.locator("p.verdict", has_text=POD).wait_for()
    return page


def ranking(page: Page) -> list[tuple[str, int]]:
    """(node, total) as the rows stand."""
    rows = page.eval_on_selector_all(
        "ol.ranking li", "rows => rows.map(row => [row.dataset.node, row.querySelector('.total').textContent])"
    )
    return [(name, int(total)) for name, total in rows]


def answered(lab: RunningLab, page: Page) -> list[tuple[str, int]]:
    """The ranking that the server has now."""
    tab = page.evaluate("sessionStorage.getItem('lab-tab')")
    rows: Any = lab.ask("decision", tab=tab, side="a", order="rank", **{"from": 0, "to": 30})["nodes"]
    return [(row["name"], row["total"]) for row in rows if row["fits"]]


def slider(page: Page, rule: str) -> Any:
    return page.get_by_role("slider", name=rule, exact=True)


def test_late_answers_are_dropped(lab: RunningLab, lab_pages: LabPages) -> None:
    """A ranking that arrives after a newer one was asked for is not shown, whatever it says."""
    page = tuned(lab, lab_pages)
    slow_answers(page, "decision", 700)
    slider(page, "NodeResourcesFit").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(150)
    page.keyboard.press("End")
    settled(page)
    newest = answered(lab, page)
    page.wait_for_function(
        "total => document.querySelector('ol.ranking .total').textContent === total", arg=str(newest[0][1])
    )
    page.wait_for_timeout(900)
    assert ranking(page) == newest == answered(lab, page)
