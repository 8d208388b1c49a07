"""What a release's process exports: one record of everything in which it differs from the others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec
from prometheus_client.registry import Collector

from kubescheduler.live.contract.rest_observer import RestObserver
from kubescheduler.live.metrics.access_families import ACCESS_1_16, ACCESS_1_20, ACCESS_1_36
from kubescheduler.live.metrics.families_1_16 import FAMILIES_1_16
from kubescheduler.live.metrics.families_1_20 import FAMILIES_1_20
from kubescheduler.live.metrics.families_1_36 import FAMILIES_1_36
from kubescheduler.live.metrics.library_families import HEALTH_1_36, LIBRARIES_1_16, LIBRARIES_1_20, LIBRARIES_1_36
from kubescheduler.live.metrics.loop_metrics import LoopMetrics
from kubescheduler.live.metrics.loop_metrics_1_16 import SUMMARIES, LoopMetrics116
from kubescheduler.live.metrics.loop_names import NAMES_1_20, NAMES_1_36, LoopNames
from kubescheduler.live.metrics.machine_collectors import AddressSpace, NetworkTraffic
from kubescheduler.live.metrics.metric_family import Family
from kubescheduler.live.metrics.metrics_registry import MetricsRegistry
from kubescheduler.live.metrics.rest_metrics import RestMetricsByHost, RestMetricsByUrl

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


METRICS_1_16 = ReleaseMetrics(
    "v1.16.6", (*FAMILIES_1_16, *LIBRARIES_1_16, *ACCESS_1_16), LoopMetrics116, RestMetricsByUrl, resets=SUMMARIES
)
METRICS_1_20 = ReleaseMetrics(
    "v1.20.15",
    (*FAMILIES_1_20, *LIBRARIES_1_20, *ACCESS_1_20),
    partial(LoopMetrics, names=NAMES_1_20),
    RestMetricsByUrl,
    NAMES_1_20,
    resources="[ALPHA] ",
)
METRICS_1_36 = ReleaseMetrics(
    "v1.36.2",
    (*FAMILIES_1_36, *LIBRARIES_1_36, *ACCESS_1_36),
    partial(LoopMetrics, names=NAMES_1_36),
    RestMetricsByHost,
    NAMES_1_36,
    HEALTH_1_36,
    resources="[STABLE] ",
    collectors=(AddressSpace(), NetworkTraffic()),
)
