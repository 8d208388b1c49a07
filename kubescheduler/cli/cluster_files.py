"""Clusters and pods from the command line's arguments."""

from __future__ import annotations

import gc
import sys
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Unpack

import click
import msgspec

from clusterstate.devices.resource_claims import extended_claim_owner, request_mappings
from clusterstate.errors import DecodeError, InputError, attempt, both
from clusterstate.manifests.decode import Item, notes_on
from clusterstate.manifests.fields import STRICT, Accepted, Judgement, Strictness, strictness_of
from clusterstate.manifests.kinds import KINDS, encode_object
from clusterstate.objects import ClusterObject, Pod, ResourceClaim
from kubescheduler.api.cluster import Cluster
from kubescheduler.cli.cluster_options import ClusterPlace, ServerCluster
from kubescheduler.cli.engine_options import EngineOptions, Reading, remark, remarks
from kubescheduler.cli.output import list_document
from kubescheduler.cli.progress import progress
from kubescheduler.engine.spec import Engine
from kubescheduler.given import key_of
from kubescheduler.simulation.openb_trace import read_inputs_of
from kubescheduler.simulation.pods_to_place import PodsToPlace, pods_in
from kubescheduler.simulation.workload import Workload
from kubescheduler.sources.cluster_input import uid_problems
from kubescheduler.sources.files import check_place, whole_file

if TYPE_CHECKING:
    import gzip

    from kubescheduler.live.cluster_lists import ClusterLists
    from kubescheduler.releases.daemon_controllers import DaemonController


LONG = 5000
"""Objects that take long enough to read for a progress bar."""


class Inputs(msgspec.Struct, frozen=True):
    """What a command names."""

    cluster: Cluster
    """The cluster, without the pods to schedule unless these wait in it."""
    pods: list[Pod]
    """What to schedule, in order."""
    notes: tuple[str, ...] = ()
    """What is to be said about what was read."""
    in_turn: Mapping[str, Sequence[str]] = {}
    """See ``PodsToPlace``."""


def read_inputs(
    cluster: Sequence[ClusterPlace],
    pod_files: Sequence[str],
    *,
    pending: bool,
    keep_manifests: bool,
    **reading: Unpack[Reading],
) -> Inputs:
    """Reads everything a command names; a progress bar on a terminal. Raises DecodeError with every fault."""
    problems: list[str] = []
    if pending:
        there = read_shown(cluster, keep_manifests=keep_manifests, **reading)
        asked = PodsToPlace(there.pending())
    else:
        there, asked = read_asked(cluster, pod_files, keep_manifests=keep_manifests, **reading)
        there = _without(there, {pod.key for pod in asked.pods}, problems)
    problems += uid_problems(there.pods if pending else [*there.pods, *asked.pods])
    if problems:
        raise DecodeError(problems)
    there = there.with_accompanying(asked.accompanying)
    none = ("no pending pods in the cluster",) if pending and not asked.pods else ()
    notes = (*notes_on_cluster(there), *asked.notes, *asked.controllers, *none)
    return Inputs(there, asked.pods, notes, asked.in_turn)


def read_asked(
    cluster: Sequence[ClusterPlace],
    pod_files: Sequence[str],
    *,
    keep_manifests: bool = False,
    daemons: DaemonController | None = None,
    **reading: Unpack[Reading],
) -> tuple[Cluster, PodsToPlace]:
    """A cluster, and the pods that are asked about in it. Raises DecodeError with every fault of both.

    daemons: what makes the pods of DaemonSets; None: the release's controller. Where the cluster cannot be read,
    nothing is defaulted: just what is wrong with the pods alone is said.
    """
    problems: list[str] = []
    there = attempt(problems, partial(read_shown, cluster, keep_manifests=keep_manifests, **reading))
    how: dict[str, Any] = {"release": reading["release"], "daemons": daemons}
    how |= {"defaulting": reading["defaulting"] and there is not None, "strictness": _judged_like(there, reading)}
    asked = attempt(problems, lambda: pods_in(read_inputs_of(pod_files, sys.stdin.buffer), there, **how))
    if there is None or asked is None:
        raise DecodeError(problems)
    return there, asked


def notes_on_cluster(cluster: Cluster, *, reads_daemon_sets: bool = False) -> tuple[str, ...]:
    """What was noticed while reading it, and that it has no nodes. reads_daemon_sets: whether their manifests count."""
    notes = notes_where_daemons_count(cluster) if reads_daemon_sets else cluster.notes
    return notes if cluster.nodes else (*notes, "the cluster has no nodes")


def notes_where_daemons_count(cluster: Cluster) -> tuple[str, ...]:
    """What was noticed while reading a cluster whose manifests of DaemonSets are not left out for once."""
    left_out = notes_on({'"DaemonSet"': len(cluster.daemon_sets)})
    return tuple(note for note in cluster.notes if note not in left_out)


def read_shown(
    places: Sequence[ClusterPlace],
    release: str,
    defaulting: bool,
    *,
    keep_manifests: bool = False,
    validate: Judgement | None = None,
    gates: Mapping[str, bool] | None = None,
) -> Cluster:
    """A cluster, with a progress bar on a terminal. Raises InputError with every fault."""
    opened = [place.open() if isinstance(place, ServerCluster) else place for place in places]
    with progress("reading", sys.stderr, smallest=LONG) as tell:
        return Cluster.read(
            *opened,
            release=release,
            stdin=sys.stdin.buffer,
            defaulting=defaulting,
            keep_manifests=keep_manifests,
            progress=tell,
            validate=validate,
            gates=gates,
        )


