"""Tables of fields: the keys of a document's objects, their types as Go has them, and what they become; and the faults
of a document at the path of the field, in the words of the releases' own validation.

``GoDecoder`` reads a document by a table; ``written`` makes a document again by the same one. Below, the args of a
plugin: their table, the record they become, and the tables that several plugins share.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import msgspec

from clusterstate.errors import ConfigError
from clusterstate.objects import NodeSelectorTerm, PreferredSchedulingTerm, Requirement
from kubecel.api_names import format_duration, go_quote, qualified_name_errors

INVALID = "Invalid value"
REQUIRED = "Required value"
DUPLICATE = "Duplicate value"
UNSUPPORTED = "Unsupported value"
FORBIDDEN = "Forbidden"

PERCENT = range(101)
"""The values of a percentage."""


class FieldError(msgspec.Struct, frozen=True):
    """A fault. ``shown`` is the value as the release prints it, None where it prints none.

    Without a ``kind`` the fault is a plain text that the release tells without any path.
    """

    path: str
    detail: str = ""
    kind: str = ""
    shown: str | None = None

    def __str__(self) -> str:
        if not self.kind:
            return self.detail
        return ": ".join(part for part in (self.path, self.kind, self.shown, self.detail) if part)

    def under(self, prefix: str) -> FieldError:
        """The same fault of something that is itself at ``prefix``."""
        return msgspec.structs.replace(self, path=join(prefix, self.path))

    @property
    def problem(self) -> str:
        """The fault with its path, also where the release leaves the path out."""
        return str(self) if self.kind or not self.path else f"{self.path}: {self.detail}"


def join(prefix: str, path: str) -> str:
    """``prefix`` and what is below it."""
    dot = "." if prefix and path and not path.startswith("[") else ""
    return f"{prefix}{dot}{path}"


def plain(text: str) -> FieldError:
    """An error without path and kind."""
    return FieldError("", text)


def show(value: str | int) -> str:
    """A value as every release prints it: texts in quotes."""
    if isinstance(value, bool):
        return str(value).lower()
    return go_quote(value) if isinstance(value, str) else str(value)


def invalid(path: str, value: str | int, detail: str) -> FieldError:
    """Upstream: field.Invalid."""
    return FieldError(path, detail, INVALID, show(value))


def required(path: str, detail: str = "") -> FieldError:
    """Upstream: field.Required."""
    return FieldError(path, detail, REQUIRED)


def duplicate(path: str, value: str | int) -> FieldError:
    """Upstream: field.Duplicate."""
    return FieldError(path, "", DUPLICATE, show(value))


def forbidden(path: str, detail: str) -> FieldError:
    """Upstream: field.Forbidden."""
    return FieldError(path, detail, FORBIDDEN)


def unsupported(path: str, value: str, supported: Sequence[str]) -> FieldError:
    """Upstream: field.NotSupported."""
    detail = f"supported values: {', '.join(map(show, supported))}" if supported else ""
    return FieldError(path, detail, UNSUPPORTED, show(value))


def label_name_errors(path: str, name: str, worded: Callable[[str], str]) -> Iterator[FieldError]:
    """Every reason why ``name`` cannot be the key of a label. worded: a text as the release has it."""
    return (invalid(path, name, worded(text)) for text in qualified_name_errors(name))


def aggregate(errors: Iterable[FieldError | str]) -> str:
    """The errors as one text: each once, in brackets unless there is but one."""
    texts = list(dict.fromkeys(map(str, errors)))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def refuse(errors: Iterable[FieldError | str]) -> None:
    """Raises ConfigError with the errors as one text, if there are any."""
    if all_errors := list(errors):
        raise ConfigError(aggregate(all_errors))


T = TypeVar("T")


def literal_list(go: str, items: Sequence[T], show: Callable[[T], str]) -> str:
    """A list of Go type ``[]go``; an empty one is nil."""
    return f"[]{go}{{{', '.join(map(show, items))}}}" if items else f"[]{go}(nil)"


def node_selector(terms: Iterable[NodeSelectorTerm]) -> str:
    """A node selector as Go prints it."""
    return f"v1.NodeSelector{{NodeSelectorTerms:{literal_list('v1.NodeSelectorTerm', tuple(terms), _term)}}}"


def preferred_terms(terms: Iterable[PreferredSchedulingTerm]) -> str:
    """Preferred node affinity as Go prints it."""
    return literal_list("v1.PreferredSchedulingTerm", tuple(terms), _preferred)


def _preferred(term: PreferredSchedulingTerm) -> str:
    return f"v1.PreferredSchedulingTerm{{Weight:{term.weight}, Preference:{_term(term.preference)}}}"


def _term(term: NodeSelectorTerm) -> str:
    go = "v1.NodeSelectorRequirement"
    expressions = literal_list(go, term.match_expressions, _requirement_text)
    fields = literal_list(go, term.match_fields, _requirement_text)
    return f"v1.NodeSelectorTerm{{MatchExpressions:{expressions}, MatchFields:{fields}}}"


def _requirement_text(requirement: Requirement) -> str:
    key, operator = go_quote(requirement.key), go_quote(requirement.operator)
    values = literal_list("string", requirement.values, go_quote)
    return f"v1.NodeSelectorRequirement{{Key:{key}, Operator:{operator}, Values:{values}}}"


class Scalar(msgspec.Struct, frozen=True):
    """A single value. ``go`` is Go's name of its type; integers have ``bits``."""

    go: str
    wanted: str
    bits: int = 0


