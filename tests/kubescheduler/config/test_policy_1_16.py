from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.errors import ConfigError
from kubescheduler.config.policy_1_16 import parse_policy, policy_faults
from kubescheduler.config.policy_model import (
    MAX_WEIGHT,
    LabelPreference,
    LabelsPresence,
    Policy,
    PredicateArgument,
    PredicatePolicy,
    PriorityArgument,
    PriorityPolicy,
    RequestedToCapacityRatio,
    ResourceWeight,
    ServiceAffinity,
    ServiceAntiAffinity,
    UtilizationPoint,
    give_up,
)
from kubescheduler.extender.config import ExtenderConfig, ManagedResource, TLSConfig

SCHEME = 'in scheme "k8s.io/kubernetes/pkg/scheduler/api/register.go:27"'


def v1(**keys: Any) -> dict[str, Any]:
    return {"kind": "Policy", "apiVersion": "v1", **keys}


def problems(document: dict[str, Any], *, strict: bool) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        parse_policy(document, strict=strict)
    return caught.value.problems


FULL = v1(
    predicates=[
        {"name": "GeneralPredicates"},
        {"name": "A1", "argument": {"serviceAffinity": {"labels": ["rack"]}}},
        {"name": "A2", "argument": {"labelsPresence": {"labels": ["retiring"], "presence": True}}},
        {"name": "A3", "argument": {}},
    ],
    priorities=[
        {"name": "EqualPriority", "weight": 2},
        {"name": "P1", "weight": 1, "argument": {"serviceAntiAffinity": {"label": "zone"}}},
        {"name": "P2", "weight": 1, "argument": {"labelPreference": {"label": "ssd", "presence": True}}},
        {
            "name": "P3",
            "weight": 1,
            "argument": {
                "requestedToCapacityRatioArguments": {
                    "shape": [{"utilization": 0, "score": 10}, {"utilization": 100}],
                    "resources": [{"name": "cpu", "weight": 3}, {"name": "example.com/gpu"}],
                }
            },
        },
    ],
    extenders=[
        {
            "urlPrefix": "http://x",
            "filterVerb": "f",
            "prioritizeVerb": "p",
            "preemptVerb": "e",
            "bindVerb": "b",
            "weight": 5,
            "enableHttps": True,
            "tlsConfig": {"insecure": True, "serverName": "s", "caFile": "ca.pem", "certData": "YWJj"},
            "httpTimeout": 100000000,
            "nodeCacheCapable": True,
            "managedResources": [{"name": "example.com/x", "ignoredByScheduler": True}],
            "ignorable": True,
        }
    ],
    hardPodAffinitySymmetricWeight=10,
    alwaysCheckAllPredicates=True,
)


