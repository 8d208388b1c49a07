"""Tests of notes on keys that are set twice, whatever they stand in and however it is given."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubescheduler.releases.lookup import release_named
from kubescheduler.simulation.pods_to_place import read_pods_to_place
from kubescheduler.simulation.workload_files import read_workload
from kubescheduler.sources import cluster_input
from kubescheduler.sources.duplicate_keys import duplicate_keys, json_duplicates

read_cluster = partial(cluster_input.read_cluster, filling=release_named("1.16").filling)

NODE = '{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","name":"m"}}'
POD = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","name":"d"}]}}'
JOB = (
    '{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{"completions":1,"completions":2,'
    '"template":{"spec":{"containers":[{"name":"c"}],"restartPolicy":"Never"}}}}'
)
POD_YAML = (
    "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: c\n    image: x\n    name: d\n"
)
TWICE = "set twice; the last one counts"
LINES = "set twice, in lines 6 and 8; the last one counts"

CLUSTERS: dict[str, tuple[str, str, str]] = {
    "json": ("c.json", NODE, f"metadata.name: {TWICE}"),
    "list": ("c.json", f'{{"kind":"List","items":[{NODE}]}}', f"items[0].metadata.name: {TWICE}"),
    "array": ("c.json", f"[{NODE}]", f"[0].metadata.name: {TWICE}"),
    "sections": ("c.json", f'{{"nodes":[{NODE}]}}', f"nodes[0].metadata.name: {TWICE}"),
    "yaml": ("c.yaml", POD_YAML, f"spec.containers[0].name: {LINES}"),
    "documents": ("c.yaml", f"{POD_YAML}---\nkind: Namespace\n", f"document 1: spec.containers[0].name: {LINES}"),
}


@pytest.mark.parametrize(("name", "text", "note"), CLUSTERS.values(), ids=CLUSTERS.keys())
def test_in_clusters(tmp_path: Path, name: str, text: str, note: str) -> None:
    """A cluster's notes have file and path."""
    path = tmp_path / name
    path.write_text(text.replace("kind: Namespace", "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}"))
    found = read_cluster([str(path)])
    assert found.notes == [f"{path}: {note}"]


PODS: dict[str, tuple[str, str, str]] = {
    "json": ("p.json", POD, f"spec.containers[0].name: {TWICE}"),
    "yaml": ("p.yaml", POD_YAML, f"spec.containers[0].name: {LINES}"),
    "controller": ("j.json", JOB, f"spec.completions: {TWICE}"),
}


@pytest.mark.parametrize(("name", "text", "note"), PODS.values(), ids=PODS.keys())
def test_in_pods_and_workloads(tmp_path: Path, name: str, text: str, note: str) -> None:
    """Pods to place and workloads have the same notes."""
    path = tmp_path / name
    path.write_text(text)
    assert read_pods_to_place([str(path)], None).notes == (f"{path}: {note}",)
    assert read_workload([str(path)], [])[1] == [f"{path}: {note}"]


def test_what_a_server_wrote_is_not_looked_through(tmp_path: Path) -> None:
    """A server repeats no key; the notes are for what somebody has written."""
    path = tmp_path / "c.json"
    path.write_text(NODE.replace('"name":"n"', '"resourceVersion":"1","resourceVersion":"2"'))
    assert read_cluster([str(path)]).notes == []


@pytest.mark.parametrize(
    ("text", "file_format", "expected"),
    [
        ('{"a": {"b.c/d": 1, "b.c/d": 2}}', "JSON", ["a[b.c/d]: set twice"]),
        ('{"a": 1e400, "a": 2}', "JSON", ["a: set twice"]),
        ('{"a": "\\ud800", "a": 2}', "JSON", ["a: set twice"]),
        ('{"a": [{"b": 1}, {"b": 1, "b": {"c": 1, "c": 1}}]}', "JSON", ["a[1].b: set twice", "a[1].b.c: set twice"]),
        ("a: 1\n---\nb: 1\nb: 2\n", "YAML", []),
        ("a: &a {b: 1, b: 2}\nc: *a\n", "YAML", ["a.b: set twice, in line 1"]),
        ("a = 1\n", "TOML", []),
        ("{}", "JSON", []),
    ],
    ids=["json", "a large number", "half a character", "nested", "second document", "alias", "toml", "none"],
)
def test_of_one_document(text: str, file_format: str, expected: list[str]) -> None:
    """Each repeated key of the first document once, with its path."""
    assert duplicate_keys(text, file_format) == expected


Tree = Any
"""A scalar, a list of trees, or a tuple of (key, tree) pairs, which is an object."""
TREES: st.SearchStrategy[Tree] = st.recursive(
    st.sampled_from(["", "a", "é", '"\\', 0, -1, 2**70, 0.1, 1e300, True, None]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(st.tuples(st.sampled_from(["a", "b", "é", "a.b"]), inner), max_size=4).map(tuple)
    ),
    max_leaves=12,
)


def written(tree: Tree, blank: str, *, ascii_only: bool) -> str:
    """A tree as JSON."""

    def inner(value: Tree) -> str:
        return written(value, blank, ascii_only=ascii_only)

    if isinstance(tree, tuple):
        members = (f"{inner(key)}:{blank}{inner(value)}" for key, value in tree)
        return f"{{{blank}{f',{blank}'.join(members)}}}"
    if isinstance(tree, list):
        return f"[{f'{blank},'.join(map(inner, tree))}]"
    return json.dumps(tree, ensure_ascii=ascii_only)


def repeated(tree: Tree, path: str = "") -> list[str]:
    """The paths of the keys in a tree that were in their object before."""
    out: list[str] = []
    if isinstance(tree, tuple):
        for index, (key, value) in enumerate(tree):
            place = f"{path}.{key}" if key in ("a", "b") else f"{path}[{key}]"
            out += [place] * (key in [before for before, _ in tree[:index]])
            out += repeated(value, place)
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            out += repeated(value, f"{path}[{index}]")
    return out


@given(tree=TREES, blank=st.sampled_from(["", " ", "\n  "]), ascii_only=st.booleans())
def test_every_repeat_in_json(tree: Tree, blank: str, ascii_only: bool) -> None:
    """Of any JSON, however it is written, each key that is there again is noted, and no other."""
    text = written(tree, blank, ascii_only=ascii_only)
    expected = [f"x{place}: set twice" for place in repeated(tree)]
    assert json_duplicates(text, "x") == expected
    assert json_duplicates(text.encode(), "x") == expected


def test_nothing_is_noted_of_distinct_keys(tmp_path: Path) -> None:
    """Equal keys of different objects are no repeats."""
    node: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"name": "n"}}}
    path = tmp_path / "c.json"
    path.write_text(json.dumps(node))
    assert read_cluster([str(path)]).notes == []