TEXT = Scalar("string", "a string")
BOOL = Scalar("bool", "true or false")
BYTES = Scalar("[]uint8", "a base64 string")
INT = Scalar("int", "an integer", 64)
INT32 = Scalar("int32", "a 32-bit integer", 32)
INT64 = Scalar("int64", "an integer", 64)
DURATION = Scalar("time.Duration", "an integer number of nanoseconds", 64)
FLOAT = Scalar("float32", "a number")
GO_DURATION = Scalar("v1.Duration", 'a duration such as "15s" or "1m30s"')
"""Nanoseconds, written as Go writes durations."""


class ListOf(msgspec.Struct, frozen=True):
    """A list, as a tuple; null elements are zero values."""

    item: Kind

    @property
    def go(self) -> str:
        """The type as Go writes it."""
        return f"[]{self.item.go}"


class MapOf(msgspec.Struct, frozen=True):
    """A mapping of texts to scalars, as a FrozenMap."""

    item: Scalar

    @property
    def go(self) -> str:
        """The type as Go writes it."""
        return f"map[string]{self.item.go}"


class Anything(msgspec.Struct, frozen=True):
    """A value that is decoded later, or never."""

    go: str = "runtime.RawExtension"


class Field(msgspec.Struct, frozen=True):
    """One key of a struct, and the argument of ``build`` it becomes.

    ``internal`` is the key in the unversioned form of the struct, by default ``key`` with a capital.
    """

    key: str
    attribute: str
    kind: Kind
    internal: str = ""
    internal_kind: Kind | None = None
    always: bool = False
    """It is written also where its value is empty."""

    def __post_init__(self) -> None:
        if not self.internal:
            msgspec.structs.force_setattr(self, "internal", self.key[:1].upper() + self.key[1:])


def fields(**kinds: Kind) -> tuple[Field, ...]:
    """Attribute → kind, where the key is the attribute in camel case: ``url_prefix`` for ``urlPrefix``."""
    return tuple(
        Field(re.sub("_(.)", lambda found: found[1].upper(), name), name, kind) for name, kind in kinds.items()
    )


