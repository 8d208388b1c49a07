"""What a translation consists of: a document in which every line has an origin, notes, and shares of the total."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

_LEAD = re.compile(r"from |[^:]+: ")
"""What the origins of several entries have in common."""


class NoteKind(enum.Enum):
    """How well something came across. Approximate and lost make a translation inexact."""

    EXACT = "exact"
    APPROXIMATE = "approximate"
    LOST = "lost"
    CHECK = "check"
    """Carried over; whether that is what is wanted depends on the cluster."""

    @property
    def inexact(self) -> bool:
        return self in (NoteKind.APPROXIMATE, NoteKind.LOST)


@attrs.frozen
class Note:
    """One thing to know about a translation. path: what it is about; advice: what to do, if anything."""

    kind: NoteKind
    path: str
    text: str
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.path}: {self.text}{f'; {self.advice}' if self.advice else ''}"

    def document(self) -> dict[str, str]:
        """As plain data."""
        return {"kind": self.kind.value, "path": self.path, "text": self.text, "advice": self.advice}


def grouped(notes: Iterable[Note]) -> tuple[Note, ...]:
    """The notes, those that say the same as one."""
    paths: dict[tuple[NoteKind, str, str], list[str]] = {}
    for note in notes:
        paths.setdefault((note.kind, note.text, note.advice), []).append(note.path)
    return tuple(
        Note(kind, ", ".join(dict.fromkeys(about)), text, advice) for (kind, text, advice), about in paths.items()
    )


# --- documents -----------------------------------------------------------------------------


@attrs.frozen
class Said:
    """A value of a document and where it comes from.

    value: a scalar, a list or a mapping, in which every item may be ``Said`` again; one that is not has the origin of
    what it is in.
    """

    value: Any
    origin: str


def plain(value: Any) -> Any:
    """The document without its origins."""
    match value:
        case Said():
            return plain(value.value)
        case Mapping():
            return {key: plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
    return value


def origin(names: Iterable[str]) -> str:
    """The origin of what several entries say, each named once: ``from A and B``."""
    said: list[str] = []
    for name in dict.fromkeys(names):
        lead = _LEAD.match(name)
        alike = lead is not None and any(before.startswith(lead[0]) for before in said)
        said.append(name.removeprefix(lead[0]) if alike and lead is not None else name)
    return " and ".join(said)


# --- shares of the total -------------------------------------------------------------------


class Role(enum.Enum):
    """What a score does to pods: draws them together on full nodes, apart, or neither."""

    PACKS = "packs"
    SPREADS = "spreads"
    OTHER = ""


@attrs.frozen
class Weighted:
    """A score and its weight in a scheduler. detail: which form of the plugin it is, if it has several."""

    name: str
    weight: int
    role: Role = Role.OTHER
    detail: str = ""

    @property
    def title(self) -> str:
        return f"{self.name} ({self.detail})" if self.detail else self.name


@attrs.frozen
class Emphasis:
    """What share of the highest possible total every score has; each reaches the same highest score.

    NodePreferAvoidPods is left out: whatever its weight, it is the same for all nodes but those that are annotated.
    """

    parts: tuple[Weighted, ...]

    @property
    def sum(self) -> int:
        return sum(part.weight for part in self.parts)

    def of(self, role: Role) -> tuple[Weighted, ...]:
        return tuple(part for part in self.parts if part.role is role)

    def weight(self, role: Role) -> int:
        return sum(part.weight for part in self.of(role))

    def percent(self, weight: int) -> float:
        """The share of a weight, 0 to 100."""
        return 100 * weight / self.sum if self.sum else 0.0

    def document(self) -> list[dict[str, Any]]:
        """As plain data; share in percent."""
        return [
            {"name": p.title, "weight": p.weight, "share": round(self.percent(p.weight), 1), "role": p.role.value}
            for p in self.parts
        ]


@attrs.frozen
class Translation:
    """A configuration for another release.

    document: the KubeSchedulerConfiguration. before, after: the shares of the scores in the source and in the document.
    """

    source: str
    from_release: str
    release: str
    document: Said
    notes: tuple[Note, ...]
    before: Emphasis
    after: Emphasis

    @property
    def exact(self) -> bool:
        return not any(note.kind.inexact for note in self.notes)

    def plain(self) -> dict[str, Any]:
        """The document as plain data."""
        document: dict[str, Any] = plain(self.document)
        return document
