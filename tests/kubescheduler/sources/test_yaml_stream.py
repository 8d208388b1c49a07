"""Reading YAML: as Kubernetes does, and within limits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.errors import DecodeError
from kubescheduler.simulation.openb_trace import read_inputs_of
from kubescheduler.simulation.pods_to_place import pods_in
from kubescheduler.simulation.workload_files import workload_in
from kubescheduler.sources.json_stream import duplicate_keys, json_duplicates
from kubescheduler.sources.untrusted import changed_limits
from kubescheduler.sources.yaml_stream import first_document, parse_yaml, parsed_documents, read_blocks
from tests.support.clusters_read import read_cluster

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
        ("a: 1:30.5", "1:30.5"),
        ("a: !!float x", "x"),
        ("a: !!binary aGk=", "aGk="),
        ("a: .inf", float("inf")),
    ],
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
    """A key that reads as a boolean is true or false, as upstream makes JSON of it; a quoted one or a number is not."""
    assert parse_yaml("x.yaml", "y: 1\noff: 2\n'n': 3\n1.5: 4\n") == [{"true": 1, "false": 2, "n": 3, "1.5": 4}]


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


NODE = '{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","name":"m"}}'
POD = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","name":"d"}]}}'
JOB = (
    '{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{"completions":1,"completions":2,'
    '"parallelism":2,"template":{"spec":{"containers":[{"name":"c"}],"restartPolicy":"Never"}}}}'
)
POD_YAML = (
    "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: c\n    image: x\n    name: d\n"
)
TWICE = "set twice; the last one counts"
LINES = "set twice, in lines 6 and 8; the last one counts"

CLUSTERS: dict[str, tuple[str, str, str]] = {
    "json": ("c.json", NODE, f"metadata.name: {TWICE}"),
    "list": ("c.json", f'{{"kind":"List","items":[{NODE}]}}', f"items[0].metadata.name: {TWICE}"),
    "array": ("c.json", f"[{NODE}]", f"[0].metadata.name: {TWICE}"),
    "sections": ("c.json", f'{{"nodes":[{NODE}]}}', f"nodes[0].metadata.name: {TWICE}"),
    "yaml": ("c.yaml", POD_YAML, f"spec.containers[0].name: {LINES}"),
    "documents": ("c.yaml", f"{POD_YAML}---\nkind: Namespace\n", f"document 1: spec.containers[0].name: {LINES}"),
}


@pytest.mark.parametrize(("name", "text", "note"), CLUSTERS.values(), ids=CLUSTERS.keys())
def test_in_clusters(tmp_path: Path, name: str, text: str, note: str) -> None:
    """A cluster's notes have file and path."""
    path = tmp_path / name
    path.write_text(text.replace("kind: Namespace", "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}"))
    found = read_cluster([str(path)])
    assert found.notes == [f"{path}: {note}"]


PODS: dict[str, tuple[str, str, str]] = {
    "json": ("p.json", POD, f"spec.containers[0].name: {TWICE}"),
    "yaml": ("p.yaml", POD_YAML, f"spec.containers[0].name: {LINES}"),
    "controller": ("j.json", JOB, f"spec.completions: {TWICE}"),
}


@pytest.mark.parametrize(("name", "text", "note"), PODS.values(), ids=PODS.keys())
def test_in_pods_and_workloads(tmp_path: Path, name: str, text: str, note: str) -> None:
    """Pods to place and workloads have the same notes."""
    path = tmp_path / name
    path.write_text(text)
    assert pods_in(read_inputs_of([str(path)]), None).notes == (f"{path}: {note}",)
    assert workload_in(read_inputs_of([str(path)]), [])[1] == [f"{path}: {note}"]


def test_what_a_server_wrote_is_not_looked_through(tmp_path: Path) -> None:
    """A server repeats no key; the notes are for what somebody has written."""
    path = tmp_path / "c.json"
    path.write_text(NODE.replace('"name":"n"', '"resourceVersion":"1","resourceVersion":"2"'))
    assert read_cluster([str(path)]).notes == []


@pytest.mark.parametrize(
    ("text", "file_format", "expected"),
    [
        ('{"a": {"b.c/d": 1, "b.c/d": 2}}', "JSON", ["a[b.c/d]: set twice"]),
        ('{"a": 1e400, "a": 2}', "JSON", ["a: set twice"]),
        ('{"a": "\\ud800", "a": 2}', "JSON", ["a: set twice"]),
        ('{"a": [{"b": 1}, {"b": 1, "b": {"c": 1, "c": 1}}]}', "JSON", ["a[1].b: set twice", "a[1].b.c: set twice"]),
        ("a: 1\n---\nb: 1\nb: 2\n", "YAML", []),
        ("a: &a {b: 1, b: 2}\nc: *a\n", "YAML", ["a.b: set twice, in line 1"]),
        ("a = 1\n", "TOML", []),
        ("{}", "JSON", []),
    ],
    ids=["json", "a large number", "half a character", "nested", "second document", "alias", "toml", "none"],
)
def test_of_one_document(text: str, file_format: str, expected: list[str]) -> None:
    """Each repeated key of the first document once, with its path."""
    assert duplicate_keys(text, file_format) == expected


