"""The page of the steps between releases in a real Chromium, from a file: bands, opened steps, filters, keys."""

from __future__ import annotations

import pytest

from tests.support.comparisons import RELEASES, ZONE, made_timeline, timeline_of
from tests.support.pages.layout_faults import Opens, Page, inaccessible, layout_faults, until

SIZES = ({"width": 1280, "height": 800}, {"width": 1920, "height": 1080}, {"width": 390, "height": 844})
STEP = "td.step > button"


def lines(page: Page) -> list[str]:
    """The workloads that have a line, in order."""
    texts = page.locator("#rows > tr[data-workload] > th").all_inner_texts()
    return [text.split("\n")[0] for text in texts]


def steps(page: Page, workload: str) -> list[str]:
    """What a workload's steps are called, oldest first."""
    line = page.locator("#rows > tr[data-workload]").filter(has_text=workload)
    return [button.get_attribute("aria-label") or "" for button in line.locator(STEP).all()]


def test_lines_have_edges_where_pods_move(report: Opens) -> None:
    """Only workloads that move, each with its steps by name; a line of bands is as long as all releases."""
    page = report(made_timeline())
    assert lines(page) == [f"Deployment/app-{at}" for at in (1, 2, 3, 5, 6, 7)]
    assert steps(page, "app-2") == [
        "6 pods move at 1.22; then, 1.22 to 1.24: memory 6",
        "6 pods move at 1.25; then, 1.25 to 1.26: compute 6",
    ]
    assert steps(page, "app-3")[-1] == "6 pods move at 1.23; then, 1.23 to 1.26: no node 3, general 3"
    for line in page.locator("#rows > tr[data-workload]").all():
        spans = [int(cell.get_attribute("aria-colspan") or 0) for cell in line.locator("td").all()]
        assert sum(spans) == len(RELEASES)
    assert "6 pods, 6 move, 6 come back" in page.inner_text("#rows")
    assert "".join(page.locator("#legend b").all_inner_texts()) == "ABC–"


def test_a_step_opens(report: Opens) -> None:
    """With both decisions, the rules that differ, and the change with where it comes from; a second press closes it."""
    page = report(made_timeline())
    button = page.locator(STEP).first
    button.click()
    detail = page.locator("#step")
    assert button.get_attribute("aria-expanded") == "true"
    text = detail.inner_text()
    assert "1.22 → 1.23: 6 of 6 pods of Deployment/app-1 move" in text
    assert "compute-0 → general-1" in text
    assert "TaintToleration weighs 3 by default" in text
    assert "Difference of the totals" in text
    assert detail.get_by_role("table", name="Contributions").is_visible()
    detail.get_by_text("A small example").click()
    assert "weights TaintToleration" in detail.locator(".witness dl").inner_text()
    assert detail.locator(".witness pre").inner_text().startswith("cluster:")
    button.click()
    assert detail.count() == 0
    page.locator(STEP).nth(2).click()
    assert "No change alone moves them" in page.inner_text("#step")
    page.get_by_text("All changes from 1.24 to 1.25").click()
    assert page.locator("#step .records > li").count() > 1
    page.locator(STEP).nth(1).click()
    assert page.locator("tr.detail").count() == 1


def test_by_the_keyboard(report: Opens) -> None:
    """Arrows go from step to step, Enter opens one."""
    page = report(made_timeline())
    page.locator(STEP).nth(1).focus()
    told = "document.activeElement.getAttribute('aria-label').split(';')[0]"
    for key, expected in (
        ("ArrowRight", "6 pods move at 1.25"),
        ("ArrowRight", "6 pods move at 1.25"),
        ("ArrowLeft", "6 pods move at 1.22"),
        ("ArrowUp", "6 pods move at 1.23"),
        ("ArrowDown", "6 pods move at 1.22"),
    ):
        page.keyboard.press(key)
        assert page.evaluate(told) == expected
    page.keyboard.press("Enter")
    assert "1.21 → 1.22" in page.inner_text("#step")


def test_filters_and_the_address(report: Opens) -> None:
    """Workloads by name, by whether they come back and by change; the address keeps them, and the step that is open."""
    page = report(made_timeline())
    page.select_option("#show", "back")
    assert lines(page) == ["Deployment/app-2", "Deployment/app-6"]
    page.fill("#search", "app-6")
    assert lines(page) == ["Deployment/app-6"]
    page.locator(STEP).first.click()
    page.reload()
    assert lines(page) == ["Deployment/app-6"]
    assert "1.21 → 1.22" in page.inner_text("#step")
    page.fill("#search", "")
    page.select_option("#show", "all")
    assert len(lines(page)) == 8
    change = page.get_by_role("button", name="taint-toleration-weighs-3")
    change.click()
    assert lines(page) == [f"Deployment/app-{at}" for at in (1, 3, 5, 7)]
    assert change.get_attribute("aria-pressed") == "true"
    page.go_back()
    until(page, lambda: len(lines(page)) == 8)


def test_colours_by_another_label(report: Opens) -> None:
    """The legend and what bands are called follow."""
    page = report(made_timeline())
    page.select_option("#grouping", label=ZONE)
    assert page.locator("#legend li").all_inner_texts() == ["A\neu-a", "B\neu-b", "–\nno node"]
    assert steps(page, "app-1") == ["6 pods move at 1.23; then, 1.23 to 1.26: eu-b 6"]


def test_nothing_moves(report: Opens) -> None:
    """Then all workloads have a line."""
    page = report(made_timeline(1))
    assert lines(page) == ["Deployment/app-0"]
    assert page.locator(STEP).count() == 0
    assert lines(report(timeline_of())) == []


def test_many_workloads_come_in_parts(report: Opens) -> None:
    """A press shows more of them, and printing all."""
    page = report(made_timeline(400, 10))
    assert len(lines(page)) == 200
    page.click("#more")
    assert len(lines(page)) == 300
    page.reload()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert len(lines(page)) == 300


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_laid_out(scheme: str, report: Opens) -> None:
    """In a small window, a large one and on a phone, with a step opened: nothing is cut, laid over, or inaccessible."""
    found = {}
    for size in SIZES:
        page = report(made_timeline(), size, color_scheme=scheme)
        page.locator(STEP).nth(1).click()
        page.locator("#step details:not([open]) > summary").last.click()
        page.locator("#line").scroll_into_view_if_needed()
        found[size["width"]] = [*layout_faults(page), *inaccessible(page)]
    assert found == {size["width"]: [] for size in SIZES}
