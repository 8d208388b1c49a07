"""Typing in the lab's editors: what was typed stays, however fast, and whatever is answered meanwhile."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import kubescheduler as ks
from kubescheduler.lab.lab_sessions import ServerLimits
from kubescheduler.lab.scene.lab_document import SceneOpenings
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.verbs import VERBS
from tests.support.live.live_cluster import run
from tests.support.pages.browsers import MISSING, launched
from tests.support.pages.lab_page import (
    MILLISECONDS,
    SETTLED,
    WIDE,
    LabPages,
    Page,
    RunningLab,
    held,
    hold_answer,
    let_go,
    settled,
    show_screen,
    violations,
)
from tests.support.pages.lab_server import LabServer, lab_server
from tests.support.pages.layout_faults import until
from tests.support.processes import SECONDS

CHARACTERS = 400
"""Of each pane: some thirty lines, each of which is sent while the next one comes."""
WORDS = ["scheduler", "puts", "pods,", "2", "or", "3,", "on", "nodes:", "'eu-1'", "{zone=b}", "(hdd)", "[ssd]", '"x"']
SHOWN = """async (content) => {
    const { EditorView } = await import(new URL("vendor/codemirror.js", document.baseURI));
    return EditorView.findFromDOM(content).state.doc.toString();
}"""


def comments(characters: int) -> str:
    """Lines of YAML's comments: after each key the text can be read, so that each pause has something to keep."""
    words, lengths = itertools.cycle(WORDS), itertools.cycle([1, 4, 1, 2])
    lines = iter(lambda: " ".join(["#", *itertools.islice(words, next(lengths))]), None)
    return "\n".join(itertools.islice(lines, characters))[: characters - 1] + "\n"


Opened = tuple[str, tuple[str, ...], str]
"""What is added to the address, what is pressed there, and where the editor stands."""
TUNED: Opened = ("screen=tune", (".pod-choice:has-text('wq6rb')",), ".tune-text")
"""Tune, with a pod whose ranking follows every change."""
EXERCISE: Opened = ("exercise=02-taints", (), ".exercise-file")
"""An exercise, whose file is saved while it is typed."""
MANIFESTS: Opened = ("", ("button:has-text('Add')", "[role=menuitem]:has-text('From YAML')"), "dialog")
"""The dialog that adds what is written in it."""
ENLARGED: Opened = ("exercise=02-taints", ("button:has-text('Larger')",), "dialog")
"""The exercise's file in a dialog."""
EDITED_POD: Opened = ("", (".pod-box", "[role=menuitem]:has-text('Edit YAML')"), "dialog")
"""The dialog with a pod as YAML."""
CONTENT = ".editor-host:not([hidden]) .cm-content"


class Pane:
    """The editor of a page of its own, with the caret at the end of its text."""

    def __init__(self, lab: RunningLab, lab_pages: LabPages, opened: Opened) -> None:
        address, pressed, place = opened
        self.page = lab_pages.opened(lab, address)
        for each in pressed:
            self.page.locator(each).first.click()
        self.content = self.page.locator(f"{place} {CONTENT}")
        self.content.wait_for()
        settled(self.page)
        self.content.focus()
        self.page.keyboard.press("Control+End")
        if not self.text.endswith("\n"):
            self.page.keyboard.press("Enter")
        self.before = self.text

    @property
    def text(self) -> str:
        return str(self.content.evaluate(SHOWN))


def kept(lab: RunningLab, tab: str, opened: Opened) -> str:
    """What the server has of the text of Tune, or of an exercise's file."""
    if opened is TUNED:
        return str(lab.ask("tune", tab=tab, side="a")["text"])
    return str(lab.ask("exercise", tab=tab)["files"][0]["text"])


TAB = "sessionStorage.getItem('lab-tab')"
FASTER = 4
"""How many times as fast as they would all timers of a page run, and keys come: 60 ms a key take a minute else."""
FAST_TIMERS = """{
    const plain = window.setTimeout;
    window.setTimeout = (run, after = 0, ...more) => plain(run, after / FASTER, ...more);
}"""
AFTER_A_LINE = 600
"""Milliseconds of rest: longer than what the panes wait for before they send what was typed."""
ENTER = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}


