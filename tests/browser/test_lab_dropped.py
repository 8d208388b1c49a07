"""A tab of the lab whose scene the server dropped, since another tab took its place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import kubescheduler as ks
from kubescheduler.lab.scene.lab_document import SceneOpenings
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.verbs import VERBS
from kubescheduler.lab.server.lab_sessions import ServerLimits
from tests.support.pages.lab_page import LabPages, Page, settled, violations
from tests.support.pages.lab_server import LabServer, lab_server

DROPPED = "The server no longer has this scene"


def start() -> Scene:
    return Scene.opened(ks.Cluster().node("a", cpu=4).node("b", cpu=2).pod("web", cpu=1).pod("other", cpu=1))


@contextmanager
def one_tab(lab_pages: LabPages) -> Iterator[tuple[LabServer, Page]]:
    """A server that keeps one scene, and a page that shows it."""
    openings = SceneOpenings(start, start, lambda _: start())
    with lab_server(VERBS, opens=openings, limits=ServerLimits(sessions=1)) as server:
        page = lab_pages.opened(server)
        settled(page)
        yield server, page
        lab_pages.close()


def change(page: Page) -> None:
    """Asks about another pod, and waits until the page has kept the scene."""
    with page.expect_response(lambda answer: answer.url.endswith("/api/share")):
        page.locator(".pod-choice", has_text="other").click()
        page.locator(".pod-choice[aria-pressed=true]", has_text="other").wait_for()
    settled(page)


def kept(page: Page) -> None:
    """Waits until the newest version is in the tab's storage."""
    page.wait_for_function(
        "() => { const one = JSON.parse(sessionStorage['lab-scene']); return one.shared === one.seen; }"
    )


def test_the_scene_is_opened_again_as_it_was_last(lab_pages: LabPages) -> None:
    """The page says what happened and what is not kept; after it, and after a reload, the change is still there."""
    with one_tab(lab_pages) as (server, page):
        change(page)
        kept(page)
        server.opened()
        page.get_by_role("heading", name=DROPPED).wait_for()
        assert "This tab kept it as it was last. Steps to undo are not kept" in page.locator("main").inner_text()
        assert violations(page) == []
        page.get_by_role("button", name="Open it again").click()
        page.locator(".pod-choice[aria-pressed=true]", has_text="other").wait_for()
        page.locator(".toasts").get_by_text("The scene is open again").wait_for()
        server.opened()
        page.get_by_role("heading", name=DROPPED).wait_for()
        page.reload()
        page.locator(".toasts").get_by_text("The server had dropped this tab's scene").wait_for()
        page.locator(".pod-choice[aria-pressed=true]", has_text="other").wait_for()


def test_a_scene_that_could_not_be_kept_is_said_to_be_lost(lab_pages: LabPages) -> None:
    """One that is too large for a link: neither now nor after a reload does another take its place unsaid."""
    with one_tab(lab_pages) as (server, page):
        page.route("**/api/share", lambda route: route.fulfill(json={"text": "", "tooLong": True, "version": 9}))
        change(page)
        server.opened()
        page.get_by_text("this tab could not keep it: the changes are lost").wait_for()
        assert page.get_by_role("button", name="Open it again").count() == 0
        page.reload()
        page.get_by_text("this tab could not keep it: the changes are lost").wait_for()
        page.get_by_role("button", name="Begin anew").click()
        page.locator(".pod-choice[aria-pressed=true]", has_text="web").wait_for()


def test_a_scene_that_was_not_changed_is_opened_as_before(lab_pages: LabPages) -> None:
    """From what it was opened from the first time, so nothing is lost."""
    with one_tab(lab_pages) as (server, page):
        server.opened()
        page.get_by_text("It was not changed since it was opened").wait_for()
        page.get_by_role("button", name="Open it again").click()
        page.locator(".pod-choice[aria-pressed=true]", has_text="web").wait_for()
