"""How many nodes have an image, as each release remembers it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clusterstate.cache import ClusterCache
from clusterstate.images import MOST_COLUMNS, ImageStates, SnapshotImageStates
from clusterstate.objects import Container, ContainerImage, Node
from kubescheduler.releases import v1_20, v1_36
from tests.support.build import make_node, make_pod
from tests.support.deciders import deciding
from tests.support.rich_worlds import in_tree


def with_app(name: str) -> Node:
    return make_node(name, images=(ContainerImage(("app:latest",), 100),))


def counts(cache: ClusterCache) -> dict[str, int]:
    snapshot = cache.snapshot()
    return dict(zip(snapshot.names, snapshot.image("app:latest")[1].tolist(), strict=True))


def test_1_36_counts_nodes_with_an_image_when_a_row_is_copied() -> None:
    """A row is copied for a decision when its node or its pods have changed since the last one."""
    cache = ClusterCache.of([with_app("a"), with_app("b"), make_node("c")], v1_36.VIEW)
    assert counts(cache) == {"a": 2, "b": 2, "c": 0}
    cache.add_node(with_app("d"))
    assert counts(cache) == {"a": 2, "b": 2, "c": 0, "d": 3}
    pod = make_pod("p")
    cache.assume_pod(pod, "a")
    assert counts(cache) == {"a": 3, "b": 2, "c": 0, "d": 3}
    cache.remove_node("d")
    cache.forget_pod(pod)
    assert counts(cache) == {"a": 2, "b": 2, "c": 0, "": 0}


def test_1_36_counts_as_of_the_copy_and_not_of_the_change() -> None:
    """What changes between two decisions is counted at the second; a decision in between makes the difference."""
    together, apart = (ClusterCache.of([with_app("a")], v1_36.VIEW) for _ in range(2))
    for cache in (together, apart):
        counts(cache)
        cache.assume_pod(make_pod("p"), "a")
        if cache is apart:
            counts(cache)
        cache.add_node(with_app("b"))
    assert counts(together) == {"a": 2, "b": 2}
    assert counts(apart) == {"a": 1, "b": 2}


def test_1_20_counts_when_the_node_is_updated() -> None:
    """Pods that come and go make no difference."""
    cache = ClusterCache.of([with_app("a")], v1_20.VIEW)
    cache.add_node(with_app("b"))
    cache.assume_pod(make_pod("p"), "a")
    assert counts(cache) == {"a": 1, "b": 2}
    cache.update_node(with_app("a"))
    assert counts(cache) == {"a": 2, "b": 2}


def test_a_score_follows_the_count() -> None:
    """A kept score is worked out again when the copy of a row says another number."""
    extra = [with_app(name) for name in ("b", "c")]
    nodes = [make_node(name, images=(ContainerImage(("app:latest",), 900 << 20),)) for name in ("a", "d")]
    scheduler = deciding("1.36", in_tree("1.36")["ImageLocality"], cluster=[*nodes, make_node("e")])
    asks = make_pod("p", containers=(Container("c", "app:latest"),))
    before = scheduler.attempt(asks).run().score("ImageLocality")
    for node in extra:
        scheduler.cache.add_node(node)
    assert scheduler.attempt(asks).run().score("ImageLocality")["d"] < before["d"]
    scheduler.cache.assume_pod(make_pod("q"), "a")
    after = scheduler.attempt(asks).run().score("ImageLocality")
    assert after["a"] > after["d"]


NAMES = ("a", "b", "c")
ROWS = 4


class PlainAccount:
    """Row → name → (size, number), written anew each time. snapshots: numbers are those of the row's last copy."""

    def __init__(self, *, snapshots: bool) -> None:
        self.snapshots = snapshots
        self.sizes: dict[str, int] = {}
        self.nodes: dict[str, set[int]] = {}
        self.rows: dict[int, dict[str, tuple[int, int]]] = {}
        self.dirty: set[int] = set()

    def put(self, row: int, images: tuple[ContainerImage, ...]) -> None:
        """The node of a row is replaced."""
        for name in self.rows.pop(row, {}):
            self.nodes[name].discard(row)
            if not self.nodes[name]:
                del self.nodes[name], self.sizes[name]
        now: dict[str, tuple[int, int]] = {}
        for image in images:
            for name in image.names:
                self.sizes.setdefault(name, image.size_bytes)
                self.nodes.setdefault(name, set()).add(row)
                now[name] = (self.sizes[name], len(self.nodes[name]))
        self.rows[row] = now
        self.dirty.add(row)

    def copied(self) -> set[int]:
        """The rows of which a copy says something else than before."""
        changed = set()
        for row in self.dirty if self.snapshots else ():
            before = self.rows.get(row, {})
            self.rows[row] = {name: (self.sizes[name], len(self.nodes[name])) for name in before}
            if self.rows[row] != before:
                changed.add(row)
        self.dirty.clear()
        return changed

    def stands(self) -> bool:
        """Whether every row has the numbers that a copy would give it."""
        return all(
            found == (self.sizes[name], len(self.nodes[name]))
            for names in self.rows.values()
            for name, found in names.items()
        )

    def column(self, name: str) -> list[tuple[int, int]]:
        """The numbers of each row."""
        return [self.rows.get(row, {}).get(name, (0, 0)) for row in range(ROWS)]


