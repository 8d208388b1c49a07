"""Which files a student writes or changes, and what of them."""

from __future__ import annotations

import msgspec


class EditableFile(msgspec.Struct, frozen=True):
    """A file that the student writes or changes; it stands in ``start/`` and ``solution/``."""

    file: str
    """Its name."""
    fields: tuple[str, ...] | None = None
    """Patterns of the places in its documents that may differ from ``start/``; None: everything may."""
