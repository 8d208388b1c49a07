"""Laws that every predicate of release 1.4 obeys, over random clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from algorithmprovider.algorithms_1_4 import FIT_PREDICATES as FIT_PREDICATES_1_4
from predicates.labels import label_presence_factory_1_4
from predicates.service_affinity import service_affinity_factory_1_4
from predicates.types import PredicateArgs
from tests.predicates.test_laws import POD_PARTS, clusters
from tests.support.build import Cluster, cluster_1_4, make_pod

RULES = [
    *(factory(PredicateArgs()) for factory in FIT_PREDICATES_1_4.values()),
    label_presence_factory_1_4("CheckNodeLabelPresence", ("zone",), True)(PredicateArgs()),
    service_affinity_factory_1_4("CheckServiceAffinity", ("zone", "disk"))(PredicateArgs()),
]


def failing(cluster: Cluster, fields: Any, rows: Any = None) -> dict[str, dict[str, list[bool]]]:
    """By rule what fails where; reasons that fail nowhere left out."""
    info, snapshot = cluster.info(make_pod(**fields)), cluster.snapshot
    snapshot = snapshot if rows is None else snapshot.take(rows)
    verdicts = {rule.name: rule.check(info, snapshot) for rule in RULES}
    return {
        name: {reason: mask.tolist() for reason, mask in verdict.items() if mask.any()}
        for name, verdict in verdicts.items()
    }


@given(world=clusters(), fields=POD_PARTS, data=st.data())
def test_a_subset_of_rows_gives_the_same(world: Any, fields: Any, data: st.DataObject) -> None:
    """A row's verdict does not depend on which other rows are asked about, nor on their order."""
    cluster = cluster_1_4(*world)
    rows = np.array(data.draw(st.lists(st.integers(0, len(cluster.snapshot) - 1), unique=True)), np.int64)
    whole, some = failing(cluster, fields), failing(cluster, fields, rows)
    for name, verdict in whole.items():
        picked = {reason: [mask[row] for row in rows] for reason, mask in verdict.items()}
        assert some[name] == {reason: mask for reason, mask in picked.items() if any(mask)}, name


@given(world=clusters(), fields=POD_PARTS)
def test_a_rule_that_does_not_apply_passes_everywhere(world: Any, fields: Any) -> None:
    """Skipping it changes nothing."""
    cluster = cluster_1_4(*world)
    verdicts, info = failing(cluster, fields), cluster.info(make_pod(**fields))
    assert [rule.name for rule in RULES if not rule.applies(info) and verdicts[rule.name]] == []
