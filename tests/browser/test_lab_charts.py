"""Charts of the lab's page as SVG files: whole, with what the page shows, and nothing from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import pytest

from kubescheduler.lab.scene.verbs import VERBS
from tests.browser.test_lab_hostile import EVIL, hostile
from tests.support.pages.lab_page import LabPages, Page, RunningLab, settled, show_screen
from tests.support.pages.lab_server import lab_server

SVG = "{http://www.w3.org/2000/svg}"
ELEMENTS = {SVG + name for name in ("svg", "g", "title", "desc", "text", "tspan", "rect", "path")}
POD = "web-6d5f9-wq6rb"


def texts_of(page: Page, what: str) -> list[str]:
    """The texts of the chart that a button saves, once its document was found to stand alone."""
    with page.expect_download() as saved:
        page.get_by_role("button", name=f"Save as SVG: {what}", exact=True).click()
    text = saved.value.path().read_text(encoding="utf-8")
    assert saved.value.suggested_filename.endswith(".svg")
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert {element.tag for element in root.iter()} <= ELEMENTS
    names = {name for element in root.iter() for name in element.attrib}
    assert not [name for name in names if "href" in name or name.startswith("on") or name in {"style", "class"}]
    values = " ".join(value for element in root.iter() for value in element.attrib.values())
    assert re.findall(r"url\(|var\(|color-mix|oklab|NaN|undefined|null", values) == []
    assert root.findtext(f"{SVG}title")
    assert root.findtext(f"{SVG}desc")
    return ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]


def asked_about(page: Page, pod: str) -> None:
    """Asks about one of the pods that wait."""
    page.locator(".pod-choice", has_text=pod).click()
    page.locator(".pod-choice[aria-pressed=true]", has_text=pod).wait_for()
    settled(page)


@pytest.fixture(scope="module")
def page(lab: RunningLab, browser: Any) -> Iterator[Page]:
    """What all charts of decisions are saved from, one after the other; at the end nothing was noted of it."""
    pages = LabPages(browser)
    yield pages.opened(lab)
    pages.close()
    assert pages.faults == []


def test_totals(page: Page) -> None:
    """Of the last step: each node with its total, each rule with its letter and weight."""
    asked_about(page, POD)
    show_screen(page, "Why")
    page.locator("#step-select").click()
    rows = page.locator(".matrix-body .matrix-row")
    rows.first.wait_for()
    texts = texts_of(page, "totals")
    for at in range(rows.count()):
        name = rows.nth(at).locator(".row-head").inner_text().split()[1]
        assert any(text.split()[0] == name for text in texts)
        assert rows.nth(at).locator(".tail").inner_text() in texts
    rules = page.locator(".rule-key li").all_inner_texts()
    assert {" ".join(rule.split()[1:]) for rule in rules} <= set(texts)
    assert {rule.split()[0] for rule in rules} & set(texts)
    assert any("✓ chosen" in text for text in texts)


@pytest.mark.parametrize("step", ["score", "normalise"])
def test_lanes_of_scores(step: str, page: Page) -> None:
    """Raw and normalised: every number of the page is in the file."""
    asked_about(page, POD)
    show_screen(page, "Why")
    page.locator(f"#step-{step}").click()
    page.locator(".cell.lane b").first.wait_for()
    numbers = page.locator(".cell.lane b").all_inner_texts()
    texts = texts_of(page, "scores")
    assert {number: texts.count(number) >= numbers.count(number) for number in numbers} == dict.fromkeys(numbers, True)


def test_checks(page: Page) -> None:
    """Each node with its signs and reasons, each check with its name."""
    asked_about(page, "train-1")
    show_screen(page, "Why")
    page.locator("#step-filter").click()
    page.locator(".cell.refuses").first.wait_for()
    texts = texts_of(page, "nodes by checks")
    assert texts.count("✗") == page.locator(".cell.refuses").count() + 1  # the key has one
    for name in page.locator(".matrix-body .row-head button").all_inner_texts():
        assert f"✗ {name.split()[1].rstrip(',')}" in texts
    titles = page.locator(".matrix-head [role=columnheader][title]")
    assert {titles.nth(at).get_attribute("title") for at in range(titles.count())} <= set(texts)


def test_ranking(page: Page) -> None:
    """Each node of the ranking with its total."""
    asked_about(page, POD)
    show_screen(page, "Tune")
    page.locator("ol.ranking li").first.wait_for()
    texts = texts_of(page, "ranking")
    for row in page.locator("ol.ranking li").all():
        name = row.locator(".name").inner_text()
        assert any(text.split()[0] == name for text in texts)
        assert row.locator(".total").inner_text() in texts


def test_resources(page: Page) -> None:
    """Each node in view with its zone and its amounts, and what the pod asks for."""
    show_screen(page, "Cluster")
    asked_about(page, POD)
    texts = texts_of(page, "nodes")
    cards = page.locator("article.node")
    assert cards.count() > 0
    for card in cards.all():
        name = card.get_attribute("data-node")
        assert any(text.split()[:1] == [name] for text in texts)
    used = page.locator("article.node .bar-text").all_inner_texts()
    assert {tuple(re.split(r" / ", text)) for text in used} <= {
        tuple(re.split(r" / ", re.sub(r" \(\+[^)]*\)", "", text))) for text in texts
    }
    assert f"what {POD} asks for" in texts


def test_a_run(page: Page) -> None:
    """Of use a line for each of the three, with its share as the page says it; of queues a lane for each with how many
    stays it has, the axis in seconds, and a key."""
    show_screen(page, "Time")
    page.locator(".what-comes > summary").click()
    page.get_by_role("button", name="Begin with an example").click()
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_selector(".plot canvas")
    settled(page)
    texts = texts_of(page, "in use")
    keys = page.locator(".plot-key").all_inner_texts()
    assert len(keys) == 3
    assert {" ".join(key.split()) for key in keys} <= set(texts)
    texts = texts_of(page, "queues")
    assert texts[0] == "Queues"
    assert set(page.locator(".lane-drawing .lane text").all_text_contents()) <= set(texts)
    assert {"placed", "failed", "share of cpu in use", "a pod in Unschedulable", "0 s"} <= set(texts)


def test_markup_stays_text(lab_pages: LabPages) -> None:
    """Names of a hostile cluster are in the files as text."""
    with lab_server(VERBS, hostile) as server:
        page = lab_pages.opened(server)
        settled(page)
        for screen, what in (("", "nodes"), ("Why", "nodes by checks"), ("Tune", "ranking")):
            if screen:
                show_screen(page, screen)
            if screen == "Why":
                page.locator("#step-filter").click()
                page.locator(".matrix-body .matrix-row .row-head").first.wait_for()
                settled(page)
            assert any(EVIL in text for text in texts_of(page, what)), what
        lab_pages.close()
