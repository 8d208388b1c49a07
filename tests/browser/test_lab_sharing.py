"""Share in a browser: a link, a file, a replay of what was looked at, other files; and what a link may not do."""

from __future__ import annotations

import ast
import base64
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from tests.support.pages.lab_page import MILLISECONDS, QUIET, LabPages, Page, RunningLab, settled, show_screen


def changed(lab: RunningLab, pages: LabPages) -> tuple[Page, dict[str, Any]]:
    """(a page with a scene that is no longer the one it began with, the state of that)."""
    page = pages.opened(lab)
    settled(page)
    tab = page.evaluate("sessionStorage.getItem('lab-tab')")
    for edit in (
        {"do": "kill", "node": "worker-3"},
        {"do": "addSide", "release": "1.16"},
        {"do": "weights", "side": "a", "weights": {"NodeResourcesFit": 7}},
    ):
        lab.ask("edit", tab=tab, edit=edit)
    page.reload()
    settled(page)
    return page, seen(lab, page)


def seen(lab: RunningLab, page: Page) -> dict[str, Any]:
    """What a page's scene is, but for how it came to be so."""
    tab = page.evaluate("sessionStorage.getItem('lab-tab')")
    state: dict[str, Any] = lab.ask("state", tab=tab)
    decisions = [
        lab.ask("decision", tab=tab, side=side["id"], order="name", **{"from": 0, "to": 50}) for side in state["sides"]
    ]
    kept = {key: state[key] for key in ("asked", "pods", "nodesTotal", "pendingTotal", "title")}
    described = [{key: side[key] for key in ("name", "release", "kind", "text")} for side in state["sides"]]
    shown = [[decision[key] for key in ("host", "message", "nodes")] for decision in decisions]
    return {**kept, "sides": described, "decisions": shown}


def shared(page: Page) -> None:
    """Opens the dialog."""
    page.get_by_role("button", name="Share or save the scene").click()
    page.wait_for_selector(".share-link input[readonly]")
    settled(page)


def saved(page: Page, name: str, path: Path) -> str:
    """The text of a file that the dialog saves."""
    with page.expect_download() as download:
        page.get_by_role("button", name=name).click()
    download.value.save_as(path)
    return path.read_text(encoding="utf-8")


def test_a_link_opens_the_same_scene(lab: RunningLab, lab_pages: LabPages) -> None:
    """In another tab, pasted, and followed in one that shows another scene; with other edits' history left behind; the
    address keeps neither token nor scene."""
    page, state = changed(lab, lab_pages)
    shared(page)
    link = page.locator(".share-link input[readonly]").input_value()
    assert lab.token not in link
    other = lab_pages.opened(lab, link.partition("#")[2])
    settled(other)
    assert seen(lab, other) == state
    assert "share" not in other.url
    third = lab_pages.opened(lab)
    settled(third)
    assert seen(lab, third) != state
    third.evaluate("link => { location.hash = new URL(link).hash; }", link)
    third.wait_for_selector(".toast >> text=Opened the scene of the link")
    settled(third)
    assert seen(lab, third) == state


def test_a_file_opens_the_same_scene(lab: RunningLab, lab_pages: LabPages, tmp_path: Path) -> None:
    """Saved from one tab and opened in another; one that is no scene is refused in words."""
    page, state = changed(lab, lab_pages)
    shared(page)
    path, wrong = tmp_path / "scene.lab.json", tmp_path / "wrong.json"
    assert json.loads(saved(page, "Scene .lab.json", path))["kind"] == "LabScene"
    wrong.write_text("no scene", encoding="utf-8")
    other = lab_pages.opened(lab)
    shared(other)
    other.locator(".share-open input").set_input_files(wrong)
    other.wait_for_selector("dialog .faults >> text=wrong.json is not a scene")
    other.locator(".share-open input").set_input_files(path)
    other.wait_for_selector("dialog", state="detached")
    other.get_by_text(f"Opened {path.name}").first.wait_for()
    settled(other)
    assert seen(lab, other) == state


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


