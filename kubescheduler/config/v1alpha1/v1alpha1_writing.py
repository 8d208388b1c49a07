"""A v1alpha1 configuration with everything said, as release 1.16 writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kubescheduler.config.component.config_schema import KIND, V1ALPHA1
from kubescheduler.config.component.write_config import document_yaml, written_client, written_election

if TYPE_CHECKING:
    from kubescheduler.config.v1alpha1.v1alpha1_config import V1Alpha1Config


def v1alpha1_document(config: V1Alpha1Config) -> dict[str, Any]:
    """Reading it gives the same configuration."""
    election = written_election(config.leader_election)
    return {
        "apiVersion": V1ALPHA1,
        "kind": KIND,
        "schedulerName": config.scheduler_name,
        "algorithmSource": _source(config),
        "hardPodAffinitySymmetricWeight": config.hard_pod_affinity_symmetric_weight,
        "leaderElection": {
            **election,
            "lockObjectName": election["resourceName"],
            "lockObjectNamespace": election["resourceNamespace"],
        },
        "clientConnection": written_client(config.client_connection),
        "healthzBindAddress": config.healthz_bind_address,
        "metricsBindAddress": config.metrics_bind_address,
        "enableProfiling": config.enable_profiling,
        "enableContentionProfiling": config.enable_contention_profiling,
        "disablePreemption": config.disable_preemption,
        "percentageOfNodesToScore": config.percentage_of_nodes_to_score,
        "bindTimeoutSeconds": config.bind_timeout_seconds,
    }


def _source(config: V1Alpha1Config) -> dict[str, Any]:
    if config.policy_file is not None:
        return {"policy": {"file": {"path": config.policy_file}}}
    if config.policy_configmap is not None:
        place = config.policy_configmap
        return {"policy": {"configMap": {"namespace": place.namespace, "name": place.name}}}
    return {"provider": config.provider}


def write_v1alpha1(config: V1Alpha1Config) -> str:
    """``v1alpha1_document`` as YAML, keys in order."""
    return document_yaml(v1alpha1_document(config))
