"""What each framework release calls what is measured of its scheduler's loop."""

from __future__ import annotations

import msgspec


class LoopNames(msgspec.Struct, frozen=True):
    """The names of metrics, without the prefix ``scheduler_``; empty for what a release does not measure."""

    attempts: str = "schedule_attempts_total"
    attempt_seconds: str = "scheduling_attempt_duration_seconds"
    algorithm_seconds: str = "scheduling_algorithm_duration_seconds"
    preemption_seconds: str = ""
    """Of the PostFilter plugins."""
    binding_seconds: str = ""
    victims: str = "preemption_victims"
    preemptions: str = "preemption_attempts_total"
    pending: str = "pending_pods"
    goroutines: str = "goroutines"
    pod_seconds: str = "pod_scheduling_sli_duration_seconds"
    pod_attempts: str = "pod_scheduling_attempts"
    cache_size: str = "cache_size"
    every_decision: bool = True
    """Whether decisions that found no node count in ``algorithm_seconds``."""
    gates: bool = True
    """Whether pods that are held back count on their own."""
    since_first_try: bool = True
    """Whether ``pod_seconds`` begins with the first attempt; else when the pod came into the queue."""


NAMES_1_36 = LoopNames()
NAMES_1_20 = LoopNames(
    attempt_seconds="e2e_scheduling_duration_seconds",
    preemption_seconds="scheduling_algorithm_preemption_evaluation_seconds",
    binding_seconds="binding_duration_seconds",
    goroutines="scheduler_goroutines",
    pod_seconds="pod_scheduling_duration_seconds",
    cache_size="scheduler_cache_size",
    every_decision=False,
    gates=False,
    since_first_try=False,
)
