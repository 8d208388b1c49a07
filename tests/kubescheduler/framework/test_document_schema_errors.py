from __future__ import annotations

from typing import Any

import pytest

from kubecel.api_names import worded_1_20, worded_1_36
from kubescheduler.framework.document_schema import (
    FieldError,
    aggregate,
    duplicate,
    forbidden,
    invalid,
    join,
    label_name_errors,
    plain,
    required,
    unsupported,
)

TEXTS: dict[str, Any] = {
    "text": (invalid("a.b", "x\n", "no"), 'a.b: Invalid value: "x\\n": no'),
    "number": (invalid("a", 5, "no"), "a: Invalid value: 5: no"),
    "boolean": (invalid("a", True, "no"), "a: Invalid value: true: no"),
    "required": (required("a"), "a: Required value"),
    "required-why": (required("a", "give it"), "a: Required value: give it"),
    "duplicate": (duplicate("a[1]", "x"), 'a[1]: Duplicate value: "x"'),
    "forbidden": (forbidden("a", "no"), "a: Forbidden: no"),
    "unsupported": (unsupported("a", "x", ("y", "z")), 'a: Unsupported value: "x": supported values: "y", "z"'),
    "unsupported-none": (unsupported("a", "x", ()), 'a: Unsupported value: "x"'),
    "plain": (plain("no"), "no"),
    "plain-under": (plain("no").under("a"), "no"),
}


@pytest.mark.parametrize(("error", "text"), TEXTS.values(), ids=TEXTS)
def test_texts(error: FieldError, text: str) -> None:
    """Path, kind, value and detail."""
    assert str(error) == text


@pytest.mark.parametrize(
    ("prefix", "path", "joined"), [("a", "b", "a.b"), ("a", "[0].b", "a[0].b"), ("", "b", "b"), ("a", "", "a")]
)
def test_paths(prefix: str, path: str, joined: str) -> None:
    """Keys are joined by dots, positions are not."""
    assert join(prefix, path) == joined
    assert required(path).under(prefix).path == joined


def test_problems_have_their_path() -> None:
    """A plain text gets its path where all problems are told."""
    assert plain("no").under("a.b").problem == "a.b: no"
    assert plain("no").problem == "no"
    assert required("a").problem == "a: Required value"


@pytest.mark.parametrize(
    ("errors", "text"),
    [(["a"], "a"), (["a", "b"], "[a, b]"), (["a", "a"], "a"), (["a", "b", "a"], "[a, b]")],
    ids=["one", "two", "same", "repeated"],
)
def test_aggregates(errors: list[str], text: str) -> None:
    """Several errors stand in brackets, each once."""
    assert aggregate(errors) == text


def test_label_names() -> None:
    """Each reason is an error of its own, in the release's words."""
    long = "a" * 64
    old, new = ([str(e) for e in label_name_errors("p", f"A/{long}", worded)] for worded in (worded_1_20, worded_1_36))
    assert [len(old), len(new)] == [2, 2]
    assert "a lowercase RFC 1123 subdomain must" in old[0]
    assert old[1].endswith("name part must be no more than 63 characters")
    assert new[1].endswith("name part must be no more than 63 bytes")
