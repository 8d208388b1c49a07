"""From flags to an algorithm: what is selected, in which order it runs, and what a reader is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from algorithmprovider.algorithms_1_16 import ORDERING
from clusterstate.errors import ConfigError
from kubescheduler.core.algorithm import Algorithm
from kubescheduler.engine.engine_flags import EngineFlags, max_pd_volumes
from kubescheduler.engine.legacy_engine import algorithm_for, algorithm_from_files
from kubescheduler.releases.lookup import RELEASES

OPTIONS = EngineFlags(feature_gates=RELEASES["1.16"].gates.resolve({}))


def policy(**fields: Any) -> dict[str, Any]:
    return {"kind": "Policy", "apiVersion": "v1", **fields}


def predicates(algorithm: Algorithm) -> list[str]:
    return [predicate.name for predicate in algorithm.predicates]


def weights(algorithm: Algorithm) -> dict[str, int]:
    return {priority.config.name: priority.weight for priority in algorithm.priorities}


def test_predicates_run_in_the_order_of_the_release() -> None:
    """Whatever the order of the policy."""
    names = [{"name": name} for name in ("NoDiskConflict", "HostName", "GeneralPredicates")]
    found = predicates(algorithm_for(OPTIONS, None, policy(predicates=names)))
    assert found == sorted(found, key=ORDERING.index)
    assert set(found) >= {"CheckNodeUnschedulable", "PodToleratesNodeTaints"}


@pytest.mark.parametrize(
    ("fields", "count", "priorities"),
    [({}, 11, 8), ({"predicates": []}, 2, 8), ({"priorities": []}, 11, 0), ({"predicates": None}, 11, 8)],
    ids=["absent", "no predicates", "no priorities", "null"],
)
def test_absent_lists_are_the_defaults_and_empty_ones_are_none(
    fields: dict[str, Any], count: int, priorities: int
) -> None:
    """Mandatory predicates join an empty list."""
    algorithm = algorithm_for(OPTIONS, None, policy(**fields))
    assert (len(algorithm.predicates), len(algorithm.priorities)) == (count, priorities)


def test_the_last_weight_of_a_name_counts() -> None:
    """Each name is selected once."""
    twice = [{"name": "EqualPriority", "weight": 1}, {"name": "EqualPriority", "weight": 7}]
    assert weights(algorithm_for(OPTIONS, None, policy(priorities=twice))) == {"EqualPriority": 7}


def test_the_autoscalers_provider_packs() -> None:
    """It differs in one priority."""
    default, packing = (
        weights(algorithm_for(OPTIONS, name, None)) for name in ("DefaultProvider", "ClusterAutoscalerProvider")
    )
    assert default.keys() ^ packing.keys() == {"LeastRequestedPriority", "MostRequestedPriority"}
    assert default["NodePreferAvoidPodsPriority"] == 10000


def test_an_unknown_provider_is_named_with_the_nearest() -> None:
    """Upstream's text, and what to type instead."""
    with pytest.raises(ConfigError, match='plugin "DefaultProvidr" has not been registered; did you mean Default'):
        algorithm_for(OPTIONS, "DefaultProvidr", None)


def test_a_predicate_that_never_runs_is_told(tmp_path: Path) -> None:
    """1.16 runs only the names it has a place for."""
    argument = {"labelsPresence": {"labels": ["x"], "presence": True}}
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(policy(predicates=[{"name": "MyLabels", "argument": argument}])))
    told: list[str] = []
    algorithm = algorithm_from_files(OPTIONS, None, str(path), None, told.append)
    assert [predicate.name for predicate in algorithm.idle] == ["MyLabels"]
    assert told == [f"{path}: predicate MyLabels never runs: release 1.16 has no place for that name"]


def test_a_policy_wins_over_the_provider_and_says_so(tmp_path: Path) -> None:
    """As kube-scheduler's flags do."""
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(policy(priorities=[])))
    told: list[str] = []
    algorithm = algorithm_from_files(OPTIONS, "ClusterAutoscalerProvider", str(path), None, told.append)
    assert not algorithm.priorities
    assert told == [f"--algorithm-provider has no effect beside the policy in {path}"]


@pytest.mark.parametrize(("text", "limit"), [("", None), ("12", 12), ("0", None), ("-1", None), ("x", None)], ids=repr)
def test_the_environment_limits_volumes_only_with_a_positive_integer(text: str, limit: int | None) -> None:
    """KUBE_MAX_PD_VOLS."""
    assert max_pd_volumes({"KUBE_MAX_PD_VOLS": text}) == limit
