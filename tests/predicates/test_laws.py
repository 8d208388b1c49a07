"""Laws that every predicate obeys, over random clusters with something of everything."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithmprovider.algorithms import FIT_PREDICATES, FIT_PREDICATES_1_4
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import PodChange, Snapshot
from predicates.node_identity import label_presence_factory, label_presence_factory_1_4
from predicates.service_affinity import service_affinity_factory, service_affinity_factory_1_4
from predicates.types import FitPredicate, PredicateArgs
from tests.support.rich_worlds import POD_PARTS, ZONE, DrawnCluster, failing, incoming, pod_of, worlds

RULES: dict[str, list[FitPredicate]] = {
    release: [factory(PredicateArgs()) for factory in (*registered.values(), *more)]
    for release, registered, more in (
        (
            "1.4",
            FIT_PREDICATES_1_4,
            [
                label_presence_factory_1_4("CheckNodeLabelPresence", (ZONE,), True),
                service_affinity_factory_1_4("CheckServiceAffinity", (ZONE, "disk")),
            ],
        ),
        (
            "1.16",
            FIT_PREDICATES,
            [
                label_presence_factory("CheckNodeLabelPresence", (ZONE,), True),
                service_affinity_factory("CheckServiceAffinity", (ZONE, "disk")),
            ],
        ),
    )
}
EVERY = pytest.mark.parametrize("release", RULES)


def verdicts(release: str, info: PodInfo, snapshot: Snapshot) -> dict[str, dict[str, list[str]]]:
    """By rule what fails where; reasons that fail nowhere left out."""
    out = {}
    for rule in RULES[release]:
        verdict = rule.check(info, snapshot)
        assert all(m.dtype == np.bool_ and m.shape == (len(snapshot),) for m in verdict.values()), rule.name
        out[rule.name] = failing(snapshot, verdict)
    return out


@EVERY
@given(world=worlds(), pod=incoming, data=st.data())
def test_a_subset_of_rows_gives_the_same(release: str, world: DrawnCluster, pod: Pod, data: st.DataObject) -> None:
    """A row's verdict does not depend on which other rows are asked about, nor on their order."""
    cache = world.cache(release)
    info, snapshot = cache.info(pod), cache.snapshot()
    rows = np.array(data.draw(st.lists(st.integers(0, len(snapshot) - 1), unique=True)), np.int64)
    some = verdicts(release, info, snapshot.take(rows))
    asked = [snapshot.names[row] for row in rows.tolist()]
    for name, reasons in verdicts(release, info, snapshot).items():
        picked = {reason: [node for node in asked if node in hit] for reason, hit in reasons.items()}
        assert some[name] == {reason: hit for reason, hit in picked.items() if hit}, name


@EVERY
@given(world=worlds(), pod=incoming)
def test_a_rule_that_does_not_apply_passes_everywhere(release: str, world: DrawnCluster, pod: Pod) -> None:
    """Skipping it changes nothing."""
    cache = world.cache(release)
    info = cache.info(pod)
    found = verdicts(release, info, cache.snapshot())
    assert [rule.name for rule in RULES[release] if not rule.applies(info) and found[rule.name]] == []


@given(world=worlds(), pod=incoming, parts=POD_PARTS)
def test_a_pod_thought_on_counts_like_one_that_is_there(world: DrawnCluster, pod: Pod, parts: Any) -> None:
    """What would happen with one more pod is what happens with it."""
    cache, real = world.cache("1.16"), world.cache("1.16")
    extra = pod_of("extra", {**parts, "deleting": False}, "n0")
    row = cache.columns.row_of["n0"]
    thought = cache.snapshot().what_if([PodChange(row, cache.info(extra), 1)])
    real.add_pod(extra)
    assert verdicts("1.16", cache.info(pod), thought) == verdicts("1.16", real.info(pod), real.snapshot())
