"""A profile: which plugins run at which point, with what weights and args."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from kubescheduler.framework.contract.points import Point

DEFAULT_SCHEDULER_NAME = "default-scheduler"


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
    """(plugin, args) in order, defaults filled in; args is a record of ``framework.args``, or the mapping as written
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
    delay_cache_until_active: bool = False
    """1.36."""
    notes: tuple[str, ...] = ()
    """What someone who wrote the configuration may not expect."""
    document: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """The completed configuration as it would be written, in its own API version."""
