"""What the API server of a release refuses of what a manifest may have in the newest API.

Fields are another matter: a server drops those that it does not know, so they are read whatever the release is.
"""

from __future__ import annotations

from collections.abc import Mapping

from clusterstate.manifests.schema.api_checks import CHECKS_1_4, CHECKS_1_16, CHECKS_1_20, CHECKS_1_36
from clusterstate.manifests.strictness import Accepted
from clusterstate.pod_view_1_36 import COMPARISONS

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


def accepted_1_4(gates: Mapping[str, bool]) -> Accepted:  # noqa: ARG001
    """Neither SCTP nor volumes for single pods, and tolerations that compare nothing."""
    ports = {("ContainerPort", "protocol"): WITHOUT_SCTP, ("ServicePort", "protocol"): WITHOUT_SCTP}
    return Accepted({**BEFORE_SINGLE_POD, **ports}, CHECKS_1_4)


def accepted_1_16(gates: Mapping[str, bool]) -> Accepted:  # noqa: ARG001
    """No volumes for single pods, and tolerations that compare nothing."""
    return Accepted(BEFORE_SINGLE_POD, CHECKS_1_16)


def accepted_1_20(gates: Mapping[str, bool]) -> Accepted:  # noqa: ARG001
    """The same values as 1.16."""
    return Accepted(BEFORE_SINGLE_POD, CHECKS_1_20)


def accepted_1_36(gates: Mapping[str, bool]) -> Accepted:
    """Tolerations compare where the gate says so. Upstream: 1.36 validateTolerations."""
    if gates.get(COMPARISONS, False):
        return Accepted(checks=CHECKS_1_36)
    values = {TOLERATION: (EQUALITY, f"comparing values takes the feature gate {COMPARISONS}")}
    return Accepted(values, CHECKS_1_36)
