"""Where a YAML or JSON text has to be altered so that its content becomes another."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import yaml

from clusterstate.errors import ConfigError
from kubescheduler.config.config_text import document_format, parse_first_document
from kubescheduler.sources.untrusted import json_text
from kubescheduler.sources.yaml_stream import yaml_dumper

Patch = tuple[int, int, str]
"""(start, end, what comes in place of the characters between)."""


def patches(text: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Patch] | None:
    """The places to alter, none of which overlap; None for a text without a mapping in it.

    The content of the altered text has to be checked: a text with aliases or keys in uncommon places may come out
    otherwise.
    """
    try:
        root = next(iter(yaml.compose_all(text, yaml.SafeLoader)), None)
    except yaml.YAMLError:
        return None
    if not isinstance(root, yaml.MappingNode) or not before or not after:
        return None
    return list(_Text(text).value(root, before, after))


def _label(item: Any) -> str:
    """What an element of a list is recognised by: its name if it has one."""
    name = item.get("name", item.get("schedulerName")) if isinstance(item, Mapping) else None
    return f"name {name}" if isinstance(name, str) else json_text(item)


class _Text:
    """Finds what to alter in one text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def value(self, node: yaml.Node, before: Any, after: Any) -> Iterator[Patch]:
        """So that a value becomes another one."""
        if type(before) is type(after) and before == after:
            return
        if isinstance(node, yaml.MappingNode) and _both(dict, before, after):
            yield from self._mapping(node, before, after)
        elif isinstance(node, yaml.SequenceNode) and _both(list, before, after):
            yield from self._sequence(node, before, after)
        elif isinstance(node, yaml.ScalarNode) and not isinstance(after, dict | list):
            as_json = node.style == '"'
            yield node.start_mark.index, self._end(node), json_text(after) if as_json else _scalar(after)
        else:
            yield node.start_mark.index, self._end(node), self._shown(after, node)

    # --- mappings --------------------------------------------------------------------------

    def _mapping(self, node: yaml.MappingNode, before: dict[str, Any], after: dict[str, Any]) -> Iterator[Patch]:
        items = {key.value: (key, value) for key, value in node.value if isinstance(key, yaml.ScalarNode)}
        entries = [(key.start_mark.index, self._end(value)) for key, value in node.value]
        for at, (key, value) in enumerate(node.value):
            name = key.value
            if name not in after:
                yield self._removed(node, entries, at)
            elif before.get(name) == after[name]:
                continue
            elif self._patchable(value, before.get(name), after[name]):
                yield from self.value(value, before[name], after[name])
            elif node.flow_style:
                yield value.start_mark.index, self._end(value), json_text(after[name])
            else:
                shown = _block({name: after[name]}, key.start_mark.column)
                yield key.start_mark.index, self._end(value), shown
        new = {name: value for name, value in after.items() if name not in items}
        if new and node.flow_style:
            added = [f"{json_text(name)}: {json_text(value)}" for name, value in new.items()]
            yield self._inserted_flow(entries, len(entries), added)
        elif new:
            column = node.value[0][0].start_mark.column
            at = self._line_end(entries[-1][1])
            yield at, at, "\n" + " " * column + _block(new, column)

    def _patchable(self, node: yaml.Node, before: Any, after: Any) -> bool:
        """Whether a value can be altered in parts."""
        if isinstance(after, dict | list):
            return _both(type(after), before, after)
        return isinstance(node, yaml.ScalarNode) and node.style not in ("|", ">") and bool(self._end(node))

    # --- lists -----------------------------------------------------------------------------

    def _sequence(self, node: yaml.SequenceNode, before: list[Any], after: list[Any]) -> Iterator[Patch]:
        entries = [(item.start_mark.index, self._end(item)) for item in node.value]
        matcher = difflib.SequenceMatcher(a=[*map(_label, before)], b=[*map(_label, after)], autojunk=False)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes():
            common = min(i2 - i1, j2 - j1) if tag in ("equal", "replace") else 0
            for offset in range(common):
                yield from self.value(node.value[i1 + offset], before[i1 + offset], after[j1 + offset])
            for at in range(i1 + common, i2):
                yield self._removed(node, entries, at)
            if new := after[j1 + common : j2]:
                yield self._inserted(node, entries, i1 + common, new)

    def _inserted(
        self, node: yaml.SequenceNode, entries: Sequence[tuple[int, int]], at: int, new: Sequence[Any]
    ) -> Patch:
        if node.flow_style:
            return self._inserted_flow(entries, at, [json_text(item) for item in new])
        column = node.start_mark.column
        shown = [f"{' ' * column}- {_block(item, column + 2)}" for item in new]
        if at:
            place = self._line_end(entries[at - 1][1])
            return place, place, "".join(f"\n{item}" for item in shown)
        place = self._line_start(entries[0][0])
        return place, place, "".join(f"{item}\n" for item in shown)

    # --- places ----------------------------------------------------------------------------

    def _inserted_flow(self, entries: Sequence[tuple[int, int]], at: int, shown: Sequence[str]) -> Patch:
        """Between brackets; on lines of their own where the entries are."""
        first = entries[0][0]
        start = self._line_start(first)
        alone = not self._text[start:first].strip()
        between = ",\n" + self._text[start:first] if alone else ", "
        if at:
            place = entries[at - 1][1]
            return place, place, "".join(between + item for item in shown)
        return first, first, "".join(item + between for item in shown)

    def _removed(self, node: yaml.Node, entries: Sequence[tuple[int, int]], at: int) -> Patch:
        start, end = entries[at]
        if node.flow_style:  # type: ignore[attr-defined]
            if at:
                return entries[at - 1][1], end, ""
            return start, entries[1][0] if len(entries) > 1 else end, ""
        return self._line_start(start), self._line_end(end) + 1, ""

    def _end(self, node: yaml.Node) -> int:
        """Where the text of a value ends, before blanks and comments."""
        if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
            last = node.value[-1]
            return self._end(last[1] if isinstance(last, tuple) else last)
        end = node.end_mark.index
        while end > node.start_mark.index and self._text[end - 1] in " \t\n\r":
            end -= 1
        return int(end)

    def _shown(self, value: Any, node: yaml.Node) -> str:
        return _block(value, node.start_mark.column) if not getattr(node, "flow_style", False) else json_text(value)

    def _line_start(self, at: int) -> int:
        return self._text.rfind("\n", 0, at) + 1

    def _line_end(self, at: int) -> int:
        found = self._text.find("\n", at)
        return len(self._text) if found < 0 else found


