"""A scene as one HTML file, opened from the disk without a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kubescheduler as ks
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.share_verbs import replayed_text
from kubescheduler.lab.scene.verbs import VERBS
from tests.support.pages.lab_page import MILLISECONDS, Page, show_screen, violations

HOSTILE = "</script><img src=x onerror=document.title='taken'>"
NOT_KEPT = "holds no answer"
SCREENS = ("Cluster", "Why", "Tune", "Hints", "Time", "Side by side")


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scene of two releases, with a title that is markup."""
    cluster = ks.Cluster(release="1.36").node("a", cpu=4, memory="8Gi").node("b", cpu=8, memory="8Gi")
    cluster = cluster.pod("web", cpu=1).pod("big", cpu=99)
    scene = Scene.opened(cluster, sides=[EngineSpec("1.36"), EngineSpec("1.16")], title=HOSTILE)
    path = tmp_path_factory.mktemp("replay") / "scene.html"
    path.write_text(replayed_text(scene, VERBS), encoding="utf-8")
    return path


@pytest.fixture
def page(document: Path, browser: Any) -> Iterator[Page]:
    """The file in a browser that reaches nothing; at the end nothing was asked for or written to the console."""
    context = browser.new_context(offline=True, viewport={"width": 1300, "height": 900}, reduced_motion="reduce")
    page, faults = context.new_page(), []
    page.set_default_timeout(MILLISECONDS)
    page.on("console", lambda message: faults.append(message.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda asked: asked.url.startswith(("data:", "file:")) or faults.append(asked.url))
    page.goto(document.as_uri())
    page.wait_for_selector("main#main")
    yield page
    context.close()
    assert faults == []


def test_every_screen_is_shown(page: Page) -> None:
    """With what the scene said, markup as text; and nothing can be changed."""
    assert HOSTILE in page.locator(".brand").inner_text()
    for title in SCREENS:
        show_screen(page, title)
        assert NOT_KEPT not in page.locator("body").inner_text(), title
        assert page.get_by_role("button", name="Undo").count() == 0
    assert "taken" not in page.title()


def test_the_other_side_is_shown(page: Page) -> None:
    """Its own decision."""
    show_screen(page, "Tune")
    assert page.locator(".weight").count() > 0
    before = page.locator(".weights").inner_text()
    page.locator(".bar .side").get_by_text("1.16").click()
    page.wait_for_function("text => document.querySelector('.weights')?.innerText !== text", arg=before)
    assert page.get_by_role("slider").first.is_disabled()


def test_what_is_not_kept_is_said(page: Page) -> None:
    """In words, where the answer would stand."""
    show_screen(page, "Hints")
    page.get_by_text("On a node", exact=True).click()
    field = page.locator(".node-field input")
    field.fill("b")
    field.press("Enter")
    page.wait_for_selector(f"text={NOT_KEPT}")


@pytest.mark.parametrize("title", ["Tune", "Time", "Side by side"])
def test_nothing_in_it_is_inaccessible(page: Page, title: str) -> None:
    """As far as axe-core finds it."""
    show_screen(page, title)
    assert violations(page) == []
