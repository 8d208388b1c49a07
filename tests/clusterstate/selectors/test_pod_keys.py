"""What rules read of pods besides their spec."""

from __future__ import annotations

import pytest

from clusterstate.objects import FrozenMap, PodSpec
from clusterstate.podinfo import Controller, PodInfo
from clusterstate.selectors.pod_keys import as_read
from clusterstate.usage import account_1_16


def info(labels: dict[str, str], controller: Controller = None) -> PodInfo:
    spec = PodSpec()
    return PodInfo(("default", FrozenMap(labels), spec, controller, False), account_1_16(spec), ())


@pytest.mark.parametrize(
    ("kind", "read"),
    [
        ("ReplicationController", True),
        ("ReplicaSet", True),
        ("StatefulSet", True),
        ("Job", False),
        ("DaemonSet", False),
    ],
)
def test_controllers_that_no_rule_looks_for_are_not_read(kind: str, read: bool) -> None:
    """Pods of different Jobs are alike; those of different ReplicaSets need not be."""
    one, other = (info({}, (kind, uid)) for uid in "uv")
    assert (as_read(one, frozenset()) != as_read(other, frozenset())) is read


@pytest.mark.parametrize(
    ("labels", "equal"),
    [
        pytest.param({"app": "a", "own": "2"}, True, id="another-label-that-is-not-read"),
        pytest.param({"app": "b", "own": "1"}, False, id="another-value"),
        pytest.param({"own": "1"}, False, id="without"),
    ],
)
def test_labels_count_where_their_keys_are_read(labels: dict[str, str], equal: bool) -> None:
    """Their keys are those that a selector in the cluster asks for."""
    keys = frozenset({"app"})
    assert (as_read(info({"app": "a", "own": "1"}), keys) == as_read(info(labels), keys)) is equal
