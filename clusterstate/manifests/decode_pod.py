"""Pod specs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusterstate.manifests.decode_meta import (
    decode_label_selector,
    decode_labels,
    decode_node_selector,
    decode_node_selector_term,
)
from clusterstate.manifests.decode_volumes import decode_pod_volume
from clusterstate.manifests.fields import Fields
from clusterstate.objects import (
    Affinity,
    Container,
    ContainerPort,
    NodeAffinity,
    PodAffinity,
    PodAffinityTerm,
    PodResourceClaim,
    PodSpec,
    PreferredSchedulingTerm,
    Toleration,
    TopologySpreadConstraint,
    VolumeSource,
    WeightedPodAffinityTerm,
)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def decode_pod_spec(spec: Fields) -> PodSpec:
    """Everything of a pod's ``spec`` that scheduling reads, except ``nodeName``."""
    return PodSpec(**_given(spec, _SPEC))


def decode_container(container: Fields) -> Container:
    """A Container; its ports without a hostPort are dropped."""
    resources = container.child("resources")
    given = _given(container, _CONTAINER)
    return Container(**given) if resources is None else Container(**given, **_given(resources, _RESOURCES))


def _given(fields: Fields, table: Table) -> dict[str, Any]:
    """Field → value of what an object has; what it leaves out is at the record's default."""
    data = fields.data
    return {name: read(fields, key) for key, name, read in table if key in data}


def _port(port: Fields) -> ContainerPort:
    return ContainerPort(port.integer("hostPort"), port.text("hostIP"), port.text("protocol"))


def _resource_claim(claim: Fields) -> PodResourceClaim:
    return PodResourceClaim(
        name=claim.text("name"),
        resource_claim_name=claim.text_or_none("resourceClaimName"),
        resource_claim_template_name=claim.text_or_none("resourceClaimTemplateName"),
    )


def decode_toleration(toleration: Fields) -> Toleration:
    """A Toleration."""
    return Toleration(
        key=toleration.text("key"),
        operator=toleration.text("operator"),
        value=toleration.text("value"),
        effect=toleration.text("effect"),
        toleration_seconds=toleration.integer_or_none("tolerationSeconds"),
    )


def _spread(constraint: Fields) -> TopologySpreadConstraint:
    return TopologySpreadConstraint(
        max_skew=constraint.integer("maxSkew"),
        topology_key=constraint.text("topologyKey"),
        when_unsatisfiable=constraint.text("whenUnsatisfiable"),
        label_selector=decode_label_selector(constraint, "labelSelector"),
        min_domains=constraint.integer_or_none("minDomains"),
        node_affinity_policy=constraint.text_or_none("nodeAffinityPolicy"),
        node_taints_policy=constraint.text_or_none("nodeTaintsPolicy"),
        match_label_keys=constraint.texts("matchLabelKeys"),
    )


def decode_affinity(affinity: Fields | None) -> Affinity | None:
    """An Affinity; None without one."""
    if affinity is None:
        return None
    return Affinity(
        node_affinity=_node_affinity(affinity.child("nodeAffinity")),
        pod_affinity=_pod_affinity(affinity.child("podAffinity")),
        pod_anti_affinity=_pod_affinity(affinity.child("podAntiAffinity")),
    )


def _node_affinity(affinity: Fields | None) -> NodeAffinity | None:
    if affinity is None:
        return None
    preferred = (
        PreferredSchedulingTerm(term.integer("weight"), decode_node_selector_term(term.inside("preference")))
        for term in affinity.children(PREFERRED)
    )
    return NodeAffinity(decode_node_selector(affinity, REQUIRED), tuple(preferred))


def _pod_affinity(affinity: Fields | None) -> PodAffinity | None:
    if affinity is None:
        return None
    preferred = (
        WeightedPodAffinityTerm(term.integer("weight"), _pod_affinity_term(term.inside("podAffinityTerm")))
        for term in affinity.children(PREFERRED)
    )
    return PodAffinity(tuple(map(_pod_affinity_term, affinity.children(REQUIRED))), tuple(preferred))


def _pod_affinity_term(term: Fields) -> PodAffinityTerm:
    return PodAffinityTerm(
        topology_key=term.text("topologyKey"),
        label_selector=decode_label_selector(term, "labelSelector"),
        namespaces=term.texts("namespaces") if term.has("namespaces") else None,
        namespace_selector=decode_label_selector(term, "namespaceSelector"),
        match_label_keys=term.texts("matchLabelKeys"),
        mismatch_label_keys=term.texts("mismatchLabelKeys"),
    )


def _containers(fields: Fields, key: str) -> tuple[Container, ...]:
    return tuple(map(decode_container, fields.children(key)))


def _volumes(fields: Fields, key: str) -> tuple[VolumeSource, ...]:
    return tuple([volume for volume in map(decode_pod_volume, fields.children(key)) if volume is not None])


def _ports(fields: Fields, key: str) -> tuple[ContainerPort, ...]:
    return tuple([port for port in map(_port, fields.children(key)) if port.host_port])


def _each(member: str) -> Read:
    """Reads a text member of every object of a list."""
    return lambda fields, key: tuple([entry.text(member) for entry in fields.children(key)])


def _all(decode: Callable[[Fields], Any]) -> Read:
    """Reads every object of a list."""
    return lambda fields, key: tuple(map(decode, fields.children(key)))


Read = Callable[[Fields, str], Any]
Table = tuple[tuple[str, str, Read], ...]
"""(key in a manifest, field of the record, how it is read), in the order in which faults are reported. What is read of
null is the field's default."""

_SPEC: Table = (
    ("containers", "containers", _containers),
    ("initContainers", "init_containers", _containers),
    ("volumes", "volumes", _volumes),
    ("nodeSelector", "node_selector", decode_labels),
    ("affinity", "affinity", lambda fields, key: decode_affinity(fields.child(key))),
    ("tolerations", "tolerations", _all(decode_toleration)),
    ("topologySpreadConstraints", "topology_spread_constraints", _all(_spread)),
    ("priority", "priority", Fields.integer_or_none),
    ("priorityClassName", "priority_class_name", Fields.text),
    ("preemptionPolicy", "preemption_policy", Fields.text_or_none),
    ("schedulerName", "scheduler_name", Fields.text),
    ("hostNetwork", "host_network", Fields.flag),
    ("overhead", "overhead", Fields.resources),
    ("resources", "resources", lambda fields, key: fields.inside(key).resources("requests")),
    ("schedulingGates", "scheduling_gates", _each("name")),
    ("hostUsers", "host_users", lambda fields, key: fields.flag(key) if fields.has(key) else None),
    ("schedulingGroup", "scheduling_group", lambda fields, key: fields.inside(key).text("podGroupName")),
    ("resourceClaims", "resource_claims", _all(_resource_claim)),
)
_CONTAINER: Table = (
    ("name", "name", Fields.text),
    ("image", "image", Fields.text),
    ("ports", "ports", _ports),
    ("restartPolicy", "restart_policy", Fields.text_or_none),
    ("restartPolicyRules", "restart_rule_actions", _each("action")),
)
_RESOURCES: Table = (
    ("requests", "requests", Fields.resources),
    ("limits", "limits", Fields.resources),
)
