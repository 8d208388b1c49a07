"""What is wrong with how a page is laid out: what sticks out of the window, lies over another text, or is cut."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import resources
from typing import Any

import attrs

from kubescheduler.comparison.comparison import Comparison
from tests.support.comparisons import every_cause
from tests.support.processes import SECONDS

FOUND = """() => {
    const out = [], root = document.documentElement;
    const over = root.scrollWidth - root.clientWidth;
    if (over > 0) out.push(`the page is ${over} pixels wider than the window`);
    // What of a box is seen, and whether the rest can neither be scrolled to nor be read in a title.
    const seen = (element, box) => {
        let { left, top, right, bottom } = box, lost = false;
        for (let up = element; up && up !== document.body; up = up.parentElement) {
            const { overflowX, overflowY, position } = getComputedStyle(up), edge = up.getBoundingClientRect();
            if (overflowX !== "visible") {
                const cut = Math.max(right - edge.right, edge.left - left) > 3;
                lost ||= cut && !/auto|scroll/.test(overflowX) && !element.closest("[title]");
                [left, right] = [Math.max(left, edge.left), Math.min(right, edge.right)];
            }
            if (overflowY !== "visible") [top, bottom] = [Math.max(top, edge.top), Math.min(bottom, edge.bottom)];
            if (position === "fixed") break;
        }
        return { left, top, right, bottom, lost };
    };
    const place = document.querySelector("dialog[open]") ?? document.body;
    const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
    const boxes = [];
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const element = node.parentElement, text = node.data.trim();
        if (!text || !element.checkVisibility({ visibilityProperty: true })) continue;
        if (element.closest(".unseen, .skip, option")) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        for (const rect of range.getClientRects()) {
            const box = seen(element, rect);
            if (box.right - box.left < 1 || box.bottom - box.top < 1) continue;
            if (box.lost) out.push(`cut: ${text}`);
            boxes.push({ ...box, element, text });
        }
    }
    const clear = element => /transparent|, 0\\)/.test(getComputedStyle(element).backgroundColor);
    // Of two boxes at one point the lower one is seen when nothing between them has a ground.
    const overprinted = (a, b, x, y) => {
        const stack = document.elementsFromPoint(x, y);
        const [upper, lower] = [stack.indexOf(a.element), stack.indexOf(b.element)].sort((one, other) => one - other);
        return upper >= 0 && stack.slice(upper, lower).every(each => clear(each) || each.contains(stack[lower]));
    };
    boxes.sort((a, b) => a.top - b.top);
    boxes.forEach((a, at) => {
        for (let next = at + 1; next < boxes.length && boxes[next].top < a.bottom - 4; next += 1) {
            const b = boxes[next];
            const [left, right] = [Math.max(a.left, b.left), Math.min(a.right, b.right)];
            const [top, bottom] = [Math.max(a.top, b.top), Math.min(a.bottom, b.bottom)];
            if (a.element === b.element || right - left <= 2 || bottom - top <= 4) continue;
            if (overprinted(a, b, (left + right) / 2, (top + bottom) / 2)) out.push(`${a.text} lies over ${b.text}`);
        }
    });
    return out;
}"""


def layout_faults(page: Any) -> list[str]:
    """Of the part of a page that is in view; of an open dialog alone where there is one."""
    return list(page.evaluate(FOUND))


AXE = resources.files("axe_playwright_python") / "axe.min.js"


def inaccessible(page: Any, *rules: str, within: str = "html") -> list[str]:
    """What axe-core finds in an element as it stands: rule, element, and why. rules: no others; none: all."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    options = {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})}
    asked = "([within, options]) => axe.run(within, options).then(found => found.violations)"
    found = page.evaluate(asked, [within, options])
    return [f"{one['id']}: {node['html'][:200]}: {node['failureSummary']}" for one in found for node in one["nodes"]]


WIDE, PHONE = {"width": 1200, "height": 900}, {"width": 360, "height": 740}


Page = Any
"""playwright.sync_api.Page"""

Opens = Callable[..., Page]
"""Opens a comparison, a time line or a document: ``(it, viewport, **options of the browser's context)``."""


def shown(page: Page) -> list[str]:
    """The pods of the table, in order."""
    names = page.eval_on_selector_all("#rows > tr[data-pod]", "rows => rows.map(row => row.dataset.pod)")
    assert isinstance(names, list)
    return names


def until(page: Page, holds: Callable[[], bool]) -> None:
    """Waits, a frame at a time, until something holds of the page: events of its history come when they come."""
    end = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end, "it does not come to hold"
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")


def moved(found: Comparison) -> list[str]:
    return [p.pod for p in found.pods if p.differs]


def controlled(count: int = 24) -> Comparison:
    """Pods of every cause in three workloads and, every fourth, in none."""
    workloads = ("Deployment/web", "StatefulSet/db", "CronJob/nightly")
    found = every_cause(count)
    pods = [
        one if at % 4 == 3 else attrs.evolve(one, pod=f"shop/pod-{at}", workload=workloads[at % 4])
        for at, one in enumerate(found.pods)
    ]
    return attrs.evolve(found, pods=tuple(pods))
