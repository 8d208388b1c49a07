"""What a plugin is.

Plugins that come with the scheduler judge all nodes at once: ``check`` is their PreFilter and Filter, ``scoring`` their
PreScore, Score and NormalizeScore. A custom plugin is any class with a ``name`` and the methods of the points
it takes part in (see ``points.METHODS``), called as upstream calls them::

    pre_enqueue(pod) -> Status | None
    less(first, second) -> bool                                  # QueuedPod with .pod and .timestamp
    pre_filter(state, pod, snapshot) -> Status | PreFilterResult | None
    add_pod(state, pod, added, node_info), remove_pod(state, pod, removed, node_info) -> Status | None
    filter(state, pod, node_info) -> Status | None               # one node
    filter_nodes(state, pod, snapshot) -> {reason: (n,) bool}    # all nodes at once; a reason may be a Status
    post_filter(state, pod, statuses) -> (node name | None, Status | None)   # "": no longer nominated
    pre_score(state, pod, snapshot of the feasible nodes) -> Status | None
    score(state, pod, node_info) -> int                          # one node, 0-100 after normalising
    score_nodes(state, pod, snapshot) -> (n,) int64              # the feasible nodes at once
    normalize_scores(state, pod, scores) -> (n,) int64
    reserve(state, pod, node_name) -> Status | None, unreserve(state, pod, node_name) -> None
    permit(state, pod, node_name) -> (Status | None, seconds)
    pre_bind_pre_flight(state, pod, node_name) -> Status | PreFlight | None      # 1.36
    pre_bind, bind(state, pod, node_name) -> Status | None
    post_bind(state, pod, node_name) -> None
    sign_pod(pod) -> {name: value} | Status | None               # 1.36; see OpportunisticBatch

A method that raises SchedulingError answers an Error status with that text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from clusterstate.errors import ConfigError
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.status import Status
from kubescheduler.framework.contract.profile import METHODS, Point
from predicates.types import FitPredicate
from priorities.types import PriorityConfig

if TYPE_CHECKING:
    from kubescheduler.framework.contract.handle import Handle


Fragments = Mapping[str, Any]
"""Name → what a plugin reads of a pod. Plugins that read the same thing use the same name; values are compared."""

Sign = Callable[["SignedPod"], Fragments | None]
"""What a plugin reads of a pod; None: the pod cannot be signed, as more than the pod and one node decides.

Upstream: 1.36 SignPlugin.SignPod.
"""


class SignedPod(msgspec.Struct, frozen=True, eq=False):
    """A pod that is to be signed."""

    pod: Pod
    info: PodInfo
    """Its class."""
    snapshot: Snapshot
    """The cluster of the attempt."""


def never_signed(_: SignedPod) -> None:
    """The sign of a plugin that can sign no pod at all."""


class Plugin(Protocol):
    """Anything with a name; what else it has decides where it takes part."""

    @property
    def name(self) -> str:
        """The name that profiles enable it by."""


class PreFilterResult(msgspec.Struct, frozen=True):
    """The names of the nodes that alone may be considered; None: all."""

    node_names: frozenset[str] | None = None


class PreFlight(msgspec.Struct, frozen=True):
    """What a PreBind plugin says before it is run (1.36)."""

    status: Status | None = None
    """None: it will work; Skip: it will not."""
    allow_parallel: bool = False
    """Whether it may run beside its neighbours that say so too."""


class Unresolvable(str):
    """A reason of ``filter_nodes`` that taking pods away cannot mend."""

    __slots__ = ()


class ColumnPlugin(msgspec.Struct, frozen=True, eq=False):
    """A plugin that judges or scores all nodes at once and does nothing else."""

    name: str
    """As configurations name it."""
    points: frozenset[Point]
    """Where it takes part."""
    check: FitPredicate | None = None
    """PreFilter and Filter."""
    scoring: PriorityConfig | None = None
    """PreScore, Score and NormalizeScore."""
    filter_alone: str | None = None
    """The error that Filter ends in when the profile does not enable the plugin's PreFilter; None: it needs none."""
    score_alone: str | None = None
    """The error that Score ends in when the profile does not enable the plugin's PreScore; None: it needs none."""
    sign: Sign | None = None
    """What it reads of a pod, for the pod's signature (1.36); None: with it no pod of the profile has one."""


METHOD_ARGUMENTS: dict[str, int] = {
    "pre_enqueue": 1,
    "less": 2,
    "pre_filter": 3,
    "add_pod": 4,
    "remove_pod": 4,
    "filter": 3,
    "filter_nodes": 3,
    "post_filter": 3,
    "pre_score": 3,
    "score": 3,
    "score_nodes": 3,
    "normalize_scores": 3,
    "reserve": 3,
    "unreserve": 3,
    "permit": 3,
    "pre_bind_pre_flight": 3,
    "pre_bind": 3,
    "bind": 3,
    "post_bind": 3,
    "sign_pod": 1,
}
"""Method of a custom plugin → how many arguments it is called with."""

PluginFactory = Callable[[Any, "Handle"], Plugin]
"""Of (args, handle). args: the plugin's args record; for a plugin without one the mapping that
the configuration gives, None without.  Raises ConfigError for args it cannot work with."""


def points_of(plugin: Any) -> Collection[Point]:
    """The points that a plugin, or its class, takes part in. Raises ConfigError for ``points`` that are none."""
    declared = getattr(plugin, "points", None)
    if declared is not None and not callable(declared) and not isinstance(declared, property):
        return _declared(plugin, declared)
    return frozenset(
        point for point, methods in METHODS.items() if any(callable(getattr(plugin, name, None)) for name in methods)
    )


def _declared(plugin: Any, points: Any) -> Collection[Point]:
    if isinstance(points, Collection) and all(isinstance(point, Point) for point in points):
        return points
    name = plugin.__name__ if isinstance(plugin, type) else type(plugin).__name__
    raise ConfigError(f"the points of {name} are members of Point, such as Point.FILTER, not {points!r}")


def filter_fault(plugin: Any, prepared: Collection[str]) -> str | None:
    """The text in which a plugin's Filter ends on every node, None when it works.

    prepared: the plugins whose PreFilter is enabled.
    """
    alone: str | None = getattr(plugin, "filter_alone", None)
    return None if plugin.name in prepared else alone


def score_fault(plugin: Any, prepared: Collection[str]) -> str | None:
    """The same of Score. prepared: the plugins whose PreScore is enabled."""
    alone: str | None = getattr(plugin, "score_alone", None)
    return None if plugin.name in prepared else alone
