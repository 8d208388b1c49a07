"""The lab's screens in three sizes and both themes: nothing sticks out, is cut, overprinted, or inaccessible."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.pages.lab_page import LabPages, Page, RunningLab, settled, show_screen, violations
from tests.support.pages.layout_faults import layout_faults

SIZES = ({"width": 1280, "height": 800}, {"width": 1920, "height": 1080}, {"width": 390, "height": 844})


def why(page: Page) -> None:
    """The checks, with the evidence of one that refuses."""
    page.locator(".pod-choice", has_text="train-1").click()
    show_screen(page, "Why")
    page.locator("#step-filter").click()
    page.locator(".cell.refuses").first.click()
    page.locator(".evidence-pane .reason").first.wait_for()


def scores(page: Page) -> None:
    """Raw scores, whose columns have long titles."""
    page.locator("#step-score").click()


def simulated(page: Page) -> None:
    """Time, with pods that come later."""
    page.locator(".what-comes > summary").click()
    page.get_by_role("button", name="Begin with an example").click()
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_selector(".plot canvas")
    page.locator(".what-comes > summary").click()


def compared(page: Page) -> None:
    """Side by side, with a second release."""
    page.get_by_role("button", name="Add a scheduler").click()
    page.get_by_role("dialog").locator("select").first.select_option("1.16")
    page.get_by_role("dialog").get_by_role("button", name="Add").click()
    page.locator(".compared-pods").wait_for()


def predicted(page: Page) -> None:
    """A prediction, and the answer."""
    page.locator("[data-node=worker-2] button").click()
    page.get_by_role("button", name="Reveal").click()
    page.locator(".revealed").wait_for()


def shared(page: Page) -> None:
    """The ways to hand the scene on."""
    page.get_by_role("button", name="Share or save the scene").click()
    page.wait_for_selector(".share-link input[readonly]")


def as_it_is(page: Page) -> None:
    """Nothing is done."""


PLACES: dict[str, tuple[str, Callable[[Page], None]]] = {
    "cluster": ("screen=cluster", as_it_is),
    "why, total": ("screen=why", as_it_is),
    "why, scores": ("screen=why", scores),
    "why, checks": ("screen=cluster", why),
    "tune": ("screen=tune", as_it_is),
    "hints": ("screen=hints", as_it_is),
    "time": ("screen=time", as_it_is),
    "time, a run": ("screen=time", simulated),
    "sides": ("screen=sides", as_it_is),
    "sides, compared": ("screen=sides", compared),
    "class": ("screen=class", predicted),
    "code": ("screen=code", as_it_is),
    "an exercise": ("exercise=02-taints", as_it_is),
    "code of an exercise": ("exercise=08-predicate&screen=code", as_it_is),
    "share": ("screen=cluster", shared),
}
"""What is looked at → the address, and what is done there first."""


@pytest.mark.parametrize("place", PLACES)
def test_a_place_is_laid_out(place: str, lab: RunningLab, lab_pages: LabPages) -> None:
    """In a small window, a large one and on a phone, one after the other in the same page, in light and dark."""
    address, prepare = PLACES[place]
    page = lab_pages.opened(lab, address, viewport=SIZES[0])
    settled(page)
    prepare(page)
    found = {}
    for size in SIZES:
        page.set_viewport_size(size)
        settled(page)
        found[size["width"]] = [*layout_faults(page), *violations(page)]
    assert found == {size["width"]: [] for size in SIZES}


def test_the_selected_is_in_view_on_a_phone(lab: RunningLab, lab_pages: LabPages) -> None:
    """The screen in the bar, and the step of a decision, also when the window becomes narrow."""
    page = lab_pages.opened(lab, "screen=why", viewport=SIZES[0])
    settled(page)
    page.set_viewport_size(SIZES[2])
    for selected in (".screens [aria-current]", ".strip [aria-selected=true]"):
        page.wait_for_function(
            """selected => {
                const one = document.querySelector(selected);
                const [box, strip] = [one, one.parentElement].map(each => each.getBoundingClientRect());
                return box.left >= strip.left && box.right <= strip.right;
            }""",
            arg=selected,
        )


def test_cards_follow_the_size_of_the_type(lab: RunningLab, lab_pages: LabPages) -> None:
    """Which grows with the window: what a card has to hold is as high as in a window that was opened so."""
    page = lab_pages.opened(lab, viewport=SIZES[0])
    heights = []
    for size in (SIZES[0], SIZES[1], SIZES[0]):
        page.set_viewport_size(size)
        settled(page)
        heights.append(page.locator("article.node").first.evaluate("card => card.offsetHeight"))
    assert heights[0] == heights[2] < heights[1]


def test_faults_of_a_layout_are_found(lab_pages: LabPages, browser: object) -> None:
    """What the test above looks for is seen where it is."""
    page = browser.new_page(viewport=SIZES[2])  # type: ignore[attr-defined]
    page.set_content(
        """<!doctype html><body style="margin: 0; font: 16px/20px monospace">
        <p style="position: absolute; top: 0">one text</p><p style="position: absolute; top: 6px">another text</p>
        <p style="position: absolute; top: 100px; width: 60px; overflow: hidden; white-space: pre">text that is cut</p>
        <p style="position: absolute; top: 140px; width: 60px; overflow: auto; white-space: pre">a text that scrolls</p>
        <p style="position: absolute; top: 200px">hidden</p>
        <p style="position: absolute; top: 206px; background: white">above it</p>
        <p style="position: absolute; top: 300px; width: 500px; background: red">&nbsp;</p>"""
    )
    assert layout_faults(page) == [
        "the page is 110 pixels wider than the window",
        "cut: text that is cut",
        "one text lies over another text",
    ]
    page.close()
