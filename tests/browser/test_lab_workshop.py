"""The workshop in the page: slides that are printed, and the board of a class."""

from __future__ import annotations

from kubescheduler.lab.exercises.exercise_reading import shipped_names
from tests.support.pages.lab_page import LabPages, RunningLab, settled, violations


def test_slides_have_a_page_for_each_exercise(lab: RunningLab, lab_pages: LabPages) -> None:
    """Each with its task, turned by the arrow keys, and in print nothing but them."""
    page = lab_pages.opened(lab, "screen=class")
    settled(page)
    page.get_by_role("button", name="Slides of the workshop").click()
    page.wait_for_selector(".slide")
    settled(page)
    assert page.locator(".slide").count() == len(shipped_names())
    page.locator(".slide").first.focus()
    page.keyboard.press("ArrowRight")
    assert "2 Taints and tolerations" in (page.evaluate("document.activeElement.getAttribute('aria-label')") or "")
    assert violations(page) == []
    page.emulate_media(media="print")
    assert page.locator(".slide").first.is_visible()
    assert not page.get_by_role("button", name="Print handouts").is_visible()
    page.emulate_media(media="screen")
    page.get_by_role("button", name="Back to the lesson").click()
    assert page.locator(".slide").count() == 0
