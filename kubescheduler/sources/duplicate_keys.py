"""Keys that a document sets twice: the parsers keep the last one and say nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from clusterstate.manifests.fields import step

Path = tuple[str | int, ...]
"""The way from a document to a value: keys and list positions."""


class _Pairs(msgspec.Struct, frozen=True):
    """A JSON object with all its keys, repeated ones too."""

    pairs: Sequence[tuple[str, Any]]


def duplicate_keys(text: str | bytes, file_format: str) -> list[str]:
    """``path: set twice`` for every key that is, with the lines where those are known.

    Of YAML it is the first document that is looked at. The text is known to be valid JSON, YAML or TOML.
    """
    if file_format == "JSON":
        return _shown(((path, "") for path in _in_json(text)), "")
    if file_format == "YAML":
        return next(iter(yaml_duplicates(text, several=False)), [])
    return []  # TOML's parser refuses them


def json_duplicates(text: str | bytes, place: str) -> list[str]:
    """The same of a JSON value that is at ``place`` in its file."""
    return _shown(((path, "") for path in _in_json(text)), place)


def yaml_duplicates(text: str | bytes, *, several: bool) -> Iterator[list[str]]:
    """The same of each document of a YAML stream that is known to be valid, or of its first one."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for node in yaml.compose_all(text, Loader=loader):
        yield _shown(_in_node(node, (), set()), "")
        if not several:
            return


def _shown(found: Iterable[tuple[Path, str]], place: str) -> list[str]:
    return [f"{_path(path, place)}: set twice{where}" for path, where in found]


def _path(path: Path, place: str) -> str:
    shown = "".join(f"[{key}]" if isinstance(key, int) else step(key) for key in path)
    return place + shown if place else shown.removeprefix(".")


def _in_json(text: str | bytes) -> Iterator[Path]:
    """Every repeated key. Objects are looked into only when one of them repeats a key."""
    if _is_plain(text):
        return iter(())
    repeats: list[bool] = []

    def counted(pairs: list[tuple[str, Any]]) -> None:
        if len({key for key, _ in pairs}) < len(pairs):
            repeats.append(True)

    json.loads(text, object_pairs_hook=counted)
    return _in_pairs(json.loads(text, object_pairs_hook=_Pairs), ()) if repeats else iter(())


def _is_plain(text: str | bytes) -> bool:
    """Whether a text is the very one, but for blanks, that is written of its values: then no key is in it twice."""
    try:
        return msgspec.json.encode(msgspec.json.decode(text)) == msgspec.json.format(_bytes(text), indent=-1)
    except (ValueError, OverflowError, RecursionError):
        return False


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def _in_pairs(value: Any, path: Path) -> Iterator[Path]:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for key, item in value.pairs:
            if key in seen:
                yield (*path, key)
            seen.add(key)
            yield from _in_pairs(item, (*path, key))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _in_pairs(item, (*path, at))


def _in_node(node: Any, path: Path, seen: set[int]) -> Iterator[tuple[Path, str]]:
    """Every repeated key, in a value that several aliases refer to once."""
    import yaml

    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        lines: dict[str, int] = {}
        for key, item in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            if name in lines and key.tag != "tag:yaml.org,2002:merge":
                where = f"lines {lines[name]} and {line}" if line != lines[name] else f"line {line}"
                yield (*path, name), f", in {where}"
            lines[name] = line
            yield from _in_node(item, (*path, name), seen)
    elif isinstance(node, yaml.SequenceNode):
        for at, item in enumerate(node.value):
            yield from _in_node(item, (*path, at), seen)
