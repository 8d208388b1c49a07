from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubecel.api_names import go_quote, label_value_errors, qualified_name_errors
from tests.support.name_rules import NAME_RULE, VALUE_RULE

PREFIX_RULE = (
    "prefix part a DNS-1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
OPTIONAL_PREFIX = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
TOO_LONG = "must be no more than 63 characters"


@pytest.mark.parametrize(
    ("value", "errors"),
    [
        ("", ()),
        ("a", ()),
        ("MyValue-1_2.3", ()),
        ("x" * 63, ()),
        ("x" * 64, (TOO_LONG,)),
        ("-1", (VALUE_RULE,)),
        ("a b", (VALUE_RULE,)),
        ("a\n", (VALUE_RULE,)),
        ("ü" * 32, (TOO_LONG, VALUE_RULE)),
    ],
    ids=["empty", "one", "all-kinds", "longest", "too-long", "dash-first", "space", "newline", "bytes-count"],
)
def test_label_values(value: str, errors: tuple[str, ...]) -> None:
    """A label value gives exactly the release's messages."""
    assert label_value_errors(value) == errors


@pytest.mark.parametrize(
    ("name", "errors"),
    [
        ("a", ()),
        ("example.com/My.Name", ()),
        ("a" * 63, ()),
        ("a" * 64, (f"name part {TOO_LONG}",)),
        ("", ("name part must be non-empty", f"name part {NAME_RULE}")),
        ("/a", ("prefix part must be non-empty",)),
        ("Example.com/a", (PREFIX_RULE,)),
        ("a/", ("name part must be non-empty", f"name part {NAME_RULE}")),
        (f"{'a' * 254}/b", ("prefix part must be no more than 253 characters",)),
        ("a/b/c", (f"a qualified name {NAME_RULE}{OPTIONAL_PREFIX}",)),
        ("_a", (f"name part {NAME_RULE}",)),
    ],
    ids=["one", "prefix", "longest", "long", "empty", "no-prefix", "upper", "no-name", "long-prefix", "parts", "edge"],
)
def test_qualified_names(name: str, errors: tuple[str, ...]) -> None:
    """A qualified name gives exactly the release's messages."""
    assert qualified_name_errors(name) == errors


@given(st.text(max_size=80))
def test_non_empty_valid_values_are_valid_names(text: str) -> None:
    """A name without prefix is valid just when it is a valid label value that is not empty."""
    if "/" not in text:
        assert (not qualified_name_errors(text)) == (bool(text) and not label_value_errors(text))


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("a-1", '"a-1"'),
        ('say "x"\\', '"say \\"x\\"\\\\"'),
        ("a\n\x00", '"a\\n\\x00"'),
        ("é\u2028\U000e0001", '"é\\u2028\\U000e0001"'),
    ],
    ids=["plain", "quotes", "control", "wide"],
)
def test_go_quote(text: str, quoted: str) -> None:
    """Texts are quoted as Go quotes them."""
    assert go_quote(text) == quoted
