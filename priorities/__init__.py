"""Who is best: one family of priorities a file; every one of them in ``PRIORITIES``.

ServiceAntiAffinity, LabelPreference and RequestedToCapacityRatio are also made from a policy's own argument: see
``service_anti_affinity``, ``node_label`` and ``capacity_ratio``.
"""

from __future__ import annotations

from priorities.capacity_ratio import CAPACITY_RATIO
from priorities.image_locality import IMAGE_LOCALITY, IMAGE_LOCALITY_1_4
from priorities.interpod import INTERPOD
from priorities.interpod_1_4 import INTERPOD_1_4
from priorities.node_affinity import NODE_AFFINITY, NODE_AFFINITY_1_4
from priorities.node_label import NODE_LABEL
from priorities.prefer_avoid import PREFER_AVOID
from priorities.requested import REQUESTED, REQUESTED_1_4
from priorities.resource_limits import RESOURCE_LIMITS
from priorities.selector_spread import SELECTOR_SPREAD
from priorities.selector_spread_1_4 import SELECTOR_SPREAD_1_4
from priorities.spread import SPREAD
from priorities.taint_toleration import TAINT_TOLERATION, TAINT_TOLERATION_1_4
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
"""Name → factory with its default weight, of every priority of 1.16 that needs no argument."""

PRIORITIES_1_4: dict[str, PriorityConfigFactory] = {
    **SELECTOR_SPREAD_1_4,
    **INTERPOD_1_4,
    **REQUESTED_1_4,
    **NODE_AFFINITY_1_4,
    **NODE_LABEL,
    **TAINT_TOLERATION_1_4,
    **PREFER_AVOID,
    **IMAGE_LOCALITY_1_4,
}
"""The same of 1.4."""
