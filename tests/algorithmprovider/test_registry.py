"""Users' own algorithms: registered, bundled, named in a policy, run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import algorithmprovider as ap
import kubescheduler as ks
from clusterstate.changes import Reads
from clusterstate.errors import ConfigError, RegistryError
from kubescheduler.core.attempt import GenericScheduler
from kubescheduler.engine.engine_flags import EngineFlags
from kubescheduler.engine.legacy_engine import algorithm_for
from kubescheduler.releases.lookup import RELEASES
from predicates.types import PredicateArgs
from priorities.types import PriorityArgs
from tests.support.build import cache_of, make_node, make_pod
from tests.support.releases_tried import LEGACY_TRIED

OPTIONS = EngineFlags(feature_gates=RELEASES["1.16"].gates.resolve({}))


@pytest.fixture(autouse=True)
def clean_maps() -> Iterator[None]:
    """Leaves the module-level maps as they were."""
    maps: tuple[dict[str, Any], ...] = (ap.FIT_PREDICATES, ap.PRIORITY_CONFIGS, ap.PROVIDERS)
    before = [dict(m) for m in maps]
    yield
    for registered, kept in zip(maps, before, strict=True):
        registered.clear()
        registered.update(kept)


def odd_only(pod: Any, meta: Any, node_info: ap.NodeInfo) -> tuple[bool, list[str]]:
    return node_info.name[-1] in "13579", ["node(s) were even"]


def by_digit(pod: Any, meta: Any, node_info: ap.NodeInfo) -> int:
    return int(node_info.name[-1])


def columns_by_digit(pod: Any, snapshot: Any) -> Any:
    return np.array([int(name[-1]) for name in snapshot.names])


def scheduler(provider: str | None = None, policy: dict[str, Any] | None = None) -> GenericScheduler:
    cache = cache_of(make_node(f"n{i}") for i in range(5))
    return GenericScheduler(algorithm_for(OPTIONS, provider, policy), cache)


def test_a_provider_of_ones_own_runs_ones_own_algorithms() -> None:
    """Per node, beside built-in ones."""
    ap.register_fit_predicate("OddOnly", odd_only)
    ap.register_priority_function("ByDigit", by_digit, weight=3)
    ap.register_algorithm_provider("Workshop", ["GeneralPredicates", "OddOnly"], ["ByDigit", "EqualPriority"])
    decision = scheduler("Workshop").decide(make_pod())
    assert decision.host == "n3"
    assert decision.reasons()["n2"] == ["node(s) were even"]
    assert decision.total() == {"n1": 4, "n3": 10}


def test_a_policy_can_name_them() -> None:
    """With a weight of its own."""
    ap.register_fit_predicate("OddOnly", odd_only)
    ap.register_priority_function("ByDigit", columns_by_digit, reads=Reads.NODE)
    policy = {
        "kind": "Policy",
        "apiVersion": "v1",
        "predicates": [{"name": "OddOnly"}],
        "priorities": [{"name": "ByDigit", "weight": 2}],
    }
    assert scheduler(policy=policy).decide(make_pod()).total() == {"n1": 2, "n3": 6}


def test_per_node_algorithms_see_pods_as_they_come() -> None:
    """They are asked again when anything changed."""

    def few(pod: Any, meta: Any, node_info: ap.NodeInfo) -> tuple[bool, list[str]]:
        return len(node_info.pods) < 1, ["node(s) had a pod"]

    ap.register_fit_predicate("Few", few)
    ap.register_algorithm_provider("One", ["Few"], [])
    engine = scheduler("One")
    hosts = []
    for number in range(6):
        pod = make_pod(f"p{number}")
        decision = engine.decide(pod)
        hosts.append(decision.host)
        if decision.host is not None:
            engine.cache.assume_pod(pod, decision.host)
    assert hosts == ["n0", "n1", "n2", "n3", "n4", None]
    assert decision.message == "0/5 nodes are available: 5 node(s) had a pod."


def test_reduce_functions_see_all_feasible_nodes() -> None:
    """The map's numbers in, scores out."""

    def halved(pod: Any, snapshot: Any, scores: Any) -> Any:
        return scores // 2 + len(snapshot)

    ap.register_priority_function("ByDigit", by_digit, halved)
    ap.register_algorithm_provider("Reduced", [], ["ByDigit"])
    assert scheduler("Reduced").decide(make_pod()).total() == {"n0": 5, "n1": 5, "n2": 6, "n3": 6, "n4": 7}


def test_parameterised_ones_are_made_by_name() -> None:
    """As a policy's arguments make them."""
    ap.register_custom_fit_predicate("CheckNodeLabelPresence", labels_presence=(["retiring"], True))
    ap.register_custom_priority_function("Prefer", 2, label_preference=("disk", True))
    ap.register_algorithm_provider("Custom", ["CheckNodeLabelPresence"], ["Prefer"])
    decision = scheduler("Custom").decide(make_pod())
    assert decision.message == "0/5 nodes are available: 5 node(s) didn't have the requested labels."


