"""What the process of a target release has: locks, addresses, flags."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from kubescheduler.config.component.config_schema import V1, V1BETA1
from kubescheduler.config.gates import ReleaseGates
from kubescheduler.live.flags.release_flags import FLAGS_1_20, FLAGS_1_36
from kubescheduler.releases import v1_20, v1_36

LOGGING = (
    "logtostderr",
    "alsologtostderr",
    "log-dir",
    "log-file",
    "log-file-max-size",
    "stderrthreshold",
    "log-backtrace-at",
    "skip-headers",
    "skip-log-headers",
    "add-dir-header",
    "experimental-logging-sanitization",
)
"""Flags of the logging library that 1.36 no longer has."""


class TargetProcess(msgspec.Struct, frozen=True, eq=False):
    """How a target release is run."""

    name: str
    version: str
    """The last part of the apiVersion of its configuration."""
    locks: tuple[str, ...]
    """What leader election may lock on; the first is the default."""
    plain_http: bool
    """Whether it serves health and metrics without TLS, at the addresses of its configuration."""
    flags: frozenset[str]
    """Every flag that it knows."""
    gates: ReleaseGates
    """The feature gates that concern scheduling."""


PROCESSES: Mapping[str, TargetProcess] = {
    V1BETA1: TargetProcess(
        name="1.20",
        version="v1beta1",
        locks=("leases", "endpoints", "configmaps", "endpointsleases", "configmapsleases"),
        plain_http=True,
        flags=frozenset(flag.name for flag in FLAGS_1_20),
        gates=v1_20.GATES,
    ),
    V1: TargetProcess(
        name="1.36",
        version="v1",
        locks=("leases",),
        plain_http=False,
        flags=frozenset(flag.name for flag in FLAGS_1_36),
        gates=v1_36.GATES,
    ),
}
"""The apiVersion that a target release writes → its process."""
