"""What a mirror stands for on a command line."""

from __future__ import annotations

from collections.abc import Mapping

from kubescheduler.api.cluster import Cluster
from kubescheduler.cli.engine_options import remark
from kubescheduler.simulation.mirrored_traffic import MirroredTraffic
from kubescheduler.simulation.workload import Workload


def mirrored_inputs(path: str, release: str, gates: Mapping[str, bool] | None = None) -> tuple[Cluster, Workload]:
    """The cluster as it was at the start, and what came to it; notes go to standard error. Raises DecodeError."""
    traffic = MirroredTraffic.read(path)
    found = Cluster(*traffic.start(), release=release, defaulting=False, validate="ignore", gates=gates)
    workload, notes = traffic.workload(found.objects)
    for note in notes:
        remark(note)
    return found, workload