async def until_settled(page: Any, what: Opened, milliseconds: int) -> None:
    """As ``settled``, of a page that waits beside others."""
    end = asyncio.get_running_loop().time() + SECONDS
    while not await page.evaluate(SETTLED):
        assert asyncio.get_running_loop().time() < end, ("the page does not settle", what, milliseconds)


async def press(client: Any, typed: str, milliseconds: int) -> None:
    """Presses keys when their time has come, whether or not the page has done with those before: as somebody types."""
    loop, under_way = asyncio.get_running_loop(), []
    due = loop.time()
    for character in typed:
        down = ENTER if character == "\n" else {"key": character, "text": character}
        up = {name: value for name, value in down.items() if name != "text"}
        under_way += [
            asyncio.ensure_future(client.send("Input.dispatchKeyEvent", {"type": kind, **key}))
            for kind, key in (("keyDown", down), ("keyUp", up))
        ]
        due += (milliseconds + (AFTER_A_LINE if character == "\n" else 0)) / FASTER / 1000
        await asyncio.sleep(due - loop.time())
    _, late = await asyncio.wait(under_way, timeout=MILLISECONDS / 1000)
    assert not late, f"{len(late)} of {len(under_way)} keys were not taken, one every {milliseconds} ms"


DONE = {TUNED: "in step", EXERCISE: "Saved"}
"""What a pane says in the end that keeps its text."""


async def typed_in(
    browser: Any, lab: RunningLab, opened: Opened, milliseconds: int, typed: str
) -> tuple[str, str, str]:
    """(text before, text after, tab) of a pane in a page of its own, where a key came every so many milliseconds."""
    address, pressed, place = opened
    context = await browser.new_context(viewport=WIDE, reduced_motion="reduce")
    page = await context.new_page()
    faults: list[str] = []
    page.on("console", lambda message: faults.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: faults.append(f"error: {error}"))
    page.set_default_timeout(MILLISECONDS)
    await page.add_init_script(FAST_TIMERS.replace("FASTER", str(FASTER)))
    await page.goto(f"{lab.address}&{address}")
    for each in pressed:
        await page.locator(each).first.click()
    content = page.locator(f"{place} {CONTENT}")
    await content.wait_for()
    await until_settled(page, opened, milliseconds)
    await content.focus()
    await page.keyboard.press("Control+End")
    if not (await content.evaluate(SHOWN)).endswith("\n"):
        await page.keyboard.press("Enter")
    before = await content.evaluate(SHOWN)
    await press(await context.new_cdp_session(page), typed, milliseconds)
    if opened in DONE:
        status = page.locator(f"{place} [role=status]")
        try:
            await status.filter(has_text=DONE[opened]).wait_for()
        except pytest.importorskip("playwright.async_api").Error:  # else nobody learns what the pane said instead
            said = await status.all_inner_texts() or [page.url, await page.locator("body").inner_text()]
            raise AssertionError((opened, milliseconds, said, faults)) from None
    await until_settled(page, opened, milliseconds)
    after, tab = await content.evaluate(SHOWN), await page.evaluate(TAB)
    loop = asyncio.get_running_loop()
    end = loop.time() + MILLISECONDS / 1000
    # "Saved" may be said of a line before, while the page still waits to send the last one.
    while opened in DONE and kept(lab, tab, opened) != after and loop.time() < end:
        await page.evaluate(SETTLED)
    await context.close()
    assert faults == []
    return before, after, tab


