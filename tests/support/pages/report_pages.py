"""Reports in a real Chromium: what tests of pages share."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import attrs

from kubescheduler.comparison.comparison import Comparison
from tests.support.comparing.comparisons import every_cause

WIDE, PHONE = {"width": 1200, "height": 900}, {"width": 360, "height": 740}

SECONDS = 60
"""Until a test gives up on a page."""

Page = Any
"""playwright.sync_api.Page"""

Opens = Callable[..., Page]
"""Opens a comparison as a page: ``(comparison, viewport, **options of the browser's context)``."""


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
