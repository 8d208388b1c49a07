"""The HTML report in a real Chromium, from a file: its filters, order, opened rows and printing, wide and narrow."""

from __future__ import annotations

import re
from typing import Any

import attrs
import msgspec
import pytest

from docs.generate.report_pictures import example
from kubescheduler.comparison.comparison import Comparison
from kubescheduler.comparison.outcomes import Cause
from tests.support.comparisons import compared_pod, comparison, every_cause, three_columns
from tests.support.pages.layout_faults import PHONE, WIDE, Opens, Page, controlled, moved, shown, until

MANY = 450
HOSTILE = "shop/</script><img src=x onerror=document.title='hacked'>"


def column(page: Page, number: int) -> list[str]:
    """What the cells of a column say."""
    texts = page.locator(f"#rows > tr[data-pod] > :nth-child({number})").all_inner_texts()
    assert isinstance(texts, list)
    return texts


def test_opens_with_every_moved_pod(report: Opens) -> None:
    """At first the table has all pods that go elsewhere, in the order of their names, numbers by value."""
    found = every_cause()
    page = report(found)
    names = shown(page)
    assert set(names) == set(moved(found))
    shop = [int(name.rpartition("-")[2]) for name in names if name.startswith("shop/")]
    assert shop == sorted(shop)
    assert page.inner_text("#count") == f"{len(names)} pods"


def test_bar_of_each_cause_filters(report: Opens) -> None:
    """Pressing the bar leaves as many pods as it says, of that cause; pressing it again brings all back."""
    found = every_cause()
    page = report(found)
    for cause in Cause:
        button = page.locator(f'button[data-cause="{cause}"]')
        button.click()
        count = int(button.locator(".amount").inner_text())
        assert len(shown(page)) == count == found.summary[0][cause]
        assert set(column(page, 2)) == {cause.value}
        assert page.locator("button[aria-pressed=true]").get_attribute("data-cause") == cause
        assert page.input_value("#cause") == cause
        button.click()
        assert len(shown(page)) == len(moved(found))
        assert button.get_attribute("aria-pressed") == "false"


def test_bar_works_from_the_keyboard(report: Opens) -> None:
    """The bars are buttons: they take the focus, and Enter presses them."""
    page = report(every_cause())
    page.focus('button[data-cause="tie-break"]')
    page.keyboard.press("Enter")
    assert set(column(page, 2)) == {"tie-break"}


def test_search_and_filters_narrow_together(report: Opens) -> None:
    """Words, namespace and nodes all have to fit; clearing brings everything back."""
    found = every_cause()
    page = report(found)
    page.fill("#search", "POD-1 node-3")
    expected = [p for p in found.pods if "pod-1" in p.pod and "node-3" in {o.host for o in p.outcomes} and p.differs]
    assert set(shown(page)) == {p.pod for p in expected}
    page.fill("#search", "")
    page.select_option("#namespace", label="batch")
    page.select_option("#oldNode", label="node-1")
    expected = [p for p in found.pods if p.pod.startswith("batch/") and p.outcomes[0].host == "node-1" and p.differs]
    assert set(shown(page)) == {p.pod for p in expected} != set()
    page.select_option("#newNode", label="node-7")
    assert shown(page) == []
    assert "clear the filters" in page.inner_text("#count")
    page.click("text=Clear filters")
    page.wait_for_selector("#rows > tr")
    assert set(shown(page)) == set(moved(found))


def test_pods_without_a_node_can_be_picked(report: Opens) -> None:
    """The filter of the new node knows those that have none."""
    found = every_cause()
    page = report(found)
    page.select_option("#newNode", label="(none)")
    assert set(shown(page)) == {p.pod for p in found.pods if p.outcomes[1].host is None}


def told_terms(page: Page, name: str) -> list[tuple[int, int]]:
    """What an opened row's table says of each term under both schedulers, and last of the totals."""
    opener = page.locator(f'tr[data-pod="{name}"] .opens')
    opener.click()
    assert opener.get_attribute("aria-expanded") == "true"
    detail = page.locator(f"#{opener.get_attribute('aria-controls')}")
    texts = detail.locator("table[aria-label=Contributions] td.number").all_inner_texts()
    amounts = [0 if text == "–" else int(text.replace("−", "-").split("= ")[-1]) for text in texts]
    opener.click()
    assert detail.count() == 0
    return list(zip(amounts[::2], amounts[1::2], strict=True))


