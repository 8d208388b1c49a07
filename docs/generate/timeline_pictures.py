"""Makes the pictures of docs/how-to/release-steps.md: python -m docs.generate.timeline_pictures. Needs Chromium.

Sixteen nodes in three pools, two of them with soft taints, and eight workloads that run there and prefer this or that.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from clusterstate.objects import Pod
from docs.generate.report_pictures import Manifest, decoded, shown, take
from kubescheduler.comparison.release_steps import Timeline, timeline
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.report.timeline_report import render_timeline

POOL, ZONE, HOST = "cloud.google.com/gke-nodepool", "topology.kubernetes.io/zone", "kubernetes.io/hostname"
POOLS = {"general": (8, "8", "32Gi"), "compute": (4, "16", "32Gi"), "memory": (4, "8", "128Gi")}
"""Pool → nodes, cpu, memory."""
TAINTS = {"compute": {"key": "dedicated", "value": "compute"}, "memory": {"key": "cost", "value": "high"}}
IMAGES = {"web": 300, "search": 900, "train": 4000, "reports": 700, "cache": 200, "etl": 1500, "tools": 2500}
"""Image → MiB; each is on some nodes."""
SEED = 2

PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def pool(name: str, weight: int) -> Manifest:
    wanted = {"matchExpressions": [{"key": POOL, "operator": "In", "values": [name]}]}
    return {"nodeAffinity": {PREFERRED: [{"weight": weight, "preference": wanted}]}}


def near(kind: str, app: str, key: str) -> Manifest:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {kind: {PREFERRED: [{"weight": 100, "podAffinityTerm": term}]}}


def spread(app: str, *keys: str) -> list[Manifest]:
    labels = {"matchLabels": {"app": app}}
    soft = {"whenUnsatisfiable": "ScheduleAnyway", "labelSelector": labels}
    return [{"maxSkew": 1 + at, "topologyKey": key, **soft} for at, key in enumerate(keys)]


def before(**requests: str) -> list[Manifest]:
    return [{"name": "before", "image": "registry/tools:1", "resources": {"requests": requests}}]


APPS: tuple[tuple[str, str, int, Manifest, Manifest], ...] = (
    ("shop", "web", 12, {"cpu": "500m", "memory": "1Gi"}, {"affinity": pool("compute", 10)}),
    ("shop", "search", 6, {"cpu": "1", "memory": "4Gi"}, {"topologySpreadConstraints": spread("search", HOST, ZONE)}),
    (
        "shop",
        "cache",
        6,
        {"cpu": "250m", "memory": "6Gi"},
        {"affinity": {**pool("memory", 10), **near("podAntiAffinity", "cache", HOST)}},
    ),
    ("ml", "train", 4, {"cpu": "3", "memory": "8Gi"}, {"affinity": pool("compute", 50), "initContainers": before()}),
    ("ml", "notebooks", 5, {}, {}),
    (
        "data",
        "etl",
        8,
        {"cpu": "750m", "memory": "3Gi"},
        {"topologySpreadConstraints": spread("etl", ZONE, HOST), "affinity": near("podAffinity", "web", ZONE)},
    ),
    ("data", "reports", 6, {"cpu": "1500m", "memory": "1Gi"}, {"initContainers": before(cpu="3")}),
    ("ops", "agent", 5, {"cpu": "100m", "memory": "128Mi"}, {"affinity": near("podAffinity", "search", HOST)}),
)
"""Namespace, name, replicas, requests, the rest of a pod's spec."""


def cluster() -> Iterator[Manifest]:
    drawn, names = random.Random(SEED), []
    for kind, (count, cpu, memory) in POOLS.items():
        for at in range(count):
            names.append(f"{kind}-{at + 1}")
            labels = {HOST: names[-1], ZONE: f"eu-{'abc'[len(names) % 3]}", POOL: kind}
            images = [
                {"names": [f"registry/{image}:1"], "sizeBytes": size << 20}
                for image, size in IMAGES.items()
                if drawn.random() < 0.4
            ]
            taints = [{**TAINTS[kind], "effect": "PreferNoSchedule"}] if kind in TAINTS else []
            amounts = {"cpu": cpu, "memory": memory, "pods": "110"}
            ready = [{"type": "Ready", "status": "True"}]
            yield {
                "kind": "Node",
                "metadata": {"name": names[-1], "labels": labels},
                "spec": {"taints": taints},
                "status": {"allocatable": amounts, "images": images, "conditions": ready},
            }
    for namespace, app, *_ in APPS:
        selector = {"selector": {"app": app}}
        yield {"kind": "Service", "metadata": {"namespace": namespace, "name": app}, "spec": selector}
    for namespace, app, replicas, requests, spec in APPS:
        for at in range(replicas):
            yield pod(namespace, f"{app}-{at}", app, requests, {**spec, "nodeName": drawn.choice(names)})


def pod(namespace: str, name: str, app: str, requests: dict[str, Any], spec: Manifest) -> Manifest:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "controller": True, "uid": app, "name": f"{app}-5f7b"}
    labels = {"app": app, "pod-template-hash": "5f7b"}
    containers = [{"name": "main", "image": f"registry/{app}:1", "resources": {"requests": requests}}]
    metadata = {"namespace": namespace, "name": name, "uid": name, "labels": labels, "ownerReferences": [owner]}
    return {"kind": "Pod", "metadata": metadata, "spec": {**spec, "containers": containers}, "status": RUNNING}


RUNNING = {"phase": "Running"}


def example() -> Timeline:
    """What the pictures show."""
    objects = decoded(cluster())
    pods = [each for each in objects if isinstance(each, Pod)]
    return timeline(objects, pods, EngineSpec("1.18"), EngineSpec("1.36"))


def main() -> None:
    with shown(render_timeline(example())) as (browser, address):
        page = browser.new_page(viewport={"width": 1100, "height": 760})
        page.goto(address)
        take(page, "steps-desktop.png")
        page.locator("td.step > button[data-at='6']").first.click()
        page.locator("#count").evaluate("count => count.scrollIntoView({behavior: 'instant'})")
        page.mouse.move(0, 0)
        page.set_viewport_size({"width": 1100, "height": 900})
        take(page, "steps-opened.png")
        phone = browser.new_page(viewport={"width": 390, "height": 760}, color_scheme="dark")
        phone.goto(address)
        phone.locator("#legend").evaluate("legend => legend.scrollIntoView({behavior: 'instant'})")
        take(phone, "steps-phone.png")


if __name__ == "__main__":
    main()
