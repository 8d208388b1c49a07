"""Values that a manifest may have in the newest API, and that the API server of a release refuses.

Fields are another matter: a server drops those that it does not know, so they are read whatever the release is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from clusterstate.pod_view_1_36 import COMPARISONS

if TYPE_CHECKING:
    from clusterstate.manifests.strictness import AcceptedValues

EQUALITY = ("Exists", "Equal")
SHARED = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany")
CLAIM, VOLUME = ("PersistentVolumeClaimSpec", "accessModes"), ("PersistentVolumeSpec", "accessModes")
TOLERATION = ("Toleration", "operator")

BEFORE_SINGLE_POD = {
    TOLERATION: (EQUALITY, "comparing values came with 1.35"),
    CLAIM: (SHARED, "ReadWriteOncePod came with 1.22"),
    VOLUME: (SHARED, "ReadWriteOncePod came with 1.22"),
}
WITHOUT_SCTP = (("TCP", "UDP"), "SCTP came with 1.12")


def accepted_1_4(gates: Mapping[str, bool]) -> AcceptedValues:  # noqa: ARG001
    """Neither SCTP nor volumes for single pods, and tolerations that compare nothing."""
    return {**BEFORE_SINGLE_POD, ("ContainerPort", "protocol"): WITHOUT_SCTP, ("ServicePort", "protocol"): WITHOUT_SCTP}


def accepted_1_16(gates: Mapping[str, bool]) -> AcceptedValues:  # noqa: ARG001
    """1.16 and 1.20: no volumes for single pods, and tolerations that compare nothing."""
    return BEFORE_SINGLE_POD


def accepted_1_36(gates: Mapping[str, bool]) -> AcceptedValues:
    """Tolerations compare where the gate says so. Upstream: 1.36 validateTolerations."""
    if gates.get(COMPARISONS, False):
        return {}
    return {TOLERATION: (EQUALITY, f"comparing values takes the feature gate {COMPARISONS}")}
