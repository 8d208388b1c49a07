"""Scenes of the lab's page handed on: as a link, as a file, and what a link may not do."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

from tests.support.pages.lab_page import LabPages, Page, RunningLab, settled, violations


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


def sharing(page: Page) -> Any:
    """The dialog."""
    page.get_by_role("button", name="Share").first.click()
    dialog = page.get_by_role("dialog")
    dialog.wait_for()
    settled(page)
    return dialog


def test_a_link_opens_the_same_scene(lab: RunningLab, lab_pages: LabPages) -> None:
    """Elsewhere, with other edits' history left behind; the address keeps neither token nor scene."""
    page, state = changed(lab, lab_pages)
    dialog = sharing(page)
    link = dialog.locator("input[readonly]").input_value()
    assert violations(page) == []
    assert lab.token not in link
    other = lab_pages.opened(lab, link.partition("#")[2])
    settled(other)
    assert seen(lab, other) == state
    assert "share" not in other.url


def test_a_file_opens_the_same_scene(lab: RunningLab, lab_pages: LabPages, tmp_path: Path) -> None:
    """Saved from one tab and opened in another."""
    page, state = changed(lab, lab_pages)
    with page.expect_download() as saving:
        sharing(page).get_by_role("button", name="Scene .lab.json").click()
    file = tmp_path / saving.value.suggested_filename
    saving.value.save_as(file)
    assert file.name.endswith(".lab.json")
    other = lab_pages.opened(lab)
    settled(other)
    sharing(other).locator("input[type=file]").set_input_files(file)
    other.get_by_text(f"Opened {file.name}").first.wait_for()
    settled(other)
    assert seen(lab, other) == state


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
