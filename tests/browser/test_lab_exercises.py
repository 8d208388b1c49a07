"""Exercises in a browser: the task, hints in tiers, files, checks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubescheduler.lab.exercises.exercise_reading import shipped_exercise, shipped_names, start_exercise
from tests.support.pages.lab_page import LabPages, Page, RunningLab, running_lab, settled, show_screen, violations


def opened(lab: RunningLab, lab_pages: LabPages, name: str) -> tuple[Page, dict[str, Any]]:
    """The page with an exercise, and what the scene says of it."""
    page = lab_pages.opened(lab, f"exercise={name}")
    page.wait_for_selector(".checks")
    settled(page)
    return page, lab.ask("exercise", tab=page.evaluate("sessionStorage.getItem('lab-tab')"))


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


@pytest.mark.parametrize("name", ["02-taints", "08-predicate", "09-packing-policy"])
def test_the_start_fails_and_the_solution_passes(name: str, lab: RunningLab, lab_pages: LabPages) -> None:
    """By Check in the page, with the file that the page may edit typed there: manifests, a policy, code. All others:
    tests/kubescheduler/lab/scene/test_exercise_verbs.py."""
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


def test_a_slip_is_shown_at_its_line(lab: RunningLab, lab_pages: LabPages) -> None:
    """Below the file that is typed, and no longer once it is mended; Check says that nothing could be judged."""
    page, _ = opened(lab, lab_pages, "02-taints")
    content = page.locator(".exercise-file .editor-host:not([hidden]) .cm-content")
    text = content.inner_text()
    content.fill("kind: [\n")
    assert page.locator(".exercise-file .editor-problems li b").inner_text() == "line 2"
    assert page.locator(".checks .refused").count() == 0
    page.get_by_role("button", name="Check", exact=True).click()
    page.locator(".checks .refused", has_text="train.yaml: line 2").wait_for()
    content.fill(text)
    page.wait_for_selector(".exercise-file [role=status] >> text=Saved")
    assert page.locator(".editor-problems").count() == 0


def test_code_is_only_read(lab: RunningLab, lab_pages: LabPages) -> None:
    """Nothing is typed over what is selected in it."""
    page, _ = opened(lab, lab_pages, "08-predicate")
    content = page.locator(".exercise-file .editor-host:not([hidden]) .cm-content")
    text = content.inner_text()
    content.press("Control+a")
    page.keyboard.type("x")
    assert content.inner_text() == text


def test_a_file_that_is_saved_elsewhere_is_shown(tmp_path: Path, lab_pages: LabPages) -> None:
    """In another tab, or by an editor: it would be written over else by the next word that is typed."""
    start_exercise(shipped_exercise("02-taints"), tmp_path / "mine")
    with running_lab("--exercise", str(tmp_path / "mine")) as lab:
        one, two = lab_pages.opened(lab), lab_pages.opened(lab)
        texts = [page.locator(".exercise-file .editor-host:not([hidden]) .cm-content") for page in (one, two)]
        texts[0].press("Control+End")
        one.keyboard.type("# of the first")
        two.locator(".cm-line", has_text="# of the first").wait_for()
        texts[1].press("Control+End")
        two.keyboard.type(" and the second")
        two.wait_for_selector(".exercise-file [role=status] >> text=Saved")
        assert (tmp_path / "mine" / "train.yaml").read_text().endswith("# of the first and the second")
        lab_pages.close()


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


def test_the_bar_leads_to_an_exercise_that_stands_below(lab: RunningLab, lab_pages: LabPages) -> None:
    """On a window with no room beside the screen; where it stands beside, the bar has no way to it."""
    page, _ = opened(lab, lab_pages, "12-migration")
    way = page.get_by_role("button", name="Exercise", exact=True)
    assert not way.is_visible()
    page.set_viewport_size({"width": 1024, "height": 600})
    show_screen(page, "Tune")
    way.click()
    head = page.get_by_role("heading", name="A migration accident")
    assert page.locator("header.bar").bounding_box()["height"] <= head.bounding_box()["y"] < 600
    assert page.evaluate("document.activeElement.matches('aside.exercise')")


def test_slides_have_a_page_for_each_exercise(lab: RunningLab, lab_pages: LabPages) -> None:
    """Each with its task, turned by the arrow keys, and in print nothing but them."""
    page = lab_pages.opened(lab, "screen=class")
    settled(page)
    page.get_by_role("button", name="Slides of the workshop").click()
    page.wait_for_selector(".slide")
    settled(page)
    assert page.locator(".slide").count() == len(shipped_names())
    assert page.locator(".slide ol").first.evaluate("list => getComputedStyle(list).listStyleType") == "decimal"
    page.keyboard.press("ArrowRight")
    assert "2 Taints and tolerations" in (page.evaluate("document.activeElement.getAttribute('aria-label')") or "")
    assert violations(page) == []
    page.emulate_media(media="print")
    assert page.locator(".slide").first.is_visible()
    assert not page.get_by_role("button", name="Print handouts").is_visible()
    page.emulate_media(media="screen")
    page.get_by_role("button", name="Back to the lesson").click()
    assert page.locator(".slide").count() == 0


POLICY = """\
apiVersion: v1
kind: Policy
predicates: [{name: PodFitsResources}, {name: Odd}]
priorities: [{name: LeastRequestedPriority, weight: 1}]
"""
RULES = """\
from algorithmprovider import register_fit_predicate


