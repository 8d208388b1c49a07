"""``kubescheduler lab`` as a process, and its page in a browser: what tests of the page share."""

from __future__ import annotations

import json
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import attrs

from kubescheduler.lab.exercises.checking import CheckedExercise, check_work
from kubescheduler.lab.exercises.exercise_reading import SHIPPED, shipped_exercise
from kubescheduler.lab.exercises.exercise_record import SOLUTION
from kubescheduler.releases.names import place
from kubescheduler.report.ci_results import Standing
from tests.support.pages.layout_faults import inaccessible
from tests.support.processes import SECONDS
from tests.support.processes.dependent_processes import dependent

WIDE, PHONE = {"width": 1300, "height": 900}, {"width": 360, "height": 740}
QUIET = {"reduced_motion": "reduce"}
"""Options of a browser's context with which pages do not move by themselves."""
MILLISECONDS = SECONDS * 1000
"""Until it gives up on a page: only what is broken takes that long, however busy the machine."""
SETTLED = """async () => {
    const busy = () =>
        !document.querySelector(".progress:not(.busy)") ||
        document.querySelector("main .loading, main [aria-busy=true]") ||
        [...document.querySelectorAll("link[rel=stylesheet]")].some(link => !link.sheet);
    for (let turn = 0; turn < 4; turn += 1) {
        if (busy()) {
            await new Promise(requestAnimationFrame);
            return false;
        }
        await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
    }
    return !busy();
}"""
"""Whether a page waits for nothing: effects, from which questions come, run in the task after the next frame."""

Page = Any
"""playwright.sync_api.Page"""
Browser = Any
"""playwright.sync_api.Browser"""


ServedLab = Any
"""A lab that answers, in a process (RunningLab) or in this one (LabServer): it has ``address`` and ``origin``."""


