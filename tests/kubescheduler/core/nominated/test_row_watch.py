"""Which rows are looked at again, and whether rows can be looked at one by one."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clusterstate.changes import LOCAL, Reads
from clusterstate.objects import LabelSelector, ObjectMeta, PodDisruptionBudget, PodResourceClaim
from clusterstate.snapshot import PodChange
from kubescheduler.core.nominated.row_watch import RowWatch, local_to_rows
from predicates.types import FitPredicate
from tests.support.build import cache_of, make_node, make_pod
from tests.support.storage import claiming

ROOM = FitPredicate("Room", lambda pod, snapshot: {}, LOCAL)
FAR = FitPredicate("Far", lambda pod, snapshot: {}, LOCAL | Reads.NAMESPACES)
POD = make_pod("in")


@pytest.mark.parametrize(
    ("waiting", "rules", "local"),
    [
        (make_pod("plain"), [ROOM], True),
        (make_pod("plain"), [ROOM, FAR], False),
        (claiming("claim"), [ROOM], False),
        (make_pod("devices", resource_claims=(PodResourceClaim("c", "c"),)), [ROOM], False),
    ],
    ids=["plain", "a rule that looks further", "claims", "devices"],
)
def test_rows_by_themselves(waiting: Any, rules: list[FitPredicate], local: bool) -> None:
    """Every rule says so, and nobody who is added uses what pods elsewhere may use too."""
    cache = cache_of([make_node("a")])
    change = PodChange(0, cache.info(waiting), 1, nominated=True, pod=waiting)
    assert local_to_rows(cache.info(POD), cache.snapshot().what_if([change]), rules) == local


def test_what_changed() -> None:
    """Rows that changed or are waited for; everything when rules, what they read far away, or time moved on."""
    cache = cache_of([make_node(name) for name in "abc"])
    info, watch, now = cache.info(POD), RowWatch(cache), [1]
    timed = msgspec.structs.replace(FAR, moment=lambda pod, snapshot: now[0])
    assert watch.changed(info, [timed]) is None
    assert watch.changed(info, [timed]) == set()
    cache.add_pod(make_pod("p", node="b"))
    cache.nominate(make_pod("q"), "c")
    cache.nominate(make_pod("r"), "ghost")
    assert watch.changed(info, [timed]) == {1, 2}
    cache.add(PodDisruptionBudget(ObjectMeta("b", "default"), LabelSelector(), 0))
    assert watch.changed(info, [timed]) is None
    now[0] = 2
    assert watch.changed(info, [timed]) is None
    assert watch.changed(info, [ROOM]) is None
    assert watch.changed(info, [ROOM], "more") is None
    assert watch.changed(info, [ROOM], "more") == set()
    watch.forget()
    assert watch.changed(info, [ROOM], "more") is None
