"""The lab's screens in three sizes and both themes: nothing sticks out, is cut, overprinted, or inaccessible."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kubescheduler as ks
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.verbs import VERBS
from tests.support.pages.lab_page import (
    PHONE,
    WIDE,
    LabPages,
    Page,
    RunningLab,
    predicted,
    refusal,
    settled,
    show_screen,
    simulated,
    violations,
)
from tests.support.pages.layout_faults import layout_faults
from tests.support.releases_tried import RELEASES_TRIED

SIZES = ({"width": 1280, "height": 800}, {"width": 1920, "height": 1080}, PHONE)
ACCESSIBLE = {1280: ("light", "dark"), 1920: (), 360: ("dark",)}
"""Width → in which colours it is looked at. A large window has the elements and colours of a small one."""


def fits_every_size(page: Page) -> None:
    """Nothing is cut or lies over another thing, and everybody can read and use it."""
    found = {}
    for size in SIZES:
        page.set_viewport_size(size)
        settled(page)
        found[size["width"]] = [*layout_faults(page), *violations(page, ACCESSIBLE[size["width"]])]
    assert found == {size["width"]: [] for size in SIZES}


def why(page: Page) -> None:
    """The checks, with the evidence of one that refuses."""
    page.locator(".pod-choice", has_text="train-1").click()
    show_screen(page, "Why")
    refusal(page)


def scores(page: Page) -> None:
    """Raw scores, whose columns have long titles."""
    page.locator("#step-score").click()


def compared(page: Page) -> None:
    """Side by side, with a second release."""
    page.get_by_role("button", name="Add a scheduler").click()
    page.get_by_role("dialog").locator("select").first.select_option("1.16")
    page.get_by_role("dialog").get_by_role("button", name="Add").click()
    page.locator(".compared-pods").wait_for()


def shared(page: Page) -> None:
    """The ways to hand the scene on."""
    page.get_by_role("button", name="Share or save the scene").click()
    page.wait_for_selector(".share-link input[readonly]")


def as_it_is(page: Page) -> None:
    """Nothing is done."""


PLACES: dict[str, tuple[str, Callable[[Page], None]]] = {
    "cluster": ("screen=cluster", as_it_is),
    "why, total": ("screen=why", as_it_is),
    "why, scores": ("screen=why", scores),
    "why, checks": ("screen=cluster", why),
    "tune": ("screen=tune", as_it_is),
    "hints": ("screen=hints", as_it_is),
    "time": ("screen=time", as_it_is),
    "time, a run": ("screen=time", simulated),
    "sides": ("screen=sides", as_it_is),
    "sides, compared": ("screen=sides", compared),
    "class": ("screen=class", predicted),
    "code": ("screen=code", as_it_is),
    "an exercise": ("exercise=02-taints", as_it_is),
    "code of an exercise": ("exercise=08-predicate&screen=code", as_it_is),
    "share": ("screen=cluster", shared),
}
"""What is looked at → the address, and what is done there first."""


@pytest.mark.parametrize("place", PLACES)
def test_a_place_is_laid_out(place: str, lab: RunningLab, lab_pages: LabPages) -> None:
    """In a small window, a large one and on a phone, one after the other in the same page; accessible in light and
    dark."""
    address, prepare = PLACES[place]
    page = lab_pages.opened(lab, address, viewport=SIZES[0])
    settled(page)
    prepare(page)
    fits_every_size(page)


def boxes(page: Page, elements: str) -> Any:
    """How large some elements are, and how they are laid out."""
    settled(page)
    return page.eval_on_selector_all(
        elements, "all => all.map(one => [one.offsetWidth, one.offsetHeight, getComputedStyle(one).display])"
    )


def test_styles_of_other_screens_change_nothing(lab: RunningLab, lab_pages: LabPages) -> None:
    """Each screen brings its own, and they stay: a screen looks the same, whatever was seen before."""
    page = lab_pages.opened(lab, "screen=tune", viewport=SIZES[0])
    tune = boxes(page, ".weight, .weight *")
    show_screen(page, "Side by side")
    compared(page)
    sides = boxes(page, ".compared-pods, .compared-pods *")
    for title in ("Class", "Why", "Hints", "Time"):
        show_screen(page, title)
    show_screen(page, "Tune")
    assert boxes(page, ".weight, .weight *") == tune
    show_screen(page, "Side by side")
    assert boxes(page, ".compared-pods, .compared-pods *") == sides


def test_cards_follow_the_size_of_the_type(lab: RunningLab, lab_pages: LabPages) -> None:
    """Which grows with the window: what a card has to hold is as high as in a window that was opened so."""
    page = lab_pages.opened(lab, viewport=SIZES[0])
    heights = []
    for size in (SIZES[0], SIZES[1], SIZES[0]):
        page.set_viewport_size(size)
        settled(page)
        heights.append(page.locator("article.node").first.evaluate("card => card.offsetHeight"))
    assert heights[0] == heights[2] < heights[1]


def test_faults_of_a_layout_are_found(lab_pages: LabPages, browser: object) -> None:
    """What the test above looks for is seen where it is."""
    page = browser.new_page(viewport=SIZES[2])  # type: ignore[attr-defined]
    page.set_content(
        """<!doctype html><body style="margin: 0; font: 16px/20px monospace">
        <p style="position: absolute; top: 0">one text</p><p style="position: absolute; top: 6px">another text</p>
        <p style="position: absolute; top: 100px; width: 60px; overflow: hidden; white-space: pre">text that is cut</p>
        <p style="position: absolute; top: 140px; width: 60px; overflow: auto; white-space: pre">a text that scrolls</p>
        <p style="position: absolute; top: 200px">hidden</p>
        <p style="position: absolute; top: 206px; background: white">above it</p>
        <p style="position: absolute; top: 300px; width: 500px; background: red">&nbsp;</p>"""
    )
    assert layout_faults(page) == [
        "the page is 140 pixels wider than the window",
        "cut: text that is cut",
        "one text lies over another text",
    ]
    page.close()


SCREENS = ("Cluster", "Why", "Tune", "Hints", "Time", "Side by side", "Class")
POD, NODE = "shop/db-2", "worker-3"
DIALOGS: dict[str, tuple[str, dict[str, Any]]] = {
    "add a node": ("addNode", {}),
    "add pods": ("addPod", {}),
    "add YAML": ("addYaml", {}),
    "edit a node": ("editYaml", {"kind": "node", "name": NODE}),
    "edit a pod": ("editYaml", {"kind": "pod", "name": POD}),
    "clone": ("cloneNode", {"name": NODE}),
    "taint": ("taint", {"name": NODE}),
    "label": ("label", {"name": NODE}),
    "resize": ("resize", {"name": NODE}),
    "scale": ("scale", {"pod": POD}),
    "move": ("moveTo", {"pod": POD}),
    "a node": ("nodeDetails", {"name": NODE}),
    "a verdict": ("verdict", {"pod": POD, "node": "worker-1"}),
    "a rule": ("rule", {"rule": "NodeResourcesFit", "release": "1.36"}),
}
"""What it is for → its name in the page, and what it is about."""


def sticking_out(page: Page) -> int:
    """Pixels that the page is wider than the window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def test_the_list_of_pods_is_beside_every_screen_of_a_phone(lab: RunningLab, lab_pages: LabPages) -> None:
    """Once it was opened, and nothing sticks out; what it holds is accessible."""
    page = lab_pages.opened(lab, viewport=PHONE)
    settled(page)
    page.locator(".pending h2 button").click()
    assert violations(page, ["light"]) == []
    for screen in SCREENS:
        show_screen(page, screen)
        assert page.locator(".pod-choice").first.is_visible(), screen
        assert sticking_out(page) <= 0, screen


