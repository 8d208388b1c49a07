"""What is read line by line is what libyaml reads; anything else is declined."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.errors import DecodeError
from kubescheduler.sources.block_yaml import read_blocks
from kubescheduler.sources.yaml_stream import parsed_documents

TEXTS = st.sampled_from(
    [
        "a",
        "name",
        "app",
        "web-1",
        "y",
        "no",
        "null",
        "~",
        "1",
        "01",
        "1e3",
        "0x1F",
        "1.5",
        ".5",
        "-1",
        "+1",
        "1_0",
        "1:30",
        "a b",
        "a: b",
        "a #b",
        "#a",
        "a:",
        "'q'",
        "{}",
        "[]",
        "- a",
        "-",
        "it's",
        "a\nb",
        "b\n",
        "f:x",
        'k:{"a":"b"}',
        "*a",
        "&a",
        "!t",
        "<<",
        "%d",
        "@x",
        "100m",
        "8Gi",
        "10.0.0.1",
        "2026-01-01T00:00:00Z",
        "",
        ".inf",
        "=",
        "? a",
        "[x",
        "---",
        "...",
        "On",
        "/x",
        "é",
        "a\tb",
        " b",
        "b ",
        "many words that have to be folded as they do not fit in one line",
    ]
)
VALUES = st.recursive(
    TEXTS | st.integers(-3, 3) | st.floats(0, 2) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
LINES = [
    "",
    "  ",
    "# c",
    "---",
    "...",
    "- a",
    "a: b",
    "  x: y",
    "  - q",
    "text",
    "a: 'open",
    "b: |",
    "c: >-",
    "- - a",
    "-",
]


@st.composite
def documents(draw: st.DrawFn) -> str:
    """YAML as PyYAML writes it in several styles, some lines of it changed."""
    text = yaml.dump_all(
        draw(st.lists(VALUES, min_size=1, max_size=2)),
        Dumper=yaml.SafeDumper,
        default_flow_style=False,
        width=draw(st.sampled_from([20, 80])),
        default_style=draw(st.sampled_from([None, None, "|", "'", '"'])),
        allow_unicode=True,
    )
    lines = text.split("\n")
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(lines) - 1))
        change = draw(st.sampled_from(["indent", "insert", "drop", "add"]))
        if change == "indent":
            lines[at] = " " * draw(st.integers(0, 4)) + lines[at].lstrip()
        elif change == "insert":
            lines.insert(at, draw(st.sampled_from(LINES)))
        elif change == "drop" and len(lines) > 1:
            del lines[at]
        else:
            lines[at] += draw(st.sampled_from([" ", ":", " #c", "'", " |", " b: c"]))
    return "\n".join(lines)


def by_libyaml(text: str | bytes) -> Any:
    """The documents and the notes; the fault in place of them."""
    notes: list[str] = []
    try:
        return [each for each in parsed_documents("x", text, notes) if each is not None], notes
    except DecodeError as error:
        return str(error)


@given(documents())
def test_as_libyaml_or_not_at_all(text: str) -> None:
    """Values and their types are the same, and where libyaml finds a fault or a key twice nothing is read."""
    read = read_blocks(text)
    if read is not None:
        assert repr((read, [])) == repr(by_libyaml(text))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a: 1\nb:\n- x: y\n  z: {}\n- []\nc:\nd: null\n", id="lists in the column of their key"),
        pytest.param("a:\n  - b:\n      - c\n      - - d\n", id="lists in lists"),
        pytest.param("---\na: b\n---\n---\n- c\n", id="several documents"),
        pytest.param("a: 'it''s'\nb: \"say \\\"x\\\"\\n\"\n'1': y\n", id="quotes"),
        pytest.param("a: |\n  b: c\n\n    d\n\ne: |-\n  f\n", id="texts of several lines"),
        pytest.param("a: many words\n  go on\nb: 'many words\n  go on'\nc:\n- d\n  e\n", id="folded texts"),
        pytest.param('f:\n  k:{"type":"Ready"}:\n    .: {}\n', id="managed fields"),
        pytest.param("y: y\n1: 0x10\nno: 1_0\n", id="odd scalars"),
    ],
)
def test_what_kubectl_writes_is_read(text: str) -> None:
    """None of it needs libyaml."""
    read = read_blocks(text.encode())
    assert read is not None
    assert repr((read, [])) == repr(by_libyaml(text))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"a: &x 1\nb: *x\n", id="anchor"),
        pytest.param(b"a: !!str 1\n", id="tag"),
        pytest.param(b"a: 1\na: 2\n", id="key twice"),
        pytest.param(b"<<: {a: 1}\n", id="merge"),
        pytest.param(b"a: {b: c}\n", id="flow style"),
        pytest.param(b"a: >\n  b\n", id="folded block"),
        pytest.param(b"a:\n\t- b\n", id="tab"),
        pytest.param(b"a: \xff\n", id="no UTF-8"),
        pytest.param("a: é\n".encode(), id="not ASCII"),
        pytest.param(b"a: 1\n   b: 2\n  c: 3\n", id="odd columns"),
        pytest.param(b"".join(b" " * n + b"a:\n" for n in range(200)), id="deep"),
        pytest.param(b"- " * 200 + b"a\n", id="deep in a line"),
        pytest.param(b"? a\n: b\n", id="explicit key"),
        pytest.param(b"a: 'b\n", id="open quotes"),
        pytest.param(b"a: b: c\n", id="no YAML"),
        pytest.param(b"a: 1", id="no end of line"),
        pytest.param(b"a" * 600 + b": 1\n", id="long key"),
    ],
)
def test_what_is_unusual_is_declined(text: bytes) -> None:
    """libyaml reads it, or says what is wrong."""
    assert read_blocks(text) is None


@pytest.mark.parametrize("piece", [b" ", b"- ", b"a:", b"'", b'"', b"\\", b":", b"a: '", b"a #", b"\n"])
def test_long_lines_take_no_time(piece: bytes) -> None:
    """A megabyte of anything is read or declined at once: no pattern looks at a line again and again."""
    read_blocks(b"a: " + piece * (1 << 20) + b"\n")
    read_blocks(piece * (1 << 20) + b"\n")
