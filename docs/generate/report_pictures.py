"""Makes the pictures of docs/how-to/compare-report.md: python -m docs.generate.report_pictures. Needs Chromium.

A cluster of forty nodes that a policy of 1.16 has packed; what becomes of the packing under 1.36 as it comes.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clusterstate.manifests.decode import decode_object
from clusterstate.objects import ClusterObject, Pod
from kubescheduler.comparison.comparing import compare
from kubescheduler.comparison.comparison import Comparison
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.report.html_report import render

Manifest = dict[str, Any]

FOLDER = Path(__file__).parents[1] / "how-to" / "images"
NODES, ZONES, LARGE = 40, 3, 4
"""Every fourth node is of the large kind."""

APPS = (
    ("shop", "web", 36, "250m", "256Mi"),
    ("shop", "checkout", 18, "500m", "512Mi"),
    ("shop", "search", 12, "1", "2Gi"),
    ("data", "kafka", 9, "2", "8Gi"),
    ("data", "etl", 30, "750m", "3Gi"),
    ("batch", "thumbnails", 48, "400m", "300Mi"),
    ("batch", "reports", 24, "1500m", "1Gi"),
    ("monitoring", "collector", 15, "200m", "1Gi"),
)
"""Namespace, service, replicas, cpu, memory."""

PACKING = ("MostRequestedPriority", 2), ("NodeAffinityPriority", 1), ("TaintTolerationPriority", 1)
POLICY = {"kind": "Policy", "apiVersion": "v1", "priorities": [{"name": n, "weight": w} for n, w in PACKING]}


def cluster() -> Iterator[Manifest]:
    for at in range(NODES):
        large = at % LARGE == 0
        zone = f"eu-{'abc'[at % ZONES]}"
        labels = {
            "kubernetes.io/hostname": f"node-{at + 1:02}",
            "topology.kubernetes.io/zone": zone,
            "failure-domain.beta.kubernetes.io/zone": zone,
        }
        amounts = {"cpu": "16" if large else "8", "memory": "64Gi" if large else "32Gi", "pods": "110"}
        status = {"allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
        taints = [{"key": "maintenance", "value": "tonight", "effect": "NoSchedule"}] if at % 13 == 5 else []
        yield {
            "kind": "Node",
            "metadata": {"name": labels["kubernetes.io/hostname"], "labels": labels},
            "spec": {"taints": taints},
            "status": status,
        }
    for namespace, app, *_ in APPS:
        yield {
            "kind": "Service",
            "metadata": {"namespace": namespace, "name": app},
            "spec": {"selector": {"app": app}},
        }


def waiting() -> Iterator[Manifest]:
    """The replicas of all services, by turns."""
    for number in range(max(app[2] for app in APPS)):
        for namespace, app, replicas, cpu, memory in APPS:
            if number < replicas:
                name, requests = f"{app}-{number}", {"cpu": cpu, "memory": memory}
                owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "controller": True, "uid": app}
                hashed = {"app": app, "pod-template-hash": "5f7b"}
                owners = [{**owner, "name": f"{app}-5f7b"}]
                yield {
                    "kind": "Pod",
                    "metadata": {
                        "namespace": namespace,
                        "name": name,
                        "uid": name,
                        "labels": hashed,
                        "ownerReferences": owners,
                    },
                    "spec": {"containers": [{"name": "main", "image": app, "resources": {"requests": requests}}]},
                }
    yield {
        "kind": "Pod",
        "metadata": {"namespace": "data", "name": "warehouse-0", "uid": "warehouse-0"},
        "spec": {"containers": [{"name": "main", "image": "db", "resources": {"requests": {"cpu": "32"}}}]},
    }


def decoded(manifests: Iterator[Manifest]) -> list[ClusterObject]:
    return [decode_object({"apiVersion": "v1", **manifest}) for manifest in manifests]


def example(mode: str = "sequence", *, evidence: bool = False) -> Comparison:
    """What the pictures show."""
    with tempfile.TemporaryDirectory() as folder:
        policy = Path(folder) / "packing.json"
        policy.write_text(json.dumps(POLICY), encoding="utf-8")
        return compare(
            decoded(cluster()),
            [pod for pod in decoded(waiting()) if isinstance(pod, Pod)],
            EngineSpec("1.16", policy_file=str(policy)),
            [EngineSpec("1.36")],
            mode=mode,
            names=("1.16 packing", "1.36 default"),
            evidence=evidence,
        )


def take(page: Any, name: str, **options: Any) -> None:
    page.screenshot(path=FOLDER / name, **options)


def wide(browser: Any, address: str) -> None:
    """The head of the page, and a pod opened below its cause."""
    page = browser.new_page(viewport={"width": 1000, "height": 1000})
    page.goto(address)
    take(page, "report-desktop.png")
    page.locator("button[data-cause=changed-formula]").click()
    page.locator(".opens").first.click()
    page.set_viewport_size({"width": 1000, "height": 930})
    page.locator("#pods").evaluate("heading => heading.scrollIntoView({behavior: 'instant'})")
    take(page, "report-pod.png")


def phone(browser: Any, address: str) -> None:
    """Top and table on a phone, in the dark."""
    page = browser.new_page(viewport={"width": 360, "height": 740}, color_scheme="dark")
    page.goto(address)
    take(page, "report-phone.png")
    page.locator("#count").evaluate("count => count.scrollIntoView({behavior: 'instant'})")
    page.locator(".opens").first.click()
    take(page, "report-phone-pod.png")


@contextmanager
def shown(page: str) -> Iterator[tuple[Any, str]]:
    """(a browser, the address of a page's text in a file), for pictures of it; the process ends without a browser."""
    from playwright.sync_api import sync_playwright

    from tests.support.pages.browsers import MISSING, launched

    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = launched(playwright)
        if browser is None:
            sys.exit(MISSING)
        file = Path(folder) / "page.html"
        file.write_text(page, encoding="utf-8")
        yield browser, file.as_uri()
        browser.close()


def main() -> None:
    with shown(render(example(evidence=True))) as (browser, address):
        wide(browser, address)
        phone(browser, address)


if __name__ == "__main__":
    main()
