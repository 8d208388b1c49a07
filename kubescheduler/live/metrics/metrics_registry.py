"""MetricsRegistry: the metrics of one process, in the families of its release."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from prometheus_client import CollectorRegistry

from kubescheduler.live.metrics.exposition import exposition
from kubescheduler.live.metrics.instruments import Instrument
from kubescheduler.live.metrics.metric_family import Family, Visibility


class MetricsRegistry:
    """Makes instruments by name, and writes what they counted. Nothing is shared with other registries."""

    def __init__(self, families: Iterable[Family], visibility: Visibility) -> None:
        self._all = tuple(families)
        self._shown: Mapping[str, Family] = {f.name: f for f in self._all if visibility.shows(f)}
        self._visibility = visibility
        self._refreshers: list[Callable[[], None]] = []
        self.collectors = CollectorRegistry()
        """For collectors of what is not counted as it happens."""
        self._instruments = {name: Instrument(family, self.collectors) for name, family in self._shown.items()}

    def instrument(self, name: str) -> Instrument:
        """By the name of a metric; one that does nothing where the release has no such metric or does not show it."""
        return self._instruments.get(name) or Instrument(None, self.collectors)

    def refresh_with(self, refresh: Callable[[], None]) -> None:
        """Has gauges brought up to date before anything is written."""
        self._refreshers.append(refresh)

    def text(self) -> bytes:
        """All metrics, as Prometheus reads them."""
        for refresh in self._refreshers:
            refresh()
        return exposition(self.collectors, (name for name, family in self._shown.items() if family.kind == "counter"))

    def reset(self, *names: str) -> None:
        """Begins anew: of the metrics of these names, or of all."""
        for name, instrument in self._instruments.items():
            if not names or name in names:
                instrument.reset()

    @property
    def hidden(self) -> list[Family]:
        """The families that are too old to be shown."""
        return [family for family in self._all if self._visibility.hides(family)]

    @property
    def disabled(self) -> list[Family]:
        """The families that are not wanted."""
        return [family for family in self._all if family.name in self._visibility.disabled]

    @property
    def shown(self) -> list[Family]:
        """The families that are exported."""
        return list(self._shown.values())
