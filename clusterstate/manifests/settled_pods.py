"""Running pods of which all that decoding needs can be kept in place of their text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from clusterstate.errors import DecodeError
from clusterstate.manifests.decode_pod import decode_pod_spec
from clusterstate.manifests.decode_pods import names_label_keys, spec_of_text
from clusterstate.manifests.fields import Fields
from clusterstate.manifests.pod_reading import PodReader, remember

if TYPE_CHECKING:
    from clusterstate.manifests.read_pod import ReadPod


class SettledPods:
    """Reads pods that a server has stored and that run; any other, and one with a fault, is left to be read whole."""

    def __init__(self) -> None:
        self._reader = PodReader()
        self._settled: dict[bytes, bool] = {}

    def read(self, text: msgspec.Raw) -> ReadPod | None:
        """What the JSON of a pod says; None for one that has to be read whole."""
        read = self._reader.read(text)
        return read if read is not None and self._is_settled(read.spec) and _is_running(read) else None

    def read_all(self, texts: bytes | memoryview) -> list[ReadPod] | None:
        """The same of a JSON list of pods that say what they are; None when one is no pod, or has to be read whole."""
        out = []
        settled, is_settled = self._settled, self._is_settled
        for read in self._reader.read_all(texts):
            if (
                read is None
                or not is_pod(read.kind, read.version)
                or not (settled.get(read.spec) or is_settled(read.spec))
                or not _is_running(read)
            ):
                return None
            out.append(read)
        return out

    def _is_settled(self, text: bytes) -> bool:
        found = self._settled.get(text)
        if found is None:
            found = _is_settled(text)
            remember(self._settled, text, found)
        return found


def is_pod(kind: str, version: str) -> bool:
    """Whether an object is a Pod of the core group."""
    return kind == "Pod" and version == "v1"


def _is_running(read: ReadPod) -> bool:
    """Whether a server has stored a pod, and a scheduler has placed it."""
    return read.is_stored and bool(read.node_name)


def _is_settled(text: bytes) -> bool:
    """Whether nothing but its node can be missing: no fault, no class without a priority, no keys of labels."""
    faults: list[str] = []
    try:
        spec = spec_of_text(text)
        decode_pod_spec(Fields(spec, faults))
    except (msgspec.MsgspecError, DecodeError, TypeError, UnicodeDecodeError, RecursionError):
        return False
    if faults or names_label_keys(spec.get("affinity")):
        return False
    return spec.get("priority") is not None or not spec.get("priorityClassName")
