"""What API servers refuse in fields that scheduling reads, in their words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from clusterstate.manifests.api_checks import CHECKS_1_4, CHECKS_1_16, CHECKS_1_20, CHECKS_1_36, refused
from clusterstate.manifests.known_fields import known_types
from kubescheduler.releases.lookup import release_named

TABLES = {"1.4": CHECKS_1_4, "1.16": CHECKS_1_16, "1.20": CHECKS_1_20, "1.36": CHECKS_1_36}
RICH = [
    document for document in yaml.safe_load_all((Path(__file__).parent / "rich_manifests.yaml").read_text()) if document
]
AFFINITY = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def container(**fields: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", **fields}]}


def asking(requests: Mapping[str, Any], limits: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return container(resources={"requests": dict(requests), "limits": dict(limits or {})})


def tolerating(**fields: Any) -> dict[str, Any]:
    return {"tolerations": [fields]}


def spreading(**fields: Any) -> dict[str, Any]:
    given = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}, **fields}
    return {"topologySpreadConstraints": [{key: value for key, value in given.items() if value is not None}]}


def requiring(**requirement: Any) -> dict[str, Any]:
    return {"affinity": {"nodeAffinity": {AFFINITY: {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}}}}


def with_pods(**term: Any) -> dict[str, Any]:
    return {"affinity": {"podAffinity": {AFFINITY: [{"topologyKey": "zone", "labelSelector": {}, **term}]}}}


IN_SPECS: dict[str, tuple[dict[str, Any], str]] = {
    "request above limit": (
        asking({"cpu": "2"}, {"cpu": 1}),
        'containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
    ),
    "amounts in one form": (
        asking({"memory": "2048Mi"}, {"memory": "1000000k"}),
        'containers[0].resources.requests: Invalid value: "2Gi": must be less than or equal to memory limit of 1G',
    ),
    "overhead": (
        {"overhead": {"cpu": "-1"}},
        'overhead[cpu]: Invalid value: "-1": must be greater than or equal to 0',
    ),
    "requests of the pod": (
        {**asking({"cpu": "2"}), "resources": {"requests": {"cpu": "1"}}},
        'resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of '
        "2",
    ),
    "limits of containers are their requests": (
        {**asking({}, {"cpu": "2"}), "resources": {"requests": {"cpu": "1"}}},
        'resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of '
        "2",
    ),
    "limits of the pod": (
        {**asking({"cpu": "1"}, {"cpu": "2"}), "resources": {"limits": {"cpu": "1"}}},
        'containers[0].resources.limits[cpu]: Invalid value: "2": must be less than or equal to pod limits of 1',
    ),
    "resources of the pod": (
        {"resources": {"requests": {"ephemeral-storage": "1"}}},
        'resources.requests[ephemeral-storage]: Unsupported value: "ephemeral-storage": supported values: "cpu", '
        '"hugepages-", "memory"',
    ),
    "huge pages alone": (
        asking({"hugepages-2Mi": "2Mi"}, {"hugepages-2Mi": "2Mi"}),
        "containers[0].resources: Forbidden: HugePages require cpu or memory",
    ),
    "a port of text": (
        container(ports=[{"containerPort": "80"}]),
        'containers[0].ports[0].containerPort: must be a whole number, not "80"',
    ),
    "a port of the node twice": (
        container(ports=[{"containerPort": 1, "hostPort": 80}, {"containerPort": 2, "hostPort": 80}]),
        'containers[0].ports[1].hostPort: Duplicate value: "TCP//80"',
    ),
    "namespaces of a term": (
        with_pods(namespaces=["a", "A_b"]),
        "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespaces[1]: "
        'Invalid value: "A_b": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '
        "'-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
        "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
    ),
    **{
        f"toleration of {value!r}": (
            tolerating(key="level", operator="Gt", value=value, effect="NoSchedule"),
            f'tolerations[0].value: Invalid value: "{value}": {fault}',
        )
        for value, fault in {
            **dict.fromkeys(("06", "+5", "-0"), "must be a valid decimal integer in canonical form"),
            **{text: f'strconv.ParseInt: parsing "{text}": value out of range' for text in (str(2**63), "9" * 5000)},
        }.items()
    },
    "negative": (
        asking({"cpu": "-500m"}),
        'containers[0].resources.requests[cpu]: Invalid value: "-500m": must be greater than or equal to 0',
    ),
    "half a device": (
        asking({}, {"nvidia.com/gpu": "500m"}),
        'containers[0].resources.limits[nvidia.com/gpu]: Invalid value: "500m": must be an integer',
    ),
    "fewer devices than the limit": (
        asking({"nvidia.com/gpu": 1}, {"nvidia.com/gpu": 2}),
        'containers[0].resources.requests: Invalid value: "1": must be equal to nvidia.com/gpu limit of 2',
    ),
    "more devices than the limit": (
        asking({"nvidia.com/gpu": 3}, {"nvidia.com/gpu": 2}),
        'containers[0].resources.requests: Invalid value: "3": must be equal to nvidia.com/gpu limit of 2',
    ),
    "devices without a limit": (
        asking({"nvidia.com/gpu": 1}),
        "containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources",
    ),
    "huge pages without a limit": (
        asking({"cpu": 1, "hugepages-2Mi": "4Mi"}),
        "containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources",
    ),
    "a container without a name": ({"initContainers": [{"image": "i"}]}, "initContainers[0].name: Required value"),
    "rules without a policy": (
        container(restartPolicyRules=[{"action": "Restart"}]),
        "containers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used",
    ),
    "no resource of containers": (
        asking({"pods": 1}),
        'containers[0].resources.requests[pods]: Invalid value: "pods": must be a standard resource for containers',
    ),
    "weight 0": (
        {"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 0, "preference": {}}]}}},
        f"affinity.nodeAffinity.{PREFERRED}[0].weight: Invalid value: 0: must be in the range 1-100",
    ),
    "weight 1000": (
        {"affinity": {"podAntiAffinity": {PREFERRED: [{"weight": 1000}]}}},
        f"affinity.podAntiAffinity.{PREFERRED}[0].weight: Invalid value: 1000: must be in the range 1-100",
    ),
    "no weight": (
        {"affinity": {"nodeAffinity": {PREFERRED: [{"preference": {}}]}}},
        f"affinity.nodeAffinity.{PREFERRED}[0].weight: Invalid value: 0: must be in the range 1-100",
    ),
    "maxSkew 0": (
        spreading(maxSkew=0),
        "topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
    ),
    "no maxSkew": (
        spreading(maxSkew=None),
        "topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
    ),
    "no topologyKey": (
        spreading(topologyKey=None),
        "topologySpreadConstraints[0].topologyKey: Required value: can not be empty",
    ),
    "no whenUnsatisfiable": (
        spreading(whenUnsatisfiable=None),
        'topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "": supported values: "DoNotSchedule", '
        '"ScheduleAnyway"',
    ),
    "minDomains 0": (
        spreading(minDomains=0),
        "topologySpreadConstraints[0].minDomains: Invalid value: 0: must be greater than zero",
    ),
    "minDomains of what need not be met": (
        spreading(minDomains=2, whenUnsatisfiable="ScheduleAnyway"),
        "topologySpreadConstraints[0].minDomains: Invalid value: 2: can only use minDomains if "
        "whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
    ),
    "matchLabelKeys without a selector": (
        spreading(matchLabelKeys=["app"], labelSelector=None),
        "topologySpreadConstraints[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set",
    ),
    "a constraint twice": (
        {"topologySpreadConstraints": spreading()["topologySpreadConstraints"] * 2},
        'topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{zone, DoNotSchedule}"',
    ),
    "a term without topologyKey": (
        with_pods(topologyKey=""),
        f"affinity.podAffinity.{AFFINITY}[0].topologyKey: Required value: can not be empty",
    ),
    "a name in capitals": (
        container(name="Main"),
        'containers[0].name: Invalid value: "Main": a lowercase RFC 1123 label must consist of lower case '
        "alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or "
        "'123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
    ),
    "Exists with a value": (
        tolerating(key="a", operator="Exists", value="b"),
        "tolerations[0].operator: Invalid value: \"b\": value must be empty when `operator` is 'Exists'",
    ),
    "all keys with Equal": (
        tolerating(operator="Equal", value="b"),
        'tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means '
        '"match all values and all keys"',
    ),
    "seconds without NoExecute": (
        tolerating(key="a", operator="Exists", effect="NoSchedule", tolerationSeconds=3),
        "tolerations[0].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when `tolerationSeconds` "
        "is set",
    ),
    "Exists with values": (
        requiring(key="a", operator="Exists", values=["b"]),
        f"affinity.nodeAffinity.{AFFINITY}.nodeSelectorTerms[0].matchExpressions[0].values: Forbidden: may not be "
        "specified when `operator` is 'Exists' or 'DoesNotExist'",
    ),
    "In without values": (
        requiring(key="a", operator="In"),
        f"affinity.nodeAffinity.{AFFINITY}.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be "
        "specified when `operator` is 'In' or 'NotIn'",
    ),
    "Gt with two values": (
        requiring(key="a", operator="Gt", values=["1", "2"]),
        f"affinity.nodeAffinity.{AFFINITY}.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be "
        "specified single value when `operator` is 'Lt' or 'Gt'",
    ),
    "no terms": (
        {"affinity": {"nodeAffinity": {AFFINITY: {"nodeSelectorTerms": []}}}},
        f"affinity.nodeAffinity.{AFFINITY}.nodeSelectorTerms: Required value: must have at least one node selector "
        "term",
    ),
    "a selector of pods": (
        with_pods(labelSelector={"matchExpressions": [{"key": "a", "operator": "DoesNotExist", "values": ["b"]}]}),
        f"affinity.podAffinity.{AFFINITY}[0].labelSelector.matchExpressions[0].values: Forbidden: may not be specified "
        "when `operator` is 'Exists' or 'DoesNotExist'",
    ),
    "a container twice": (
        {"containers": [{"name": "c"}], "initContainers": [{"name": "c"}]},
        'initContainers[0].name: Duplicate value: "c"',
    ),
    "half a huge page": (
        asking({"cpu": 1}, {"hugepages-2Mi": "3Mi"}),
        'containers[0].resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of '
        "hugepages-2Mi",
    ),
    "a selector of nothing": (
        {"affinity": {"nodeAffinity": {AFFINITY: {}}}},
        f"affinity.nodeAffinity.{AFFINITY}.nodeSelectorTerms: Required value: must have at least one node selector "
        "term",
    ),
    "a volume of two types": (
        {"volumes": [{"name": "v", "hostPath": {"path": "/"}, "emptyDir": {}}]},
        "volumes[0].hostPath: Forbidden: may not specify more than 1 volume type",
    ),
    "a claim without a name": (
        {"volumes": [{"name": "v", "persistentVolumeClaim": {}}]},
        "volumes[0].persistentVolumeClaim.claimName: Required value",
    ),
    "a key to match and not to": (
        with_pods(matchLabelKeys=["a"], mismatchLabelKeys=["a"], labelSelector={}),
        f"affinity.podAffinity.{AFFINITY}[0].matchLabelKeys[0]: Invalid value: "
        '"a": exists in both matchLabelKeys and mismatchLabelKeys',
    ),
    "a long name of a port": (
        container(ports=[{"name": "a-name-of-a-port", "containerPort": 80}]),
        'containers[0].ports[0].name: Invalid value: "a-name-of-a-port": must be no more than 15 characters',
    ),
    "a port named twice": (
        container(ports=[{"name": "a", "containerPort": 80}, {"name": "a", "containerPort": 81}]),
        'containers[0].ports[1].name: Duplicate value: "a"',
    ),
    "no port": (
        container(ports=[{"containerPort": 70000}]),
        "containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
    ),
    "a port without a number": (
        container(ports=[{"hostPort": 8080}]),
        "containers[0].ports[0].containerPort: Required value",
    ),
    "another port on the node's network": (
        {"hostNetwork": True, **container(ports=[{"containerPort": 80, "hostPort": 81}])},
        "containers[0].ports[0].containerPort: Invalid value: 80: must match `hostPort` when `hostNetwork` is true",
    ),
    "a gate twice": (
        {"schedulingGates": [{"name": "a.b/c"}, {"name": "a.b/c"}]},
        'schedulingGates[1]: Duplicate value: "a.b/c"',
    ),
    "a node behind a gate": (
        {"nodeName": "n", "schedulingGates": [{"name": "a.b/c"}]},
        "nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
    ),
}


NAMED = {"name": "gpu", "resourceClaimName": "one"}
IN_SPECS |= {
    "a claim of two sources": (
        {"resourceClaims": [{**NAMED, "resourceClaimTemplateName": "two"}]},
        'resourceClaims[0]: Invalid value: {"Name":"gpu","ResourceClaimName":"one","ResourceClaimTemplateName":"two"}: '
        "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
    ),
    "a claim of no source": (
        {"resourceClaims": [{"name": "gpu"}]},
        'resourceClaims[0]: Invalid value: {"Name":"gpu","ResourceClaimName":null,"ResourceClaimTemplateName":null}: '
        "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
    ),
    "a claim without a name": ({"resourceClaims": [{**NAMED, "name": ""}]}, "resourceClaims[0].name: Required value"),
    "a claim twice": ({"resourceClaims": [NAMED, NAMED]}, 'resourceClaims[1].name: Duplicate value: "gpu"'),
    "a container's claim that the pod does not have": (
        {"resourceClaims": [NAMED], **container(resources={"claims": [{"name": "gpu"}, {"name": "nic"}]})},
        'containers[0].resources.claims[1]: Not found: "nic": must be one of the names in pod.spec.resourceClaims: gpu',
    ),
    "a container's claim in a pod without": (
        {"initContainers": container(resources={"claims": [{"name": "gpu"}]})["containers"]},
        'initContainers[0].resources.claims[0]: Not found: "gpu": must be one of the names in '
        "pod.spec.resourceClaims which is empty",
    ),
}


@pytest.mark.parametrize(("spec", "fault"), IN_SPECS.values(), ids=IN_SPECS)
def test_specs(spec: dict[str, Any], fault: str) -> None:
    """Each fault stands at its path, in pods and in templates, and alone."""
    assert refused("Pod", {"spec": spec}, CHECKS_1_36) == [f"spec.{fault}"]
    template = {"spec": {"template": {"spec": spec}}}
    assert refused("Deployment", template, CHECKS_1_36) == [f"spec.template.spec.{fault}"]


OTHER_KINDS: dict[str, Any] = {
    "a taint without effect": (
        "Node",
        {"spec": {"taints": [{"key": "a", "value": "b"}]}},
        "spec.taints[0].effect: Required value",
    ),
    "a taint twice": (
        "Node",
        {"spec": {"taints": [{"key": "a", "effect": "NoSchedule", "value": value} for value in "xy"]}},
        'spec.taints[0]: Duplicate value: "a:NoSchedule"',
    ),
    "a node with less than nothing": (
        "Node",
        {"status": {"allocatable": {"cpu": -1}}},
        'status.allocatable[cpu]: Invalid value: "-1": must be greater than or equal to 0',
    ),
    "an empty volume": (
        "PersistentVolume",
        {"spec": {"capacity": {"storage": 0}}},
        'spec.capacity[storage]: Invalid value: "0": must be greater than zero',
    ),
    "a priority": (
        "PriorityClass",
        {"metadata": {"name": "high"}, "value": 2_000_000_000},
        "value: Forbidden: maximum allowed value of a user defined priority is 1000000000",
    ),
    "a class of the system's": (
        "PriorityClass",
        {"metadata": {"name": "system-mine"}, "value": 1},
        "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only",
    ),
    "a budget of both kinds": (
        "PodDisruptionBudget",
        {"spec": {"minAvailable": 1, "maxUnavailable": "50%"}},
        'spec: Invalid value: {"MinAvailable":1,"Selector":null,"MaxUnavailable":"50%",'
        '"UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set',
    ),
    "a budget of less than nothing": (
        "PodDisruptionBudget",
        {"spec": {"minAvailable": -1}},
        "spec.minAvailable: Invalid value: -1: must be greater than or equal to 0",
    ),
    "a budget of no amount": (
        "PodDisruptionBudget",
        {"spec": {"maxUnavailable": "half"}},
        'spec.maxUnavailable: Invalid value: "half": a valid percent string must be a numeric string followed by '
        "an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
    ),
    "a budget of more than all": (
        "PodDisruptionBudget",
        {"spec": {"minAvailable": "101%"}},
        'spec.minAvailable: Invalid value: "101%": must not be greater than 100%',
    ),
    "fewer disruptions than none": (
        "PodDisruptionBudget",
        {"status": {"disruptionsAllowed": -1}},
        "status.disruptionsAllowed: Invalid value: -1: must be greater than or equal to 0",
    ),
}


@pytest.mark.parametrize(("kind", "manifest", "fault"), OTHER_KINDS.values(), ids=OTHER_KINDS)
def test_other_kinds(kind: str, manifest: dict[str, Any], fault: str) -> None:
    """What is no pod has its rules as well."""
    assert refused(kind, manifest, CHECKS_1_36) == [fault]


def claiming(**devices: Any) -> dict[str, Any]:
    return {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}], **devices}


def exactly(**asked: Any) -> dict[str, Any]:
    return claiming(requests=[{"name": "r", "exactly": {"deviceClassName": "gpu", **asked}}])


REFERENCE = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
SUB = {"name": "a", "deviceClassName": "gpu"}


DEVICE_REQUESTS: dict[str, Any] = {
    "none at all is one": (exactly(count=0), None),
    "fewer": (exactly(count=-1), "requests[0].exactly.count: Invalid value: -1: must be greater than zero"),
    "two of all": (
        exactly(allocationMode="All", count=2),
        "requests[0].exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'",
    ),
    "no class": (exactly(deviceClassName=""), "requests[0].exactly.deviceClassName: Required value"),
    "of an alternative": (
        claiming(requests=[{"name": "r", "firstAvailable": [SUB, {**SUB, "name": "b", "count": -2}]}]),
        "requests[0].firstAvailable[1].count: Invalid value: -2: must be greater than zero",
    ),
    "of v1beta1": (
        claiming(requests=[{"name": "r", "deviceClassName": "gpu", "count": -1}]),
        "requests[0].count: Invalid value: -1: must be greater than zero",
    ),
    "both": (
        claiming(requests=[{"name": "r", "exactly": {"deviceClassName": "gpu"}, "firstAvailable": [SUB]}]),
        "requests[0]: Invalid value: null: exactly one of `exactly` or `firstAvailable` is required, but multiple "
        "fields are set",
    ),
    "a constraint on nothing": (
        claiming(constraints=[{"requests": ["r", "s"], "matchAttribute": "a/b"}]),
        f'constraints[0].requests[1]: Invalid value: "s": {REFERENCE}',
    ),
    "a configuration of nothing": (
        claiming(requests=[{"name": "r", "firstAvailable": [SUB]}], config=[{"requests": ["r", "r/a", "r/b"]}]),
        f'config[0].requests[2]: Invalid value: "r/b": {REFERENCE}',
    ),
}


@pytest.mark.parametrize(("devices", "fault"), DEVICE_REQUESTS.values(), ids=DEVICE_REQUESTS)
def test_requests_for_devices(devices: dict[str, Any], fault: str | None) -> None:
    """In claims and in templates of claims."""
    found = [] if fault is None else [fault]
    spec = {"spec": {"devices": devices}}
    assert refused("ResourceClaim", spec, CHECKS_1_36) == [f"spec.devices.{each}" for each in found]
    assert refused("ResourceClaimTemplate", {"spec": spec}, CHECKS_1_36) == [
        f"spec.spec.devices.{each}" for each in found
    ]


OVER = {"spec": asking({"cpu": "2"}, {"cpu": 1})}
VALUE = {
    "spec": with_pods(
        labelSelector={"matchLabels": {}, "matchExpressions": [{"key": "a", "operator": "In", "values": ["b c"]}]}
    )
}


RELEASES_DIFFER: dict[str, Any] = {
    "1.4": ("1.4", OVER, 'limits[cpu]: Invalid value: "1": must be greater than or equal to request'),
    "1.16": ("1.16", OVER, "must be less than or equal to cpu limit"),
    "1.20": ("1.20", OVER, "must be less than or equal to cpu limit"),
    "1.36": ("1.36", OVER, "must be less than or equal to cpu limit of 1"),
    "1.4 has no extended resources": ("1.4", {"spec": asking({"a.b/c": 1}, {"a.b/c": 2})}, None),
    "1.20 takes any value in a selector": ("1.20", VALUE, None),
    "1.36 does not": ("1.36", VALUE, "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"),
}


@pytest.mark.parametrize(("release", "manifest", "ending"), RELEASES_DIFFER.values(), ids=RELEASES_DIFFER)
def test_releases_differ(release: str, manifest: dict[str, Any], ending: str | None) -> None:
    """Each has its own words, and some take what others refuse."""
    found = refused("Pod", manifest, TABLES[release])
    assert (not found) if ending is None else found[0].endswith(ending)


NEVER = {"initContainers": [{"name": "i", "restartPolicy": "Never"}]}
SIDECAR = {"initContainers": [{"name": "i", "restartPolicy": "Always"}]}
ONLY_ALWAYS = 'spec.initContainers[0].restartPolicy: Unsupported value: "Never": supported values: "Always"'
OF_INIT = "spec.containers[0].restartPolicy: Forbidden: may not be set for non-init containers"
BELOW_0 = requiring(key="a", operator="Gt", values=["-1"])
AT = f"spec.affinity.nodeAffinity.{AFFINITY}.nodeSelectorTerms[0].matchExpressions[0].values[0]"
COMPARING = tolerating(key="a", operator="Gt", value="06")


@pytest.mark.parametrize(
    ("release", "gates", "spec", "found"),
    [
        ("1.27", "", NEVER, ""),
        ("1.28", "", NEVER, ""),
        ("1.28", "SidecarContainers=true", NEVER, ONLY_ALWAYS),
        ("1.29", "", NEVER, ONLY_ALWAYS),
        ("1.33", "", NEVER, ONLY_ALWAYS),
        ("1.33", "", SIDECAR, ""),
        ("1.33", "", container(restartPolicy="Never"), OF_INIT),
        ("1.34", "", NEVER, ONLY_ALWAYS),
        ("1.34", "", container(restartPolicy="Never"), OF_INIT),
        ("1.34", "ContainerRestartRules=true", NEVER, ""),
        ("1.35", "", NEVER, ""),
        ("1.35", "ContainerRestartRules=false", container(restartPolicy="Never"), OF_INIT),
        ("1.36", "", container(restartPolicy="OnFailure"), ""),
        ("1.16", "", BELOW_0, ""),
        ("1.32", "", BELOW_0, ""),
        ("1.33", "", BELOW_0, f'{AT}: Invalid value: "-1": a valid label must be'),
        ("1.16", "", COMPARING, ""),
        ("1.34", "", COMPARING, ""),
        (
            "1.36",
            "TaintTolerationComparisonOperators=true",
            COMPARING,
            'spec.tolerations[0].value: Invalid value: "06"',
        ),
    ],
)
def test_what_came_between(release: str, gates: str, spec: dict[str, Any], found: str) -> None:
    """Or takes a feature gate."""
    refusals = refused("Pod", {"spec": spec}, release_named(release).accepted_values(gates).checks)
    assert [each.startswith(found) for each in refusals] == ([True] if found else [])


@pytest.mark.parametrize(("value", "fault"), [("", "must be non-empty"), ("x", "must be a valid decimal integer in")])
def test_toleration_of_no_number(value: str, fault: str) -> None:
    """It is told twice, as it is by a server."""
    spec = tolerating(key="a", operator="Gt", value=value)
    found = refused("Pod", {"spec": spec}, TABLES["1.36"])
    shown = f'spec.tolerations[0].value: Invalid value: "{value}": '
    assert found[0].startswith(f"{shown}{fault}")
    assert found[1:] == [f'{shown}strconv.ParseInt: parsing "{value}": invalid syntax']


@pytest.mark.parametrize("release", ["1.4", "1.16", "1.20"])
def test_status_of_old_budgets(release: str) -> None:
    """Before policy/v1 nothing is said of the numbers in a budget's status."""
    assert refused("PodDisruptionBudget", {"status": {"disruptionsAllowed": -1}}, TABLES[release]) == []


