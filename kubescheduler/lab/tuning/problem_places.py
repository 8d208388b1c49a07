"""Where in a configuration's text each of its problems is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec
import yaml

_POSITION = re.compile(r"^(?:\w+):(?P<line>\d+):(?P<column>\d+): (?P<text>.*)$", re.DOTALL)
_SOURCE = re.compile(r"^(?:policy|config|text): ")
_PATH = re.compile(r"^(?P<path>[A-Za-z][\w-]*(?:\.[\w-]+|\[\d+\])*): ")
_STEP = re.compile(r"([\w-]+)|\[(\d+)\]")


class PlacedProblem(msgspec.Struct, frozen=True):
    """A problem of a text."""

    text: str
    path: str | None = None
    """Of the value that it is about, as ``profiles[0].plugins.score``."""
    line: int | None = None
    """From 1."""
    column: int | None = None
    """From 1."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return msgspec.structs.asdict(self)


def placed_problems(text: str, problems: Iterable[str]) -> list[PlacedProblem]:
    """The problems with their places: those that say a position, and those that begin with a path."""
    root: yaml.Node | None = None
    try:
        root = next(iter(yaml.compose_all(text, yaml.SafeLoader)), None)
    except yaml.YAMLError:
        root = None
    return [_placed(root, problem) for problem in problems]


def _placed(root: yaml.Node | None, problem: str) -> PlacedProblem:
    position = _POSITION.match(problem)
    if position is not None:
        return PlacedProblem(position["text"], None, int(position["line"]), int(position["column"]))
    said = _SOURCE.sub("", problem)
    found = _PATH.match(said)
    if found is None:
        return PlacedProblem(said)
    node = _node_at(root, found["path"])
    if node is None:
        return PlacedProblem(said, found["path"])
    return PlacedProblem(said, found["path"], node.start_mark.line + 1, node.start_mark.column + 1)


def _node_at(root: yaml.Node | None, path: str) -> yaml.Node | None:
    """The deepest node on a path that the text has; None where not even its beginning is there."""
    node, deepest = root, None
    for key, index in _STEP.findall(path):
        step: yaml.Node | None = None
        if key and isinstance(node, yaml.MappingNode):
            step = next((value for name, value in node.value if name.value.casefold() == key.casefold()), None)
        elif index and isinstance(node, yaml.SequenceNode) and int(index) < len(node.value):
            step = node.value[int(index)]
        if step is None:
            break
        node = deepest = step
    return deepest
