"""The lab's decision, step by step, and the lesson: by keys, with what is said of each part."""

from __future__ import annotations

import json
import multiprocessing
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import kubescheduler as ks
from kubescheduler.cli import run
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.verbs import VERBS
from tests.support.pages.lab_page import PHONE, WIDE, LabPages, Page, RunningLab, decide_by, settled, show_screen
from tests.support.pages.lab_server import lab_server
from tests.support.pages.layout_faults import until
from tests.support.pages.recorded_scenes import RecordedScene, drawn_scenes
from tests.support.releases_tried import RELEASES_TRIED


def opened(lab: RunningLab, lab_pages: LabPages, title: str, pod: str = "web") -> Page:
    page = lab_pages.opened(lab)
    page.locator(".pod-choice", has_text=pod).click()
    page.locator(".pod-choice[aria-pressed=true]", has_text=pod).wait_for()
    show_screen(page, title)
    return page


def focused(page: Page) -> Any:
    return page.evaluate("document.activeElement.getAttribute('aria-label') || document.activeElement.textContent")


def test_steps_are_walked_by_keys(lab: RunningLab, lab_pages: LabPages) -> None:
    """The strip is one stop of Tab; arrows go from step to step, and each is said. Played, they end with the last."""
    page = opened(lab, lab_pages, "Why")
    page.get_by_role("tab", selected=True).focus()
    page.keyboard.press("Home")
    assert page.get_by_role("tab", selected=True).inner_text().strip().startswith("✓ PreEnqueue")
    page.keyboard.press("ArrowRight")
    page.get_by_role("tab", name="Queue", selected=True).wait_for()
    page.locator("[role=status] p", has_text="Queue: passed").wait_for(state="attached")
    page.get_by_role("tab", name="Permit").click()
    page.get_by_role("button", name="Play the steps").click()
    page.get_by_role("tab", name="Bind", selected=True).wait_for()
    page.get_by_role("button", name="Play the steps").wait_for()


def test_a_search_changes_what_is_listed_and_not_what_is_said(lab: RunningLab, lab_pages: LabPages) -> None:
    """Of the nodes by that name, those that fit have a row with scores; how many fit is said of all nodes."""
    page = opened(lab, lab_pages, "Why")
    nodes = lab.ask("decision", tab=page.evaluate("sessionStorage.getItem('lab-tab')"))["nodes"]
    said = page.locator(".outcome").inner_text()
    assert f"{sum(node['fits'] for node in nodes)} of 12 nodes fit" in said
    heads = page.locator(".matrix-row .row-head")
    for node in (nodes[0], nodes[-1]):
        page.get_by_label("Find nodes by name").fill(node["name"])
        page.locator("[role=grid][aria-rowcount='2']" if node["fits"] else "text=No node that fits has").wait_for()
        settled(page)
        assert [node["name"] in head for head in heads.all_inner_texts()] == [True] * node["fits"]
        assert page.locator(".outcome").inner_text() == said


def test_preemption_says_who_would_go_and_by_which_rule(lab_pages: LabPages) -> None:
    """Of two nodes that are alike a release may pick either, which is said."""
    cluster = ks.Cluster(release="1.36").node("a", cpu=1).node("b", cpu=1).pod("high", cpu=1, priority=10)
    cluster = cluster.pod("low-a", node="a", cpu=1).pod("low-b", node="b", cpu=1)
    with lab_server(VERBS, lambda: Scene.opened(cluster, sides=[EngineSpec("1.36")])) as server:
        page = lab_pages.opened(server, "screen=why")
        page.locator("#step-postFilter").click()
        panel = page.locator("#step-panel")
        panel.get_by_text("release 1.36 may pick any of 2; here the first by name").wait_for()
        rows = panel.locator("tbody tr").all_inner_texts()
        assert [" ".join(row.split()) for row in rows] == [
            "✓ a default/low-a priority 0",
            "✓ b default/low-b priority 0",
        ]
        lab_pages.close()


