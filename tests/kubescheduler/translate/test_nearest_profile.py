"""Policies and providers for release 1.36."""

from __future__ import annotations

from typing import Any

import pytest

from clusterstate.errors import ConfigError
from tests.support.configuring.translating import (
    about,
    anti_affinity,
    args,
    disabled,
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

ALWAYS = {
    *("SchedulingGates", "PrioritySort", "NodeUnschedulable", "TaintToleration", "DynamicResources"),
    *("DefaultPreemption", "DefaultBinder", "NodeDeclaredFeatures"),
}


def only(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """A policy with these priorities and no predicate."""
    return policy(predicates=[], priorities=entries)


@pytest.mark.parametrize(
    ("name", "plugins"),
    [
        ("GeneralPredicates", {"NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity"}),
        ("PodFitsResources", {"NodeResourcesFit"}),
        ("HostName", {"NodeName"}),
        ("PodFitsHostPorts", {"NodePorts"}),
        ("MatchNodeSelector", {"NodeAffinity"}),
        ("NoDiskConflict", {"VolumeRestrictions"}),
        ("NoVolumeZoneConflict", {"VolumeZone"}),
        ("CheckVolumeBinding", {"VolumeBinding"}),
        ("MaxCSIVolumeCountPred", {"NodeVolumeLimits"}),
        ("MaxEBSVolumeCount", {"NodeVolumeLimits"}),
        ("MaxCinderVolumeCount", {"NodeVolumeLimits"}),
        ("MatchInterPodAffinity", {"InterPodAffinity"}),
        ("PodToleratesNodeTaints", {"TaintToleration"}),
        ("CheckNodeUnschedulable", {"NodeUnschedulable"}),
        ("EvenPodsSpread", {"PodTopologySpread"}),
        ("CheckNodeMemoryPressure", set()),
        ("PodFitsPorts", set()),
    ],
)
def test_predicates(name: str, plugins: set[str]) -> None:
    """The plugins that are enabled for one, beside those that always are. 1.16 never runs PodFitsPorts."""
    found = translated(policy(predicates=predicates(name), priorities=[]), "1.36")
    assert set(enabled(found, "multiPoint")) == ALWAYS | plugins
    assert disabled(found, "multiPoint") == {"*"}


@pytest.mark.parametrize(("to", "text"), [("1.36", "release 1.15 never runs a predicate"), ("1.20", "as 1.15 did")])
def test_notes_name_the_release_that_reads_the_policy(to: str, text: str) -> None:
    """Whichever of the older ones that is."""
    document = policy(predicates=predicates("PodFitsPorts"), priorities=[ratio("Fill", 1, (0, 0), (100, 10))])
    assert any(text in note.text for note in translated(document, to, "1.15").notes)


def test_a_plugin_that_only_filters_does_not_score() -> None:
    """And one that only scores does not filter."""
    found = translated(
        policy(predicates=predicates("MatchNodeSelector"), priorities=priorities(LeastRequestedPriority=3)), "1.36"
    )
    assert disabled(found, "score") == disabled(found, "preScore") == {"NodeAffinity", "TaintToleration"}
    assert disabled(found, "filter") == disabled(found, "preFilter") == {"NodeResourcesFit"}
    assert enabled(found, "multiPoint")["NodeResourcesFit"] == 3


@pytest.mark.parametrize(
    ("name", "plugin", "kind"),
    [
        ("BalancedResourceAllocation", "NodeResourcesBalancedAllocation", "approximate"),
        ("ImageLocalityPriority", "ImageLocality", "approximate"),
        ("InterPodAffinityPriority", "InterPodAffinity", "approximate"),
        ("TaintTolerationPriority", "TaintToleration", None),
        ("NodeAffinityPriority", "NodeAffinity", None),
        ("SelectorSpreadPriority", "PodTopologySpread", "approximate"),
        ("ServiceSpreadingPriority", "PodTopologySpread", "approximate"),
        ("EvenPodsSpreadPriority", "PodTopologySpread", "check"),
        ("LeastRequestedPriority", "NodeResourcesFit", None),
        ("MostRequestedPriority", "NodeResourcesFit", "approximate"),
        ("RequestedToCapacityRatioPriority", "NodeResourcesFit", "approximate"),
        ("NodePreferAvoidPodsPriority", None, "lost"),
        ("ResourceLimitsPriority", None, "lost"),
        ("EqualPriority", None, "exact"),
    ],
)
def test_priorities(name: str, plugin: str | None, kind: str | None) -> None:
    """The plugin with the weight, and what the notes say of it."""
    found = translated(only(priorities(**{name: 7})), "1.36")
    scoring = {key: weight for key, weight in enabled(found, "multiPoint").items() if weight == 7}
    assert set(scoring) == ({plugin} if plugin else set())
    kinds = about(found, f"priorities[0] {name}")
    assert kind in kinds if kind else not kinds


@pytest.mark.parametrize(
    ("name", "spread"),
    [("SelectorSpreadPriority", {"defaultingType": "System"}), ("EvenPodsSpreadPriority", {"defaultingType": "List"})],
)
def test_spreading(name: str, spread: dict[str, Any]) -> None:
    """System defaults for pods of services, an empty list where only pods' own constraints count."""
    assert args(translated(only(priorities(**{name: 1})), "1.36"), "PodTopologySpread") == spread


def test_service_anti_affinity_becomes_a_default_constraint() -> None:
    """A label counts once; beside SelectorSpreadPriority the system defaults are written out with it."""
    entries = [anti_affinity("AA", 2, "rack"), anti_affinity("BB", 3, "rack"), anti_affinity("CC", 1, "row")]
    found = translated(only(entries), "1.36")
    keys = [constraint["topologyKey"] for constraint in args(found, "PodTopologySpread")["defaultConstraints"]]
    assert (keys, enabled(found, "multiPoint")["PodTopologySpread"]) == (["rack", "row"], 6)
    beside = translated(only([*entries[:1], *priorities(SelectorSpreadPriority=4)]), "1.36")
    spread = args(beside, "PodTopologySpread")
    constraints = [(each["topologyKey"], each["maxSkew"]) for each in spread["defaultConstraints"]]
    assert spread["defaultingType"] == "List"
    assert constraints == [("kubernetes.io/hostname", 3), ("topology.kubernetes.io/zone", 5), ("rack", 1)]
    assert ("approximate", "priorities[0] AA") in told(beside)


def test_labels_become_added_affinity() -> None:
    """Presence as one required term with all labels, preferences as terms with the weights of the policy."""
    found = translated(
        policy(
            predicates=[label_presence("CheckNodeLabelPresence", "retiring", presence=False)],
            priorities=[label_preference("Disk", 4, "ssd"), *priorities(NodeAffinityPriority=2)],
        ),
        "1.36",
    )
    assert enabled(found, "multiPoint")["NodeAffinity"] == 6
    assert args(found, "NodeAffinity")["addedAffinity"] == {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "retiring", "operator": "DoesNotExist"}]}]
        },
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 4, "preference": {"matchExpressions": [{"key": "ssd", "operator": "Exists"}]}}
        ],
    }


