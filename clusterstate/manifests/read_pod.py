"""A pod that was read without the defaults of a release."""

from __future__ import annotations

import msgspec

from clusterstate.objects import ObjectMeta, Pod, PodCondition, PodGrants, PodSpec, ResourceClaimStatus


class ReadPod(msgspec.Struct, frozen=True, eq=False):
    """A pod whose spec is still a text. There are as many as pods in a list, and msgspec makes them fastest."""

    spec: bytes
    """The JSON of what decoding reads of the spec."""
    metadata: ObjectMeta
    """What names the pod; namespace and uid may be empty."""
    node_name: str
    """As ``Pod.node_name``."""
    phase: str
    """As ``Pod.phase``."""
    nominated_node_name: str
    """As ``Pod.nominated_node_name``."""
    start_time: str | None
    """As ``Pod.start_time``."""
    conditions: tuple[PodCondition, ...]
    """As ``Pod.conditions``."""
    grants: PodGrants | None
    """As ``Pod.grants``."""
    resource_claim_statuses: tuple[ResourceClaimStatus, ...]
    """As ``Pod.resource_claim_statuses``."""
    is_stored: bool
    """Whether it has a resourceVersion."""
    kind: str
    """What it says that it is; empty if it says nothing."""
    version: str
    """Its apiVersion; empty if it says none."""

    def pod(self, metadata: ObjectMeta, spec: PodSpec) -> Pod:
        """The pod without its manifest, with what its API server has filled in."""
        return Pod(
            metadata,
            spec,
            self.node_name,
            self.phase,
            self.nominated_node_name,
            self.start_time,
            self.conditions,
            self.grants,
            self.resource_claim_statuses,
        )
