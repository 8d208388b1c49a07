"""Share in a browser: a link, a file, a replay of what was looked at, other files."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.pages.lab_page import MILLISECONDS, LabPages, Page, RunningLab, settled, show_screen, violations


def shared(page: Page) -> None:
    """Opens the dialog."""
    page.get_by_role("button", name="Share or save the scene").click()
    page.wait_for_selector(".share-link input[readonly]")
    settled(page)


def changed(page: Page) -> str:
    """Makes the scene another one by a hint; the name of the pod that it was for."""
    show_screen(page, "Hints")
    page.locator(".pod-choice", has_text="train-1").first.click()
    page.get_by_role("button", name="Apply hint 1:").click()
    page.locator(".pod-choice", has_text="train-1").filter(has_text="would go to").wait_for()
    settled(page)
    return "train-1"


def saved(page: Page, name: str, path: Path) -> str:
    """The text of a file that the dialog saves."""
    with page.expect_download() as download:
        page.get_by_role("button", name=name).click()
    download.value.save_as(path)
    return path.read_text(encoding="utf-8")


def test_a_link_opens_the_same_scene(lab: RunningLab, lab_pages: LabPages) -> None:
    """In another tab, pasted, and followed in the same one; the token is not in it."""
    page = lab_pages.opened(lab)
    pod = changed(page)
    shared(page)
    link = page.locator(".share-link input[readonly]").input_value()
    assert lab.token not in link
    assert violations(page) == []
    other = lab_pages.opened(lab, link.partition("#")[2])
    settled(other)
    assert "would go to" in other.locator(".pod-choice", has_text=pod).inner_text()
    third = lab_pages.opened(lab)
    settled(third)
    assert "fits nowhere" in third.locator(".pod-choice", has_text=pod).inner_text()
    third.evaluate("link => { location.hash = new URL(link).hash; }", link)
    third.wait_for_selector(".toast >> text=Opened the scene of the link")
    settled(third)
    assert "would go to" in third.locator(".pod-choice", has_text=pod).inner_text()


def test_a_file_opens_the_same_scene(lab: RunningLab, lab_pages: LabPages, tmp_path: Path) -> None:
    """Saved from one tab and opened in another; one that is no scene is refused in words."""
    page = lab_pages.opened(lab)
    pod = changed(page)
    shared(page)
    path = tmp_path / "scene.lab.json"
    assert json.loads(saved(page, "Scene .lab.json", path))["kind"] == "LabScene"
    other = lab_pages.opened(lab)
    shared(other)
    wrong = tmp_path / "wrong.json"
    wrong.write_text("no scene", encoding="utf-8")
    other.locator(".share-open input").set_input_files(wrong)
    other.wait_for_selector("dialog .faults >> text=wrong.json is not a scene")
    other.locator(".share-open input").set_input_files(path)
    other.wait_for_selector("dialog", state="detached")
    settled(other)
    assert "would go to" in other.locator(".pod-choice", has_text=pod).inner_text()


def test_a_replay_shows_what_was_looked_at(lab: RunningLab, lab_pages: LabPages, browser: Any, tmp_path: Path) -> None:
    """Opened from the disk without a network, also what no screen asks at first."""
    page = lab_pages.opened(lab)
    show_screen(page, "Hints")
    page.locator(".pod-choice", has_text="train-1").first.click()
    settled(page)
    page.get_by_text("On a node", exact=True).click()
    field = page.locator(".node-field input")
    field.fill("worker-1")
    page.wait_for_selector(".hints h2 >> text=worker-1")
    settled(page)
    shared(page)
    path = tmp_path / "replay.html"
    saved(page, "Replay .html", path)
    context = browser.new_context(offline=True)
    replay = context.new_page()
    replay.set_default_timeout(MILLISECONDS)
    faults: list[str] = []
    replay.on("console", lambda message: faults.append(message.text))
    replay.goto(f"{path.as_uri()}#screen=hints")
    replay.wait_for_selector(".hint")
    replay.get_by_text("On a node", exact=True).click()
    replay.locator(".node-field input").fill("worker-1")
    replay.locator(".node-field input").press("Enter")
    replay.wait_for_selector(".hints h2 >> text=worker-1")
    settled(replay)
    assert "holds no answer" not in replay.locator("main").inner_text()
    assert faults == []
    context.close()


@pytest.mark.parametrize("name", ["Test .py", "kube-scheduler-simulator .json", "Manifests .yaml"])
def test_other_files_are_saved(name: str, lab: RunningLab, lab_pages: LabPages, tmp_path: Path) -> None:
    """Whole, of the kind that their name says."""
    page = lab_pages.opened(lab)
    settled(page)
    shared(page)
    text = saved(page, name, tmp_path / "file")
    if name.endswith(".py"):
        assert any(isinstance(part, ast.FunctionDef) for part in ast.parse(text).body)
    elif name.endswith(".json"):
        assert {"pods", "nodes"} <= json.loads(text).keys()
    else:
        assert "kind: Node" in text
