"""Manifests (parsed JSON or YAML) and JSON bytes → objects, with every fault found before any is raised.

First documents are taken apart: lists, exports and cluster dictionaries become single manifests.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from sys import intern
from typing import Any, TypeVar

import msgspec

from clusterstate.changes import remember
from clusterstate.errors import DecodeError
from clusterstate.manifests.api_checks import refused, refused_spec
from clusterstate.manifests.fields import LENIENT, Checks, Fields, Strictness, describe
from clusterstate.manifests.kinds import KINDS, SPEC, ManifestKind
from clusterstate.manifests.known_fields import has_only_known, unknown_fields
from clusterstate.manifests.quick_reading import (
    NodeReader,
    PodReader,
    ReadPod,
    SharedImages,
    spec_of_text,
)
from clusterstate.manifests.unread import UnreadFields, names_label_keys
from clusterstate.objects import (
    ClusterObject,
    LabelSelector,
    Node,
    ObjectMeta,
    Pod,
    PodDisruptionBudget,
    PodSpec,
)

Manifest = Mapping[str, Any]

SECTIONS: dict[str, str] = {
    "nodes": "Node",
    "pods": "Pod",
    "services": "Service",
    "replicationControllers": "ReplicationController",
    "replicaSets": "ReplicaSet",
    "statefulSets": "StatefulSet",
    "persistentVolumes": "PersistentVolume",
    "persistentVolumeClaims": "PersistentVolumeClaim",
    "pvs": "PersistentVolume",
    "pvcs": "PersistentVolumeClaim",
    "storageClasses": "StorageClass",
    "csiNodes": "CSINode",
    "csiDrivers": "CSIDriver",
    "csiStorageCapacities": "CSIStorageCapacity",
    "volumeAttachments": "VolumeAttachment",
    "priorityClasses": "PriorityClass",
    "runtimeClasses": "RuntimeClass",
    "limitRanges": "LimitRange",
    "podDisruptionBudgets": "PodDisruptionBudget",
    "namespaces": "Namespace",
    "resourceClaims": "ResourceClaim",
    "resourceClaimTemplates": "ResourceClaimTemplate",
    "resourceSlices": "ResourceSlice",
    "deviceClasses": "DeviceClass",
    "podGroups": "PodGroup",
}
"""Key of a cluster dictionary, or of an export of kube-scheduler-simulator → kind of its items."""


class Item(msgspec.Struct, frozen=True):
    """One object still to be decoded: parsed, or the JSON of it. There are many, and msgspec makes them fastest.

    source names the file, place where in it. kind and api_version are what the surrounding list
    says, used when the object itself says nothing.
    """

    source: str
    content: Manifest | msgspec.Raw
    place: str = ""
    kind: str = ""
    api_version: str = ""
    notes: tuple[str, ...] = ()
    """What is to be said of how it is written, with file and path."""
    read: ReadPod | None = None
    """A running v1 Pod as far as decoding reads it, in place of the content, which is empty then."""


_VERSION = re.compile(rb'"resourceVersion"')
"""What an API server writes into every object."""
_OPENING = re.compile(rb'\{\s*"apiVersion":\s*"([\w./-]*)",\s*"kind":\s*"(\w*)"\s*[,}]')
"""How the JSON of an object begins that kubectl or an API server wrote."""


class Header(msgspec.Struct):
    """What says of which kind an object is."""

    kind: Any = None
    apiVersion: Any = None  # noqa: N815


class Envelope(msgspec.Struct):
    """The outermost object of a JSON document; each of its items is left as its JSON."""

    kind: Any = None
    apiVersion: Any = None  # noqa: N815
    items: list[msgspec.Raw] | None = None


_SECTION_LISTS = msgspec.defstruct("_SectionLists", [(key, list[msgspec.Raw] | None, None) for key in SECTIONS])


def _at(place: str, key: str) -> str:
    return f"{place}: {key}" if place else key


def list_kind(kind: object) -> str | None:
    """The kind of a list's items, empty when the list does not say; None for no list."""
    return kind[:-4] if isinstance(kind, str) and kind.endswith("List") else None


