"""Error texts as Go prints a format string without operands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubescheduler.extender.encoding import format_without_operands


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("", ""),
        ("all is well", "all is well"),
        ("95% full", "95%!f(MISSING)ull"),
        ("100% sure", "100%!s(MISSING)ure"),
        ("%d of %s", "%!d(MISSING) of %!s(MISSING)"),
        ("100%%", "100%"),
        ("%5%", "%"),
        ("100%", "100%!(NOVERB)"),
        ("100% ", "100%!(NOVERB)"),
        ("%-08.3f|", "%!f(MISSING)|"),
        ("%.x", "%!x(MISSING)"),
        ("%.", "%!(NOVERB)"),
        ("%é", "%!é(MISSING)"),
        ("%!", "%!!(MISSING)"),
        ("%*d", "%!(BADWIDTH)%!d(MISSING)"),
        ("%.*d", "%!(BADPREC)%!d(MISSING)"),
        ("%[1]d", "%!d(BADINDEX)"),
        ("%[1][2]d", "%![(BADINDEX)2]d"),
        ("%[x][2]d", "%!d(BADINDEX)"),
        ("%[1]*[2]d", "%!(BADWIDTH)%!d(BADINDEX)"),
        ("%.[1]d", "%!d(BADINDEX)"),
        ("%[", "%!(NOVERB)"),
        ("%[]", "%!](BADINDEX)"),
        ("%[d", "%!d(BADINDEX)"),
        ("%1000000d!", "%!d(MISSING)!"),
        ("%100000000d!", "%!(NOVERB)"),
        ("%" + "9" * 5000 + "d", "%!(NOVERB)"),
        ("%\n", "%!\n(MISSING)"),
    ],
)
def test_texts(text: str, printed: str) -> None:
    """Flags, width, precision and index are read as Go reads them; the verb finds no operand."""
    assert format_without_operands(text) == printed


@given(st.text(alphabet=st.characters(exclude_characters="%")))
def test_text_without_percent_is_unchanged(text: str) -> None:
    """Nothing but % sequences changes."""
    assert format_without_operands(text) == text


@given(st.text())
def test_doubled_percents_come_back(text: str) -> None:
    """A text whose % are doubled prints as the text."""
    assert format_without_operands(text.replace("%", "%%")) == text


@given(st.text(alphabet="%[]*.#0+- 19dsx\n"))
def test_any_text_prints(text: str) -> None:
    """Every text prints something, and what stands before the first % stays."""
    assert format_without_operands(text).startswith(text.partition("%")[0])
