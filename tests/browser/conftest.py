"""A browser, and reports opened in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubescheduler.comparison.comparison import Comparison
from kubescheduler.comparison.release_steps import Timeline
from kubescheduler.report.html_report import render
from kubescheduler.report.timeline_report import render_timeline
from tests.support.pages.browsers import MISSING, launched
from tests.support.pages.lab_page import MILLISECONDS, QUIET, LabPages, RunningLab, running_lab
from tests.support.pages.layout_faults import WIDE, Opens, Page


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """The Chromium of this machine, or the one that playwright brought.

    It ends with this folder: as long as it is there, playwright's event loop runs in this thread, and
    tests that want one of their own would fail.
    """
    playwright_api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install 'kubescheduler[test]'"
    )
    with playwright_api.sync_playwright() as playwright:
        started = launched(playwright)
        if started is None:
            pytest.skip(MISSING)
        yield started
        started.close()


@pytest.fixture
def report(browser: Any, tmp_path: Path) -> Iterator[Opens]:
    """Opens a report; at the end nothing may have been written to the console, failed, or asked of another address."""
    faults: list[str] = []
    contexts: list[Any] = []

    def opened(found: Comparison | Timeline | str, viewport: dict[str, int] = WIDE, **options: Any) -> Page:
        file = tmp_path / f"report-{len(contexts)}.html"
        file.write_text(_document(found), encoding="utf-8")
        contexts.append(browser.new_context(viewport=viewport, offline=True, **options))
        page = contexts[-1].new_page()
        page.set_default_timeout(MILLISECONDS)
        page.on("console", lambda message: faults.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: faults.append(f"error: {error}"))
        page.on("requestfailed", lambda request: faults.append(f"failed: {request.url}"))
        page.on(
            "request",
            lambda asked: (
                asked.url.partition("#")[0] in (file.as_uri(), "data:,") or faults.append(f"asked: {asked.url}")
            ),
        )
        page.goto(file.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert faults == []


def _document(found: Comparison | Timeline | str) -> str:
    if isinstance(found, str):
        return found
    return render_timeline(found) if isinstance(found, Timeline) else render(found)


@pytest.fixture(scope="package")
def lab_context(browser: Any, lab: RunningLab) -> Iterator[Any]:
    """Where one lab's page after the other is opened; an idle tab keeps the process that has their scripts compiled."""
    context = browser.new_context(**QUIET)
    context.new_page().goto(f"{lab.origin}/idle")
    yield context
    context.close()


@pytest.fixture
def lab_pages(browser: Any, lab_context: Any) -> Iterator[LabPages]:
    """Opens labs' pages; at the end nothing may have been written to a console, failed, or asked of another address."""
    pages = LabPages(browser, lab_context)
    yield pages
    pages.close()
    assert pages.faults == []


@pytest.fixture(scope="package")
def lab() -> Iterator[RunningLab]:
    """The lab with the cluster that comes with the package; each tab has a scene of its own."""
    pytest.importorskip("starlette", reason="the extra is not installed: pip install 'kubescheduler[lab]'")
    with running_lab() as running:
        yield running
