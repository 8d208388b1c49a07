"""From names on a command line, or from texts, to the objects in them: files, folders, standard input; JSON or YAML."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from clusterstate.errors import DecodeError, InputError
from clusterstate.manifests.decode import split, split_json, was_stored
from kubescheduler.sources.file_bytes import UNREADABLE, PrefixedStream, Readable, read_bytes, why_unreadable
from kubescheduler.sources.json_stream import streamed_items
from kubescheduler.sources.limits import TooLongError, check_values

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterstate.manifests.decode import Item


COMPRESSED = ".gz"

MANY = 1000
"""Objects in YAML that take long enough to say that JSON is faster."""


def items_in(source: str, data: bytes, problems: list[str]) -> list[Item]:
    """Every object of a JSON or YAML text; what is wrong with it goes to ``problems``.

    source: its name in errors. An object's notes say which keys are set twice.
    """
    try:
        return _json_or_yaml(source, data, problems)
    except DecodeError as error:
        problems += error.problems
        return []


def _json_or_yaml(source: str, data: bytes, faults: list[str]) -> list[Item]:
    """JSON when the name or the first character says so; a document that is no JSON may still be YAML.

    faults: see ``split``.
    """
    try:
        check_values(data)
    except TooLongError as error:
        raise DecodeError(f"{source}: {error}") from None
    if not data or data.isspace():
        raise DecodeError(f"{source}: no objects in it: it is empty")
    named_json = source.removesuffix(COMPRESSED).endswith(".json")
    if not named_json and data.lstrip()[:1] not in (b"{", b"["):
        return _yaml(source, data, faults)
    try:
        return _with_notes(source, data, split_json(source, data, faults))
    except DecodeError:
        if named_json:
            raise
        try:
            return _yaml(source, data, faults)
        except DecodeError:
            pass
        raise


def _with_notes(source: str, data: bytes, items: list[Item]) -> list[Item]:
    """The objects of a JSON text with a note for every key that is set twice; a server's JSON repeats none."""
    if items and not isinstance(items[0].content, msgspec.Raw):
        return [_noted(source, items[0], data, ""), *items[1:]]
    return [
        _noted(source, item, item.content, item.place) if isinstance(item.content, msgspec.Raw) else item
        for item in items
    ]


def _noted(source: str, item: Item, text: bytes | msgspec.Raw, place: str) -> Item:
    """place: of the text in its file. The text of a server is searched where it is, without a copy."""
    if was_stored(text):
        return item
    from kubescheduler.sources.duplicate_keys import json_duplicates

    repeats = json_duplicates(bytes(text), place)
    return msgspec.structs.replace(item, notes=_notes(source, repeats)) if repeats else item


def _notes(source: str, repeats: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{source}: {each}; the last one counts" for each in repeats)


def _yaml(source: str, data: bytes, faults: list[str]) -> list[Item]:
    from kubescheduler.sources.yaml_stream import parse_yaml

    notes: list[str] = []
    documents = parse_yaml(source, data, notes=notes)
    if not documents:
        raise DecodeError(f"{source}: no objects in it")
    several = len(documents) > 1
    items: list[Item] = []
    problems: list[str] = []
    for index, document in enumerate(documents):
        try:
            items += split(source, document, problems, f"document {index + 1}" if several else "")
        except DecodeError as error:
            problems += error.problems
    if problems and not items:
        raise DecodeError(problems)
    faults += problems
    if len(items) >= MANY:
        notes.append(
            f"{source}: {len(items)} objects in YAML; JSON, as of kubectl get -o json, is read ten times faster"
        )
    return [msgspec.structs.replace(items[0], notes=tuple(notes)), *items[1:]] if notes and items else items


EXTENSIONS = (".json", ".yaml", ".yml")
STDIN = "-"
STDIN_NAME = "standard input"


def is_special(path: str | Path) -> bool:
    """Whether there is a pipe, a device or a socket; it cannot be read twice, and perhaps has no end."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def check_place(option: str, target: Path) -> None:
    """Raises InputError when no file can be written there. option: as it was given, for the text."""
    if target.is_dir():
        raise InputError(f"{option}: this is a folder; name a file in it")
    if not target.parent.is_dir():
        raise InputError(f"{option}: there is no folder {target.parent}; make it first")


def read_items(paths: Sequence[str], stdin: Readable | None, *, sparse: bool = False) -> tuple[list[Item], list[str]]:
    """Every object of every path, in order, and every fault met on the way.

    sparse: running pods that a server has stored may come without what decoding does not read.
    """
    items: list[Item] = []
    problems: list[str] = []
    twice = {path for path in paths if paths.count(path) > 1}
    problems += [f"{path}: it is given more than once; leave out all but one" for path in sorted(twice)]
    for path in dict.fromkeys(paths):
        if path == STDIN:
            items += _of_standard_input(stdin, problems, sparse=sparse)
        else:
            for name in _named(path, problems):
                items += _of_file(name, problems, sparse=sparse)
    return items, problems


def _named(path: str, problems: list[str]) -> list[str]:
    """The files that a path stands for."""
    if not os.path.isdir(path):
        return [path]
    names = _folder(path)
    if not names:
        problems.append(f"{path}: no manifests in this folder; it needs {', '.join(EXTENSIONS)} files")
    return names


def _folder(path: str) -> list[str]:
    """The manifests below a folder, sorted; hidden files and folders are passed over."""
    found = []
    for folder, below, names in os.walk(path):
        below[:] = [name for name in below if not name.startswith(".")]
        for name in names:
            plain = name.removesuffix(COMPRESSED)
            if plain.endswith(EXTENSIONS) and not name.startswith("."):
                found.append(os.path.join(folder, name))
    return sorted(found)


def _of_standard_input(stdin: Readable | None, problems: list[str], *, sparse: bool) -> list[Item]:
    if stdin is None:
        problems.append(f"{STDIN}: there is no standard input to read; name a file or a folder")
        return []
    return _of_stream(STDIN_NAME, stdin, problems, sparse=sparse)


def _of_file(path: str, problems: list[str], *, sparse: bool) -> list[Item]:
    try:
        with open(path, "rb") as file:
            return _of_stream(path, file, problems, sparse=sparse)
    except (OSError, ValueError) as error:
        problems.append(f"{path}: {why_unreadable(error)}")
        return []


def _of_stream(source: str, stream: Readable, problems: list[str], *, sparse: bool) -> list[Item]:
    """The objects of a stream; nothing where it has a fault."""
    try:
        if not sparse:
            return items_in(source, read_bytes(stream), problems)
        listed = streamed_items(source, stream)
        if listed.rest is None:
            return listed.items
        text = read_bytes(PrefixedStream(listed.rest, stream), left_out=listed.shorter)
        return listed.restored(items_in(source, text, problems))
    except DecodeError as error:
        problems += error.problems
    except UNREADABLE as error:
        problems.append(f"{source}: {why_unreadable(error)}")
    return []
