"""Field selectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Document = dict[str, Any]


def field(obj: Document, path: str) -> str:
    """The value of a field, as text."""
    value: Any = obj
    for part in path.split("."):
        value = (value or {}).get(part)
    if value is None and path == "status.phase":
        return "Pending"
    return "" if value is None else str(value)


def selects(selector: str) -> Callable[[Document | None], bool]:
    """Whether an object is selected; one that is not there is not."""
    terms = []
    for term in filter(None, selector.split(",")):
        negated = "!=" in term
        path, _, value = term.partition("!=" if negated else "=")
        terms.append((path, value.lstrip("="), negated))

    def selected(obj: Document | None) -> bool:
        return obj is not None and all((field(obj, path) == value) is not negated for path, value, negated in terms)

    return selected
