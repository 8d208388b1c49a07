"""Clusters that can be shown to others: every name is replaced, and everything that scheduling does not read is gone.

The same text gets the same replacement wherever it stands, so that selectors, affinity, owners, claims and zones match
as before; replacements sort as what they stand for, as equal totals go to the first node by name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.manifests.decode import Decoder, Item
from clusterstate.manifests.kinds import KINDS, encode_object

if TYPE_CHECKING:
    from clusterstate.manifests.tables import Role

Manifest = dict[str, Any]
Rename = Callable[[str], str]
"""A name → what stands for it."""

AS_WRITTEN = {"expression": "CEL expressions", "attributes": "devices' attributes"}
"""Field that devices are chosen by → what it is called; a text in it may be asked for in parts, so none is replaced."""
KEPT_ADDRESSES = frozenset({"", "0.0.0.0", "127.0.0.1", "::", "::1"})
"""Addresses that every host has."""
FIRST_ADDRESS = "240.0.0.0"
"""Before the addresses that stand for others: nobody may have these, see RFC 1112."""
COMPARISONS = frozenset({"Gt", "Lt"})
"""Operators that compare numbers, which therefore stay."""
COMPARED = "operator"
DRIVERS = frozenset({"CSIDriver", "CSINode"})
"""Kinds in which names are those of drivers: of the object, and in the list of drivers."""

KEPT_LABELS = frozenset(
    {
        "kubernetes.io/arch",
        "kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "node.kubernetes.io/instance-type",
        "beta.kubernetes.io/instance-type",
    }
)
"""Labels of nodes whose values are everybody's; release 1.16 counts volumes by the type of the instance."""

KEPT_NAMES = frozenset(
    {
        "default",
        "kube-system",
        "kube-public",
        "kube-node-lease",
        "latest",
        "true",
        "false",
        "yes",
        "system-node-critical",
        "system-cluster-critical",
    }
)
"""Texts that are everybody's, the priority classes among them that every cluster has."""

NAMING_ANNOTATIONS = frozenset({"volume.beta.kubernetes.io/storage-class", "volume.kubernetes.io/selected-node"})
"""Annotations that scheduling reads, with a name in them."""
WRITTEN_ANNOTATIONS = frozenset(
    {
        "scheduler.alpha.kubernetes.io/affinity",
        "scheduler.alpha.kubernetes.io/tolerations",
        "scheduler.alpha.kubernetes.io/taints",
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "pod.alpha.kubernetes.io/init-containers",
        "pod.beta.kubernetes.io/init-containers",
    }
)
"""Annotations that scheduling reads, with JSON in them."""
PLAIN_ANNOTATIONS = frozenset(
    {
        "kubescheduler/arrives-after",
        "kubescheduler/duration",
        "kubernetes.io/config.mirror",
        "kubernetes.io/config.source",
        "pv.kubernetes.io/bind-completed",
        "pv.kubernetes.io/bound-by-controller",
        "resource.kubernetes.io/extended-resource-claim",
        "scheduler.alpha.kubernetes.io/critical-pod",
        "scheduler.alpha.kubernetes.io/name",
        "storage.alpha.kubernetes.io/migrated-plugins",
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    }
)
"""Annotations that scheduling reads and that name nobody. All others are left out."""

NUMBER = re.compile(r"-?[0-9]+")
NO_JSON = "redacted"
"""What stands for an annotation that is no JSON: as unreadable as it was."""


def redacted(items: Iterable[Item], notice: Callable[[str], object] = len) -> Iterator[Manifest]:
    """The objects of items, as manifests without names. Raises DecodeError for one that cannot be read.

    notice: is told what stays as somebody wrote it.
    """
    decoder = Decoder()
    manifests = [encode_object(decoder.decode_item(item)) for item in items]
    names: set[str] = set()
    seen: list[tuple[str, Any]] = []

    def collect(name: str) -> str:
        names.add(name)
        return name

    collecting = _Redaction(collect, collect, seen)
    for manifest in manifests:
        collecting.object(manifest)
    known = _Names.of(names, manifests, seen)
    renaming = _Redaction(known.renamed, known.address, [])
    counts = Counter(field for field, _ in seen)
    for field, called in AS_WRITTEN.items():
        if counts[field]:
            notice(f"{called} stay as written, {counts[field]} in all: decisions read them, so look for names in them")
    return map(renaming.object, manifests)


@cache
def _keys(role: Role) -> frozenset[str]:
    """The fields in which that stands: they are called alike in all kinds, and so in annotations that hold JSON."""
    return frozenset(key for kind in KINDS.values() for key, given in kind.table.roles() if given == role)


