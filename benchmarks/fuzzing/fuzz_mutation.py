"""Changes that make hostile input of what is read in earnest."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

ODD_VALUES: Sequence[Any] = (
    *(None, True, False, 0, -1, 2**31, 2**63, -(2**63) - 1, 10**40, 0.5, 1e308, -0.0, "", " ", "x" * 5000),
    *([], {}, [None], [[]], {"": None}, "1:30:00", "2020-02-30", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"),
    *(
        "\x1b[31mred",
        "a\nb",
        "a\x00b",
        "=HYPERLINK(1)",
        "\u202eabc",
        "1e400",
        "0x" + "f" * 999,
        "-1Gi",
        "1.5.5",
        "100m",
    ),
    *(
        "In",
        "Exists",
        "DoesNotExist",
        "Gt",
        "default-scheduler",
        "kubernetes.io/hostname",
        "a/b/c",
        "v1",
        "Pod",
        "List",
    ),
    *({"key": "a", "operator": "Gt", "values": ["x"]}, {"matchLabels": {"a": 5}}, "10.0.0.1", "http://[::1", "99999d"),
)
ODD_TEXTS: Sequence[bytes] = (
    *(b"!!int ''", b"!!bool foo", b"!!timestamp x", b"!!python/object:os.system {}", b"&a [*a]", b"*a", b"<<: *a\n"),
    *(b"[" * 2000, b"{" * 2000, b"- " * 2000, b'{"a":' * 2000, b"a.a." * 500, b"\x00", b"\xff\xfe", b"\xef\xbb\xbf"),
    *(b"9" * 5000, b"1e999", b"NaN", b"\r\n", b"\t", b"---\n", b"...\n", b"'''", b'"""', b"#", b"%YAML 9.9\n", b"? "),
    *(b"\x1f\x8b", b"[[a]]\n", b"a = 1979-05-27\n", b"= ", b"\xe2\x80\xae", b",,,,", b'"'),
)


def mutated(rng: random.Random, data: bytes, file: str) -> bytes:
    """A few changes: to the document's structure where it is JSON, to its bytes otherwise; packed for ``.gz``."""
    change = _structure if rng.random() < 0.75 else _bytes
    for _ in range(rng.randint(1, 3)):
        data = change(rng, data)
    if not file.endswith(".gz"):
        return data
    packed = gzip.compress(data, 1, mtime=0)
    return _bytes(rng, packed) if rng.random() < 0.3 else packed


def _structure(rng: random.Random, data: bytes) -> bytes:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return _token(rng, data)
    places = list(_places(document))
    if not places:
        return _bytes(rng, data)
    holder, key = rng.choice(places)
    match rng.randrange(5):
        case 0:
            del holder[key]
        case 1:
            holder[key] = rng.choice(places)[0]
        case 2 if isinstance(holder, dict):
            holder[str(rng.choice(ODD_VALUES))[:99]] = holder.pop(key)
        case _:
            holder[key] = rng.choice(ODD_VALUES)
    try:
        return json.dumps(document).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        return data


def _places(value: Any) -> Any:
    """(holder, key) of every value below one."""
    stack = [value]
    while stack:
        holder = stack.pop()
        pairs = holder.items() if isinstance(holder, dict) else enumerate(holder) if isinstance(holder, list) else ()
        for key, item in pairs:
            yield holder, key
            stack.append(item)


def _token(rng: random.Random, data: bytes) -> bytes:
    """Another value in the place of what stands behind a separator in one line."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    for separator in rng.sample([b": ", b" = ", b",", b"- "], 4):
        before, found, _ = lines[at].rpartition(separator)
        if found:
            lines[at] = (
                before + found + rng.choice([rng.choice(ODD_TEXTS), json.dumps(rng.choice(ODD_VALUES)).encode()])
            )
            break
    return b"\n".join(lines)


def _bytes(rng: random.Random, data: bytes) -> bytes:
    at, end = sorted((rng.randint(0, len(data)), rng.randint(0, len(data))))
    changes: Mapping[str, Callable[[], bytes]] = {
        "cut": lambda: data[:at],
        "without": lambda: data[:at] + data[min(end, at + 40) :],
        "twice": lambda: data[:end] + data[at:],
        "into": lambda: data[:at] + rng.choice(ODD_TEXTS) + data[at:],
        "flip": lambda: data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :],
        "behind": lambda: data + b"\n" + rng.choice(ODD_TEXTS),
    }
    return rng.choice(list(changes.values()))()
