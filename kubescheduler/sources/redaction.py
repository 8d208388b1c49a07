"""Clusters that can be shown to others: every name is replaced, and everything that scheduling does not read is gone.

The same text gets the same replacement wherever it stands, so that selectors, affinity, owners, claims and zones match
as before; replacements sort as what they stand for, as equal totals go to the first node by name.
"""

from __future__ import annotations

import re
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


def redacted(items: Iterable[Item]) -> Iterator[Manifest]:
    """The objects of items, as manifests without names. Raises DecodeError for one that cannot be read."""
    decoder = Decoder()
    manifests = [encode_object(decoder.decode_item(item)) for item in items]
    names: set[str] = set()

    def collect(name: str) -> str:
        names.add(name)
        return name

    collecting = _Redaction(collect)
    for manifest in manifests:
        collecting.object(manifest)
    renaming = _Redaction(_Names.of(names, manifests).renamed)
    return map(renaming.object, manifests)


class _Names(msgspec.Struct, frozen=True, eq=False):
    """What stands for each name."""

    replacements: Mapping[str, str]
    kept: frozenset[str]
    made: Mapping[str, tuple[str, str]]
    """Name of the claim of an ephemeral volume → (its pod's name, the volume's), of which it is made."""

    @classmethod
    def of(cls, names: set[str], manifests: Iterable[Manifest]) -> _Names:
        width = len(str(len(names)))
        numbered = enumerate(sorted(names, key=str.encode), 1)
        replacements = {name: f"n{number:0{width}}" for number, name in numbered}
        kept = set(fields.KEPT_NAMES)
        made: dict[str, tuple[str, str]] = {}
        for manifest in manifests:
            if manifest["kind"] == "Node":
                labels = manifest["metadata"].get("labels") or {}
                kept |= {labels[key] for key in fields.KEPT_LABELS & labels.keys()}
            elif manifest["kind"] == "Pod":
                pod = manifest["metadata"]["name"]
                volumes = manifest["spec"].get("volumes") or ()
                made |= {f"{pod}-{v['name']}": (pod, v["name"]) for v in volumes if "ephemeral" in v}
        return cls(replacements, frozenset(kept), made)

    def renamed(self, name: str) -> str:
        if not name or name in self.kept or name.startswith(fields.KEPT_BEGINNING) or NUMBER.fullmatch(name):
            return name
        if name in self.made:
            return "-".join(map(self.renamed, self.made[name]))
        return self.replacements[name]


class _Redaction(msgspec.Struct, frozen=True, eq=False):
    """A walk through manifests."""

    rename: Rename

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
        if field in fields.KEPT_PARTS or (field in fields.AMOUNTS and isinstance(value, Mapping)):
            return value
        if isinstance(value, Mapping):
            return self._members(field, value)
        if isinstance(value, list):
            return [self._members("", one) if isinstance(one, Mapping) else self._member(field, one) for one in value]
        if not isinstance(value, str) or field in fields.KEPT_FIELDS:
            return value
        return self._image(value) if field in fields.IMAGES else self._name(value)

    def _members(self, field: str, value: Mapping[str, Any]) -> Manifest:
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
