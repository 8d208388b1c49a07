"""Who fits: one family of predicates a file; every one of them in ``FIT_PREDICATES``.

CheckNodeLabelPresence and CheckServiceAffinity are made from a policy's own argument: see ``labels`` and
``service_affinity``.
"""

from __future__ import annotations

from predicates.conditions import CONDITIONS, CONDITIONS_1_4
from predicates.csi_volumes import CSI_VOLUMES
from predicates.disks import DISKS, DISKS_1_4
from predicates.general import GENERAL, GENERAL_1_4
from predicates.interpod import INTERPOD
from predicates.interpod_1_4 import INTERPOD_1_4
from predicates.node_identity import NODE_IDENTITY, NODE_IDENTITY_1_4
from predicates.ports import PORTS, PORTS_1_4
from predicates.resources import RESOURCES, RESOURCES_1_4
from predicates.spread import SPREAD
from predicates.taints import TAINTS, TAINTS_1_4
from predicates.types import FitPredicateFactory
from predicates.volume_binding import VOLUME_BINDING
from predicates.volume_counts import VOLUME_COUNTS
from predicates.volume_counts_1_4 import VOLUME_COUNTS_1_4
from predicates.volume_zone import VOLUME_ZONE, VOLUME_ZONE_1_4

FIT_PREDICATES: dict[str, FitPredicateFactory] = {
    **GENERAL,
    **RESOURCES,
    **NODE_IDENTITY,
    **PORTS,
    **TAINTS,
    **CONDITIONS,
    **DISKS,
    **VOLUME_COUNTS,
    **CSI_VOLUMES,
    **VOLUME_BINDING,
    **VOLUME_ZONE,
    **SPREAD,
    **INTERPOD,
}
"""Name → factory, of every predicate of 1.16 that needs no argument."""

FIT_PREDICATES_1_4: dict[str, FitPredicateFactory] = {
    **GENERAL_1_4,
    **RESOURCES_1_4,
    **NODE_IDENTITY_1_4,
    **PORTS_1_4,
    **DISKS_1_4,
    **TAINTS_1_4,
    **VOLUME_COUNTS_1_4,
    **VOLUME_ZONE_1_4,
    **CONDITIONS_1_4,
    **INTERPOD_1_4,
}
"""The same of 1.4."""