def test_other_files_are_saved(lab: RunningLab, lab_pages: LabPages, tmp_path: Path) -> None:
    """Whole, of the kind that their name says."""
    page = lab_pages.opened(lab)
    settled(page)
    shared(page)
    test = saved(page, "Test .py", tmp_path / "test.py")
    assert any(isinstance(part, ast.FunctionDef) for part in ast.parse(test).body)
    assert {"pods", "nodes"} <= json.loads(saved(page, "kube-scheduler-simulator .json", tmp_path / "other")).keys()
    assert "kind: Node" in saved(page, "Manifests .yaml", tmp_path / "manifests")


def test_links_that_are_none(lab: RunningLab, lab_pages: LabPages) -> None:
    """Cut off, garbage, or one that unpacks to more than a scene may be: the page says so, and the server goes on."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    large = packer.compress(b'{"a": "' + b"a" * 6_000_000 + b'"}') + packer.flush()
    bomb = base64.urlsafe_b64encode(large).decode().rstrip("=")[:8000]
    page = lab_pages.opened(lab)
    for text in ("x", "AAAA", bomb):
        answer = page.evaluate(
            """async ([token, text]) => {
                const headers = {"Content-Type": "application/json", "X-Lab-Token": token};
                const body = JSON.stringify({from: {share: text}});
                const answer = await fetch("api/open", {method: "POST", headers, body});
                return [answer.status, (await answer.json()).refused];
            }""",
            [lab.token, text],
        )
        assert answer == [200, "asked"]
    assert lab.ask("open", **{"from": "start"})["version"] == 1


def test_a_shared_scene_brings_no_code(lab: RunningLab, lab_pages: LabPages) -> None:
    """A file that names a plugin is refused, and nothing of it is imported."""
    page, _ = changed(lab, lab_pages)
    tab = page.evaluate("sessionStorage.getItem('lab-tab')")
    document = json.loads(lab.ask("export", tab=tab, **{"as": "lab"})["text"])
    for side in document["sides"]:
        side["plugins"] = ["antigravity:fly"]
    with_plugins = page.evaluate(
        """async ([token, lab]) => {
            const headers = {"Content-Type": "application/json", "X-Lab-Token": token};
            const body = JSON.stringify({from: {lab}});
            const answer = await fetch("api/open", {method: "POST", headers, body});
            return [answer.status, await answer.json()];
        }""",
        [lab.token, document],
    )
    assert with_plugins[1].get("refused") == "asked" or with_plugins[1]["state"]["plugin"] is None


@pytest.mark.parametrize(
    ("more", "said"), [("share=cut", "was it cut off?"), ("exercise=taint", "there is no exercise taint")]
)
def test_an_address_of_nothing_begins_all_the_same(more: str, said: str, lab: RunningLab, lab_pages: LabPages) -> None:
    """With the scene that others begin with, and a note; the address does not name it any more."""
    page = lab_pages.opened(lab, more)
    page.get_by_text(said).first.wait_for()
    settled(page)
    assert page.get_by_text("A small shop").count() == 1
    assert more not in page.url


def test_a_duplicated_tab_takes_no_answers_away(lab: RunningLab, lab_pages: LabPages, browser: Any) -> None:
    """A browser copies what a tab has stored, so that both show one scene: the first is answered as before, and
    the copy follows it."""
    page = lab_pages.opened(lab)
    stored = page.evaluate("JSON.stringify(Object.entries(sessionStorage))")
    context = browser.new_context(**QUIET)
    context.add_init_script(f"for (const [key, value] of {stored}) sessionStorage.setItem(key, value)")
    copy = context.new_page()
    lab_pages.watch(copy, lab.origin)
    copy.goto(f"{lab.origin}/#screen=why")
    copy.wait_for_selector("main#main h2")
    settled(copy)
    for name in ("wq6rb", "train-1"):
        show_screen(page, "Why")
        page.locator(".pod-choice", has_text=name).click()
        page.locator("main h2", has_text=name).wait_for()
        settled(page)
        copy.locator("main h2", has_text=name).wait_for()
    context.close()
