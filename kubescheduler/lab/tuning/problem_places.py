"""Where in a configuration's text each of its problems is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec
import yaml

_POSITIONS = (
    re.compile(r"^(?:\w+):(?P<line>\d+):(?P<column>\d+): (?P<text>.*)$", re.DOTALL),
    re.compile(r"^(?:[^\n]*?: )?line (?P<line>\d+), column (?P<column>\d+): (?P<text>.*)$", re.DOTALL),
)
_OBJECT = re.compile(r"^(?P<kind>[A-Z]\w+) (?:[\w.-]+/)?(?P<name>[\w.-]+): (?P<path>[A-Za-z][^:\s]*): ")
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
    """The problems with their places: those that say a position, those that begin with a path, and those that name an
    object of the text and a path in it."""
    try:
        roots = list(yaml.compose_all(text, yaml.SafeLoader))
    except yaml.YAMLError:
        roots = []
    return [_placed(roots, problem) for problem in problems]


def _placed(roots: list[yaml.Node], problem: str) -> PlacedProblem:
    position = next(filter(None, (form.match(problem) for form in _POSITIONS)), None)
    if position is not None:
        return PlacedProblem(position["text"], None, int(position["line"]), int(position["column"]))
    named = _OBJECT.match(problem)
    if named is not None:
        node = _node_at(_object(roots, named["kind"], named["name"]), named["path"])
        at = (None, None) if node is None else (node.start_mark.line + 1, node.start_mark.column + 1)
        return PlacedProblem(problem, named["path"], *at)
    root = roots[0] if roots else None
    said = _SOURCE.sub("", problem)
    found = _PATH.match(said)
    if found is None:
        return PlacedProblem(said)
    node = _node_at(root, found["path"])
    if node is None:
        return PlacedProblem(said, found["path"])
    return PlacedProblem(said, found["path"], node.start_mark.line + 1, node.start_mark.column + 1)


def _object(roots: list[yaml.Node], kind: str, name: str) -> yaml.Node | None:
    """The document of that object, also one of a List's items; None where the text has none."""
    for root in roots:
        items = _node_at(root, "items")
        for each in items.value if isinstance(items, yaml.SequenceNode) else (root,):
            said = [_node_at(each, path) for path in ("kind", "metadata.name")]
            if [getattr(one, "value", None) for one in said] == [kind, name]:
                return each
    return None


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