@attrs.frozen
class RunningLab:
    """A process that serves the lab."""

    process: subprocess.Popen[str]
    address: str
    """The page's, with the token."""

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        parts = urlsplit(self.address)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def token(self) -> str:
        """What a question has to show."""
        return urlsplit(self.address).fragment.removeprefix("token=")

    def ask(self, verb: str, **asked: Any) -> Any:
        """What the server answers to a question that the page could ask."""
        headers = {"X-Lab-Token": self.token, "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.origin}/api/{verb}", json.dumps(asked).encode(), headers)
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            found = json.loads(answer.read())
        assert "refused" not in found, found
        return found

    def end(self) -> int:
        """Ends it as Ctrl-C does; its exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(SECONDS)


@contextmanager
def running_lab(*arguments: str, cwd: str | None = None) -> Iterator[RunningLab]:
    """A lab, until the block is left. Raises AssertionError with what it wrote when it does not begin."""
    command = [sys.executable, "-m", "kubescheduler", "lab", *arguments, "--no-browser"]
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(dependent(command), stdout=subprocess.PIPE, stderr=errors, text=True, cwd=cwd)
        assert process.stdout is not None
        with process.stdout, selectors.DefaultSelector() as selector:
            try:
                selector.register(process.stdout, selectors.EVENT_READ)
                assert selector.select(SECONDS), "it says nothing"
                line = process.stdout.readline()
                errors.seek(0)
                assert "http://" in line, f"{line}{errors.read()}"
                yield RunningLab(process, next(word for word in line.split() if word.startswith("http://")))
            finally:
                process.kill()
                process.wait()


class LabPages:
    """Opens pages of labs, and notes whatever should not have happened in them."""

    def __init__(self, browser: Browser, kept: Any = None) -> None:
        """kept: a context without special options that outlives the pages, so that it need not fetch and compile the
        page's files anew. The first page is a new tab of it, of which nothing was stored before; each further one, and
        one with other options, has a context of its own."""
        self._browser = browser
        self._contexts: list[Any] = []
        self._kept = kept
        self._tab: Page = None
        """The page in the context that is kept."""
        self.faults: list[str] = []
        """Messages on a console, errors, requests to other hosts."""

    def opened(self, lab: ServedLab, more: str = "", viewport: dict[str, int] = WIDE, **options: Any) -> Page:
        """A new tab with the lab's page, once it shows the scene. more: further parts of the address after ``#``."""
        options = {**QUIET, **options}
        if self._kept is not None and self._tab is None and options == QUIET:
            page = self._tab = self._kept.new_page()
            page.set_viewport_size(viewport)
            where = {"origin": lab.origin, "storageTypes": "local_storage,cookies,indexeddb,service_workers"}
            client = self._kept.new_cdp_session(page)
            client.send("Storage.clearDataForOrigin", where)
            client.detach()
        else:
            context = self._browser.new_context(viewport=viewport, **options)
            self._contexts.append(context)
            page = context.new_page()
        page.set_default_timeout(MILLISECONDS)
        self.watch(page, lab.origin)
        page.goto(lab.address + (f"&{more}" if more else ""))
        page.wait_for_selector("main#main")
        return page

    def watch(self, page: Page, origin: str) -> None:
        """Notes what should not happen in a page that may ask only this origin."""
        page.on("console", lambda message: self.faults.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on(
            "request",
            lambda asked: (
                asked.url.startswith((f"{origin}/", "data:", "blob:")) or self.faults.append(f"asked: {asked.url}")
            ),
        )

    def close(self) -> None:
        """Closes every page."""
        for context in self._contexts:
            context.close()
        self._contexts.clear()
        if self._tab is not None:
            self._tab.close()
            self._tab = None


def open_releases(page: Page) -> Any:
    """Opens the slider of releases, which it gives."""
    page.get_by_role("button", name="change the release").click()
    slider = page.get_by_role("slider", name="Release that decides")
    slider.wait_for()
    return slider


def decide_by(page: Page, release: str) -> None:
    """Has a side that every release can read decide by another."""
    open_releases(page).fill(str(place(release)))
    settled(page)
    page.keyboard.press("Escape")


def show_screen(page: Page, title: str) -> None:
    """Switches to a screen as a user does, and waits until it has settled."""
    page.get_by_role("navigation").get_by_text(title, exact=True).click()
    page.wait_for_function("title => document.title.startsWith(title)", arg=title)
    page.wait_for_selector(f"main#main[aria-label='{title}'] > *:not(h1)")
    settled(page)


def settled(page: Page) -> None:
    """Waits until nothing is asked of the server any more, and nothing that was answered waits to be drawn."""
    end = time.monotonic() + SECONDS
    while not page.evaluate(SETTLED):  # wait_for_function takes a promise for an answer, whatever it promises
        assert time.monotonic() < end, "the page does not settle"


def refusal(page: Page) -> None:
    """Has Why show a refusal with its evidence."""
    page.locator("#step-filter").click()
    page.locator(".cell.refuses").first.click()
    page.locator(".evidence-pane .reason").first.wait_for()


def predicted(page: Page) -> None:
    """A prediction, and the answer."""
    page.locator("[data-node=worker-2] button").click()
    page.get_by_role("button", name="Reveal").click()
    page.locator(".revealed").wait_for()


def simulated(page: Page) -> None:
    """Pods that come while time goes on, with what is in use and who waits."""
    page.locator(".what-comes > summary").click()
    page.get_by_role("button", name="Begin with an example").click()
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_selector(".plot canvas")
    page.locator(".what-comes > summary").click()


def hold_answer(page: Page, verb: str) -> None:
    """Keeps the answer to the page's next question of a verb back until ``let_go``, though the page gave it up."""
    page.evaluate(
        """verb => {
            const plain = window.fetch;
            let left = 1;
            window.heldAnswers = 0;
            const told = new Promise(done => { window.letGo = done; });
            window.fetch = async (address, options) => {
                if (left === 0 || !String(address).endsWith(`api/${verb}`)) return plain(address, options);
                left -= 1;
                const { signal, ...others } = options;
                const answer = await plain(address, others);
                window.heldAnswers += 1;
                await told;
                return answer;
            };
        }""",
        verb,
    )


def held(page: Page) -> None:
    """Waits until there is an answer that ``hold_answer`` keeps back."""
    page.wait_for_function("() => window.heldAnswers === 1")


def let_go(page: Page) -> None:
    """Lets the answer that was kept back arrive, and waits until the page has taken it or dropped it."""
    page.evaluate("window.letGo()")
    settled(page)


def violations(page: Page, schemes: Sequence[str] = ("light", "dark"), within: str = "html") -> list[str]:
    """What axe-core finds on the page as it stands, in each colour scheme: rule, element, and why.

    Schemes after the first differ from it in colours alone, so only the rule on these is asked there. within: the
    element that is looked at, as a selector.
    """
    out: list[str] = []
    for at, scheme in enumerate(schemes):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        settled(page)
        out += [
            f"{scheme}: {fault}" for fault in inaccessible(page, *(["color-contrast"] if at else []), within=within)
        ]
    page.emulate_media(color_scheme=None)
    return out


TOLERATIONS = '{key: gpu, operator: Equal, value: "true", effect: NoSchedule}'
"""Of the solution of 02-taints."""


def checked_part(name: str, part: str) -> CheckedExercise:
    """The checks of a part of a shipped exercise: ``start`` or ``solution``."""
    return check_work(shipped_exercise(name), SHIPPED / name / part)


def checked_variant(name: str, texts: Sequence[str], folder: Path) -> CheckedExercise:
    """The checks of the solution with other texts in its one file. texts: one that is there and one in its place, by
    turns."""
    exercise, work = shipped_exercise(name), folder / "work"
    shutil.copytree(exercise.folder / SOLUTION, work)
    [edited] = exercise.edit
    solution = (work / edited.file).read_text()
    for old, new in zip(texts[::2], texts[1::2], strict=True):
        assert old in solution, f"{edited.file} has no {old}"
        solution = solution.replace(old, new)
    (work / edited.file).write_text(solution)
    return check_work(exercise, work)


def failing(checked: CheckedExercise) -> list[str]:
    """The names of the checks that fail, with their scenario."""
    return [
        ": ".join(filter(None, (one.scenario, one.name))) for one in checked.outcomes if one.standing is Standing.FAILED
    ]
