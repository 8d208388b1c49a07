"""Writing a cluster to a file: one that was read with its pods bound, or a server's as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
import msgspec

from clusterstate.errors import InputError
from clusterstate.manifests.decode import Item
from clusterstate.manifests.kinds import KINDS, encode_object
from clusterstate.objects import ClusterObject, Pod
from kubescheduler.cli.cluster_options import ServerCluster
from kubescheduler.cli.engine_options import remark, remarks
from kubescheduler.cli.output import list_document
from kubescheduler.sources.files import check_place, whole_file

if TYPE_CHECKING:
    import gzip

    from kubescheduler.live.cluster_lists import ClusterLists


COMPRESSED = ".gz"
FORMATS = {".json": "json", ".yaml": "yaml", ".yml": "yaml"}


def check_target(path: str | None, option: str = "--save") -> None:
    """Raises InputError if no cluster can be written there."""
    if path is None:
        return
    target = Path(path)
    if _format(target) is None:
        raise InputError(
            f"{option} {path}: the name says no format; let it end in {', '.join(FORMATS)}, or that and .gz"
        )
    check_place(f"{option} {path}", target)


def save_cluster(
    path: str, cluster: Iterable[tuple[ClusterObject, Item]], pods: Iterable[Pod], hosts: Mapping[str, str | None]
) -> None:
    """Writes a List: every object as it was read, pods with the node they were given, then the pods that are new.

    hosts: namespace/name of a pod that was scheduled → its node, None if there was none. The file appears whole or not
    at all, with the mode of what was there. Raises InputError when it cannot be written.
    """
    save_list(path, {"apiVersion": "v1", "kind": "List"}, _manifests(cluster, pods, hosts))


def save_list(path: str, head: Mapping[str, Any], items: Iterable[Any], option: str = "--save") -> None:
    """Writes a List in the format that the name says; head: what it says besides its items. Raises InputError."""
    target = Path(path)
    document = list_document(head, items, _format(target) or "json")
    try:
        with whole_file(target) as file, _packed(file, target) as out:
            for piece in document:
                out.write(piece.encode("utf-8", "replace"))
    except OSError as error:
        raise InputError(f"{option} {path}: cannot be written: {error.strerror}") from error


@contextmanager
def _packed(file: IO[bytes], target: Path) -> Iterator[gzip.GzipFile | IO[bytes]]:
    if target.suffix != COMPRESSED:
        yield file
        return
    import gzip

    with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as out:
        yield out


def _format(target: Path) -> str | None:
    return FORMATS.get(Path(target.name.removesuffix(COMPRESSED)).suffix)


def _manifests(
    cluster: Iterable[tuple[ClusterObject, Item]], pods: Iterable[Pod], hosts: Mapping[str, str | None]
) -> Iterator[Any]:
    written = set()
    for obj, item in cluster:
        if isinstance(obj, Pod) and obj.key in hosts:
            written.add(obj.key)
            yield _bound(obj, hosts[obj.key])
        else:
            yield _as_read(obj, item)
    for pod in pods:
        if pod.key not in written:
            yield _bound(pod, hosts[pod.key])


class _Type(msgspec.Struct):
    apiVersion: str = ""  # noqa: N815
    kind: str = ""


def _as_read(obj: ClusterObject, item: Item) -> msgspec.Raw | Mapping[str, Any]:
    """The manifest as it was read, with apiVersion and kind even where a list said them for all."""
    content = item.content
    if isinstance(content, msgspec.Raw):
        said = msgspec.json.decode(content, type=_Type)
        if said.apiVersion and said.kind:
            return content
        content = msgspec.json.decode(content)
    kind = type(obj).__name__
    version = content.get("apiVersion") or item.api_version or KINDS[kind].api_version
    return {
        "apiVersion": version,
        "kind": kind,
        **{k: v for k, v in content.items() if k not in _Type.__struct_fields__},
    }


def _bound(pod: Pod, host: str | None) -> Mapping[str, Any]:
    manifest = encode_object(pod) if pod.manifest is None else pod.manifest
    if host is None:
        return manifest
    return {**manifest, "spec": {**(manifest.get("spec") or {}), "nodeName": host}}


def save_server_cluster(server: ServerCluster, path: str, option: str, *, redact: bool = False) -> None:
    """Writes a List of everything, and says on standard error what it is. option: for errors. Raises InputError."""
    from kubescheduler.sources.redaction import redacted

    address, found = server.lists()
    remarks(found.notes())
    metadata = {"metadata": {"resourceVersion": found.version}} if found.version else {}
    head = {"apiVersion": "v1", "kind": "List", **metadata}
    manifests = _without_managed_fields(found)
    items = redacted((Item(address, manifest) for manifest in manifests), remark) if redact else manifests
    save_list(path, head, items, option)
    counts = ", ".join(f"{number} {kind}" for kind, number in found.counts.items())
    at = f" at resourceVersion {found.version}" if found.version else ""
    click.echo(f"{address}{at}: {counts}", err=True)


def _without_managed_fields(found: ClusterLists) -> Iterator[Any]:
    """The objects without the record of who wrote which field, which is most of a manifest and decides nothing."""
    for raw in found.objects:
        manifest = msgspec.json.decode(raw)
        manifest["metadata"].pop("managedFields", None)
        yield manifest
