"""The lab's page for everyone: on a phone, and with each dialog open, as far as axe-core finds it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.pages.lab_page import PHONE, WIDE, LabPages, Page, RunningLab, settled, violations

SCREENS = ("cluster", "why", "tune", "hints", "time", "sides", "class")
POD, NODE = "shop/db-2", "worker-3"
DIALOGS: dict[str, tuple[str, dict[str, Any]]] = {
    "add a node": ("addNode", {}),
    "add pods": ("addPod", {}),
    "add YAML": ("addYaml", {}),
    "edit a node": ("editYaml", {"kind": "node", "name": NODE}),
    "edit a pod": ("editYaml", {"kind": "pod", "name": POD}),
    "clone": ("cloneNode", {"name": NODE}),
    "taint": ("taint", {"name": NODE}),
    "label": ("label", {"name": NODE}),
    "resize": ("resize", {"name": NODE}),
    "scale": ("scale", {"pod": POD}),
    "move": ("moveTo", {"pod": POD}),
    "a node": ("nodeDetails", {"name": NODE}),
    "a verdict": ("verdict", {"pod": POD, "node": "worker-1"}),
    "a rule": ("rule", {"rule": "NodeResourcesFit", "release": "1.36"}),
}
"""What it is for → its name in the page, and what it is about."""


def sticking_out(page: Page) -> int:
    """Pixels that the page is wider than the window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


@pytest.mark.parametrize("screen", SCREENS)
def test_nothing_is_inaccessible_on_a_phone(screen: str, lab: RunningLab, lab_pages: LabPages) -> None:
    """360 pixels wide, light and dark, with the list of pods open."""
    page = lab_pages.opened(lab, f"screen={screen}", viewport=PHONE)
    settled(page)
    page.locator(".pending h2 button").click()
    settled(page)
    assert violations(page) == []
    assert sticking_out(page) <= 0


@pytest.mark.parametrize("dialog", DIALOGS)
def test_no_dialog_is_inaccessible(dialog: str, lab: RunningLab, lab_pages: LabPages) -> None:
    """Wide and on a phone; Escape closes it."""
    name, about = DIALOGS[dialog]
    page = lab_pages.opened(lab)
    settled(page)
    page.evaluate(f"import('./dialogs.js').then(all => all.openLater({json.dumps(name)}, {json.dumps(about)}))")
    page.get_by_role("dialog").wait_for()
    for viewport in (WIDE, PHONE):
        page.set_viewport_size(viewport)
        settled(page)
        assert violations(page, ("light", "dark") if viewport is PHONE else ("light",)) == []
    assert sticking_out(page) <= 0
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")


def test_a_phone_begins_with_the_screen(lab: RunningLab, lab_pages: LabPages) -> None:
    """The pods stand after it; the bar leads there. In a wide window they stand before."""
    page = lab_pages.opened(lab, viewport={"width": 390, "height": 844})
    settled(page)
    after = "document.querySelector('main').compareDocumentPosition(document.querySelector('.pending')) & 4"
    assert page.evaluate(after)
    page.get_by_role("button", name="Pods 6").click()
    page.locator(".pod-choice").first.wait_for()
    assert page.locator(".pending h2 button").evaluate("button => button === document.activeElement")
    page.set_viewport_size(WIDE)
    page.wait_for_function(f"() => !({after})")
