"""Pods by the thousand: replicas are recognised by the JSON of what scheduling reads, and share one spec."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from sys import intern
from typing import TypeVar

import msgspec

from clusterstate.errors import DecodeError
from clusterstate.manifests.documents import Manifest
from clusterstate.manifests.fields import Fields
from clusterstate.manifests.kinds import SPEC
from clusterstate.manifests.node_reading import NodeReader, SharedImages
from clusterstate.manifests.pod_reading import PodReader, ReadPod, names_label_keys, remember, spec_of_text
from clusterstate.manifests.schema.api_checks import refused_spec
from clusterstate.manifests.strictness import Checks
from clusterstate.objects import Node, ObjectMeta, Pod, PodSpec

T = TypeVar("T", bound=Hashable)

NO_CHECKS: Checks = {}

MATCH_LABEL_KEYS = b"atchLabelKeys"
"""In the JSON of an affinity term that names labels of the pod itself: matchLabelKeys or mismatchLabelKeys."""


class PodDecoder:
    """The short way for pods, and the tables of what objects share."""

    def __init__(self, prepare: Callable[[Manifest], Manifest] | None, checks: Checks = NO_CHECKS) -> None:
        """checks: what an API server refuses is unusual."""
        self._prepare = prepare
        self._checks = checks
        self._reader = PodReader()
        self._specs: dict[bytes, PodSpec] = {}
        self._images = SharedImages()
        self._nodes = NodeReader(self._reader.share)

    def decode(
        self,
        content: Manifest | msgspec.Raw,
        passes: Callable[[Manifest | msgspec.Raw], bool] | None = None,
        *,
        every: bool = False,
    ) -> Pod | None:
        """A pod without its manifest; None when anything is unusual about it, and the long way has to look.

        passes: asked about a pod without a uid, which no server has stored, or about every pod; False is unusual.
        """
        read = self._reader.read(content)
        if read is None:
            return None
        pod = self.finish(read)
        if pod is None or (passes is not None and (every or not read.metadata.uid) and not passes(content)):
            return None
        return pod

    def finish(self, read: ReadPod) -> Pod | None:
        """A pod that was read, with its spec and what its API server fills in; None when that has a fault."""
        spec = self._spec(read.spec)
        if spec is None:
            return None
        return read.pod(self._metadata(read.metadata), spec)

    def _spec(self, text: bytes) -> PodSpec | None:
        found = self._specs.get(text)
        if found is None:
            try:
                found = self._new_spec(text)
            except (msgspec.MsgspecError, TypeError, UnicodeDecodeError, RecursionError):
                return None
            if found is not None:
                remember(self._specs, text, found)
        return found

    def _new_spec(self, text: bytes) -> PodSpec | None:
        spec = spec_of_text(text)
        if self._checks and refused_spec(spec, self._checks):
            return None
        if self._prepare is not None:
            if (MATCH_LABEL_KEYS in text or b"\\" in text) and names_label_keys(spec.get("affinity")):
                return None
            try:
                spec = self._prepare({"apiVersion": "v1", "kind": "Pod", "spec": spec})["spec"]
            except DecodeError:
                return None
        faults: list[str] = []
        decoded = SPEC.read(Fields(spec, faults))
        return None if faults else self.share(decoded)

    def _metadata(self, meta: ObjectMeta) -> ObjectMeta:
        if self._prepare is None or (meta.namespace and meta.uid):
            return meta
        given = {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid}
        filled = self._prepare({"apiVersion": "v1", "kind": "Pod", "metadata": given})["metadata"]
        return msgspec.structs.replace(meta, namespace=intern(filled["namespace"]), uid=filled["uid"])

    def share(self, value: T) -> T:
        """The first value seen that equals this one."""
        return self._reader.share(value)

    def share_pod(self, pod: Pod, manifest: Manifest | None) -> Pod:
        """The pod with shared parts, and its manifest if that is kept."""
        meta = msgspec.structs.replace(pod.metadata, labels=self.share(pod.metadata.labels))
        return msgspec.structs.replace(
            pod,
            metadata=meta,
            spec=self.share(pod.spec),
            conditions=self.share(pod.conditions),
            grants=self.share(pod.grants),
            manifest=manifest,
        )

    def read_node(self, manifest: Manifest) -> Node | None:
        """As ``share_node``, straight from a manifest; None when anything about it is unusual."""
        return self._nodes.read(manifest)

    def share_node(self, node: Node, manifest: Manifest) -> Node:
        """The node with shared parts, and its manifest."""
        return msgspec.structs.replace(
            node,
            taints=self.share(node.taints),
            allocatable=self.share(node.allocatable),
            capacity=self.share(node.capacity),
            conditions=self.share(node.conditions),
            images=self.share(tuple(map(self.share, node.images))),
            manifest=self._images.manifest(manifest),
        )


def manifest_of_read(read: ReadPod) -> Manifest:
    """What is left of the manifest of a pod: what names it, and its spec."""
    meta = read.metadata
    return {
        "metadata": {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid},
        "spec": {**spec_of_text(read.spec), "nodeName": read.node_name},
    }
