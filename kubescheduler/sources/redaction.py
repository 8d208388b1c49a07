"""Clusters that can be shown to others: every name is replaced, and everything that scheduling does not read is gone.

The same text gets the same replacement wherever it stands, so that selectors, affinity, owners, claims and zones match
as before; replacements sort as what they stand for, as equal totals go to the first node by name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.manifests.decode import Decoder
from clusterstate.manifests.decode_kinds import KINDS
from clusterstate.manifests.encode import encode_object
from kubescheduler.sources import redacted_fields as fields

if TYPE_CHECKING:
    from clusterstate.manifests.documents import Item

Manifest = dict[str, Any]
Rename = Callable[[str], str]
"""A name → what stands for it."""

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
    for field, called in fields.AS_WRITTEN.items():
        if counts[field]:
            notice(f"{called} stay as written, {counts[field]} in all: decisions read them, so look for names in them")
    return map(renaming.object, manifests)


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
        kept = set(fields.KEPT_NAMES)
        comparisons = [each for field, each in seen if field == fields.COMPARED]
        compared = {each["key"] for each in comparisons}
        numbers = [text for each in comparisons for text in (*each.get("values", ()), each.get("value", ""))]
        made: dict[str, tuple[str, str]] = {}
        for manifest in manifests:
            if manifest["kind"] == "Node":
                labels = manifest["metadata"].get("labels") or {}
                kept |= {labels[key] for key in fields.KEPT_LABELS & labels.keys()}
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
        return text if text in fields.KEPT_ADDRESSES else str(IPv4Address(fields.FIRST_ADDRESS) + number)


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
        if kind in fields.DRIVERS:
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
            if key in fields.PLAIN_ANNOTATIONS:
                yield key, text
            elif key in fields.NAMING_ANNOTATIONS:
                yield key, self.rename(text)
            elif key in fields.WRITTEN_ANNOTATIONS:
                yield key, self._written(text)

    def _written(self, text: str) -> str:
        try:
            return msgspec.json.encode(self._member("", msgspec.json.decode(text))).decode()
        except msgspec.DecodeError:
            return NO_JSON

    def _member(self, field: str, value: Any) -> Any:
        """The value of a field, or one of those in its list."""
        if field in fields.AS_WRITTEN:
            self.seen.append((field, value))
        if field in fields.KEPT_PARTS or (field in fields.AMOUNTS and isinstance(value, Mapping)):
            return value
        if isinstance(value, Mapping):
            return self._members(field, value)
        if field in fields.ADDRESSES:
            return self.readdress(value)
        if isinstance(value, list):
            return [self._members("", one) if isinstance(one, Mapping) else self._member(field, one) for one in value]
        if not isinstance(value, str) or field in fields.KEPT_FIELDS:
            return value
        return self._image(value) if field in fields.IMAGES else self._name(value)

    def _members(self, field: str, value: Mapping[str, Any]) -> Manifest:
        if value.get("operator") in fields.COMPARISONS and "key" in value:
            self.seen.append((fields.COMPARED, value))
        if field in fields.NAMED_BY_KEY:
            return {self.rename(key): member for key, member in value.items()}
        if field in fields.LABELS and all(isinstance(member, str) for member in value.values()):
            return {key: self.rename(member) for key, member in value.items()}
        return {key: {} if key in fields.DROPPED else self._member(key, member) for key, member in value.items()}

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
