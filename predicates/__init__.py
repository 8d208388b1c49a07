"""Who fits: one family of predicates a file; every one of them in ``FIT_PREDICATES``.

CheckNodeLabelPresence and CheckServiceAffinity are made from a policy's own argument: see ``labels`` and
``service_affinity``.
"""

from __future__ import annotations

from predicates.conditions import CONDITIONS
from predicates.csi_volumes import CSI_VOLUMES
from predicates.disks import DISKS
from predicates.general import GENERAL
from predicates.interpod import INTERPOD
from predicates.node_identity import NODE_IDENTITY
from predicates.ports import PORTS
from predicates.resources import RESOURCES
from predicates.spread import SPREAD
from predicates.taints import TAINTS
from predicates.types import FitPredicateFactory
from predicates.volume_binding import VOLUME_BINDING
from predicates.volume_counts import VOLUME_COUNTS
from predicates.volume_zone import VOLUME_ZONE

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
"""Name → factory, of every predicate that needs no argument."""
