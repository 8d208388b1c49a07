"""What a release's process exports: one record of everything in which it differs from the others."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from prometheus_client.registry import Collector

from kubescheduler.live.contract.rest_observer import RestObserver
from kubescheduler.live.metrics.loop_metrics import LoopMetrics
from kubescheduler.live.metrics.loop_metrics_1_16 import LoopMetrics116
from kubescheduler.live.metrics.loop_names import LoopNames
from kubescheduler.live.metrics.machine_collectors import AddressSpace
from kubescheduler.live.metrics.metric_family import Family
from kubescheduler.live.metrics.metrics_registry import MetricsRegistry

Says = Callable[[str], None]
"""Writes a line of the log."""


class ReleaseMetrics(msgspec.Struct, frozen=True, eq=False):
    """The metrics of one release."""

    version: str
    """As ``v1.36.2``: hidden is what an earlier minor release deprecated."""
    families: tuple[Family, ...]
    """On ``/metrics``."""
    loop: Callable[[MetricsRegistry, Says], LoopMetrics | LoopMetrics116]
    """Makes what observes the loop, of a registry and a log."""
    rest: Callable[[MetricsRegistry, str], RestObserver]
    """Makes what observes requests, of a registry and the server's URL."""
    names: LoopNames | None = None
    """Of what is read when somebody asks; None: nothing is."""
    health: tuple[Family, ...] = ()
    """On ``/metrics/slis``."""
    resources: str = ""
    """The prefix of the help texts on ``/metrics/resources``."""
    resets: tuple[str, ...] = ()
    """The metrics that ``DELETE /metrics`` resets; none named: all."""
    collectors: tuple[Collector, ...] = (AddressSpace(),)
    """What is read of the machine, besides what prometheus_client reads."""
