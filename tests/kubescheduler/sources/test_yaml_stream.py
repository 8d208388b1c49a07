"""Reading YAML: as Kubernetes does, and within limits."""

from __future__ import annotations

import pytest

from clusterstate.errors import DecodeError
from kubescheduler.sources.limits import changed_limits
from kubescheduler.sources.yaml_stream import first_document, parse_yaml

ANCHOR_BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)
MERGE_BOMB = "a0: &a0 {k: 1}\n" + "".join(
    f"a{n}: &a{n}\n  <<: [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[" * 30_000, "nested too deeply: more than 100 levels"),
        ("[" * 900, "line 1, column 101: nested too deeply: more than 100 levels"),
        ("{a: " * 30_000, "nested too deeply"),
        ("- " * 30_000, "nested too deeply"),
        ("a: &a\n  b: *a\n", "refers to the very value that it is part of"),
        ("&a [*a]\n", "refers to the very value that it is part of"),
        (ANCHOR_BOMB, "more than 1,000,000 values that the aliases of a YAML document stand for"),
        ("<<: 5\n", "<< takes an object or a list of objects"),
        ("a: &a\n  <<: *a\n", "refers to the very value that it is part of"),
    ],
    ids=["[", "[ 900", "{", "-", "itself", "list", "anchor bomb", "merged number", "merged itself"],
)
def test_limits(text: str, problem: str) -> None:
    """What would end the process or fill the memory ends with a message that says where and what to do."""
    with pytest.raises(DecodeError, match=r"x\.yaml: ") as caught:
        parse_yaml("x.yaml", text)
    assert problem in str(caught.value)


def test_a_merge_bomb_is_small() -> None:
    """Merged objects have each key once, however often they are merged."""
    [document] = parse_yaml("x.yaml", MERGE_BOMB)
    assert document["a11"] == {"k": 1}


def test_a_limit_can_be_raised() -> None:
    """Two hundred levels are read where the limit allows them."""
    with changed_limits("depth=200"):
        [document] = parse_yaml("x.yaml", "[" * 199 + "]" * 199)
    assert isinstance(document, list)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1:30:00", "1:30:00"),
        ("a: 2020-02-30", "2020-02-30"),
        ("a: !!bool foo", "foo"),
        ('a: !!int ""', ""),
        ("a: !!timestamp x", "x"),
        ("a: !!python/name:os.system x", "x"),
        ("a: !own x", "x"),
        ("a: !!int 0x" + "f" * 5000, "0x" + "f" * 5000),
        ("a: 0x10", 16),
        ("a: 010", 8),
    ],
    ids=["base 60", "date", "bool", "int", "timestamp", "name", "own tag", "hex", "short hex", "octal"],
)
def test_odd_scalars(text: str, value: object) -> None:
    """Tags and numbers that mean nothing in JSON leave the text as it is written, as upstream's YAML does."""
    assert parse_yaml("x.yaml", text) == [{"a": value}]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: &a {x: 1, z: 2}\nb: {<<: *a, z: 3}\n", {"x": 1, "z": 3}),
        ("a: &a {x: 1}\nc: &c {x: 2, z: 4}\nb: {<<: [*a, *c]}\n", {"x": 1, "z": 4}),
    ],
    ids=["one", "several"],
)
def test_merges(text: str, value: object) -> None:
    """Of merged objects the first that has a key counts, and the object's own keys before all."""
    assert parse_yaml("x.yaml", text)[0]["b"] == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"a: \x01b\n", r"position 3: (control|special) characters are not allowed: #x01"),
        ("a: \x01b\n", r"position 3: (control|special) characters are not allowed: #x01"),
        (b'a: "\xe4"\n', r"position [45]: invalid .*: #x[0-9a-f]{2}"),
    ],
    ids=["bytes", "text", "not UTF-8"],
)
def test_characters_that_cannot_be_read(text: bytes | str, problem: str) -> None:
    """Where they are, and nothing of what the library calls its input."""
    with pytest.raises(DecodeError, match=f"^x.yaml: {problem}$"):
        parse_yaml("x.yaml", text)


def test_repeated_keys_are_noted() -> None:
    """The last one counts, and a note has the path and the lines of both."""
    notes: list[str] = []
    assert parse_yaml("x.yaml", "a: 1\nb: {c: 1, c: 2}\na: 3\n", notes=notes) == [{"a": 3, "b": {"c": 2}}]
    assert notes == [
        "x.yaml: b.c: set twice, in line 2; the last one counts",
        "x.yaml: a: set twice, in lines 1 and 3; the last one counts",
    ]


def test_repeated_keys_of_several_documents() -> None:
    """The note says which document it is about, and how to the key; merged keys are none of the object's own."""
    notes: list[str] = []
    parse_yaml("x.yaml", "a: &a {b: 1}\n---\nitems: [{spec: {b: 1, b: 2}}]\n", notes=notes)
    parse_yaml("x.yaml", "a: &a {b: 1}\nc: {<<: *a, b: 2}\n", notes=notes)
    assert notes == ["x.yaml: document 2: items[0].spec.b: set twice, in line 3; the last one counts"]


SCALARS = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **{text: text for text in ("yEs", "tRUE", "oN", "nO", "yes!", "'y'", "t", "f", "nULL", "!!str no")},
    **dict.fromkeys(("~", "null", "Null", "NULL", ""), None),
    "0": 0,
    "-0": 0,
    "+1": 1,
    "1_000": 1000,
    "017": 15,
    "0o17": 15,
    "0b11": 3,
    "0x1F": 31,
    "0_": 0,
    "08": 8,
    "1e3": 1000,
    "1.5e3": 1500,
    "2.0": 2,
    "1.": 1,
    ".5": 0.5,
    "-1.25": -1.25,
    "1e-1": 0.1,
    **{text: text for text in ("1:30", "12e4567", "0x", "1e", ".", "1.2.3", "10Gi", "100m", "2001-01-01", "=")},
}
"""A scalar as it is written → what go-yaml v2 reads, in all releases."""


@pytest.mark.parametrize(("text", "value"), SCALARS.items(), ids=SCALARS.keys())
def test_plain_scalars(text: str, value: object) -> None:
    """Booleans, nulls and numbers are those of upstream's YAML; anything else, and what is quoted, is text."""
    expected = value.removeprefix("!!str ").strip("'") if isinstance(value, str) else value
    (found,) = parse_yaml("x.yaml", f"a: {text}\n")
    assert found == {"a": expected}
    assert type(found["a"]) is type(expected)


def test_booleans_as_keys() -> None:
    """A key that reads as a boolean is true or false, as upstream makes JSON of it; a quoted one is not."""
    assert parse_yaml("x.yaml", "y: 1\noff: 2\n'n': 3\n") == [{"true": 1, "false": 2, "n": 3}]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\n---\nb: 2\n---\nc: 3\n", ({"a": 1}, 2)),
        ("# only this\n---\na: 1\n", ({"a": 1}, 0)),
        ("---\n---\na: 1\n", (None, 1)),
        ("a: 1\n---\n# nothing\n", ({"a": 1}, 0)),
        ("a: 1\n---\n[[[\n", ({"a": 1}, None)),
        ("", (None, 0)),
    ],
    ids=["three", "comment", "empty first", "empty second", "faulty second", "nothing"],
)
def test_first_document(text: str, expected: object) -> None:
    """No more than the first document is read, whatever stands behind it."""
    assert first_document("x.yaml", text) == expected