@pytest.mark.parametrize("found", [every_cause(30), example("independent")], ids=["every cause", "bin packing"])
def test_opened_row_shows_terms_that_sum(report: Opens, found: Comparison) -> None:
    """The terms shown sum to the differences of the totals, which are those of the comparison."""
    page = report(found)
    explained = [p for p in found.pods if p.changes[0].contributions]
    assert explained
    for one in explained:
        *terms, totals = told_terms(page, one.pod)
        assert tuple(map(sum, zip(*terms, strict=True))) == totals
        assert totals == (one.changes[0].old_difference, one.changes[0].new_difference)


def test_opened_row_says_what_happened(report: Opens) -> None:
    """The sentence, the message of the release, the tied nodes, the terms that add nothing, and the checks' reasons."""
    page = report(every_cause())
    page.locator('tr[data-pod="batch/pod-1"] .opens').click()
    text = page.inner_text("tr.detail")
    assert "0/8 nodes are available: 8 Insufficient cpu." in text
    assert "NodeResourcesFit: Insufficient cpu" in text
    assert "2 nodes tied: node-1, node-2" in text
    page.locator('tr[data-pod="shop/pod-3"] .opens').click()
    assert "Equal on both nodes: TaintTolerationPriority → TaintToleration." in page.inner_text("#detail-3")


@pytest.mark.parametrize(("name", "number"), [("oldTotal", 5), ("newTotal", 6)])
def test_order_by_numbers(report: Opens, name: str, number: int) -> None:
    """A press on a heading orders by it, another turns the order round; what has no number comes last in both."""
    page = report(every_cause())
    heading = page.locator(f'th[data-sort="{name}"]')
    for direction in ("ascending", "descending"):
        heading.locator("button").click()
        assert heading.get_attribute("aria-sort") == direction
        assert page.locator("th[aria-sort]:not([aria-sort=none])").count() == 1
        texts = column(page, number)
        values = [int(text) for text in texts if text != "–"]
        assert values == sorted(values, reverse=direction == "descending")
        assert set(texts[len(values) :]) <= {"–"}


def test_order_by_node(report: Opens) -> None:
    """Names with numbers are ordered by the numbers; no node comes last."""
    page = report(every_cause())
    page.locator('th[data-sort="newNode"] button').click()
    texts = column(page, 4)
    assert texts == sorted(texts, key=lambda text: (text == "no node", text))


def test_many_pods_are_shown_by_and_by(report: Opens) -> None:
    """The first 200 rows at once, the others on demand; a filter looks at all of them."""
    found = comparison([compared_pod(at, Cause.CHANGED_WEIGHT) for at in range(MANY)])
    page = report(found)
    counts = [len(shown(page))]
    assert page.inner_text("#count") == f"{MANY} pods, the first 200 shown"
    while page.is_visible("#more"):
        page.click("#more")
        counts.append(len(shown(page)))
    assert counts == [200, 400, 450]
    page.fill("#search", f"pod-{MANY - 1}")
    assert shown(page) == [found.pods[-1].pod]


def test_print_has_every_pod_and_no_filters(report: Opens) -> None:
    """Before printing the rest of the rows is made, and what can be pressed is left out."""
    page = report(comparison([compared_pod(at, Cause.CHANGED_WEIGHT) for at in range(MANY)]))
    page.evaluate(
        "addEventListener('beforeprint', () => { window.rows = document.querySelectorAll('#rows > tr').length })"
    )
    assert page.pdf().startswith(b"%PDF")
    assert page.evaluate("window.rows") == MANY
    page.wait_for_function("() => document.querySelectorAll('#rows > tr').length === 200")
    page.emulate_media(media="print")
    assert not page.is_visible("#filters")