def _both(kind: type, before: Any, after: Any) -> bool:
    """Whether both are such collections with something in them."""
    return isinstance(before, kind) and isinstance(after, kind) and bool(before) and bool(after)


def _scalar(value: Any) -> str:
    """A single value as it is written in a block."""
    return yaml_dumper()({"k": value}).removeprefix("k: ").rstrip("\n") if isinstance(value, str) else json_text(value)


def _block(value: Any, column: int) -> str:
    """A value in lines that begin at a column, the first of which has its blanks already."""
    lines: list[str] = yaml_dumper()(value).removesuffix("...\n").rstrip("\n").split("\n")
    return f"\n{' ' * column}".join(lines)


NORMALISED = "the text was written anew: comments and layout could not be kept"


class Rewritten(msgspec.Struct, frozen=True):
    """A text with other content."""

    text: str
    kept: bool
    """Whether everything that did not change stands as it was written, with its comments."""


def rewritten(text: str, after: Mapping[str, Any]) -> Rewritten:
    """The text of a document, changed so that this is its content.

    A YAML or JSON text is altered in place; where that does not give the wanted content, as with aliases or TOML, the
    document is written anew. Raises ConfigError for text that cannot be read.
    """
    before = dict(parse_first_document(text, "text"))
    if after == before:
        return Rewritten(text, kept=True)
    form = document_format(text, "text")
    if text.strip() and form != "TOML":
        patched = _patched(text, before, after)
        if patched is not None:
            return Rewritten(patched, kept=True)
    fresh = json_text(after, indent=2) + "\n" if text.strip() and form == "JSON" else yaml_dumper()(after)
    return Rewritten(fresh, kept=not text.strip())


def _patched(text: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
    """The text altered in place; None where that is not possible."""
    found: list[Patch] | None = patches(text, before, after)
    if found is None:
        return None
    out = text
    for start, end, replacement in sorted(found, reverse=True):
        out = f"{out[:start]}{replacement}{out[end:]}"
    try:
        return out if dict(parse_first_document(out, "text")) == after else None
    except ConfigError:
        return None


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