def odd(pod, meta, node_info):
    number = node_info.node.metadata.name.rpartition("-")[2]
    return ANSWER, ["even"]


def register():
    register_fit_predicate("Odd", odd)
"""
FAULTY, SOUND = "int(numbr) % 2 == 1", "int(number) % 2 == 1"


def test_a_fault_is_shown_at_its_line_and_gone_once_it_is_mended(tmp_path: Path, lab_pages: LabPages) -> None:
    """With node and pod; the file is read anew when it is saved, without a reload of the page."""
    pytest.importorskip("starlette", reason="the extra is not installed: pip install 'kubescheduler[lab]'")
    rules = tmp_path / "workshop_rules.py"
    rules.write_text(RULES.replace("ANSWER", FAULTY), encoding="utf-8")
    (tmp_path / "policy.yaml").write_text(POLICY, encoding="utf-8")
    options = ["--release", "1.16", "--plugin", "workshop_rules:register", "--policy-config-file", "policy.yaml"]
    with running_lab(*options, cwd=str(tmp_path)) as lab:
        page = lab_pages.opened(lab)
        settled(page)
        waiting = page.locator(".pod-choice").first.inner_text()
        assert "! the attempt failed" in waiting
        assert "fits nowhere" not in waiting
        assert "numbr" in waiting
        show_screen(page, "Code")
        fault = page.locator(".source li.faulty")
        assert fault.get_attribute("value") == "6"
        assert "numbr" in fault.locator(".code-fault").inner_text()
        assert "node worker-1" in fault.locator(".where").inner_text()
        assert "pod shop/" in fault.locator(".where").inner_text()
        assert violations(page) == []
        page.set_viewport_size({"width": 1280, "height": 800})
        inner = "all => all.every(each => each.getBoundingClientRect().right <= each.closest('.pending').clientWidth)"
        assert page.locator(".pod-choice").evaluate_all(inner)
        rules.write_text(RULES.replace("ANSWER", SOUND), encoding="utf-8")
        page.wait_for_selector("text=loaded, no fault")
        assert fault.count() == 0
        settled(page)
        rules.write_text(RULES.replace("def odd(", "def odd)"), encoding="utf-8")
        page.wait_for_selector(".source li.faulty[value='4']")
        assert "SyntaxError" in page.locator(".code-fault").first.inner_text()
        page.locator(".code-head", has_text="the rules that were there before decide on").wait_for()
        lab_pages.close()


def test_with_a_faulty_plugin_nothing_is_decided(lab: RunningLab, lab_pages: LabPages) -> None:
    """The screen Code says so."""
    page, exercise = opened(lab, lab_pages, "13-gang")
    Path(exercise["files"][0]["path"]).write_text("class Gang(:\n", encoding="utf-8")
    show_screen(page, "Code")
    page.locator(".code-head", has_text="nothing is decided until it is mended").wait_for()
