"""Who leads, since when and for how long: the record that all candidates read and write."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

Document = dict[str, Any]

LEADER_ANNOTATION = "control-plane.alpha.kubernetes.io/leader"
"""Where Endpoints and ConfigMaps keep the record."""


class LeaderRecord(msgspec.Struct, frozen=True):
    """Upstream: resourcelock.LeaderElectionRecord."""

    holder: str = ""
    """The leader's identity, empty when the lock was released."""
    seconds: int = 0
    """How long others leave it alone after they saw it change."""
    acquired: str = ""
    """RFC 3339."""
    renewed: str = ""
    """RFC 3339."""
    transitions: int = 0
    """How often another one took over."""


def lease_time(moment: datetime) -> str:
    """A moment as a Lease says it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def annotation_time(moment: datetime) -> str:
    """A moment as the annotation says it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def of_lease(document: Mapping[str, Any]) -> LeaderRecord:
    """The record that a Lease holds."""
    spec = document.get("spec") or {}
    return LeaderRecord(
        spec.get("holderIdentity") or "",
        spec.get("leaseDurationSeconds") or 0,
        spec.get("acquireTime") or "",
        spec.get("renewTime") or "",
        spec.get("leaseTransitions") or 0,
    )


def into_lease(document: Mapping[str, Any], record: LeaderRecord) -> Document:
    """A Lease as it was read, with another record."""
    spec = {
        **(document.get("spec") or {}),
        "holderIdentity": record.holder,
        "leaseDurationSeconds": record.seconds,
        "acquireTime": _fine(record.acquired),
        "renewTime": _fine(record.renewed),
        "leaseTransitions": record.transitions,
    }
    return {**document, "spec": spec}


def _fine(moment: str) -> str:
    """A moment with the microseconds without which no server takes a Lease."""
    return moment if "." in moment else moment.replace("Z", ".000000Z")


def of_annotation(document: Mapping[str, Any]) -> LeaderRecord:
    """The record in an annotation; an empty one where there is none. Raises ValueError for one that is no JSON."""
    text = ((document.get("metadata") or {}).get("annotations") or {}).get(LEADER_ANNOTATION)
    if not text:
        return LeaderRecord()
    found = msgspec.json.decode(text)
    return LeaderRecord(
        found.get("holderIdentity") or "",
        found.get("leaseDurationSeconds") or 0,
        found.get("acquireTime") or "",
        found.get("renewTime") or "",
        found.get("leaderTransitions") or 0,
    )


def into_annotation(document: Mapping[str, Any], record: LeaderRecord) -> Document:
    """An object as it was read, with another record in its annotation."""
    text = msgspec.json.encode(
        {
            "holderIdentity": record.holder,
            "leaseDurationSeconds": record.seconds,
            "acquireTime": record.acquired,
            "renewTime": record.renewed,
            "leaderTransitions": record.transitions,
        }
    ).decode()
    metadata = dict(document.get("metadata") or {})
    metadata["annotations"] = {**(metadata.get("annotations") or {}), LEADER_ANNOTATION: text}
    return {**document, "metadata": metadata}
