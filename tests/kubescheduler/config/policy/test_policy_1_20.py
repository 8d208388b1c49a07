"""Policies of release 1.20: what is read, and what cannot be, in which words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.errors import ConfigError
from kubescheduler.config.policy.policy_1_20 import parse_policy_1_20
from kubescheduler.extender.config import ExtenderConfig, ManagedResource
from tests.support.configuring.policies_1_20 import GATES, POLICY, error, named, policy_config, problems


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (
            {**POLICY, "PREDICATES": []},
            "v1.Policy.ReadObject: found unknown field: PREDICATES, error found in #10 byte of "
            '...|REDICATES":[],"apiVe|..., bigger context ...|{"PREDICATES":[],"apiVersion":"v1","kind":"Policy"}|...',
        ),
        (
            named("predicates", "A", Argument=None),
            "v1.Policy.Predicates: []v1.PredicatePolicy: v1.PredicatePolicy.ReadObject: found unknown field: Argument, "
            'error found in #10 byte of ...|"Argument":null,"nam|..., bigger context '
            '...|on":"v1","kind":"Policy","predicates":[{"Argument":null,"name":"A"}]}|...',
        ),
        (
            named("priorities", "A", argument={"serviceAntiAffinity": {"labels": ["<x>"]}}),
            "v1.Policy.Priorities: []v1.PriorityPolicy: v1.PriorityPolicy.Argument: "
            "v1.PriorityArgument.ServiceAntiAffinity: v1.ServiceAntiAffinity.ReadObject: found unknown field: labels, "
            'error found in #10 byte of ...|:{"labels":["\\u003cx|..., bigger context '
            '...|ies":[{"argument":{"serviceAntiAffinity":{"labels":["\\u003cx\\u003e"]}},"name":"A"}]}|...',
        ),
        (
            {"predicates": [], "kind": "Policy"},
            "config.Policy.ReadObject: found unknown field: predicates, error found in #10 byte of "
            '...|redicates":[]}|..., bigger context ...|{"kind":"Policy","predicates":[]}|...',
        ),
        (
            {"apiversion": "v1", "kind": "Policy"},
            "v1.Policy.ReadObject: found unknown field: apiversion, error found in #10 byte of "
            '...|piversion":"v1","kin|..., bigger context ...|{"apiversion":"v1","kind":"Policy"}|...',
        ),
    ],
    ids=["capitals", "in-a-list", "nested", "no-version", "version-in-another-case"],
)
def test_unknown_keys_are_refused(document: dict[str, Any], reason: str) -> None:
    """The text repeats the document and says where the decoder stood in it, its keys sorted."""
    written = json.dumps(document, separators=(",", ":"))
    assert error(document) == f"invalid policy: strict decoder error for {written}: {reason}"
    assert error(document, text="as: written").startswith("invalid policy: strict decoder error for as: written: ")


def test_extenders_are_read_leniently() -> None:
    """Their keys match in any case and unknown ones are passed over; the timeout is in nanoseconds."""
    extender = {
        "URLPREFIX": "http://x",
        "FilterVerb": "f",
        "httptimeout": 2_500_000_000,
        "colour": "red",
        "ManagedResources": [{"NAME": "a.com/x", "IgnoredByScheduler": True, "more": 1}],
        "tlsconfig": {"Insecure": True},
    }
    policy = parse_policy_1_20({**POLICY, "extenders": [extender]}, strict=False)
    (read,) = policy.extenders
    assert (read.url_prefix, read.filter_verb, read.http_timeout_ns) == ("http://x", "f", 2_500_000_000)
    assert (read.managed_resources, read.tls.insecure) == ((ManagedResource("a.com/x", True),), True)


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
        (
            {"kind": "Policies", "apiVersion": "v1"},
            'no kind "Policies" is registered for version "v1" in scheme '
            '"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme/scheme.go:30"',
        ),
        (
            {"kind": "X"},
            'no kind "X" is registered for the internal version of group "" in scheme '
            '"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme/scheme.go:30"',
        ),
        ({**POLICY, "apiVersion": "a/b/c"}, "unexpected GroupVersion string: a/b/c"),
        ({"kind": 1}, "couldn't get version/kind; json parse error: kind is not a string"),
        (
            {**POLICY, "hardPodAffinitySymmetricWeight": 2**31},
            "hardPodAffinitySymmetricWeight: expected a 32-bit integer, found the number 2147483648",
        ),
    ],
    ids=["kind", "kind-without-version", "version", "no-text", "32-bits"],
)
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
