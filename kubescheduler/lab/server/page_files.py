"""The files of the page: those that are there and no other path, packed once, and asked for again only when changed."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

MEDIA_TYPES: Mapping[str, str] = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
    ".map": "application/json",
    ".toml": "text/plain; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
    "": "text/plain; charset=utf-8",
}
"""By a file's suffix; nothing else is served. Files without one are licences."""

START = "index.html"
SMALL = 500
"""Bytes below which packing gains nothing."""


class PageFile(msgspec.Struct, frozen=True):
    """A file as it is served."""

    content: bytes
    """Its bytes."""
    packed: bytes | None
    """The same by gzip; None where that is no smaller."""
    media_type: str
    """Its Content-Type."""
    digest: str
    """SHA-256 of the bytes, in hexadecimal."""
    stamp: tuple[int, int]
    """(time of its last change in ns, size in bytes) when it was read."""


class PageFiles:
    """The files below a folder, by their paths in addresses."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._paths: dict[str, Path] = {}
        self._read: dict[str, PageFile] = {}

    def find(self, path: str) -> PageFile | None:
        """The file of an address's path without its first slash; empty is the page itself. None: there is none.

        The path is only looked up among those of the files that are there, never joined to the folder.
        """
        name = path or START
        if name not in self._paths:
            self._paths = dict(self._listed())
        found = self._paths.get(name)
        if found is None:
            return None
        try:
            about = found.stat()
            stamp = (about.st_mtime_ns, about.st_size)
            if name not in self._read or self._read[name].stamp != stamp:
                self._read[name] = _page_file(found.read_bytes(), found.suffix, stamp)
        except OSError:
            self._read.pop(name, None)
            return None
        return self._read[name]

    def _listed(self) -> list[tuple[str, Path]]:
        """(path in an address, file); links that lead out of the folder are left out."""
        root = self._folder.resolve()
        return [
            (one.relative_to(root).as_posix(), one)
            for one in root.rglob("*")
            if one.suffix in MEDIA_TYPES
            and one.is_file()
            and one.resolve().is_relative_to(root)
            and not any(part.startswith((".", "__")) for part in one.relative_to(root).parts)
        ]


def _page_file(content: bytes, suffix: str, stamp: tuple[int, int]) -> PageFile:
    packed = gzip.compress(content, 9, mtime=0) if len(content) > SMALL else None
    smaller = packed if packed is not None and len(packed) < len(content) else None
    return PageFile(content, smaller, MEDIA_TYPES[suffix], hashlib.sha256(content).hexdigest(), stamp)
