"""What a plugin that comes with the scheduler says of itself, release by release.

Everything that lists plugins derives from these records: which there are, where they take part, which args they read,
which events let a pod be tried again, and their pages of the documentation.
"""

from __future__ import annotations

import msgspec

from kubescheduler.framework.args.args_type import ArgsType
from kubescheduler.framework.contract.plugin import PluginFactory
from kubescheduler.framework.contract.profile import Point
from kubescheduler.queue.queueing_hints import Registered

UNSCHEDULABLE = "Unschedulable"
UNRESOLVABLE = "UnschedulableAndUnresolvable"
BY_NODE = f"{UNSCHEDULABLE} or {UNRESOLVABLE}"
"""The code of a reason differs from node to node."""


class PluginReason(msgspec.Struct, frozen=True):
    """A reason for which a plugin refuses a pod or a node."""

    text: str
    """With ``<NAME>`` for what varies."""
    code: str
    """The name of its status' code, ``BY_NODE`` where it depends on the node."""
    point: str = "Filter"
    """Where it is given; several points are separated by commas."""


class InTreePlugin(msgspec.Struct, frozen=True, eq=False):
    """A plugin of one release, as the plugin's own file states it."""

    name: str
    """As configurations name it."""
    points: frozenset[Point]
    """Where it takes part."""
    make: PluginFactory
    """Makes the plugin of its args and a Handle.

    Its docstring says what the plugin does (``algorithmprovider.rule_docs``): that of the newest release in full, that
    of an older one what differs there.
    """
    args: ArgsType | None = None
    """The args that it reads; None: it has none of a type of its own, and gets what the configuration says as it is."""
    reasons: tuple[PluginReason, ...] = ()
    """Why it refuses pods and nodes."""
    default_weight: int = 0
    """The weight of its score in the default lists of the release; 0: it is listed without a weight."""
    gate: str = ""
    """The feature gate without which the default lists leave it out; empty: they have it always, or never."""
    gate_default: bool = True
    """Whether that gate is on when nothing is said of it."""
    events: tuple[Registered, ...] | None = None
    """1.36: the events, with the gates' defaults, after which a pod that it refused may fit.

    None: it registers nothing, so every event counts.
    """
