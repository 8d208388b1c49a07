"""A cluster of claims and volumes, and an API, that VolumeBinding works on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import attrs
import msgspec
import pytest

from clusterstate.cache import ClusterCache
from clusterstate.errors import SchedulingError
from clusterstate.objects import FrozenMap, PersistentVolume, PersistentVolumeClaim, Pod
from kubescheduler.core.status import Status
from kubescheduler.framework.contract.cycle_state import Cancellation, CycleState
from kubescheduler.framework.plugins.volume_binding import (
    VolumeBinding,
    VolumeBindingArgs,
    volume_binding_1_20,
    volume_binding_1_36,
)
from kubescheduler.releases import v1_20, v1_36
from tests.support.build import make_node
from tests.support.storage import BOUND, make_claim, make_class, make_volume

SELECTED = "volume.kubernetes.io/selected-node"
CONTROLLER = "pv.kubernetes.io/bound-by-controller"
NODES = [make_node(n, {"host": n}) for n in "ab"]


@attrs.define
class VolumeBindingSetup:
    """A cache, an API that notes what is written and may refuse, and a clock that only waiting moves.

    arrives: what happens to the cache in each second that is waited.
    """

    cache: ClusterCache
    state: CycleState = attrs.field(factory=CycleState)
    written: list[Any] = attrs.field(factory=list)
    refuses: str = ""
    failed: list[str] = attrs.field(factory=list)
    now: float = 0.0
    arrives: list[Callable[[], object]] = attrs.field(factory=list)
    plugin: VolumeBinding = attrs.field(init=False)

    @classmethod
    def of(cls, release: str, *others: Any, api: bool = True, timeout: int = 600) -> VolumeBindingSetup:
        """``others`` beside the nodes and the class; ``timeout`` of PreBind in seconds."""
        view, make = {"1.20": (v1_20.VIEW, volume_binding_1_20), "1.36": (v1_36.VIEW, volume_binding_1_36)}[release]
        world = cls(ClusterCache.of([*NODES, LATE, *others], view))
        handle: Any = SimpleNamespace(
            lock=nullcontext(),
            cache=world.cache,
            snapshot=world.cache.snapshot,
            client=SimpleNamespace(update_object=world.update) if api else None,
            clock=lambda: world.now,
            sleep=world.wait,
            observer=SimpleNamespace(volumes_failed=world.failed.append),
            feature_gates={"CSIMigration": True, "CSIMigrationAWS": True},
        )
        world.plugin = make(VolumeBindingArgs(bind_timeout_seconds=timeout), handle)
        return world

    def update(self, obj: Any) -> None:
        """Note what is written, or refuse it by its name."""
        if self.refuses == obj.metadata.name:
            raise SchedulingError(f"{self.refuses} is not writable")
        self.written.append(obj)

    def wait(self, _: Cancellation, seconds: float) -> None:
        """The clock moves, and the next thing happens to the cache."""
        self.now += seconds
        if self.arrives:
            self.arrives.pop(0)()

    def claim(self, name: str) -> PersistentVolumeClaim:
        """As the cache has it."""
        return self.cache.objects.persistent_volume_claims["default", name]

    def volume(self, name: str) -> PersistentVolume:
        """As the cache has it."""
        return self.cache.objects.persistent_volumes[name]

    def reserve(self, pod: Pod, node: str = "a") -> Pod:
        """As an attempt does it: the pod is assumed first."""
        placed = self.cache.assume_pod(pod, node)
        assert self.plugin.reserve(self.state, placed, node) is None
        return placed

    def bind(self, pod: Pod, node: str = "a") -> Status | None:
        """What PreBind answers."""
        return self.plugin.pre_bind(self.state, pod, node)


def late(name: str, **fields: Any) -> PersistentVolumeClaim:
    """A claim of 5 that waits for its first consumer."""
    return make_claim(name, **{"storage_class": "late", "storage": 5, **fields})


def free(name: str, **fields: Any) -> PersistentVolume:
    """A volume of 10 that nothing is bound to."""
    return make_volume(name, **{"storage_class_name": "late", "phase": "Available", "storage": 10, **fields})


LATE = make_class("late", "d.io")
TAKEN = free("w", phase="Bound")
STORAGE = [late("c"), late("d", storage=20), free("v"), make_claim("old", "w", annotations=BOUND), TAKEN]
RELEASES = pytest.mark.parametrize("release", ["1.20", "1.36"])


def bound(claim: PersistentVolumeClaim, volume: str) -> PersistentVolumeClaim:
    """The claim as the controller leaves it."""
    meta = claim.metadata
    annotated = msgspec.structs.replace(meta, annotations=FrozenMap({**meta.annotations, **BOUND}))
    return msgspec.structs.replace(claim, metadata=annotated, volume_name=volume, phase="Bound")