def test_everything_is_read() -> None:
    """Each key of the schema arrives in its place, in strict mode too."""
    policy = parse_policy(FULL, strict=True)
    assert policy == parse_policy(FULL, strict=False)
    assert policy == Policy(
        predicates=(
            PredicatePolicy("GeneralPredicates"),
            PredicatePolicy("A1", PredicateArgument(service_affinity=ServiceAffinity(("rack",)))),
            PredicatePolicy("A2", PredicateArgument(labels_presence=LabelsPresence(("retiring",), True))),
            PredicatePolicy("A3", PredicateArgument()),
        ),
        priorities=(
            PriorityPolicy("EqualPriority", 2),
            PriorityPolicy("P1", 1, PriorityArgument(service_anti_affinity=ServiceAntiAffinity("zone"))),
            PriorityPolicy("P2", 1, PriorityArgument(label_preference=LabelPreference("ssd", True))),
            PriorityPolicy(
                "P3",
                1,
                PriorityArgument(
                    requested_to_capacity_ratio=RequestedToCapacityRatio(
                        (UtilizationPoint(0, 10), UtilizationPoint(100, 0)),
                        (ResourceWeight("cpu", 3), ResourceWeight("example.com/gpu", 0)),
                    )
                ),
            ),
        ),
        extenders=(
            ExtenderConfig(
                url_prefix="http://x",
                filter_verb="f",
                prioritize_verb="p",
                preempt_verb="e",
                bind_verb="b",
                weight=5,
                enable_https=True,
                tls=TLSConfig(insecure=True, server_name="s", ca_file="ca.pem", cert_data=b"abc"),
                http_timeout_ns=100_000_000,
                node_cache_capable=True,
                managed_resources=(ManagedResource("example.com/x", True),),
                ignorable=True,
            ),
        ),
        hard_pod_affinity_symmetric_weight=10,
        always_check_all_predicates=True,
    )
    assert policy.notes == ()


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (v1(), Policy()),
        ({"apiVersion": "v1"}, Policy()),
        (v1(predicates=None, priorities=None, extenders=None, alwaysCheckAllPredicates=None), Policy()),
        (v1(predicates=[], priorities=[]), Policy(predicates=(), priorities=())),
        (v1(predicates=[None, {"name": None}]), Policy(predicates=(PredicatePolicy(), PredicatePolicy()))),
        (v1(predicates=[{"name": "a", "argument": None}]), Policy(predicates=(PredicatePolicy("a"),))),
        (v1(Predicates=[{"name": "a"}], preds=1), Policy()),
        (v1(predicates=[{"Name": "a", "name": "b", "x": 1}]), Policy(predicates=(PredicatePolicy("b"),))),
        (v1(hardPodAffinitySymmetricWeight=2**32 + 5), Policy(hard_pod_affinity_symmetric_weight=5)),
        (v1(hardPodAffinitySymmetricWeight=2**31), Policy(hard_pod_affinity_symmetric_weight=-(2**31))),
    ],
    ids=[
        *("bare", "no-kind", "nulls", "empty-lists", "null-items", "null-argument", "case", "case-inside"),
        *("wrap", "sign"),
    ],
)
def test_absent_empty_and_unknown(document: dict[str, Any], expected: Policy) -> None:
    """Null is absent, an empty list stays, unknown and wrongly cased keys are ignored, the weight wraps."""
    assert parse_policy(document, strict=False) == expected


def test_extenders_in_any_case() -> None:
    """Inside an extender every key matches in any case, and the last of equal keys wins unless it is null."""
    extender = {
        "URLPREFIX": "a",
        "urlPrefix": "b",
        "Weight": 3,
        "weight": None,
        "TLSConfig": {"CAData": "YWJj", "Insecure": True},
        "ManagedResources": [{"Name": "n", "IgnoredByScheduler": True}],
    }
    expected = ExtenderConfig(
        "b", weight=3, tls=TLSConfig(insecure=True, ca_data=b"abc"), managed_resources=(ManagedResource("n", True),)
    )
    assert parse_policy(v1(extenders=[extender]), strict=True).extenders == (expected,)


def test_no_api_version_is_an_empty_policy() -> None:
    """Without apiVersion the usual keys are not read, and a note says so even in strict mode."""
    document = {"kind": "Policy", "predicates": [{"name": 5}], "alwaysCheckAllPredicates": True}
    for strict in (True, False):
        policy = parse_policy(document, strict=strict)
        assert policy == Policy()
        assert policy.notes == (
            "the policy has no apiVersion, and release 1.16 then reads only the keys Predicates, Priorities, …; "
            "ignored: predicates, alwaysCheckAllPredicates; add apiVersion: v1 to have them read",
        )
    assert parse_policy({}, strict=True) == Policy()


