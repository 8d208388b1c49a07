"""Who fits: one family of predicates a file; every one of them in ``FIT_PREDICATES``.

CheckNodeLabelPresence and CheckServiceAffinity are made from a policy's own argument: see ``labels`` and
``service_affinity``.
"""

from __future__ import annotations

from predicates.conditions import CONDITIONS
from predicates.general import GENERAL
from predicates.node_identity import NODE_IDENTITY
from predicates.ports import PORTS
from predicates.resources import RESOURCES
from predicates.taints import TAINTS
from predicates.types import FitPredicateFactory

FIT_PREDICATES: dict[str, FitPredicateFactory] = {
    **GENERAL,
    **RESOURCES,
    **NODE_IDENTITY,
    **PORTS,
    **TAINTS,
    **CONDITIONS,
}
"""Name → factory, of every predicate that needs no argument."""
