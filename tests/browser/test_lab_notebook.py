"""A scene in a notebook: in the frame of a cell's output, in JupyterLab, and in a notebook exported as HTML."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kubescheduler as ks
from tests.support.pages.lab_page import MILLISECONDS, WIDE, Page, show_screen
from tests.support.processes import SECONDS
from tests.support.processes.dependent_processes import dependent

SCREENS = ("Cluster", "Why", "Tune", "Hints", "Time", "Side by side")
JUPYTER = os.environ.get("JUPYTER") or shutil.which("jupyter")
"""The program of an installation of JupyterLab, which need not be this one's."""
needs_jupyter = pytest.mark.skipif(
    JUPYTER is None or not Path(JUPYTER).with_name("jupyter-lab").exists(),
    reason="JupyterLab is not installed: pip install jupyterlab, anywhere, and name its program jupyter in JUPYTER",
)
OF_FRAME = re.compile(r"^about:srcdoc")
"""Messages of the frame's own document; what JupyterLab writes is its own affair."""


@pytest.fixture
def cell() -> str:
    """What a cell shows whose last value is a scene of two releases."""
    cluster = ks.Cluster(release="1.36").node("a", cpu=4).node("b", cpu=8).pod("web", cpu=1)
    return ks.scene(cluster, sides=["release=1.36", "release=1.16"])._repr_html_()


@pytest.fixture
def page(browser: Any) -> Iterator[Page]:
    """A page in which no error may happen."""
    context = browser.new_context(viewport=WIDE, reduced_motion="reduce")
    page, faults = context.new_page(), []
    page.set_default_timeout(MILLISECONDS)
    page.on("console", lambda message: OF_FRAME.match(message.location["url"]) and faults.append(message.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    yield page
    context.close()
    assert faults == []


def look(page: Page) -> None:
    """Goes through every screen of the scene in the page's frame, and to the other release."""
    frame = page.wait_for_selector("iframe[srcdoc]").content_frame()
    frame.wait_for_selector("main#main")
    for title in SCREENS:
        show_screen(frame, title)
    frame.locator(".bar .side").get_by_text("1.16").first.click()
    show_screen(frame, "Why")
    assert "release 1.16" in frame.locator("main").inner_text()


def notebook(folder: Path, cell: str) -> Path:
    """A notebook with a cell that shows what ``cell`` is: a kernel of any Python can run it."""
    (folder / "cell.html").write_text(cell, encoding="utf-8")
    code = "from IPython.display import HTML\nHTML(open('cell.html', encoding='utf-8').read())"
    one: dict[str, Any] = {
        "cell_type": "code",
        "id": "scene",
        "metadata": {},
        "execution_count": None,
        "outputs": [],
        "source": code,
    }
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    written = folder / "scene.ipynb"
    whole = {"cells": [one], "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    written.write_text(json.dumps(whole), encoding="utf-8")
    return written


def test_a_frame_shows_every_screen(page: Page, cell: str, tmp_path: Path) -> None:
    """It is a document without an address, whose history nobody may write; and the page around it stays where it is."""
    around = tmp_path / "notebook.html"
    around.write_text(f"<!doctype html><title>notebook</title>{cell}", encoding="utf-8")
    page.goto(around.as_uri())
    look(page)
    assert page.url == around.as_uri()


@needs_jupyter
def test_an_exported_notebook_shows_it(page: Page, cell: str, tmp_path: Path) -> None:
    """As nbconvert writes HTML of a notebook that it has run."""
    command = [str(JUPYTER), "nbconvert", "--to", "html", "--execute", str(notebook(tmp_path, cell))]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    page.route("http*://**", lambda route: route.abort())
    page.goto((tmp_path / "scene.html").as_uri())
    look(page)


def answers(page: Page, address: str) -> None:
    """Waits until the server that has said its address listens there."""
    end = time.monotonic() + SECONDS
    while True:
        try:
            page.request.get(f"{address}api")
        except Exception:
            assert time.monotonic() < end, "JupyterLab does not answer"
        else:
            return


@needs_jupyter
def test_jupyterlab_shows_it(page: Page, cell: str, tmp_path: Path) -> None:
    """Where a cell has run."""
    notebook(tmp_path, cell)
    options = ["--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0", "--ServerApp.token=only-for-this-test"]
    command = [str(JUPYTER), "lab", *options, f"--ServerApp.root_dir={tmp_path}", "--LabApp.expose_app_in_browser=True"]
    server = subprocess.Popen(dependent(command), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        found = (re.search(r"http://127\.0\.0\.1:\d+/", line) for line in server.stderr)
        impatient = threading.Timer(SECONDS, server.kill)  # its lines end then
        impatient.start()
        address = next(filter(None, found), None)
        impatient.cancel()
        assert address, "JupyterLab does not say where it listens"
        answers(page, address[0])
        page.goto(f"{address[0]}lab/tree/scene.ipynb?token=only-for-this-test&reset")
        page.locator(".jp-CodeCell .cm-content").first.click()
        page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=idle]", state="attached")
        page.keyboard.press("Shift+Enter")
        look(page)
    finally:
        server.kill()
        server.wait()
        server.stderr.close()
