"""Which kinds each release reads, where the API server has them, and in what the releases' informers differ."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import msgspec

from clusterstate.manifests.decode import Manifest, Prepare
from kubecel.api_names import go_quote
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.io_thread import WallClock

NOT_ENDED = "status.phase!=Succeeded,status.phase!=Failed"
"""Pods that have ended are of no interest; a pod that ends arrives as deleted."""

NOT_ENDED_SORTED = "status.phase!=Failed,status.phase!=Succeeded"
"""The same, as 1.16 writes it."""


class InformerKind(msgspec.Struct, frozen=True):
    """One kind of object, read whole and watched."""

    kind: str
    """As objects say it: Pod."""
    paths: tuple[str, ...]
    """Where to ask, in order: the group of the release, then today's where that is gone."""
    field_selector: str = ""
    says_timeout: bool = True
    """Whether watches also say their time as ``timeout=``, not only as ``timeoutSeconds=``."""
    optional: bool = False
    """A server of another release may not have it: then there is none of it."""


def _of(kind: str, *paths: str, optional: bool = False) -> InformerKind:
    return InformerKind(kind, paths, optional=optional)


_if_served = partial(_of, optional=True)


POLICY_V1BETA1 = "/apis/policy/v1beta1/poddisruptionbudgets"
POLICY_V1 = "/apis/policy/v1/poddisruptionbudgets"
CSI_NODES_V1BETA1 = "/apis/storage.k8s.io/v1beta1/csinodes"
CSI_NODES_V1 = "/apis/storage.k8s.io/v1/csinodes"

SINCE_1_16 = (
    _of("Node", "/api/v1/nodes"),
    _of("Service", "/api/v1/services"),
    _of("ReplicationController", "/api/v1/replicationcontrollers"),
    _of("ReplicaSet", "/apis/apps/v1/replicasets"),
    _of("StatefulSet", "/apis/apps/v1/statefulsets"),
    _of("PersistentVolume", "/api/v1/persistentvolumes"),
    _of("PersistentVolumeClaim", "/api/v1/persistentvolumeclaims"),
    _of("StorageClass", "/apis/storage.k8s.io/v1/storageclasses"),
)

KINDS_1_16 = (
    InformerKind("Pod", ("/api/v1/pods",), NOT_ENDED_SORTED, says_timeout=False),
    *SINCE_1_16,
    _if_served("CSINode", CSI_NODES_V1BETA1, CSI_NODES_V1),
    _of("PodDisruptionBudget", POLICY_V1BETA1, POLICY_V1),
)

KINDS_1_20 = (
    InformerKind("Pod", ("/api/v1/pods",), NOT_ENDED),
    *SINCE_1_16,
    _if_served("CSINode", CSI_NODES_V1),
    _of("PodDisruptionBudget", POLICY_V1BETA1, POLICY_V1),
)

KINDS_1_36 = (
    InformerKind("Pod", ("/api/v1/pods",), NOT_ENDED),
    _of("Namespace", "/api/v1/namespaces"),
    *SINCE_1_16,
    _if_served("CSINode", CSI_NODES_V1),
    _of("PodDisruptionBudget", POLICY_V1, POLICY_V1BETA1),
    _if_served("CSIDriver", "/apis/storage.k8s.io/v1/csidrivers"),
    _if_served(
        "CSIStorageCapacity",
        "/apis/storage.k8s.io/v1/csistoragecapacities",
        "/apis/storage.k8s.io/v1beta1/csistoragecapacities",
    ),
    _if_served("VolumeAttachment", "/apis/storage.k8s.io/v1/volumeattachments"),
    _if_served("DeviceClass", "/apis/resource.k8s.io/v1/deviceclasses"),
    _if_served("ResourceClaim", "/apis/resource.k8s.io/v1/resourceclaims"),
    _if_served("ResourceSlice", "/apis/resource.k8s.io/v1/resourceslices"),
)


FIRST, FACTOR, LONGEST = 0.8, 2.0, 30.0
"""Seconds of the first pause, its growth, and the most."""
CALM = 120.0
"""Seconds without a failure after which pauses are short again."""


class Pauses:
    """The pauses of one informer: always a second. Upstream: 1.16."""

    def next(self) -> float:
        """Seconds to wait after one more failure."""
        return 1.0


class GrowingPauses(Pauses):
    """Twice as long each time, with chance, so that not all come back at once. Upstream: client-go's BackoffManager."""

    def __init__(self, clock: WallClock, rng: random.Random) -> None:
        self._clock = clock
        self._rng = rng
        self._next = FIRST
        self._last = clock.monotonic()

    def next(self) -> float:
        now = self._clock.monotonic()
        if now - self._last > CALM:
            self._next = FIRST
        self._last = now
        pause, self._next = self._next, min(self._next * FACTOR, LONGEST)
        return pause * (1.0 + self._rng.random())


class InformerRules(msgspec.Struct, frozen=True, eq=False):
    """How one release reads and watches."""

    kinds: tuple[InformerKind, ...]
    streams_first: bool
    """Whether it reads everything as the first events of a watch."""
    list_version: Callable[[str, bool], str | None]
    """Of (the one that is known, whether the newest is wanted): the resourceVersion of a list; None: none is sent."""
    asks_newest_when_expired: bool
    """Whether a version that is too old is followed by a consistent read."""
    watches_again: Callable[[ApiError], bool]
    """Whether after an error a watch goes on where it was, instead of everything being read anew."""
    pauses: Callable[[WallClock, random.Random], Pauses]
    """Between tries."""
    trouble: Callable[[str, str], str]
    """Of (kind, error): what is logged."""
    prepare: Prepare | None = None
    """What becomes of a manifest before it is kept; None: nothing."""


def without_managed_fields(manifest: Manifest) -> Manifest:
    """Who wrote which field is of no use to a scheduler, and half of a pod. Upstream: newPodInformer's trim."""
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return manifest
    return {**manifest, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


def trouble_1_36(kind: str, error: str) -> str:
    """The same as a structured line."""
    text = go_quote(f"failed to list *v1.{kind}: {error}")
    return f'"Failed to watch" err={text} reflector="k8s.io/client-go/informers/factory.go" type="*v1.{kind}"'
