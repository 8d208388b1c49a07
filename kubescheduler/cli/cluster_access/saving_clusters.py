"""A server's cluster as a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click
import msgspec

from clusterstate.manifests.documents import Item
from kubescheduler.cli.cluster_access.server_cluster import ServerCluster
from kubescheduler.cli.engine_options import remark
from kubescheduler.cli.save import save_list
from kubescheduler.sources.redaction import redacted

if TYPE_CHECKING:
    from kubescheduler.live.listing.cluster_lists import ClusterLists


def save_server_cluster(server: ServerCluster, path: str, option: str, *, redact: bool = False) -> None:
    """Writes a List of everything, and says on standard error what it is. option: for errors. Raises InputError."""
    address, found = server.lists()
    for note in found.notes():
        remark(note)
    metadata = {"metadata": {"resourceVersion": found.version}} if found.version else {}
    head = {"apiVersion": "v1", "kind": "List", **metadata}
    manifests = _manifests(found)
    items = redacted((Item(address, manifest) for manifest in manifests), remark) if redact else manifests
    save_list(path, head, items, option)
    counts = ", ".join(f"{number} {kind}" for kind, number in found.counts.items())
    at = f" at resourceVersion {found.version}" if found.version else ""
    click.echo(f"{address}{at}: {counts}", err=True)


def _manifests(found: ClusterLists) -> Iterator[Any]:
    """The objects without the record of who wrote which field, which is most of a manifest and decides nothing."""
    for raw in found.objects:
        manifest = msgspec.json.decode(raw)
        manifest["metadata"].pop("managedFields", None)
        yield manifest
