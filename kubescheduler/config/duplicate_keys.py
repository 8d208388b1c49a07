"""Keys that a document sets twice: the parsers keep the last one and say nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs

from kubescheduler.config.go_decoding import Path, show_path


@attrs.frozen
class _Pairs:
    """A JSON object with all its keys, repeated ones too."""

    pairs: Sequence[tuple[str, Any]]


def duplicate_keys(text: str, file_format: str) -> list[str]:
    """``path: set twice`` for every key that is, with the lines where those are known.

    The text is known to be valid JSON, YAML or TOML.
    """
    if file_format == "JSON":
        document = json.loads(text, object_pairs_hook=_Pairs)
        paths = [(path, "") for path in _in_json(document, ())]
    elif file_format == "YAML":
        paths = list(_in_yaml(text))
    else:
        paths = []  # refused by the parser
    return [f"{show_path(path)}: set twice{where}" for path, where in paths]


def _in_json(value: Any, path: Path) -> Iterator[Path]:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for key, item in value.pairs:
            if key in seen:
                yield (*path, key)
            seen.add(key)
            yield from _in_json(item, (*path, key))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _in_json(item, (*path, at))


def _in_yaml(text: str) -> Iterable[tuple[Path, str]]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for node in yaml.compose_all(text, Loader=loader):
        yield from _in_node(node, (), set())


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
            if name in lines:
                yield (*path, name), f", in lines {lines[name]} and {line}"
            lines[name] = line
            yield from _in_node(item, (*path, name), seen)
    elif isinstance(node, yaml.SequenceNode):
        for at, item in enumerate(node.value):
            yield from _in_node(item, (*path, at), seen)
