"""Policies of release 1.20: what can be read and is refused all the same, in which words."""

from __future__ import annotations

from typing import Any

import pytest

from kubescheduler.extender.config import ExtenderConfig
from tests.support.configuring.policies_1_20 import (
    ANTI_AFFINITY,
    FROM_POLICY,
    GATES,
    LABELS,
    POLICY,
    PREFERENCE,
    RATIO,
    checked_policy_config,
    error,
    named,
    notes,
    policy_config,
    problems,
)

OVERFLOWN = "should have a positive weight applied to it or it has overflown"
BINDERS = 'extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind'


def extender(**more: Any) -> dict[str, Any]:
    return {"urlPrefix": "http://x", **more}


@pytest.mark.parametrize(
    ("document", "texts"),
    [
        (named("priorities", "EqualPriority", weight=-3), [f"priority EqualPriority {OVERFLOWN}"]),
        (named("priorities", "A", weight=(2**63 - 1) // 10), [f"priority A {OVERFLOWN}"]),
        (named("priorities", "A", "A"), [f"priority A {OVERFLOWN}"]),
        (
            named("priorities", "A", "B", weight=1, argument=RATIO),
            ['priority "B" redeclares custom priority "RequestedToCapacityRatio", from: "A"'],
        ),
        (
            {
                **POLICY,
                "priorities": [
                    {"name": "A", "weight": 1, "argument": PREFERENCE},
                    {"name": "B", "weight": 2, "argument": PREFERENCE},
                    {"name": "C", "weight": 1, "argument": PREFERENCE},
                    {"name": "D", "weight": 3, "argument": PREFERENCE},
                    {"name": "E", "weight": 1, "argument": ANTI_AFFINITY},
                    {"name": "F", "weight": 2, "argument": ANTI_AFFINITY},
                ],
            },
            [
                'LabelPreference  priority "B" has a different weight with "A"',
                'LabelPreference  priority "D" has a different weight with "C"',
                'ServiceAntiAffinity  priority "F" has a different weight with "E"',
            ],
        ),
        (named("priorities", "A", weight=1, argument={}), ["no priority arguments set for priority A"]),
        (
            {**POLICY, "extenders": [extender(prioritizeVerb="p"), extender(prioritizeVerb="p", weight=-4)]},
            [
                "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it",
                "extenders[1].weight: Invalid value: -4: must have a positive weight applied to it",
            ],
        ),
        ({**POLICY, "extenders": [extender(bindVerb="b"), extender(bindVerb="b")]}, [BINDERS]),
        (
            {
                **POLICY,
                "extenders": [
                    extender(managedResources=[{"name": "a.com/x"}, {"name": "kubernetes.io/x"}, {"name": "a.com/"}]),
                    extender(managedResources=[{"name": "a.com/x"}]),
                ],
            },
            [
                'extenders[0].managedResources[1].name: Invalid value: "kubernetes.io/x": kubernetes.io/x is an '
                "invalid extended resource name",
                'extenders[0].managedResources[2].name: Invalid value: "a.com/": name part must be non-empty',
                'extenders[0].managedResources[2].name: Invalid value: "a.com/": name part must consist of',
                'extenders[1].managedResources[0].name: Invalid value: "a.com/x": duplicate extender managed resource',
            ],
        ),
        (
            {**POLICY, "extenders": [extender(managedResources=[{"name": "A.com/x"}])]},
            [
                'extenders[0].managedResources[0].name: Invalid value: "A.com/x": prefix part a lowercase RFC 1123 '
                "subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with "
                "an alphanumeric character (e.g. 'example.com', regex used for validation is "
                r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            ],
        ),
        (
            {**POLICY, "hardPodAffinitySymmetricWeight": -1},
            ["hardPodAffinitySymmetricWeight: Invalid value: -1: not in valid range [0-100]"],
        ),
        (
            {**POLICY, "hardPodAffinitySymmetricWeight": 101, "priorities": [{"name": "A"}]},
            [
                f"priority A {OVERFLOWN}",
                "hardPodAffinitySymmetricWeight: Invalid value: 101: not in valid range [0-100]",
            ],
        ),
    ],
    ids=[
        "weight",
        "overflown",
        "told-once",
        "two-ratios",
        "different-weights",
        "no-argument",
        "extender-weights",
        "binders",
        "managed-resources",
        "wording-of-names",
        "hard-weight",
        "several",
    ],
)
def test_validation(document: dict[str, Any], texts: list[str]) -> None:
    """Every message is told, in brackets unless there is but one."""
    text = error(document).removeprefix(FROM_POLICY)
    if len(texts) > 1:
        assert text.startswith("[")
        assert text.endswith("]")
        text = text[1:-1]
    at = [text.index(part) for part in texts]
    assert at == sorted(at)
    assert at[0] == 0
    if len(texts) == 1:
        assert text == texts[0]


@pytest.mark.parametrize(
    ("document", "text"),
    [
        (named("predicates", "NoSuch"), 'Invalid configuration: Predicate type not found for "NoSuch"'),
        (
            named("predicates", "HostName", argument={}),
            "Exactly 1 predicate argument is required, numArgs: 0, Predicate: HostName",
        ),
        (
            named("predicates", "A", argument={**LABELS, "serviceAffinity": {"labels": []}}),
            "Exactly 1 predicate argument is required, numArgs: 2, Predicate: A",
        ),
        (
            named("priorities", "RequestedToCapacityRatioPriority", weight=1),
            'Invalid configuration: Priority type not found for "RequestedToCapacityRatioPriority"',
        ),
        (
            named("priorities", "A", weight=1, argument={**PREFERENCE, **ANTI_AFFINITY}),
            "Exactly 1 priority argument is required, numArgs: 2, Priority: A",
        ),
        (
            {**named("priorities", "B", weight=1), **named("predicates", "HostName", "A")},
            'Invalid configuration: Predicate type not found for "A"',
        ),
    ],
    ids=["predicate", "no-argument", "two-arguments", "priority", "two-priority-arguments", "predicates-first"],
)
def test_what_ends_the_process(document: dict[str, Any], text: str) -> None:
    """The first entry that cannot be registered."""
    assert error(document) == f"fatal: {text}"


@pytest.mark.parametrize("name", ["NodeLabel", "ServiceAffinity"])
def test_names_that_crash_the_release(name: str) -> None:
    """A plugin's name instead of a priority's, without an entry that makes its args."""
    argument = {"NodeLabel": PREFERENCE, "ServiceAffinity": ANTI_AFFINITY}[name]
    alone = named("priorities", name, weight=1, argument=argument)
    assert error(alone) == "panic: runtime error: invalid memory address or nil pointer dereference"
    assert problems(alone)[0].startswith(f"priorities[0]: release 1.20 crashes on the name {name}")
    policy_config(named("priorities", name, "Other", weight=1, argument=argument), GATES)


def test_every_problem_of_a_policy() -> None:
    """All checks are made, and names suggested."""
    shape = [{"utilization": 50, "score": 11}, {"utilization": 50, "score": -1}, {"utilization": 101, "score": 0}]
    ratio = {"shape": shape, "resources": [{"name": "cpu"}]}
    document = {
        **POLICY,
        "predicates": [{"name": "PodFitsResource"}, {"name": "Mine", "argument": {}}],
        "priorities": [
            {"name": "LeastRequested", "weight": 0},
            {"name": "R", "weight": 1, "argument": {"requestedToCapacityRatioArguments": ratio}},
            {"name": "RequestedToCapacityRatio", "weight": 1},
        ],
        "extenders": [extender(prioritizeVerb="p")],
    }
    place = "priorities[1].argument.requestedToCapacityRatioArguments"
    assert problems(document) == [
        f"priorities[0].weight: priority LeastRequested {OVERFLOWN}",
        "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it",
        'predicates[0]: Invalid configuration: Predicate type not found for "PodFitsResource"; '
        "did you mean PodFitsResources?",
        "predicates[1]: Exactly 1 predicate argument is required, numArgs: 0, Predicate: Mine",
        'priorities[0]: Invalid configuration: Priority type not found for "LeastRequested"; '
        "did you mean LeastRequestedPriority?",
        f"{place}.shape[1].utilization: utilization values must be sorted: 50 >= 50",
        f"{place}.shape[0].score: 11 is not in the range 0-10",
        f"{place}.shape[1].score: -1 is not in the range 0-10",
        f"{place}.shape[2].utilization: 101 is not in the range 0-100",
        f"{place}.resources[0].weight: resource cpu weight 0 must not be less than 1",
        "priorities[2]: at least one point must be specified: the name RequestedToCapacityRatio passes over the "
        "argument; give the priority another name",
    ]


def test_labels_that_contradict() -> None:
    """A label cannot be wanted and unwanted; the release says so when it builds the plugin."""
    document = {
        **POLICY,
        "predicates": [
            {"name": "A", "argument": LABELS},
            {"name": "B", "argument": {"labelsPresence": {"labels": ["x"]}}},
        ],
    }
    assert problems(document) == [
        'predicates and priorities with labels: detecting at least one label (e.g., "x") that exist in both '
        "the present([x]) and absent([x]) label list"
    ]
    policy_config(document, GATES)


def test_notes() -> None:
    """What the release passes over in silence is told."""
    document = {
        **POLICY,
        "predicates": [{"name": "PodFitsPorts", "argument": LABELS}],
        "priorities": [
            {"name": "EqualPriority", "weight": 1},
            {"name": "ServiceSpreadingPriority", "weight": 1, "argument": PREFERENCE},
            {"name": "EvenPodsSpreadPriority", "weight": 1},
        ],
        "hardPodAffinitySymmetricWeight": 5,
    }
    told = notes(document)
    assert [note.partition(": ")[0] for note in told] == [
        "predicates[0]",
        "priorities[0]",
        "priorities[1]",
        "hardPodAffinitySymmetricWeight",
        "priorities",
    ]
    assert notes({**POLICY, "hardPodAffinitySymmetricWeight": 5}) == []


def test_both_ways_give_the_same() -> None:
    """A policy without fault means the same for a person and for a test."""
    document = {**POLICY, "predicates": [], "extenders": [extender(filterVerb="f", weight=1)]}
    one = policy_config(document, GATES, "mine")
    other = checked_policy_config(document, GATES, "mine", notice=lambda _: None)
    assert one.profiles[0].plugins == other.profiles[0].plugins
    assert one.profiles[0].scheduler_name == other.profiles[0].scheduler_name == "mine"
    assert one.extenders == other.extenders == (ExtenderConfig("http://x", "f", weight=1),)
    assert (one.release, len(one.profiles)) == ("1.20", 1)
