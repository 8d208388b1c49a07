"""Ephemeral volumes: each leads to a claim of the pod's own, named after pod and volume."""

from __future__ import annotations

import msgspec

from clusterstate.objects import EphemeralClaim, EphemeralVolume, Pod, PodSpec


def with_ephemeral_claims(pod: Pod) -> PodSpec:
    """The spec with every ephemeral volume replaced by its claim, and the pod that has to own it; the same spec when
    there is none.

    For releases that read ephemeral volumes: such pods are alike in nothing but the rest.
    """
    spec = pod.spec
    if not any(isinstance(volume, EphemeralVolume) for volume in spec.volumes):
        return spec
    volumes = (_own_claim(pod, v) if isinstance(v, EphemeralVolume) else v for v in spec.volumes)
    return msgspec.structs.replace(spec, volumes=tuple(volumes))


def _own_claim(pod: Pod, volume: EphemeralVolume) -> EphemeralClaim:
    return EphemeralClaim(f"{pod.metadata.name}-{volume.volume_name}", pod.metadata.name, pod.metadata.uid)
