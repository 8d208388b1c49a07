from __future__ import annotations

import pytest

from clusterstate.usage import (
    is_attachable_volume_resource,
    is_extended_resource,
    is_hugepage_resource,
    is_native_resource,
    is_prefixed_native_resource,
    is_scalar_resource,
)


@pytest.mark.parametrize(
    ("name", "native", "extended", "scalar"),
    [
        ("cpu", True, False, False),
        ("storage", True, False, False),
        ("example.com/gpu", False, True, True),
        ("nvidia.com/gpu", False, True, True),
        ("requests.example.com/gpu", False, False, False),
        ("example.com/", False, False, False),
        ("Example.com/gpu", False, False, False),
        (f"{'a' * 245}/b", False, False, False),
        (f"{'a' * 244}/b", False, True, True),
        ("alpha.kubernetes.io/nvidia-gpu", True, False, True),
        ("x.kubernetes.io/y", True, False, True),
        ("hugepages-2Mi", True, False, True),
        ("attachable-volumes-aws-ebs", True, False, True),
    ],
)
def test_resource_classes(name: str, native: bool, extended: bool, scalar: bool) -> None:
    """Each resource name falls into the classes of release 1.16."""
    assert (is_native_resource(name), is_extended_resource(name), is_scalar_resource(name)) == (
        native,
        extended,
        scalar,
    )


def test_prefix_classes() -> None:
    """The classes that only look at a prefix or a part."""
    assert is_hugepage_resource("hugepages-1Gi")
    assert not is_hugepage_resource("x-hugepages-1Gi")
    assert is_attachable_volume_resource("attachable-volumes-csi-x")
    assert not is_attachable_volume_resource("attachable")
    assert is_prefixed_native_resource("kubernetes.io/x")
    assert not is_prefixed_native_resource("k8s.io/x")
