"""Answers on the lab's page that arrive after newer ones."""

from __future__ import annotations

from typing import Any

from tests.support.pages.lab_page import LabPages, Page, RunningLab, held, hold_answer, let_go, settled, show_screen

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


def test_a_ranking_that_arrives_after_a_newer_one_is_dropped(lab: RunningLab, lab_pages: LabPages) -> None:
    """Both arrive, the older one last: what it says is not shown."""
    page = tuned(lab, lab_pages)
    before = ranking(page)
    hold_answer(page, "decision")
    slider(page, "NodeResourcesFit").focus()
    page.keyboard.press("ArrowRight")
    held(page)
    page.keyboard.press("End")
    page.wait_for_function(
        "of => document.querySelector('ol.ranking .total').textContent !== of", arg=str(before[0][1])
    )
    newest = ranking(page)
    assert newest == answered(lab, page)
    let_go(page)
    assert ranking(page) == newest


def test_a_change_that_is_answered_after_a_newer_one_does_not_take_it_back(
    lab: RunningLab, lab_pages: LabPages
) -> None:
    """Two changes under way at once: the page shows the state after both, whichever answer comes last."""
    page = lab_pages.opened(lab)
    settled(page)
    hold_answer(page, "edit")
    page.locator(".pod-choice", has_text="wq6rb").click()
    held(page)
    chosen = page.locator(".pod-choice[aria-pressed=true]")
    page.locator(".pod-choice", has_text="train-1").click()
    chosen.filter(has_text="train-1").wait_for()
    let_go(page)
    assert "train-1" in chosen.inner_text()
    assert page.get_by_role("button", name="Undo: ").count() == 1