def split(source: str, document: object, faults: list[str], place: str = "") -> Iterator[Item]:
    """The objects of one parsed document. Raises DecodeError when it is neither object nor collection of objects; what
    is no object in a collection is passed over, and ``faults`` has it with its place."""
    if isinstance(document, list):
        yield from _split_list(source, document, faults, place, "", "")
        return
    if not isinstance(document, Mapping):
        raise DecodeError(f"{source}: {_at(place, f'must be a Kubernetes object, not {describe(document)}')}")
    kind = document.get("kind")
    of = list_kind(kind)
    if of is not None and "items" in document:
        api_version = document.get("apiVersion") if of else ""
        items = document["items"]
        yield from _split_list(source, items, faults, _at(place, "items"), of, str(api_version or ""))
    elif kind is None and not SECTIONS.keys().isdisjoint(document):
        for key, section in SECTIONS.items():
            yield from _split_list(source, document.get(key), faults, _at(place, key), section, "")
    else:
        yield Item(source, document, place)


def _split_list(
    source: str, items: object, faults: list[str], place: str, kind: str, api_version: str
) -> Iterator[Item]:
    if items is None:
        return
    if not isinstance(items, list):
        raise DecodeError(f"{source}: {place}: must be a list, not {describe(items)}")
    for index, item in enumerate(items):
        if not isinstance(item, Mapping):
            faults.append(f"{source}: {place}[{index}]: must be a Kubernetes object, not {describe(item)}")
        elif list_kind(item.get("kind")) is not None:
            yield from split(source, item, faults, f"{place}[{index}]")
        else:
            yield Item(source, item, f"{place}[{index}]", kind, api_version)


def split_json(source: str, data: bytes, faults: list[str]) -> list[Item]:
    """The objects of one JSON document, each left as its JSON so that it is parsed on its own.

    faults: see ``split``. Raises DecodeError when the document is no JSON (with line and column) or holds no objects.
    """
    try:
        return _split_raw(source, data, faults)
    except msgspec.ValidationError:
        return list(split(source, parse_json(source, data), faults))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        parse_json(source, data)
        raise


def _split_raw(source: str, data: bytes, faults: list[str]) -> list[Item]:
    if data.lstrip()[:1] == b"[":
        return _raw_items(source, "", msgspec.json.decode(data, type=list[msgspec.Raw]), faults, "", "")
    envelope = msgspec.json.decode(data, type=Envelope)
    of = list_kind(envelope.kind)
    if of is not None and envelope.items is not None:
        api_version = str(envelope.apiVersion or "") if of else ""
        return _raw_items(source, "items", envelope.items, faults, of, api_version)
    if envelope.kind is None:
        sections = msgspec.json.decode(data, type=_SECTION_LISTS)
        found = [(key, getattr(sections, key)) for key in SECTIONS]
        if any(items is not None for _, items in found):
            return [i for key, items in found for i in _raw_items(source, key, items or [], faults, SECTIONS[key], "")]
    return list(split(source, parse_json(source, data), faults))


def _raw_items(
    source: str, place: str, items: list[msgspec.Raw], faults: list[str], kind: str, api_version: str
) -> list[Item]:
    out: list[Item] = []
    for index, raw in enumerate(items):
        header = header_of(raw)
        where = f"{place}[{index}]"
        if list_kind(header.kind) is not None:
            out += split(source, msgspec.json.decode(raw), faults, where)
        else:
            own = isinstance(header.kind, str)
            out.append(Item(source, raw, where, header.kind if own else kind, _version(header, api_version)))
    return out


def header_of(raw: msgspec.Raw | memoryview) -> Header:
    """apiVersion and kind, from the first bytes if they are there."""
    return opening_of(memoryview(raw)) or msgspec.json.decode(raw, type=Header)


