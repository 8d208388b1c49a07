"""The volume types that scheduling reads."""

from __future__ import annotations

import msgspec


class GCEPersistentDisk(msgspec.Struct, frozen=True):
    """A disk of Google Compute Engine."""

    pd_name: str
    read_only: bool = False


class AWSElasticBlockStore(msgspec.Struct, frozen=True):
    """A disk of Amazon Web Services."""

    volume_id: str
    read_only: bool = False
    volume_name: str = ""
    """What a pod calls the volume; kept only for an id in the long form (``aws://…``)."""


class RBD(msgspec.Struct, frozen=True):
    """An image in a Ceph cluster."""

    monitors: tuple[str, ...]
    image: str
    pool: str = "rbd"
    read_only: bool = False


class ISCSI(msgspec.Struct, frozen=True):
    """A disk of an iSCSI target."""

    iqn: str
    read_only: bool = False


class AzureDisk(msgspec.Struct, frozen=True):
    """A managed disk of Azure."""

    disk_name: str
    disk_uri: str = ""


class Cinder(msgspec.Struct, frozen=True):
    """A volume of OpenStack."""

    volume_id: str


class PortworxVolume(msgspec.Struct, frozen=True):
    """Read by 1.36."""

    volume_id: str


class CSI(msgspec.Struct, frozen=True):
    """A volume of a CSI driver."""

    driver: str
    volume_handle: str = ""


class ClaimVolume(msgspec.Struct, frozen=True):
    """``persistentVolumeClaim`` of a pod's volume."""

    claim_name: str
    read_only: bool = False


class EphemeralVolume(msgspec.Struct, frozen=True):
    """``ephemeral``: the claim is named ``<pod>-<volume>``; read by 1.36."""

    volume_name: str


class EphemeralClaim(msgspec.Struct, frozen=True):
    """The claim that an ephemeral volume of one pod leads to; it has to be that pod's own.

    No part of the API: it stands in a spec for the EphemeralVolume where a release reads those
    (``clusterstate.volumes.ephemeral_claims``).
    """

    claim_name: str
    pod_name: str
    pod_uid: str


class ImageVolume(msgspec.Struct, frozen=True):
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
