"""Types of expressions. Upstream: cel-go common/types/types.go."""

from __future__ import annotations

import msgspec


class CelType(msgspec.Struct, frozen=True):
    """A type: what the checker reasons with, and what ``type(x)`` gives."""

    kind: str
    """``dyn``, ``any``, ``error``, ``param``, ``null``, a scalar's name, ``list``, ``map``, ``type``, ``object``,
    ``opaque``."""
    name: str
    """As it is at run time, without parameters."""
    parameters: tuple[CelType, ...] = ()

    def __str__(self) -> str:
        """As messages of the checker have it."""
        shown = _SHOWN.get(self.kind, self.name)
        if not self.parameters:
            return shown
        return f"{self.name}({', '.join(map(str, self.parameters))})"


_SHOWN = {"any": "any", "duration": "duration", "error": "!error!", "null": "null", "timestamp": "timestamp"}
"""Kinds that messages do not call by their name at run time."""


def _simple(kind: str, name: str = "") -> CelType:
    return CelType(kind, name or kind)


DYN = _simple("dyn")
ANY = _simple("any", "google.protobuf.Any")
ERROR = _simple("error")
NULL = _simple("null", "null_type")
BOOL = _simple("bool")
INT = _simple("int")
UINT = _simple("uint")
DOUBLE = _simple("double")
STRING = _simple("string")
BYTES = _simple("bytes")
DURATION = _simple("duration", "google.protobuf.Duration")
TIMESTAMP = _simple("timestamp", "google.protobuf.Timestamp")
TYPE = _simple("type")
QUANTITY = _simple("object", "kubernetes.Quantity")
SEMVER = _simple("object", "kubernetes.Semver")
URL = _simple("object", "kubernetes.URL")
NAMED_FORMAT = _simple("object", "kubernetes.NamedFormat")
DEVICE = _simple("object", "kubernetes.DRADevice")
IP = _simple("opaque", "net.IP")
CIDR = _simple("opaque", "net.CIDR")
OPTIONAL_NAME = "optional_type"


def full_name(kind: CelType) -> str:
    """A type with its parameters, each by its name at run time, as messages about a whole expression have it."""
    if not kind.parameters:
        return kind.name
    return f"{kind.name}({', '.join(map(full_name, kind.parameters))})"


def list_of(element: CelType) -> CelType:
    """``list(element)``."""
    return CelType("list", "list", (element,))


def map_of(key: CelType, value: CelType) -> CelType:
    """``map(key, value)``."""
    return CelType("map", "map", (key, value))


def optional_of(value: CelType) -> CelType:
    """``optional_type(value)``."""
    return CelType("opaque", OPTIONAL_NAME, (value,))


def type_type(of: CelType) -> CelType:
    """The type of a type."""
    return CelType("type", "type", (of,))


def parameter(name: str) -> CelType:
    """A type that a signature leaves open."""
    return CelType("param", name)


def is_dynamic(what: CelType) -> bool:
    """Whether only evaluation shows what it is."""
    return what.kind in ("dyn", "any")


def is_optional(what: CelType) -> bool:
    """Whether it is ``optional_type(…)``."""
    return what.kind == "opaque" and what.name == OPTIONAL_NAME


NAMED = {
    "dyn": DYN,
    "bool": BOOL,
    "int": INT,
    "uint": UINT,
    "double": DOUBLE,
    "string": STRING,
    "bytes": BYTES,
    "null_type": NULL,
    "type": TYPE,
    "list": list_of(DYN),
    "map": map_of(DYN, DYN),
    "google.protobuf.Duration": DURATION,
    "google.protobuf.Timestamp": TIMESTAMP,
    "google.protobuf.Any": ANY,
    "duration": DURATION,
    "timestamp": TIMESTAMP,
    "kubernetes.Quantity": QUANTITY,
    "kubernetes.Semver": SEMVER,
    "kubernetes.URL": URL,
    "kubernetes.NamedFormat": NAMED_FORMAT,
    "kubernetes.DRADevice": DEVICE,
    "net.IP": IP,
    "net.CIDR": CIDR,
}
"""Names in signatures and expressions → types."""

IN_EXPRESSIONS = frozenset(
    {
        "bool",
        "int",
        "uint",
        "double",
        "string",
        "bytes",
        "null_type",
        "type",
        "list",
        "map",
        "google.protobuf.Duration",
        "google.protobuf.Timestamp",
        "net.IP",
        "net.CIDR",
        OPTIONAL_NAME,
    }
)
"""Types that an expression may name."""


def parse_type(text: str) -> CelType:
    """A type as signatures write it, such as ``map(K, list(V))``; one capital letter is open."""
    found, rest = _read(text.strip())
    if rest:
        raise ValueError(f"{text!r} is no type")
    return found


def _read(text: str) -> tuple[CelType, str]:
    end = next((at for at, sign in enumerate(text) if sign in "(),"), len(text))
    name, rest = text[:end].strip(), text[end:]
    parameters = []
    if rest.startswith("("):
        while not rest.startswith(")"):
            inner, rest = _read(rest[1:].strip())
            parameters.append(inner)
        rest = rest[1:].strip()
    return _built(name, tuple(parameters)), rest


def _built(name: str, parameters: tuple[CelType, ...]) -> CelType:
    if len(name) == 1:
        return parameter(name)
    if not parameters:
        return NAMED[name]
    return CelType("opaque" if name == OPTIONAL_NAME else name, name, parameters)