def test_new_columns_are_looked_at_one_by_one(report: Opens) -> None:
    """A choice between the new columns changes causes, table and headings."""
    found = three_columns()
    page = report(found)
    for at, name in enumerate(found.names[1:]):
        page.get_by_label(name, exact=True).check()
        assert set(shown(page)) == {p.pod for p in found.pods if p.changes[at].cause is not Cause.SAME}
        assert f"Node, {name}" in page.inner_text("#heads")
        assert page.locator("button[data-cause]:visible").count() == len(found.summary[at])


def test_hostile_names_are_shown_as_they_are(report: Opens) -> None:
    """A name that looks like markup is text in the table, the filters and the opened row."""
    page = report(comparison([compared_pod(0, Cause.CHANGED_FORMULA, HOSTILE)], ("<i>old</i>", "new")))
    page.click(".opens")
    assert shown(page) == [HOSTILE]
    assert "hacked" not in page.title()
    assert page.locator("img, i").count() == 0


def test_comparison_without_change_shows_all_pods(report: Opens) -> None:
    """Where nothing moves, the table has every pod."""
    page = report(comparison([compared_pod(at, Cause.SAME) for at in range(3)]))
    assert len(shown(page)) == 3
    assert "Every pod goes where it went." in page.inner_text("main")


@pytest.mark.parametrize("found", [every_cause(), three_columns()], ids=["every cause", "three columns"])
def test_phone_needs_no_sideways_scrolling(report: Opens, found: Comparison) -> None:
    """At 360 pixels the page is no wider than the screen, with rows opened too; the order can be chosen there."""
    page = report(found, PHONE)
    for opener in page.locator(".opens").all()[:8]:
        opener.click()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], scheme
    page.select_option("#order", "newTotal down")
    assert page.locator("th[data-sort=newTotal]").get_attribute("aria-sort") == "descending"


def test_long_names_do_not_widen_a_phone(report: Opens) -> None:
    """Names of 253 characters break."""
    name = "n" * 253
    page = report(
        comparison([compared_pod(0, Cause.CHANGED_FORMULA, f"{name[:63]}/{name}")], (name[:60], "new")), PHONE
    )
    page.click(".opens")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_dark_and_light_follow_the_reader(report: Opens) -> None:
    """The ground is dark for who prefers dark."""
    grounds = [
        report(every_cause(3), color_scheme=scheme).evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    ]
    assert [sum(map(int, re.findall(r"\d+", ground))) > 3 * 128 for ground in grounds] == [True, False]


