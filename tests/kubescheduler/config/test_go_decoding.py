"""Tests of what the releases do with keys that they do not know, and with keys that are set twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.config.policy_1_16 import GATED
from kubescheduler.engine.spec import EngineSpec

EXTENDER = {"urlPrefix": "http://127.0.0.1:9", "filterVerb": "filter", "apiVersion": "v1beta1"}
ORDERED = [{"name": "PodFitsResources", "order": 1}, {"name": "HostName", "order": 2}, {"name": "NoDiskConflict"}]


def policy(**keys: Any) -> str:
    return json.dumps({"kind": "Policy", "apiVersion": "v1", **keys})


def outcome(tmp_path: Path, release: str, text: str, *, strict: bool = False) -> tuple[str, ...]:
    """The notes, or the problems after ``error``; the file's name is left out."""
    path = tmp_path / "policy.cfg"
    path.write_text(text, encoding="utf-8")
    notes: list[str] = []
    try:
        EngineSpec(release=release, policy_file=str(path), strict=strict).engine(notes.append)
    except ConfigError as error:
        return ("error", *(problem.removeprefix(f"{path}: ") for problem in error.problems))
    return tuple(note.removeprefix(f"{path}: ") for note in notes)


METADATA = policy(metadata={"name": "mine"}, predicates=[{"name": "PodFitsResources"}])
CAPITALS = policy(Predicates=[{"name": "Nowhere"}])
LISTED = "known are predicates, priorities, extenders, hardPodAffinitySymmetricWeight, alwaysCheckAllPredicates"
CASES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "1.16 order": ("1.16", policy(predicates=ORDERED),
        ("predicates[0].order: unknown key (and in another entry): release 1.16 ignores it",)),
    "1.20 order": ("1.20", policy(predicates=ORDERED[1:]),
        ("error", "predicates[0].order: unknown key; known are name, argument")),
    "1.16 metadata": ("1.16", METADATA, ("metadata: unknown key: release 1.16 ignores it",)),
    "1.20 metadata": ("1.20", METADATA, ("error", f"metadata: unknown key; {LISTED}")),
    "1.4 keys of 1.16": ("1.4", policy(alwaysCheckAllPredicates=True),
        ("alwaysCheckAllPredicates: unknown key: release 1.4 ignores it",)),
    "1.16 capitals": ("1.16", CAPITALS,
        ("Predicates: unknown key: release 1.16 ignores it; did you mean predicates?",)),
    "1.20 capitals": ("1.20", CAPITALS, ("error", "Predicates: unknown key; did you mean predicates?")),
    "1.16 in an extender": ("1.16", policy(extenders=[EXTENDER]),
        ("extenders[0].apiVersion: unknown key: release 1.16 ignores it",)),
    "1.20 in an extender": ("1.20", policy(extenders=[EXTENDER]),
        ("extenders[0].apiVersion: unknown key: release 1.20 ignores it",)),
    "1.16 internal form": ("1.16", json.dumps({"ExtenderConfigs": [{"URLPrefix": "http://127.0.0.1:9",
        "EnableHttps": False}]}),
        ("the policy has no apiVersion, and release 1.16 then reads only the keys Predicates, Priorities, …; "
        "add apiVersion: v1 to use the usual ones",
        "ExtenderConfigs[0].EnableHttps: unknown key: release 1.16 ignores it; did you mean EnableHTTPS?")),
    "1.16 set twice": ("1.16", '{"kind":"Policy","apiVersion":"v1","priorities":[{"name":"x"}],"priorities":[]}',
        ("priorities: set twice; release 1.16 reads the last",)),
    "1.16 set twice in YAML": ("1.16", "kind: Policy\napiVersion: v1\npriorities: [{name: x}]\npriorities: []\n",
        ("priorities: set twice, in lines 3 and 4; release 1.16 reads the last",)),
    "1.16 documents": ("1.16",
        "kind: Policy\napiVersion: v1\n---\nkind: Policy\npriorities: [{name: Nope}]\n---\n[[\n",
        ("only the first document is read: what stands behind the first document is ignored",)),
    "1.20 documents": ("1.20", "kind: Policy\napiVersion: v1\n---\nkind: Policy\n---\npriorities: [{name: Nope}]\n",
        ("only the first document is read: 2 more documents are ignored",)),
    "1.20 set twice": ("1.20", '{"kind":"Policy","apiVersion":"v1","priorities":[{"name":"x"}],"priorities":[]}',
        ("error", "priorities: set twice; keep one of them")),
}  # fmt: skip


