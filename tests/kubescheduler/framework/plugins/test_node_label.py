"""NodeLabel."""

from __future__ import annotations

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.framework.plugins.nodes import NodeLabelArgs, node_label_1_20
from tests.support.build import Cluster, make_node, make_pod
from tests.support.custom.extender_asking import HANDLE, check_of, refused, scores

TEXT = "node(s) didn't have the requested labels"
CLUSTER = Cluster([make_node("ab", {"a": "", "b": "x"}), make_node("a", {"a": "1"}), make_node("none")])


@pytest.mark.parametrize(
    ("present", "absent", "failing"),
    [
        pytest.param((), (), [], id="nothing"),
        pytest.param(("a",), (), ["none"], id="present"),
        pytest.param(("a", "b"), (), ["a", "none"], id="all-present"),
        pytest.param((), ("b",), ["ab"], id="absent"),
        pytest.param((), ("a", "b"), ["ab", "a"], id="all-absent"),
        pytest.param(("a",), ("b",), ["ab", "none"], id="both"),
    ],
)
def test_labels_must_be_there_or_not(present: tuple[str, ...], absent: tuple[str, ...], failing: list[str]) -> None:
    """Whatever their values; taking pods away does not mend it."""
    plugin = node_label_1_20(NodeLabelArgs(present, absent), HANDLE)
    assert refused(plugin, CLUSTER, make_pod()) == ({TEXT: failing} if failing else {})
    assert check_of(plugin).unresolvable(TEXT)
    assert check_of(plugin).applies(CLUSTER.info(make_pod())) == bool(present or absent)


@pytest.mark.parametrize(
    ("present", "absent", "expected"),
    [
        pytest.param(("a",), (), [100, 100, 0], id="present"),
        pytest.param((), ("b",), [0, 100, 100], id="absent"),
        pytest.param(("a", "b"), ("c",), [100, 66, 33], id="thirds-are-cut-off"),
        pytest.param((), (), [0, 0, 0], id="nothing"),
    ],
)
def test_preferences_that_are_met_count_alike(
    present: tuple[str, ...], absent: tuple[str, ...], expected: list[int]
) -> None:
    """The score is the share of them."""
    plugin = node_label_1_20(NodeLabelArgs((), (), present, absent), HANDLE)
    assert scores(plugin, CLUSTER, make_pod()) == (expected, expected)


@pytest.mark.parametrize(
    ("args", "text"),
    [
        pytest.param(
            NodeLabelArgs(("a", "b"), ("c", "b", "a")),
            'detecting at least one label (e.g., "b") that exist in both '
            "the present([a b]) and absent([c b a]) label list",
            id="required",
        ),
        pytest.param(
            NodeLabelArgs((), (), ("x",), ("x",)),
            'detecting at least one label (e.g., "x") that exist in both the present([x]) and absent([x]) label list',
            id="preferred",
        ),
    ],
)
def test_a_label_cannot_be_wanted_and_unwanted(args: NodeLabelArgs, text: str) -> None:
    """But required here and preferred there it can be."""
    with pytest.raises(ConfigError) as refusal:
        node_label_1_20(args, HANDLE)
    assert refusal.value.problems == (text,)
    node_label_1_20(NodeLabelArgs(("a",), (), (), ("a",)), HANDLE)
