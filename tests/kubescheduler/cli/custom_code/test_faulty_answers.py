"""Answers of custom plugins that none of their points knows: one message that says where, and never an answer."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

import kubescheduler as ks
from algorithmprovider.custom_code import CustomCodeError
from tests.kubescheduler.cli.conftest import Run, pod
from tests.support.custom.faulty_plugins import BOTH, CYCLES, DECIDING, MODERN, ONLY_1_36, Fault, line_of, plugin_module

pytestmark = pytest.mark.usefixtures("own_algorithms")

POINTS = {
    "less": ["queueSort"],
    "pre_enqueue": ["preEnqueue"],
    "pre_filter": ["preFilter"],
    "filter": ["filter"],
    "filter_nodes": ["filter"],
    "post_filter": ["filter", "postFilter"],
    "pre_score": ["preScore"],
    "score": ["score"],
    "score_nodes": ["score"],
    "normalize_scores": ["score"],
    "reserve": ["reserve"],
    "unreserve": ["reserve", "preBind"],
    "permit": ["permit"],
    "pre_bind_pre_flight": ["preBind"],
    "pre_bind": ["preBind"],
    "bind": ["bind"],
    "post_bind": ["postBind"],
}
"""Method → where a configuration enables the plugin; in place of the plugins of QueueSort and Bind."""


def configured(release: str, fault: Fault) -> str:
    """A configuration that enables the plugin at the points of the method."""
    version = {"1.20": "v1beta1", "1.36": "v1"}[release]
    entry = {"enabled": [{"name": "Mine"}]}
    alone = {**entry, "disabled": [{"name": "*"}]}
    plugins = {point: alone if point in ("queueSort", "bind", "postFilter") else entry for point in POINTS[fault.name]}
    document = {
        "apiVersion": f"kubescheduler.config.k8s.io/{version}",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": plugins}],
    }
    Path("mine.json").write_text(json.dumps(document))
    return "mine.json"


def said(folder: Path, module: str, fault: Fault) -> str:
    """The whole message: file, line, plugin, pod, node and what is wrong."""
    line = line_of(folder, module, fault.answer if fault.text == "KeyError: 'no'" else f"def {fault.method}")
    node = f", node {fault.node}" if fault.node else ""
    pod_name = "web-1" if fault.name == "less" else "web-0"
    return f"{module}.py, line {line}: plugin Mine, {fault.name}, pod default/{pod_name}{node}: {fault.text}"


def each(*faults: tuple[tuple[str, ...], list[Fault]]) -> list[object]:
    cases = [(release, fault) for releases, some in faults for release in releases for fault in some]
    return [pytest.param(release, fault, id=f"{release}-{fault.id}") for release, fault in cases]


def first(faults: list[Fault]) -> list[Fault]:
    """One of each method: who asks does not look at answers, ``test_python`` has them all."""
    return list({fault.name: fault for fault in reversed(faults)}.values())[::-1]


@pytest.mark.parametrize(("release", "fault"), each((BOTH, first(DECIDING)), (MODERN, ONLY_1_36[:1])))
def test_schedule(kubescheduler: Run, folder: Path, release: str, fault: Fault) -> None:
    """File, line, plugin, pod and node in one message, and exit status 2."""
    module = plugin_module(folder, fault)
    Path("pods.yaml").write_text(pod("web-0"))
    options = ["--release", release, "--config", configured(release, fault), "--plugin", f"Mine={module}:Mine"]
    outcome = kubescheduler("schedule", "cluster.yaml", "--pod", "pods.yaml", *options)
    outcome.refused(said(folder, module, fault))
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize(("release", "fault"), each((BOTH, first(DECIDING + CYCLES)), (MODERN, first(ONLY_1_36))))
def test_simulate(kubescheduler: Run, folder: Path, release: str, fault: Fault) -> None:
    """The same of every point that the whole scheduler runs."""
    module = plugin_module(folder, fault)
    Path("pods.yaml").write_text(pod("web-0") + pod("web-1"))
    options = ["--release", release, "--config", configured(release, fault), "--plugin", f"Mine={module}:Mine"]
    outcome = kubescheduler("simulate", "cluster.yaml", "--workload", "pods.yaml", "--preempt", *options)
    outcome.refused(said(folder, module, fault))
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize(("release", "fault"), each((BOTH, DECIDING + CYCLES), (MODERN, ONLY_1_36)))
def test_python(folder: Path, monkeypatch: pytest.MonkeyPatch, release: str, fault: Fault) -> None:
    """The same message in an error that a caller can catch."""
    monkeypatch.syspath_prepend(folder)
    module = plugin_module(folder, fault)
    importlib.invalidate_caches()
    made = importlib.import_module(module).Mine
    Path("pods.yaml").write_text(pod("web-0") + pod("web-1"))
    Path("pod.yaml").write_text(pod("web-0"))
    options: dict[str, Any] = {"config": configured(release, fault), "plugins": [made]}
    cluster = ks.Cluster.read("cluster.yaml", release=release)
    message = re.escape(said(folder, module, fault))
    if fault in DECIDING:
        scheduler = ks.Scheduler(cluster, **options)
        with pytest.raises(CustomCodeError, match=message):
            scheduler.decide("pod.yaml")
    with pytest.raises(CustomCodeError, match=message):
        ks.simulate(cluster, "pods.yaml", preempt=True, **options)
