"""Policies and providers for release 1.20: what 1.20 itself makes of them, written out."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.config.load_config import component_config_from
from kubescheduler.releases.lookup import RELEASES
from kubescheduler.translate.policy_source import provider_source
from kubescheduler.translate.translating import translate
from tests.support.configuring.component_build import format_of
from tests.support.configuring.policies_1_20 import policy_config
from tests.support.configuring.translating import (
    about,
    anti_affinity,
    args,
    enabled,
    label_preference,
    label_presence,
    policy,
    predicates,
    priorities,
    ratio,
    told,
    translated,
)

GATES = RELEASES["1.20"].gates.resolve({})
EXTENDER = {
    "urlPrefix": "http://e",
    "filterVerb": "f",
    "httpTimeout": 100_000_000,
    "managedResources": [{"name": "example.com/x", "ignoredByScheduler": True}],
}


POLICIES = {
    "empty lists": policy(predicates=[], priorities=[]),
    "no lists": policy(),
    "every plain predicate": policy(predicates=predicates("GeneralPredicates", "MaxCinderVolumeCount", "PodFitsPorts")),
    "own predicates": policy(predicates=[label_presence("Mine", "a"), label_presence("Other", "b", presence=False)]),
    "service": policy(predicates=[{"name": "Mine", "argument": {"serviceAffinity": {"labels": ["region"]}}}]),
    "spread twice": policy(priorities=priorities(EvenPodsSpreadPriority=3, SelectorSpreadPriority=5)),
    "even": policy(priorities=priorities(EvenPodsSpreadPriority=3, EqualPriority=1)),
    "alias": policy(priorities=priorities(ServiceSpreadingPriority=3)),
    "labels": policy(priorities=[label_preference("Aa", 2, "a"), label_preference("Bb", 2, "b", presence=False)]),
    "against": policy(priorities=[anti_affinity("Aa", 2, "rack"), anti_affinity("Bb", 2, "row")]),
    "ratio": policy(priorities=[ratio("Fill", 2, (0, 0), (100, 10), cpu=3, memory=1)]),
    "hard weight": {**policy(priorities=priorities(InterPodAffinityPriority=2)), "hardPodAffinitySymmetricWeight": 7},
    "extender": {**policy(priorities=[]), "extenders": [EXTENDER]},
}


@pytest.mark.parametrize("document", POLICIES.values(), ids=POLICIES)
def test_the_profile_is_that_of_1_20(document: dict[str, Any]) -> None:
    """The same lists, weights and args, and the same extenders."""
    found = component_config_from(translated(document, "1.20", "1.20").plain(), format_of("1.20"), all_problems=True)
    own = policy_config(document, GATES)
    assert found.profiles[0].plugins == own.profiles[0].plugins
    config = dict(found.profiles[0].plugin_config)
    assert {name: config[name] for name, _ in own.profiles[0].plugin_config} == dict(own.profiles[0].plugin_config)
    assert found.extenders == own.extenders


@pytest.mark.parametrize("provider", ["DefaultProvider", "ClusterAutoscalerProvider"])
def test_providers(provider: str) -> None:
    """Written out in full: exact from 1.20, not from 1.16."""
    found = translate(provider_source(provider, "1.20", GATES), "1.20")
    own = component_config_from(
        {"apiVersion": "kubescheduler.config.k8s.io/v1beta1", "kind": "KubeSchedulerConfiguration"},
        format_of("1.20"),
        provider=provider,
        all_problems=True,
    )
    again = component_config_from(found.plain(), format_of("1.20"), all_problems=True)
    assert again.profiles[0].plugins == own.profiles[0].plugins
    assert found.exact
    assert not translate(provider_source(provider, "1.16", RELEASES["1.16"].gates.resolve({})), "1.20").exact


# --- what 1.20 refuses ---------------------------------------------------------------------


def test_preferences_of_different_weights_are_repeated() -> None:
    """1.20 has one weight for all: 4 and 2 become two entries and one, of weight 2."""
    document = policy(priorities=[label_preference("Aa", 4, "a"), label_preference("Bb", 2, "b")])
    with pytest.raises(ConfigError):
        policy_config(document, GATES)
    found = translated(document, "1.20")
    assert args(found, "NodeLabel") == {"presentLabelsPreference": ["a", "a", "b"]}
    assert enabled(found, "score") == {"NodeLabel": 6}
    assert "exact" in about(found, "priorities[0] Aa, priorities[1] Bb")


def test_preferences_that_would_be_repeated_too_often() -> None:
    """They get their mean."""
    found = translated(policy(priorities=[anti_affinity("Aa", 997, "a"), anti_affinity("Bb", 3, "b")]), "1.20")
    assert enabled(found, "score") == {"ServiceAffinity": 1000}
    assert "approximate" in about(found, "priorities[0] Aa, priorities[1] Bb")


def test_one_capacity_ratio() -> None:
    """The heaviest is kept."""
    found = translated(
        policy(priorities=[ratio("Aa", 9, (0, 0), (100, 10)), ratio("Bb", 1, (0, 10), (100, 0))]), "1.20"
    )
    assert args(found, "RequestedToCapacityRatio")["shape"][0] == {"utilization": 0, "score": 0}
    assert ("lost", "priorities[1] Bb") in told(found)


@pytest.mark.parametrize(
    ("entry", "plugin"),
    [
        (ratio("RequestedToCapacityRatio", 2, (0, 0), (100, 10), cpu=1), "RequestedToCapacityRatio"),
        (label_preference("NodeLabel", 2, "a"), "NodeLabel"),
        (anti_affinity("ServiceAffinity", 2, "a"), "ServiceAffinity"),
        ({"name": "RequestedToCapacityRatioPriority", "weight": 2}, "RequestedToCapacityRatio"),
    ],
    ids=lambda value: value if isinstance(value, str) else value["name"],
)
def test_names_that_1_20_does_not_take(entry: dict[str, Any], plugin: str) -> None:
    """Their argument counts all the same, and a priority of 1.16 without one gets that of 1.16."""
    found = translated(policy(priorities=[entry]), "1.20")
    assert enabled(found, "score") == {plugin: 2}
    assert args(found, plugin)


@pytest.mark.parametrize(
    ("document", "kind", "path"),
    [
        (policy(predicates=predicates("CheckNodeDiskPressure")), "approximate", "predicates[0] CheckNodeDiskPressure"),
        (policy(priorities=priorities(ResourceLimitsPriority=1)), "lost", "priorities[0] ResourceLimitsPriority"),
        (policy(predicates=predicates("PodFitsPorts")), "approximate", "predicates[0] PodFitsPorts"),
        (policy(predicates=[label_presence("CheckNodeLabelPresence", "a")]), "lost", "predicates[0] CheckNodeLabel"),
        (policy(priorities=[label_preference("EqualPriority", 1, "a")]), "lost", "priorities[0] EqualPriority"),
        (policy(priorities=priorities(MostRequestedPriority=1)), "approximate", "priorities[0] MostRequestedPriority"),
        (policy(priorities=[ratio("Fill", 1, (0, 0), (100, 10))]), "exact", "priorities[0] Fill"),
        (policy(priorities=[]), "check", "predicates"),
        (policy(predicates=[]), "approximate", "priorities"),
        ({**policy(), "alwaysCheckAllPredicates": True}, "lost", "alwaysCheckAllPredicates"),
        (
            policy(priorities=priorities(ServiceSpreadingPriority=1, SelectorSpreadPriority=2)),
            "approximate",
            "priorities[0] ServiceSpreadingPriority, priorities[1] SelectorSpreadPriority",
        ),
    ],
    ids=lambda value: None if isinstance(value, dict) else value,
)
def test_notes(document: dict[str, Any], kind: str, path: str) -> None:
    """What 1.20 does differently from 1.16."""
    assert kind in about(translated(document, "1.20"), path)


def test_a_policy_that_cannot_be_mended() -> None:
    """A label that nodes must have and must not have."""
    entries = [label_presence("Aa", "a"), label_presence("Bb", "a", presence=False)]
    with pytest.raises(ConfigError, match=r"policy.json: release 1.20 does not take this: .*a"):
        translated(policy(predicates=entries), "1.20")


def test_the_flag_for_the_hard_weight() -> None:
    """It counts where the policy says nothing, and for providers."""
    found = translate(provider_source("DefaultProvider", "1.16", RELEASES["1.16"].gates.resolve({}), 5), "1.20")
    assert args(found, "InterPodAffinity") == {"hardPodAffinityWeight": 5}
