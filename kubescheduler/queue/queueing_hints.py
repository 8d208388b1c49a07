"""Which events let the plugins of 1.36 hope that a pod they rejected fits now.

What each plugin registers stands with the plugin. Hints are coarser than the release's where telling exactly needs the
whole cluster: they hope too often rather than too seldom.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from clusterstate.objects import Pod
from clusterstate.selectors.matching import SelectorError, compile_label_selector
from kubescheduler.queue.cluster_events import ASSIGNED_POD, NODE, POD, Action, ClusterEvent, matches

if TYPE_CHECKING:
    from clusterstate.objects import LabelSelector
    from kubescheduler.queue.queue_listener import QueueListener

Hint = Callable[[Pod, ClusterEvent], bool]
"""Of (the pod that waits, an event that matches): whether the pod may fit now."""


class Registered(msgspec.Struct, frozen=True, eq=False):
    """Events after which a plugin hopes that a pod it rejected fits."""

    resource: str
    """What the event is about, ``*`` for anything."""
    action: Action
    """What was done to it, any of these."""
    hint: Hint | None = None
    """Whether a single event may help; None: each of them."""
    own: bool = False
    """Only events of the waiting pod itself."""


EVERYTHING = (Registered("*", Action.ALL),)
"""Of extenders, and of plugins that register nothing."""


# --- what several plugins register -----------------------------------------------------------

NEW_OR_LABELLED = Registered(NODE, Action.ADD | Action.NODE_LABEL)
"""A node that is new or has other labels."""
OWN_TOLERATIONS = Registered(POD, Action.POD_TOLERATION, own=True)
"""The waiting pod tolerates other taints."""


def may_be_claimed(waiting: Pod, event: ClusterEvent) -> bool:
    """Whether the claim is in the namespace of the pod, which uses volumes: it may be the pod's."""
    return bool(waiting.spec.volumes) and waiting.metadata.namespace == event.new.metadata.namespace


def picks(selector: LabelSelector | None, pod: Pod) -> bool:
    """Whether a selector picks a pod; one that cannot be read picks none."""
    try:
        return compile_label_selector(selector)(pod.metadata.labels)
    except SelectorError:
        return False


# --- whether an event may help ---------------------------------------------------------------


class Hopes:
    """Whether an event may help a pod that some plugins rejected."""

    def __init__(self, events: Mapping[str, tuple[Registered, ...]]) -> None:
        """events: plugin → what it registers; every event may help a pod that any other plugin rejected."""
        self._events = {plugin: tuple(_with_taints(registered)) for plugin, registered in events.items()}
        self.listener: QueueListener | None = None
        """What is told of each plugin that is asked."""

    def any(self, pod: Pod, rejectors: Collection[str], event: ClusterEvent) -> bool:
        """Whether any of the plugins that rejected a pod hopes that it fits now."""
        return any(
            self._hopes(plugin, registered, pod, event)
            for plugin in rejectors
            for registered in self._events.get(plugin, EVERYTHING)
        )

    def _hopes(self, plugin: str, registered: Registered, pod: Pod, event: ClusterEvent) -> bool:
        if not matches(registered.resource, registered.action, event):
            return False
        if registered.own and event.own != pod.key:
            return False
        if self.listener is None:
            return self._asked(registered, pod, event)
        started = self.listener.now()
        queues = self._asked(registered, pod, event)
        self.listener.hinted(plugin, event, queues, self.listener.now() - started)
        return queues

    def _asked(self, registered: Registered, pod: Pod, event: ClusterEvent) -> bool:
        if registered.hint is None or event.own == pod.key:
            return True
        about_pods = registered.resource != POD or event.resource == ASSIGNED_POD
        return about_pods and registered.hint(pod, event)


def _with_taints(registered: tuple[Registered, ...]) -> Iterator[Registered]:
    """A plugin that registers for new nodes gets changed taints too: they may have kept a node from it."""
    yield from registered
    nodes = [r for r in registered if r.resource == NODE]
    if any(r.action & Action.ADD for r in nodes) and not any(r.action & Action.NODE_TAINT for r in nodes):
        yield Registered(NODE, Action.NODE_TAINT)
