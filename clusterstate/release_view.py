"""How a release sees the objects it is given, and what it counts of them."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from clusterstate.images import ImageStates
from clusterstate.objects import Node, Pod
from clusterstate.podinfo import PodInfo, PodKey
from clusterstate.usage import Accounting

Use = tuple[str, str | None]
"""What a pod class makes of topologies by its affinity: (the sort of term, topology key); see ``topology``."""


class ReleaseView(msgspec.Struct, frozen=True):
    """One release's view of objects. Those of the releases are in their own files."""

    accounting: Accounting
    """A spec's amounts."""
    tracked: Callable[[str], bool]
    """Whether account is kept of a resource."""
    pod_key: Callable[[Pod], PodKey]
    """What makes two pods equal, with the spec as rules see it."""
    node: Callable[[Node], Node]
    """A node as rules see it."""
    affinity_uses: Callable[[PodInfo], tuple[Use, ...]]
    """The uses a pod class makes of topologies."""
    identity: Callable[[Pod], str]
    """What identifies a pod; empty for one that cannot be kept."""
    zone_key: Callable[[Node], str | None]
    """The zone by which nodes take turns."""
    unlisted: Callable[[Node], bool | None] | None = None
    """True for a node that is not even looked at, otherwise None; by default every node is."""
    images: Callable[[], ImageStates] = ImageStates
    """What is remembered of the images that nodes have."""
