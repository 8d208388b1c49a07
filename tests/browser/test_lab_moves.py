"""Pods that are moved and nodes that are killed on the lab's page: by mouse, finger and keyboard, and undone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.lab_page import (
    TALL,
    LabPages,
    Page,
    RunningLab,
    drag_by_finger,
    drag_by_mouse,
    settled,
    violations,
)

POD, FREE, FULL = "shop/web-6d5f9-wq6rb", "worker-2", "gpu-1"
"""A pod that waits, a node where it fits, one that refuses it."""


def waiting(page: Page, pod: str) -> bool:
    """Whether a pod is among those that wait."""
    return bool(page.locator("section.pending .name", has_text=pod.partition("/")[2]).count())


def node(page: Page, name: str) -> Any:
    """A node's card."""
    return page.locator(f"article[data-node='{name}']")


def runs_on(page: Page, pod: str, name: str) -> bool:
    """Whether a node's card has the pod."""
    return bool(_there(page, pod, name).count())


def _there(page: Page, pod: str, name: str) -> Any:
    return page.locator(f"article[data-node='{name}']").get_by_role("button", name=f"{pod},")


def moved_there(page: Page) -> None:
    _there(page, POD, FREE).wait_for()
    settled(page)
    assert not waiting(page, POD)


def test_a_pod_is_dragged_by_mouse(lab: RunningLab, lab_pages: LabPages) -> None:
    """It is bound where it fits; undo takes it back."""
    page = lab_pages.opened(lab, viewport=TALL)
    settled(page)
    drag_by_mouse(page, page.locator(".pod-choice", has_text="wq6rb"), node(page, FREE), drop=False)
    page.locator(".carried", has_text=f"fits {FREE}").wait_for()
    page.mouse.up()
    moved_there(page)
    page.get_by_role("button", name="Undo").first.click()
    page.locator("section.pending .name", has_text="wq6rb").wait_for()
    assert not runs_on(page, POD, FREE)


def test_a_refused_pod_shows_why(lab: RunningLab, lab_pages: LabPages) -> None:
    """Dropped where the scheduler would not put it, its refusal stands there, and nothing has changed."""
    page = lab_pages.opened(lab, viewport=TALL)
    settled(page)
    drag_by_mouse(page, page.locator(".pod-choice", has_text="wq6rb"), node(page, FULL))
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("untolerated taint").first.wait_for()
    settled(page)
    assert violations(page) == []
    page.keyboard.press("Escape")
    assert waiting(page, POD)


def test_a_drag_that_is_given_up(lab: RunningLab, lab_pages: LabPages) -> None:
    """Escape leaves everything as it was."""
    page = lab_pages.opened(lab, viewport=TALL)
    settled(page)
    drag_by_mouse(page, page.locator(".pod-choice", has_text="wq6rb"), node(page, FREE), drop=False)
    page.keyboard.press("Escape")
    page.mouse.up()
    settled(page)
    assert waiting(page, POD)
    assert page.locator(".carried").count() == 0


def test_a_pod_is_dragged_by_finger(lab: RunningLab, lab_pages: LabPages) -> None:
    """From its handle; elsewhere a finger scrolls."""
    page = lab_pages.opened(lab, viewport=TALL, has_touch=True)
    settled(page)
    handle = page.get_by_role("button", name=f"Move {POD} to")
    drag_by_finger(page, handle, node(page, FREE))
    _there(page, POD, FREE).or_(page.get_by_role("dialog")).first.wait_for()
    if page.get_by_role("dialog").count():  # the verdict had not arrived when the finger was lifted
        page.get_by_role("button", name="Bind it there").click()
    moved_there(page)


def test_a_pod_is_moved_by_keyboard(lab: RunningLab, lab_pages: LabPages) -> None:
    """By the dialog that lists the nodes, without a pointer."""
    page = lab_pages.opened(lab, viewport=TALL)
    settled(page)
    page.get_by_role("button", name=f"Move {POD} to").focus()
    page.keyboard.press("Enter")
    choice = page.get_by_role("dialog").get_by_role("button", name=FREE)
    choice.wait_for()
    settled(page)
    page.get_by_role("dialog").locator("[data-rove]").first.focus()
    for _ in range(20):
        if page.evaluate("document.activeElement.textContent").startswith(FREE):
            break
        page.keyboard.press("ArrowDown")
    page.get_by_role("status").get_by_text(f"fits {FREE}").wait_for()
    page.keyboard.press("Enter")
    moved_there(page)


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
def test_a_node_is_killed_and_comes_back(lab: RunningLab, lab_pages: LabPages, by: str) -> None:
    """Its pods wait; undo brings back the node with its pods, redo kills it again."""
    page = lab_pages.opened(lab, viewport=TALL)
    settled(page)
    button = page.get_by_role("button", name="Change worker-2", exact=True)
    if by == "mouse":
        button.click()
        page.get_by_role("menuitem", name="Kill").click()
    else:
        button.focus()
        page.keyboard.press("Enter")
        page.get_by_role("menu").wait_for()
        page.keyboard.press("k")
        page.keyboard.press("Enter")
    page.locator("article[data-node='worker-2']").wait_for(state="detached")
    page.locator("section.pending .name", has_text="report-7tq4n").wait_for()
    page.get_by_role("button", name="Undo").first.click()
    page.locator("article[data-node='worker-2']").wait_for()
    settled(page)
    assert runs_on(page, "shop/report-7tq4n", "worker-2")
    page.get_by_role("button", name="Redo").first.click()
    page.locator("article[data-node='worker-2']").wait_for(state="detached")
