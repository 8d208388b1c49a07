"""The lab's decision, step by step, and the lesson: by keys, with what is said of each part."""

from __future__ import annotations

from typing import Any

from tests.support.pages.lab_page import LabPages, Page, RunningLab, settled, show_screen, violations


def opened(lab: RunningLab, lab_pages: LabPages, title: str, pod: str = "web") -> Page:
    page = lab_pages.opened(lab)
    page.locator(".pod-choice", has_text=pod).click()
    page.locator(".pod-choice[aria-pressed=true]", has_text=pod).wait_for()
    show_screen(page, title)
    return page


def focused(page: Page) -> Any:
    return page.evaluate("document.activeElement.getAttribute('aria-label') || document.activeElement.textContent")


def test_steps_are_walked_by_keys(lab: RunningLab, lab_pages: LabPages) -> None:
    """The strip is one stop of Tab; arrows go from step to step, and each is said."""
    page = opened(lab, lab_pages, "Why")
    page.get_by_role("tab", selected=True).focus()
    page.keyboard.press("Home")
    assert page.get_by_role("tab", selected=True).inner_text().strip().startswith("✓ PreEnqueue")
    page.keyboard.press("ArrowRight")
    page.get_by_role("tab", name="Queue", selected=True).wait_for()
    page.locator("[role=status] p", has_text="Queue: passed").wait_for(state="attached")


def test_playing_ends_at_the_last_step(lab: RunningLab, lab_pages: LabPages) -> None:
    """One step after the other, until the pod is bound."""
    page = opened(lab, lab_pages, "Why")
    page.get_by_role("tab", name="Permit").click()
    page.get_by_role("button", name="Play the steps").click()
    page.get_by_role("tab", name="Bind", selected=True).wait_for()
    page.get_by_role("button", name="Play the steps").wait_for()


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
    assert violations(page) == []
    pane.get_by_role("button", name="Close the evidence").focus()
    page.keyboard.press("Escape")
    pane.wait_for(state="detached")
    assert "node(s)" in focused(page) or "Insufficient" in focused(page)


def test_every_part_of_a_total_opens_its_formula(lab: RunningLab, lab_pages: LabPages) -> None:
    """The products of the formulas add up to the total of the row."""
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


def test_a_rule_says_what_it_does(lab: RunningLab, lab_pages: LabPages) -> None:
    """The documentation is in the page, since it is not on the machine."""
    page = opened(lab, lab_pages, "Why")
    page.locator(".matrix-row.winner .row-head button").click()
    page.get_by_role("button", name="What NodeResourcesFit does").click()
    dialog = page.get_by_role("dialog", name="NodeResourcesFit")
    dialog.get_by_text("scoringStrategy").first.wait_for()
    assert violations(page) == []


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
    assert violations(page) == []
    page.locator(".pod-choice", has_text="train-1").click()
    page.get_by_label("it fits nowhere").check()
    page.get_by_role("button", name="Reveal").click()
    page.locator(".revealed.right").wait_for()


def test_points_that_all_nodes_get_do_not_hide_the_others(lab: RunningLab, lab_pages: LabPages) -> None:
    """In 1.4 and 1.16 one priority gives every node 100000; the bars are of the rest, until one asks for all."""
    page = opened(lab, lab_pages, "Why")
    page.get_by_role("button", name="change the release").click()
    page.get_by_role("menuitem", name="Decide by 1.16").click()
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
    """In the strip of a narrow window, at first and after a step to the last one."""
    page = lab_pages.opened(lab, "screen=why", viewport={"width": 390, "height": 844})
    settled(page)
    inside = """() => {
        const names = ["[role=tab][aria-selected=true]", ".strip"];
        const [of, whole] = names.map(name => document.querySelector(name).getBoundingClientRect());
        return of.left >= whole.left - 1 && of.right <= whole.right + 1;
    }"""
    page.wait_for_function(inside)
    page.get_by_role("tab", selected=True).focus()
    for key in ("End", "Home"):
        page.keyboard.press(key)
        page.wait_for_function(inside)
