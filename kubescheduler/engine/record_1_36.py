"""Release 1.36: plugins in profiles, said by a component configuration alone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from clusterstate.view_records import view_1_36
from kubescheduler.config.component.format_1_36 import FORMAT_1_36
from kubescheduler.config.gates import GATES_1_36
from kubescheduler.engine.accepted_values import accepted_1_36
from kubescheduler.engine.daemon_controllers import DAEMONS_1_36
from kubescheduler.engine.framework_rules import FrameworkRules
from kubescheduler.engine.release_queues import queue_1_36
from kubescheduler.engine.release_record import Release
from kubescheduler.extender.wire import WIRE_1_36
from kubescheduler.framework.contract.points import POINTS_1_36
from kubescheduler.framework.deciding.deciding_rules import DECIDING_1_36
from kubescheduler.framework.deciding.heap_tie import HeapTie
from kubescheduler.framework.profiles.in_tree_plugins import PLUGINS_1_36, events_by_plugin
from kubescheduler.framework.profiles.profile_map import PROFILES_1_36
from kubescheduler.sources.cluster_input import FILLING_1_36

if TYPE_CHECKING:
    from kubescheduler.cycle.cycle_rules import ReleaseCycles


def cycle_1_36() -> ReleaseCycles:
    """What happens between choosing a node and binding to it."""
    from kubescheduler.cycle.cycle_rules import CYCLE_1_36

    return CYCLE_1_36


FRAMEWORK_1_36 = FrameworkRules(
    plugins=PLUGINS_1_36,
    points=POINTS_1_36,
    profiles=PROFILES_1_36,
    deciding=DECIDING_1_36,
    cycle=cycle_1_36,
    queue=partial(queue_1_36, events=events_by_plugin(PLUGINS_1_36)),
    upstream_tie=HeapTie,
    wire=WIRE_1_36,
    component=FORMAT_1_36,
)

RELEASE = Release(
    name="1.36",
    gates=GATES_1_36,
    view=view_1_36,
    filling=FILLING_1_36,
    daemons=DAEMONS_1_36,
    accepted=accepted_1_36,
    top_score=100,
    framework=FRAMEWORK_1_36,
)
