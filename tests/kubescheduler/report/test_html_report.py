"""The HTML report as text: whole, well-formed, safe whatever names a cluster has, and in need of nothing else."""

from __future__ import annotations

import base64
import configparser
import hashlib
import json
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kubescheduler.report
from kubescheduler.comparison.comparison import Comparison
from kubescheduler.comparison.outcomes import Cause, PodComparison
from kubescheduler.report.html_report import (
    BINS,
    BOTTOM,
    HEIGHT,
    SIDE,
    TOP,
    WIDTH,
    bin_name,
    binned,
    histogram,
    mean_line,
    payload,
    render,
)
from kubescheduler.report.single_file import MOST_NAMES, embedded
from kubescheduler.sources.untrusted import escaped
from tests.support.comparisons import compared_pod, comparison, effects, every_cause, three_columns

ROOT = Path(__file__).parents[3]
VOID = {"meta", "link", "input", "br"}
HOSTILE = "shop/</script><img src=x onerror=alert(1)>\"'&<!--\u2028"
ASSETS = {".css", ".html", ".js"}


class Page(HTMLParser):
    """What a parser sees. faults: tags that are closed wrongly or not at all, ids given twice."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.faults: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, list[str]] = {}
        self.text = ""
        self.feed(text)
        self.close()
        self.faults += [f"<{tag}> is not closed" for tag in self.open]
        ids = [found["id"] for _, found in self.tags if "id" in found]
        self.faults += [f"id {name} is given twice" for name in set(ids) if ids.count(name) > 1]

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes another tag")

    def handle_data(self, data: str) -> None:
        self.text += data
        for tag in set(self.open[-1:]):
            self.inside.setdefault(tag, []).append(data)

    def attributes(self, tag: str) -> list[dict[str, str | None]]:
        return [found for name, found in self.tags if name == tag]


def data_of(text: str) -> dict[str, object]:
    """What the page's script reads."""
    [found] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    data = json.loads(found)
    assert isinstance(data, dict)
    return data


COMPARISONS = {
    "every cause": every_cause(),
    "three columns": three_columns(),
    "no pods": comparison([]),
    "all the same": comparison([compared_pod(at, Cause.SAME) for at in range(5)]),
    "no nodes": attrs.evolve(every_cause(13), effects=(effects([], ()), effects([], ())), before=effects([], ())),
    "hostile": comparison([compared_pod(0, Cause.CHANGED_FORMULA, HOSTILE)], (HOSTILE, "new")),
}


@pytest.mark.parametrize("found", COMPARISONS.values(), ids=COMPARISONS)
def test_page_is_well_formed(found: Comparison) -> None:
    """Every tag is closed in order, no id is given twice, each heading's level follows from the one above."""
    page = Page(render(found))
    assert page.faults == []
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_every_pod_is_in_the_page() -> None:
    """All pods are there, those that stay too, with their causes."""
    found = every_cause()
    pods = data_of(render(found))["pods"]
    assert isinstance(pods, list)
    assert [p["pod"] for p in pods] == [p.pod for p in found.pods]
    assert [p["changes"][0]["cause"] for p in pods] == [p.cause.value for p in found.pods]


def test_hostile_names_stay_text() -> None:
    """No name of a cluster becomes a tag, in no place of the page; the data still has it as it was."""
    found = COMPARISONS["hostile"]
    text = render(found)
    page = Page(text)
    assert "img" not in {tag for tag, _ in page.tags}
    assert text.count("<script") == text.count("</script>") == 4
    assert data_of(text)["names"] == [HOSTILE, "new"]
    assert escaped(HOSTILE) in "".join(page.inside["title"])


def test_marks_of_the_template_in_names_are_not_filled() -> None:
    """A name that looks like a mark of the template stays as it is."""
    text = render(comparison([compared_pod(0, Cause.TIE_BREAK)], ("{{ data }}", "new")))
    assert "<b>{{ data }}</b>" in text


