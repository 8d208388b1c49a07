"""A command's answer as a page in a real Chromium: how it is laid out, and what of it is printed."""

from __future__ import annotations

from kubescheduler.report.single_file import Section, answer_page
from tests.support.pages.layout_faults import Opens, inaccessible, layout_faults

LONG = "ip-" + "0123456789" * 20
SCORES = ("NODE", *(f"NodeResourcesBalancedAllocation{at}*1" for at in range(12)), "TOTAL", "")
SECTIONS = [
    Section(texts=["It would go elsewhere now.", LONG]),
    Section("Pods", [("POD", "FROM", "TO", "WHY"), (f"shop/{LONG}", "a", "<nowhere>", "as " + "web " * 40)], ["so"]),
    Section("Scores", [SCORES, ("a", *("100 (12)",) * 12, "1200", "chosen")], ["! a remark"]),
    Section("What no tool can know", texts=["one", "two"], listed=True),
    Section("shop/web-1: 0/3 nodes", [("NODE", "CHECK"), ("a", "NodeResourcesFit")], detail=True),
    Section("The configuration", code="# " + "x" * 200 + "\nkind: Policy", detail=True),
]


def test_layout(report: Opens) -> None:
    """Nothing sticks out, is cut or lies over another text, and axe-core finds nothing, in each size and scheme."""
    page = report(answer_page("kubescheduler why", "release 1.36", "shop/web-1 runs on a.", SECTIONS, [LONG]))
    page.eval_on_selector_all("details", "all => all.forEach(each => { each.open = true; })")
    for width, height in ((1280, 800), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert layout_faults(page) == [], (width, scheme)
            assert inaccessible(page) == [], (width, scheme)


def test_details_are_printed(report: Opens) -> None:
    """They are closed on the screen until somebody opens one, and all there on paper."""
    page = report(answer_page("c", "a", "h", SECTIONS, ()))
    inside = page.get_by_text("NodeResourcesFit")
    assert not inside.is_visible()
    page.locator("summary").first.click()
    assert inside.is_visible()
    page.locator("summary").first.click()
    page.emulate_media(media="print")
    assert inside.is_visible()
