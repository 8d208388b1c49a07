"""Which workloads have pods that fit nowhere, by which plugin, and since when: metrics of ours, beside the release's.

Nothing is exported of them while every pod fits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from clusterstate.workload_names import workloads_of
from kubescheduler.live.observers import UnschedulablePod

MOST = 200
"""Workloads that are named; the pods of those with the fewest count under ``OTHERS``."""
OTHERS = "(others)"

PODS, SINCE = "kubescheduler_unschedulable_pods", "kubescheduler_unschedulable_since_timestamp_seconds"


class UnschedulableWorkloads(Collector):
    """Counts them when somebody asks."""

    def __init__(self, unschedulable: Callable[[], Iterable[UnschedulablePod]]) -> None:
        """unschedulable: the pods that fit nowhere now; may be asked by any thread."""
        self._unschedulable = unschedulable

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """Both families. A pod that several plugins reject counts for each of them."""
        text = "Pods that fit nowhere, by workload and by the plugin that rejects them."
        yield GaugeMetricFamily(PODS, text, labels=("namespace", "workload", "plugin", "profile"))
        text = "Since when the oldest of the workload's pods that fit nowhere has been waiting, in seconds since 1970."
        yield GaugeMetricFamily(SINCE, text, labels=("namespace", "workload"))

    def collect(self) -> Iterator[Metric]:
        """As it is now."""
        found = list(self._unschedulable())
        names = [
            (one.pod.metadata.namespace, workload)
            for one, workload in zip(found, workloads_of((one.pod for one in found), ()), strict=True)
        ]
        named = {name for name, _ in Counter(names).most_common(MOST)}
        counts = Counter[tuple[str, str, str, str]]()
        oldest: dict[tuple[str, str], float] = {}
        for name, one in zip(names, found, strict=True):
            shown = name if name in named else ("", OTHERS)
            for plugin in one.plugins or {""}:
                counts[(*shown, plugin, one.pod.spec.scheduler_name)] += 1
            oldest[shown] = min(oldest.get(shown, one.since), one.since)
        pods, since = self.describe()
        for labels, count in counts.items():
            pods.add_metric(labels, count)
        for shown, moment in oldest.items():
            since.add_metric(shown, moment)
        yield pods
        yield since
