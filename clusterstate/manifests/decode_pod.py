"""Pod specs."""

from __future__ import annotations

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
    WeightedPodAffinityTerm,
)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def decode_pod_spec(spec: Fields) -> PodSpec:
    """Everything of a pod's ``spec`` that scheduling reads, except ``nodeName``."""
    volumes = (decode_pod_volume(volume) for volume in spec.children("volumes"))
    return PodSpec(
        containers=tuple(decode_container(c) for c in spec.children("containers")),
        init_containers=tuple(decode_container(c) for c in spec.children("initContainers")),
        volumes=tuple(volume for volume in volumes if volume is not None),
        node_selector=decode_labels(spec, "nodeSelector"),
        affinity=decode_affinity(spec.child("affinity")),
        tolerations=tuple(decode_toleration(t) for t in spec.children("tolerations")),
        topology_spread_constraints=tuple(_spread(c) for c in spec.children("topologySpreadConstraints")),
        priority=spec.integer_or_none("priority"),
        priority_class_name=spec.text("priorityClassName"),
        preemption_policy=spec.text_or_none("preemptionPolicy"),
        scheduler_name=spec.text("schedulerName"),
        host_network=spec.flag("hostNetwork"),
        overhead=spec.resources("overhead"),
        resources=spec.inside("resources").resources("requests"),
        scheduling_gates=tuple(gate.text("name") for gate in spec.children("schedulingGates")),
        host_users=spec.flag("hostUsers") if spec.has("hostUsers") else None,
        scheduling_group=spec.inside("schedulingGroup").text("podGroupName"),
        resource_claims=tuple(_resource_claim(claim) for claim in spec.children("resourceClaims")),
    )


def decode_container(container: Fields) -> Container:
    """A Container; its ports without a hostPort are dropped."""
    resources = container.inside("resources")
    ports = (_port(port) for port in container.children("ports"))
    return Container(
        name=container.text("name"),
        image=container.text("image"),
        requests=resources.resources("requests"),
        limits=resources.resources("limits"),
        ports=tuple(port for port in ports if port.host_port),
        restart_policy=container.text_or_none("restartPolicy"),
        restart_rule_actions=tuple(rule.text("action") for rule in container.children("restartPolicyRules")),
    )


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
    return PodAffinity(tuple(_pod_affinity_term(term) for term in affinity.children(REQUIRED)), tuple(preferred))


def _pod_affinity_term(term: Fields) -> PodAffinityTerm:
    return PodAffinityTerm(
        topology_key=term.text("topologyKey"),
        label_selector=decode_label_selector(term, "labelSelector"),
        namespaces=term.texts("namespaces") if term.has("namespaces") else None,
        namespace_selector=decode_label_selector(term, "namespaceSelector"),
        match_label_keys=term.texts("matchLabelKeys"),
        mismatch_label_keys=term.texts("mismatchLabelKeys"),
    )
