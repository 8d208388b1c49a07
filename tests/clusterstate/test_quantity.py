"""Quantities."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.quantity import MAX_MILLI, format_quantity, parse_quantity, whole_units


@pytest.mark.parametrize(
    ("text", "milli"),
    [
        ("0", 0),
        ("100m", 100),
        ("1", 1000),
        ("1.5", 1500),
        (".5", 500),
        ("5.", 5000),
        ("+1", 1000),
        ("-1", -1000),
        ("1500u", 2),
        ("1n", 1),
        ("-1n", -1),
        ("0.0", 0),
        ("0Gi", 0),
        ("1k", 1_000_000),
        ("1Ki", 1_024_000),
        ("1.5Gi", 1_610_612_736_000),
        ("0.0001Ki", 103),
        ("1M", 10**9),
        ("1G", 10**12),
        ("1T", 10**15),
        ("1P", 10**18),
        ("1E", 10**21),
        ("1Ei", 2**60 * 1000),
        ("1e3", 10**6),
        ("1E3", 10**6),
        ("1e+3", 10**6),
        ("12e-1", 1200),
        ("1e-9", 1),
        ("10E", MAX_MILLI),
        ("8Ei", MAX_MILLI),
        ("-8Ei", -MAX_MILLI),
        ("1e999999999", MAX_MILLI),
        ("0e999999999", 0),
        ("1e-999999999", 1),
        (2, 2000),
        (0.1, 100),
        (1e21, MAX_MILLI),
        (1e-7, 1),
        (10**30, MAX_MILLI),
    ],
)
def test_parse_quantity(text: str | float, milli: int) -> None:
    """Every suffix and form of the grammar, rounded up to thousandths."""
    assert parse_quantity(text) == milli


@pytest.mark.parametrize(
    "text",
    [
        "",
        " 1",
        "1 ",
        "1\n",
        "1O0m",
        "1i",
        "1ki",
        "1K",
        "0.1mi",
        "1e",
        "1m3",
        "1Ki3",
        "1e3m",
        "1e-",
        "+",
        ".",
        "1.1.1",
        "--1",
        "1,5",
        "١",
        "9" * 2000,
        "1e" + "9" * 5000,
        True,
        None,
        [],
        float("nan"),
        float("inf"),
    ],
)
def test_parse_quantity_refuses(text: object) -> None:
    """What the grammar does not allow raises ValueError."""
    with pytest.raises(ValueError, match="quantity"):
        parse_quantity(text)  # type: ignore[arg-type]


def test_parse_quantity_says_what_to_write() -> None:
    """The error quotes the text and lists the suffixes."""
    with pytest.raises(ValueError, match=r'^quantity "1O0m" is not a number with an optional suffix: .* Ki Mi'):
        parse_quantity("1O0m")


@pytest.mark.parametrize(
    ("text", "units", "milli"),
    [("100m", 1, 100), ("1500u", 1, 2), ("1Ki", 1024, 1_024_000), ("-1500m", -2, -1500), ("2", 2, 2000)],
)
def test_value(text: str, units: int, milli: int) -> None:
    """Whole units are rounded up away from zero; thousandths are as they are."""
    assert (whole_units(parse_quantity(text)), parse_quantity(text)) == (units, milli)


@pytest.mark.parametrize(
    ("milli", "decimal", "binary"),
    [
        (0, "0", "0"),
        (100, "100m", "100m"),
        (-1500, "-1500m", "-1500m"),
        (4000, "4", "4"),
        (3_000_000, "3k", "3k"),
        (1_024_000, "1024", "1Ki"),
        (2**30 * 1000, "1073741824", "1Gi"),
        (1_024_000_000, "1024k", "1000Ki"),
        (10**21, "1E", "1E"),
    ],
)
def test_format_quantity(milli: int, decimal: str, binary: str) -> None:
    """The largest suffix that leaves a whole number."""
    assert (format_quantity(milli), format_quantity(milli, binary=True)) == (decimal, binary)


@given(st.integers(-MAX_MILLI, MAX_MILLI) | st.integers(-(2**53), 2**53).map(lambda n: n * 1024), st.booleans())
def test_parse_of_format_is_identity(milli: int, binary: bool) -> None:
    """Formatting loses nothing."""
    assert parse_quantity(format_quantity(milli, binary=binary)) == milli


@given(
    st.integers(0, 10**12),
    st.integers(0, 12),
    st.sampled_from(["n", "u", "m", "", "k", "M", "G", "Ki", "Mi", "e2", "E-3"]),
)
def test_parse_is_exact(number: int, places: int, suffix: str) -> None:
    """The result is the exact amount, rounded up."""
    scale = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "e2": 2, "E-3": -3}
    factor = Fraction(10) ** scale[suffix] if suffix in scale else Fraction(1024) ** " KM".index(suffix[0])
    digits = str(number).rjust(places + 1, "0")
    text = f"{digits[: len(digits) - places]}.{digits[len(digits) - places :]}{suffix}"
    exact = Fraction(number, 10**places) * factor * 1000
    assert parse_quantity(text) == min(MAX_MILLI, -(-exact.numerator // exact.denominator))
