"""Objects that may keep what they were read from."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clusterstate.objects import Node, ObjectMeta, Pod

META = ObjectMeta("a")


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        pytest.param(Pod(META), Pod(META), True, id="equal"),
        pytest.param(Pod(META, manifest={"a": 1}), Pod(META), True, id="a manifest"),
        pytest.param(Node(META, manifest={"a": 1}), Node(META, manifest={"a": 2}), True, id="other manifests"),
        pytest.param(Pod(META), Pod(META, node_name="n"), False, id="another field"),
        pytest.param(Pod(META), Node(META), False, id="another kind"),
        pytest.param(Pod(META), None, False, id="nothing"),
    ],
)
def test_manifests_are_not_compared(one: Any, other: Any, equal: bool) -> None:
    """Equal objects have equal hashes, whatever they were read from, and are never unequal too."""
    assert (one == other) is (other == one) is equal
    assert (one != other) is (other != one) is not equal
    assert not equal or hash(one) == hash(other)


def test_manifests_are_not_shown() -> None:
    """Nor are fields that are as in a new object."""
    pod = Pod(META, node_name="n", manifest={"a": 1})
    assert repr(pod) == f"Pod(metadata={META!r}, node_name='n')"
    assert msgspec.structs.replace(pod).manifest == {"a": 1}