def test_no_dialog_is_inaccessible(lab: RunningLab, lab_pages: LabPages) -> None:
    """Wide and light, on a phone and dark; Escape closes it. The page behind it was looked at without it."""
    page = lab_pages.opened(lab)
    settled(page)
    for dialog, (name, about) in DIALOGS.items():
        page.set_viewport_size(WIDE)
        page.evaluate(f"import('./dialogs.js').then(all => all.openLater({json.dumps(name)}, {json.dumps(about)}))")
        page.get_by_role("dialog").wait_for()
        for viewport, scheme in ((WIDE, "light"), (PHONE, "dark")):
            page.set_viewport_size(viewport)
            assert violations(page, [scheme], within="dialog[open]") == [], dialog
        assert sticking_out(page) <= 0, dialog
        page.keyboard.press("Escape")
        page.get_by_role("dialog").wait_for(state="detached")


def test_a_phone_begins_with_the_screen(lab: RunningLab, lab_pages: LabPages) -> None:
    """The pods stand after it; the bar leads there. In a wide window they stand before."""
    page = lab_pages.opened(lab, viewport={"width": 390, "height": 844})
    settled(page)
    after = "document.querySelector('main').compareDocumentPosition(document.querySelector('.pending')) & 4"
    assert page.evaluate(after)
    page.get_by_role("button", name="Pods 6").click()
    page.locator(".pod-choice").first.wait_for()
    assert page.locator(".pending h2 button").evaluate("button => button === document.activeElement")
    page.set_viewport_size(WIDE)
    page.wait_for_function(f"() => !({after})")