@pytest.mark.parametrize(
    ("release", "reason"), [("1.4", "CheckNodeLabelPresence"), ("1.16", "node(s) didn't have the requested labels")]
)
def test_parameterised_predicates_are_the_release_s_own(release: str, reason: str) -> None:
    """Each release builds its rule from the arguments, as from a Policy's."""
    ap.register_custom_fit_predicate("Retiring", labels_presence=(["retiring"], True))
    ap.register_custom_fit_predicate("TogetherByRack", service_affinity=["rack"])
    ap.register_algorithm_provider("Custom", ["Retiring", "TogetherByRack"], [])
    flags = EngineFlags(release=release, feature_gates=RELEASES[release].gates.resolve({}))
    algorithm = algorithm_for(flags, "Custom", None)
    nodes = [make_node("n0")]
    decision = GenericScheduler(algorithm, cache_of(nodes)).decide(make_pod())
    assert decision.reasons()["n0"] == [reason]


def test_a_ratio_is_not_registered_in_1_4() -> None:
    """It has no such priority, so a provider that names one is refused in its words."""
    ap.register_custom_priority_function("Ratio", requested_to_capacity_ratio=([(0, 10), (100, 0)], [("cpu", 1)]))
    ap.register_algorithm_provider("Packing", [], ["Ratio"])
    assert "Ratio" in ap.list_priorities()
    flags = EngineFlags(release="1.4", feature_gates={})
    with pytest.raises(ConfigError, match="Invalid priority name Ratio specified"):
        algorithm_for(flags, "Packing", None)


@pytest.mark.parametrize("name", ["x", "-ab", "a_b", "ab-"])
def test_names_are_checked_as_upstream_does(name: str) -> None:
    """At least two letters or digits, dashes within."""
    with pytest.raises(RegistryError, match="does not match the name validation regexp"):
        ap.register_fit_predicate(name, odd_only)


def test_a_function_of_one_argument_is_refused() -> None:
    """It is neither per node nor over columns."""
    with pytest.raises(RegistryError, match=r"takes \(pod, snapshot\) or \(pod, meta, node_info\), this one takes 1"):
        ap.register_priority_function("Odd", lambda pod: 1)


@pytest.mark.parametrize("release", LEGACY_TRIED)
def test_every_key_of_every_provider_is_registered(release: str) -> None:
    """And every registered priority has a positive weight."""
    algorithms = RELEASES[release].legacy_rules.algorithms()
    registry = ap.registry(algorithms)
    for provider in registry.providers.values():
        assert provider.predicates <= registry.fit_predicates.keys()
        assert provider.priorities <= registry.priorities.keys()
    assert all(factory.weight > 0 for factory in registry.priorities.values())
    assert ap.list_algorithm_providers(algorithms) == ["ClusterAutoscalerProvider", "DefaultProvider"]


def test_gates_add_and_delete_registrations() -> None:
    """1.16: node conditions become taints; even spreading joins with its gate."""
    plain = ap.registry()
    gated = ap.registry(feature_gates={"EvenPodsSpread": True, "TaintNodesByCondition": False})
    assert "CheckNodeCondition" not in plain.fit_predicates
    assert gated.mandatory == {"CheckNodeCondition"}
    assert {"EvenPodsSpread", "CheckNodeMemoryPressure"} <= gated.provider("DefaultProvider").predicates
    assert "EvenPodsSpreadPriority" in gated.provider("DefaultProvider").priorities


def test_factories_give_functions_by_what_a_policy_says() -> None:
    """A factory sees the Policy's arguments, and gives what is registered without one: per node or over columns."""
    seen: list[object] = []

    def predicate(args: PredicateArgs) -> Any:
        seen.append(args.ignored_resources)
        return lambda pod, meta, node_info: (node_info.node.name != "a", ["not a"])

    def priority(args: PriorityArgs) -> Any:
        weight = args.hard_pod_affinity_symmetric_weight
        return lambda pod, snapshot: np.full(len(snapshot), weight)

    ap.register_fit_predicate_factory("NotA", predicate)
    ap.register_priority_config_factory("Weighty", priority)
    managed = [{"name": "example.com/fpga", "ignoredByScheduler": True}]
    policy: dict[str, Any] = {
        "kind": "Policy",
        "apiVersion": "v1",
        "hardPodAffinitySymmetricWeight": 7,
        "predicates": [{"name": "NotA"}],
        "priorities": [{"name": "Weighty", "weight": 2}],
        "extenders": [{"urlPrefix": "http://127.0.0.1:1", "managedResources": managed}],
    }
    cluster = ks.Cluster(release="1.16").node("a").node("b").node("c")
    decision = ks.Scheduler(cluster, policy=policy, extenders="pass").decide(ks.pod("web"))
    assert seen == [frozenset({"example.com/fpga"})]
    assert (decision.total(), decision.reasons()) == ({"b": 14, "c": 14}, {"a": ["not a"]})
