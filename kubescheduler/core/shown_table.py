"""Results that print themselves as tables, and show themselves in a notebook; how is imported when somebody asks."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class ShownTable(msgspec.Struct, frozen=True):
    """A title, a table of texts and numbers, and a line below."""

    title: str
    header: Sequence[str] = ()
    rows: Sequence[Sequence[object]] = ()
    below: str = ""
    marked: int | None = None
    """The row that stands out."""

    def text(self) -> str:
        """Aligned columns, numbers to the right; the last column is broken where a line would be too long."""
        from kubescheduler.notebook.static_tables import table_text

        return table_text(self)

    def html(self) -> str:
        """The same as a small static page."""
        from kubescheduler.notebook.static_tables import table_html

        return table_html(self)


class Shown:
    """What prints as a table and shows itself in a notebook."""

    __slots__ = ()

    def table(self) -> ShownTable:
        """What is shown."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.table().text()

    def _repr_html_(self) -> str:
        return self.table().html()
