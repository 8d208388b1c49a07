"""Manifests of pod specs."""

from __future__ import annotations

from typing import Any

from clusterstate.manifests.decode_pod import PREFERRED, REQUIRED
from clusterstate.manifests.encode_parts import (
    encode_label_selector,
    encode_resources,
    encode_source,
    encode_term,
    encode_terms,
    present,
)
from clusterstate.objects import (
    Affinity,
    ClaimVolume,
    Container,
    ContainerPort,
    EphemeralVolume,
    Grant,
    ImageVolume,
    NodeAffinity,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodResourceClaim,
    PodSpec,
    Toleration,
    TopologySpreadConstraint,
    VolumeSource,
)


def encode_pod_spec(spec: PodSpec) -> dict[str, Any]:
    """``spec`` of a pod without ``nodeName``; volumes are named by their number, as their names are not kept."""
    resources = encode_resources(spec.resources)
    return present(
        {
            "containers": [_container(c) for c in spec.containers],
            "initContainers": [_container(c) for c in spec.init_containers] or None,
            "volumes": [_volume(i, volume) for i, volume in enumerate(spec.volumes)] or None,
            "nodeSelector": dict(spec.node_selector) or None,
            "affinity": _affinity(spec.affinity),
            "tolerations": [encode_toleration(t) for t in spec.tolerations] or None,
            "topologySpreadConstraints": [encode_spread_constraint(c) for c in spec.topology_spread_constraints]
            or None,
            "priority": spec.priority,
            "priorityClassName": spec.priority_class_name or None,
            "preemptionPolicy": spec.preemption_policy,
            "schedulerName": spec.scheduler_name or None,
            "hostNetwork": spec.host_network or None,
            "overhead": encode_resources(spec.overhead),
            "resources": {"requests": resources} if resources else None,
            "schedulingGates": [{"name": name} for name in spec.scheduling_gates] or None,
            "hostUsers": spec.host_users,
            "schedulingGroup": {"podGroupName": spec.scheduling_group} if spec.scheduling_group else None,
            "resourceClaims": [_resource_claim(claim) for claim in spec.resource_claims] or None,
        }
    )


def encode_pod_status(pod: Pod) -> dict[str, Any]:
    """``status`` of a pod; statuses of init containers stand among those of containers."""
    claims = [
        present({"name": claim.name, "resourceClaimName": claim.resource_claim_name})
        for claim in pod.resource_claim_statuses
    ]
    conditions = [
        present({"type": c.type, "status": c.status or None, "reason": c.reason or None}) for c in pod.conditions
    ]
    fields = {
        "phase": pod.phase or None,
        "nominatedNodeName": pod.nominated_node_name or None,
        "startTime": pod.start_time,
        "conditions": conditions or None,
        "resourceClaimStatuses": claims or None,
    }
    if pod.grants is not None:
        fields["containerStatuses"] = [
            {"name": n, **_grant(grant)} for n, grant in pod.grants.containers.items()
        ] or None
        fields |= {} if pod.grants.pod is None else _grant(pod.grants.pod)
    return present(fields)


def _grant(grant: Grant) -> dict[str, Any]:
    resources = present({"requests": encode_resources(grant.requests)})
    return present({"resources": resources, "allocatedResources": encode_resources(grant.allocated)})


def _resource_claim(claim: PodResourceClaim) -> dict[str, Any]:
    fields = {
        "name": claim.name,
        "resourceClaimName": claim.resource_claim_name,
        "resourceClaimTemplateName": claim.resource_claim_template_name,
    }
    return present(fields)


def _container(container: Container) -> dict[str, Any]:
    resources = {"requests": encode_resources(container.requests), "limits": encode_resources(container.limits)}
    fields = {
        "name": container.name,
        "image": container.image or None,
        "resources": present(resources) or None,
        "ports": [_port(port) for port in container.ports] or None,
        "restartPolicy": container.restart_policy,
        "restartPolicyRules": [{"action": action} for action in container.restart_rule_actions] or None,
    }
    return present(fields)


def _port(port: ContainerPort) -> dict[str, Any]:
    """The container's own port is not kept; the API wants one, and the host's is as good as any."""
    fields = {
        "containerPort": port.host_port,
        "hostPort": port.host_port,
        "hostIP": port.host_ip or None,
        "protocol": port.protocol or None,
    }
    return present(fields)


def _volume(index: int, volume: VolumeSource) -> dict[str, Any]:
    name = f"volume-{index}"
    if isinstance(volume, EphemeralVolume):
        return {"name": volume.volume_name, "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
    if isinstance(volume, ClaimVolume):
        claim = {"claimName": volume.claim_name, "readOnly": volume.read_only or None}
        return {"name": name, "persistentVolumeClaim": present(claim)}
    if isinstance(volume, ImageVolume):
        return {"name": name, "image": present({"reference": volume.reference or None})}
    return {"name": name, **encode_source(volume)}


def encode_toleration(toleration: Toleration) -> dict[str, Any]:
    """A Toleration as a manifest writes it."""
    fields = {
        "key": toleration.key or None,
        "operator": toleration.operator or None,
        "value": toleration.value or None,
        "effect": toleration.effect or None,
        "tolerationSeconds": toleration.toleration_seconds,
    }
    return present(fields)


def encode_spread_constraint(constraint: TopologySpreadConstraint) -> dict[str, Any]:
    """A TopologySpreadConstraint as a manifest writes it."""
    fields = {
        "maxSkew": constraint.max_skew,
        "topologyKey": constraint.topology_key,
        "whenUnsatisfiable": constraint.when_unsatisfiable,
        "labelSelector": encode_label_selector(constraint.label_selector),
        "minDomains": constraint.min_domains,
        "nodeAffinityPolicy": constraint.node_affinity_policy,
        "nodeTaintsPolicy": constraint.node_taints_policy,
        "matchLabelKeys": list(constraint.match_label_keys) or None,
    }
    return present(fields)


def _affinity(affinity: Affinity | None) -> dict[str, Any] | None:
    if affinity is None:
        return None
    fields = {
        "nodeAffinity": _node_affinity(affinity.node_affinity),
        "podAffinity": _pod_affinity(affinity.pod_affinity),
        "podAntiAffinity": _pod_affinity(affinity.pod_anti_affinity),
    }
    return present(fields)


def _node_affinity(affinity: NodeAffinity | None) -> dict[str, Any] | None:
    if affinity is None:
        return None
    preferred = [{"weight": term.weight, "preference": encode_term(term.preference)} for term in affinity.preferred]
    required = None if affinity.required is None else encode_terms(affinity.required)
    return present({REQUIRED: required, PREFERRED: preferred or None})


def _pod_affinity(affinity: PodAffinity | None) -> dict[str, Any] | None:
    if affinity is None:
        return None
    required = [_pod_affinity_term(term) for term in affinity.required]
    preferred = [{"weight": w.weight, "podAffinityTerm": _pod_affinity_term(w.term)} for w in affinity.preferred]
    return present({REQUIRED: required or None, PREFERRED: preferred or None})


def _pod_affinity_term(term: PodAffinityTerm) -> dict[str, Any]:
    fields = {
        "labelSelector": encode_label_selector(term.label_selector),
        "namespaces": None if term.namespaces is None else list(term.namespaces),
        "namespaceSelector": encode_label_selector(term.namespace_selector),
        "topologyKey": term.topology_key,
        "matchLabelKeys": list(term.match_label_keys) or None,
        "mismatchLabelKeys": list(term.mismatch_label_keys) or None,
    }
    return present(fields)
