"""Documents with a long list in them, written piece by piece as JSON or YAML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec


def list_document(head: Mapping[str, Any], items: Iterable[Any], output: str) -> Iterator[str]:
    """``head`` and under ``items`` a list, as text in pieces. output: json or yaml.

    An item is plain data, and may be or hold JSON as it is (``msgspec.Raw``).
    """
    return _json(head, items) if output == "json" else _yaml(head, items)


def _json(head: Mapping[str, Any], items: Iterable[Any]) -> Iterator[str]:
    yield _indented(head, 0).removesuffix("\n}") + ',\n  "items": ['
    separator = "\n    "
    for item in items:
        yield separator + _indented(item, 4)
        separator = ",\n    "
    yield "\n  ]\n}\n" if separator.startswith(",") else "]\n}\n"


def _indented(value: Any, by: int) -> str:
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return text.replace("\n", "\n" + " " * by)


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


def yaml_dumper() -> Callable[[Any], str]:
    """Plain data → YAML, keys in the order they have."""
    import yaml

    from kubescheduler.sources.yaml_scalars import dumper_class

    class Dumper(dumper_class()):  # type: ignore[misc]
        """Writes a value that is there twice twice."""

        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
            return True

    def dump(value: Any) -> str:
        text: str = yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=1000)
        return text

    return dump
