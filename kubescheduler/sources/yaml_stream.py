"""YAML streams as Kubernetes reads them: dates and odd numbers stay text, keys are text.

Everything that is YAML is read here: clusters, pods, policies, configurations, grids. What libyaml itself does not
limit (nesting, aliases, merges) is limited while the nodes are composed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from clusterstate.errors import DecodeError
from kubescheduler.sources.limits import exceeded, limit

_TAG = "tag:yaml.org,2002:"
_BOOLS = {"yes": True, "no": False, "true": True, "false": False, "on": True, "off": False}
_TRUE_AND_FALSE = {True: "true", False: "false"}
_MERGE = f"{_TAG}merge"
_LONGEST_NUMBER = 400
"""Characters; a longer one is no number of 64 bits and stays text."""


def parse_yaml(source: str, data: bytes | str, *, notes: list[str] | None = None) -> list[Any]:
    """The documents of a stream, empty ones left out.

    notes: gets one for every key that is set twice in one object; the last one counts, as upstream.
    Raises DecodeError with line and column for what is no YAML, and for what goes over a limit.
    """
    import yaml

    try:
        loader = _loader()(data)
    except yaml.YAMLError as error:
        raise DecodeError(f"{source}: {_one_line(error)}") from None
    try:
        documents = []
        while loader.check_node():
            documents.append(_Reader(source, notes).read(loader.get_node()))
    except yaml.MarkedYAMLError as error:
        raise DecodeError(f"{source}: {_position(error)}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise DecodeError(f"{source}: {_one_line(error)}") from None
    except RecursionError:
        raise DecodeError(f"{source}: nested too deeply to be read") from None
    finally:
        loader.dispose()
    return [document for document in documents if document is not None]


@cache
def _loader() -> Any:
    """libyaml's loader, if it is there, that ends where the nesting is too deep: libyaml ends the process there."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """Counts how deep it is: both hooks are called for every node while nodes are composed."""

        def __init__(self, stream: bytes | str) -> None:
            super().__init__(stream)
            self._left = limit("depth") + 1

        def descend_resolver(self, parent: Any, index: Any) -> None:  # noqa: ARG002
            self._left -= 1
            if self._left < 0:
                mark = getattr(parent, "start_mark", None)
                raise yaml.MarkedYAMLError(problem=f"nested too deeply: {exceeded('depth')}", problem_mark=mark)

        def ascend_resolver(self) -> None:
            self._left += 1

    return Loader


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _position(error: Any) -> str:
    mark = error.problem_mark or error.context_mark
    text = ", ".join(part for part in (error.context, error.problem) if part)
    return f"{_place(mark)}: {text}" if mark else text


def _place(mark: Any) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}"


class _Reader:
    """Turns the nodes of one document into dictionaries and lists. An alias gives the same object again."""

    def __init__(self, source: str, notes: list[str] | None) -> None:
        self._source = source
        self._notes = notes
        self._known: dict[int, Any] = {}
        self._sizes: dict[int, int] = {}
        self._aliased = 0

    def read(self, node: Any) -> Any:
        """The value of a node, and of all below it."""
        value = node.value
        if isinstance(value, str):
            return value if node.tag == f"{_TAG}str" else _scalar(node.tag, value)
        if id(node) in self._known:
            return self._again(node)
        self._known[id(node)] = None
        known = self._mapping(node) if node.id == "mapping" else [self.read(item) for item in value]
        self._known[id(node)] = known
        return known

    def _again(self, node: Any) -> Any:
        """The value of a node that an alias refers to."""
        known = self._known[id(node)]
        if known is None:
            raise ValueError(f"{_place(node.start_mark)}: an alias below refers to the very value that it is part of")
        self._aliased += self._size(known)
        if self._aliased > limit("aliases"):
            raise ValueError(f"{_place(node.start_mark)}: its aliases stand for {exceeded('aliases')}")
        return known

    def _size(self, value: Any) -> int:
        """The values in a value, each alias counted as often as it occurs."""
        if not isinstance(value, dict | list):
            return 1
        size = self._sizes.get(id(value))
        if size is None:
            size = 1 + sum(map(self._size, value.values() if isinstance(value, dict) else value))
            self._sizes[id(value)] = size
        return size

    def _mapping(self, node: Any) -> dict[str, Any]:
        own = [(key, value) for key, value in node.value if key.tag != _MERGE]
        found = {_key(self.read(key), key): self.read(value) for key, value in own}
        if len(found) < len(own):
            self._note_repeats(own)
        if len(own) == len(node.value):
            return found
        merged: dict[str, Any] = {}
        for key, value in node.value:
            if key.tag == _MERGE:
                merged |= self._merged(value)
        return merged | found

    def _merged(self, node: Any) -> dict[str, Any]:
        """What ``<<`` stands for: a mapping, or several, of which the first that has a key counts."""
        parts = list(reversed(node.value)) if node.id == "sequence" else [node]
        out: dict[str, Any] = {}
        for part in parts:
            value = self.read(part)
            if not isinstance(value, Mapping):
                raise ValueError(f"{_place(part.start_mark)}: << takes an object or a list of objects")
            out |= value
        return out

    def _note_repeats(self, pairs: list[tuple[Any, Any]]) -> None:
        if self._notes is None:
            return
        lines: dict[str, int] = {}
        for node, _ in pairs:
            name, line = _key(self.read(node), node), node.start_mark.line + 1
            if name in lines:
                where = f"lines {lines[name]} and {line}" if line != lines[name] else f"line {line}"
                self._notes.append(f"{self._source}: {where}: {name} is set twice; the last one counts")
            lines[name] = line


def _key(value: Any, node: Any) -> str:
    """Keys are text in JSON: numbers as written, true and false in full."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return _TRUE_AND_FALSE[value]
    if isinstance(node.value, str):
        return node.value
    raise ValueError(f"{_place(node.start_mark)}: a key must be text, not a list or object")


def _scalar(tag: str, text: str) -> Any:
    if tag == f"{_TAG}null":
        return None
    if tag == f"{_TAG}bool":
        return _BOOLS.get(text.lower(), text)
    if len(text) > _LONGEST_NUMBER:
        return text
    if tag == f"{_TAG}int" and ":" not in text:
        return _integer(text.replace("_", ""))
    if tag == f"{_TAG}float" and ":" not in text:
        return _float(text.replace("_", "").lower())
    return text


def _integer(text: str) -> int | str:
    sign, digits = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
    octal = len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()
    try:
        return int(sign + ("0o" + digits if octal else digits), 0)
    except ValueError:
        return text


def _float(text: str) -> float | str:
    try:
        return float(text.replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError:
        return text
