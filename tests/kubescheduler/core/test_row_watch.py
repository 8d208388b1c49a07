"""Which rows are looked at again, and whether rows can be looked at one by one."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clusterstate.changes import LOCAL, Reads
from clusterstate.footprint import Footprint
from clusterstate.objects import (
    Affinity,
    LabelSelector,
    ObjectMeta,
    PodAffinity,
    PodAffinityTerm,
    PodDisruptionBudget,
    PodResourceClaim,
)
from clusterstate.snapshot import PodChange
from kubescheduler.core.nominated import RowWatch, stay_on_their_rows
from predicates.types import FitPredicate
from tests.support.build import cache_of, make_node, make_pod
from tests.support.storage import claiming

ROOM = FitPredicate("Room", lambda pod, snapshot: {})
FAR = FitPredicate("Far", lambda pod, snapshot: {}, Footprint(LOCAL | Reads.NAMESPACES))
POD = make_pod("in")


@pytest.mark.parametrize(
    ("waiting", "stays"),
    [
        (make_pod("plain"), True),
        (
            make_pod("apart", affinity=Affinity(None, None, PodAffinity((PodAffinityTerm("zone", LabelSelector()),)))),
            False,
        ),
        (claiming("claim"), False),
        (make_pod("devices", resource_claims=(PodResourceClaim("c", "c"),)), False),
    ],
    ids=["plain", "terms", "claims", "devices"],
)
def test_rows_by_themselves(waiting: Any, stays: bool) -> None:
    """Nobody who is added uses what pods elsewhere may use too, or keeps others out of a domain."""
    cache = cache_of([make_node("a")])
    plain = PodChange(0, cache.info(POD), 1, nominated=True, pod=POD)
    change = PodChange(0, cache.info(waiting), 1, nominated=True, pod=waiting)
    assert stay_on_their_rows([plain, change]) == stays


def test_what_changed() -> None:
    """Rows that changed or are waited for; everything when rules, what they read far away, or time moved on."""
    cache = cache_of([make_node(name) for name in "abc"])
    info, watch, now = cache.info(POD), RowWatch(cache), [1]
    timed = msgspec.structs.replace(
        FAR, footprint=msgspec.structs.replace(FAR.footprint, moment=lambda pod, snapshot: now[0])
    )

    def noticed(*given: Any) -> Any:
        found = watch.changed(info, *given)
        watch.noted()
        return found

    assert noticed([timed]) is None
    assert noticed([timed]) == set()
    cache.add_pod(make_pod("p", node="b"))
    cache.nominate(make_pod("q"), "c")
    cache.nominate(make_pod("r"), "ghost")
    assert watch.changed(info, [timed]) == {1, 2}, "it was not noted, and is given again"
    assert noticed([timed]) == {1, 2}
    cache.add(PodDisruptionBudget(ObjectMeta("b", "default"), LabelSelector(), 0))
    assert noticed([timed]) is None
    now[0] = 2
    assert noticed([timed]) is None
    assert noticed([ROOM]) is None
    assert noticed([ROOM], "more") is None
    assert noticed([ROOM], "more") == set()
