"""The servers of a dry run: those of the process for which it stands, without an election."""

from __future__ import annotations

import random
from collections.abc import Callable

import msgspec

from kubescheduler.live.dry_run.dry_run_process import DryRunMetrics, DryRunProcess
from kubescheduler.live.klog import LogLine
from kubescheduler.live.metrics.unschedulable_workloads import Hints, no_hints
from kubescheduler.live.metrics.workload_hints import RestingLoop, WorkloadHints
from kubescheduler.live.process.live_settings import LiveSettings
from kubescheduler.live.process.process_servers import ServedProcess, process_servers
from kubescheduler.live.serving.routes import MetricsSources, nothing
from kubescheduler.live.serving.scheduler_servers import SchedulerServers
from kubescheduler.live.wall_clock import WallClock


def dry_run_servers(
    settings: LiveSettings, metrics: DryRunMetrics, says: Callable[[str], None], process: DryRunProcess
) -> SchedulerServers:
    """The servers that settings ask for. says: writes a line of the log; those for details are left out."""
    assert settings.serving is not None
    metrics.waiting(lambda: process.shadow.undecided)
    metrics.process.unschedulable(process.shadow.unschedulable, _hints(settings, says, process))
    watched = metrics.process

    def log(line: LogLine) -> None:
        if not line.level:
            says(line.text)

    served = ServedProcess(
        is_overdue=lambda _: False,
        is_stopping=lambda: process.shadow.is_stopping,
        has_read=lambda: process.shadow.has_begun,
        log=log,
        outages=process.outages,
        keep=process.clients.append,
        clock=WallClock(),
        rng=random.Random(),
        metrics=MetricsSources(watched.text, nothing, watched.health.text, watched.reset),
        observed=lambda name, path, passed: watched.health.checked(name, path, passed=passed),
        access=watched.access,
    )
    election = msgspec.structs.replace(settings.election, leader_elect=False)
    return process_servers(msgspec.structs.replace(settings, election=election), settings.serving, served)


def _hints(settings: LiveSettings, says: Callable[[str], None], process: DryRunProcess) -> Hints:
    """What would help pods that fit nowhere, searched while the dry run rests."""
    if settings.hints is None:
        return no_hints
    shadow = process.shadow
    beside = RestingLoop(shadow.cache, shadow.ask, lambda: shadow.is_idle)

    def raised(doing: str, error: BaseException) -> None:
        says(f"{doing}: {error}")

    return WorkloadHints(settings.hints, beside, WallClock(), raised).of
