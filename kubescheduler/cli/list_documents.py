"""Documents with a long list in them, written piece by piece as JSON or YAML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

import msgspec

from kubescheduler.sources.foreign_text import json_text, yaml_dumper


def list_document(head: Mapping[str, Any], items: Iterable[Any], output: str) -> Iterator[str]:
    """``head`` and under ``items`` a list, as text in pieces. output: json or yaml.

    An item is plain data, and may be or hold JSON as it is (``msgspec.Raw``). Nothing comes before the first item is
    there: an error that keeps it from being made leaves no beginning of an answer.
    """
    items = iter(items)
    begun = list(islice(items, 1))
    return (_json if output == "json" else _yaml)(head, chain(begun, items))


def _json(head: Mapping[str, Any], items: Iterable[Any]) -> Iterator[str]:
    yield _indented(head, 0).removesuffix("\n}") + ',\n  "items": ['
    separator = "\n    "
    for item in items:
        yield separator + _indented(item, 4)
        separator = ",\n    "
    yield "\n  ]\n}\n" if separator.startswith(",") else "]\n}\n"


def _indented(value: Any, by: int) -> str:
    return json_text(value, 2).replace("\n", "\n" + " " * by)


def _yaml(head: Mapping[str, Any], items: Iterable[Any]) -> Iterator[str]:
    dump = yaml_dumper()
    yield dump(head)
    first = True
    for item in items:
        plain = msgspec.json.decode(msgspec.json.encode(item))
        yield ("items:\n" if first else "") + dump([plain])
        first = False
    if first:
        yield "items: []\n"