@pytest.mark.timeout(900)  # 2,800 keys take minutes on a busy machine
def test_every_key_is_kept(lab: RunningLab) -> None:
    """In the editor, and in what is kept of it; every pane that sends its text at every pace, each in a page of its
    own, at once. What was typed of a line is answered while the next one is typed."""
    api = pytest.importorskip("playwright.async_api", reason="playwright is not installed")
    typed = comments(CHARACTERS)
    typists = [*itertools.product((TUNED, EXERCISE), (0, 20, 60)), (MANIFESTS, 0)]

    async def all_of_them() -> list[tuple[str, str, str]] | None:
        async with api.async_playwright() as playwright:
            starting = launched(playwright)
            if starting is None:
                return None
            async with await starting as browser:
                return await asyncio.gather(*(typed_in(browser, lab, *typist, typed) for typist in typists))

    found = run(all_of_them())
    if found is None:
        pytest.skip(MISSING)
    for (opened, milliseconds), (before, after, tab) in zip(typists, found, strict=True):
        assert after == before + typed, (opened, milliseconds)
        if opened in DONE:
            assert kept(lab, tab, opened) == after, (opened, milliseconds)


@pytest.mark.parametrize("opened", [ENLARGED, EDITED_POD], ids=["enlarged", "edited pod"])
def test_every_key_is_kept_in_dialogs(opened: Opened, lab: RunningLab, lab_pages: LabPages) -> None:
    """As fast as the browser takes the keys."""
    pane, typed = Pane(lab, lab_pages, opened), comments(150)
    pane.page.keyboard.type(typed)
    settled(pane.page)
    assert pane.text == pane.before + typed


def test_code_is_only_shown(lab: RunningLab, lab_pages: LabPages) -> None:
    """Keys change neither what is shown of a file with code nor the file."""
    pane = Pane(lab, lab_pages, ("exercise=08-predicate", (), ".exercise-file"))
    pane.page.keyboard.type(comments(100))
    assert pane.text == pane.before == kept(lab, pane.page.evaluate(TAB), EXERCISE)


def test_keys_are_kept_while_the_editor_comes(lab: RunningLab, lab_pages: LabPages) -> None:
    """Typing begins in the plain field that stands there first, and goes on in the editor, at the same place."""
    waiting: list[Any] = []
    page = lab_pages.opened(lab)
    page.route("**/vendor/codemirror.js", lambda route: waiting.extend([route]))
    show_screen(page, "Tune")
    field = page.locator(".tune-text textarea")
    field.focus()
    page.keyboard.press("Control+Home")
    first, second = "# typed first\n", "# and then, in the editor\n"
    before = field.input_value()
    page.keyboard.type(first)
    until(page, lambda: bool(waiting))
    waiting[0].continue_()
    content = page.locator(".tune-text .editor-host:not([hidden]) .cm-content")
    content.wait_for()
    page.keyboard.type(second)
    settled(page)
    assert content.evaluate(SHOWN) == first + second + before
    assert kept(lab, page.evaluate(TAB), TUNED) == first + second + before


def test_an_answer_waits_until_the_editor_is_left(lab: RunningLab, lab_pages: LabPages) -> None:
    """A slider's change that arrives while the caret is in the text comes in once it is no longer there."""
    page = lab_pages.opened(lab, "screen=tune")
    page.locator(".pod-choice", has_text="wq6rb").click()
    page.wait_for_selector(".ranking li")
    content = page.locator(".tune-text .editor-host:not([hidden]) .cm-content")
    content.wait_for()
    settled(page)
    before = content.evaluate(SHOWN)
    hold_answer(page, "edit")
    slider = page.get_by_role("slider", name="NodeResourcesFit", exact=True)
    slider.focus()
    slider.press("ArrowRight")
    held(page)
    content.focus()
    let_go(page)
    assert content.evaluate(SHOWN) == before
    page.locator(".tune-text", has_text="changed elsewhere").wait_for()
    slider.focus()
    settled(page)
    tab = page.evaluate(TAB)
    assert content.evaluate(SHOWN) == lab.ask("tune", tab=tab, side="a")["text"] != before


def test_what_was_typed_last_is_kept_by_one_who_leaves(lab: RunningLab, lab_pages: LabPages) -> None:
    """Another screen at once, before the pause after which a text is tried."""
    page = lab_pages.opened(lab, "screen=tune")
    page.locator(".pod-choice", has_text="wq6rb").click()
    page.wait_for_selector(".ranking li")
    content = page.locator(".tune-text .editor-host:not([hidden]) .cm-content")
    content.press("Control+Home")
    with page.expect_response("**/api/edit"):
        page.keyboard.type("# the last word\n")
        show_screen(page, "Cluster")
    assert kept(lab, page.evaluate(TAB), TUNED).startswith("# the last word\n")


