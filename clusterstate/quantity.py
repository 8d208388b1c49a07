"""Amounts as Kubernetes writes them (``100m``, ``1.5Gi``, ``1e3``), exact, in thousandths of the unit."""

from __future__ import annotations

import re
from functools import lru_cache

MAX_UNITS = 2**63 - 1
"""Larger amounts count as this many units."""
MAX_MILLI = 1000 * MAX_UNITS

_QUANTITY = re.compile(r"([+-]?)(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))([A-Za-z]*)([+-]?[0-9]*)")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_BYTES = ("memory", "storage", "ephemeral-storage")
_EXPONENTS = ("e", "E")
_FURTHEST = 64
"""Powers of ten that carry any written digit past the cap, or below a thousandth."""

_LONGEST = 1000
"""Characters in a quantity."""

_HELP = (
    "is not a number with an optional suffix: write digits, then one of n u m k M G T P E, "
    "Ki Mi Gi Ti Pi Ei, or an exponent as in 1e3"
)


def parse_quantity(text: str | int | float) -> int:
    """Thousandths of the unit, rounded up away from zero, at most ``MAX_MILLI`` either way.

    ``text`` is a quantity as it stands in a manifest; a number counts as it would be written.
    Raises ValueError for anything else. Upstream: resource.ParseQuantity, then the rounding of
    resource lists in API decoding.
    """
    if isinstance(text, str):
        return _parse(text)
    if isinstance(text, bool) or not isinstance(text, int | float):
        raise ValueError(f"a quantity is a text or a number, not {text!r}")
    if isinstance(text, int):
        return max(-MAX_MILLI, min(MAX_MILLI, text * 1000))
    return _parse(repr(text))


def quantity_or_none(value: object) -> int | None:
    """The same; None for what is no quantity."""
    try:
        return parse_quantity(value)  # type: ignore[arg-type]
    except ValueError:
        return None


@lru_cache(maxsize=65536)
def _parse(text: str) -> int:
    match = _QUANTITY.fullmatch(text)
    if match is None or len(text) > _LONGEST:
        raise ValueError(f'quantity "{text}" {_HELP}')
    sign, whole, fraction, bare, suffix, exponent = match.groups()
    fraction = (fraction or bare or "").rstrip("0")
    digits = int((whole or "") + fraction or "0")
    magnitude = _magnitude(digits, -len(fraction), text, suffix, exponent)
    return -magnitude if sign == "-" else magnitude


def _magnitude(digits: int, tens: int, text: str, suffix: str, exponent: str) -> int:
    """digits · 10^tens · the suffix, in thousandths."""
    twos = 0
    if exponent:
        if suffix not in _EXPONENTS or exponent in "+-":
            raise ValueError(f'quantity "{text}" {_HELP}')
        tens += int(exponent)
    elif suffix in _DECIMAL:
        tens += _DECIMAL[suffix]
    elif suffix in _BINARY:
        twos = _BINARY[suffix]
    else:
        raise ValueError(f'quantity "{text}" {_HELP}')
    return _scale(digits << twos, tens + 3) if digits else 0


def _scale(number: int, tens: int) -> int:
    """number · 10^tens, rounded up and capped; number > 0."""
    if tens > _FURTHEST:
        return MAX_MILLI
    if tens >= 0:
        return min(MAX_MILLI, number * int(10**tens))
    if -tens > _FURTHEST + len(str(number)):
        return 1
    return min(MAX_MILLI, -(-number // int(10**-tens)))


def whole_units(milli: int) -> int:
    """Whole units, rounded up away from zero. Upstream: Quantity.Value."""
    return -(-milli // 1000) if milli >= 0 else milli // 1000


def format_quantity(milli: int, *, binary: bool = False) -> str:
    """The canonical text: the largest suffix that leaves a whole number; ``binary`` prefers Ki, Mi … where they fit and
    no more digits are left by them.

    ``parse_quantity`` gives ``milli`` back for every amount up to ``MAX_MILLI``.
    """
    if milli % 1000:
        return f"{milli}m"
    units = milli // 1000
    if not units:
        return "0"
    name, tens = max((s for s in _DECIMAL.items() if s[1] >= 0 and not units % 10 ** s[1]), key=lambda s: s[1])
    decimal = str(units // 10**tens)
    if binary and not units % 1024:
        of_bytes, twos = max((s for s in _BINARY.items() if not units % (1 << s[1])), key=lambda s: s[1])
        if len(by_twos := str(units >> twos)) <= len(decimal):
            return by_twos + of_bytes
    return decimal + name


def amount_text(name: str, milli: int) -> str:
    """An amount of a resource in thousandths as manifests have it: bytes with binary suffixes."""
    return format_quantity(milli, binary=name in _BYTES or name.startswith("hugepages-"))
