"""The lab's page in a browser, with the real server."""

from __future__ import annotations

from typing import Any

from tests.support.pages.lab_page import LabPages, RunningLab, settled


def test_the_page_shows_the_cluster(lab: RunningLab, lab_pages: LabPages) -> None:
    """Every node and the pods that wait, and the token is no longer in the address."""
    page = lab_pages.opened(lab)
    settled(page)
    for node in ("worker-1", "gpu-1", "edge-1"):
        assert page.get_by_text(node, exact=True).count() > 0
    assert page.get_by_text("search-0").count() > 0
    assert "token" not in page.url


def test_a_foreign_page_cannot_ask(lab: RunningLab, lab_pages: LabPages, browser: Any) -> None:
    """Neither with the token, nor by a form, nor does an event stream open; nor can it frame the page."""
    context = browser.new_context()
    page = context.new_page()
    page.route(
        "http://foreign.example/**",
        lambda route: route.fulfill(body="<!doctype html><p>foreign", content_type="text/html"),
    )
    page.goto("http://foreign.example/")
    answers = page.evaluate(
        """async ([origin, token]) => {
            const asked = fetch(`${origin}/api/open`, {method: "POST", body: '{"from":"start"}',
                headers: {"Content-Type": "application/json", "X-Lab-Token": token}});
            const plain = fetch(`${origin}/api/open`, {method: "POST", body: '{"from":"start"}', mode: "no-cors"});
            const source = new EventSource(`${origin}/api/events?tab=x&token=${token}`);
            const events = new Promise((done, failed) => { source.onopen = done; source.onerror = failed; });
            const says = promise => promise.then(
                answer => answer.type === "opaque" ? "nothing" : "answered", () => "failed");
            return [await says(asked), await says(plain), await says(events)];
        }""",
        [lab.origin, lab.token],
    )
    assert answers[0] == answers[2] == "failed"
    assert answers[1] in ("nothing", "failed")
    context.close()
