"""A profile: which plugins run at which point, with what weights and args."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

import msgspec


class Point(enum.Enum):
    """An extension point; the value is its member name in a profile's ``plugins``."""

    __hash__ = object.__hash__  # that of an enumeration is worked out from its name each time

    PRE_ENQUEUE = "preEnqueue"
    QUEUE_SORT = "queueSort"
    PRE_FILTER = "preFilter"
    FILTER = "filter"
    POST_FILTER = "postFilter"
    PRE_SCORE = "preScore"
    SCORE = "score"
    RESERVE = "reserve"
    PERMIT = "permit"
    PRE_BIND = "preBind"
    BIND = "bind"
    POST_BIND = "postBind"
    PLACEMENT_GENERATE = "placementGenerate"
    PLACEMENT_SCORE = "placementScore"

    @property
    def kind(self) -> str:
        """What error texts call a plugin of this point, as ``PreFilterPlugin``."""
        return f"{self.value[0].upper()}{self.value[1:]}Plugin"


METHODS: dict[Point, tuple[str, ...]] = {
    Point.PRE_ENQUEUE: ("pre_enqueue",),
    Point.QUEUE_SORT: ("less",),
    Point.PRE_FILTER: ("pre_filter",),
    Point.FILTER: ("filter", "filter_nodes"),
    Point.POST_FILTER: ("post_filter",),
    Point.PRE_SCORE: ("pre_score",),
    Point.SCORE: ("score", "score_nodes"),
    Point.RESERVE: ("reserve",),
    Point.PERMIT: ("permit",),
    Point.PRE_BIND: ("pre_bind",),
    Point.BIND: ("bind",),
    Point.POST_BIND: ("post_bind",),
    Point.PLACEMENT_GENERATE: ("generate_placements",),
    Point.PLACEMENT_SCORE: ("score_placement",),
}
"""Point → the methods by any of which a class takes part in it."""


DEFAULT_SCHEDULER_NAME = "default-scheduler"


ALL = "*"
"""In a disabled list: every default."""


class Enabled(msgspec.Struct, frozen=True):
    """An entry of an enabled list; weight 0: not given."""

    name: str
    weight: int = 0


class PluginSet(msgspec.Struct, frozen=True):
    """What a profile says of one point, or of multiPoint; ``*`` in disabled stands for all defaults."""

    enabled: tuple[Enabled, ...] = ()
    disabled: tuple[str, ...] = ()


class Profile(msgspec.Struct, frozen=True, eq=False):
    """One profile of a completed configuration."""

    scheduler_name: str = DEFAULT_SCHEDULER_NAME
    plugins: Mapping[Point, tuple[Enabled, ...]] = msgspec.field(default_factory=dict)
    """Point → its plugins in the order they run, after merging with the defaults and, in 1.36, after multiPoint was
    expanded.
    """
    multi_point: tuple[Enabled, ...] = ()
    """In 1.36 the merged multiPoint list, whose weights count where the score point names none."""
    plugin_config: tuple[tuple[str, Any], ...] = ()
    """(plugin, args) in order, defaults filled in; args is the plugin's record, or the mapping as written
    for a plugin without one.
    """
    percentage_of_nodes_to_score: int | None = None
    """How many of the nodes are looked at; None: the configuration's value counts."""
    run_all_filters: bool = False
    """A 1.20 policy's alwaysCheckAllPredicates."""
    sets: Mapping[str, PluginSet] = msgspec.field(default_factory=dict)
    """Member of ``plugins`` → the set a configuration names there; empty: ``plugins`` of this record says it all."""


class LeaderElection(msgspec.Struct, frozen=True):
    """Durations in nanoseconds."""

    leader_elect: bool = True
    lease_duration_ns: int = 15_000_000_000
    renew_deadline_ns: int = 10_000_000_000
    retry_period_ns: int = 2_000_000_000
    resource_lock: str = "leases"
    resource_namespace: str = "kube-system"
    resource_name: str = "kube-scheduler"


class ClientConnection(msgspec.Struct, frozen=True):
    """How the API server is talked to."""

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = "application/vnd.kubernetes.protobuf"
    qps: float = 50
    """Requests per second."""
    burst: int = 100


class SchedulerConfig(msgspec.Struct, frozen=True, eq=False):
    """A completed KubeSchedulerConfiguration as the scheduler uses it; backoffs in seconds."""

    release: str
    profiles: tuple[Profile, ...]
    extenders: tuple[Any, ...] = ()
    """Configurations in the order they are asked, ignorable ones last."""
    percentage_of_nodes_to_score: int = 0
    pod_initial_backoff_seconds: int = 1
    pod_max_backoff_seconds: int = 10
    parallelism: int = 16
    provider: str = "DefaultProvider"
    """In 1.20 the algorithm provider of the profiles."""
    leader_election: LeaderElection = LeaderElection()
    client_connection: ClientConnection = ClientConnection()
    enable_profiling: bool = True
    enable_contention_profiling: bool = True
    healthz_bind_address: str = "0.0.0.0:10251"
    """1.20."""
    metrics_bind_address: str = "0.0.0.0:10251"
    """1.20."""
    disable_preemption: bool = False
    """v1alpha2: nothing is taken away for a pod."""
    bind_timeout_seconds: int = 600
    """v1alpha2: how long claims may take to be bound."""
    delay_cache_until_active: bool = False
    """1.36."""
    notes: tuple[str, ...] = ()
    """What someone who wrote the configuration may not expect."""
    document: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """The completed configuration as it would be written, in its own API version."""
