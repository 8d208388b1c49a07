"""From names on a command line to documents: files, folders, standard input, gzip."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from clusterstate.errors import DecodeError, InputError
from kubescheduler.sources.file_bytes import UNREADABLE, PrefixedStream, Readable, read_bytes, why_unreadable
from kubescheduler.sources.json_stream import streamed_items
from kubescheduler.sources.manifest_texts import COMPRESSED, items_in

if TYPE_CHECKING:
    from clusterstate.manifests.documents import Item

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
