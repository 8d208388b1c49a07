"""DefaultBinder: binds the pod through the API."""

from __future__ import annotations

from typing import Any

import msgspec

from clusterstate.errors import SchedulingError
from clusterstate.objects import Pod
from kubescheduler.core.status import Status
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.handle import Handle
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import InTreePlugin

NAME = "DefaultBinder"
POINTS = frozenset({Point.BIND})


class DefaultBinder(msgspec.Struct, frozen=True, eq=False):
    """Upstream: 1.20 and 1.36 DefaultBinder."""

    handle: Handle
    name: str = NAME
    points: frozenset[Point] = POINTS

    def bind(self, _: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Binds through the API; without a client there is nothing to do."""
        client = self.handle.client
        if client is None:
            return None
        try:
            client.bind(pod, node_name)
        except SchedulingError as error:
            return Status.failure(str(error))
        return None

    def binds_at_once(self, pod: Pod) -> bool:  # noqa: ARG002
        """One request to the API is all that it takes."""
        return True


def default_binder(_: Any, handle: Handle) -> DefaultBinder:
    """Writes the Binding. Without an API server the pod is placed in the cluster in memory.

    Upstream: 1.20 and 1.36 DefaultBinder.
    """
    return DefaultBinder(handle)


# --- what it is in each release ---------------------------------------------------------------

PLUGIN_1_20 = InTreePlugin(NAME, POINTS, default_binder)
PLUGIN_1_36 = InTreePlugin(NAME, POINTS, default_binder)
