"""Policies of release 1.20: what is read, what cannot be and what is refused all the same, in which words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.errors import ConfigError
from kubescheduler.config.policy_1_20 import parse_policy_1_20
from kubescheduler.extender.config import ExtenderConfig
from tests.support.configuring.policies_1_20 import (
    ANTI_AFFINITY,
    FROM_POLICY,
    GATES,
    LABELS,
    POLICY,
    PREFERENCE,
    RATIO,
    error,
    named,
    notes,
    policy_config,
    problems,
)


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({**POLICY, "PREDICATES": []},
         "v1.Policy.ReadObject: found unknown field: PREDICATES, error found in #10 byte of "
         '...|REDICATES":[],"apiVe|..., bigger context ...|{"PREDICATES":[],"apiVersion":"v1","kind":"Policy"}|...'),
        (named("predicates", "A", Argument=None),
         "v1.Policy.Predicates: []v1.PredicatePolicy: v1.PredicatePolicy.ReadObject: found unknown field: Argument, "
         'error found in #10 byte of ...|"Argument":null,"nam|..., bigger context '
         '...|on":"v1","kind":"Policy","predicates":[{"Argument":null,"name":"A"}]}|...'),
        (named("priorities", "A", argument={"serviceAntiAffinity": {"labels": ["<x>"]}}),
         "v1.Policy.Priorities: []v1.PriorityPolicy: v1.PriorityPolicy.Argument: "
         "v1.PriorityArgument.ServiceAntiAffinity: v1.ServiceAntiAffinity.ReadObject: found unknown field: labels, "
         'error found in #10 byte of ...|:{"labels":["\\u003cx|..., bigger context '
         '...|ies":[{"argument":{"serviceAntiAffinity":{"labels":["\\u003cx\\u003e"]}},"name":"A"}]}|...'),
        ({"predicates": [], "kind": "Policy"},
         "config.Policy.ReadObject: found unknown field: predicates, error found in #10 byte of "
         '...|redicates":[]}|..., bigger context ...|{"kind":"Policy","predicates":[]}|...'),
        ({"apiversion": "v1", "kind": "Policy"},
         "v1.Policy.ReadObject: found unknown field: apiversion, error found in #10 byte of "
         '...|piversion":"v1","kin|..., bigger context ...|{"apiversion":"v1","kind":"Policy"}|...'),
    ],
    ids=["capitals", "in-a-list", "nested", "no-version", "version-in-another-case"],
)  # fmt: skip
def test_unknown_keys_are_refused(document: dict[str, Any], reason: str) -> None:
    """The text repeats the document and says where the decoder stood in it, its keys sorted."""
    written = json.dumps(document, separators=(",", ":"))
    assert error(document) == f"invalid policy: strict decoder error for {written}: {reason}"


def test_wrong_types_in_extenders() -> None:
    """The text is that of the decoders, to the byte."""
    document = {
        **POLICY,
        "extenders": [
            {"urlPrefix": "http://127.0.0.1:28900/thirds", "filterVerb": "filter", "enableHttps": False},
            {"urlPrefix": "http://x", "nodeCacheCapable": True, "ignorable": True, "httpTimeout": "5s"},
        ],
    }
    assert error(document) == (
        "invalid policy: v1.Policy.Extenders: []v1.LegacyExtender: unmarshalerDecoder: json: cannot unmarshal string "
        "into Go struct field LegacyExtender.httpTimeout of type time.Duration, error found in #10 byte of "
        '...|out":"5s"}]}|..., bigger context ...|Capable":true,"ignorable":true,"httpTimeout":"5s"}]}|...'
    )


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"kind": "Policies", "apiVersion": "v1"}, 'no kind "Policies" is registered for version "v1" in scheme '
         '"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme/scheme.go:30"'),
        ({"kind": "X"}, 'no kind "X" is registered for the internal version of group "" in scheme '
         '"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme/scheme.go:30"'),
        ({**POLICY, "apiVersion": "a/b/c"}, "unexpected GroupVersion string: a/b/c"),
        ({"kind": 1}, "couldn't get version/kind; json parse error: kind is not a string"),
        ({**POLICY, "hardPodAffinitySymmetricWeight": 2**31},
         "hardPodAffinitySymmetricWeight: expected a 32-bit integer, found the number 2147483648"),
    ],
    ids=["kind", "kind-without-version", "version", "no-text", "32-bits"],
)  # fmt: skip
def test_documents_that_cannot_be_read(document: dict[str, Any], text: str) -> None:
    """What is no policy is refused."""
    assert error(document) == f"invalid policy: {text}"


def test_null_lists_are_absent() -> None:
    """Empty ones are not."""
    assert parse_policy_1_20({**POLICY, "predicates": None}, strict=True).predicates is None
    assert parse_policy_1_20({**POLICY, "predicates": []}, strict=True).predicates == ()


def test_every_fault_of_a_document() -> None:
    """With paths and suggestions; unknown keys of extenders are none."""
    document = {
        **POLICY,
        "predicate": [],
        "priorities": [{"name": 1, "weight": "2"}],
        "extenders": [{"urlPrefix": "http://x", "filterverb": "f", "colour": 1}],
    }
    assert problems(document) == [
        "priorities[0].name: expected a string, found the number 1; put it in quotes",
        'priorities[0].weight: expected an integer, found the string "2"; write 2 without quotes',
        "predicate: unknown key; did you mean predicates?",
    ]


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"kind": "Policy", "predicates": []}, "apiVersion: it is missing,"),
        ({"kind": "ConfigMap", "apiVersion": "v1"}, "give the file as --policy-configmap"),
        ({"kind": "KubeSchedulerConfiguration", "apiVersion": "kubescheduler.config.k8s.io/v1beta1"}, "as --config"),
        ({"kind": "Pod", "apiVersion": "v1"}, "a policy begins with kind: Policy and apiVersion: v1"),
    ],
    ids=["no-version", "configmap", "configuration", "pod"],
)
def test_what_to_give_instead(document: dict[str, Any], text: str) -> None:
    """A person is told what to write."""
    (problem,) = problems(document)
    assert text in problem


def test_policies_in_the_internal_form() -> None:
    """Without apiVersion, capitalised keys throughout and the timeout as a text."""
    document = {
        "kind": "Policy",
        "Predicates": [{"Name": "HostName"}],
        "Extenders": [{"URLPrefix": "http://x", "HTTPTimeout": "1m30s", "EnableHTTPS": True}],
        "HardPodAffinitySymmetricWeight": 3,
    }
    policy = parse_policy_1_20(document, strict=True)
    assert [entry.name for entry in policy.predicates or ()] == ["HostName"]
    assert policy.extenders == (ExtenderConfig("http://x", http_timeout_ns=90 * 10**9, enable_https=True),)
    assert policy.hard_pod_affinity_symmetric_weight == 3
    assert "config.Extender.ReadObject: found unknown field: urlPrefix" in error({"Extenders": [{"urlPrefix": ""}]})


KEYS = ["kind", "apiVersion", "predicates", "Predicates", "priorities", "extenders", "name", "weight", "argument"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["Policy", "v1", "HostName", "<é>"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*KEYS, "labelPreference"]), inner),
    max_leaves=15,
)


@given(st.dictionaries(st.sampled_from(KEYS[2:]), VALUES), st.booleans())
def test_any_document(document: dict[str, Any], versioned: bool) -> None:
    """No document breaks the reader, and a person is told of whatever the release refuses."""
    document = {**document, **(POLICY if versioned else {})}
    try:
        policy_config(document, GATES)
    except ConfigError:
        assert problems(document)


OVERFLOWN = "should have a positive weight applied to it or it has overflown"


def extender(**more: Any) -> dict[str, Any]:
    return {"urlPrefix": "http://x", **more}


@pytest.mark.parametrize(
    ("document", "texts"),
    [
        (named("priorities", "EqualPriority", weight=-3), [f"priority EqualPriority {OVERFLOWN}"]),
        (named("priorities", "A", weight=(2**63 - 1) // 10), [f"priority A {OVERFLOWN}"]),
        (named("priorities", "A", "A"), [f"priority A {OVERFLOWN}"]),
        (named("priorities", "A", "B", weight=1, argument=RATIO),
         ['priority "B" redeclares custom priority "RequestedToCapacityRatio", from: "A"']),
        ({**POLICY, "priorities": [{"name": "A", "weight": 1, "argument": PREFERENCE},
         {"name": "B", "weight": 2, "argument": PREFERENCE}, {"name": "C", "weight": 1, "argument": PREFERENCE},
         {"name": "D", "weight": 3, "argument": PREFERENCE}, {"name": "E", "weight": 1, "argument": ANTI_AFFINITY},
         {"name": "F", "weight": 2, "argument": ANTI_AFFINITY}]},
         ['LabelPreference  priority "B" has a different weight with "A"',
         'LabelPreference  priority "D" has a different weight with "C"',
         'ServiceAntiAffinity  priority "F" has a different weight with "E"']),
        (named("priorities", "A", weight=1, argument={}), ["no priority arguments set for priority A"]),
        ({**POLICY, "extenders": [extender(managedResources=[{"name": "A.com/x"}])]},
         ['extenders[0].managedResources[0].name: Invalid value: "A.com/x": prefix part a lowercase RFC 1123 '
         "subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with "
         "an alphanumeric character (e.g. 'example.com', regex used for validation is "
         r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"]),
        ({**POLICY, "hardPodAffinitySymmetricWeight": -1},
         ["hardPodAffinitySymmetricWeight: Invalid value: -1: not in valid range [0-100]"]),
        ({**POLICY, "hardPodAffinitySymmetricWeight": 101, "priorities": [{"name": "A"}]},
         [f"priority A {OVERFLOWN}", "hardPodAffinitySymmetricWeight: Invalid value: 101: not in valid range [0-100]"]),
    ],
    ids=[
        *("weight", "overflown", "told-once", "two-ratios", "different-weights", "no-argument"),
        *("wording-of-names", "hard-weight", "several"),
    ],
)  # fmt: skip
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
        (named("predicates", "HostName", argument={}),
         "Exactly 1 predicate argument is required, numArgs: 0, Predicate: HostName"),
        (named("predicates", "A", argument={**LABELS, "serviceAffinity": {"labels": []}}),
         "Exactly 1 predicate argument is required, numArgs: 2, Predicate: A"),
        (named("priorities", "RequestedToCapacityRatioPriority", weight=1),
         'Invalid configuration: Priority type not found for "RequestedToCapacityRatioPriority"'),
        (named("priorities", "A", weight=1, argument={**PREFERENCE, **ANTI_AFFINITY}),
         "Exactly 1 priority argument is required, numArgs: 2, Priority: A"),
        ({**named("priorities", "B", weight=1), **named("predicates", "HostName", "A")},
         'Invalid configuration: Predicate type not found for "A"'),
    ],
    ids=["predicate", "no-argument", "two-arguments", "priority", "two-priority-arguments", "predicates-first"],
)  # fmt: skip
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
