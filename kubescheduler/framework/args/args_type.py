"""The args of a plugin: the keys that a configuration may give, the record they become, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from clusterstate.objects import Requirement
from kubescheduler.framework.args.document_schema import INT32, INT64, TEXT, Field, Kind, ListOf, Struct, written
from kubescheduler.framework.args.field_errors import PERCENT, FieldError, invalid, required

NO_GATES: Mapping[str, bool] = {}


def no_errors(_: Any) -> Iterator[FieldError]:
    """Whatever can be decoded can be used."""
    return iter(())


class ArgsType(msgspec.Struct, frozen=True, eq=False):
    """What one release reads as the args of a plugin."""

    record: type[Any]
    """What the args become; its name is the document's kind, its defaults are those of a plugin without args."""
    fields: tuple[Field, ...]
    """The keys, each with the field of the record that it becomes."""
    description: str
    """What the keys mean, in Markdown; the same for every release that has the plugin."""
    build: Callable[..., Any] | None = None
    """Makes the record of the fields that are given, with the release's defaults; None: the record's own."""
    build_with: Callable[[Mapping[str, bool]], Callable[..., Any]] | None = None
    """Feature gates → ``build``, where defaults depend on gates."""
    errors: Callable[[Any], Iterator[FieldError]] = no_errors
    """The faults of a record in the release's words, paths beginning at the args."""
    checked_with_config: bool = False
    """1.36: faults are found with those of the whole configuration, and not when the plugin is made."""

    def keys(self, feature_gates: Mapping[str, bool] = NO_GATES) -> Struct:
        """The object that a configuration gives; gates that are not named have the release's default."""
        build = self.build or self.record
        return Struct(
            self.record.__name__, build if self.build_with is None else self.build_with(feature_gates), self.fields
        )

    def document(self, args: Any) -> dict[str, Any]:
        """A record as an object of a configuration, without ``kind`` and ``apiVersion``."""
        said: dict[str, Any] = written(self.keys(), args)
        return said


def _requirement(key: str = "", operator: str = "", values: tuple[str, ...] = ()) -> Requirement:
    return Requirement(key, operator, values)


def requirements(name: str) -> Kind:
    """A list of requirements; ``name``: Go's name of their type."""
    return ListOf(
        Struct(
            name,
            _requirement,
            (Field("key", "key", TEXT), Field("operator", "operator", TEXT), Field("values", "values", ListOf(TEXT))),
        )
    )


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
    always=True,
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
    always=True,
)


def shape_errors(shape: Sequence[tuple[int, int]], unsorted: str = "values must be sorted") -> Iterator[FieldError]:
    """The faults of a curve of (utilization, score) points, paths beginning at the list. unsorted: of such points."""
    if not shape:
        yield required("", "at least one point must be specified")
        return
    for at, ((before, _), (here, _)) in enumerate(pairwise(shape), start=1):
        if before >= here:
            yield invalid(f"[{at}].utilization", here, f"{unsorted} in increasing order")
            break
    for at, (utilization, score) in enumerate(shape):
        if utilization not in PERCENT:
            yield invalid(f"[{at}].utilization", utilization, "not in valid range [0, 100]")
        if score not in SCORES:
            yield invalid(f"[{at}].score", score, "not in valid range [0, 10]")
