"""Limits on what is read, so that a hostile or broken file ends with a message and not with the machine's memory.

Each can be raised: ``kubescheduler --max depth=500 …``, or ``KUBESCHEDULER_LIMITS=depth=500,seeds=50000``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec

from clusterstate.errors import InputError

VARIABLE = "KUBESCHEDULER_LIMITS"
"""The environment variable; workers of a sweep inherit it."""


class TooLongError(ValueError):
    """A text is longer than the limits, or has no end."""


class Limit(msgspec.Struct, frozen=True):
    """What is limited, and how far."""

    default: int
    what: str
    """What is counted, for messages and the help."""
    most: int = 2**60
    """How far it can be raised."""


LIMITS: Mapping[str, Limit] = {
    "depth": Limit(100, "levels of lists and objects in one another", 400),
    "aliases": Limit(1_000_000, "values that the aliases of a YAML document stand for"),
    "values": Limit(1_000_000, "values of fewer than 16 bytes on average, as no manifest has"),
    "size": Limit(2 * 2**30, "bytes of a file, unpacked"),
    "pods": Limit(200_000, "pods that the controllers of a workload make"),
    "seeds": Limit(10_000, "seeds"),
}


def limit(name: str) -> int:
    """How far ``name`` goes. Raises InputError when the environment variable cannot be read."""
    return _changed(os.environ.get(VARIABLE, "")).get(name, LIMITS[name].default)


@contextmanager
def changed_limits(text: str) -> Iterator[None]:
    """Other limits for this process and those it starts: ``depth=500,seeds=50000``. Raises InputError."""
    before = os.environ.get(VARIABLE)
    both = _changed(before or "") | _changed(text)
    os.environ[VARIABLE] = ",".join(f"{name}={value}" for name, value in both.items())
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def exceeded(name: str) -> str:
    """The end of a message about a limit: how far it goes, and how to raise it."""
    return f"more than {limit(name):,} {LIMITS[name].what}; to allow more: kubescheduler --max {name}=NUMBER …"


def check_values(data: bytes | str) -> None:
    """Raises TooLongError for a text of many tiny values: each takes many times its size in memory once it is read.

    Lines and commas are counted; lists and objects in one another are limited by ``depth``.
    """
    if len(data) < limit("values"):
        return
    most = max(data.count(","), data.count("\n")) if isinstance(data, str) else max(map(data.count, (b",", b"\n")))
    if most > limit("values") and most * 16 > len(data):
        raise TooLongError(exceeded("values"))


def _changed(text: str) -> dict[str, int]:
    out: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        name, _, number = part.partition("=")
        if name not in LIMITS:
            raise InputError(f"--max {part}: there is no such limit; there are {', '.join(LIMITS)}")
        if not number.isdecimal() or len(number) > 18:
            raise InputError(f"--max {part}: write it as {name}=NUMBER")
        if int(number) > LIMITS[name].most:
            raise InputError(f"--max {part}: the most is {LIMITS[name].most}")
        out[name] = int(number)
    return out
