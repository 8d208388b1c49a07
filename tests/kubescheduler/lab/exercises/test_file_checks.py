"""Paths in documents and patterns of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubescheduler.lab.exercises.file_checks import leaves, shown_path, steps_of, within


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("spec.affinity", "spec.affinity.nodeAffinity", True),
        ("spec.affinity", "spec", False),
        ("spec.containers.*.image", "spec.containers.0.image", True),
        ("spec.containers.*.image", "spec.containers.0.ports.0", False),
        ("**.nodeName", "spec.nodeName", True),
        ("**.nodeName", "spec.template.spec.nodeName", True),
        ("**.nodeName", "nodeName", True),
        ("**.nodeName", "spec.nodeNames", False),
        ("metadata.labels[example.com/tier]", "metadata.labels[example.com/tier]", True),
        ("metadata.labels[example.com/tier]", "metadata.labels.tier", False),
    ],
)
def test_patterns(pattern: str, path: str, expected: bool) -> None:
    """A path is in a pattern when it is one of its places or below one."""
    assert within(steps_of(path), steps_of(pattern)) is expected


def test_leaves_leave_out_what_is_empty() -> None:
    """null, {} and [] say what nothing says."""
    document: dict[str, Any] = {"spec": {"a": None, "b": {}, "c": [], "d": [{"e": 0}]}}
    assert [(shown_path(path), value) for path, value in leaves(document)] == [("spec.d[0].e", 0)]


@given(st.lists(st.sampled_from(["a", "b", "0"])), st.lists(st.sampled_from(["a", "b", "0"])))
def test_every_path_is_within_what_begins_it(head: list[str], tail: list[str]) -> None:
    """A path is within each of its beginnings, within as many stars, and where two stars stand for the beginning."""
    path = [*head, *tail]
    assert within(path, head)
    assert within(path, ["*"] * len(head))
    assert within(path, ["**", *tail])