def test_internal_keys() -> None:
    """Without apiVersion the capitalised keys are read, and their case matters in extenders as well."""
    document = {
        "Predicates": [{"Name": "a", "Argument": {"LabelsPresence": {"Labels": ["x"], "Presence": True}}}],
        "Priorities": [
            {
                "Name": "p",
                "Weight": 2,
                "Argument": {
                    "RequestedToCapacityRatioArguments": {"UtilizationShape": [{"Utilization": 1, "Score": 2}]}
                },
            }
        ],
        "ExtenderConfigs": [{"URLPrefix": "u", "weight": 5, "HTTPTimeout": 7, "TLSConfig": {"CAFile": "c"}}],
        "HardPodAffinitySymmetricWeight": 3,
    }
    policy = parse_policy(document, strict=False)
    assert policy.predicates == (PredicatePolicy("a", PredicateArgument(None, LabelsPresence(("x",), True))),)
    ratio = RequestedToCapacityRatio((UtilizationPoint(1, 2),))
    assert policy.priorities == (PriorityPolicy("p", 2, PriorityArgument(requested_to_capacity_ratio=ratio)),)
    assert policy.extenders == (ExtenderConfig("u", http_timeout_ns=7, tls=TLSConfig(ca_file="c")),)
    assert policy.hard_pod_affinity_symmetric_weight == 3
    document["HardPodAffinitySymmetricWeight"] = 2**31
    text = "HardPodAffinitySymmetricWeight: expected a 32-bit integer, found the number 2147483648"
    assert text in problems(document, strict=True)


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"kind": "Foo", "apiVersion": "v1"}, f'no kind "Foo" is registered for version "v1" {SCHEME}'),
        ({"kind": "Policy", "apiVersion": "v2"}, f'no kind "Policy" is registered for version "v2" {SCHEME}'),
        ({"KIND": "Foo", "APIversion": "v1"}, f'no kind "Foo" is registered for version "v1" {SCHEME}'),
        ({"kind": "Foo"}, f'no kind "Foo" is registered for the internal version of group "" {SCHEME}'),
        ({"apiVersion": "a/b/c"}, "unexpected GroupVersion string: a/b/c"),
        ({"kind": 1}, "couldn't get version/kind; json parse error: kind is not a string"),
    ],
    ids=["kind", "version", "any-case", "internal", "group", "type"],
)
def test_wrong_kind_or_version(document: dict[str, Any], text: str) -> None:
    """A document of another kind is refused in the release's words."""
    assert problems(document, strict=False) == (f"invalid policy: {text}",)
    assert problems(document, strict=True) == (f"kind: {text}; a policy begins with kind: Policy and apiVersion: v1",)


@pytest.mark.parametrize(
    ("kind", "option"), [("ConfigMap", "--policy-configmap"), ("KubeSchedulerConfiguration", "--config")]
)
def test_another_document_is_recognised(kind: str, option: str) -> None:
    """One that is given as a policy file gets a hint at its own option."""
    (problem,) = problems({"kind": kind, "apiVersion": "v1"}, strict=True)
    assert problem.endswith(f"this is a {kind}: give the file as {option}")


def test_every_fault_at_once() -> None:
    """Strict mode lists every fault with its path, and what to write instead."""
    document = v1(
        predicates=[{"name": 5, "argment": {}}, "x"],
        priorities={"name": "a"},
        extenders=[{"weight": "3", "httpTimeout": "1.5s", "tlsConfig": {"caData": "?"}, "urlPrefx": ""}],
        hardPodAffinitySymmetricWeight=1.5,
        alwaysCheckAllPredicates="true",
        Predicates=[],
        zzz=1,
    )
    assert problems(document, strict=True) == (
        "predicates[0].name: expected a string, found the number 5; put it in quotes",
        'predicates[1]: expected an object, found the string "x"',
        "priorities: expected a list, found an object",
        'extenders[0].weight: expected an integer, found the string "3"; write 3 without quotes',
        'extenders[0].httpTimeout: expected an integer number of nanoseconds, found the string "1.5s"; '
        "write 1500000000",
        "extenders[0].tlsConfig.caData: this is no base64: Only base64 data is allowed",
        "hardPodAffinitySymmetricWeight: expected an integer, found the number 1.5",
        'alwaysCheckAllPredicates: expected true or false, found the string "true"; write true without quotes',
        "predicates[0].argment: unknown key; did you mean argument?",
        "extenders[0].urlPrefx: unknown key; did you mean urlPrefix?",
        "Predicates: unknown key; did you mean predicates?",
        "zzz: unknown key; known are predicates, priorities, extenders, hardPodAffinitySymmetricWeight, "
        "alwaysCheckAllPredicates",
    )


def test_first_fault_only_when_not_strict() -> None:
    """Without strict the first fault in the document is told, after the release's words."""
    document = v1(priorities=[{"name": "a", "weight": True}], predicates=1)
    assert problems(document, strict=False) == (
        "invalid policy: priorities[0].weight: expected an integer, found true",
    )