@pytest.mark.parametrize("opened", [TUNED, EXERCISE], ids=["tune", "exercise"])
def test_what_was_typed_last_is_kept_by_one_who_reloads(opened: Opened, lab: RunningLab, lab_pages: LabPages) -> None:
    """The page is gone before the pause after which a text is sent: it is sent as the page goes."""
    pane = Pane(lab, lab_pages, opened)
    tab = pane.page.evaluate(TAB)
    pane.page.keyboard.type("# the last word")
    pane.page.reload()
    pane.page.wait_for_selector("main#main")
    assert kept(lab, tab, opened).rstrip("\n") == pane.before + "# the last word"


def test_what_was_typed_last_is_kept_by_one_who_closes_the_tab(lab: RunningLab, lab_pages: LabPages) -> None:
    """The same line, without a page that would come afterwards."""
    pane = Pane(lab, lab_pages, EXERCISE)
    tab = pane.page.evaluate(TAB)
    pane.page.keyboard.type("# the last word")
    pane.page.close()
    until(lab_pages.opened(lab), lambda: kept(lab, tab, EXERCISE).endswith("# the last word"))


def test_an_older_answer_to_a_saved_file_is_dropped(lab: RunningLab, lab_pages: LabPages) -> None:
    """What the exercise was before a file was saved arrives afterwards: the file stays as it was typed."""
    pane = Pane(lab, lab_pages, EXERCISE)
    page = pane.page
    hold_answer(page, "exercise")
    page.keyboard.type("# one")
    page.locator(".exercise-file [role=status]", has_text="Saved").wait_for()
    held(page)
    page.keyboard.type(" and two")
    page.locator(".exercise-file [role=status]", has_text="Saved").wait_for()
    page.get_by_role("button", name="Check", exact=True).focus()
    let_go(page)
    assert pane.text == pane.before + "# one and two"


POD = "web-6d5f9-wq6rb"


def tuned_late(lab: RunningLab, pages: LabPages) -> Page:
    """The screen with the weights, and the ranking of a pod that fits several nodes."""
    page = pages.opened(lab)
    settled(page)
    page.locator(".pod-choice", has_text="wq6rb").click()
    page.locator(".pod-choice[aria-pressed=true]", has_text="wq6rb").wait_for()
    show_screen(page, "Tune")
    page.locator("p.verdict", has_text=POD).wait_for()
    return page


def ranking(page: Page) -> list[tuple[str, int]]:
    """(node, total) as the rows stand."""
    rows = page.eval_on_selector_all(
        "ol.ranking li", "rows => rows.map(row => [row.dataset.node, row.querySelector('.total').textContent])"
    )
    return [(name, int(total)) for name, total in rows]


def answered(lab: RunningLab, page: Page) -> list[tuple[str, int]]:
    """The ranking that the server has now."""
    tab = page.evaluate(TAB)
    rows: Any = lab.ask("decision", tab=tab, side="a", order="rank", **{"from": 0, "to": 30})["nodes"]
    return [(row["name"], row["total"]) for row in rows if row["fits"]]


def slider(page: Page, rule: str) -> Any:
    return page.get_by_role("slider", name=rule, exact=True)


def test_a_ranking_that_arrives_after_a_newer_one_is_dropped(lab: RunningLab, lab_pages: LabPages) -> None:
    """Both arrive, the older one last: what it says is not shown."""
    page = tuned_late(lab, lab_pages)
    before = ranking(page)
    hold_answer(page, "decision")
    slider(page, "NodeResourcesFit").focus()
    page.keyboard.press("ArrowRight")
    held(page)
    page.keyboard.press("End")
    page.wait_for_function(
        "of => document.querySelector('ol.ranking .total').textContent !== of", arg=str(before[0][1])
    )
    newest = ranking(page)
    assert newest == answered(lab, page)
    let_go(page)
    assert ranking(page) == newest