@pytest.mark.parametrize(
    "value", ["</script>", "<!-- <script>", "]]>", "&lt;", "a\u2028b\u2029c", 'quote " and \\', "\x00\x1f", "𝛌"]
)
def test_embedded_json_is_safe_and_means_the_same(value: str) -> None:
    """The text has none of the characters that end a script, and reads back as what it was."""
    text = embedded({"value": [value]})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"value": [value]}


def test_page_needs_nothing_else() -> None:
    """No address is named: no image, style, script or font from elsewhere."""
    text = render(every_cause())
    page = Page(text)
    addresses = [found.get(key) for _, found in page.tags for key in ("src", "href", "action", "srcset", "data")]
    assert [a for a in addresses if a is not None and not a.startswith(("#", "data:"))] == []
    assert "@import" not in text
    assert set(re.findall(r"https?://[^\s\"'<]+", text)) <= {"http://www.w3.org/2000/svg"}


def test_policy_names_the_styles_and_scripts_of_the_page() -> None:
    """The content security policy has the digest of each and allows no other, nor any attribute that runs."""
    text = render(every_cause())
    page = Page(text)
    [policy] = [m["content"] for m in page.attributes("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for part in [*re.findall(r"<style>(.*?)</style>", text, re.S), *re.findall(r"<script>(.*?)</script>", text, re.S)]:
        assert base64.b64encode(hashlib.sha256(part.encode()).digest()).decode() in policy
    assert [key for _, found in page.tags for key in found if key == "style" or key.startswith("on")] == []


def test_same_comparison_gives_the_same_page() -> None:
    """Nothing of the clock or of chance is in it."""
    assert render(every_cause()) == render(every_cause())


def test_every_cause_has_a_button_with_its_number() -> None:
    """Each cause that occurs is a button; the numbers are those of the summary."""
    found = every_cause()
    text = render(found)
    buttons = re.findall(r'data-cause="([\w-]+)".*?<span class="amount">(\d+)</span>', text)
    assert {name: int(count) for name, count in buttons} == {str(c): n for c, n in found.summary[0].items()}
    assert buttons[-1][0] == Cause.SAME
    assert all(cause.meaning for cause in Cause)


def test_tolerated_causes_are_marked() -> None:
    """Who tolerates a cause sees it said beside the cause's meaning."""
    text = render(every_cause(), {Cause.TIE_BREAK})
    assert re.findall(r"<b>([\w-]+)</b> <span>[^<]*\(tolerated\)", text) == ["tie-break"]


def test_one_part_for_each_new_column() -> None:
    """With two new columns there is a choice, and each has its own causes."""
    page = Page(render(three_columns()))
    assert [c["value"] for c in page.attributes("input") if c.get("name") == "column"] == ["0", "1"]
    assert [d["data-column"] for d in page.attributes("div") if "data-column" in d] == ["0", "1"] * 3  # no workloads
    assert "fieldset" not in {tag for tag, _ in Page(render(every_cause())).tags}


def of_workload(workload: str, *causes: Cause, first: int = 0) -> list[PodComparison]:
    """So many pods of one workload."""
    return [
        attrs.evolve(compared_pod(first + at, cause, f"shop/p{first + at}"), workload=workload)
        for at, cause in enumerate(causes)
    ]


def test_workloads_stand_before_pods() -> None:
    """A row for each workload that differs, with its numbers; then all pods of no workload in one."""
    pods = [
        *of_workload("Deployment/web", Cause.FILTERED_NOW, Cause.CHANGED_WEIGHT, Cause.CHANGED_WEIGHT, Cause.SAME),
        *of_workload("Job/quiet", Cause.SAME, first=10),
        *(compared_pod(at, Cause.COULD_HAVE_BEEN) for at in range(20, 23)),
    ]
    text = render(comparison(pods))
    rows = re.findall(r'<tr role="row"><th scope="row" role="rowheader">(.*?)</tr>', text)
    said = [re.sub(r"<[^>]+>", " ", row).split() for row in rows]
    assert said == [
        ["Deployment/web", "shop", "4", "3", "0", "0", "→", "1", "changed-weight", "(2)"],
        ["pods", "of", "no", "workload", "3", "0", "3", "0", "could-have-been"],
    ]
    assert text.index('id="workloads"') < text.index('id="pods"')


def test_workloads_are_left_out_where_rows_by_pod_say_the_same() -> None:
    """Without a controller there is no section and no link to it."""
    assert "workloads" not in Page(render(every_cause())).inside["a"]
    assert 'id="workloads"' not in render(every_cause())


def test_many_workloads_are_closed_at_first() -> None:
    """The first ten, and a press for the others."""
    pods = [one for at in range(14) for one in of_workload(f"Job/j{at}", Cause.TIE_BREAK, first=at)]
    text = render(comparison(pods))
    assert "<details><summary>4 more workloads</summary>" in text
    assert text.count('class="picks"') == 14


def test_evidence_of_scores_is_in_the_page() -> None:
    """What the scores were made of is there once, however many pods have it; terms of 0 have none."""
    first, second = compared_pod(0, Cause.CHANGED_FORMULA), compared_pod(4, Cause.CHANGED_FORMULA)
    said = (("Least: 5 = 5; times 1: 5", "Least: 3 = 3; times 1: 3"),)

    def evident(one: PodComparison) -> PodComparison:
        change = one.changes[0]
        parts = (msgspec.structs.replace(change.contributions[0], old_evidence=said), *change.contributions[1:])
        return attrs.evolve(one, changes=(msgspec.structs.replace(change, contributions=parts),))

    found = payload(comparison([evident(first), evident(second)]))
    assert found["texts"] == list(said[0])
    terms = [one["changes"][0]["terms"] for one in found["pods"]]
    assert [term[7:] for term in terms[0]] == [term[7:] for term in terms[1]] == [[[[0, 1]], []], [], [], []]


def test_services_are_closed_at_first() -> None:
    """They may be many, and pods come below them."""
    assert "<details><summary><h3>Spread of services</h3> 1 service is spread differently</summary>" in render(
        every_cause()
    )


def test_effects_are_there_where_nothing_moves() -> None:
    """The numbers of the cluster, histograms and services do not depend on moves."""
    text = render(COMPARISONS["all the same"])
    assert '<th scope="row">pods placed</th><td>–</td><td>5</td><td>5</td>' in text
    assert text.count('class="histogram"') == 4
    assert "Every pod goes where it went." in text


@given(st.lists(st.integers(0, 5000), min_size=11, max_size=11), st.floats(0, 1))
def test_mean_lines_leave_numbers_alone(counts: list[int], mean: float) -> None:
    """No part of the line is where a number stands above its bar; below the numbers it reaches down to the axis."""
    highest = max(counts)
    step, floor = (WIDTH - 2 * SIDE) / len(counts), HEIGHT - BOTTOM
    x = SIDE + mean * BINS * step
    parts = mean_line(counts, highest, x)
    assert parts[-1][1] == floor
    assert all(top <= bottom for top, bottom in parts)
    for at, count in enumerate(counts):
        if count and abs(SIDE + (at + 0.5) * step - x) <= 3.5 * len(str(count)):
            baseline = floor - (floor - TOP) * count / max(highest, 1) - 3
            assert not any(top < baseline and bottom > baseline - 9 for top, bottom in parts)


def test_ties_are_cut_short() -> None:
    """Of thousands of tied nodes only the number and the first names are kept."""
    first = compared_pod(0, Cause.TIE_BREAK)
    tied = tuple(f"n{at}" for at in range(5000))
    many = attrs.evolve(first, outcomes=(msgspec.structs.replace(first.outcomes[0], tied=tied), first.outcomes[1]))
    assert payload(comparison([many]))["pods"][0]["outcomes"][0]["tied"] == [5000, list(tied[:MOST_NAMES])]


def test_numbers_that_a_script_would_round_are_text() -> None:
    """Totals beyond 53 bits keep their last digit."""
    first = compared_pod(0, Cause.TIE_BREAK)
    high = attrs.evolve(
        first, outcomes=(msgspec.structs.replace(first.outcomes[0], total=2**62 + 1), first.outcomes[1])
    )
    assert payload(comparison([high]))["pods"][0]["outcomes"][0]["total"] == str(2**62 + 1)


def test_terms_sum_to_the_differences() -> None:
    """What the page shows of a pod sums to the difference of the totals under each scheduler."""
    for found in payload(every_cause())["pods"]:
        change = found["changes"][0]
        if "terms" in change:
            assert sum(term[1] for term in change["terms"]) == change["old"]
            assert sum(term[2] for term in change["terms"]) == change["new"]


@pytest.mark.parametrize(
    ("share", "where"),
    [
        pytest.param(0.0, "0–10%", id="empty"),
        pytest.param(0.0999, "0–10%", id="below a tenth"),
        pytest.param(0.1, "10–20%", id="a tenth"),
        pytest.param(1.0, "90–100%", id="full"),
        pytest.param(1.001, "over 100%", id="more than full"),
    ],
)
def test_bins(share: float, where: str) -> None:
    """A node that is exactly full is in the last tenth; above it there is one more bin."""
    counts = binned([share])
    assert (sum(counts), bin_name(counts.index(1))) == (1, where)


def test_histogram_says_its_numbers_in_words() -> None:
    """Who cannot see the bars hears how many nodes are in each bin."""
    chart = histogram("cpu under old", binned([0.05, 0.06, 1.5]), 2, "old")
    assert 'aria-label="cpu under old: 2 at 0–10%, 1 at over 100%"' in chart


def schemes() -> Iterator[tuple[str, dict[str, str]]]:
    """The colours of light, dark and print."""
    style = (Path(kubescheduler.report.__file__).parent / "report.css").read_text(encoding="utf-8")
    blocks = re.findall(r":root \{(.*?)\}", style, re.S)
    for name, block in zip(("light", "dark", "print"), blocks, strict=True):
        yield name, dict(re.findall(r"--(\w+): (#\w{6});", block))


def luminance(colour: str) -> float:
    """As WCAG 2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(("scheme", "colours"), list(schemes()), ids=[name for name, _ in schemes()])
def test_contrast_is_enough(scheme: str, colours: dict[str, str]) -> None:
    """Texts stand out by 4.5 to 1 (WCAG AA) from every ground that they stand on, bars by more than 3 to 1."""

    def contrast(one: str, other: str) -> float:
        low, high = sorted((luminance(colours[one]), luminance(colours[other])))
        return (high + 0.05) / (low + 0.05)

    for ground in ("page", "panel", "chosen"):
        for text in ("text", "quiet", "new"):
            assert contrast(text, ground) >= 4.5, (text, ground)
        assert contrast("old", ground) >= 3, ground


def test_template_is_shipped() -> None:
    """Every file that the page is made of is package data, so that it is in the wheel."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    patterns = parser["options.package_data"]["kubescheduler.report"].replace(",", " ").split()
    folder = Path(kubescheduler.report.__file__).parent
    files = [path.name for path in folder.iterdir() if path.suffix in ASSETS]
    assert len(files) == 11
    assert [name for name in files if not any(fnmatch(name, pattern) for pattern in patterns)] == []


def test_what_now_ends_the_page() -> None:
    """Each advice is a line, with a link from the head; without any there is neither."""
    page = render(every_cause(), advice=["to accept what differs: --tolerate <tie-break>"])
    assert page.index('<h2 id="now">What now</h2>') > page.index('<h2 id="pods">')
    assert "<li>to accept what differs: --tolerate &lt;tie-break&gt;</li>" in page
    assert 'href="#now"' in page
    assert "What now" not in render(every_cause())
