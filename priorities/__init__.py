"""Who is best: one family of priorities a file; every one of them in ``PRIORITIES``.

ServiceAntiAffinity, LabelPreference and RequestedToCapacityRatio are also made from a policy's own argument: see
``service_anti_affinity``, ``node_label`` and ``capacity_ratio``.
"""

from __future__ import annotations

from priorities.capacity_ratio import CAPACITY_RATIO
from priorities.image_locality import IMAGE_LOCALITY
from priorities.interpod import INTERPOD
from priorities.node_affinity import NODE_AFFINITY
from priorities.node_label import NODE_LABEL
from priorities.prefer_avoid import PREFER_AVOID
from priorities.requested import REQUESTED
from priorities.resource_limits import RESOURCE_LIMITS
from priorities.selector_spread import SELECTOR_SPREAD
from priorities.spread import SPREAD
from priorities.taint_toleration import TAINT_TOLERATION
from priorities.types import PriorityConfigFactory

PRIORITIES: dict[str, PriorityConfigFactory] = {
    **SELECTOR_SPREAD,
    **INTERPOD,
    **REQUESTED,
    **NODE_AFFINITY,
    **NODE_LABEL,
    **TAINT_TOLERATION,
    **PREFER_AVOID,
    **IMAGE_LOCALITY,
    **CAPACITY_RATIO,
    **RESOURCE_LIMITS,
    **SPREAD,
}
"""Name → factory with its default weight, of every priority that needs no argument."""
