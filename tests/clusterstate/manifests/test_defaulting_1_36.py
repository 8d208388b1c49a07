"""What 1.36's API server makes of the label keys of affinity terms."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.manifests.defaulting_1_36 import PREFERRED, REQUIRED, default_manifest_1_36


def pod(group: dict[str, Any], labels: dict[str, str] | None = None) -> dict[str, Any]:
    return {
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "uid": "u", "labels": labels or {"app": "web", "rev": "2"}},
        "spec": {"containers": [], "affinity": {"podAntiAffinity": group}},
    }


def selectors(manifest: dict[str, Any]) -> list[Any]:
    """The match expressions of all terms, required ones first."""
    group = default_manifest_1_36(manifest)["spec"]["affinity"]["podAntiAffinity"]
    terms = [*group.get(REQUIRED, []), *(weighted["podAffinityTerm"] for weighted in group.get(PREFERRED, []))]
    return [(term.get("labelSelector") or {}).get("matchExpressions") for term in terms]


SAME_APP = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "zone"}
IN_REV = {"key": "rev", "operator": "In", "values": ["2"]}
NOT_IN_REV = {"key": "rev", "operator": "NotIn", "values": ["2"]}


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        pytest.param({REQUIRED: [{**SAME_APP, "matchLabelKeys": ["rev"]}]}, [[IN_REV]], id="match"),
        pytest.param({REQUIRED: [{**SAME_APP, "mismatchLabelKeys": ["rev"]}]}, [[NOT_IN_REV]], id="mismatch"),
        pytest.param(
            {PREFERRED: [{"weight": 1, "podAffinityTerm": {**SAME_APP, "matchLabelKeys": ["rev"]}}]},
            [[IN_REV]],
            id="preferred",
        ),
        pytest.param({REQUIRED: [{**SAME_APP, "matchLabelKeys": ["other"]}]}, [None], id="label-absent"),
        pytest.param({REQUIRED: [{"topologyKey": "zone", "matchLabelKeys": ["rev"]}]}, [None], id="no-selector"),
        pytest.param({REQUIRED: [SAME_APP]}, [None], id="no-keys"),
    ],
)
def test_label_keys_become_requirements(group: dict[str, Any], expected: list[Any]) -> None:
    """Of the pod's own values; keys that it does not have, and terms without a selector, are left alone."""
    assert selectors(pod(group)) == expected


def test_filling_twice_changes_nothing() -> None:
    """What an API server stored is taken as it is."""
    once = default_manifest_1_36(pod({REQUIRED: [{**SAME_APP, "matchLabelKeys": ["rev"]}]}))
    assert default_manifest_1_36(once) == once
