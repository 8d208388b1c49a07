"""Documents as YAML with comments."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kubescheduler.translate.translating import commented_yaml, note_lines, scalar
from kubescheduler.translate.translation_model import Note, NoteKind, WithOrigin, grouped, origin, plain

TEXTS = st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cs"]))
SCALARS = st.one_of(st.integers(), st.booleans(), st.none(), TEXTS)
KEYS = st.text(alphabet="abcdefgXYZ", min_size=3)


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    said = st.builds(WithOrigin, inner, TEXTS)
    item = inner | said
    return st.lists(item, max_size=3) | st.dictionaries(KEYS, item, max_size=3)


DOCUMENTS = st.dictionaries(KEYS, st.recursive(SCALARS, _nested, max_leaves=12), min_size=1, max_size=4)


@given(DOCUMENTS, TEXTS)
def test_reading_it_gives_the_document(document: dict[str, Any], source: str) -> None:
    """Whatever the values and the comments are."""
    assert yaml.safe_load(commented_yaml(WithOrigin(document, source))) == plain(document)


@given(DOCUMENTS)
def test_every_line_has_a_comment(document: dict[str, Any]) -> None:
    """Also where the item itself has no origin of its own."""
    lines = commented_yaml(WithOrigin(document, "from here")).splitlines()
    assert all("  # " in line for line in lines)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("default-scheduler", "default-scheduler"),
        ("kubescheduler.config.k8s.io/v1", "kubescheduler.config.k8s.io/v1"),
        ("*", '"*"'),
        ("no", '"no"'),
        ("True", '"True"'),
        ("1.36", '"1.36"'),
        ("http://x:80", '"http://x:80"'),
        ("", '""'),
        (5, "5"),
        (True, "true"),
        (None, "null"),
        ([], "[]"),
        ({}, "{}"),
        ("\u0007", '"\\u0007"'),
        ("\u0085", '"\\U00000085"'),
    ],
)
def test_scalars(value: Any, text: str) -> None:
    """In quotes only where YAML would read something else."""
    assert scalar(value) == text
    assert yaml.safe_load(text) == value


def test_the_layout() -> None:
    """Lists stand under their key, comments behind the widest line, an item without an origin has that around it."""
    document = WithOrigin(
        {"profiles": [{"name": WithOrigin("a", "from x"), "list": [1, WithOrigin({"b": 2}, "from y")]}]}, "top"
    )
    assert commented_yaml(document) == (
        "profiles:  # top\n- name: a  # from x\n  list:    # top\n  - 1      # top\n  - b: 2   # from y\n"
    )


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["from a"], "from a"),
        (["from a", "from b"], "from a and b"),
        (["from a", "from a"], "from a"),
        (["default of 1.16: A", "default of 1.16: B"], "default of 1.16: A and B"),
        (["default of 1.16: A", "from b"], "default of 1.16: A and from b"),
        ([], ""),
    ],
)
def test_origins_of_several(names: list[str], text: str) -> None:
    """Each once, and what they have in common once."""
    assert origin(names) == text


def test_notes_that_say_the_same_are_one() -> None:
    """With all the paths."""
    notes = [Note(NoteKind.LOST, path, "gone", "do this") for path in ("a", "b", "a")]
    assert grouped(notes) == (Note(NoteKind.LOST, "a, b", "gone", "do this"),)
    assert list(note_lines(grouped(notes))) == ["- lost: a, b: gone", "  > do this"]
