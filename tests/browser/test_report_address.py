"""The filters of the HTML report in the address of the page, in a real Chromium."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.comparisons import every_cause, three_columns
from tests.support.pages.layout_faults import WIDE, Opens, Page, controlled, shown, until


def choices(page: Page) -> dict[str, Any]:
    """Every filter, the order, and the pods that are shown."""
    names = ("search", "cause", "workload", "namespace", "oldNode", "newNode", "order")
    return {**{name: page.input_value(f"#{name}") for name in names}, "pods": shown(page)}


def shows(page: Page, step: dict[str, Any]) -> None:
    """Waits until the page is at a step of its history."""
    until(page, lambda: choices(page) == step)


def chosen(page: Page) -> list[dict[str, Any]]:
    """Four choices one after the other, and what was there before and after each."""
    steps = [choices(page)]
    page.click('button[data-cause="tie-break"]')
    steps.append(choices(page))
    page.select_option("#cause", "all")
    steps.append(choices(page))
    page.locator('th[data-sort="newTotal"] button').click()
    steps.append(choices(page))
    page.select_option("#newNode", label="(none)")
    steps.append(choices(page))
    return steps


def test_reloading_keeps_the_filters(report: Opens) -> None:
    """What was chosen is behind the # of the address, and the same page comes up again."""
    page = report(controlled())
    last = chosen(page)[-1]
    page.fill("#search", "pod")
    last = {**last, "search": "pod", "pods": shown(page)}
    assert last["pods"]
    page.reload()
    assert choices(page) == last


def test_a_shared_address_restores_the_filters(report: Opens) -> None:
    """Another tab opens at the pods, filtered alike."""
    page = report(controlled())
    last = chosen(page)[-1]
    other = page.context.new_page()
    other.goto(page.url)
    assert choices(other) == last
    top = other.evaluate("document.getElementById('pods').getBoundingClientRect().top")
    assert 0 <= top < WIDE["height"]


def test_back_undoes_one_choice_at_a_time(report: Opens) -> None:
    """Back to the first state and forth again; at the first state nothing is left in the address."""
    page = report(controlled())
    steps = chosen(page)
    for step in steps[-2::-1]:
        page.go_back()
        shows(page, step)
    assert "#" not in page.url
    for step in steps[1:]:
        page.go_forward()
        shows(page, step)


def test_back_undoes_a_whole_search(report: Opens) -> None:
    """Letters that are typed one after another are one step."""
    page = report(controlled())
    before = choices(page)
    page.focus("#search")
    page.keyboard.type("db pod-1")
    assert len(shown(page)) < len(before["pods"])
    page.go_back()
    shows(page, before)


def test_clearing_the_filters_clears_the_address(report: Opens) -> None:
    """And back brings them back."""
    page = report(controlled())
    page.click('button[data-cause="tie-break"]')
    step = choices(page)
    page.click("text=Clear filters")
    page.wait_for_function("() => !location.hash")
    assert page.input_value("#cause") == "moved"
    page.go_back()
    shows(page, step)


def test_sections_are_reached_with_the_filters_kept(report: Opens) -> None:
    """A link to a section scrolls there; with filters in the address they stay there."""
    page = report(controlled())
    page.click("nav >> text=Cluster")
    assert page.url.endswith("#cluster")
    page.click('button[data-cause="tie-break"]')
    address, step = page.url, choices(page)
    page.click("nav >> text=Pods")
    assert (page.url, choices(page)) == (address, step)


@pytest.mark.parametrize(
    "fragment",
    ["cause=nothing", "newNode=no-such-node&order=x", "column=7", "=&%&#", "search=%E0%A4%A", "cause", "order=pod"],
)
def test_addresses_that_mean_nothing(report: Opens, fragment: str) -> None:
    """What the page does not have is left as it is at first; no fault."""
    page = report(every_cause())
    before, address = choices(page), page.url
    page.goto("about:blank")
    page.goto(f"{address}#{fragment}")
    after = choices(page)
    assert {**after, "search": ""} == {**before, "pods": after["pods"]}


def test_the_chosen_column_is_in_the_address(report: Opens) -> None:
    """Reloading and back keep to it."""
    page = report(three_columns())
    first = choices(page)
    page.get_by_label("default", exact=True).check()
    second = choices(page)
    assert second != first
    page.reload()
    assert choices(page) == second
    assert page.get_by_label("default", exact=True).is_checked()
    page.go_back()
    shows(page, first)
    assert page.get_by_label("tuned", exact=True).is_checked()
