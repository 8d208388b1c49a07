"""Signatures of pods: two pods with the same one fit the same nodes and score alike on them (1.36)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot

Fragments = Mapping[str, Any]
"""Name → what a plugin reads of a pod. Plugins that read the same thing use the same name; values are compared."""

Sign = Callable[["SignedPod"], Fragments | None]
"""What a plugin reads of a pod; None: the pod cannot be signed, as more than the pod and one node decides.

Upstream: 1.36 SignPlugin.SignPod.
"""


class SignedPod(msgspec.Struct, frozen=True, eq=False):
    """A pod that is to be signed."""

    pod: Pod
    info: PodInfo
    """Its class."""
    snapshot: Snapshot
    """The cluster of the attempt."""


def never_signed(_: SignedPod) -> None:
    """The sign of a plugin that can sign no pod at all."""
