"""NodeName."""

from __future__ import annotations

import pytest

from kubescheduler.framework.contract.plugin import ColumnPlugin, PluginFactory
from kubescheduler.framework.plugins.nodes import node_name_1_20, node_name_1_36
from tests.support.build import Cluster, make_node, make_pod
from tests.support.custom.extender_asking import HANDLE, check_of, refused

CLUSTER = Cluster([make_node("a"), make_node("b")])
TEXTS = {
    "1.20": (node_name_1_20, "node(s) didn't match the requested hostname"),
    "1.36": (node_name_1_36, "node(s) didn't match the requested node name"),
}


@pytest.mark.parametrize(("make", "text"), TEXTS.values(), ids=TEXTS)
def test_a_pod_that_names_a_node_fits_that_node_only(make: PluginFactory, text: str) -> None:
    """Taking pods away does not mend it."""
    plugin = make(None, HANDLE)
    assert isinstance(plugin, ColumnPlugin)
    assert refused(plugin, CLUSTER, make_pod()) == {}
    assert refused(plugin, CLUSTER, make_pod("n", node="b")) == {text: ["a"]}
    assert refused(plugin, CLUSTER, make_pod("n", node="z")) == {text: ["a", "b"]}
    assert check_of(plugin).unresolvable(text)
