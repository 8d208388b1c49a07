"""YAML streams as Kubernetes reads them: dates and odd numbers stay text, keys are text, y and on are true.

Everything that is YAML is read here: clusters, pods, policies, configurations, grids. What kubectl writes is read line
by line (``block_yaml``), anything else by libyaml. What libyaml itself does not limit (nesting, aliases, merges) is
limited while the nodes are composed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from clusterstate.errors import DecodeError
from kubescheduler.sources.block_yaml import read_blocks
from kubescheduler.sources.limits import TooLongError, check_values, exceeded, limit
from kubescheduler.sources.yaml_scalars import TAG, plain_scalars, scalar_value

_MERGE = f"{TAG}merge"


def parse_yaml(source: str, data: bytes | str, *, notes: list[str] | None = None) -> list[Any]:
    """The documents of a stream, empty ones left out.

    notes: gets one with its path for every key that is set twice in one object; the last one counts, as upstream.
    Raises DecodeError with line and column for what is no YAML, and for what goes over a limit.
    """
    try:
        check_values(data)
    except TooLongError as error:
        raise DecodeError(f"{source}: {error}") from None
    documents = read_blocks(data)
    if documents is None:
        documents = [document for document in parsed_documents(source, data, notes) if document is not None]
    return documents


def first_document(source: str, data: bytes | str) -> tuple[Any, int | None]:
    """(the first document of a stream, how many are behind it); None for a number that cannot be known.

    A release that decodes a file reads no more than the first document: what is behind it may be anything, and an empty
    one counts. Upstream: go-yaml v2 Unmarshal. Raises DecodeError as ``parse_yaml``.
    """
    documents = parsed_documents(source, data, None)
    first = next(documents, None)
    try:
        return first, sum(document is not None for document in documents)
    except DecodeError:
        return first, None


def parsed_documents(source: str, data: bytes | str, notes: list[str] | None) -> Iterator[Any]:
    """The values of all documents by libyaml, each read when it is asked for; None for an empty one."""
    import yaml

    try:
        check_values(data)
        loader = _loader()(data)
    except TooLongError as error:
        raise DecodeError(f"{source}: {error}") from None
    except yaml.YAMLError as error:
        raise DecodeError(f"{source}: {_one_line(error)}") from None
    repeats = False
    try:
        while loader.check_node():
            reader = _Reader()
            yield reader.read(loader.get_node())
            repeats = repeats or reader.repeats
    except yaml.MarkedYAMLError as error:
        raise DecodeError(f"{source}: {_position(error)}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise DecodeError(f"{source}: {_one_line(error)}") from None
    except RecursionError:
        raise DecodeError(f"{source}: nested too deeply to be read") from None
    finally:
        loader.dispose()
    if repeats and notes is not None:
        notes += _repeats(source, data)


def _repeats(source: str, data: bytes | str) -> Iterator[str]:
    from kubescheduler.sources.duplicate_keys import yaml_duplicates

    found = list(yaml_duplicates(data, several=True))
    for number, repeats in enumerate(found, 1):
        place = f"{source}: document {number}" if len(found) > 1 else source
        yield from (f"{place}: {each}; the last one counts" for each in repeats)


@cache
def _loader() -> Any:
    """libyaml's loader, if it is there, that ends where the nesting is too deep: libyaml ends the process there."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """Counts how deep it is: both hooks are called for every node while nodes are composed."""

        yaml_implicit_resolvers = plain_scalars()

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
    from yaml.reader import ReaderError

    if isinstance(error, ReaderError):
        return f"position {error.position}: {error.reason}: #x{error.character:02x}"
    return " ".join(str(error).split())


def _position(error: Any) -> str:
    mark = error.problem_mark or error.context_mark
    if error.problem == "exceeded maximum nesting depth":
        # libyaml looks ahead of the nodes that it gives, and from 0.2.6 on counts itself how deep that is.
        return f"{_place(mark)}: nested too deeply: {exceeded('depth')}"
    text = ", ".join(part for part in (error.context, error.problem) if part)
    return f"{_place(mark)}: {text}" if mark else text


def _place(mark: Any) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}"


class _Reader:
    """Turns the nodes of one document into dictionaries and lists. An alias gives the same object again."""

    def __init__(self) -> None:
        self.repeats = False
        """Whether some object sets a key twice."""
        self._known: dict[int, Any] = {}
        self._sizes: dict[int, int] = {}
        self._aliased = 0

    def read(self, node: Any) -> Any:
        """The value of a node, and of all below it."""
        value = node.value
        if isinstance(value, str):
            return value if node.tag == f"{TAG}str" else scalar_value(node.tag, value)
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
            self.repeats = True
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


def _key(value: Any, node: Any) -> str:
    """Keys are text in JSON: numbers as written, true and false in full."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(node.value, str):
        return node.value
    raise ValueError(f"{_place(node.start_mark)}: a key must be text, not a list or object")