def test_weights_of_preferences_are_at_most_100() -> None:
    """In about the ratio they had."""
    found = translated(only([label_preference("AA", 1000, "a"), label_preference("BB", 100, "b")]), "1.36")
    terms = args(found, "NodeAffinity")["addedAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert [term["weight"] for term in terms] == [100, 10]


def test_service_affinity_is_lost() -> None:
    """With advice."""
    entry = {"name": "CheckServiceAffinity", "argument": {"serviceAffinity": {"labels": ["region"]}}}
    found = translated(policy(predicates=[entry], priorities=[]), "1.36")
    lost = next(note for note in found.notes if note.kind.value == "lost")
    assert (lost.path, "podAffinity" in lost.advice) == ("predicates[0] CheckServiceAffinity", True)
    assert set(enabled(found, "multiPoint")) == ALWAYS


@pytest.mark.parametrize(("said", "weight"), [({"hardPodAffinitySymmetricWeight": 10}, 10), ({}, 1)])
def test_the_hard_weight(said: dict[str, int], weight: int) -> None:
    """As an arg of InterPodAffinity, where that scores."""
    document = {**only(priorities(InterPodAffinityPriority=1)), **said}
    assert args(translated(document, "1.36"), "InterPodAffinity") == {"hardPodAffinityWeight": weight}
    without = translated({**only([]), **said}, "1.36")
    assert args(without, "InterPodAffinity") is None


def test_extenders() -> None:
    """Weights as they are, nanoseconds as a duration, base64 as it was; what is managed needs args of the fit."""
    extender = {
        "urlPrefix": "https://e/",
        "filterVerb": "f",
        "prioritizeVerb": "p",
        "weight": 5,
        "enableHttps": True,
        "httpTimeout": 1_500_000_000,
        "tlsConfig": {"caData": "YWJj"},
        "managedResources": [{"name": "example.com/x", "ignoredByScheduler": True}],
        "ignorable": True,
    }
    found = translated({**only([]), "extenders": [extender]}, "1.36")
    assert found.plain()["extenders"] == [
        {
            "urlPrefix": "https://e/",
            "filterVerb": "f",
            "prioritizeVerb": "p",
            "weight": 5,
            "enableHTTPS": True,
            "tlsConfig": {"caData": "YWJj"},
            "httpTimeout": "1.5s",
            "managedResources": [{"name": "example.com/x", "ignoredByScheduler": True}],
            "ignorable": True,
        }
    ]
    assert args(found, "NodeResourcesFit") == {"ignoredResources": []}
    assert ("approximate", "extenders[0] https://e/") in told(found)


def test_an_extender_of_1_4_without_weight() -> None:
    """Its scores counted nothing, and 1.36 refuses weight 0."""
    extender = {"urlPrefix": "http://e", "prioritizeVerb": "p", "weight": 0}
    found = translated({**only([]), "extenders": [extender]}, "1.36", "1.4")
    assert found.plain()["extenders"] == [{"urlPrefix": "http://e"}]


def test_nothing_inexact() -> None:
    """A policy of predicates that 1.36 has."""
    found = translated(policy(predicates=predicates("GeneralPredicates"), priorities=[]), "1.36")
    assert found.exact
    assert not translated({**only([]), "alwaysCheckAllPredicates": True}, "1.36").exact


def test_weights_of_64_bits() -> None:
    """They are divided so that the largest fits 32 bits."""
    entries = priorities(TaintTolerationPriority=2**40, NodeAffinityPriority=2**39)
    weights = enabled(translated(only(entries), "1.36"), "multiPoint")
    assert weights["TaintToleration"] == 2**31 - 1
    assert weights["NodeAffinity"] == (2**31 - 1) // 2


def test_a_label_that_1_36_does_not_take() -> None:
    """No document is written that it refuses."""
    with pytest.raises(ConfigError, match=r"policy\.json: release 1.36 does not take what this becomes: profiles"):
        translated(only([label_preference("AA", 1, "not a label!")]), "1.36")


def test_every_line_has_an_origin() -> None:
    """Weights say their priority, what the policy does not say that it is a default or always there."""
    found = translated(policy(priorities=[ratio("Fill", 3, (0, 0), (100, 10))]), "1.36")
    fit = next(
        said
        for said in found.document.value["profiles"][0]["plugins"]["multiPoint"]["enabled"]
        if said.value["name"] == "NodeResourcesFit"
    )
    assert fit.origin == "default of 1.16: GeneralPredicates"
    assert fit.value["weight"].origin == "from priorities[0] Fill (weight 3)"
