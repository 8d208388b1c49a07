"""Traces as CSV, in the columns of Alibaba's cluster-trace-gpu-v2023 (openb): rows become manifests."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import IO, Any

import msgspec

from clusterstate.errors import DecodeError
from clusterstate.manifests.decode import Item
from clusterstate.manifests.fields import INT64, describe
from kubecel.api_names import is_object_name, subdomain_errors
from kubescheduler.sources.files import (
    STDIN,
    STDIN_NAME,
    UNREADABLE,
    Readable,
    read_bytes,
    read_file,
    read_items,
    why_unreadable,
)
from kubescheduler.sources.json_stream import PrefixedStream

EXTENSIONS = (".csv", ".csv.gz")

NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
POD_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_spec", "qos", "creation_time", "deletion_time")
"""Columns that are read; others may be there."""

GPU, GPU_MODEL = "nvidia.com/gpu", "gpu-model"
NAMESPACE = "default"
_LARGEST = INT64.stop // 2**30
"""Of an amount in a trace: in bytes or thousandths it has to fit into 64 bits."""
LATEST = 1e11
"""Seconds, some 3,000 years."""
ZONES = 3
"""Nodes are spread over so many zones, by row."""
REGION = "r"
ZONE_LABELS = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
REGION_LABELS = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")
MOST_PODS, STORAGE = "110", "500Gi"
"""What a node has beside what the trace says."""

Manifest = dict[str, Any]
Shape = tuple[str, str, str, str, str]
"""What makes two pods of a trace equal: cpu, memory, GPUs, models, quality class."""


class TracePod(msgspec.Struct, frozen=True):
    """A row: its name, shape and times in seconds; ``deleted`` is None for a pod that stays."""

    name: str
    shape: Shape
    created: float
    deleted: float | None


class Trace(msgspec.Struct, frozen=True):
    """A trace, and where it is."""

    name: str
    """The path of the file, or what to call it in errors."""
    data: bytes | None = None
    """What is in it; None: it is in the file."""


def is_trace(path: str) -> bool:
    """Whether a file's name is that of a trace."""
    return path.endswith(EXTENSIONS)


_Named = tuple[list[Trace], list[str], Readable | None]
"""(traces, all else without standard input if that is a trace, what is on standard input, from its beginning)."""


class ReadInputs(msgspec.Struct, frozen=True):
    """What was read of what a command names."""

    items: list[Item]
    """The manifests."""
    traces: Sequence[Trace] = ()
    """The traces, yet to be read."""
    problems: list[str] = msgspec.field(default_factory=list)
    """What is wrong with files and standard input."""
    name: str = "workload"
    """Of all of it, in errors."""


def read_inputs_of(paths: Sequence[str], stdin: IO[bytes] | None = None, *, sparse: bool = False) -> ReadInputs:
    """Reads the manifests among files, folders and ``-``, and sets the traces apart. sparse: as for ``read_items``."""
    faults: list[str] = []
    traces, others, stdin_left = _traces_apart(paths, stdin, faults)
    items, problems = read_items(others, stdin_left, sparse=sparse)
    return ReadInputs(items, traces, faults + problems, ", ".join(paths))


def _traces_apart(paths: Sequence[str], stdin: IO[bytes] | None, problems: list[str]) -> _Named:
    """Tells the traces among paths from manifests; standard input is one if its first line names two of the columns.

    problems: what is wrong with standard input goes there. What begins as JSON is not read any further.
    """
    traces, others = [Trace(path) for path in paths if is_trace(path)], [path for path in paths if not is_trace(path)]
    if STDIN not in others or stdin is None:
        return (traces, others, stdin)
    named = [path for path in others if path != STDIN]
    try:
        begin = stdin.read(1)
        rest = PrefixedStream(begin, stdin)
        if begin == b"{":
            return (traces, others, rest)
        data = read_bytes(rest)
    except UNREADABLE as error:
        problems.append(f"{STDIN_NAME}: {why_unreadable(error)}")
        return (traces, named, None)
    if _has_header(data):
        return ([*traces, Trace(STDIN_NAME, data)], named, None)
    return (traces, others, io.BytesIO(data))


def _has_header(data: bytes) -> bool:
    header = {name.strip().strip('"') for name in data.partition(b"\n")[0].decode(errors="replace").split(",")}
    return any(len(header.intersection(columns)) > 1 for columns in (NODE_COLUMNS, POD_COLUMNS))


def read_trace_nodes(trace: Trace) -> list[Manifest]:
    """The nodes of a CSV. Raises DecodeError with every fault."""
    problems: list[str] = []
    nodes: list[Manifest] = []
    for line, (name, cpu, memory, gpus, model) in _rows(trace, NODE_COLUMNS, "nodes"):
        where = f"{trace.name}: line {line}"
        for column, text in (("cpu_milli", cpu), ("memory_mib", memory), ("gpu", gpus)):
            _number(text, column, where, problems, whole=True)
        _check_name(name, "sn", where, problems)
        nodes.append(_node(name, cpu, memory, gpus, model, len(nodes)))
    if problems:
        raise DecodeError(problems)
    return nodes


