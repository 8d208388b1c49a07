"""YAML streams as Kubernetes reads them: dates and odd numbers stay text, keys are text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusterstate.errors import DecodeError

_TAG = "tag:yaml.org,2002:"
_BOOLS = {"yes": True, "no": False, "true": True, "false": False, "on": True, "off": False}
_TRUE_AND_FALSE = {True: "true", False: "false"}
_MERGE = f"{_TAG}merge"


def parse_yaml(source: str, data: bytes) -> list[Any]:
    """The documents of a stream, empty ones left out.

    Raises DecodeError with line and column for what is no YAML.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(data)
    try:
        documents = []
        while loader.check_node():
            documents.append(_Reader(loader.flatten_mapping).read(loader.get_node()))
    except yaml.MarkedYAMLError as error:
        raise DecodeError(f"{source}: {_position(error)}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise DecodeError(f"{source}: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise DecodeError(f"{source}: nested too deeply to be read") from None
    finally:
        loader.dispose()
    return [document for document in documents if document is not None]


def _position(error: Any) -> str:
    mark = error.problem_mark or error.context_mark
    text = ", ".join(part for part in (error.context, error.problem) if part)
    return f"line {mark.line + 1}, column {mark.column + 1}: {text}" if mark else text


class _Reader:
    """Turns the nodes of one document into dictionaries and lists. An alias gives the same object again."""

    def __init__(self, flatten: Callable[[Any], None]) -> None:
        self._flatten = flatten
        self._known: dict[int, Any] = {}

    def read(self, node: Any) -> Any:
        value = node.value
        if isinstance(value, str):
            return value if node.tag == f"{_TAG}str" else _scalar(node.tag, value)
        known = self._known.get(id(node))
        if known is None:
            known = self._mapping(node) if node.id == "mapping" else [self.read(item) for item in value]
            self._known[id(node)] = known
        return known

    def _mapping(self, node: Any) -> dict[str, Any]:
        if any(key.tag == _MERGE for key, _ in node.value):
            self._flatten(node)
        return {_key(self.read(key), key): self.read(value) for key, value in node.value}


def _key(value: Any, node: Any) -> str:
    """Keys are text in JSON: numbers as written, true and false in full."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return _TRUE_AND_FALSE[value]
    if isinstance(node.value, str):
        return node.value
    mark = node.start_mark
    raise ValueError(f"line {mark.line + 1}, column {mark.column + 1}: a key must be text, not a list or object")


def _scalar(tag: str, text: str) -> Any:
    if tag == f"{_TAG}null":
        return None
    if tag == f"{_TAG}bool":
        return _BOOLS.get(text.lower(), text)
    if tag == f"{_TAG}int" and ":" not in text:
        return _integer(text.replace("_", ""))
    if tag == f"{_TAG}float" and ":" not in text:
        return _float(text.replace("_", "").lower())
    return text


def _integer(text: str) -> int | str:
    sign, digits = (text[0], text[1:]) if text[0] in "+-" else ("", text)
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
