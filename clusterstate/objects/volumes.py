"""The volume types that scheduling reads."""

from __future__ import annotations

import attrs


@attrs.frozen
class GCEPersistentDisk:
    pd_name: str
    read_only: bool = False


@attrs.frozen
class AWSElasticBlockStore:
    """``volume_name``: what a pod calls the volume; kept only for an id in the long form (``aws://…``)."""

    volume_id: str
    read_only: bool = False
    volume_name: str = ""


@attrs.frozen
class RBD:
    monitors: tuple[str, ...]
    image: str
    pool: str = "rbd"
    read_only: bool = False


@attrs.frozen
class ISCSI:
    iqn: str
    read_only: bool = False


@attrs.frozen
class AzureDisk:
    disk_name: str
    disk_uri: str = ""


@attrs.frozen
class Cinder:
    volume_id: str


@attrs.frozen
class PortworxVolume:
    """Read by 1.36."""

    volume_id: str


@attrs.frozen
class CSI:
    driver: str
    volume_handle: str = ""


@attrs.frozen
class ClaimVolume:
    """``persistentVolumeClaim`` of a pod's volume."""

    claim_name: str
    read_only: bool = False


@attrs.frozen
class EphemeralVolume:
    """``ephemeral``: the claim is named ``<pod>-<volume>``; read by 1.36."""

    volume_name: str


@attrs.frozen
class EphemeralClaim:
    """The claim that an ephemeral volume of one pod leads to; it has to be that pod's own.

    No part of the API: it stands in a spec for the EphemeralVolume where a release reads those
    (``clusterstate.volumes.ephemeral_claims``).
    """

    claim_name: str
    pod_name: str
    pod_uid: str


@attrs.frozen
class ImageVolume:
    """``image`` of a pod's volume: a container image to mount; read by 1.36."""

    reference: str = ""


VolumeSource = (
    GCEPersistentDisk
    | AWSElasticBlockStore
    | RBD
    | ISCSI
    | AzureDisk
    | Cinder
    | PortworxVolume
    | CSI
    | ClaimVolume
    | EphemeralVolume
    | EphemeralClaim
    | ImageVolume
)
"""The volume types that scheduling reads; all others are dropped while decoding."""
