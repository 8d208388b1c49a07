"""What surrounds the decisions of releases without plugins: the queue, the cycles, and what is done at their points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from kubescheduler.cycle.cycle_plugins import NoPlugins
from kubescheduler.cycle.legacy_cycle_rules import CYCLE_1_4, CYCLE_1_16
from kubescheduler.cycle.volume_steps import VolumeSteps
from kubescheduler.queue.fifo_1_4 import FIFOQueue
from kubescheduler.queue.priority_queue_1_16 import SchedulingQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from clusterstate.cache import ClusterCache
    from kubescheduler.cycle.cycle_rules import ReleaseCycles
    from kubescheduler.cycle.pod_queue import PodQueue
    from kubescheduler.framework.running.framework_services import Services
    from kubescheduler.queue.priority_queue_1_16 import Clock


class LegacyLoop(msgspec.Struct, frozen=True, eq=False):
    """One release's loop, apart from its decisions."""

    queue: Callable[[Clock, ClusterCache], PodQueue]
    """Where pods wait to be tried; the clock counts seconds since the start."""
    cycle: ReleaseCycles
    """What happens to a pod between its decision and its node."""
    steps: Callable[[Services], NoPlugins]
    """What is done about the pod at the points of the cycle."""


LOOP_1_4 = LegacyLoop(queue=FIFOQueue, cycle=CYCLE_1_4, steps=NoPlugins)
LOOP_1_16 = LegacyLoop(queue=SchedulingQueue, cycle=CYCLE_1_16, steps=VolumeSteps)