@pytest.mark.parametrize(
    ("extender", "text"),
    [
        ({"httpTimeout": "5s"}, "string into Go struct field ExtenderConfig.httpTimeout of type time.Duration"),
        ({"weight": 1.5}, "number 1.5 into Go struct field ExtenderConfig.weight of type int"),
        ({"filterVerb": 3}, "number into Go struct field ExtenderConfig.filterVerb of type string"),
        ({"ignorable": []}, "array into Go struct field ExtenderConfig.ignorable of type bool"),
        ({"tlsConfig": ""}, "string into Go struct field ExtenderConfig.tlsConfig of type v1.ExtenderTLSConfig"),
        (
            {"managedResources": [{"Name": True}]},
            "bool into Go struct field ExtenderManagedResource.managedResources.name of type string",
        ),
        (7, "number into Go value of type v1.ExtenderConfig"),
    ],
)
def test_extender_faults_in_the_decoders_words(extender: Any, text: str) -> None:
    """A wrong type inside an extender is told as Go's decoder tells it."""
    (problem,) = problems(v1(extenders=[extender]), strict=False)
    start = (
        "invalid policy: v1.Policy.ExtenderConfigs: []v1.ExtenderConfig: unmarshalerDecoder: json: cannot unmarshal "
    )
    assert problem.startswith(f"{start}{text}, error found in #10 byte of ...|")


def test_extender_fault_shows_the_text_around() -> None:
    """The decoder shows 10 and 50 bytes on both sides of the place after the faulty extender."""
    document = v1(
        extenders=[{"urlPrefix": "a"}, {"urlPrefix": "b", "httpTimeout": "5s"}], alwaysCheckAllPredicates=True
    )
    (problem,) = problems(document, strict=False)
    assert problem.endswith(
        'error found in #10 byte of ...|out":"5s"}],"alwaysC|..., bigger context '
        '...|lPrefix":"a"},{"urlPrefix":"b","httpTimeout":"5s"}],"alwaysCheckAllPredicates":true}|...'
    )


@pytest.mark.parametrize(
    ("resources", "weights"),
    [
        ((), (("cpu", 1), ("memory", 1))),
        ((ResourceWeight("cpu", 0), ResourceWeight("memory", -2)), (("cpu", 1), ("memory", -2))),
        (
            (ResourceWeight("cpu", 3), ResourceWeight("memory", 2), ResourceWeight("cpu", 0)),
            (("cpu", 1), ("memory", 2)),
        ),
    ],
    ids=["default", "zero", "twice"],
)
def test_resource_weights(resources: tuple[ResourceWeight, ...], weights: tuple[tuple[str, int], ...]) -> None:
    """No resource means cpu and memory, weight 0 means 1, the last of a name counts."""
    assert RequestedToCapacityRatio((), resources).resource_weights() == weights


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "weight", "argument", "labels", "tlsConfig", "x"]), inner)
    ),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("kind", "apiVersion", "predicates", "priorities", "extenders", "Predicates"), JSON)
    )
)
def test_any_document_is_a_policy_or_a_fault(document: dict[str, Any]) -> None:
    """Any document is decoded or refused; what strict mode takes, the other takes alike."""
    strict, lenient = decoded(document, strict=True), decoded(document, strict=False)
    if isinstance(strict, Policy):
        assert lenient == strict
    assert isinstance(lenient, Policy) or len(lenient) == 1


def decoded(document: dict[str, Any], *, strict: bool) -> Policy | tuple[str, ...]:
    try:
        return parse_policy(document, strict=strict)
    except ConfigError as error:
        return error.problems


PREDICATES = frozenset({"GeneralPredicates", "HostName", "PodFitsResources", "NoDiskConflict"})
PRIORITIES = frozenset({"EqualPriority", "LeastRequestedPriority"})
DEFAULTS = {"LeastRequestedPriority": 1}
NO_WEIGHT = "should have a positive weight applied to it"


def problems_of(
    policy: Policy, priorities: Iterable[str] = PRIORITIES, defaults: Mapping[str, int] = DEFAULTS
) -> list[str]:
    faults = policy_faults(policy, PREDICATES, {*priorities}, hard_weight=1, defaults=defaults)
    return [fault.problem for fault in faults]


def extender(*resources: str, **keys: Any) -> ExtenderConfig:
    return ExtenderConfig("http://x", managed_resources=tuple(map(ManagedResource, resources)), **keys)


@pytest.mark.parametrize("weight", [0, -1, MAX_WEIGHT, 2**63 - 1])
def test_priority_weight_out_of_range(weight: int) -> None:
    """A weight that is not positive, or too big, has the release's message."""
    policy = Policy(
        priorities=(PriorityPolicy("A", weight), PriorityPolicy("B", 1), PriorityPolicy("C", MAX_WEIGHT - 1))
    )
    problems = problems_of(policy, priorities="ABC")
    assert problems == [f"priorities[0].weight: Priority A {NO_WEIGHT} or it has overflown"]


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
    assert [problem.partition(": ")[2] for problem in problems_of(Policy(extenders=extenders))] == messages


