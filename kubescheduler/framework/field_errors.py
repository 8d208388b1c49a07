"""Faults of a configuration at the path of the field, in the words of the releases' own validation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec

from clusterstate.errors import ConfigError
from clusterstate.objects import NodeSelectorTerm, PreferredSchedulingTerm, Requirement
from kubecel.api_names import go_quote, qualified_name_errors

INVALID = "Invalid value"
REQUIRED = "Required value"
DUPLICATE = "Duplicate value"
UNSUPPORTED = "Unsupported value"
FORBIDDEN = "Forbidden"

PERCENT = range(101)
"""The values of a percentage."""


class FieldError(msgspec.Struct, frozen=True):
    """A fault. ``shown`` is the value as the release prints it, None where it prints none.

    Without a ``kind`` the fault is a plain text that the release tells without any path.
    """

    path: str
    detail: str = ""
    kind: str = ""
    shown: str | None = None

    def __str__(self) -> str:
        if not self.kind:
            return self.detail
        return ": ".join(part for part in (self.path, self.kind, self.shown, self.detail) if part)

    def under(self, prefix: str) -> FieldError:
        """The same fault of something that is itself at ``prefix``."""
        return msgspec.structs.replace(self, path=join(prefix, self.path))

    @property
    def problem(self) -> str:
        """The fault with its path, also where the release leaves the path out."""
        return str(self) if self.kind or not self.path else f"{self.path}: {self.detail}"


def join(prefix: str, path: str) -> str:
    """``prefix`` and what is below it."""
    dot = "." if prefix and path and not path.startswith("[") else ""
    return f"{prefix}{dot}{path}"


def plain(text: str) -> FieldError:
    """An error without path and kind."""
    return FieldError("", text)


def show(value: str | int) -> str:
    """A value as every release prints it: texts in quotes."""
    if isinstance(value, bool):
        return str(value).lower()
    return go_quote(value) if isinstance(value, str) else str(value)


def invalid(path: str, value: str | int, detail: str) -> FieldError:
    """Upstream: field.Invalid."""
    return FieldError(path, detail, INVALID, show(value))


def required(path: str, detail: str = "") -> FieldError:
    """Upstream: field.Required."""
    return FieldError(path, detail, REQUIRED)


def duplicate(path: str, value: str | int) -> FieldError:
    """Upstream: field.Duplicate."""
    return FieldError(path, "", DUPLICATE, show(value))


def forbidden(path: str, detail: str) -> FieldError:
    """Upstream: field.Forbidden."""
    return FieldError(path, detail, FORBIDDEN)


def unsupported(path: str, value: str, supported: Sequence[str]) -> FieldError:
    """Upstream: field.NotSupported."""
    detail = f"supported values: {', '.join(map(show, supported))}" if supported else ""
    return FieldError(path, detail, UNSUPPORTED, show(value))


def label_name_errors(path: str, name: str, worded: Callable[[str], str]) -> Iterator[FieldError]:
    """Every reason why ``name`` cannot be the key of a label. worded: a text as the release has it."""
    return (invalid(path, name, worded(text)) for text in qualified_name_errors(name))


def aggregate(errors: Iterable[FieldError | str]) -> str:
    """The errors as one text: each once, in brackets unless there is but one."""
    texts = list(dict.fromkeys(map(str, errors)))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def refuse(errors: Iterable[FieldError | str]) -> None:
    """Raises ConfigError with the errors as one text, if there are any."""
    if all_errors := list(errors):
        raise ConfigError(aggregate(all_errors))


T = TypeVar("T")


def literal_list(go: str, items: Sequence[T], show: Callable[[T], str]) -> str:
    """A list of Go type ``[]go``; an empty one is nil."""
    return f"[]{go}{{{', '.join(map(show, items))}}}" if items else f"[]{go}(nil)"


def node_selector(terms: Iterable[NodeSelectorTerm]) -> str:
    """A node selector as Go prints it."""
    return f"v1.NodeSelector{{NodeSelectorTerms:{literal_list('v1.NodeSelectorTerm', tuple(terms), _term)}}}"


def preferred_terms(terms: Iterable[PreferredSchedulingTerm]) -> str:
    """Preferred node affinity as Go prints it."""
    return literal_list("v1.PreferredSchedulingTerm", tuple(terms), _preferred)


def _preferred(term: PreferredSchedulingTerm) -> str:
    return f"v1.PreferredSchedulingTerm{{Weight:{term.weight}, Preference:{_term(term.preference)}}}"


def _term(term: NodeSelectorTerm) -> str:
    go = "v1.NodeSelectorRequirement"
    expressions = literal_list(go, term.match_expressions, _requirement)
    fields = literal_list(go, term.match_fields, _requirement)
    return f"v1.NodeSelectorTerm{{MatchExpressions:{expressions}, MatchFields:{fields}}}"


def _requirement(requirement: Requirement) -> str:
    key, operator = go_quote(requirement.key), go_quote(requirement.operator)
    values = literal_list("string", requirement.values, go_quote)
    return f"v1.NodeSelectorRequirement{{Key:{key}, Operator:{operator}, Values:{values}}}"