def test_cells_of_the_matrix_open_their_evidence(lab: RunningLab, lab_pages: LabPages) -> None:
    """Arrows walk the cells of the grid, Enter opens, Escape closes and goes back to the cell."""
    page = opened(lab, lab_pages, "Why", "train-1")
    page.locator("#step-filter").click()
    grid = page.get_by_role("grid")
    grid.locator("[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    label = focused(page)
    assert "NodeUnschedulable" in label
    page.locator(".cell.refuses").first.click()
    pane = page.get_by_role("complementary", name="Evidence")
    pane.locator(".reason").first.wait_for()
    pane.get_by_role("button", name="Close the evidence").focus()
    page.keyboard.press("Escape")
    pane.wait_for(state="detached")
    assert "node(s)" in focused(page) or "Insufficient" in focused(page)


def test_every_part_of_a_total_opens_its_formula(lab: RunningLab, lab_pages: LabPages) -> None:
    """The products of the formulas add up to the total of the row. What a rule does is told beside, from its
    documentation, which is in the page, since it is not on the machine."""
    page = opened(lab, lab_pages, "Why")
    row = page.locator(".matrix-row.winner")
    row.wait_for()
    total = int(row.locator(".tail").inner_text())
    row.locator(".row-head button").click()
    pane = page.get_by_role("complementary", name="Evidence")
    pane.locator(".formula").first.wait_for()
    settled(page)
    products = [int(text.removeprefix("= ")) for text in pane.locator(".formula li:last-child b").all_inner_texts()]
    assert sum(products) == total
    page.get_by_role("button", name="What NodeResourcesFit does").click()
    dialog = page.get_by_role("dialog", name="NodeResourcesFit")
    dialog.get_by_text("scoringStrategy").first.wait_for()


def test_a_prediction_is_compared_with_the_answer(lab: RunningLab, lab_pages: LabPages) -> None:
    """The list of pods does not give the answer away; wrong and right predictions are counted."""
    page = opened(lab, lab_pages, "Class")
    assert page.locator(".pod-choice .verdict").count() == 0
    page.locator("[data-node=worker-1]").get_by_role("button").click()
    page.get_by_role("button", name="Reveal").click()
    page.locator(".revealed .verdict").wait_for()
    settled(page)
    answer = page.locator(".revealed .verdict").inner_text()
    assert "0 of 1" in page.locator(".lesson-head").inner_text() or "Right" in answer
    page.locator(".pod-choice", has_text="train-1").click()
    page.get_by_label("it fits nowhere").check()
    page.get_by_role("button", name="Reveal").click()
    page.locator(".revealed.right").wait_for()


def test_points_that_all_nodes_get_do_not_hide_the_others(lab: RunningLab, lab_pages: LabPages) -> None:
    """In 1.4 and 1.16 one priority gives every node 100000; the bars are of the rest, until one asks for all."""
    page = opened(lab, lab_pages, "Why")
    decide_by(page, "1.16")
    page.get_by_text("Not in the bars").wait_for()
    settled(page)
    widths = "rows => rows.map(row => row.querySelectorAll('.segment:not(.nothing)').length)"
    assert max(page.eval_on_selector_all(".matrix-body .matrix-row", widths)) > 1
    assert "(100000)" in page.get_by_text("Not in the bars").inner_text()
    page.get_by_label("only where nodes differ").uncheck()
    page.get_by_text("Not in the bars").wait_for(state="detached")


def test_normalised_scores_add_up(lab: RunningLab, lab_pages: LabPages) -> None:
    """The number at the end of a row is the sum of those in it."""
    page = opened(lab, lab_pages, "Why")
    page.locator("#step-normalise").click()
    page.locator(".matrix-head", has_text="Sum").wait_for()
    rows = page.locator(".matrix-body .matrix-row").all()
    assert len(rows) > 1
    for row in rows:
        cells = row.locator(".cell.lane b").all_inner_texts()
        assert sum(map(int, cells)) == int(row.locator(".tail").inner_text())


def test_a_rule_has_one_letter_and_colour(lab: RunningLab, lab_pages: LabPages) -> None:
    """In Why, Tune and beside its weight, also with other weights and of another release's rules."""
    page = opened(lab, lab_pages, "Why")
    page.locator("#step-select").click()
    script = """() => [...document.querySelectorAll(".rule-key li, .rule-name")]
        .filter(each => each.querySelector(".swatch"))
        .map(each => { const swatch = each.querySelector(".swatch");
            return [each.textContent.replace(swatch.textContent, "").split("×")[0].trim(),
                    `${swatch.textContent} ${getComputedStyle(swatch).backgroundColor}`]; })"""
    first = dict(page.evaluate(script))
    assert len(first) > 3
    show_screen(page, "Tune")
    page.locator(".ranking .stack").first.wait_for()
    again = page.evaluate(script)
    assert len(again) > len(first)
    for rule, look in again:
        assert look == first.setdefault(rule, look)
    assert len(set(first.values())) == len(first)


def test_the_selected_step_is_in_view(lab: RunningLab, lab_pages: LabPages) -> None:
    """In a narrow window the screen in the bar and the step in the strip: at first, after a step to the last one, and
    when the window becomes narrow."""
    page = lab_pages.opened(lab, "screen=why", viewport=PHONE)
    settled(page)
    inside = """selected => {
        const one = document.querySelector(selected);
        const [of, whole] = [one, one.parentElement].map(each => each.getBoundingClientRect());
        return of.left >= whole.left - 1 && of.right <= whole.right + 1;
    }"""
    step, screen = ".strip [role=tab][aria-selected=true]", ".screens [aria-current]"
    for selected in (step, screen):
        page.wait_for_function(inside, arg=selected)
    page.get_by_role("tab", selected=True).focus()
    for key in ("End", "Home"):
        page.keyboard.press(key)
        page.wait_for_function(inside, arg=step)
    page.set_viewport_size(WIDE)
    settled(page)
    page.set_viewport_size(PHONE)
    for selected in (step, screen):
        page.wait_for_function(inside, arg=selected)


COUNT = 2
"""Scenarios of each release."""
SHOWN = 30
"""Rows of the ranking."""

ROWS = """rows => rows.map(row => [row.dataset.node, row.querySelector(".total").textContent])"""


def said(drawn: RecordedScene, folder: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """What the command says of the pod."""
    run(["schedule", *drawn.arguments(folder), "--preempt", "-o", "json"])
    (found,) = json.loads(capsys.readouterr().out)["items"]
    return found


def shown(page: Page) -> tuple[str, dict[str, int]]:
    """(what the page says of where the pod goes, node → total), best first."""
    page.wait_for_selector("p.verdict")
    settled(page)
    rows = [(node, int(total)) for node, total in page.eval_on_selector_all("ol.ranking li", ROWS)]
    assert [total for _, total in rows] == sorted((total for _, total in rows), reverse=True)
    return page.locator("p.verdict").inner_text(), dict(rows)


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_totals_of_recorded_scenarios(
    release: str, lab_pages: LabPages, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Some of all releases: where the pod goes or why not, and the totals of the nodes in the ranking."""
    usable = (drawn for drawn in drawn_scenes(release, 3 * COUNT) if not drawn.scene().problems("a"))
    drawn = list(islice(usable, COUNT))
    scenes, turn = [one.scene() for one in drawn], multiprocessing.get_context("fork").Value("i", 0)

    def next_scene() -> Any:
        with turn.get_lock():
            turn.value += 1
            return scenes[turn.value - 1]

    with lab_server(VERBS, next_scene) as server:
        page: Page = None
        for one in drawn:
            if page is None:
                page = lab_pages.opened(server, "screen=tune")
            else:
                page.goto("about:blank")
                page.goto(f"{server.address}&screen=tune")
            expected = said(one, tmp_path, capsys)
            verdict, totals = shown(page)
            assert " ".join((expected["host"] or expected["message"]).split()) in " ".join(verdict.split()), one.name
            if expected["total"]:
                kept = sorted(expected["total"].values(), reverse=True)[:SHOWN]
                assert sorted(totals.values(), reverse=True) == kept, one.name
                assert totals.items() <= expected["total"].items(), one.name
        lab_pages.close()


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
        last = page.locator("[aria-label^='small,'], .row-head:has-text('small')").first
        page.mouse.move(500, 700)

        def scrolled_to_the_last() -> bool:
            page.mouse.wheel(0, 100_000)
            return bool(last.is_visible())

        until(page, scrolled_to_the_last)  # a turn of the wheel does nothing while the rows are not laid out yet
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
