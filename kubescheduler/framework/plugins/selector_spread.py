"""SelectorSpread: away from the pods of the same services and controllers."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec

from clusterstate.changes import LOCAL, Reads
from clusterstate.footprint import Footprint
from clusterstate.selectors.pod_owners import default_selector_1_20, default_selector_1_36
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.plugin import ColumnPlugin
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import InTreePlugin
from priorities.selector_spread import (
    FindSelector,
    is_unselected_1_20,
    matching_pods_1_20,
    not_spread,
    prepare_1_20,
    selector_spread_evidence_1_20,
    spread_scores_1_20,
)
from priorities.types import PriorityConfig

NAME = "SelectorSpread"
POINTS = frozenset({Point.PRE_SCORE, Point.SCORE})
UNPREPARED = 'error reading "PreScoreSelectorSpread" from cycleState: not found'


def selector_spread_1_20(_: Any, __: Handle) -> ColumnPlugin:
    """Away from the pods of the same services and controllers: 100·(most - count)/most on the node, and two thirds of
    the same for its zone. Part of the profiles only when feature gate DefaultPodTopologySpread is off.

    Upstream: 1.20 SelectorSpread.
    """
    return _plugin(default_selector_1_20)


def selector_spread_1_22(_: Any, __: Handle) -> ColumnPlugin:
    """Of controllers only the pod's own counts.

    Upstream: 1.22 SelectorSpread.
    """
    return _plugin(default_selector_1_36)


def selector_spread_1_23(_: Any, __: Handle) -> ColumnPlugin:
    """As in 1.22; the error where PreScore has not run is worded otherwise.

    Upstream: 1.23 SelectorSpread.
    """
    return msgspec.structs.replace(_plugin(default_selector_1_36), score_alone=UNPREPARED.removeprefix("error "))


def _plugin(find: FindSelector) -> ColumnPlugin:
    unselected = partial(is_unselected_1_20, find=find)
    scoring = PriorityConfig(
        NAME,
        partial(matching_pods_1_20, find=find),
        spread_scores_1_20,
        Footprint(LOCAL | Reads.SERVICES, pod_key=find, unaffected_by_pods=unselected),
        constant=not_spread,
        evidence=selector_spread_evidence_1_20(find),
        prepare=partial(prepare_1_20, find=find),
    )
    return ColumnPlugin(NAME, POINTS, scoring=scoring, score_alone=UNPREPARED)


OLD_NAME = "DefaultPodTopologySpread"


def default_pod_topology_spread_1_18(_: Any, __: Handle) -> ColumnPlugin:
    """SelectorSpread under its first name. Pods count that all selectors match.

    Upstream: 1.18 DefaultPodTopologySpread.
    """
    made = selector_spread_1_20(None, __)
    assert made.scoring is not None
    scoring = msgspec.structs.replace(made.scoring, name=OLD_NAME)
    return ColumnPlugin(
        OLD_NAME, POINTS, scoring=scoring, score_alone=f'error reading "PreScore{OLD_NAME}" from cycleState: not found'
    )


# --- what it is in each release ---------------------------------------------------------------

PLUGIN_1_18 = InTreePlugin(OLD_NAME, POINTS, default_pod_topology_spread_1_18, default_weight=1)
PLUGIN_1_20 = InTreePlugin(NAME, POINTS, selector_spread_1_20, default_weight=1)
PLUGIN_1_22 = InTreePlugin(NAME, POINTS, selector_spread_1_22, default_weight=1)
PLUGIN_1_23 = InTreePlugin(NAME, POINTS, selector_spread_1_23, default_weight=1)