def read_trace_pods(trace: Trace) -> list[TracePod]:
    """The pods of a CSV. Raises DecodeError with every fault."""
    problems: list[str] = []
    pods = []
    for line, (name, cpu, memory, gpus, models, qos, created, deleted) in _rows(trace, POD_COLUMNS, "pods"):
        where = f"{trace.name}: line {line}"
        _check_name(name, "name", where, problems)
        for column, text in (("cpu_milli", cpu), ("memory_mib", memory), ("num_gpu", gpus)):
            _number(text, column, where, problems, whole=True)
        begin = _number(created, "creation_time", where, problems)
        end = _number(deleted, "deletion_time", where, problems) if deleted else None
        if end is not None and end < begin:
            problems.append(f"{where}: deletion_time: {deleted} is before creation_time")
        pods.append(TracePod(name, (cpu, memory, gpus, models, qos.lower()), begin, end))
    if problems:
        raise DecodeError(problems)
    return pods


def pod_manifest(name: str, shape: Shape) -> Manifest:
    """A pod of a shape; its models are a required node affinity, its quality class the label ``app``."""
    cpu, memory, gpus, models, app = shape
    requests = {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}
    if int(gpus or 0):
        requests[GPU] = gpus
    container = {"name": "main", "image": f"registry.example.com/{app}:1", "resources": {"requests": requests}}
    spec: Manifest = {"containers": [container]}
    if models:
        expression = {"key": GPU_MODEL, "operator": "In", "values": models.split("|")}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    metadata = {"name": name, "namespace": NAMESPACE, "labels": {"app": app}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def service_manifests(shapes: Sequence[Shape]) -> list[Manifest]:
    """One service for each quality class, as its pods are spread by the services they belong to."""
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": app, "namespace": NAMESPACE},
            "spec": {"selector": {"app": app}},
        }
        for app in sorted({shape[-1] for shape in shapes})
    ]


def _node(name: str, cpu: str, memory: str, gpus: str, model: str, index: int) -> Manifest:
    zone = f"zone-{index % ZONES}"
    labels = {
        "kubernetes.io/hostname": name,
        **dict.fromkeys(ZONE_LABELS, zone),
        **dict.fromkeys(REGION_LABELS, REGION),
    }
    amounts = {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}
    amounts |= {"pods": MOST_PODS, "ephemeral-storage": STORAGE}
    if gpus not in ("", "0"):
        amounts[GPU] = gpus
        labels[GPU_MODEL] = model
    status = {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
    metadata = {"name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}, "status": status}


def _rows(trace: Trace, columns: Sequence[str], what: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """(line, what is in these columns) of each row of a CSV that has them. Raises DecodeError."""
    path = trace.name
    try:
        text = (read_file(path) if trace.data is None else trace.data).decode()
    except UnicodeDecodeError as error:
        raise DecodeError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8") from error
    except UNREADABLE as error:
        raise DecodeError(f"{path}: {why_unreadable(error)}") from error
    import csv

    reader = csv.reader(io.StringIO(text), strict=True)
    try:
        there = next(reader, [])
        missing = [column for column in columns if column not in there]
        if missing:
            names = ", ".join(columns)
            raise DecodeError(
                f"{path}: no column {', '.join(missing)}; the first line of a trace of {what} names {names}"
            )
        places = {column: place for place, column in enumerate(there)}
        read, width = itemgetter(*(places[column] for column in columns)), len(there)
        for row in filter(None, reader):
            yield reader.line_num, read(row if len(row) >= width else row + [""] * (width - len(row)))
    except csv.Error as error:
        raise DecodeError(f"{path}: line {reader.line_num}: {error}") from None


def _check_name(name: str, column: str, where: str, problems: list[str]) -> None:
    """Notes a name that no object can have."""
    if not is_object_name(name):
        problems.append(f"{where}: {column}: {describe(name)} is no name: {'; '.join(subdomain_errors(name))}")


def _number(text: str, column: str, where: str, problems: list[str], *, whole: bool = False) -> float:
    """A number of a row, an empty whole one is 0; what is none is noted, and 0."""
    try:
        value = int(text or 0) if whole else float(text)
        most = _LARGEST if whole else LATEST
    except ValueError:
        problems.append(f"{where}: {column}: {describe(text)} is no {'whole ' * whole}number")
        return 0.0
    if not 0 <= value < float("inf"):
        problems.append(f"{where}: {column}: {describe(text)} is not a number from 0 on")
        return 0.0
    if value > most:
        problems.append(f"{where}: {column}: {describe(text)} is more than {most}")
        return 0.0
    return value
