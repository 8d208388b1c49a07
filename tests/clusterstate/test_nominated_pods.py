"""Which pods wait for which node, and what changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate import nominated_pods
from clusterstate.nominated_pods import NominatedPods
from clusterstate.objects import Pod
from tests.support.build import make_pod

PODS = {name: make_pod(name) for name in "pqrs"}


def anew(of: dict[str, tuple[str, Pod]]) -> dict[str, list[Pod]]:
    """Node → its pods, in order of nomination."""
    out: dict[str, list[Pod]] = {}
    for node, pod in of.values():
        out.setdefault(node, []).append(pod)
    return out


@given(st.lists(st.tuples(st.sampled_from("pqrs"), st.sampled_from(["", "a", "b", "c"])), max_size=12))
def test_law_of_keeping(steps: list[tuple[str, str]]) -> None:
    """Step by step is the same as at once, in the same order; every node that changed is reported."""
    record, of = NominatedPods(), dict[str, tuple[str, Pod]]()
    for name, node in steps:
        before, position = anew(of), record.position
        of.pop(name, None)
        if node:
            of[name] = node, PODS[name]
            record.put(name, node, PODS[name])
        else:
            record.drop(name)
        now = anew(of)
        assert list(record.by_node().items()) == list(now.items())
        assert record.node_of(name) == (node or None)
        changed = {at for at in before.keys() | now.keys() if before.get(at) != now.get(at)}
        assert changed <= set(record.since(position) or ())


def test_old_changes_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who looked too long ago looks at everything."""
    monkeypatch.setattr(nominated_pods, "LONGEST", 4)
    record = NominatedPods()
    for at in range(6):
        record.put("p", f"n{at}", PODS["p"])
    assert record.since(0) is None
    assert record.since(record.position) == []
    assert record.since(record.position - 1) == ["n5"]
