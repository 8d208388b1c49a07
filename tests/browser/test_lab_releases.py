"""The slider of releases in the lab: what decides, where the pod goes elsewhere, who cannot read what configures."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kubescheduler.releases.names import RELEASE_NAMES
from tests.browser.test_lab_layout import SIZES, fits_every_size
from tests.kubescheduler.cli.test_compare import MOVES
from tests.support.pages.lab_page import (
    LabPages,
    RunningLab,
    decide_by,
    open_releases,
    running_lab,
    settled,
    show_screen,
)
from tests.support.pages.layout_faults import until


@pytest.fixture(scope="module")
def moving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningLab]:
    """The lab with a pod that goes elsewhere from 1.22 to 1.23."""
    folder = tmp_path_factory.mktemp("moving")
    (folder / "moves.yaml").write_text(MOVES)
    with running_lab("moves.yaml", "--release", "1.22", cwd=str(folder)) as running:
        yield running


def test_the_step_at_which_the_pod_moves_is_marked(moving: RunningLab, lab_pages: LabPages) -> None:
    """By a mark whose title has the way and the change, and in words; the keys go from release to release."""
    page = lab_pages.opened(moving)
    settled(page)
    slider = open_releases(page)
    assert slider.get_attribute("aria-valuetext") == "release 1.22"
    mark = page.locator(".release-marks span[title^='1.23']")
    mark.wait_for()
    assert mark.get_attribute("title") == "1.23: n1 → n2, taint-toleration-weighs-3"
    row = page.locator(".release-moves li").filter(has_text="n1 → n2")
    assert "TaintToleration weighs 3" in (row.locator("span").first.get_attribute("title") or "")
    until(page, lambda: "steps" not in page.locator(".releases").inner_text())
    slider.focus()
    page.keyboard.press("ArrowRight")
    settled(page)
    assert slider.get_attribute("aria-valuetext") == "release 1.23, where the pod moves: n1 → n2"
    assert "would go to n2" in page.locator(".pod-choice", has_text="web").inner_text()
    page.keyboard.press("ArrowLeft")
    settled(page)
    row.get_by_role("button", name="1.23").click()
    settled(page)
    assert slider.get_attribute("aria-valuetext") == "release 1.23, where the pod moves: n1 → n2"
    page.keyboard.press("Escape")
    slider.wait_for(state="detached")
    assert page.evaluate("document.activeElement.classList.contains('release')")
    assert "release 1.23" in page.get_by_role("button", name="change the release").inner_text()
    page.get_by_role("button", name="Undo: ").click()
    settled(page)
    assert "would go to n1" in page.locator(".pod-choice", has_text="web").inner_text()


def test_in_a_lesson_nothing_is_told(moving: RunningLab, lab_pages: LabPages) -> None:
    """There the pod's way is to be guessed."""
    page = lab_pages.opened(moving, "screen=class")
    settled(page)
    open_releases(page)
    settled(page)
    assert page.locator(".release-marks span").count() == page.locator(".release-moves").count() == 0


def test_the_panel_is_laid_out(moving: RunningLab, lab_pages: LabPages) -> None:
    """With a mark and with releases that cannot read the configuration, in three sizes, light and dark as elsewhere."""
    page = lab_pages.opened(moving, "screen=tune", viewport=SIZES[0])
    settled(page)
    tab = page.evaluate("sessionStorage.getItem('lab-tab')")
    moving.ask("edit", tab=tab, edit={"do": "weights", "side": "a", "weights": {"NodeResourcesFit": 2}})
    page.reload()
    settled(page)
    open_releases(page)
    settled(page)
    page.get_by_text("cannot read the configuration").click()
    assert page.locator(".release-others button").count() > 1
    fits_every_size(page)


def test_neighbours_come_first_side_by_side(moving: RunningLab, lab_pages: LabPages) -> None:
    """The release before the one that decides and the one after it; all others follow."""
    page = lab_pages.opened(moving, "screen=sides")
    settled(page)
    decide_by(page, "1.22")
    show_screen(page, "Side by side")
    page.get_by_role("button", name="Add a scheduler").click()
    select = page.get_by_role("dialog").locator("select").first
    options = select.locator("option").all_inner_texts()
    assert options[:2] == ["1.21", "1.23"]
    assert sorted(options) == sorted(RELEASE_NAMES)
    assert select.input_value() == "1.21"
