"""Laws of reading answers: any bytes give a value or an extender error."""

from __future__ import annotations

import json
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubescheduler.extender.answers import (
    ExtenderError,
    first_value,
    node_name,
    only_value,
    read_error,
    read_filter,
    read_scores,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["nodes", "NodeNames", "items", "metadata", "name", "failedNodes", "ERROR", "host", "score"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def read_all(body: bytes, document: Callable[[bytes], msgspec.Raw]) -> None:
    """Reads a body as every kind of answer; only extender errors may come out."""
    for read in (read_filter, read_scores, read_error):
        try:
            answer = read(document(body))
            for node in getattr(answer, "objects", None) or ():
                node_name(node)
        except ExtenderError:
            pass


@pytest.mark.parametrize("document", [first_value, only_value])
@given(body=st.binary(max_size=40) | st.text(alphabet='{}[]",:0.e-tn \\u', max_size=20).map(str.encode))
def test_any_bytes(document: Callable[[bytes], msgspec.Raw], body: bytes) -> None:
    """No bytes break the reader."""
    read_all(body, document)


@pytest.mark.parametrize("document", [first_value, only_value])
@given(value=VALUES)
def test_any_value(document: Callable[[bytes], msgspec.Raw], value: object) -> None:
    """No JSON value breaks the reader."""
    read_all(json.dumps(value).encode(), document)


@given(value=VALUES.filter(lambda v: not isinstance(v, (int, float))), rest=st.binary(max_size=10))
def test_what_follows_the_first_value(value: object, rest: bytes) -> None:
    """The first value is the same whatever stands behind it."""
    body = json.dumps(value, allow_nan=True).encode()
    try:
        alone = bytes(first_value(body))
    except ExtenderError:
        return
    assert msgspec.json.decode(bytes(first_value(body + b" " + rest))) == msgspec.json.decode(alone)


@pytest.mark.parametrize(
    ("body", "value"),
    [(b' {"a":1}{"b":2}', {"a": 1}), (b"null x", None), (b'\n["\xc3\xa9"]\xff', ["é"]), (b"[-0]]", [0])],
    ids=["two", "null", "accents", "zero"],
)
def test_first_value(body: bytes, value: object) -> None:
    """The first value is cut out where it ends."""
    assert msgspec.json.decode(bytes(first_value(body))) == value
