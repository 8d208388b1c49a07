"""Every example policy and configuration decides as its expected output says, by the program itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.generate.blocks import (
    CONFIGS,
    POLICIES,
    POLICY_EXAMPLES,
    PROVIDERS,
    example_decision,
    example_names,
    expected_file,
)

HOSTS = {
    "DefaultProvider": "worker-1",
    "ClusterAutoscalerProvider": "worker-2",
    "classic-default.json": "worker-3",
    "parameterised.yaml": "worker-2",
    "bin-packing.json": "worker-4",
    "spread-first.toml": "worker-5",
    "extenders.json": "worker-4",
    "bin-packing-1.36.yaml": "worker-4",
    "racks-1.20.yaml": "worker-2",
}
"""Worked out by hand from the rules, as policy_examples/README.md shows."""

TOTALS = {
    "DefaultProvider": [100028, 100023, 100019, 100023, 100026],
    "ClusterAutoscalerProvider": [100023, 100030, 100012, 100022, 100026],
    "classic-default.json": [18, 14, 19, 14, 17],
    "parameterised.yaml": [17, 21, 18, None, None],
    "bin-packing.json": [100015, 100025, 100005, 100040, 100015],
    "spread-first.toml": [100007, 100013, 100008, 100017, 100044],
    "extenders.json": [None, 9, None, 13, 8],
    "bin-packing-1.36.yaml": [175, 245, 85, 415, 185],
    "racks-1.20.yaml": [25, 284, 12, 248, 249],
}
"""The totals of workers 1 to 5, None where the pod does not fit; by hand too."""


@pytest.mark.parametrize("name", example_names())
def test_decision_is_as_expected(name: str, tmp_path: Path) -> None:
    """The printed explanation is the kept one, to the last space; after a change: python -m docs.generate."""
    assert example_decision(name, tmp_path) == expected_file(name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", example_names())
def test_expected_totals_were_worked_out_by_hand(name: str) -> None:
    """The kept outputs have the chosen node and the totals that the rules give on paper."""
    rows = re.findall(r"^(worker-\d) .*? (\d+)(?: +(chosen|tied))?$", expected_file(name).read_text("utf-8"), re.M)
    totals = {node: int(total) for node, total, _ in rows}
    assert [totals.get(f"worker-{number}") for number in range(1, 6)] == TOTALS[name]
    assert [node for node, _, mark in rows if mark == "chosen"] == [HOSTS[name]]


def test_every_example_is_listed() -> None:
    """No policy or configuration lies in the folder without a test, an expected output, and a line in the README."""
    found = {path.name for path in POLICY_EXAMPLES.glob("*.*")} - {
        "cluster.yaml",
        "pod.yaml",
        "README.md",
        "extender.py",
    }
    assert found == {*POLICIES, *CONFIGS}
    assert {path.name for path in (POLICY_EXAMPLES / "expected").iterdir()} == {
        expected_file(name).name for name in example_names()
    }
    readme = (POLICY_EXAMPLES / "README.md").read_text(encoding="utf-8")
    for name in (*POLICIES, *CONFIGS):
        assert f"| [`{name}`]({name}) | {HOSTS[name]} |" in readme
    for name in PROVIDERS:
        assert f"| {name} | {HOSTS[name]} |" in readme