ONE = PredicateArgument(ServiceAffinity())
ENTRIES: dict[str, tuple[PredicatePolicy | PriorityPolicy, str | None]] = {
    "predicate": (PredicatePolicy("Nope"), "Invalid configuration: Predicate type not found for Nope"),
    "custom predicate": (PredicatePolicy("Nope", ONE), None),
    "no argument": (PredicatePolicy("HostName", PredicateArgument()),
        "Exactly 1 predicate argument is required, numArgs: 0"),
    "two arguments": (PredicatePolicy("X", PredicateArgument(ServiceAffinity(), LabelsPresence())),
        "Exactly 1 predicate argument is required, numArgs: 2, Predicate: X"),
    "short name": (PredicatePolicy("x", ONE),
        'Algorithm name x does not match the name validation regexp "^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])$".'),
    "priority": (PriorityPolicy("Nope", 1), "Invalid configuration: Priority type not found for Nope"),
    "custom priority": (PriorityPolicy("Nope", 1, PriorityArgument(label_preference=LabelPreference("x"))), None),
    "two priority arguments": (PriorityPolicy("Nope", 1, PriorityArgument(ServiceAntiAffinity(), LabelPreference())),
        "Exactly 1 priority argument is required, numArgs: 2, Priority: Nope"),
    "shape": (PriorityPolicy("Nope", 1, PriorityArgument(requested_to_capacity_ratio=RequestedToCapacityRatio())),
        "invalid RequestedToCapacityRatioPriority arguments: at least one point must be specified"),
}  # fmt: skip


@pytest.mark.parametrize(("entry", "error"), ENTRIES.values(), ids=ENTRIES)
def test_entries(entry: PredicatePolicy | PriorityPolicy, error: str | None) -> None:
    """An entry that cannot be registered has the release's text."""
    policy = Policy((entry,)) if isinstance(entry, PredicatePolicy) else Policy(priorities=(entry,))
    found = check(policy)
    assert found is None if error is None else (found or "").startswith(error)


def test_the_weights_that_are_added_up() -> None:
    """The last entry of a name counts; without a list the defaults do."""
    most, overflow = MAX_WEIGHT - 1, ["priorities: total priority of priority functions has overflown"]
    entries = (PriorityPolicy("a", most), PriorityPolicy("b", most), PriorityPolicy("a", 1))
    assert problems_of(Policy(priorities=entries), priorities="ab") == []
    assert problems_of(Policy(priorities=entries[:2]), priorities="ab") == overflow
    assert problems_of(Policy(), defaults={"a": most, "b": most}) == overflow
    assert problems_of(Policy(priorities=()), defaults={"a": most, "b": most}) == []


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
    problems = problems_of(policy, priorities=known)
    assert problems == [f"priorities[0]: Invalid configuration: Priority type not found for {plugin}{hint}"]


def check(policy: Policy, hard_weight: int = 1) -> str | None:
    try:
        give_up(policy_faults(policy, PREDICATES, PRIORITIES, hard_weight=hard_weight, defaults=DEFAULTS))
    except ConfigError as error:
        return str(error)
    return None


def test_every_problem_with_its_path() -> None:
    """All checks are reported together, with paths and the nearest names."""
    assert problems_of(BAD) == [
        f"priorities[0].weight: Priority EqualPriority {NO_WEIGHT} or it has overflown",
        "predicates[0]: Invalid configuration: Predicate type not found for HostNam; did you mean HostName?",
        "priorities[1]: Invalid configuration: Priority type not found for EqualPriorty; did you mean EqualPriority?",
        "hardPodAffinitySymmetricWeight: invalid hardPodAffinitySymmetricWeight: 101, must be in the range 1-100",
    ]


def test_an_entry_without_a_name() -> None:
    """The release's text ends where the name is to be; so that is said."""
    (problem,) = problems_of(Policy(predicates=(PredicatePolicy(""),)))
    assert problem == "predicates[0]: Invalid configuration: Predicate type not found for ; it has no name"


def test_the_release_stops_at_its_first_check() -> None:
    """The text at which the release gives up, check by check."""
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
