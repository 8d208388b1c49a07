"""How long the lab takes from a moved slider to changed rows on the page, and how much memory it holds.

    python benchmarks/lab.py --nodes 3000 --pods 8000

The real server, and its page in Chromium. Printed: from the input event of a weight's slider to the frame with the
changed ranking (median, 90th percentile), what the server takes of it, and the server's resident memory with one side
and with four releases side by side. The exit status is 1 where an aim is missed: a median of 100 ms, 1 GB.
"""

from __future__ import annotations

import itertools
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.pages.browsers import MISSING, launched
from tests.support.pages.lab_page import LabPages, RunningLab, running_lab, settled

AIM, MEMORY = 100, 1e9
"""Milliseconds, bytes."""

CHANGE = """async ([rule, value]) => {
    const slider = document.querySelector(`.weights > ul > li:nth-child(${rule}) input[type=range]`);
    const list = document.querySelector("ol.ranking");
    const frame = () => new Promise(requestAnimationFrame);
    const before = list.textContent;
    await frame();
    const start = performance.now();
    const changed = new Promise((done, failed) => {
        setTimeout(() => failed(new Error("the ranking does not change")), 20000);
        const seen = () => list.textContent !== before && (observer.disconnect(), done());
        const observer = new MutationObserver(seen);
        observer.observe(list, {subtree: true, childList: true, characterData: true});
    });
    slider.value = value;
    slider.dispatchEvent(new Event("input", {bubbles: true}));
    await changed;
    await frame();
    return performance.now() - start;
}"""
"""Moves a weight's slider; milliseconds until the frame after the ranking's text has changed."""


def manifests(nodes: int, pods: int) -> Iterator[dict[str, Any]]:
    """Nodes of three sizes in ten zones, pods of fifty workloads on them, and one that waits."""
    for at in range(nodes):
        cpu = (8, 16, 32)[at % 3]
        amounts = {"cpu": str(cpu), "memory": f"{4 * cpu}Gi", "pods": "110"}
        labels = {"kubernetes.io/hostname": f"node-{at}", "topology.kubernetes.io/zone": f"zone-{at % 10}"}
        metadata = {"name": f"node-{at}", "labels": labels}
        yield {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": _status(amounts)}
    for at in range(pods):
        yield _pod(f"web-{at}", at % 50, f"node-{(7 * at) % nodes}", f"{100 * (1 + at % 8)}m")
    yield _pod("new", 7, None, "500m")


def _status(amounts: dict[str, str]) -> dict[str, Any]:
    return {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}


def _pod(name: str, workload: int, node: str | None, cpu: str) -> dict[str, Any]:
    labels = {"app": f"app-{workload}"}
    spread = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": labels},
    }
    container = {"name": "c", "image": "example.org/web", "resources": {"requests": {"cpu": cpu, "memory": "256Mi"}}}
    spec: dict[str, Any] = {"containers": [container]}
    spec.update({"topologySpreadConstraints": [spread]} if node is None else {"nodeName": node})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec}


def resident(lab: RunningLab) -> int:
    """Bytes of the server's process."""
    fields = Path(f"/proc/{lab.process.pid}/status").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in fields if line.startswith("VmRSS"))


RULE = "NodeResourcesFit"
"""Whose weight is changed: its scores differ, so that every total changes."""
WEIGHTS = itertools.cycle(range(2, 10))
"""Each differs from the one before."""


def on_the_page(page: Any, row: int, times: int, *, pause: bool) -> list[float]:
    """Milliseconds of each change of the weight in a row. pause: the page has come to rest before each."""
    out = []
    for _ in range(times):
        out.append(page.evaluate(CHANGE, [row, next(WEIGHTS)]))
        if pause:
            settled(page)
            page.wait_for_timeout(250)  # what is asked later, beside what is looked at
    return out


def by_verb(lab: RunningLab, tab: str, times: int) -> dict[str, list[float]]:
    """Milliseconds of the questions that follow a change of weight, one after the other, over HTTP."""
    shown: dict[str, Any] = {"side": "a", "from": 0, "to": 30, "order": "rank"}
    out: dict[str, list[float]] = {}
    for _ in range(times):
        weights = {"do": "weights", "side": "a", "weights": {RULE: next(WEIGHTS)}}
        asked: dict[str, dict[str, Any]] = {
            "edit": {"edit": weights, "join": "weight"},
            "decision": shown,
            "pending": {"side": "a"},
            "tune": {"side": "a"},
            "thresholds": {"side": "a"},
        }
        for verb, parameters in asked.items():
            start = time.perf_counter()
            lab.ask(verb, tab=tab, **parameters)
            out.setdefault(verb, []).append(1000 * (time.perf_counter() - start))
    return out


def with_four_sides(lab: RunningLab, tab: str) -> None:
    """Three other releases beside the first, each asked."""
    for release in ("1.20", "1.16", "1.4"):
        lab.ask("edit", tab=tab, edit={"do": "addSide", "release": release})
    for side in "abcd":
        lab.ask("decision", tab=tab, side=side, **{"from": 0, "to": 30, "order": "rank"})
        lab.ask("cluster", tab=tab, side=side, **{"from": 0, "to": 60})


def summary(values: Sequence[float]) -> str:
    """Median and 90th percentile."""
    return f"median {statistics.median(values):6.1f} ms, 90 % within {statistics.quantiles(values, n=10)[-1]:6.1f} ms"


@click.command()
@click.option("--nodes", default=3000)
@click.option("--pods", default=8000)
@click.option("--times", default=50)
def main(nodes: int, pods: int, times: int) -> None:
    """See the module."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "cluster.json"
        file.write_text(json.dumps({"kind": "List", "items": list(manifests(nodes, pods))}), encoding="utf-8")
        browser = launched(playwright)
        if browser is None:
            raise click.ClickException(MISSING)
        start = time.perf_counter()
        with running_lab(str(file), "--release", "1.36") as lab:
            print(f"{nodes} nodes, {pods} pods; ready after {time.perf_counter() - start:.1f} s")
            pages = LabPages(browser)
            page = pages.opened(lab, "screen=tune")
            page.wait_for_selector("ol.ranking li")
            settled(page)
            opened = lab.ask("open", **{"from": "start"})
            rules = [rule["id"] for rule in lab.ask("tune", tab=opened["tab"], side="a")["rules"]]
            row = 1 + rules.index(RULE)
            on_the_page(page, row, 3, pause=True)
            calm = on_the_page(page, row, times, pause=True)
            print(f"a weight on the page        {summary(calm)}")
            print(f"while a slider is dragged   {summary(on_the_page(page, row, times, pause=False))}")
            for verb, values in by_verb(lab, opened["tab"], times).items():
                print(f"server: {verb:<19} {summary(values)}")
            one = resident(lab)
            with_four_sides(lab, opened["tab"])
            four = resident(lab)
            print(f"memory of the server: {one / 1e6:.0f} MB with one side, {four / 1e6:.0f} MB with four")
            pages.close()
            browser.close()
            if pages.faults:
                raise click.ClickException("\n".join(pages.faults))
    sys.exit(statistics.median(calm) > AIM or four > MEMORY)


if __name__ == "__main__":
    main()
