"""Tune in a browser: sliders, thresholds, the text beside them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.pages.lab_page import (
    LabPages,
    Page,
    RunningLab,
    decide_by,
    held,
    hold_answer,
    let_go,
    open_releases,
    settled,
    violations,
)

POD = "shop/web-6d5f9-wq6rb"
REFUSAL = {"refused": "asked", "problems": ["refused by the test"]}
"""What the server says of a change that it does not make."""


@pytest.fixture
def page(lab: RunningLab, lab_pages: LabPages) -> Page:
    """Tune, with a pod that fits several nodes."""
    found = lab_pages.opened(lab, "screen=tune")
    settled(found)
    found.get_by_role("button", name=POD.partition("/")[2]).first.click()
    found.wait_for_selector(".ranking li")
    settled(found)
    return found


def ranking(page: Page) -> list[str]:
    """The nodes from the best on."""
    return [each.get_attribute("data-node") for each in page.locator(".ranking > li").all()]


def slid(page: Page, rule: str, weight: int) -> None:
    """Moves a slider to a weight in many steps, as a hand does."""
    page.get_by_role("slider", name=rule, exact=True).evaluate(
        """async (slider, weight) => {
            slider.focus();
            const from = Number(slider.value);
            slider.max = Math.max(Number(slider.max), weight);
            for (let at = from; at !== weight; at += Math.sign(weight - from)) {
                slider.value = at + Math.sign(weight - from);
                slider.dispatchEvent(new Event("input", {bubbles: true}));
                await new Promise(requestAnimationFrame);
            }
        }""",
        weight,
    )
    settled(page)


def test_a_slider_reorders_the_nodes(page: Page) -> None:
    """The rows say where they were, the last of many answers counts, and one step back undoes the whole drag."""
    before = ranking(page)
    row = page.locator(".weight", has=page.locator(".thresholds button")).first
    rule, now = row.locator("label").inner_text(), row.get_by_role("spinbutton").input_value()
    wanted = (row.locator(".thresholds button").first.get_attribute("title") or "").rpartition(" ")[2]
    slid(page, rule, int(wanted))
    page.wait_for_selector(".moved")
    after = ranking(page)
    assert after != before
    assert sorted(after) == sorted(before)
    number = page.get_by_role("spinbutton", name=f"Weight of {rule}")
    assert number.input_value() == wanted
    moved = page.locator(".ranking > li", has=page.locator(".moved")).first
    was = int(moved.locator(".moved").inner_text().split("was")[1])
    assert before[was - 1] == moved.get_attribute("data-node")
    page.get_by_role("button", name="Undo").first.click()
    settled(page)
    assert ranking(page) == before
    assert number.input_value() == now


def test_a_weight_that_is_refused_is_not_shown(page: Page) -> None:
    """Slider and number are what counts again."""
    number = page.get_by_role("spinbutton", name="Weight of NodeResourcesFit")
    before = number.input_value()
    page.route("**/api/edit", lambda route: route.fulfill(json=REFUSAL))
    slider = page.get_by_role("slider", name="NodeResourcesFit", exact=True)
    slider.focus()
    slider.press("ArrowRight")
    page.get_by_text("refused by the test").first.wait_for()
    settled(page)
    assert (number.input_value(), slider.input_value()) == (before, before)


def test_an_argument_that_is_changed_again(page: Page) -> None:
    """While both answers are awaited the field shows what was typed last."""
    asked: list[Any] = []
    page.route("**/api/edit", lambda route: asked.append(route.request))
    page.locator(".arguments details", has_text="InterPodAffinity").locator("summary").click()
    field = page.locator(".arguments label.field", has_text="hardPodAffinityWeight").locator("input")
    for text in ("5", "7"):
        field.fill(text)
        field.press("Tab")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert (len(asked), field.input_value()) == (2, "7")


def test_an_argument_within_another(page: Page) -> None:
    """The kind of a strategy: what is chosen is written in the profile."""
    page.locator(".arguments details", has_text="NodeResourcesFit").locator("summary").click()
    field = page.locator(".arguments label.field", has_text="scoringStrategy.type").locator("select")
    field.select_option("MostAllocated")
    settled(page)
    page.locator(".tune-text .cm-line", has_text="type: MostAllocated").wait_for()
    assert field.input_value() == "MostAllocated"


def test_arguments_that_are_only_taken_together(page: Page) -> None:
    """A type of scoring strategy that needs a shape stays in its field when it is refused, and is kept with the shape;
    back to another type likewise."""
    page.locator(".arguments details", has_text="NodeResourcesFit").locator("summary").click()
    fields = page.locator(".arguments label.field")
    kind = fields.filter(has_text="scoringStrategy.type").locator("select")
    shape = fields.filter(has_text="requestedToCapacityRatio.shape").locator("textarea")
    for chosen, points in (
        ("RequestedToCapacityRatio", '[{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]'),
        ("MostAllocated", ""),
    ):
        kind.select_option(chosen)
        page.get_by_text("not kept; it is tried again together with the next argument").wait_for()
        assert kind.input_value() == chosen
        shape.fill(points)
        shape.press("Tab")
        page.locator(".tune-text .cm-line", has_text=f"type: {chosen}").wait_for()
        settled(page)
        assert page.get_by_text("not kept; it is tried again").count() == 0
        assert (kind.input_value(), bool(shape.input_value())) == (chosen, bool(points))


def test_an_argument_that_is_being_typed(page: Page) -> None:
    """Answers to what was said before do not change it, nor what else is drawn anew meanwhile."""
    page.locator(".arguments details", has_text="InterPodAffinity").locator("summary").click()
    field = page.locator(".arguments label.field", has_text="hardPodAffinityWeight").locator("input")
    hold_answer(page, "edit")
    field.fill("5")
    field.press("Tab")
    held(page)
    field.press("Control+a")
    page.keyboard.type("71")
    let_go(page)
    assert field.input_value() == "71"
    field.press("Tab")
    settled(page)
    assert field.input_value() == "71"


def test_a_threshold_makes_its_node_win(page: Page) -> None:
    """The weight that a threshold names, set by a click on it, makes that node the first."""
    threshold = page.locator(".thresholds button").first
    node = threshold.inner_text().split("makes ")[1].removesuffix(" win")
    assert ranking(page)[0] != node
    threshold.click()
    page.wait_for_function("node => document.querySelector('.ranking > li').dataset.node === node", arg=node)


def test_text_and_form_are_in_step(page: Page) -> None:
    """A slider changes the text; a text changes the slider; a fault in it is said at its place and is not kept."""
    page.wait_for_selector(".editor-host:not([hidden]) .cm-content")
    slid(page, "NodeResourcesFit", 7)
    content = page.locator(".tune-text .cm-content", has_text="weight: 7")
    content.wait_for()
    text = content.inner_text()
    content = page.locator(".tune-text .cm-content")
    content.fill(text.replace("weight: 7", "weight: 9"))
    number = page.get_by_role("spinbutton", name="Weight of NodeResourcesFit")
    page.wait_for_function("field => field.value === '9'", arg=number.element_handle())
    content.fill(text.replace("weight: 7", "weight: many"))
    page.wait_for_selector(".editor-problems li")
    assert "weight" in page.locator(".editor-problems li").first.inner_text()
    assert number.input_value() == "9"
    page.get_by_role("button", name="Back to what counts").click()
    settled(page)
    assert page.locator(".editor-problems li").count() == 0


def test_a_check_is_switched_off(page: Page) -> None:
    """Its box stays as it was left while the answer is awaited, whatever else is drawn anew meanwhile."""
    box = page.get_by_role("checkbox", name="NodeUnschedulable")
    hold_answer(page, "edit")
    box.uncheck()
    held(page)
    page.get_by_role("slider", name="NodeResourcesFit", exact=True).focus()
    with page.expect_response("**/api/tune"):
        page.keyboard.press("ArrowRight")
    page.get_by_role("button", name="Undo: ").wait_for()
    assert not box.is_checked()
    let_go(page)
    assert not box.is_checked()
    for _ in ("the weight", "the check"):
        page.get_by_role("button", name="Undo: ").click()
        settled(page)
    assert box.is_checked()


def test_a_release_that_cannot_read_it_offers_the_migrated_configuration(page: Page) -> None:
    """Why it cannot, and one button; undone, the configuration is what it was."""
    decide_by(page, "1.16")
    slid(page, "LeastRequestedPriority", 3)
    open_releases(page)
    page.get_by_text("cannot read the configuration").click()
    page.get_by_role("button", name="Decide by 1.36").click()
    dialog = page.get_by_role("dialog")
    dialog.locator(".problems li").first.wait_for()
    assert violations(page) == []
    dialog.get_by_role("button", name="Use what migrating makes of it").click()
    dialog.wait_for(state="detached")
    settled(page)
    page.locator(".tune-text", has_text="KubeSchedulerConfiguration, release 1.36").wait_for()
    page.get_by_role("button", name="Undo: ").click()
    page.locator(".tune-text", has_text="Policy, release 1.16").wait_for()
