"""Checks of the student's files themselves: what may not be written, and what may not be changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from clusterstate.manifests.fields import describe
from kubescheduler.lab.exercises.check_contract import ExerciseCheck, FilesRule, StudentFiles
from kubescheduler.lab.exercises.exercise_record import EditableFile

Path = tuple[str, ...]


def steps_of(pattern: str) -> Path:
    """A pattern's steps. A key that has dots itself stands in brackets: ``metadata.labels[example.com/tier]``."""
    out: list[str] = []
    for at, part in enumerate(pattern.replace("]", "[").split("[")):
        out += [part] if at % 2 else [step for step in part.split(".") if step]
    return tuple(out)


def leaves(document: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """(path, value) of every value that holds no others; empty mappings and lists count as absent, and so does null."""
    if isinstance(document, Mapping):
        for key, value in document.items():
            yield from leaves(value, (*path, str(key)))
    elif isinstance(document, list | tuple):
        for at, value in enumerate(document):
            yield from leaves(value, (*path, str(at)))
    elif document is not None:
        yield path, document


def within(path: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether a path is a place of the pattern, or below one."""
    if not pattern:
        return True
    if pattern[0] == "**":
        return any(within(path[at:], pattern[1:]) for at in range(len(path) + 1))
    return bool(path) and pattern[0] in ("*", path[0]) and within(path[1:], pattern[1:])


def within_any(path: Sequence[str], patterns: Iterable[Sequence[str]]) -> bool:
    """Whether a path is a place of one of the patterns, or below one."""
    return any(within(path, pattern) for pattern in patterns)


def shown_path(path: Sequence[str]) -> str:
    """A path as messages show it: ``spec.containers[0].image``."""
    out = ""
    for step in path:
        if step.isdecimal() or not step.replace("-", "").replace("_", "").isalnum():
            out += f"[{step}]"
        else:
            out += f".{step}" if out else step
    return out


class ForbiddenFields(FilesRule, frozen=True):
    """``forbidden``: fields that no document of the student's may set, such as ``**.nodeName``."""

    fields: tuple[str, ...]
    """Patterns of their paths."""
    values: tuple[str, ...] = ()
    """Patterns of values that are forbidden there; none: every value is."""

    def fault_in(self, files: StudentFiles) -> str:
        """What is wrong; empty when nothing is."""
        patterns = [steps_of(pattern) for pattern in self.fields]
        found = [
            f"{file}: {_titled(document)}: {shown_path(path)} is {describe(value)}"
            for file, documents in files.documents.items()
            for document in documents
            for path, value in leaves(document)
            if within_any(path, patterns)
            and (not self.values or any(fnmatchcase(str(value), pattern) for pattern in self.values))
        ]
        return "; ".join(found)


class OnlyEdits(FilesRule, frozen=True):
    """In every exercise: only what may be edited differs from what the exercise gives."""

    edit: tuple[EditableFile, ...]
    """What may be edited."""

    def fault_in(self, files: StudentFiles) -> str:
        """What is wrong; empty when nothing is."""
        return "; ".join(fault for one in self.edit if one.fields is not None for fault in _changes(one, files))


def only_edits(edit: tuple[EditableFile, ...]) -> list[ExerciseCheck]:
    """The check of what may be edited; none where whole files may."""
    if all(one.fields is None for one in edit):
        return []
    names = ", ".join(f"{field} of {one.file}" for one in edit for field in one.fields or ())
    return [ExerciseCheck("only what may be edited differs", "edit", OnlyEdits(edit), f"You may edit {names}.")]


def _changes(one: EditableFile, files: StudentFiles) -> Iterator[str]:
    given, made = files.start.get(one.file, ()), files.documents.get(one.file, ())
    if len(given) != len(made):
        yield f"{one.file}: there are {len(made)} documents, and have to be {len(given)}"
        return
    allowed = [steps_of(field) for field in one.fields or ()]
    for before, now in zip(given, made, strict=True):
        old, new = _kept(before, allowed), _kept(now, allowed)
        for path in dict.fromkeys((*old, *new)):
            if old.get(path) != new.get(path):
                said = f"{describe(old[path])} given" if path in old else "not given"
                found = describe(new[path]) if path in new else "missing"
                yield f"{one.file}: {_titled(before)}: {shown_path(path)} is {found}, {said}"


def _kept(document: Any, allowed: list[Path]) -> dict[Path, Any]:
    """The leaves that may not be edited."""
    return {path: value for path, value in leaves(document) if not any(within(path, one) for one in allowed)}


def _titled(document: Any) -> str:
    """``Pod web``."""
    if not isinstance(document, Mapping):
        return "a document"
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return " ".join(str(word) for word in (document.get("kind", "document"), name) if word)