def read_question(
    engine: EngineOptions, places: Sequence[ClusterPlace], *, keep_manifests: bool = False
) -> tuple[Engine, Cluster]:
    """(what decides, the cluster that it is asked about). Raises InputError with every fault of both."""
    with nothing_collected():
        return both(engine.engine, partial(read_shown, places, **engine.reading, keep_manifests=keep_manifests))


def read_workload_for(
    cluster: Cluster, paths: Sequence[str], reading: Reading, *, beside: Iterable[ClusterObject] = (), **more: Any
) -> tuple[Workload, list[str]]:
    """What comes to a cluster, and notes. beside: what is there as well. more: see ``workload_in``."""
    from kubescheduler.simulation.workload_files import workload_in

    return workload_in(
        read_inputs_of(paths, sys.stdin.buffer),
        [*cluster.objects, *beside],
        defaulting=reading["defaulting"],
        release=reading["release"],
        strictness=_judged_like(cluster, reading),
        **more,
    )


def _judged_like(cluster: Cluster | None, reading: Reading) -> Strictness:
    """How pods for a cluster are judged: strictly unless an option says otherwise, and for the same API server."""
    accepted = Accepted() if cluster is None else cluster.strictness.accepted
    return strictness_of(reading["validate"], STRICT).under(accepted)


def _without(cluster: Cluster, keys: Container[str], problems: list[str]) -> Cluster:
    """The cluster without the pods that are to be scheduled; that one of them runs already is a fault."""
    again = []
    for entry in cluster.entries():
        pod = entry.obj
        if isinstance(pod, Pod) and pod.key in keys:
            again.append(pod.key.removeprefix("/"))
            if pod.node_name:
                where = f"{entry.source}: Pod {pod.key}: spec.nodeName"
                problems.append(f"{where}: it runs on {pod.node_name}; remove it there, or give the pod another name")
    return cluster.without_pod(*again) if again else cluster


@contextmanager
def nothing_collected() -> Iterator[None]:
    """No garbage collection while many objects are made that stay; these are not looked at until the command ends."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
        click.get_current_context().call_on_close(gc.unfreeze)
    finally:
        if enabled:
            gc.enable()


def mirrored_inputs(path: str, release: str, gates: Mapping[str, bool] | None = None) -> tuple[Cluster, Workload]:
    """The cluster as it was at the start, and what came to it; notes go to standard error. Raises DecodeError."""
    from kubescheduler.simulation.mirrored_traffic import MirroredTraffic

    traffic = MirroredTraffic.read(path)
    cluster = Cluster(*traffic.start(), release=release, defaulting=False, validate="ignore", gates=gates)
    workload, notes = traffic.workload(cluster.objects)
    remarks(notes)
    return cluster, workload


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
    path: str,
    cluster: Iterable[tuple[ClusterObject, Item]],
    pods: Iterable[Pod],
    hosts: Mapping[str, str | None],
    changed: Iterable[ClusterObject] = (),
) -> None:
    """Writes a List: every object as it was read, pods with the node they were given, claims and volumes as they were
    bound, then the objects that are new.

    hosts: namespace/name of a pod that was scheduled → its node, None if there was none. changed: claims and volumes,
    of which the last of a name counts. The file appears whole or not
    at all, with the mode of what was there. Raises InputError when it cannot be written.
    """
    save_list(
        path,
        {"apiVersion": "v1", "kind": "List"},
        _manifests(cluster, pods, hosts, {key_of(obj): obj for obj in changed}),
    )


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
    cluster: Iterable[tuple[ClusterObject, Item]],
    pods: Iterable[Pod],
    hosts: Mapping[str, str | None],
    changed: dict[tuple[str, str], ClusterObject],
) -> Iterator[Any]:
    written = set()
    extended = {owner: obj for obj in changed.values() if (owner := extended_claim_owner(obj)) is not None}
    for obj, item in cluster:
        if isinstance(obj, Pod) and obj.key in hosts:
            written.add(obj.key)
            yield _bound(obj, hosts[obj.key], extended.get(obj.metadata.uid))
        elif (now := changed.pop(key_of(obj), None)) is not None:
            yield _with(_as_read(obj, item), encode_object(now))
        else:
            yield _as_read(obj, item)
    yield from map(encode_object, changed.values())
    for pod in pods:
        if pod.key not in written:
            yield _bound(pod, hosts[pod.key], extended.get(pod.metadata.uid))


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


def _with(manifest: Any, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """A manifest with other values of some fields; all else is as it was written."""
    read = msgspec.json.decode(manifest) if isinstance(manifest, msgspec.Raw) else manifest
    inside = {
        key: _with(read[key], value) if isinstance(value, Mapping) and isinstance(read.get(key), Mapping) else value
        for key, value in fields.items()
    }
    return {**read, **inside}


def _bound(pod: Pod, host: str | None, extended: ClusterObject | None) -> Mapping[str, Any]:
    """extended: the claim that was made for its extended resources."""
    manifest = encode_object(pod) if pod.manifest is None else pod.manifest
    if host is None:
        return manifest
    if isinstance(extended, ResourceClaim):
        mappings = request_mappings(pod.spec, extended)
        said = {"requestMappings": mappings, "resourceClaimName": extended.metadata.name}
        manifest = {**manifest, "status": {**(manifest.get("status") or {}), "extendedResourceClaimStatus": said}}
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
