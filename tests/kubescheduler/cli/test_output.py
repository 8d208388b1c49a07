"""The tables of compare, simulate and capacity on terminals of 80, 120 and 200 columns, and in pipes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kubescheduler.cli.output import columns
from tests.kubescheduler.cli.conftest import ROOT, Run
from tests.support.processes.disturbed_processes import Shown, here_on_a_terminal

LONG = "ip-10-0-123-{}.eu-central-1.compute.internal.cluster-of-the-payments-department.example.com"
SHORT_NODES, LONG_NODES = "n{}", LONG
POLICY = '{"kind": "Policy", "apiVersion": "v1", "priorities": [{"name": "MostRequestedPriority", "weight": 1}]}'
COMPARE = ("--pods", "pods.json", "--old", "policy=most.json", "--new", "release=1.36", "--new", "release=1.20")
CALLS = {
    "compare": ("compare", "crowd.json", *COMPARE, "--mode", "sequence"),
    "compare wide": ("compare", "crowd.json", *COMPARE, "-o", "wide"),
    "simulate": ("simulate", "crowd.json", "--workload", "pods.json", "--preempt"),
    "simulate wide": ("simulate", "crowd.json", "--workload", "pods.json", "--preempt", "-o", "wide"),
    "capacity": ("capacity", "crowd.json", "--pod", "pods.json"),
    "capacity wide": ("capacity", "crowd.json", "--pod", "pods.json", "-o", "wide"),
}


def manifests(names: str) -> Iterator[Mapping[str, Any]]:
    """Twelve nodes in three zones with a service over them."""
    for number in range(12):
        zone = {"topology.kubernetes.io/zone": f"eu-central-1{'abc'[number % 3]}"}
        amounts = {"cpu": "4" if number % 4 else "2", "memory": f"{number + 2}Gi", "pods": "9"}
        metadata = {"name": names.format(number), "labels": zone}
        yield {"kind": "Node", "metadata": metadata, "status": {"allocatable": amounts}}
    yield {"kind": "Service", "metadata": {"name": "shop"}, "spec": {"selector": {"app": "shop"}}}


def deployment(name: str, replicas: int, cpu: str, priority: int = 0) -> Mapping[str, Any]:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}
    template = {"metadata": {"labels": {"app": "shop"}}, "spec": {"containers": [container], "priority": priority}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "shop"}}, "template": template},
    }


@pytest.fixture(params=[SHORT_NODES, LONG_NODES], ids=["short names", "long names"])
def crowd(request: pytest.FixtureRequest, folder: Path) -> str:
    """Pods of a Deployment with a long name and of one that fits nowhere; what the nodes are called."""
    (folder / "crowd.json").write_text(json.dumps({"kind": "List", "items": list(manifests(request.param))}))
    pods = [deployment("checkout-of-the-shop", 9, "900m"), deployment("huge", 1, "64"), deployment("vip", 9, "3", 9)]
    (folder / "pods.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": pods}))
    (folder / "most.json").write_text(POLICY)
    return str(request.param)


def shown(arguments: Sequence[str], width: int) -> Shown:
    return here_on_a_terminal(arguments, width=width)


def words(text: str) -> set[str]:
    """Each word of the cells."""
    return {word for word in text.split() if not word.isupper()}


@pytest.mark.parametrize(
    ("crowd", "width"),
    [(SHORT_NODES, 80), (LONG_NODES, 120)],
    ids=["short names-80", "long names-120"],
    indirect=["crowd"],
)
@pytest.mark.parametrize("call", CALLS)
def test_tables_fit_the_screen(call: str, width: int, crowd: str, kubescheduler: Run) -> None:
    """No line is wider than the terminal, and it says what a pipe gets, long words perhaps broken."""
    found = shown(CALLS[call], width)
    piped = kubescheduler(*CALLS[call])
    assert found.status == piped.status
    assert max(map(columns, found.lines)) <= width
    glued = "".join(line.strip() for line in found.lines)
    missing = words(piped.out) - words("\n".join(found.lines))
    assert {word for word in missing if len(word) < 20} == set()
    assert [word for word in missing if word not in glued] == []


@pytest.mark.parametrize("call", CALLS)
def test_pipes_keep_the_whole_table(call: str, crowd: str, kubescheduler: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a pipe every row is one line, whatever COLUMNS says."""
    first = kubescheduler(*CALLS[call]).out
    monkeypatch.setenv("COLUMNS", "40")
    assert kubescheduler(*CALLS[call]).out == first
    assert not any(line.startswith(" ") for line in first.splitlines())


def test_rows_that_are_too_wide_are_paragraphs(folder: Path) -> None:
    """A pod's namespace and name, and below them each cell behind its heading."""
    (folder / "crowd.json").write_text(json.dumps({"kind": "List", "items": list(manifests(LONG_NODES))}))
    (folder / "most.json").write_text(POLICY)
    call = ("compare", "crowd.json", "--pods", "pod.yaml", "--old", "policy=most.json", "--new", "release=1.36")
    lines = shown(call, 80).lines
    at = lines.index("default   web")
    below = [line for line in lines[at + 1 :] if line.startswith("    ")]
    assert lines[at + 1 : at + 1 + len(below)] == below
    said = " ".join(line.strip() for line in below)
    assert re.fullmatch(r"1\.16 most\.json: ip-\S+ \S* *TIED: \d+ +1\.36: ip-\S+ \S* *TIED: \d+ +CAUSE: [\w-]+", said)


def test_a_table_that_fits_is_the_same_everywhere(kubescheduler: Run) -> None:
    """On a wide terminal it stands as in a pipe."""
    example = str(ROOT / "policy_examples" / "cluster.yaml"), str(ROOT / "policy_examples" / "pod.yaml")
    call = ("compare", example[0], "--pods", example[1], "--new", "release=1.36")
    assert shown(call, 400).lines == kubescheduler(*call).out.splitlines()
