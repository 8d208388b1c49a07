"""Uids of objects that come without one."""

from __future__ import annotations

from typing import Any

URL_NAMESPACE = bytes.fromhex("6ba7b8119dad11d180b400c04fd430c8")
"""The namespace of URLs, see RFC 9562, 6.6."""
FREE_BITS = ~(0xF000 << 64 | 0xC000 << 48)
VERSION_5 = 0x5000 << 64 | 0x8000 << 48
"""The bits of a UUID that say its version and variant; all others are free."""


def derived_uid(kind: str, namespace: Any, name: Any) -> str:
    """The uid of an object that comes without one: always the same for its kind, namespace and name.

    It is the UUID of version 5 of a text of these, in a third of the time that ``uuid.uuid5`` takes.
    """
    from hashlib import sha1

    digest = sha1(URL_NAMESPACE + f"{kind}/{namespace or ''}/{name}".encode(), usedforsecurity=False).digest()
    text = f"{int.from_bytes(digest[:16], 'big') & FREE_BITS | VERSION_5:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
