"""Exercises in a browser: the task, hints in tiers, files, checks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubescheduler.lab.exercises.exercise_reading import shipped_exercise, shipped_names
from tests.support.pages.lab_page import LabPages, Page, RunningLab, settled, violations


def opened(lab: RunningLab, lab_pages: LabPages, name: str) -> tuple[Page, dict[str, Any]]:
    """The page with an exercise, and what the scene says of it."""
    found: list[Any] = []
    page = lab_pages.opened(lab, f"exercise={name}")
    settled(page)
    page.on("response", lambda answer: answer.url.endswith("/api/exercise") and found.append(answer))
    page.reload()
    page.wait_for_selector(".checks")
    settled(page)
    return page, found[-1].json()


def checked(page: Page) -> str:
    """What Check says in the end."""
    page.get_by_role("button", name="Check", exact=True).click()
    page.wait_for_selector(".checks[aria-busy=false] .verdict > span")
    return str(page.locator(".checks .verdict").inner_text())


def solve(page: Page, exercise: dict[str, Any]) -> None:
    """Writes the files of the solution: those that the page edits in it, code on the disk."""
    solution = shipped_exercise(exercise["name"]).folder / "solution"
    for file in exercise["files"]:
        text = (solution / file["name"]).read_text(encoding="utf-8")
        if not file["editable"]:
            Path(file["path"]).write_text(text, encoding="utf-8")
            continue
        page.get_by_role("combobox", name="File").select_option(file["name"])
        page.wait_for_selector(".exercise-file .editor-host:not([hidden]) .cm-content")
        page.locator(".exercise-file .cm-content").fill(text)
        page.wait_for_selector(".exercise-file [role=status] >> text=Saved")


@pytest.mark.parametrize("name", shipped_names())
def test_the_start_fails_and_the_solution_passes(name: str, lab: RunningLab, lab_pages: LabPages) -> None:
    """By Check in the page, with the file that the page may edit typed there."""
    page, exercise = opened(lab, lab_pages, name)
    assert "fail" in checked(page)
    solve(page, exercise)
    settled(page)
    assert "Solved" in checked(page)
    assert page.locator(".check-row .refused").count() == 0


def test_what_was_typed_just_now_is_checked(lab: RunningLab, lab_pages: LabPages) -> None:
    """Check does not wait for the pause after which a file is kept."""
    page, _ = opened(lab, lab_pages, "02-taints")
    solution = shipped_exercise("02-taints").folder / "solution"
    page.wait_for_selector(".exercise-file .editor-host:not([hidden]) .cm-content")
    file = page.get_by_role("combobox", name="File").input_value()
    page.locator(".exercise-file .cm-content").fill((solution / file).read_text(encoding="utf-8"))
    assert "Solved" in checked(page)


def test_a_file_that_was_not_saved_is_saved_later(lab: RunningLab, lab_pages: LabPages) -> None:
    """What the server did not take is sent again before the next check."""
    page, _ = opened(lab, lab_pages, "02-taints")
    solution = shipped_exercise("02-taints").folder / "solution"
    page.wait_for_selector(".exercise-file .editor-host:not([hidden]) .cm-content")
    file = page.get_by_role("combobox", name="File").input_value()
    page.route("**/api/exerciseFile", lambda route: route.fulfill(json={"refused": "asked", "problems": ["no"]}))
    page.locator(".exercise-file .cm-content").fill((solution / file).read_text(encoding="utf-8"))
    page.wait_for_selector(".exercise-file [role=status] >> text=Not saved")
    page.unroute("**/api/exerciseFile")
    assert "Solved" in checked(page)


def test_help_comes_in_tiers(lab: RunningLab, lab_pages: LabPages) -> None:
    """One more at each press, until there is none; nothing of it is inaccessible."""
    page, exercise = opened(lab, lab_pages, "02-taints")
    hints = shipped_exercise("02-taints").hints
    assert exercise["tiers"] == []
    for shown in range(1, len(hints) + 1):
        page.locator(".tiers button").click()
        page.wait_for_function("count => document.querySelectorAll('.tiers > ol > li').length === count", arg=shown)
    assert page.locator(".tiers button").count() == 0
    assert violations(page) == []


def test_a_task_is_shown_as_elements(lab: RunningLab, lab_pages: LabPages) -> None:
    """Lists, code, emphasis and tables of its Markdown; no sign of it is left."""
    page, _ = opened(lab, lab_pages, "08-predicate")
    task = page.locator(".exercise .markdown").first
    assert task.locator("table td code").count() > 0
    assert task.locator("p code").count() > 0
    assert "`" not in task.inner_text()
    page, _ = opened(lab, lab_pages, "03-node-affinity")
    assert page.locator(".exercise .markdown").first.locator("ul > li strong").count() > 0
