from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.config.policy.policy_1_16 import (
    LabelPreference,
    LabelsPresence,
    Policy,
    PredicateArgument,
    PredicatePolicy,
    PriorityArgument,
    PriorityPolicy,
    RequestedToCapacityRatio,
    ServiceAffinity,
    ServiceAntiAffinity,
    parse_policy,
)
from kubescheduler.config.policy.policy_checks_1_16 import (
    MAX_WEIGHT,
    aggregate,
    check_policy,
    hard_weight_error,
    policy_problems,
    predicate_error,
    priority_error,
    priority_weights,
    total_weight_error,
    validate_policy,
)
from kubescheduler.extender.config import ExtenderConfig, ManagedResource
from tests.support.references.recorded_vectors import vectors_dir

PREDICATES = frozenset({"GeneralPredicates", "HostName", "PodFitsResources", "NoDiskConflict"})
PRIORITIES = frozenset({"EqualPriority", "LeastRequestedPriority"})
DEFAULTS = {"LeastRequestedPriority": 1}
NO_WEIGHT = "should have a positive weight applied to it"


def extender(*resources: str, **keys: Any) -> ExtenderConfig:
    return ExtenderConfig("http://x", managed_resources=tuple(map(ManagedResource, resources)), **keys)


@pytest.mark.parametrize("weight", [0, -1, MAX_WEIGHT, 2**63 - 1])
def test_priority_weight_out_of_range(weight: int) -> None:
    """A weight that is not positive, or too big, has the release's message."""
    policy = Policy(
        priorities=(PriorityPolicy("A", weight), PriorityPolicy("B", 1), PriorityPolicy("C", MAX_WEIGHT - 1))
    )
    assert validate_policy(policy) == [f"Priority A {NO_WEIGHT} or it has overflown"]


@pytest.mark.parametrize(
    ("extenders", "messages"),
    [
        ((extender(weight=0), extender(weight=-1)), []),
        ((extender(prioritize_verb="p", weight=0),), [f"Priority for extender http://x {NO_WEIGHT}"]),
        ((extender(bind_verb="b"), extender()), []),
        ((extender(bind_verb="b"), extender(bind_verb="c")), ["Only one extender can implement bind, found 2"]),
        ((extender("a.b/c", "a.b/d"), extender("a.b/e")), []),
        ((extender("a.b/c"), extender("a.b/c")), ["Duplicate extender managed resource name a.b/c"]),
        (
            (extender("kubernetes.io/x", "kubernetes.io/x"),),
            [
                "kubernetes.io/x is an invalid extended resource name",
                "kubernetes.io/x is an invalid extended resource name",
                "Duplicate extender managed resource name kubernetes.io/x",
            ],
        ),
        ((extender("requests.a.b/c"),), ["requests.a.b/c is an invalid extended resource name"]),
        ((extender("/a"),), ["prefix part must be non-empty"]),
    ],
    ids=["no-verb", "weight", "one-binder", "binders", "fine", "twice", "native", "quota", "no-name"],
)
def test_extenders(extenders: tuple[ExtenderConfig, ...], messages: list[str]) -> None:
    """Each rule about extenders has the release's message."""
    assert validate_policy(Policy(extenders=extenders)) == messages


def test_aggregate() -> None:
    """One message stands alone, several in brackets, each once."""
    assert aggregate(["a"]) == "a"
    assert aggregate(["a", "a"]) == "a"
    assert aggregate(["a", "b", "a"]) == "[a, b]"


