"""Which workloads have pods that fit nowhere, by which plugin, since when, and what would help: metrics of ours, beside
the release's.

Nothing is exported of them while every pod fits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from clusterstate.objects import Pod
from clusterstate.workloads import workloads_of
from kubescheduler.live.metrics.workload_hints import KnownHint, Workload
from kubescheduler.live.observers import UnschedulablePod

MOST = 200
"""Workloads that are named; the pods of those with the fewest count under ``OTHERS``."""
OTHERS = "(others)"

PODS, SINCE = "kubescheduler_unschedulable_pods", "kubescheduler_unschedulable_since_timestamp_seconds"
HINT, HINT_AT = "kubescheduler_unschedulable_hint", "kubescheduler_unschedulable_hint_timestamp_seconds"

Hints = Callable[[Mapping[Workload, Pod]], Mapping[Workload, KnownHint]]
"""Of a pod of each workload, the most pods first: what is known of them."""


def no_hints(_: Mapping[Workload, Pod]) -> Mapping[Workload, KnownHint]:
    """Nobody searches."""
    return {}


class UnschedulableWorkloads(Collector):
    """Counts them when somebody asks."""

    def __init__(self, unschedulable: Callable[[], Iterable[UnschedulablePod]], hints: Hints = no_hints) -> None:
        """unschedulable: the pods that fit nowhere now; may be asked by any thread, as hints may."""
        self._unschedulable = unschedulable
        self._hints = hints

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """All families. A pod that several plugins reject counts for each of them."""
        text = "Pods that fit nowhere, by workload and by the plugin that rejects them."
        yield GaugeMetricFamily(PODS, text, labels=("namespace", "workload", "plugin", "profile"))
        text = "Since when the oldest of the workload's pods that fit nowhere has been waiting, in seconds since 1970."
        yield GaugeMetricFamily(SINCE, text, labels=("namespace", "workload"))
        text = "1, with the smallest change that would make the workload's oldest pod that fits nowhere fit."
        yield GaugeMetricFamily(HINT, text, labels=("namespace", "workload", "kind", "hint"))
        text = "Of which moment the workload's hint is true, in seconds since 1970."
        yield GaugeMetricFamily(HINT_AT, text, labels=("namespace", "workload"))

    def collect(self) -> Iterator[Metric]:
        """As it is now."""
        found = list(self._unschedulable())
        names = [
            (one.pod.metadata.namespace, workload)
            for one, workload in zip(found, workloads_of((one.pod for one in found), ()), strict=True)
        ]
        named = dict.fromkeys(name for name, _ in Counter(names).most_common(MOST))
        counts = Counter[tuple[str, str, str, str]]()
        oldest: dict[tuple[str, str], float] = {}
        for name, one in zip(names, found, strict=True):
            shown = name if name in named else ("", OTHERS)
            for plugin in one.plugins or {""}:
                counts[(*shown, plugin, one.pod.spec.scheduler_name)] += 1
            oldest[shown] = min(oldest.get(shown, one.since), one.since)
        pods, since, hint, hint_at = self.describe()
        for labels, count in counts.items():
            pods.add_metric(labels, count)
        for shown, moment in oldest.items():
            since.add_metric(shown, moment)
        by_age = sorted(zip(names, found, strict=True), key=lambda each: -each[1].since)
        first = {name: one.pod for name, one in by_age}
        for name, known in self._hints({name: first[name] for name in named}).items():
            hint.add_metric([*name, known.hint.kind, known.hint.text], 1)
            hint_at.add_metric(name, known.at)
        yield from (pods, since, hint, hint_at)
