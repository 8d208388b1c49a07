"""Writing a cluster back with its pods bound."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from clusterstate.encode import encode_object
from clusterstate.errors import InputError
from clusterstate.objects import Pod
from kubescheduler.core.decision import Decision


def save_cluster(path: str, objects: Iterable[Any], decisions: Iterable[Decision]) -> None:
    """Writes a List of every object, scheduled pods with spec.nodeName. JSON or YAML by the file's name.

    The file appears whole or not at all. Raises InputError when it cannot be written.
    """
    hosts = {d.pod.metadata.uid: d for d in decisions}
    items = [_manifest(obj) for obj in objects if not (isinstance(obj, Pod) and obj.metadata.uid in hosts)]
    items += [_bound(_manifest(d.pod), d.host) for d in hosts.values()]
    target = Path(path)
    plain = target.with_suffix("") if target.suffix == ".gz" else target
    data = _text({"apiVersion": "v1", "kind": "List", "items": items}, plain.suffix)
    part = target.with_name(target.name + ".part")
    try:
        part.write_bytes(gzip.compress(data, mtime=0) if target.suffix == ".gz" else data)
        part.replace(target)
    except OSError as error:
        raise InputError(f"--save {path}: {error.strerror}") from error


def _manifest(obj: Any) -> Mapping[str, Any]:
    kept: Mapping[str, Any] | None = getattr(obj, "manifest", None)
    return encode_object(obj) if kept is None else kept


def _bound(manifest: Mapping[str, Any], host: str | None) -> Mapping[str, Any]:
    if host is None:
        return manifest
    return {**manifest, "spec": {**(manifest.get("spec") or {}), "nodeName": host}}


def _text(document: Mapping[str, Any], suffix: str) -> bytes:
    import msgspec

    if suffix == ".json":
        return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
    import yaml

    plain = msgspec.json.decode(msgspec.json.encode(document))
    out: bytes = yaml.dump(
        plain, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), sort_keys=False, encoding="utf-8"
    )
    return out
