"""ImageLocalityPriority."""

from __future__ import annotations

import pytest

from clusterstate.objects import Container, ContainerImage, ImageVolume, Node
from priorities.image_locality import (
    image_bytes,
    image_locality,
    image_locality_1_20,
    image_locality_1_36,
    no_image,
    normalized_image_name,
)
from tests.support.build import Cluster, make_node, make_pod

MIB = 1 << 20


def node_with(name: str, **images: int) -> Node:
    """A node with images ``<name>:latest`` of so many bytes."""
    return make_node(name, images=tuple(ContainerImage((f"{image}:latest",), size) for image, size in images.items()))


def with_images(*images: str) -> tuple[Container, ...]:
    return tuple(Container(image, image) for image in images)


NAMES = {
    "plain": ("nginx", "nginx:latest"),
    "tag": ("nginx:1.9", "nginx:1.9"),
    "port": ("registry:5000/nginx", "registry:5000/nginx:latest"),
    "port-and-tag": ("registry:5000/nginx:1.9", "registry:5000/nginx:1.9"),
    "digest": ("nginx@sha256:abc", "nginx@sha256:abc"),
    "empty": ("", ":latest"),
}


@pytest.mark.parametrize(("written", "normalized"), NAMES.values(), ids=NAMES)
def test_image_names_get_a_tag(written: str, normalized: str) -> None:
    """The colon of a port is none of a tag."""
    assert normalized_image_name(written) == normalized


def test_bytes_are_scaled_by_the_share_of_nodes_that_have_the_image() -> None:
    """300 MiB on one of two nodes count half, 40 MiB on both count in full."""
    cluster = Cluster([node_with("a", big=300 * MIB, small=40 * MIB), node_with("b", small=40 * MIB)])
    cluster.columns.images.refresh()
    pod = cluster.info(make_pod(containers=with_images("big", "small")))
    assert image_bytes(pod, cluster.snapshot).tolist() == [190 * MIB, 40 * MIB]
    assert image_locality(pod, cluster.snapshot).tolist() == [1, 0]


def test_a_node_remembers_how_many_had_the_image_when_it_was_last_updated() -> None:
    """The first of two nodes knows of itself only until it is updated; the size stays the first one's."""
    first, second = node_with("a", app=400 * MIB), node_with("b", app=900 * MIB)
    cluster = Cluster([first, second])
    pod = cluster.info(make_pod(containers=with_images("app")))
    assert image_bytes(pod, cluster.snapshot).tolist() == [200 * MIB, 400 * MIB]
    cluster.columns.put_node(0, first)
    assert image_bytes(pod, cluster.snapshot).tolist() == [400 * MIB, 400 * MIB]


SUMS = {
    "nothing": (0, 0),
    "below-the-least": (23 * MIB - 1, 0),
    "the-least": (23 * MIB, 0),
    "a-tenth": (23 * MIB + 977 * MIB // 10 + 1, 1),
    "just-below-a-tenth": (23 * MIB + 977 * MIB // 10, 0),
    "just-below-the-most": (1000 * MIB - 1, 9),
    "the-most": (1000 * MIB, 10),
    "beyond": (5000 * MIB, 10),
}


@pytest.mark.parametrize(("size", "score"), SUMS.values(), ids=SUMS)
def test_sums_are_held_between_two_thresholds(size: int, score: int) -> None:
    """From 23 MiB for 0 to 1000 MiB for 10."""
    cluster = Cluster([node_with("a", app=size)])
    pod = cluster.info(make_pod(containers=with_images("app")))
    assert image_locality(pod, cluster.snapshot).tolist() == [score]


def test_repeated_images_count_each_time_and_init_containers_never() -> None:
    """Two containers of one image weigh twice."""
    cluster = Cluster([node_with("a", app=100, setup=1000)])
    pod = cluster.info(make_pod(containers=with_images("app", "app"), init_containers=with_images("setup")))
    assert image_bytes(pod, cluster.snapshot).tolist() == [200]


def test_names_in_the_node_status_are_used_as_they_are() -> None:
    """An image reported without a tag is not found under ``latest``."""
    cluster = Cluster([make_node("a", images=(ContainerImage(("app", "app@sha256:1"), 100),))])
    untagged, digest = (cluster.info(make_pod(containers=with_images(name))) for name in ("app", "app@sha256:1"))
    assert image_bytes(untagged, cluster.snapshot).tolist() == [0]
    assert image_bytes(digest, cluster.snapshot).tolist() == [100]


def test_shares_are_rounded_in_float64_and_cut_off_per_image() -> None:
    """One of three nodes: 100·(1/3) = 33.3…, cut off for each of the two containers."""
    cluster = Cluster([node_with("a", app=100), node_with("b"), node_with("c")])
    pod = cluster.info(make_pod(containers=with_images("app", "app")))
    assert image_bytes(pod, cluster.snapshot).tolist() == [66, 0, 0]


def test_rows_without_a_node_count_for_nothing() -> None:
    """A row that only has pods is none of the nodes."""
    cluster = Cluster([node_with("a", app=100)], [make_pod("p", node="gone")])
    pod = cluster.info(make_pod(containers=with_images("app")))
    assert image_bytes(pod, cluster.snapshot).tolist() == [100, 0]
    empty = Cluster([], [make_pod("p", node="gone")])
    assert image_bytes(empty.info(make_pod()), empty.snapshot).tolist() == [0]


# --- framework releases --------------------------------------------------------------------

FRAMEWORK = {
    "worked-example": ([523 * MIB, None], ["x"], [], [], [24, 0], [24, 0]),
    "two-containers": ([523 * MIB, None], ["x", "x"], [], [], [25, 0], [25, 0]),
    "init-container": ([523 * MIB, None], ["y"], ["x"], [], [0, 0], [12, 0]),
    "image-volume": ([523 * MIB, None], ["y"], [], ["x"], [0, 0], [24, 0]),
    "huge": ([9000 * MIB, 9000 * MIB], ["x"], [], [], [100, 100], [100, 100]),
    "no-container": ([9000 * MIB, None], [], [], ["x"], [0, 0], [100, 0]),
}


@pytest.mark.parametrize(("sizes", "images", "init", "mounted", "old", "new"), FRAMEWORK.values(), ids=FRAMEWORK)
def test_framework_releases(
    sizes: list[int | None], images: list[str], init: list[str], mounted: list[str], old: list[int], new: list[int]
) -> None:
    """The limit grows with the containers; 1.36 counts init containers and image volumes."""
    held = [() if size is None else (ContainerImage(("x:latest",), size),) for size in sizes]
    cluster = Cluster([make_node(f"n{i}", images=images_) for i, images_ in enumerate(held)])
    cluster.columns.images.refresh()
    pod = cluster.info(
        make_pod(
            containers=tuple(Container(image=image) for image in images),
            init_containers=tuple(Container(image=image) for image in init),
            volumes=tuple(map(ImageVolume, mounted)),
        )
    )
    assert image_locality_1_20(pod, cluster.snapshot).tolist() == old
    assert image_locality_1_36(pod, cluster.snapshot).tolist() == new
    assert no_image(pod) is None