def test_every_control_has_a_name(report: Opens) -> None:
    """Whoever hears the page is told what each field and button is."""
    page = report(three_columns())
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select")].filter(
            (found) => !(found.labels?.length || found.innerText?.trim())).map((found) => found.outerHTML)"""
    )
    assert nameless == []


def test_page_without_scripts_says_so(report: Opens) -> None:
    """Numbers and causes are there all the same."""
    page = report(every_cause(), java_script_enabled=False)
    assert page.is_visible("text=scripts are switched off")
    assert page.is_visible("text=changed-formula")
    assert not page.is_visible("#filters")


@pytest.mark.parametrize(("viewport", "folded"), [(PHONE, True), (WIDE, False)], ids=["phone", "wide"])
def test_a_phone_gets_a_folded_page(report: Opens, viewport: dict[str, int], folded: bool) -> None:
    """What is told of the cluster is closed at first, a press opens it, and fewer pods are cards at once."""
    page = report(comparison([compared_pod(at, Cause.CHANGED_FORMULA) for at in range(MANY)]), viewport)
    folds = page.locator("details.fold")
    assert folds.evaluate_all("all => all.map((one) => !one.open)") == [folded] * 3
    assert len(shown(page)) == (20 if folded else 200)
    assert not folded or page.evaluate("document.documentElement.scrollHeight") < 6000
    folds.first.locator("summary").click()
    assert folds.first.evaluate("one => one.open") is folded


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


def test_a_workload_shows_its_pods(report: Opens) -> None:
    """A press on its name leaves its pods in the table; on what has none, those of no workload."""
    found = controlled()
    page = report(found)
    page.click("text=StatefulSet/db")
    assert set(shown(page)) == {p.pod for p in found.pods if p.workload == "StatefulSet/db" and p.differs}
    assert page.locator(".picks[aria-pressed=true]").count() == 1
    page.click("text=pods of no workload")
    assert set(shown(page)) == {p.pod for p in found.pods if p.workload.startswith("Pod/") and p.differs}
    page.click("text=pods of no workload")
    assert set(shown(page)) == set(moved(found))


def test_an_opened_row_says_what_scores_were_made_of(report: Opens) -> None:
    """Formula and product of both nodes under both schedulers, for every term that is not 0."""
    found = example("independent", evidence=True)
    page = report(found)
    one = next(p for p in found.pods if p.changes[0].contributions and p.differs)
    page.locator(f'tr[data-pod="{one.pod}"] .opens').click()
    page.click("text=What these scores were made of")
    said = page.locator(".made dd div").all_inner_texts()
    sentences = [
        sentence.partition(": ")[2]
        for part in one.changes[0].contributions
        for side in (part.old_evidence, part.new_evidence)
        for pair in side
        for sentence in pair
    ]
    assert sentences
    assert [text.split("\n")[-1].strip() for text in said] == sentences


BROKEN = """() => [...document.querySelectorAll("thead th")].flatMap((head) => {
        const walker = document.createTreeWalker(head, NodeFilter.SHOW_TEXT), found = [];
        for (let node; (node = walker.nextNode());) {
            for (const word of node.data.matchAll(/[^\\s-]+-?/g)) {
                const range = document.createRange();
                range.setStart(node, word.index);
                range.setEnd(node, word.index + word[0].length);
                const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
                if (lines.size > 1) found.push(word[0]);
            }
        }
        return found;
    })"""


def test_headings_break_between_words_only(report: Opens) -> None:
    """Every word of a table's heading, and every part of one with hyphens, stands in one line, at any width."""
    named = attrs.evolve(controlled(), names=("1.16 packing-policy.json", "1.36 scheduler-config.yaml"))
    page = report(named)
    page.eval_on_selector_all("details", "all => all.forEach((part) => { part.open = true; })")
    page.locator(".opens").first.click()
    for width in (360, 720, 1280, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(BROKEN) == [], width


def test_many_services_do_not_push_the_pods_away(report: Opens) -> None:
    """Their table is closed at first; it opens at a press, and on paper."""
    found = every_cause()
    spread = found.effects[0].spread[0]
    before, after = (
        tuple(
            msgspec.structs.replace(spread, service=f"shop/s{at}", zone_skew=skew, zones={"z0": skew, "z1": 0})
            for at in range(60)
        )
        for skew in (1, 5)
    )
    effects = (
        msgspec.structs.replace(found.effects[0], spread=before),
        msgspec.structs.replace(found.effects[1], spread=after),
    )
    place = "document.getElementById('pods').offsetTop"
    few, page = report(found), report(attrs.evolve(found, effects=effects))
    closed = page.evaluate(place)
    assert abs(closed - few.evaluate(place)) < 60
    page.click("text=60 services are spread differently")
    assert page.evaluate(place) > closed + 1000


CROSSED = """() => [...document.querySelectorAll(".histogram")].flatMap((chart) => {
        const numbers = [...chart.querySelectorAll("text[text-anchor=middle]")]
            .filter((text) => !text.textContent.includes("%"));
        const path = chart.querySelector(".mean").getAttribute("d");
        const pieces = [...path.matchAll(/M([\\d.]+) ([\\d.]+)V([\\d.]+)/g)];
        return pieces.flatMap(([, x, top, bottom]) => numbers.filter((text) => {
            const box = text.getBBox(), y = Number(text.getAttribute("y"));
            return x > box.x && x < box.x + box.width && top < y && bottom > y - 8;
        }).map((text) => text.textContent));
    })"""


def test_mean_lines_do_not_cross_numbers(report: Opens) -> None:
    """No piece of a histogram's line lies in the box of a number above a bar, at any width."""
    page = report(example(), {"width": 1280, "height": 900})
    for width in (1280, 360, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        crossed = page.evaluate(CROSSED)
        assert page.locator(".histogram .mean").count() >= 4
        assert crossed == [], width
