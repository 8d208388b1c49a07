"""The DynamicResources plugin on two nodes, one with devices, and an API that remembers what is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import msgspec

from clusterstate.cache import ClusterCache
from clusterstate.devices.resource_claims import without_consumer
from clusterstate.errors import SchedulingError
from clusterstate.objects import NodeSelectorTerm, Pod, Requirement
from clusterstate.objects.resource import ResourceClaim
from kubescheduler.framework.contract.clocks import ManualTime
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.plugins.dynamic_resources import (
    DynamicResources,
    DynamicResourcesArgs,
    dynamic_resources_1_36,
)
from kubescheduler.framework.running.framework_services import FrameworkHandle, Services
from tests.support.build import make_node
from tests.support.device_clusters.devices import READING, allocated, gpu, make_claim, make_class, make_slice

UID = "default/p"
TODAY, WRITTEN = 1_577_836_800.0, "2020-01-01T00:00:00Z"
"""When everything happens, as a clock and as objects say it."""
ON_A = (NodeSelectorTerm(match_fields=(Requirement("metadata.name", "In", ("a",)),)),)
HELD = make_claim(allocation=allocated("a", "g", node_selector=ON_A))
NODES = [make_node("a"), make_node("b")]
SLICES = [make_slice("a", gpu("g"), gpu("h"))]


@attrs.define
class Api:
    """Remembers what is written; ``fault`` is what it fails with."""

    written: list[Any] = attrs.field(factory=list)
    asked: list[tuple[str, Any]] = attrs.field(factory=list)
    """What was asked for, in order: what is to be done, and the claim's name or the pod's status."""
    fault: str = ""

    def update_object(self, obj: Any) -> None: ...

    def create_claim(self, claim: ResourceClaim) -> ResourceClaim:
        self._say("create", claim)
        return attrs.evolve(
            claim, metadata=msgspec.structs.replace(claim.metadata, name=f"{claim.metadata.name}-x7", uid="made")
        )

    def update_claim(self, claim: ResourceClaim, change: Callable[[ResourceClaim], ResourceClaim]) -> ResourceClaim:
        self._say("update", claim)
        after = change(claim)
        self.written.append(after)
        return after

    def take_back_claim(self, claim: ResourceClaim, pod: Pod) -> ResourceClaim:
        self._say("take back", claim)
        return without_consumer(claim, pod.metadata.uid)

    def delete_claim(self, claim: ResourceClaim) -> None:
        self._say("delete", claim)

    def _say(self, what: str, claim: ResourceClaim) -> None:
        if self.fault:
            raise SchedulingError(self.fault)
        self.asked.append((what, claim.metadata.name))

    def bind(self, pod: Pod, node_name: str) -> None: ...
    def delete_pod(self, pod: Pod) -> None: ...

    def patch_pod_status(self, pod: Pod, status: Any) -> None:
        self.asked.append(("patch", status))


@attrs.define
class DynamicResourcesSetup:
    """A plugin with all that it works on."""

    cache: ClusterCache
    plugin: DynamicResources
    api: Api
    time: ManualTime
    state: CycleState = attrs.field(factory=CycleState)

    def claim(self, name: str = "c") -> ResourceClaim:
        return self.cache.objects.resource_claims["default", name]


def world(
    *others: object,
    args: DynamicResourcesArgs | None = None,
    time: ManualTime | None = None,
    gates: Mapping[str, bool] | None = None,
    client: bool = True,
) -> DynamicResourcesSetup:
    cache = ClusterCache.of([*NODES, make_class(extended_resource_name="example.com/gpu"), *SLICES, *others], READING)
    api, time = Api(), time or ManualTime()
    services = Services(
        "1.36", cache, client=api if client else None, time=time, today=lambda: TODAY, feature_gates=gates or {}
    )
    return DynamicResourcesSetup(cache, dynamic_resources_1_36(args, FrameworkHandle(services, "p")), api, time)
