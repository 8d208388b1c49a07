"""Time in a browser: a workload, the scrubber, the decision of an attempt, a fork."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.pages.lab_page import LabPages, Page, RunningLab, running_lab, settled, show_screen


@pytest.fixture
def page(lab: RunningLab, lab_pages: LabPages) -> Page:
    """A simulation with pods that come later."""
    found = lab_pages.opened(lab)
    show_screen(found, "Time")
    found.locator(".what-comes > summary").click()
    found.get_by_role("button", name="Begin with an example").click()
    found.get_by_role("button", name="Run", exact=True).click()
    found.wait_for_selector(".scrubber")
    found.wait_for_selector(".plot canvas")
    settled(found)
    return found


def test_the_scrubber_goes_from_attempt_to_attempt(page: Page) -> None:
    """By its buttons and by the keyboard; what is said of the moment follows."""
    assert page.get_by_role("heading", name="At 0 s").count() == 1
    page.get_by_role("button", name="To the next attempt").click()
    page.wait_for_selector("h2 >> text=At 30 s")
    slider = page.get_by_role("slider", name="Time")
    slider.press("Home")
    page.wait_for_selector("h2 >> text=At 0 s")
    slider.press("End")
    assert page.get_by_role("heading", name="At 0 s").count() == 0
    assert page.locator(".lane-drawing .mark").count() == page.locator(".attempts tbody tr").count()


def test_an_attempt_is_explained_and_forked(page: Page) -> None:
    """Why shows the decision as it was then; the fork makes that cluster the scene's, and can be undone."""
    row = page.locator(".attempts tbody tr", has_text="nightly").last
    pod = row.locator("th").inner_text()
    row.get_by_role("button", name="Why").click()
    page.wait_for_selector(".moment")
    settled(page)
    assert pod in page.locator(".moment").inner_text()
    page.get_by_role("button", name="Fork from here").click()
    page.wait_for_selector(".moment", state="detached")
    settled(page)
    assert pod.partition("/")[2] in page.locator(".pod-choice[aria-pressed=true]").inner_text()
    page.get_by_role("button", name="Undo: ").click()
    settled(page)
    assert page.locator(".pod-choice", has_text=pod.partition("/")[2]).count() == 0


def test_each_pod_is_in_one_queue(lab: RunningLab, lab_pages: LabPages) -> None:
    """At a moment with nine attempts of six pods: once these are made, two pods wait, and each stands there once."""
    page = lab_pages.opened(lab)
    show_screen(page, "Time")
    pods = page.locator(".at-now .chip").all_inner_texts()
    assert len(pods) == len(set(pods))
    counts = page.locator(".at-now .count").all_inner_texts()
    assert sum(map(int, counts)) == 2
    assert "2 wait" in page.locator("main").inner_text()


def test_a_gated_pod_is_in_its_queue(lab_pages: LabPages, tmp_path: Path) -> None:
    """At the moment and in the drawing: its gate holds it all the time."""
    cluster = tmp_path / "cluster.yaml"
    node = {"kind": "Node", "metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "4", "pods": "9"}}}
    later = {"name": "later", "annotations": {"kubescheduler/arrives-after": "30"}}
    pods = [
        {"kind": "Pod", "metadata": {"name": "gated"}, "spec": {"schedulingGates": [{"name": "example.com/wait"}]}},
        {"kind": "Pod", "metadata": later, "spec": {}},
    ]
    cluster.write_text("---\n".join(json.dumps({"apiVersion": "v1", **each}) + "\n" for each in (node, *pods)))
    with running_lab(str(cluster), "--release", "1.36") as lab:
        page = lab_pages.opened(lab, "screen=time")
        page.locator(".at-now dd", has_text="default/gated").wait_for()
        assert "Held by a gate" in page.locator(".at-now dt").inner_text()
        assert page.locator('.lane-drawing [data-lane="gated"] .stay').count() == 1
        lab_pages.close()


def test_what_comes_outlives_a_reload(page: Page) -> None:
    """The workload that ran, and what was typed after it."""
    before = page.get_by_role("main").get_by_role("status").first.inner_text()
    page.get_by_label("End after, seconds").fill("400")
    page.reload()
    page.wait_for_selector(".scrubber")
    settled(page)
    assert page.get_by_role("main").get_by_role("status").first.inner_text() == before
    page.locator(".what-comes > summary").click()
    page.locator(".what-comes .cm-line", has_text="name: nightly").wait_for()
    assert page.get_by_label("End after, seconds").input_value() == "400"
