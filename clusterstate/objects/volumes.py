"""The volume types that scheduling reads."""

from __future__ import annotations

import attrs


@attrs.frozen
class GCEPersistentDisk:
    pd_name: str
    read_only: bool = False


@attrs.frozen
class AWSElasticBlockStore:
    volume_id: str
    read_only: bool = False


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


@attrs.frozen
class Cinder:
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


VolumeSource = (
    GCEPersistentDisk | AWSElasticBlockStore | RBD | ISCSI | AzureDisk | Cinder | CSI | ClaimVolume | EphemeralVolume
)
"""The volume types that scheduling reads; all others are dropped while decoding."""
