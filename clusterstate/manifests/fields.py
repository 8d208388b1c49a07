"""Reading parsed JSON or YAML field by field: a wrong type is noted with its path, and reading goes on.

As in the API, null counts as absent and unknown fields are not looked at. How strictly these are judged elsewhere says
``Strictness``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import attrs

from clusterstate.errors import ConfigError
from clusterstate.objects import NO_RESOURCES, FrozenMap, ResourceList
from clusterstate.quantity import parse_quantity

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SHOWN = 60
"""Characters of a wrong value that an error shows."""
INT64 = range(-(2**63), 2**63)

NOTHING: Mapping[str, Any] = {}


def describe(value: object) -> str:
    """A wrong value, as its writer knows it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def step(key: object) -> str:
    """A key as a path shows it: ``.name``, ``[example.com/name]``."""
    text = str(key)
    return f".{text}" if _PLAIN_KEY.fullmatch(text) else f"[{text}]"


def place_of(key: object, index: int | None = None) -> str:
    """The same of the entry of a list, where there is an index."""
    return step(key) if index is None else f"{step(key)}[{index}]"


def present(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are not None, to be written."""
    return {key: value for key, value in fields.items() if value is not None}


class Fields:
    """One object being read. ``faults`` collects ``path: what is wrong``, shared by all that come from one document.

    key: where it stands in its parent. index: its place in the list there; None: there is no list.
    """

    __slots__ = ("data", "faults", "index", "key", "parent")

    def __init__(
        self,
        data: Mapping[Any, Any],
        faults: list[str],
        parent: Fields | None = None,
        key: object = "",
        index: int | None = None,
    ) -> None:
        self.data = data
        self.faults = faults
        self.parent = parent
        self.key = key
        self.index = index

    @property
    def path(self) -> str:
        """Where this object stands in its document, such as ``.spec.containers[0]``."""
        if self.parent is None:
            return ""
        return f"{self.parent.path}{place_of(self.key, self.index)}"

    @property
    def api_version(self) -> str:
        """What the whole document says of its version."""
        return self.text("apiVersion") if self.parent is None else self.parent.api_version

    def fault(self, place: str, text: str) -> None:
        """Notes a fault at ``place``, such as ``.name`` or ``.items[3]``, below this object."""
        self.faults.append(f"{(self.path + place).lstrip('.')}: {text}")

    def has(self, key: str) -> bool:
        """Whether a key is there with a value other than null."""
        return self.data.get(key) is not None

    def text_or_none(self, key: str) -> str | None:
        """The text under a key; None when it is missing, null or, with a fault noted, no text."""
        value = self.data.get(key)
        if value is None or isinstance(value, str):
            return value
        self.fault(step(key), f"must be text, not {describe(value)}{_quotes(value)}")
        return None

    def text(self, key: str, default: str = "") -> str:
        """The text under a key, or the default."""
        value = self.data.get(key)
        if not isinstance(value, str):
            value = None if value is None else self.text_or_none(key)
        return default if value is None else value

    def flag(self, key: str, default: bool = False) -> bool:
        """The bool under a key, or the default; anything else is a fault."""
        value = self.data.get(key)
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        self.fault(step(key), f"must be true or false, not {describe(value)}")
        return default

    def integer_or_none(self, key: str) -> int | None:
        """The integer under a key; None when it is missing, null or, with a fault noted, no integer."""
        value = self.data.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            self.fault(step(key), f"must be a whole number, not {describe(value)}")
        elif value not in INT64:
            self.fault(step(key), f"{value} does not fit in 64 bits")
        else:
            return value
        return None

    def integer(self, key: str, default: int = 0) -> int:
        """The integer under a key, or the default."""
        value = self.integer_or_none(key)
        return default if value is None else value

    def child(self, key: str) -> Fields | None:
        """The object at ``key``, None when absent."""
        value = self.data.get(key)
        if value is None:
            return None
        if type(value) is dict or isinstance(value, Mapping):
            return Fields(value, self.faults, self, key)
        self.fault(step(key), f"must be an object, not {describe(value)}")
        return None

    def inside(self, key: str) -> Fields:
        """The object at ``key``, an empty one when absent."""
        found = self.child(key)
        return Fields(NOTHING, self.faults, self, key) if found is None else found

    def sequence(self, key: str) -> Sequence[Any]:
        """The list under a key; empty when it is missing, null or, with a fault noted, no list."""
        value = self.data.get(key)
        if value is None:
            return ()
        if isinstance(value, list | tuple):
            return value
        self.fault(step(key), f"must be a list, not {describe(value)}")
        return ()

    def children(self, key: str) -> Iterable[Fields]:
        """The objects of the list at ``key``; null counts as an empty one. A fault in the list is noted when it is
        come to."""
        return () if self.data.get(key) is None else self._children(key, self.sequence(key))

    def _children(self, key: str, values: Sequence[Any]) -> Iterator[Fields]:
        for index, value in enumerate(values):
            if type(value) is dict or value is None or isinstance(value, Mapping):
                yield Fields(NOTHING if value is None else value, self.faults, self, key, index)
            else:
                self.fault(place_of(key, index), f"must be an object, not {describe(value)}")

    def texts(self, key: str) -> tuple[str, ...]:
        """The texts of the list at ``key``; null counts as an empty one."""
        values = self.sequence(key)
        for index, value in enumerate(values):
            if value is not None and not isinstance(value, str):
                self.fault(place_of(key, index), f"must be text, not {describe(value)}{_quotes(value)}")
        return tuple([value if isinstance(value, str) else "" for value in values])

    def text_map(self, key: str) -> dict[str, str] | None:
        """The object of texts at ``key``, None when absent; a null value is an empty text."""
        found = self.child(key)
        if found is None:
            return None
        out = {}
        for name, value in found.data.items():
            if not isinstance(name, str):
                found.fault(step(name), f"the key must be text, not {describe(name)}{_quotes(name)}")
            elif value is not None and not isinstance(value, str):
                found.fault(step(name), f"must be text, not {describe(value)}{_quotes(value)}")
            else:
                out[name] = value or ""
        return out

    def resources(self, key: str) -> ResourceList:
        """The resource list at ``key``; a null amount is 0."""
        found = self.child(key)
        if found is None or not found.data:
            return NO_RESOURCES
        return FrozenMap(
            {name: 0 if value is None else found._quantity(value, name) for name, value in found.data.items()}
        )

    def quantity(self, key: str) -> int:
        """Thousandths of the unit; absent is 0."""
        value = self.data.get(key)
        return 0 if value is None else self._quantity(value, key)

    def quantities(self, key: str) -> tuple[int, ...]:
        """The quantities of the list at ``key`` in thousandths of the unit."""
        return tuple([self._quantity(value, key, at) for at, value in enumerate(self.sequence(key))])

    def _quantity(self, value: Any, key: str, index: int | None = None) -> int:
        try:
            return parse_quantity(value)
        except ValueError as error:
            text = str(error) if isinstance(value, str | int | float) else _no_quantity(value)
            self.fault(place_of(key, index), text)
            return 0


def _quotes(value: object) -> str:
    return "; put it in quotes" if isinstance(value, bool | int | float) else ""


def _no_quantity(value: object) -> str:
    return f'must be a quantity such as "100m" or "1Gi", not {describe(value)}'


Judgement = Literal["strict", "warn", "ignore"]
"""What comes of an unknown field, or a value that no API server takes: a fault, a note, nothing. As the values of
``kubectl apply --validate``."""

JUDGEMENTS: tuple[Judgement, ...] = ("strict", "warn", "ignore")


Fault = tuple[str, str]
"""Place below an object, such as ``.weight``, and the API server's text."""
Check = Callable[[Mapping[Any, Any]], Iterable[Fault]]
"""An object → what an API server refuses in it."""
Checks = Mapping[str, tuple[Check, ...]]
"""Type → its checks."""


@attrs.frozen
class Accepted:
    """What the API server of a release takes."""

    values: Mapping[tuple[str, str], tuple[tuple[str, ...], str]] = attrs.field(factory=dict)
    """(type, field) → the only values that it takes of those that the newest API has, and why."""
    checks: Checks = attrs.field(factory=dict)
    """See ``clusterstate.manifests.api_checks``."""
    unread: Mapping[str, str] = attrs.field(factory=dict)
    """What of pods nobody looks at there, by a name in ``clusterstate.manifests.unread.FIELDS`` → why."""


@attrs.frozen
class Strictness:
    """How manifests are judged, by whether an API server has stored them."""

    written: Judgement = "ignore"
    """For a manifest without ``metadata.uid`` and ``metadata.resourceVersion``: somebody has written it."""
    stored: Judgement = "ignore"
    """For a manifest that an API server has answered with, perhaps of a newer release."""
    refused: Judgement = "ignore"
    """For what the release's API server refuses in a manifest that some API server has stored."""
    accepted: Accepted = attrs.field(factory=Accepted, eq=False)
    """What the release takes; by default all that the newest API has."""

    def under(self, accepted: Accepted) -> Strictness:
        """The same for the API server of a release."""
        return attrs.evolve(self, accepted=accepted)

    def of(self, manifest: Mapping[Any, Any]) -> tuple[Judgement, Judgement]:
        """How one manifest is judged: its fields, and what the API server refuses in them."""
        return (self.stored, self.refused) if is_stored(manifest) else (self.written, self.written)


LENIENT = Strictness()
"""As an API server reads what it has stored: unknown fields are not looked at."""

BY_ORIGIN = Strictness(written="strict", refused="warn")
"""What somebody has written strictly, what a server has answered leniently."""

STRICT = Strictness("strict", "strict", "warn")
"""Every field strictly; of what a server has stored it is only noted that a server refuses it."""


def strictness_of(judgement: Judgement | None, default: Strictness = BY_ORIGIN) -> Strictness:
    """One judgement for everything, as an option says it; the default where it says nothing.

    Raises ConfigError for what is no judgement.
    """
    return default if judgement is None else Strictness(judgement_named(judgement), judgement, judgement)


def judgement_named(given: object, what: str = "validate") -> Judgement:
    """A judgement by its name. what: what errors call it. Raises ConfigError for what is none."""
    for judgement in JUDGEMENTS:
        if given == judgement:
            return judgement
    raise ConfigError(f"{what}: {describe(given)} is not known; known are {', '.join(JUDGEMENTS)}")


def is_stored(manifest: Mapping[Any, Any]) -> bool:
    """Whether an API server has given the object a uid or a version."""
    metadata = manifest.get("metadata")
    return isinstance(metadata, Mapping) and bool(metadata.get("uid") or metadata.get("resourceVersion"))
