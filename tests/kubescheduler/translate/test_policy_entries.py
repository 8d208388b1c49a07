"""Tests of what releases with plugins select where a policy says nothing."""

from __future__ import annotations

from kubescheduler.config.policy.policy_1_20_plugins import DEFAULT_LISTS_1_20, DefaultLists, policy_profile_1_20
from kubescheduler.config.policy.policy_model import Policy
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.profiles.default_plugins import AUTOSCALER_PROVIDER, DEFAULT_PROVIDER
from kubescheduler.releases import v1_20
from kubescheduler.releases.lookup import RELEASES
from kubescheduler.translate.policy_entries import provider_items_as_plugins, selected_as_plugins

LISTS = DefaultLists(
    ("GeneralPredicates",), {"ImageLocalityPriority": 7}, {"Mine": {"ImageLocalityPriority": "NodeAffinityPriority"}}
)


def test_the_lists_are_those_of_the_release() -> None:
    """Names, weights and exchanged priorities come from its record, and so does its name."""
    predicates, priorities = selected_as_plugins(Policy(), DEFAULT_PROVIDER, LISTS, "9.9")
    assert [item.name for item in predicates] == ["GeneralPredicates"]
    assert [(item.name, item.weight, item.path) for item in priorities] == [
        ("ImageLocalityPriority", 7, "ImageLocalityPriority (default of 9.9)")
    ]
    _, priorities = provider_items_as_plugins("Mine", LISTS, "9.9", selector_spread=False)
    assert [(item.name, item.weight) for item in priorities] == [("NodeAffinityPriority", 7)]


def test_the_record_has_the_lists_that_the_release_decides_by() -> None:
    """A policy without lists gets the same priorities and weights from the translation of 1.20 itself."""
    rules = RELEASES["1.20"].framework_rules.policy_rules
    assert rules.defaults is DEFAULT_LISTS_1_20
    profile, _ = policy_profile_1_20(Policy(), "default-scheduler", RELEASES["1.20"].gates.resolve({}), v1_20.PLUGINS)
    scores = {plugin.name: plugin.weight for plugin in profile.plugins[Point.SCORE]}
    _, priorities = selected_as_plugins(Policy(), DEFAULT_PROVIDER, rules.defaults, "1.20")
    assert scores["PodTopologySpread"] == rules.defaults.priorities["EvenPodsSpreadPriority"]
    assert scores["NodePreferAvoidPods"] == rules.defaults.priorities["NodePreferAvoidPodsPriority"]
    assert {item.name for item in priorities} == set(rules.defaults.priorities)


def test_a_provider_is_named_where_it_differs() -> None:
    """The autoscaler's packs; all else is as by default."""
    lists = DEFAULT_LISTS_1_20
    _, packing = selected_as_plugins(Policy(), AUTOSCALER_PROVIDER, lists, "1.20")
    assert "MostRequestedPriority" in {item.name for item in packing}
    assert packing[0].origin.startswith(f"provider {AUTOSCALER_PROVIDER}: ")
