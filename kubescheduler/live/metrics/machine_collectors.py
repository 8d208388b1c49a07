"""What the machine knows of the process, besides what prometheus_client reads. Upstream: client_golang's collector."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

UNLIMITED = float(2**64 - 1)
NETSTAT = Path("/proc/self/net/netstat")
"""Counters of the process's network, in pairs of lines: names, and values."""
TRAFFIC = {
    "InOctets": ("process_network_receive_bytes", "Number of bytes received by the process over the network."),
    "OutOctets": ("process_network_transmit_bytes", "Number of bytes sent by the process over the network."),
}
"""Counter of IpExt → (metric without ``_total``, help)."""


class AddressSpace(Collector):
    """How much memory the process may address."""

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """Its name."""
        text = "Maximum amount of virtual memory available in bytes."
        yield GaugeMetricFamily("process_virtual_memory_max_bytes", text)

    def collect(self) -> Iterator[Metric]:
        """Without a limit it is the largest number of 64 bits."""
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        for family in self.describe():
            family.add_metric([], UNLIMITED if limit == resource.RLIM_INFINITY else float(limit))
            yield family


class NetworkTraffic(Collector):
    """Bytes that came and went, of all processes that share the network: in a cluster those of the pod."""

    def __init__(self, source: Path = NETSTAT) -> None:
        """source: see NETSTAT; where it is not there, nothing is collected."""
        self._source = source

    def describe(self) -> Iterator[Metric]:
        """Its names."""
        for name, text in TRAFFIC.values():
            yield CounterMetricFamily(name, text)

    def collect(self) -> Iterator[Metric]:
        """Both counters, as they stand."""
        found = self._counters()
        for key, (name, text) in TRAFFIC.items():
            if key in found:
                yield CounterMetricFamily(name, text, value=float(found[key]))

    def _counters(self) -> dict[str, str]:
        try:
            lines = self._source.read_text(encoding="ascii").splitlines()
        except OSError:
            return {}
        names, *rest = [line.split() for line in lines if line.startswith("IpExt:")] or [[]]
        return dict(zip(names, rest[0], strict=False)) if rest else {}