@pytest.mark.parametrize(("release", "text", "expected"), CASES.values(), ids=CASES.keys())
def test_as_the_release(tmp_path: Path, release: str, text: str, expected: tuple[str, ...]) -> None:
    """1.4 and 1.16 ignore unknown keys and read the last of repeated ones; 1.20 refuses both outside of extenders."""
    assert outcome(tmp_path, release, text) == expected


@pytest.mark.parametrize(("release", "text", "_"), CASES.values(), ids=CASES.keys())
def test_strict_refuses_them(tmp_path: Path, release: str, text: str, _: tuple[str, ...]) -> None:
    """What would be ignored with a note is a fault when asked for."""
    first, *problems = outcome(tmp_path, release, text, strict=True)
    assert first == "error"
    assert all("unknown key" in problem or "set twice" in problem or "document" in problem for problem in problems)


@pytest.mark.parametrize("release", ["1.4", "1.16", "1.20"])
def test_faults_do_not_hide_one_another(tmp_path: Path, release: str) -> None:
    """A value of a wrong type, an unknown key, an unknown name and a wrong weight are reported together."""
    text = policy(
        predicates=[{"name": "PodFitResources", "argment": {}}, {"name": 5}],
        priorities=[{"name": "EqualPriority", "weight": "2"}, {"name": "LeastRequestedPriority", "weight": -1}],
    )
    first, *problems = outcome(tmp_path, release, text, strict=True)
    assert first == "error"
    assert [problem.partition(": ")[0] for problem in problems] == [
        "predicates[1].name",
        "priorities[0].weight",
        "predicates[0].argment",
        "priorities[1].weight",
        "predicates[0]",
    ]


@pytest.mark.parametrize(
    ("release", "entries", "hint"),
    [
        ("1.16", {"predicates": [{"name": "CheckNodeDiskPressure"}]}, "--feature-gates TaintNodesByCondition=false"),
        ("1.16", {"predicates": [{"name": "EvenPodsSpread"}]}, "--feature-gates EvenPodsSpread=true registers it"),
        ("1.16", {"predicates": [{"name": "ImageLocalityPriority"}]}, "it is a priority: move it to priorities"),
        ("1.16", {"priorities": [{"name": "HostName", "weight": 1}]}, "it is a predicate: move it to predicates"),
        ("1.4", {"predicates": [{"name": "EqualPriority"}]}, "it is a priority: move it to priorities"),
        ("1.20", {"predicates": [{"name": "CheckNodeDiskPressure"}]}, "1.20 has taints for it"),
        ("1.20", {"predicates": [{"name": "ImageLocalityPriority"}]}, "it is a priority: move it to priorities"),
        ("1.20", {"priorities": [{"name": "HostName", "weight": 1}]}, "it is a predicate: move it to predicates"),
    ],
    ids=["gate", "gate-on", "priority", "predicate", "1.4-priority", "1.20-taints", "1.20-priority", "1.20-predicate"],
)
def test_names_in_the_wrong_place(tmp_path: Path, release: str, entries: dict[str, Any], hint: str) -> None:
    """A name that another gate registers, and one of the other list, is said to be that."""
    first, problem = outcome(tmp_path, release, policy(**entries))
    assert first == "error"
    assert hint in problem


@pytest.mark.parametrize(("gate", "name"), [(gate, name) for name, gate in GATED.items()])
def test_the_gates_register_them(tmp_path: Path, gate: str, name: str) -> None:
    """With the gate that a hint names the policy is taken."""
    entry = (
        {"priorities": [{"name": name, "weight": 1}]} if name.endswith("Priority") else {"predicates": [{"name": name}]}
    )
    path = tmp_path / "policy.json"
    path.write_text(policy(**entry), encoding="utf-8")
    assert EngineSpec(policy_file=str(path), feature_gates=gate).engine(print).release == "1.16"
