"""In what the releases' informers differ."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Protocol

import msgspec

from clusterstate.manifests.decode import Prepare
from clusterstate.manifests.documents import Manifest
from kubecel.api_names import go_quote
from kubescheduler.live.contract.wall_clock import WallClock
from kubescheduler.live.informers.informer_kinds import InformerKind
from kubescheduler.live.informers.pauses import FixedPauses, Pauses
from kubescheduler.live.transport.api_answers import ApiError


class ListVersion(Protocol):
    """See list_version_1_16."""

    def __call__(self, known: str, *, newest: bool) -> str | None: ...


class InformerRules(msgspec.Struct, frozen=True, eq=False):
    """How one release reads and watches."""

    kinds: tuple[InformerKind, ...]
    """What it reads."""
    streams_first: bool
    """Whether it reads everything as the first events of a watch."""
    list_version: ListVersion
    """The resourceVersion of a list, by the one that is known; None: none is sent."""
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


def list_version_1_16(known: str, *, newest: bool) -> str | None:  # noqa: ARG001
    """Whatever the server's cache has."""
    return "0"


def list_version_1_20(known: str, *, newest: bool) -> str | None:
    """At least what is known already, or the newest when that is too old."""
    return "" if newest else known or "0"


def list_version_1_36(known: str, *, newest: bool) -> str | None:
    """As 1.20; a list is read only where a stream is refused."""
    return None if newest else known or "0"


def watches_again_1_16(error: ApiError) -> bool:
    """A server that is gone for a moment."""
    return error.refused


def watches_again_1_36(error: ApiError) -> bool:
    """Also one that has too much to do."""
    return error.refused or error.code == 429


def fixed_pauses(_: WallClock, __: random.Random) -> Pauses:
    """A second each."""
    return FixedPauses()


def without_managed_fields(manifest: Manifest) -> Manifest:
    """Who wrote which field is of no use to a scheduler, and half of a pod. Upstream: newPodInformer's trim."""
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return manifest
    return {**manifest, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


def trouble_1_16(kind: str, error: str) -> str:
    """Upstream's text."""
    return f"Failed to list *v1.{kind}: {error}"


def trouble_1_36(kind: str, error: str) -> str:
    """The same as a structured line."""
    text = go_quote(f"failed to list *v1.{kind}: {error}")
    return f'"Failed to watch" err={text} reflector="k8s.io/client-go/informers/factory.go" type="*v1.{kind}"'
