"""The page of the steps between releases: its data, and that it is whole and safe."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from kubescheduler.comparison.outcomes import Outcome
from kubescheduler.comparison.release_steps import Timeline
from kubescheduler.report.timeline_report import render_timeline, timeline_payload
from kubescheduler.sources.untrusted import escaped
from tests.kubescheduler.report.test_html_report import HOSTILE, Page
from tests.support.comparisons import BALANCED, RELEASES, SEVERAL, WEIGHS, made_timeline, moving, renamed, timeline_of

TIMELINES = {
    "several": made_timeline(),
    "nothing moves": made_timeline(1),
    "no pods": timeline_of(),
    "no groups": replace(made_timeline(2), groupings=()),
    "hostile": renamed(made_timeline(2), HOSTILE),
}


@pytest.mark.parametrize("found", TIMELINES.values(), ids=TIMELINES)
def test_page_is_well_formed(found: Timeline) -> None:
    """Every tag is closed in order, no id is given twice, and nothing but its own styles and scripts takes part."""
    text = render_timeline(found)
    page = Page(text)
    assert page.faults == []
    assert [key for _, given in page.tags for key in given if key == "style" or key.startswith("on")] == []
    assert "{{" not in text
    assert render_timeline(found) == text


def test_hostile_names_stay_text() -> None:
    """In no place of the page a name becomes a tag; the data has it as it was."""
    text = render_timeline(TIMELINES["hostile"])
    assert "img" not in {tag for tag, _ in Page(text).tags}
    assert escaped(HOSTILE) in "".join(Page(text).inside["p"])
    [data] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert json.loads(data)["workloads"][0]["name"] == f"Deployment/{HOSTILE}"


def workload(data: dict[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in data["workloads"] if each["name"] == name)


def test_cells_and_moves() -> None:
    """A cell says how many pods are on which node, and 0 where that is as before; pods that move alike are together."""
    pods = [
        moving("shop/web-0", "Deployment/web", 0, (BALANCED, 1), (WEIGHS, 0)),
        moving("shop/web-1", "Deployment/web", 0, (WEIGHS, 1)),
        moving("shop/web-2", "Deployment/web", 0, (WEIGHS, 1)),
    ]
    data = timeline_payload(timeline_of(*pods))
    web = workload(data, "Deployment/web")
    assert data["hosts"] == ["compute-0", "general-1"]
    assert (web["pods"], web["moved"], web["back"]) == (3, 3, 1)
    at = RELEASES.index("1.22")
    assert web["cells"] == [
        [(0, 3)],
        *[0] * (at - 1),
        [(0, 2), (1, 1)],
        [(1, 2), (0, 1)],
        *[0] * (len(RELEASES) - at - 2),
    ]
    assert [(move[0], move[-1]) for move in web["moves"]] == [
        (at, ["web-0"]),
        (at + 1, ["web-1", "web-2"]),
        (at + 1, ["web-0"]),
    ]
    for move in web["moves"]:
        [record] = [data["records"][number] for number in move[4]]
        assert (record["release"], record["name"]) in {(BALANCED[0], BALANCED[1][0]), (WEIGHS[0], WEIGHS[1][0])}
        assert data["outcomes"][move[1]]["host"] != data["outcomes"][move[2]]["host"]
        assert data["changes"][move[3]]["terms"]


def test_records_of_changes() -> None:
    """Every change of a step at which pods move, with how many it moves; where it comes from has an address."""
    data = timeline_payload(timeline_of(moving("shop/web-0", "Deployment/web", 0, (SEVERAL, 1), (WEIGHS, 2))))
    assert {record["release"] for record in data["records"]} == {SEVERAL[0], WEIGHS[0]}
    assert {record["name"]: record["pods"] for record in data["records"] if record["pods"]} == {WEIGHS[1][0]: 1}
    sourced = [record for record in data["records"] if "source" in record]
    assert sourced
    for record in sourced:
        assert record["address"].startswith("https://")
        assert record["address"].endswith(re.findall(r"\d+", record["source"])[0])


def test_witnesses_of_changes() -> None:
    """A small example with both answers, or why there is none."""
    data = timeline_payload(timeline_of(moving("shop/web-0", "Deployment/web", 0, (WEIGHS, 1))))
    found = {record["name"]: record["witness"] for record in data["records"] if "witness" in record}
    weighs = found[WEIGHS[1][0]]
    assert (weighs["where"], weighs["before"], weighs["after"]) == ("weights TaintToleration", "1", "3")
    assert set(yaml.safe_load(weighs["given"])) == {"cluster", "pod"}
    assert all("none" in each or each["before"] != each["after"] for each in found.values())


def test_an_error_is_said() -> None:
    """An attempt that failed is no node, and a note says so."""
    found = timeline_of(moving("shop/web-0", "Deployment/web", 0))
    failed = Outcome(None, message="it fell", error=True, unanswered="gave up: it fell")
    pod = replace(found.pods[0], outcomes=(failed, *found.pods[0].outcomes[1:]))
    text = render_timeline(replace(found, pods=(pod,)))
    assert "an error ended the attempt of 1 pod: 1.18: it fell" in text


def test_many_pods_make_a_small_page() -> None:
    """Pods of a workload that are decided alike share all that explains them."""
    few, many = (render_timeline(made_timeline(8, pods)) for pods in (10, 500))
    assert len(many) - len(few) < 8 * 490 * 60