@pytest.mark.parametrize("release", TABLES)
@pytest.mark.parametrize("manifest", RICH, ids=[f"{each['kind']} {each['metadata']['name']}" for each in RICH])
def test_rich_manifests_pass(manifest: dict[str, Any], release: str) -> None:
    """What servers of several releases have stored passes."""
    assert refused(manifest["kind"], manifest, TABLES[release]) == []


def test_every_type_is_known() -> None:
    """A type of the tables is one of the API, and all releases check the same ones."""
    assert {*CHECKS_1_36} <= known_types().keys()
    assert len({frozenset(table) for table in TABLES.values()}) == 1


WRONG_TYPES: dict[str, Any] = {
    "null": {"spec": None},
    "wrong types": {"spec": {"containers": 3, "tolerations": [None, 4], "nodeSelector": "a"}},
    "wrong texts": {"spec": tolerating(key=4, operator=[], value={})},
    "no amount": {"spec": asking({"cpu": "many"})},
    "no claims": {"spec": {"resourceClaims": [None, 3], **container(resources={"claims": [4]})}},
    "wrong numbers": {"spec": spreading(maxSkew="one", topologyKey=7, whenUnsatisfiable=[])},
    "no key": {"spec": spreading(labelSelector={"matchExpressions": [{"key": {}, "operator": "DoesNotExist"}]})},
}


@pytest.mark.parametrize("odd", WRONG_TYPES.values(), ids=WRONG_TYPES)
def test_wrong_types_are_left_to_decoding(odd: dict[str, Any]) -> None:
    """They are no reason to fail here."""
    assert refused("Pod", odd, CHECKS_1_36) == []
