"""Reading YAML: as Kubernetes does, and within limits."""

from __future__ import annotations

import pytest

from clusterstate.errors import DecodeError
from kubescheduler.sources.limits import changed_limits
from kubescheduler.sources.yaml_stream import parse_yaml

ANCHOR_BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)
MERGE_BOMB = "a0: &a0 {k: 1}\n" + "".join(
    f"a{n}: &a{n}\n  <<: [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[" * 30_000, "line 1, column 101: nested too deeply: more than 100 levels"),
        ("{a: " * 30_000, "nested too deeply"),
        ("- " * 30_000, "nested too deeply"),
        ("a: &a\n  b: *a\n", "refers to the very value that it is part of"),
        ("&a [*a]\n", "refers to the very value that it is part of"),
        (ANCHOR_BOMB, "more than 1,000,000 values that the aliases of a YAML document stand for"),
        ("<<: 5\n", "<< takes an object or a list of objects"),
        ("a: &a\n  <<: *a\n", "refers to the very value that it is part of"),
    ],
    ids=["[", "{", "-", "itself", "list", "anchor bomb", "merged number", "merged itself"],
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
        ("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\n", {"x": 1, "y": 3}),
        ("a: &a {x: 1}\nc: &c {x: 2, z: 4}\nb: {<<: [*a, *c]}\n", {"x": 1, "z": 4}),
    ],
    ids=["one", "several"],
)
def test_merges(text: str, value: object) -> None:
    """Of merged objects the first that has a key counts, and the object's own keys before all."""
    assert parse_yaml("x.yaml", text)[0]["b"] == value


def test_repeated_keys_are_noted() -> None:
    """The last one counts, and a note has the lines of both."""
    notes: list[str] = []
    assert parse_yaml("x.yaml", "a: 1\nb: {c: 1, c: 2}\na: 3\n", notes=notes) == [{"a": 3, "b": {"c": 2}}]
    assert notes == [
        "x.yaml: line 2: c is set twice; the last one counts",
        "x.yaml: lines 1 and 3: a is set twice; the last one counts",
    ]