def was_stored(text: bytes | msgspec.Raw) -> bool:
    """Whether an API server wrote this JSON: such an object says no key twice."""
    return _VERSION.search(text) is not None


def opening_of(text: memoryview) -> Header | None:
    """apiVersion and kind of the object that begins there, if these are the first that it says."""
    opening = _OPENING.match(text)
    return None if opening is None else Header(kind=opening[2].decode(), apiVersion=opening[1].decode())


def _version(header: Header, default: str) -> str:
    return header.apiVersion if isinstance(header.apiVersion, str) else default


def _json_fault(error: Exception, data: bytes) -> str:
    """What is wrong with a document; releases of msgspec name bytes that are no text in different ways."""
    try:
        data.decode()
    except UnicodeDecodeError as wrong:
        return f"it is not UTF-8 text: {wrong.reason}"
    return _position(str(error), data)


def parse_json(source: str, data: bytes | msgspec.Raw) -> Any:
    """A JSON document as dictionaries and lists. Raises DecodeError with line and column."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise DecodeError(f"{source}: {_json_fault(error, bytes(data))}") from None
    except RecursionError:
        raise DecodeError(f"{source}: nested too deeply to be read") from None


def _position(text: str, data: bytes) -> str:
    """``JSON is malformed: … (byte 12)`` with line and column instead of the byte."""
    message, _, tail = text.removesuffix(")").rpartition(" (byte ")
    if not tail.isdigit():
        return f"line {data.count(10) + 1}: {text}"
    before = data[: int(tail)]
    line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
    return f"line {line}, column {column}: {message}"


T = TypeVar("T", bound=Hashable)

NO_CHECKS: Checks = {}


class PodDecoder:
    """The short way for pods, and the tables of what objects share."""

    def __init__(
        self,
        prepare: Prepare | None,
        checks: Checks = NO_CHECKS,
        unread: UnreadFields | None = None,
    ) -> None:
        """What an API server refuses (``checks``), and may drop of a pod that it has not stored, is unusual.

        unread: is shown each spec that is new.
        """
        self._prepare = prepare
        self._unread = unread or UnreadFields({}, drops=False)
        self._checks = checks
        self._reader = PodReader()
        self._specs: dict[bytes | tuple[str, bytes], PodSpec] = {}
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
        spec = self._spec(read)
        if spec is None or (not read.metadata.uid and (self._unread.drops(spec) or names_label_keys(spec))):
            return None
        return read.pod(self._metadata(read.metadata), spec)

    def _spec(self, read: ReadPod) -> PodSpec | None:
        """That of each text; of pods that are new, once for each namespace, which admission goes by."""
        meta = read.metadata
        new = not (meta.uid or read.is_stored or read.node_name)
        key = (meta.namespace, read.spec) if new else read.spec
        found = self._specs.get(key)
        if found is not None:
            return found
        try:
            found = self._new_spec(read.spec, {"metadata": {"namespace": meta.namespace}} if new else {})
        except (msgspec.MsgspecError, TypeError, UnicodeDecodeError, RecursionError):
            return None
        return None if found is None else remember(self._specs, key, found)

    def _new_spec(self, text: bytes, of_new: Manifest) -> PodSpec | None:
        spec = spec_of_text(text)
        if self._prepare is not None:
            try:
                spec = self._prepare({"apiVersion": "v1", "kind": "Pod", **of_new, "spec": spec})["spec"]
            except DecodeError:
                return None
        if self._checks and refused_spec(spec, self._checks):
            return None
        faults: list[str] = []
        decoded = SPEC.read(Fields(spec, faults))
        return None if faults else self._shared_spec(decoded)

    def _shared_spec(self, spec: PodSpec) -> PodSpec:
        shared = self.share(spec)
        if shared is spec:
            self._unread.look_at(spec)
        return shared

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
            spec=self._shared_spec(pod.spec),
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


BETA = "policy/v1beta1"
"""The version of budgets whose empty selector selects nothing; that of policy/v1 selects every pod of the namespace."""

Prepare = Callable[[Manifest], Manifest]
"""Defaulting or admission: manifest → manifest, by what the manifest says alone. It may raise DecodeError
with problems that start with a path."""


class Decoded(msgspec.Struct, frozen=True):
    """Objects in the order of their manifests, and notes on what was left out."""

    objects: list[ClusterObject]
    notes: list[str]


class UnknownKindError(DecodeError):
    """A kind that scheduling does not read."""

    def __init__(self, name: str, group: str, where: str) -> None:
        self.name = f'"{name}" of {group}' if group and name in KINDS else f'"{name}"'
        known = ", ".join(KINDS)
        super().__init__(f"{where}: kind {self.name} is not read by a scheduler; kinds that are: {known}")


class Decoder:
    """Decodes objects one by one; what many share (pod specs, label sets, taints) becomes one object.

    keep_manifests: keep the manifest of every pod, not only of the pending ones. Nodes always keep theirs.
    prepare: applied to each manifest first. For pods it is called once per distinct spec, of new ones per namespace.
    strictness: what comes of fields that the API does not have, and of values that it does not take.
    """

    def __init__(
        self,
        *,
        keep_manifests: bool = False,
        prepare: Prepare | None = None,
        strictness: Strictness = LENIENT,
    ) -> None:
        self._keep_manifests = keep_manifests
        self._prepare = prepare
        self._strictness = strictness
        self._unread = UnreadFields(strictness.accepted.unread, drops=prepare is not None)
        checks = strictness.accepted.checks if strictness.refused != "ignore" else {}
        self._pods = PodDecoder(prepare, checks, self._unread)
        self._pods_pass = None if strictness == LENIENT else self._is_known_throughout
        self._judges_stored = strictness.stored != "ignore"
        self.warnings: list[str] = []
        """What was found in manifests that are judged with ``warn``, and notes of items; with file and path."""
        self._refusals: dict[str, tuple[int, str, int]] = {}
        """What an API server refuses → (its place among the warnings, of the first object, how many objects)."""

    def decode_object(self, manifest: Manifest, *, source: str = "", keep_manifest: bool = False) -> ClusterObject:
        """One object. Raises DecodeError with every fault in it."""
        if not isinstance(manifest, Mapping):
            raise DecodeError(f"{source or 'manifest'}: must be a Kubernetes object, not {describe(manifest)}")
        return self.decode_item(Item(source, manifest), keep_manifest=keep_manifest)

    def decode_item(self, item: Item, *, keep_manifest: bool = False) -> ClusterObject:
        """One item of a document. Raises DecodeError with every fault in it."""
        if item.notes:
            self.warnings += item.notes
        obj = self._decode_item(item, keep_manifest=keep_manifest)
        if self._unread.left and isinstance(obj, Pod) and id(obj.spec) in self._unread.left:
            self.warnings += self._unread.notes(self._unread.left[id(obj.spec)][1], item.source)
        return obj

    def _decode_item(self, item: Item, *, keep_manifest: bool) -> ClusterObject:
        if item.read is not None:
            read = self._pods.finish(item.read)
            if read is not None:
                return read
        kind = _kind(item)
        keep = keep_manifest or self._keep_manifests
        if item.read is not None:
            return self._decode(item, kind, keep)
        if kind.name == "Pod":
            pod = self._pods.decode(item.content, self._pods_pass, every=self._judges_stored)
            if pod is not None:
                if keep or not pod.node_name:
                    return msgspec.structs.replace(pod, manifest=self._prepared(_manifest(item, kind)))
                return pod
        return self._decode(item, kind, keep)

    def _is_known_throughout(self, content: Manifest | msgspec.Raw) -> bool:
        """Whether a pod has only what pods may have, if it is judged at all."""
        known = isinstance(content, msgspec.Raw) and has_only_known("Pod", content)
        manifest = parse_json("", content) if isinstance(content, msgspec.Raw) else content
        of_fields, of_refusals = self._strictness.of(manifest)
        if not known and of_fields != "ignore" and unknown_fields("Pod", manifest, self._strictness.accepted):
            return False
        return of_refusals == "ignore" or not refused("Pod", manifest, self._strictness.accepted.checks)

    def judged(self, item: Item, kind: str, manifest: Manifest, prepared: Manifest | None = None) -> list[str]:
        """The faults in what the API does not have of a kind, also of one that is not decoded; warnings are kept.

        prepared: the manifest with what is filled in, which is what a server judges.
        """
        of_fields, of_refusals = self._strictness.of(manifest)
        unknown = [] if of_fields == "ignore" else unknown_fields(kind, manifest, self._strictness.accepted)
        checks = self._strictness.accepted.checks
        refusals = [] if of_refusals == "ignore" else refused(kind, prepared or manifest, checks)
        if of_fields == "warn":
            self.warnings += placed(item, kind, manifest, unknown)
        if of_refusals == "warn":
            self._note_refusals(kind, refusals, placed(item, kind, manifest, refusals))
        return [*(unknown if of_fields == "strict" else ()), *(refusals if of_refusals == "strict" else ())]

    def _note_refusals(self, kind: str, refusals: Iterable[str], shown: Iterable[str]) -> None:
        """One warning for all objects of a kind with the same fault, as replicas are, which names the first."""
        for refusal, of_one in zip(refusals, shown, strict=True):
            at, first, before = self._refusals.get(f"{kind} {refusal}", (len(self.warnings), of_one, 0))
            self._refusals[f"{kind} {refusal}"] = at, first, before + 1
            more = f" (and {before} more {kind}{'s' * (before > 1)} alike)" if before else ""
            self.warnings[at : at + 1] = [f"{first}{more}"]

    def _prepared(self, manifest: Manifest) -> Manifest:
        return manifest if self._prepare is None else self._prepare(manifest)

    def _decode(self, item: Item, kind: ManifestKind, keep: bool) -> ClusterObject:
        """The long way, which finds every fault."""
        manifest: Manifest = _manifest(item, kind)
        manifest, dropped = self._unread.taken(manifest)
        self.warnings += self._unread.notes(dropped, item.source)
        try:
            prepared, faults = self._prepared(manifest), list[str]()
        except DecodeError as error:
            prepared, faults = manifest, [*error.problems]
        faults = [*self.judged(item, kind.name, manifest, prepared), *faults]
        manifest = prepared
        node = self._pods.read_node(manifest) if kind.name == "Node" and not faults else None
        if node is not None:
            return node
        obj: ClusterObject = kind.table.read(Fields(manifest, faults))
        if faults:
            raise DecodeError(placed(item, kind.name, manifest, faults))
        if isinstance(obj, Node):
            return self._pods.share_node(obj, manifest)
        if isinstance(obj, Pod):
            return self._pods.share_pod(obj, manifest if keep or not obj.node_name else None)
        if (
            isinstance(obj, PodDisruptionBudget)
            and obj.selector == LabelSelector()
            and manifest.get("apiVersion") == BETA
        ):
            return msgspec.structs.replace(obj, selector=None)
        return obj

    def decode_all(self, items: Iterable[Item | tuple[str, Manifest]]) -> Decoded:
        """Objects of all items, which may be lists themselves. Raises one DecodeError with the faults of all."""
        objects: list[ClusterObject] = []
        problems: list[str] = []
        unknown: Counter[str] = Counter()
        for item in _expand(items, problems):
            try:
                objects.append(self.decode_item(item))
            except UnknownKindError as error:
                unknown[error.name] += 1
            except DecodeError as error:
                problems += error.problems
        if problems:
            raise DecodeError(problems)
        return Decoded(objects, [*notes_on(unknown), *self.warnings])


def notes_on(unknown: Mapping[str, int]) -> list[str]:
    """One note for each kind that was left out."""
    return [
        f"kind {kind} ignored ({n} object{'s' * (n != 1)}): no scheduler reads it{_in_other_case(kind)}"
        for kind, n in unknown.items()
    ]


def _in_other_case(quoted: str) -> str:
    """The kind that is meant by one whose letters differ from it in case alone."""
    meant = next((kind for kind in KINDS if f'"{kind}"'.casefold() == quoted.casefold()), "")
    return f"; did you mean {meant}?" if meant and f'"{meant}"' != quoted else ""


def _expand(items: Iterable[Item | tuple[str, Manifest]], problems: list[str]) -> Iterable[Item]:
    for item in items:
        if isinstance(item, Item):
            yield item
            continue
        try:
            yield from split(*item, problems)
        except DecodeError as error:
            problems += error.problems


def _kind(item: Item) -> ManifestKind:
    """The kind of an item. Raises DecodeError when it has none, UnknownKindError when it is of no use here."""
    name: object = item.kind
    version: object = item.api_version
    if not isinstance(item.content, msgspec.Raw):
        name = item.content.get("kind") or name
        version = item.content.get("apiVersion") or version
    if not isinstance(name, str) or not isinstance(version, str):
        key, value = ("kind", name) if not isinstance(name, str) else ("apiVersion", version)
        raise DecodeError(f"{_where(item)}: {key}: must be text, not {describe(value)}")
    if not name:
        raise DecodeError(f"{_where(item)}: kind: missing; an object needs apiVersion and kind")
    kind = KINDS.get(name)
    if kind is None or not kind.in_group(version):
        raise UnknownKindError(name, version.rpartition("/")[0], _where(item))
    return kind


def _where(item: Item) -> str:
    """File and place of an item that has no name to report."""
    return ": ".join(part for part in (item.source, item.place) if part) or "manifest"


def placed(item: Item, kind: str, manifest: Manifest, faults: Iterable[str]) -> list[str]:
    """Faults with a file and an object before each; an object without a name is told by its place in the file."""
    name = identity(kind, manifest)
    where = item.source if name != kind else _where(item)
    return [f"{where}: {name}: {fault}" if where else f"{name}: {fault}" for fault in faults]


def _manifest(item: Item, kind: ManifestKind) -> dict[str, Any]:
    """The whole manifest, with apiVersion and kind."""
    raw = item.content
    if item.read is not None:
        content: Manifest = manifest_of_read(item.read)
    else:
        content = parse_json(_where(item), raw) if isinstance(raw, msgspec.Raw) else raw
    given = {key: value for key, value in content.items() if value is not None or key not in ("apiVersion", "kind")}
    return {"apiVersion": item.api_version or kind.api_version, "kind": kind.name, **given}


def identity(kind: str, manifest: Manifest) -> str:
    """``Pod default/web-1``: an object as errors name it."""
    meta = manifest.get("metadata")
    if not isinstance(meta, Mapping) or not isinstance(meta.get("name"), str):
        return kind
    namespace = meta.get("namespace")
    return f"{kind} {namespace}/{meta['name']}" if namespace else f"{kind} {meta['name']}"


def decode_object(manifest: Manifest, *, source: str = "", keep_manifest: bool = False) -> ClusterObject:
    """One object from its manifest. Raises DecodeError that lists every fault with file, object and path."""
    return Decoder().decode_object(manifest, source=source, keep_manifest=keep_manifest)


def decode_cluster(cluster: Manifest, *, decoder: Decoder | None = None) -> list[ClusterObject]:
    """Objects of a dictionary of lists (``nodes``, ``pods``, ``services`` …); the key says the kind where it is absent.

    Raises one DecodeError with the faults of all.
    """
    document = {key: value for key, value in cluster.items() if key != "kind"}
    if not document:
        return []
    return (decoder or Decoder()).decode_all([("cluster", {"nodes": None, **document})]).objects