class _Names(msgspec.Struct, frozen=True, eq=False):
    """What stands for each name."""

    replacements: Mapping[str, str]
    kept: frozenset[str]
    made: Mapping[str, tuple[str, str]]
    """Name of the claim of an ephemeral volume → (its pod's name, the volume's), of which it is made."""

    @classmethod
    def of(cls, names: set[str], manifests: Iterable[Manifest], seen: Iterable[tuple[str, Any]]) -> _Names:
        """seen: see ``_Redaction``."""
        width = len(str(len(names)))
        numbered = enumerate(sorted(names, key=str.encode), 1)
        replacements = {name: f"n{number:0{width}}" for number, name in numbered}
        kept = set(KEPT_NAMES)
        comparisons = [each for field, each in seen if field == COMPARED]
        compared = {each["key"] for each in comparisons}
        numbers = [text for each in comparisons for text in (*each.get("values", ()), each.get("value", ""))]
        made: dict[str, tuple[str, str]] = {}
        for manifest in manifests:
            if manifest["kind"] == "Node":
                labels = manifest["metadata"].get("labels") or {}
                kept |= {labels[key] for key in KEPT_LABELS & labels.keys()}
                taints = {taint["key"]: taint.get("value", "") for taint in manifest["spec"].get("taints") or ()}
                numbers += (each[key] for each in (labels, taints) for key in compared & each.keys())
            elif manifest["kind"] == "Pod":
                pod = manifest["metadata"]["name"]
                volumes = manifest["spec"].get("volumes") or ()
                made |= {f"{pod}-{v['name']}": (pod, v["name"]) for v in volumes if "ephemeral" in v}
        kept |= set(filter(NUMBER.fullmatch, numbers))
        return cls(replacements, frozenset(kept), made)

    def renamed(self, name: str) -> str:
        if not name or name in self.kept:
            return name
        if name in self.made:
            return "-".join(map(self.renamed, self.made[name]))
        return self.replacements[name]

    def address(self, text: str) -> str:
        """An address that nobody has; those that mean any host, or this one, stay."""
        from ipaddress import IPv4Address

        number = int(self.replacements[text].removeprefix("n")) if text else 0
        return text if text in KEPT_ADDRESSES else str(IPv4Address(FIRST_ADDRESS) + number)


class _Redaction(msgspec.Struct, frozen=True, eq=False):
    """A walk through manifests."""

    rename: Rename
    readdress: Rename
    seen: list[tuple[str, Any]]
    """Gets (field, what is there) of what is kept as it is written, and of comparisons of numbers."""

    def object(self, manifest: Manifest) -> Manifest:
        """A manifest of an object."""
        kind, metadata = manifest["kind"], dict(manifest["metadata"])
        annotations = dict(self._annotations(metadata.pop("annotations", {})))
        walked = self._member("", {**manifest, "metadata": metadata})
        if kind in DRIVERS:
            self._keep_drivers(manifest, walked)
        if not KINDS[kind].namespaced:
            walked["metadata"].pop("namespace", None)
        if annotations:
            walked["metadata"]["annotations"] = annotations
        return dict(walked)

    def _keep_drivers(self, manifest: Manifest, walked: Manifest) -> None:
        if manifest["kind"] == "CSIDriver":
            walked["metadata"]["name"] = manifest["metadata"]["name"]
            return
        for before, after in zip(manifest["spec"]["drivers"], walked["spec"]["drivers"], strict=True):
            after["name"] = before["name"]

    def _annotations(self, annotations: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        for key, text in annotations.items():
            if key in PLAIN_ANNOTATIONS:
                yield key, text
            elif key in NAMING_ANNOTATIONS:
                yield key, self.rename(text)
            elif key in WRITTEN_ANNOTATIONS:
                yield key, self._written(text)

    def _written(self, text: str) -> str:
        try:
            return msgspec.json.encode(self._member("", msgspec.json.decode(text))).decode()
        except msgspec.DecodeError:
            return NO_JSON

    def _member(self, field: str, value: Any) -> Any:
        """The value of a field, or one of those in its list."""
        if field in AS_WRITTEN:
            self.seen.append((field, value))
        if field in _keys("as written") or (field in _keys("amounts") and isinstance(value, Mapping)):
            return value
        if isinstance(value, Mapping):
            return self._members(field, value)
        if field in _keys("address"):
            return self.readdress(value)
        if isinstance(value, list):
            return [self._members("", one) if isinstance(one, Mapping) else self._member(field, one) for one in value]
        if not isinstance(value, str) or field in _keys("word"):
            return value
        return self._image(value) if field in _keys("image") else self._name(value)

    def _members(self, field: str, value: Mapping[str, Any]) -> Manifest:
        if value.get("operator") in COMPARISONS and "key" in value:
            self.seen.append((COMPARED, value))
        if field in _keys("keys"):
            return {self.rename(key): member for key, member in value.items()}
        if field in _keys("labels") and all(isinstance(member, str) for member in value.values()):
            return {key: self.rename(member) for key, member in value.items()}
        return {key: {} if key in _keys("dropped") else self._member(key, member) for key, member in value.items()}

    def _name(self, text: str) -> str:
        """A name; one of a request for devices may have a second part."""
        return "/".join(map(self.rename, text.split("/")))

    def _image(self, text: str) -> str:
        """Repository, tag and digest by themselves: some releases add a tag where there is none."""
        name, at, digest = text.partition("@")
        repository, colon, tag = name.rpartition(":")
        if not colon or "/" in tag:
            repository, colon, tag = name, "", ""
        method, separator, hexadecimal = digest.partition(":")
        return self.rename(repository) + colon + self.rename(tag) + at + method + separator + self.rename(hexadecimal)