Tree = Any
"""A scalar, a list of trees, or a tuple of (key, tree) pairs, which is an object."""
TREES: st.SearchStrategy[Tree] = st.recursive(
    st.sampled_from(["", "a", "é", '"\\', 0, -1, 2**70, 0.1, 1e300, True, None]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(st.tuples(st.sampled_from(["a", "b", "é", "a.b"]), inner), max_size=4).map(tuple)
    ),
    max_leaves=12,
)


def written(tree: Tree, blank: str, *, ascii_only: bool) -> str:
    """A tree as JSON."""

    def inner(value: Tree) -> str:
        return written(value, blank, ascii_only=ascii_only)

    if isinstance(tree, tuple):
        members = (f"{inner(key)}:{blank}{inner(value)}" for key, value in tree)
        return f"{{{blank}{f',{blank}'.join(members)}}}"
    if isinstance(tree, list):
        return f"[{f'{blank},'.join(map(inner, tree))}]"
    return json.dumps(tree, ensure_ascii=ascii_only)


def repeated(tree: Tree, path: str = "") -> list[str]:
    """The paths of the keys in a tree that were in their object before."""
    out: list[str] = []
    if isinstance(tree, tuple):
        for index, (key, value) in enumerate(tree):
            place = f"{path}.{key}" if key in ("a", "b") else f"{path}[{key}]"
            out += [place] * (key in [before for before, _ in tree[:index]])
            out += repeated(value, place)
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            out += repeated(value, f"{path}[{index}]")
    return out


@given(tree=TREES, blank=st.sampled_from(["", " ", "\n  "]), ascii_only=st.booleans())
def test_every_repeat_in_json(tree: Tree, blank: str, ascii_only: bool) -> None:
    """Of any JSON, however it is written, each key that is there again is noted, and no other."""
    text = written(tree, blank, ascii_only=ascii_only)
    expected = [f"x{place}: set twice" for place in repeated(tree)]
    assert json_duplicates(text, "x") == expected
    assert json_duplicates(text.encode(), "x") == expected


TEXTS = st.sampled_from(
    [
        *("a", "name", "app", "web-1", "y", "no", "null", "~", "1", "01", "1e3", "0x1F", "1.5", ".5", "-1", "+1"),
        *("1_0", "1:30", "a b", "a: b", "a #b", "#a", "a:", "'q'", "{}", "[]", "- a", "-", "it's", "a\nb", "b\n"),
        *("f:x", 'k:{"a":"b"}', "*a", "&a", "!t", "<<", "%d", "@x", "100m", "8Gi", "10.0.0.1"),
        *("2026-01-01T00:00:00Z", "", ".inf", "=", "? a", "[x", "---", "...", "On", "/x", "é", "a\tb", " b"),
        *("b ", "many words that have to be folded as they do not fit in one line"),
    ]
)
VALUES = st.recursive(
    TEXTS | st.integers(-3, 3) | st.floats(0, 2) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
BLOCK_LINES = [
    *("", "  ", "# c", "---", "...", "- a", "a: b", "  x: y", "  - q", "text", "a: 'open", "b: |", "c: >-"),
    *("- - a", "-"),
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
            lines.insert(at, draw(st.sampled_from(BLOCK_LINES)))
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


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("a:\n\tb: 1\n", "line 2, column 1"),
        ("a:\n  b: 1\n\tc: 2\n", "line 3, column 1"),
        ("\ufeffé:\n  b: 1\n  \tc: 2\n", "line 3, column 3"),
        ("a: |\n\tb\n", "line 2, column 1"),
    ],
)
def test_tab_in_the_indentation_is_said(text: str, at: str) -> None:
    """Not that some character cannot start a token; other characters are still told so."""
    for data in (text, text.encode()):
        with pytest.raises(DecodeError, match=f"{at}: a tab in the indentation; YAML takes only spaces there"):
            parse_yaml("x", data)
    with pytest.raises(DecodeError, match="found character that cannot start any token"):
        parse_yaml("x", "a: @b\n")


@pytest.mark.parametrize("piece", [b" ", b"- ", b"a:", b"'", b'"', b"\\", b":", b"a: '", b"a #", b"\n"])
def test_long_lines_take_no_time(piece: bytes) -> None:
    """A megabyte of anything is read or declined at once: no pattern looks at a line again and again."""
    read_blocks(b"a: " + piece * (1 << 20) + b"\n")
    read_blocks(piece * (1 << 20) + b"\n")
