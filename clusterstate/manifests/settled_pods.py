"""Running pods of which all that decoding needs can be kept in place of their text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from clusterstate.errors import DecodeError
from clusterstate.manifests.decode_pod import decode_pod_spec
from clusterstate.manifests.decode_pods import spec_of_text
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
        return self._settled_one(self._reader.read(text))

    def read_all(self, texts: bytes) -> list[ReadPod] | None:
        """The same of a JSON list of pods; None when one of them is no pod, or has to be read whole."""
        out: list[ReadPod] = []
        for read in self._reader.read_all(texts):
            settled = self._settled_one(read)
            if settled is None:
                return None
            out.append(settled)
        return out

    def _settled_one(self, read: ReadPod | None) -> ReadPod | None:
        if read is None or not read.is_stored or not self._is_settled(read.spec):
            return None
        meta = read.pod.metadata
        return read if meta.uid and meta.namespace and read.pod.node_name else None

    def _is_settled(self, text: bytes) -> bool:
        found = self._settled.get(text)
        if found is None:
            found = _is_settled(text)
            remember(self._settled, text, found)
        return found


def _is_settled(text: bytes) -> bool:
    """Whether a spec has no fault, and a priority if it names a class: nothing but its node can be missing."""
    faults: list[str] = []
    try:
        spec = spec_of_text(text)
        decode_pod_spec(Fields(spec, faults))
    except (msgspec.MsgspecError, DecodeError, TypeError, UnicodeDecodeError, RecursionError):
        return False
    return not faults and (spec.get("priority") is not None or not spec.get("priorityClassName"))