def test_a_change_that_is_answered_after_a_newer_one_does_not_take_it_back(
    lab: RunningLab, lab_pages: LabPages
) -> None:
    """Two changes under way at once: the page shows the state after both, whichever answer comes last."""
    page = lab_pages.opened(lab)
    settled(page)
    hold_answer(page, "edit")
    page.locator(".pod-choice", has_text="wq6rb").click()
    held(page)
    chosen = page.locator(".pod-choice[aria-pressed=true]")
    page.locator(".pod-choice", has_text="train-1").click()
    chosen.filter(has_text="train-1").wait_for()
    let_go(page)
    assert "train-1" in chosen.inner_text()
    assert page.get_by_role("button", name="Undo: ").count() == 1


DROPPED = "The server no longer has this scene"


def start() -> Scene:
    return Scene.opened(ks.Cluster().node("a", cpu=4).node("b", cpu=2).pod("web", cpu=1).pod("other", cpu=1))


@contextmanager
def one_tab(lab_pages: LabPages) -> Iterator[tuple[LabServer, Page]]:
    """A server that keeps one scene, and a page that shows it."""
    openings = SceneOpenings(start, start, lambda _: start())
    with lab_server(VERBS, opens=openings, limits=ServerLimits(sessions=1)) as server:
        page = lab_pages.opened(server)
        settled(page)
        yield server, page
        lab_pages.close()


def change(page: Page) -> None:
    """Asks about another pod, and waits until the page has kept the scene."""
    with page.expect_response(lambda answer: answer.url.endswith("/api/share")):
        page.locator(".pod-choice", has_text="other").click()
        page.locator(".pod-choice[aria-pressed=true]", has_text="other").wait_for()
    settled(page)


def kept_in_tab(page: Page) -> None:
    """Waits until the newest version is in the tab's storage."""
    page.wait_for_function(
        "() => { const one = JSON.parse(sessionStorage['lab-scene']); return one.shared === one.seen; }"
    )


def test_the_scene_is_opened_again_as_it_was_last(lab_pages: LabPages) -> None:
    """The page says what happened and what is not kept; after it, and after a reload, the change is still there."""
    with one_tab(lab_pages) as (server, page):
        change(page)
        kept_in_tab(page)
        server.opened()
        page.get_by_role("heading", name=DROPPED).wait_for()
        assert "This tab kept it as it was last. Steps to undo are not kept" in page.locator("main").inner_text()
        assert violations(page) == []
        page.get_by_role("button", name="Open it again").click()
        page.locator(".pod-choice[aria-pressed=true]", has_text="other").wait_for()
        page.locator(".toasts").get_by_text("The scene is open again").wait_for()
        server.opened()
        page.get_by_role("heading", name=DROPPED).wait_for()
        page.reload()
        page.locator(".toasts").get_by_text("The server had dropped this tab's scene").wait_for()
        page.locator(".pod-choice[aria-pressed=true]", has_text="other").wait_for()


def test_a_scene_that_could_not_be_kept_is_said_to_be_lost(lab_pages: LabPages) -> None:
    """One that is too large for a link: neither now nor after a reload does another take its place unsaid."""
    with one_tab(lab_pages) as (server, page):
        page.route("**/api/share", lambda route: route.fulfill(json={"text": "", "tooLong": True, "version": 9}))
        change(page)
        server.opened()
        page.get_by_text("this tab could not keep it: the changes are lost").wait_for()
        assert page.get_by_role("button", name="Open it again").count() == 0
        page.reload()
        page.get_by_text("this tab could not keep it: the changes are lost").wait_for()
        page.get_by_role("button", name="Begin anew").click()
        page.locator(".pod-choice[aria-pressed=true]", has_text="web").wait_for()


def test_a_scene_that_was_not_changed_is_opened_as_before(lab_pages: LabPages) -> None:
    """From what it was opened from the first time, so nothing is lost."""
    with one_tab(lab_pages) as (server, page):
        server.opened()
        page.get_by_text("It was not changed since it was opened").wait_for()
        page.get_by_role("button", name="Open it again").click()
        page.locator(".pod-choice[aria-pressed=true]", has_text="web").wait_for()