class Struct(msgspec.Struct, frozen=True):
    """An object. ``build`` takes the fields that were given, by attribute."""

    name: str
    build: Callable[..., Any]
    fields: tuple[Field, ...]
    fold_case: bool = False
    """Keys of the versioned form match in any case, here and below."""
    omits_zero: bool = False
    """What is zero, false or empty is not written; otherwise only empty lists and maps are left out."""
    parts: Callable[[Any], Mapping[str, Any]] | None = None
    """Attribute → value of what ``build`` made, where that has no such attributes and is no tuple of them."""

    @property
    def go(self) -> str:
        """The type as Go writes it."""
        return f"v1.{self.name}"

    def with_fields(self, *fields: Field) -> Struct:
        """With other fields in place of those that become the same attributes, or behind them."""
        by_attribute = {field.attribute: field for field in (*self.fields, *fields)}
        return msgspec.structs.replace(self, fields=tuple(by_attribute.values()))


Kind = Scalar | ListOf | MapOf | Anything | Struct


def written(kind: Kind, value: Any) -> Any:
    """A value as a document has it, such that reading that gives the same; None for what is not said."""
    if value is None:
        return None
    if isinstance(kind, Struct):
        return _written_object(kind, value)
    if isinstance(kind, ListOf):
        return [written(kind.item, item) for item in value]
    if isinstance(kind, MapOf):
        return dict(value)
    return _WRITERS[kind](value) if kind in _WRITERS else value


_WRITERS: dict[Kind, Callable[[Any], Any]] = {
    GO_DURATION: format_duration,
    BYTES: lambda data: base64.b64encode(data).decode(),
    FLOAT: lambda number: int(number) if number == int(number) else number,
}
"""Single values that JSON has no form of their own for."""


def _written_object(kind: Struct, value: Any) -> dict[str, Any]:
    if kind.parts is not None:
        value = kind.parts(value)
    elif isinstance(value, tuple):
        value = {field.attribute: item for field, item in zip(kind.fields, value, strict=True)}
    out: dict[str, Any] = {}
    for field in kind.fields:
        item = value.get(field.attribute) if isinstance(value, Mapping) else getattr(value, field.attribute)
        said = written(field.kind, item)
        may_go = not field.always and (kind.omits_zero or isinstance(field.kind, ListOf | MapOf))
        if said is not None and not (may_go and (not item or not said)):
            out[field.key] = said
    return out


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
    return ListOf(Struct(name, _requirement, fields(key=TEXT, operator=TEXT, values=ListOf(TEXT))))


Resources = tuple[tuple[str, int], ...]
"""(resource, weight)."""
Shape = tuple[tuple[int, int], ...]
"""(utilization 0-100, score 0-10) points of a curve."""

CPU_AND_MEMORY: Resources = (("cpu", 1), ("memory", 1))
"""What counts when no resources are named."""
SCORES = range(11)
"""The scores that a point of a curve may have."""


def _resource(name: str = "", weight: int = 0) -> tuple[str, int]:
    return name, weight


def _resource_counted_once(name: str = "", weight: int = 0) -> tuple[str, int]:
    return name, weight or 1


def _point(utilization: int = 0, score: int = 0) -> tuple[int, int]:
    return utilization, score


def _resources(make: Callable[..., Any]) -> Field:
    kind = ListOf(Struct("ResourceSpec", make, fields(name=TEXT, weight=INT64)))
    return Field("resources", "resources", kind, always=True)


RESOURCES = _resources(_resource)
"""Weights as they are given; 0 where none is."""
RESOURCES_COUNTED_ONCE = _resources(_resource_counted_once)
"""The same where defaulting makes 1 of a weight 0."""
SHAPE = Field(
    "shape",
    "shape",
    ListOf(Struct("UtilizationShapePoint", _point, fields(utilization=INT32, score=INT32))),
    always=True,
)


UNSORTED, UNSORTED_1_20 = "values must be sorted", "utilization values must be sorted"
"""The text about the points of a curve, from 1.34 on and before."""


def shape_errors(shape: Sequence[tuple[int, int]], unsorted: str = UNSORTED_1_20) -> Iterator[FieldError]:
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
