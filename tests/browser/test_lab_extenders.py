"""Extenders on the lab's screen Why: an extender in a process of its own, asked over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.apiserver.real_server import free_ports
from tests.support.pages.lab_page import LabPages, Page, running_lab, settled, show_screen, violations

NODE = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}
CONTAINERS = [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]


def manifests(folder: Path) -> Path:
    """Four equal nodes n0 … n3, and a pod that waits."""
    items: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{at}"}, "status": NODE} for at in range(4)
    ]
    items.append({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": CONTAINERS}})
    path = folder / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return path


@contextmanager
def why(lab_pages: LabPages, folder: Path, address: str) -> Iterator[Page]:
    """The screen Why of a lab whose Policy names the extender."""
    called = {"urlPrefix": address, "filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 2}
    policy = folder / "policy.json"
    policy.write_text(json.dumps({"kind": "Policy", "apiVersion": "v1", "extenders": [called]}))
    arguments = [str(manifests(folder)), "--release", "1.16", "--policy-config-file", str(policy)]
    with running_lab(*arguments) as lab:
        page = lab_pages.opened(lab)
        show_screen(page, "Why")
        yield page
        lab_pages.close()


def step(page: Page, name: str) -> Page:
    """The panel of a step."""
    page.locator(f"#step-{name}").click()
    page.locator(f"#step-panel[aria-labelledby=step-{name}]").wait_for()
    settled(page)
    return page.locator("#step-panel")


def test_its_refusals_and_scores_are_shown_as_its_own(lab_pages: LabPages, tmp_path: Path, address: str) -> None:
    """A node that it refuses says why, one that it leaves out says so, and its scores are part of the totals."""
    with why(lab_pages, tmp_path, f"{address}/refuse") as page:
        name = f"{address}/refuse"
        panel = step(page, "predicates")
        refused = panel.locator(".extenders tbody tr")
        assert [" ".join(text.split()) for text in refused.all_inner_texts()] == ["n0 not here"]
        assert panel.get_by_label(f"n0, {name}: not here").inner_text().strip() == "✗"
        panel.get_by_text("an extender's answer leaves it out, without a reason").wait_for()
        panel.get_by_text("What it is sent").click()
        panel.get_by_text(f"POST {name}/filter", exact=True).wait_for()
        sent = json.loads(panel.locator(".sent").inner_text())
        assert sent["Pod"]["metadata"]["name"] == "web"
        assert [node["metadata"]["name"] for node in sent["Nodes"]["items"]] == ["n0", "n1", "n2", "n3"]
        assert "The pod and 4 nodes" in panel.locator(".extenders details").inner_text()
        assert violations(page) == []
        panel = step(page, "select")
        scores = panel.locator(".extenders tbody tr")
        assert [" ".join(text.split()) for text in scores.all_inner_texts()] == ["n2 0", "n3 1"]
        assert panel.get_by_label(f"n3, I {name}: raw 1, normalised 1, times weight 2").count() == 1


def test_those_of_a_shared_scene_are_asked_when_one_says_so(lab_pages: LabPages, tmp_path: Path, address: str) -> None:
    """Until then Why says that they are not."""
    with why(lab_pages, tmp_path, f"{address}/refuse") as page:
        page.get_by_role("button", name="Share or save the scene").click()
        link = page.locator(".share-link input[readonly]").input_value()
        page.get_by_label("A link that somebody gave you").fill(link)
        page.get_by_role("button", name="Open", exact=True).click()
        page.locator(".outcome", has_text="Its extenders are not asked").wait_for()
        page.get_by_role("button", name="Ask them").click()
        page.locator(".outcome", has_text="2 of 4 nodes fit").wait_for()
        page.get_by_text("Its extenders are not asked").wait_for(state="detached")  # another answer, maybe a later one


def test_one_that_cannot_be_reached_is_an_error(lab_pages: LabPages, tmp_path: Path) -> None:
    """With its text, and without a word of nodes that do not fit."""
    address = f"http://127.0.0.1:{free_ports(1)[0]}/gone"
    text = f'Post "{address}/filter": Connection refused'
    with why(lab_pages, tmp_path, address) as page:
        outcome = page.locator(".outcome").inner_text()
        assert "! the attempt failed" in outcome
        assert text in outcome
        assert "0 of 4 nodes fit" not in outcome
        panel = step(page, "predicates")
        assert text in panel.locator(".extenders").inner_text()
        heads = panel.locator(".row-head").all_inner_texts()
        assert [" ".join(head.split()) for head in heads] == [f"? n{at} , not decided" for at in range(4)]


def test_an_error_that_it_answers_is_no_refusal(lab_pages: LabPages, tmp_path: Path, address: str) -> None:
    """Its text is that of the attempt."""
    with why(lab_pages, tmp_path, f"{address}/error") as page:
        page.locator(".outcome").get_by_text("! the attempt failed").wait_for()
        assert "95%" in step(page, "predicates").locator(".extenders").inner_text()
