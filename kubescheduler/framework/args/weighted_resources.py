"""Keys that the args of several plugins share: resources with their weights, and curves of utilisation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from kubescheduler.framework.args.document_schema import INT32, INT64, TEXT, Field, ListOf, Struct
from kubescheduler.framework.args.field_errors import PERCENT, FieldError, invalid, required

Resources = tuple[tuple[str, int], ...]
"""(resource, weight)."""
Shape = tuple[tuple[int, int], ...]
"""(utilization 0-100, score 0-10) points of a curve."""

CPU_AND_MEMORY: Resources = (("cpu", 1), ("memory", 1))
"""What counts when no resources are named."""
SCORES = range(11)
"""The scores that a point of a curve may have."""


def _resource(name: str = "", weight: int = 0) -> tuple[str, int]:
    return name, weight or 1


def _point(utilization: int = 0, score: int = 0) -> tuple[int, int]:
    return utilization, score


RESOURCES = Field(
    "resources",
    "resources",
    ListOf(Struct("ResourceSpec", _resource, (Field("name", "name", TEXT), Field("weight", "weight", INT64)))),
)
SHAPE = Field(
    "shape",
    "shape",
    ListOf(
        Struct(
            "UtilizationShapePoint",
            _point,
            (Field("utilization", "utilization", INT32), Field("score", "score", INT32)),
        )
    ),
)


def written_resources(resources: Iterable[tuple[str, int]]) -> list[dict[str, str | int]]:
    """As ``RESOURCES`` are read."""
    return [{"name": name, "weight": weight} for name, weight in resources]


def written_shape(shape: Iterable[tuple[int, int]]) -> list[dict[str, int]]:
    """As ``SHAPE`` is read."""
    return [{"utilization": utilization, "score": score} for utilization, score in shape]


def shape_errors(shape: Sequence[tuple[int, int]]) -> Iterator[FieldError]:
    """The faults of a curve of (utilization, score) points, paths beginning at the list."""
    if not shape:
        yield required("", "at least one point must be specified")
        return
    for at, ((before, _), (here, _)) in enumerate(pairwise(shape), start=1):
        if before >= here:
            yield invalid(f"[{at}].utilization", here, "values must be sorted in increasing order")
            break
    for at, (utilization, score) in enumerate(shape):
        if utilization not in PERCENT:
            yield invalid(f"[{at}].utilization", utilization, "not in valid range [0, 100]")
        if score not in SCORES:
            yield invalid(f"[{at}].score", score, "not in valid range [0, 10]")
