"""The laws of what is remembered for a while."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kubescheduler.live.serving.expiring_cache import ExpiringCache
from tests.support.live.live_clock import StoodClock

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 5), st.integers(-1, 10)),
        st.tuples(st.just("get"), st.integers(0, 5), st.just(0)),
        st.tuples(st.just("wait"), st.just(0), st.integers(0, 6)),
    )
)


@given(STEPS, st.integers(1, 4))
def test_as_a_list(steps: list[tuple[str, int, int]], size: int) -> None:
    """It answers as a list does from which entries that are too old, and the least used ones, are removed."""
    clock = StoodClock()
    cache: ExpiringCache[int, int] = ExpiringCache(size, clock)
    known: list[tuple[int, float, int]] = []
    for at, (what, key, amount) in enumerate(steps):
        found = next((entry for entry in known if entry[0] == key), None)
        if what == "wait":
            clock.moment += amount
        elif what == "put":
            known = [entry for entry in known if entry[0] != key]
            known = [*known, (key, clock.moment + amount, at)][-size:] if amount > 0 else known
            cache.put(key, at, amount)
        elif found is None or found[1] <= clock.moment:
            known = [entry for entry in known if entry[0] != key]
            assert cache.get(key) is None
        else:
            known = [*(entry for entry in known if entry[0] != key), found]
            assert cache.get(key) == found[2]
        assert len(cache) == len(known) <= size
