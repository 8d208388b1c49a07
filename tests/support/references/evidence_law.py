"""What a check says of a row, held against what it decides there."""

from __future__ import annotations

import json

import numpy as np

from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from predicates.types import FitPredicate, NodeError


def hold_to_evidence(check: FitPredicate, pod: PodInfo, snapshot: Snapshot) -> int:
    """Holds every reason's evidence to the verdict on every row with a node; how many refusals were held.

    A reason that refuses a row has evidence that refuses it; where a check passes, none of its evidence refuses.
    """
    assert check.evidence is not None, check.name
    refusals = 0
    for row in np.flatnonzero(snapshot.has_node).tolist():
        there = snapshot.take(np.array([row]))
        verdict = check.check(pod, there) if check.applies(pod) else {}
        refused = any(mask[0] for mask in verdict.values())
        if any(isinstance(reason, NodeError) for reason in verdict if verdict[reason][0]):
            continue
        for reason, mask in verdict.items():
            if isinstance(reason, NodeError) or (refused and not mask[0]):
                continue
            found = check.evidence.explain(pod, there, reason)
            assert found.refuses is bool(mask[0]), (check.name, reason, there.names[0], found)
            json.dumps(found.facts())
            if mask[0]:
                refusals += 1
                assert found.text, (check.name, reason, found)
    return refusals
