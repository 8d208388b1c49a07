"""The bars of the totals in the lab: what they are of is judged by every node that fits, not by the rows in view."""

from __future__ import annotations

import pytest

import kubescheduler as ks
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.verbs import VERBS
from tests.support.pages.lab_page import LabPages, Page, settled, show_screen
from tests.support.pages.lab_server import lab_server

MANY = 200


def cluster() -> ks.Cluster:
    """Many nodes, of which the last in the ranking alone has another score by two rules."""
    found = ks.Cluster(release="1.16")
    for at in range(MANY):
        found = found.node(f"n{at:03}", cpu=8, memory="8Gi")
    return found.node("small", cpu=2, memory="4Gi").pod("web", cpu=1, memory="1Gi")


def bars(page: Page) -> tuple[str, str]:
    """(what is not in the bars, how wide the parts of the first node's bar are)"""
    row = page.locator(".matrix-body .matrix-row").first
    widths = "parts => parts.map(part => part.style.width).join()"
    return page.get_by_text("Not in the bars").inner_text(), row.locator(".segment").evaluate_all(widths)


def test_bars_stay_while_one_scrolls(lab_pages: LabPages) -> None:
    """A rule by which only the last of two hundred nodes differs is in the bars from the beginning."""
    scene = Scene.opened(cluster())
    rules = {rule["id"]: rule["alike"] for rule in VERBS["decision"](scene, {})["rules"]}
    assert rules["NodePreferAvoidPodsPriority"] == 100_000
    assert rules["LeastRequestedPriority"] is None
    with lab_server(VERBS, lambda: Scene.opened(cluster())) as server:
        page = lab_pages.opened(server)
        show_screen(page, "Why")
        before = bars(page)
        assert "(100000)" in before[0]
        page.mouse.move(500, 700)
        page.mouse.wheel(0, 100_000)
        page.locator("[aria-label^='small,'], .row-head:has-text('small')").first.wait_for()
        settled(page)
        assert bars(page)[0] == before[0]
        page.mouse.wheel(0, -100_000)
        page.locator(".row-head:has-text('n000')").first.wait_for()
        settled(page)
        assert bars(page) == before
        lab_pages.close()


@pytest.mark.parametrize("release", ["1.16", "1.36"])
def test_nodes_that_tie_are_named_with_the_choice(release: str, lab_pages: LabPages) -> None:
    """Both are marked in the ranking, and the note says by what the release takes one of them."""
    choice = {"1.16": "draws one of them, each with equal chance", "1.36": "takes the one at the root of the heap"}
    found = ks.Cluster(release=release).node("b", cpu=4).node("a", cpu=4).node("c", cpu=2).pod("web", cpu=1)
    with lab_server(VERBS, lambda: Scene.opened(found)) as server:
        page = lab_pages.opened(server)
        show_screen(page, "Why")
        page.locator("#step-select").click()
        note = page.locator("#step-panel .note").first
        assert "= 2 nodes share the highest total: a, b." in note.inner_text()
        assert f"kube-scheduler {release} {choice[release]}" in note.inner_text()
        page.locator(".matrix-row.best").nth(1).wait_for()
        heads = [" ".join(text.split()) for text in page.locator(".matrix-row.best .row-head").all_inner_texts()]
        assert heads == ["1 = a ✓ chosen , one of 2 that tie", "1 = b , one of 2 that tie"]
        lab_pages.close()