IMAGES = st.lists(
    st.builds(ContainerImage, st.lists(st.sampled_from(NAMES), max_size=2).map(tuple), st.integers(1, 3)), max_size=3
).map(tuple)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, ROWS - 1), IMAGES),
        st.tuples(st.just("gone"), st.integers(0, ROWS - 1), st.just(())),
        st.tuples(st.just("touched"), st.integers(0, ROWS - 1), st.just(())),
        st.tuples(st.just("copied"), st.just(0), st.just(())),
        st.tuples(st.just("refresh"), st.just(0), st.just(())),
    ),
    max_size=60,
)


@given(STEPS, st.booleans())
def test_as_a_plain_account(steps: list[tuple[str, int, tuple[ContainerImage, ...]]], snapshots: bool) -> None:
    """After every step each row has the size and the number that writing all of them down would give."""
    states, plain = SnapshotImageStates() if snapshots else ImageStates(), PlainAccount(snapshots=snapshots)
    for what, row, images in steps:
        match what:
            case "put" | "gone":
                states.put(row, None if what == "gone" else make_node(str(row), images=images))
                plain.put(row, images)
            case "touched":
                states.touched(row)
                plain.dirty.add(row)
            case "copied":
                assert set(states.copied()) == plain.copied()
            case _:
                states.refresh()
                plain.rows = {
                    row: {name: (plain.sizes[name], len(plain.nodes[name])) for name in names}
                    for row, names in plain.rows.items()
                }
        assert states.stands() == (not snapshots or plain.stands())
        for name in NAMES:
            sizes, counts = states.column(name, ROWS)
            assert list(zip(sizes.tolist(), counts.tolist(), strict=True)) == plain.column(name)


def test_columns_are_bounded() -> None:
    """Numbers of all rows are kept for a bounded number of images; an image that no node has takes no memory."""
    states = ImageStates()
    images = tuple(ContainerImage((f"image-{at}",), 1) for at in range(2 * MOST_COLUMNS))
    states.put(0, make_node("a", images=images))
    for image in images:
        states.column(image.names[0], 1000)
    assert len(states._columns) == MOST_COLUMNS
    assert states.column("absent", 1000)[0].strides == (0,)


def test_history_is_bounded() -> None:
    """What is remembered of an image grows with the rows that have it, and not with what happened to them."""
    states = ImageStates()
    app = (ContainerImage(("app",), 1),)
    states.put(0, make_node("a", images=app))
    for _ in range(1000):
        states.put(1, make_node("b", images=app))
        states.put(1, None)
    assert len(states._holders["app"]._times) <= 20
