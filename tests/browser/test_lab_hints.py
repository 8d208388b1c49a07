"""Hints and Side by side in a browser."""

from __future__ import annotations

from tests.support.pages.lab_page import LabPages, Page, RunningLab, settled, show_screen, violations


def chosen(page: Page, pod: str) -> None:
    """Asks about a pending pod."""
    page.locator(".pod-choice", has_text=pod).first.click()
    settled(page)


def test_an_applied_hint_makes_the_pod_fit(lab: RunningLab, lab_pages: LabPages) -> None:
    """It then goes to the node that the hint names, and one step back takes it away."""
    page = lab_pages.opened(lab, "screen=hints")
    settled(page)
    chosen(page, "train-1")
    page.wait_for_selector(".hint")
    host = page.locator(".hint .goes b").first.inner_text()
    page.get_by_role("button", name="Apply hint 1:").click()
    page.wait_for_selector(f".pod-choice[aria-pressed=true] >> text=would go to {host}")
    settled(page)
    assert "Nothing has to change" in page.locator("main").inner_text()
    page.get_by_role("button", name="Undo: ").click()
    page.wait_for_selector(".hint")
    settled(page)
    assert "fits nowhere" in page.locator(".pod-choice[aria-pressed=true]").inner_text()


def test_a_pod_is_wanted_on_a_node(lab: RunningLab, lab_pages: LabPages) -> None:
    """Each hint then leads to that node."""
    page = lab_pages.opened(lab, "screen=hints")
    settled(page)
    chosen(page, "train-1")
    page.get_by_text("On a node", exact=True).click()
    page.get_by_role("searchbox", name="Node").or_(page.get_by_role("combobox", name="Node")).first.fill("worker-1")
    page.wait_for_selector(".hints h2 >> text=worker-1")
    settled(page)
    hosts = {each.inner_text() for each in page.locator(".hint .goes b").all()}
    assert hosts <= {"worker-1"}


def test_another_release_is_added_beside(lab: RunningLab, lab_pages: LabPages) -> None:
    """Pods that differ come first, with their causes. A scheduler's name is shown where it is chosen; it is then
    configured by what the other becomes in its release, and that is one step back; a side is removed again."""
    page = lab_pages.opened(lab)
    show_screen(page, "Side by side")
    page.get_by_role("button", name="Add a scheduler").click()
    page.locator("dialog select").first.select_option("1.16")
    page.get_by_role("button", name="Add", exact=True).click()
    page.wait_for_selector(".compared-pods tbody")
    settled(page)
    rows = page.locator(".compared-pods tbody")
    assert "differs" in (rows.first.get_attribute("class") or "")
    assert page.locator(".compared-pods .causes li").count() > 0
    page.locator(".compared-pods tbody.differs th button").first.click()
    page.wait_for_selector(".pod-decision ol")
    settled(page)
    assert page.locator(".pod-decision").count() == 2
    page.get_by_role("button", name="What to do with").nth(0).click()
    page.get_by_role("menuitem", name="Rename …").click()
    page.get_by_role("dialog").get_by_label("Name").fill("new shop")
    assert violations(page) == []
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    page.locator(".side-head h2", has_text="new shop").wait_for()
    settled(page)
    assert page.locator(".bar .side").get_by_text("new shop").count() == 1
    before = page.locator(".side-head .described").first.inner_text()
    page.get_by_role("button", name="What to do with").nth(1).click()
    page.get_by_role("menuitem", name="Migrate release 1.16 to new shop").click()
    page.locator(".toast", has_text="igrat").wait_for()
    settled(page)
    assert "configuration" in page.locator(".side-head .described").first.inner_text().replace(
        "default configuration", ""
    )
    page.get_by_role("button", name="Undo: ").click()
    settled(page)
    assert page.locator(".side-head .described").first.inner_text() == before
    page.get_by_role("button", name="What to do with").nth(1).click()
    page.get_by_role("menuitem", name="Remove").click()
    settled(page)
    assert page.locator(".side-head").count() == 1
