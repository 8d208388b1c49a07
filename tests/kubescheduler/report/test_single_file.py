"""A command's answer as a page: everything escaped, nothing from elsewhere, details apart."""

from __future__ import annotations

from kubescheduler.report.single_file import MOST_ROWS, Section, answer_page
from tests.kubescheduler.report.test_html_report import Page

EVIL = "<script>alert(1)</script>\" onload='x' &amp; </title></pre>\u202e"
HOSTILE = [
    Section(EVIL, [(EVIL, "WHY"), (EVIL, EVIL)], [EVIL, f"! {EVIL}"]),
    Section(texts=[EVIL], listed=True),
    Section(EVIL, [("POD",), (EVIL,)], detail=True, code=EVIL),
]


def test_hostile_texts_are_texts() -> None:
    """In each place where a text can stand; no script is there, none may run, and no text turns its direction."""
    document = answer_page(EVIL, EVIL, EVIL, HOSTILE, [EVIL])
    found = Page(document)
    assert "script" not in {tag for tag, _ in found.tags}
    assert not {name for _, given in found.tags for name in given if name.startswith("on")}
    assert "script-src 'none'" in document
    shown = EVIL.replace("\u202e", "\\u202e")
    assert found.text.count(shown) == 17
    assert "\u202e" not in document


def test_links_lead_to_sections() -> None:
    """Each title once, and the details, of which there is one heading."""
    details = [Section(f"pod-{at}", [("NODE",), ("n",)], detail=True) for at in range(2)]
    found = Page(answer_page("c", "a", "h", [Section("One", texts=["x"]), *details, Section("Two", texts=["y"])], ()))
    assert [given["href"] for _, given in found.tags if "href" in given] == ["data:,", "#part-0", "#part-1", "#part-2"]
    assert {given["id"] for _, given in found.tags if "id" in given} == {"part-0", "part-1", "part-2"}
    assert found.text.index("Two") < found.text.index("Details") < found.text.rindex("pod-1")


def test_rows_that_are_left_out_are_counted() -> None:
    """A page of tens of thousands of rows would not open."""
    rows = [("POD", "N"), *((f"p-{at}", str(at)) for at in range(MOST_ROWS + 7))]
    document = answer_page("c", "a", "h", [Section("Pods", rows)], ())
    assert f"p-{MOST_ROWS - 1}<" in document
    assert f"p-{MOST_ROWS}<" not in document
    assert "7 more rows are not shown" in document
