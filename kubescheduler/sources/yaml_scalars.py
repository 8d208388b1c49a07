"""Scalars of YAML as Kubernetes reads and writes them.

Every release reads with go-yaml v2 (1.16 with v2.2, 1.20 and 1.36 with v2.4) before it knows what type a value should
have: plain y and on are true in all of them, and would be text only from v3 on. Numbers to the base of 60 and dates are
text.
"""

from __future__ import annotations

import math
import re
from functools import cache
from typing import Any

TAG = "tag:yaml.org,2002:"

_BOOLS = {**dict.fromkeys(("y", "yes", "true", "on"), True), **dict.fromkeys(("n", "no", "false", "off"), False)}
_PLAIN_SCALARS = (
    ("bool", r"y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON|n|N|no|No|NO|false|False|FALSE|off|Off|OFF", "yYtToOnNfF"),
    ("null", r"|~|null|Null|NULL", ("", "~", "n", "N")),
    ("int", r"[-+]?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO]?[0-7_]*|[1-9][0-9_]*)", "+-0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9_]+)?", "+-.0123456789"),
    ("float", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", "+-."),
    ("merge", r"<<", "<"),
)
"""What a scalar without quotes and tag is: its kind, what it looks like, and how it begins.

The first that fits counts; what fits nowhere is text. Upstream: go-yaml v2 resolve.
"""
_WHOLE = 10**21
"""From here on JSON has whole numbers with an exponent. Upstream: encoding/json."""
_LONGEST_NUMBER = 400
"""Characters; a longer one is no number of 64 bits and stays text."""


Resolvers = dict[str, list[tuple[str, re.Pattern[str]]]]
"""First character → (tag, what a scalar of it looks like), in the order they are tried."""


def plain_scalars(before: Resolvers | None = None) -> Resolvers:
    """What plain scalars are, as PyYAML's classes have it; ``before``: what is tried first."""
    found: Resolvers = {start: list(resolvers) for start, resolvers in (before or {}).items()}
    for kind, pattern, starts in _PLAIN_SCALARS:
        for start in starts:
            found.setdefault(start, []).append((TAG + kind, re.compile(rf"(?:{pattern})$")))
    return found


@cache
def _resolvers() -> Resolvers:
    return plain_scalars()


def plain_value(text: str) -> Any:
    """The value of a scalar without quotes and tag. Upstream: go-yaml v2 resolve."""
    for tag, looks in _resolvers().get(text[:1], ()):
        if looks.match(text):
            return scalar_value(tag, text)
    return text


@cache
def dumper_class() -> Any:
    """PyYAML's dumper that puts every text in quotes which upstream would not read as text."""
    import yaml

    base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return type("Dumper", (base,), {"yaml_implicit_resolvers": plain_scalars(base.yaml_implicit_resolvers)})


def scalar_value(tag: str, text: str) -> Any:
    """The value of a scalar with this tag."""
    if tag == f"{TAG}null":
        return None
    if tag == f"{TAG}bool":
        return _BOOLS.get(text.lower(), text)
    if len(text) > _LONGEST_NUMBER:
        return text
    if tag == f"{TAG}int" and ":" not in text:
        return _integer(text.replace("_", ""))
    if tag == f"{TAG}float" and ":" not in text:
        return _float(text.replace("_", "").lower())
    return text


def _integer(text: str) -> int | str:
    sign, digits = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
    octal = len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()
    try:
        return int(sign + ("0o" + digits if octal else digits), 0)
    except ValueError:
        return text


def _float(text: str) -> float | str:
    """A number as JSON has it: whole ones without a fraction. One that no double holds stays text."""
    named = text.removeprefix("+").removeprefix("-") in (".inf", ".nan")
    try:
        number = float(text.replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError:
        return text
    if number.is_integer() and abs(number) < _WHOLE:
        return int(number)
    return number if named or math.isfinite(number) else text
