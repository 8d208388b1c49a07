"""What a dry run exports: agreement with the real scheduler, beside what every process has of its libraries."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from kubescheduler.live.dry_run.sightings import Agreement
from kubescheduler.live.metrics.metric_family import Family, counter, gauge
from kubescheduler.live.metrics.metrics_settings import MetricsSettings
from kubescheduler.live.metrics.process_metrics import ProcessMetrics
from kubescheduler.live.metrics.release_metrics import ReleaseMetrics

PODS, CAUSES = "kubescheduler_dry_run_pods_total", "kubescheduler_dry_run_causes_total"
WAITING = "kubescheduler_dry_run_waiting_pods"
AGREES, DIFFERS, DELETED = "agrees", "differs", "deleted"
DRY_RUN_FAMILIES: tuple[Family, ...] = (
    counter(
        PODS,
        "Attempts of the real scheduler: whether this configuration agrees or differs, or the pod was deleted before.",
        "result",
        stability="",
    ),
    counter(CAUSES, "Attempts of the real scheduler by the cause of the difference.", "cause", stability=""),
    gauge(WAITING, "Pods of which the real scheduler has said nothing yet, or that fit nowhere.", stability=""),
)
SCHEDULES = "scheduler_"
"""How the metrics begin of what a dry run does not do."""


class DryRunMetrics:
    """Implements AgreementObserver. Any thread may call it."""

    def __init__(self, rules: ReleaseMetrics, settings: MetricsSettings, says: Callable[[str], None]) -> None:
        """rules: of the release whose process it stands for; its metrics of a scheduler's loop are left out."""
        kept = (family for family in rules.families if not family.name.startswith(SCHEDULES))
        self.process = ProcessMetrics(
            msgspec.structs.replace(rules, families=(*DRY_RUN_FAMILIES, *kept)), settings, says
        )
        """What is not of the dry run alone."""
        registry = self.process.registry
        self._pods, self._causes = registry.instrument(PODS), registry.instrument(CAUSES)
        for result in (AGREES, DIFFERS, DELETED):
            self._pods.inc((result,), 0)

    def waiting(self, count: Callable[[], int]) -> None:
        """count: how many pods wait; asked for each scrape."""
        registry = self.process.registry
        registry.refresh_with(lambda: registry.instrument(WAITING).set(count()))

    def compared(self, agreement: Agreement) -> None:
        """An attempt of the real scheduler was compared."""
        self._pods.inc((AGREES if agreement.agrees else DIFFERS,))
        self._causes.inc((agreement.cause,))

    def deleted(self) -> None:
        """A pod was deleted before the real scheduler had said anything of it."""
        self._pods.inc((DELETED,))