@pytest.mark.parametrize(
    ("entry", "error"),
    [
        (PredicatePolicy("HostName"), None),
        (PredicatePolicy("Nope"), "Invalid configuration: Predicate type not found for Nope"),
        (
            PredicatePolicy("HostName", PredicateArgument()),
            "Exactly 1 predicate argument is required, numArgs: 0, Predicate: HostName",
        ),
        (
            PredicatePolicy("X", PredicateArgument(ServiceAffinity(), LabelsPresence())),
            "Exactly 1 predicate argument is required, numArgs: 2, Predicate: X",
        ),
        (PredicatePolicy("Nope", PredicateArgument(ServiceAffinity())), None),
        (
            PredicatePolicy("x", PredicateArgument(ServiceAffinity())),
            'Algorithm name x does not match the name validation regexp "^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])$".',
        ),
    ],
    ids=["known", "unknown", "no-argument", "two-arguments", "custom", "short-name"],
)
def test_predicate_error(entry: PredicatePolicy, error: str | None) -> None:
    """A predicate entry that cannot be registered has the release's text."""
    assert predicate_error(entry, PREDICATES) == error


@pytest.mark.parametrize(
    ("entry", "error"),
    [
        (PriorityPolicy("EqualPriority", 1), None),
        (PriorityPolicy("Nope", 1), "Invalid configuration: Priority type not found for Nope"),
        (
            PriorityPolicy("Nope", 1, PriorityArgument()),
            "Exactly 1 priority argument is required, numArgs: 0, Priority: Nope",
        ),
        (
            PriorityPolicy("Nope", 1, PriorityArgument(ServiceAntiAffinity(), LabelPreference())),
            "Exactly 1 priority argument is required, numArgs: 2, Priority: Nope",
        ),
        (PriorityPolicy("Nope", 1, PriorityArgument(label_preference=LabelPreference("x"))), None),
        (
            PriorityPolicy("Nope", 1, PriorityArgument(requested_to_capacity_ratio=RequestedToCapacityRatio())),
            "invalid RequestedToCapacityRatioPriority arguments: at least one point must be specified",
        ),
    ],
    ids=["known", "unknown", "no-argument", "two-arguments", "custom", "shape"],
)
def test_priority_error(entry: PriorityPolicy, error: str | None) -> None:
    """A priority entry that cannot be registered has the release's text."""
    assert priority_error(entry, PRIORITIES) == error


@pytest.mark.parametrize(("weight", "fits"), [(-1, False), (0, False), (1, True), (100, True), (101, False)])
def test_hard_weight(weight: int, fits: bool) -> None:
    """The weight of required pod affinity lies between 1 and 100."""
    text = f"invalid hardPodAffinitySymmetricWeight: {weight}, must be in the range 1-100"
    assert hard_weight_error(weight) == (None if fits else text)


def test_total_weight() -> None:
    """The sum of the highest scores has to fit 64 bits."""
    most = MAX_WEIGHT - 1
    assert total_weight_error({"a": most, "b": 1}) is None
    assert total_weight_error({"a": most, "b": 2}) == "total priority of priority functions has overflown"


def test_priority_weights() -> None:
    """The last entry of a name counts; without a list the defaults do."""
    entries = (PriorityPolicy("a", 1), PriorityPolicy("b", 2), PriorityPolicy("a", 3))
    assert priority_weights(Policy(priorities=entries), DEFAULTS) == {"a": 3, "b": 2}
    assert priority_weights(Policy(priorities=()), DEFAULTS) == {}
    assert priority_weights(Policy(), DEFAULTS) == DEFAULTS


BAD = Policy(
    predicates=(
        PredicatePolicy("HostNam"),
        PredicatePolicy("Custom", PredicateArgument(ServiceAffinity())),
        PredicatePolicy("Custom"),
    ),
    priorities=(PriorityPolicy("EqualPriority", 0), PriorityPolicy("EqualPriorty", 1)),
    hard_pod_affinity_symmetric_weight=101,
)


@pytest.mark.parametrize(
    ("plugin", "hint"),
    [
        ("NodeResourcesMostAllocated", "; in a policy it is called MostRequestedPriority"),
        ("NodeResourcesBalancedAllocation", "; in a policy it is called BalancedResourceAllocation"),
        ("Packing", ""),
    ],
)
def test_a_plugin_s_name_in_a_policy(plugin: str, hint: str) -> None:
    """The priority that does what the plugin does comes before one whose name is like it, if it is known."""
    policy = Policy(priorities=(PriorityPolicy(plugin, 1),))
    known = {"LeastRequestedPriority", "MostRequestedPriority", "BalancedResourceAllocation"}
    problems = policy_problems(policy, PREDICATES, known, hard_weight=1, defaults=DEFAULTS)
    assert problems == [f"priorities[0]: Invalid configuration: Priority type not found for {plugin}{hint}"]


