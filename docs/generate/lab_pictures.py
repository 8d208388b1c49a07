"""Makes the pictures of the lab in the docs: python -m docs.generate.lab_pictures [NAME…]. Needs Chromium.

Every screen with the cluster that comes with the package, one with a custom rule, and an exercise; light and dark.
"""

from __future__ import annotations

import base64
import shutil
import struct
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.support.pages.browsers import MISSING, launched
from tests.support.pages.lab_page import RunningLab, predicted, refusal, running_lab, settled, show_screen, simulated

FOLDER = Path(__file__).parents[1] / "tutorial" / "images"
SIZE = {"width": 1360, "height": 820}
SCHEMES = ("light", "dark")
COLOURS = 256
"""Of a picture: what a palette holds."""
STEP = 8
"""Colours that differ by less in every channel are one."""

PAUSE = 400
"""Milliseconds until fonts and editors have settled."""

Page = Any
Pixels = npt.NDArray[np.uint8]

PIXELS = """async text => {
    const bytes = Uint8Array.from(atob(text), each => each.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], {type: "image/png"}));
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const data = context.getImageData(0, 0, image.width, image.height).data;
    let out = "";
    for (let at = 0; at < data.length; at += 32768) out += String.fromCharCode(...data.subarray(at, at + 32768));
    return [image.width, image.height, btoa(out)];
}"""
"""A PNG's pixels, as only a browser can tell here."""


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def few_colours(pixels: Pixels) -> tuple[Pixels, Pixels]:
    """The palette (n, 3), and each pixel's place in it (height, width). pixels: (height, width, 3)."""
    flat = pixels.reshape(-1, 3)
    packed = flat.astype(np.int64) @ np.array([65536, 256, 1])
    values, places, counts = np.unique(packed, return_inverse=True, return_counts=True)
    often = np.argsort(-counts, kind="stable")
    colours = np.stack([values >> 16, values >> 8 & 255, values & 255], axis=1)
    _, first, group = np.unique(colours[often] // STEP, axis=0, return_index=True, return_inverse=True)
    weight = np.bincount(group.reshape(-1), counts[often])
    kept = colours[often[first[np.argsort(-weight, kind="stable")[:COLOURS]]]]
    nearest = np.array([((kept - colour) ** 2).sum(axis=1).argmin() for colour in colours], np.uint8)
    return kept.astype(np.uint8), nearest[places.reshape(-1)].reshape(pixels.shape[:2])


def png(pixels: Pixels) -> bytes:
    """A picture with a palette, which takes a third of the room."""
    palette, places = few_colours(pixels)
    height, width = places.shape
    lines = np.concatenate([np.zeros((height, 1), np.uint8), places], axis=1)
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = (chunk(b"IHDR", head), chunk(b"PLTE", palette.tobytes()), chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts) + chunk(b"IEND", b"")


def ready(page: Page) -> None:
    """Waits until the screen and all that it asks is there."""
    page.wait_for_function(
        "() => document.querySelector('main h2, main h3, main .source') && !document.querySelector('main .loading')"
    )


def take(page: Page, drawing: Page, name: str) -> None:
    """Writes what the page shows. drawing: an empty page, whose policy lets it read pictures."""
    page.mouse.move(4, SIZE["height"] - 4)
    ready(page)
    settled(page)
    page.wait_for_timeout(PAUSE)
    width, height, text = drawing.evaluate(PIXELS, base64.b64encode(page.screenshot()).decode())
    raw = np.frombuffer(base64.b64decode(text), np.uint8).reshape(height, width, 4)
    (FOLDER / name).write_bytes(png(raw[:, :, :3]))


def choose(page: Page, pod: str) -> None:
    """Asks about one of the pods that wait."""
    found = page.locator(".pod-choice", has_text=pod)
    found.click()
    page.locator(".pod-choice[aria-pressed=true]", has_text=pod).wait_for()
    settled(page)


def why_preemption(page: Page) -> None:
    """Whose place the pod takes, and by which rule."""
    page.locator("#step-postFilter").click()


def compared(page: Page) -> None:
    """Release 1.16 beside 1.36."""
    page.get_by_role("button", name="Add a scheduler").click()
    page.get_by_role("dialog").locator("select").first.select_option("1.16")
    page.get_by_role("dialog").get_by_role("button", name="Add").click()
    page.locator(".toast").get_by_role("button", name="Dismiss").click()


SHOTS: tuple[tuple[str, str, str, Callable[[Page], None] | None], ...] = (
    ("cluster", "Cluster", "web", None),
    ("why", "Why", "web", None),
    ("why-filter", "Why", "train-1", refusal),
    ("why-preemption", "Why", "invoice-0", why_preemption),
    ("tune", "Tune", "web", None),
    ("hints", "Hints", "train-1", None),
    ("time", "Time", "web", simulated),
    ("sides", "Side by side", "web", compared),
    ("class", "Class", "web", predicted),
)
"""Picture, screen, the pod that is asked about, what is done before."""

POLICY = """\
apiVersion: v1
kind: Policy
predicates: [{name: PodFitsResources}, {name: OddNodes}]
priorities: [{name: LeastRequestedPriority, weight: 1}]
"""
RULES = '''\
"""A predicate of our own: pods go to nodes with odd numbers."""

from algorithmprovider import register_fit_predicate


def odd_nodes(pod, meta, node_info):
    name = node_info.node.metadata.name
    number = name.rpartition("-")[2]
    return int(numbr) % 2 == 1, ["its number is even"]


def register():
    register_fit_predicate("OddNodes", odd_nodes)
'''
"""With a slip in line 9."""
OPTIONS = ("--release", "1.16", "--plugin", "odd_nodes:register", "--policy-config-file", "policy.yaml")
EXERCISE = "02-taints"
WORKSHOP = Path("/tmp/workshop")
"""Where the rules are while they are shown: the same path in every picture."""
LISTEN = "127.0.0.1:8080"
"""Where the lab is served meanwhile, which links show."""


@contextmanager
def opened(browser: Any, lab: RunningLab, scheme: str, more: str = "") -> Iterator[Page]:
    """A tab with the lab's page. more: further parts of the address."""
    context = browser.new_context(viewport=SIZE, color_scheme=scheme, reduced_motion="reduce")
    page = context.new_page()
    page.goto(lab.address + more)
    page.wait_for_selector("main#main")
    yield page
    context.close()


def screens(browser: Any, drawing: Page, lab: RunningLab, scheme: str, wanted: Sequence[str]) -> None:
    """The screens of the cluster that comes with the package."""
    for name, title, pod, prepare in SHOTS:
        if wanted and name not in wanted:
            continue
        with opened(browser, lab, scheme) as page:
            choose(page, pod)
            show_screen(page, title)
            ready(page)
            if prepare is not None:
                prepare(page)
            take(page, drawing, f"lab-{name}-{scheme}.png")


def exercise(browser: Any, drawing: Page, lab: RunningLab, scheme: str) -> None:
    """An exercise before it is solved, with what its checks find."""
    with opened(browser, lab, scheme, f"&exercise={EXERCISE}") as page:
        page.wait_for_selector(".checks")
        settled(page)
        page.get_by_role("button", name="Check", exact=True).click()
        page.wait_for_selector(".checks[aria-busy=false] .verdict > span")
        page.locator(".exercise summary").first.click()
        page.locator(".exercise h2").first.scroll_into_view_if_needed()
        take(page, drawing, f"lab-exercise-{scheme}.png")


def share(browser: Any, drawing: Page, lab: RunningLab, scheme: str) -> None:
    """The ways to hand the scene on."""
    with opened(browser, lab, scheme) as page:
        settled(page)
        page.get_by_role("button", name="Share or save the scene").click()
        page.wait_for_selector(".share-link input[readonly]")
        take(page, drawing, f"lab-share-{scheme}.png")


def code(browser: Any, drawing: Page, scheme: str) -> None:
    """A custom predicate with a fault at its line."""
    WORKSHOP.mkdir()
    try:
        for name, text in (("odd_nodes.py", RULES), ("policy.yaml", POLICY)):
            (WORKSHOP / name).write_text(text, encoding="utf-8")
        with running_lab(*OPTIONS, cwd=str(WORKSHOP)) as lab, opened(browser, lab, scheme) as page:
            show_screen(page, "Code")
            page.wait_for_selector(".source li.faulty")
            take(page, drawing, f"lab-code-{scheme}.png")
    finally:
        shutil.rmtree(WORKSHOP)


def pictures(browser: Any, lab: RunningLab, scheme: str, wanted: Sequence[str]) -> None:
    """wanted: names of pictures; all when it is empty."""
    drawing = browser.new_page()
    screens(browser, drawing, lab, scheme, wanted)
    if not wanted or "exercise" in wanted:
        exercise(browser, drawing, lab, scheme)
    if not wanted or "share" in wanted:
        share(browser, drawing, lab, scheme)
    if not wanted or "code" in wanted:
        code(browser, drawing, scheme)
    drawing.close()


def main() -> None:
    from playwright.sync_api import sync_playwright

    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright, running_lab("--listen", LISTEN) as lab:
        browser = launched(playwright)
        if browser is None:
            sys.exit(MISSING)
        for scheme in SCHEMES:
            pictures(browser, lab, scheme, sys.argv[1:])
        browser.close()


if __name__ == "__main__":
    main()
