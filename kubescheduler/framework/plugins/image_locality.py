"""ImageLocality: a node is better the more bytes of the pod's images it already has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusterstate.changes import Reads
from clusterstate.footprint import Footprint, spec_alone
from clusterstate.podinfo import PodInfo
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import InTreePlugin
from kubescheduler.framework.plugins.signed_fields import sign_images
from priorities import image_locality as rule
from priorities.score_evidence import RuleEvidence
from priorities.types import Map, PriorityConfig

NAME = "ImageLocality"
POINTS = frozenset({Point.SCORE})
READS = Reads.NODE | Reads.ALL_NODES


def image_locality_1_18(_: Any, __: Handle) -> ColumnPlugin:
    """The score is 100 from 1000 MiB on, however many containers the pod has.

    Upstream: 1.18 ImageLocality.
    """
    return _plugin(rule.image_locality_1_18, rule.no_container, rule.IMAGE_LOCALITY_1_18_EVIDENCE)


def image_locality_1_20(_: Any, __: Handle) -> ColumnPlugin:
    """Images of init containers do not count, and there are no image volumes.

    Upstream: 1.20 ImageLocality.
    """
    return _plugin(rule.image_locality_1_20, rule.no_container, rule.IMAGE_LOCALITY_1_20_EVIDENCE)


def image_locality_1_30(_: Any, __: Handle) -> ColumnPlugin:
    """Image volumes do not count.

    Upstream: 1.30 ImageLocality.
    """
    return _plugin(rule.image_locality_1_30, rule.no_image_1_30, rule.IMAGE_LOCALITY_1_30_EVIDENCE)


def image_locality_1_36(_: Any, __: Handle) -> ColumnPlugin:
    """Adds up size·(nodes that have it / all nodes) over the pod's images, those of init containers and image volumes
    included. The sum is held between 23 MiB and 1000 MiB per container and stretched to 0–100, truncated.

    Upstream: 1.36 ImageLocality.
    """
    return _plugin(rule.image_locality_1_36, rule.no_image, rule.IMAGE_LOCALITY_1_36_EVIDENCE)


def _plugin(score: Map, constant: Callable[[PodInfo], int | None], evidence: RuleEvidence) -> ColumnPlugin:
    footprint = Footprint(READS, pod_key=spec_alone)
    scoring = PriorityConfig(NAME, score, footprint=footprint, constant=constant, evidence=evidence)
    return ColumnPlugin(NAME, POINTS, scoring=scoring, sign=sign_images)


# --- what it is in each release ---------------------------------------------------------------

PLUGIN_1_18 = InTreePlugin(NAME, POINTS, image_locality_1_18, default_weight=1)
PLUGIN_1_20 = InTreePlugin(NAME, POINTS, image_locality_1_20, default_weight=1)
PLUGIN_1_30 = InTreePlugin(NAME, POINTS, image_locality_1_30, default_weight=1)
PLUGIN_1_36 = InTreePlugin(NAME, POINTS, image_locality_1_36, default_weight=1)