def check(policy: Policy, hard_weight: int = 1) -> str | None:
    try:
        check_policy(policy, PREDICATES, PRIORITIES, hard_weight=hard_weight, defaults=DEFAULTS)
    except ConfigError as error:
        return str(error)
    return None


def test_every_problem_with_its_path() -> None:
    """All checks are reported together, with paths and the nearest names."""
    assert policy_problems(BAD, PREDICATES, PRIORITIES, hard_weight=1, defaults=DEFAULTS) == [
        f"priorities[0].weight: Priority EqualPriority {NO_WEIGHT} or it has overflown",
        "predicates[0]: Invalid configuration: Predicate type not found for HostNam; did you mean HostName?",
        "priorities[1]: Invalid configuration: Priority type not found for EqualPriorty; did you mean EqualPriority?",
        "hardPodAffinitySymmetricWeight: invalid hardPodAffinitySymmetricWeight: 101, must be in the range 1-100",
    ]


def test_the_release_stops_at_its_first_check() -> None:
    """check_policy gives the text at which the release gives up, check by check."""
    prefix = "couldn't create scheduler from policy: "
    assert check(BAD) == f"{prefix}Priority EqualPriority {NO_WEIGHT} or it has overflown"
    assert check(Policy(predicates=BAD.predicates, hard_pod_affinity_symmetric_weight=101)) == (
        "Invalid configuration: Predicate type not found for HostNam"
    )
    range_text = "must be in the range 1-100"
    assert check(Policy(hard_pod_affinity_symmetric_weight=101)) == (
        f"{prefix}invalid hardPodAffinitySymmetricWeight: 101, {range_text}"
    )
    assert check(Policy(), hard_weight=0) == f"{prefix}invalid hardPodAffinitySymmetricWeight: 0, {range_text}"
    huge = tuple(PriorityPolicy(name, MAX_WEIGHT - 1) for name in ("EqualPriority", "LeastRequestedPriority"))
    assert check(Policy(priorities=huge)) == f"{prefix}total priority of priority functions has overflown"
    assert check(Policy()) is None


def recorded() -> Iterator[tuple[str, dict[str, Any], str | None]]:
    """(query, policy, the error recorded for it)."""
    for theme in ("policy", "extender"):
        with gzip.open(vectors_dir() / "1.16" / f"{theme}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                vector = json.loads(line)
                errors = {result["query"]: result["error"] for result in vector["results"]}
                for query in vector["scenario"]["queries"]:
                    if "policy" in query:
                        name = f"{vector['scenario']['id']} {query['id']}"
                        yield name, query["policy"], errors[query["id"]]


def test_recorded_policies() -> None:
    """Each recorded policy is refused with the recorded text, or passes if only scheduling failed or nothing did."""
    refused = 0
    for name, document, error in recorded():
        text = refusal(document)
        if text is None:
            assert not re.search("nvalid|couldn't create", error or ""), name
        else:
            assert text == error, name
            refused += 1
    assert refused > 20


def refusal(document: dict[str, Any]) -> str | None:
    """Why the release cannot use a policy, if every name but three is registered."""
    try:
        policy = parse_policy(document, strict=False)
        predicates = {entry.name for entry in policy.predicates or ()} - {"NoSuchPredicate", "CheckNodeMemoryPressure"}
        priorities = {entry.name for entry in policy.priorities or ()} - {"NoSuchPriority"}
        check_policy(policy, predicates, priorities, hard_weight=1, defaults=DEFAULTS)
    except ConfigError as error:
        return str(error)
    return None