COLOURS = 10
APART = 0.12
"""The least distance of two colours in OKLab; 0.02 is just seen by most."""
EYES = {
    "usual": np.eye(3),
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
"""What colours are to eyes that lack a kind of cones, in linear RGB (Machado, Oliveira and Fernandes, 2009)."""
SHADES = """async rules => {
    const { letter, shading } = await import(new URL("components/shades.js", document.baseURI));
    return rules.map(rule => {
        const probe = document.createElement("b");
        document.body.append(Object.assign(probe, { textContent: letter(rule) }));
        Object.assign(probe.style, shading(rule));
        const { backgroundColor, color, backgroundImage: image } = getComputedStyle(probe);
        probe.remove();
        const numbers = text => text.match(/\\d+/g).slice(0, 3).map(Number);
        return { ground: numbers(backgroundColor), ink: numbers(color), lines: image !== "none", letter: letter(rule) };
    });
}"""


def linear(colour: list[int]) -> Any:
    """Red, green and blue as amounts of light."""
    parts = np.array(colour) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def oklab(light: Any) -> Any:
    """Where a colour is in OKLab."""
    cones = np.cbrt(
        np.array([[0.41222, 0.53633, 0.05145], [0.2119, 0.68068, 0.1074], [0.0883, 0.28172, 0.62998]])
        @ np.clip(light, 0, 1)
    )
    return np.array([[0.21045, 0.79362, -0.00407], [1.978, -2.42859, 0.45059], [0.0259, 0.78277, -0.80868]]) @ cones


def contrast(one: list[int], other: list[int]) -> float:
    """Of two colours, as WCAG has it."""
    low, high = sorted(float(np.dot([0.2126, 0.7152, 0.0722], linear(each))) for each in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_a_default_profile_has_no_more_rules_than_there_are_colours(release: str) -> None:
    """Of those that score by default."""
    cluster = ks.Cluster(release=release).node("a", cpu=4).node("b", cpu=4).pod("web", cpu=1)
    form = VERBS["tune"](Scene.opened(cluster), {"side": "a"})
    assert 5 < sum(bool(rule["on"]) for rule in form["rules"]) <= COLOURS


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_rules_are_told_apart(scheme: str, lab: RunningLab, lab_pages: LabPages) -> None:
    """Twenty by colour and lines, the ten of a profile by colour alone; all by their letters."""
    page = lab_pages.opened(lab, color_scheme=scheme)
    shades = page.evaluate(SHADES, [f"rule {at}" for at in range(2 * COLOURS)])
    assert len({each["letter"] for each in shades}) == 2 * COLOURS
    assert min(contrast(each["ground"], each["ink"]) for each in shades) >= 4.5
    assert len({(tuple(each["ground"]), each["lines"]) for each in shades}) == 2 * COLOURS
    for name, eye in EYES.items():
        seen = [oklab(np.array(eye) @ linear(each["ground"])) for each in shades[:COLOURS]]
        nearest = min(float(np.linalg.norm(one - other)) for one, other in itertools.combinations(seen, 2))
        assert nearest >= APART, name


def test_the_page_shows_the_cluster(lab: RunningLab, lab_pages: LabPages) -> None:
    """Every node and the pods that wait, and the token is no longer in the address."""
    page = lab_pages.opened(lab)
    settled(page)
    for node in ("worker-1", "gpu-1", "edge-1"):
        assert page.get_by_text(node, exact=True).count() > 0
    assert page.get_by_text("search-0").count() > 0
    assert "token" not in page.url


def test_a_foreign_page_cannot_ask(lab: RunningLab, lab_pages: LabPages, browser: Any) -> None:
    """Neither with the token, nor by a form, nor does an event stream open; nor can it frame the page."""
    context = browser.new_context()
    page = context.new_page()
    page.route(
        "http://foreign.example/**",
        lambda route: route.fulfill(body="<!doctype html><p>foreign", content_type="text/html"),
    )
    page.goto("http://foreign.example/")
    answers = page.evaluate(
        """async ([origin, token]) => {
            const asked = fetch(`${origin}/api/open`, {method: "POST", body: '{"from":"start"}',
                headers: {"Content-Type": "application/json", "X-Lab-Token": token}});
            const plain = fetch(`${origin}/api/open`, {method: "POST", body: '{"from":"start"}', mode: "no-cors"});
            const source = new EventSource(`${origin}/api/events?tab=x&token=${token}`);
            const events = new Promise((done, failed) => { source.onopen = done; source.onerror = failed; });
            const says = promise => promise.then(
                answer => answer.type === "opaque" ? "nothing" : "answered", () => "failed");
            return [await says(asked), await says(plain), await says(events)];
        }""",
        [lab.origin, lab.token],
    )
    assert answers[0] == answers[2] == "failed"
    assert answers[1] in ("nothing", "failed")
    context.close()
