"""What releases 1.20 and 1.36 check alike in a whole configuration, each giving its own texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from kubescheduler.framework.args.field_errors import DUPLICATE, INVALID, FieldError, invalid, required

if TYPE_CHECKING:
    from kubescheduler.framework.contract.profile import LeaderElection, Profile, SchedulerConfig

PERCENT = range(101)

Show = Callable[[int], str]
"""A duration in nanoseconds as the release shows it."""


def client_errors(config: SchedulerConfig) -> Iterator[FieldError]:
    """Upstream: ValidateClientConnectionConfiguration."""
    if config.client_connection.burst < 0:
        yield invalid("clientConnection.burst", config.client_connection.burst, "must be non-negative")


def lease_errors(election: LeaderElection, show: Show, *, equal: bool, order_text: str) -> Iterator[FieldError]:
    """The durations of leader election. equal: the lease may last as long as the deadline for its renewal."""
    durations = {
        "leaseDuration": election.lease_duration_ns,
        "renewDeadline": election.renew_deadline_ns,
        "retryPeriod": election.retry_period_ns,
    }
    for name, nanoseconds in durations.items():
        if nanoseconds <= 0:
            yield FieldError(f"leaderElection.{name}", "must be greater than zero", INVALID, show(nanoseconds))
    lease, renew = election.lease_duration_ns, election.renew_deadline_ns
    if lease < renew or (lease == renew and not equal):
        yield FieldError("leaderElection.leaseDuration", order_text, INVALID, show(renew))


def lock_names(election: LeaderElection) -> dict[str, str]:
    """The names that a lock must have, in the order they are checked."""
    return {
        "resourceLock": election.resource_lock,
        "resourceNamespace": election.resource_namespace,
        "resourceName": election.resource_name,
    }


def parallelism_errors(config: SchedulerConfig) -> Iterator[FieldError]:
    """The number of parallel workers has to be positive."""
    if config.parallelism <= 0:
        yield invalid("parallelism", config.parallelism, "should be an integer value greater than zero")


def profile_errors(
    profiles: Sequence[Profile], check: Callable[[Profile], Iterator[FieldError]]
) -> Iterator[FieldError]:
    """Names, and what ``check`` says of each profile, with paths beginning at the profile."""
    if not profiles:
        yield required("profiles")
    places: dict[str, int] = {}
    for at, profile in enumerate(profiles):
        path = f"profiles[{at}]"
        if not profile.scheduler_name:
            yield required(f"{path}.schedulerName")
        yield from (error.under(path) for error in check(profile))
        if profile.scheduler_name in places:
            earlier = f"profiles[{places[profile.scheduler_name]}].schedulerName"
            yield FieldError(f"{path}.schedulerName", "", DUPLICATE, earlier)
        places[profile.scheduler_name] = at


def number_errors(config: SchedulerConfig) -> Iterator[FieldError]:
    """What is wrong with the percentage of nodes to score and with the back-off."""
    yield from percentage_errors("percentageOfNodesToScore", config.percentage_of_nodes_to_score)
    initial, most = config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds
    if initial <= 0:
        yield invalid("podInitialBackoffSeconds", initial, "must be greater than 0")
    if most < initial:
        yield invalid("podMaxBackoffSeconds", most, "must be greater than or equal to PodInitialBackoffSeconds")


def percentage_errors(path: str, percentage: int | None) -> Iterator[FieldError]:
    """A percentage that is not in 0 to 100."""
    if percentage is not None and percentage not in PERCENT:
        yield invalid(path, percentage, "not in valid range [0-100]")
