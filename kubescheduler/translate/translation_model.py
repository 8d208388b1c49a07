"""What a translation consists of: a document in which every line has an origin, notes, and shares of the total."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

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
        """Whether something is not carried over exactly."""
        return self in (NoteKind.APPROXIMATE, NoteKind.LOST)


class Note(msgspec.Struct, frozen=True):
    """A note on a translation."""

    kind: NoteKind
    path: str
    """What it is about."""
    text: str
    advice: str = ""
    """What to do, if anything."""

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


class WithOrigin(msgspec.Struct, frozen=True):
    """A value of a document and where it comes from."""

    value: Any
    """A scalar, a list or a mapping, in which every item may be ``WithOrigin`` again; one that is not has the origin of
    what it is in.
    """
    origin: str


def profile_without_origin(document: WithOrigin, at: int) -> Mapping[str, Any]:
    """A profile of a document, without its own origin."""
    profiles = document.value["profiles"]
    profile = (profiles.value if isinstance(profiles, WithOrigin) else profiles)[at]
    found: Mapping[str, Any] = profile.value if isinstance(profile, WithOrigin) else profile
    return found


def plain(value: Any) -> Any:
    """The document without its origins."""
    match value:
        case WithOrigin():
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


class WeightedScore(msgspec.Struct, frozen=True):
    """A score and its weight in a scheduler."""

    name: str
    weight: int
    role: Role = Role.OTHER
    detail: str = ""
    """Which form of the plugin it is, if it has several."""

    @property
    def title(self) -> str:
        """The name, with the detail in parentheses if there is one."""
        return f"{self.name} ({self.detail})" if self.detail else self.name


class Emphasis(msgspec.Struct, frozen=True):
    """What share of the highest possible total every score has; each reaches the same highest score.

    NodePreferAvoidPods is left out: whatever its weight, it is the same for all nodes but those that are annotated.
    """

    parts: tuple[WeightedScore, ...]

    @property
    def sum(self) -> int:
        """The sum of all weights."""
        return sum(part.weight for part in self.parts)

    def of(self, role: Role) -> tuple[WeightedScore, ...]:
        """The scores with this role."""
        return tuple(part for part in self.parts if part.role is role)

    def weight(self, role: Role) -> int:
        """The sum of the weights of the scores with this role."""
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


class ProfileShares(msgspec.Struct, frozen=True):
    """The shares of the scores of one profile."""

    name: str
    """The profile's schedulerName."""
    before: Emphasis
    """In the source."""
    after: Emphasis
    """In the document."""


class Translation(msgspec.Struct, frozen=True):
    """A configuration for another release."""

    source: str
    from_release: str
    release: str
    document: WithOrigin
    """The KubeSchedulerConfiguration."""
    notes: tuple[Note, ...]
    before: Emphasis
    """The shares of the scores in the source."""
    after: Emphasis
    """The shares of the scores in the document."""
    others: tuple[ProfileShares, ...] = ()
    """Those of further profiles; the two before are of the first."""

    @property
    def shares(self) -> tuple[ProfileShares, ...]:
        """Of every profile."""
        name = plain(profile_without_origin(self.document, 0).get("schedulerName", ""))
        return (ProfileShares(str(name), self.before, self.after), *self.others)

    @property
    def exact(self) -> bool:
        """Whether everything is carried over exactly."""
        return not any(note.kind.inexact for note in self.notes)

    def plain(self) -> dict[str, Any]:
        """The document as plain data."""
        document: dict[str, Any] = plain(self.document)
        return document
