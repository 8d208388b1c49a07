"""What was read of a list piece by piece, and how the rest of it is read whole.

The reader of whole texts gets one with a short stand-in for each object that was read. So it finds what it would find
in the text itself, with the same places, lines and columns, and nothing of what was read has to be kept.
"""

from __future__ import annotations

import msgspec

from clusterstate.errors import DecodeError
from clusterstate.manifests.documents import Item
from kubescheduler.sources.text_window import TextWindow

STAND_IN = b'{"resourceVersion":0}'
"""Stands in a text for an object that was read: as short as one that a server has stored can be."""

_READ_STAND_INS = (msgspec.Raw(STAND_IN), msgspec.json.decode(STAND_IN))
"""What a reader makes of it."""


class ListedItems(msgspec.Struct, frozen=True):
    """What was read of a stream piece by piece."""

    items: list[Item]
    """The objects, in order."""
    rest: bytes | None = None
    """None when these are all, and the stream is at its end. Else the text up to where the stream is, with stand-ins in
    place of ``items``."""
    shorter: int = 0
    """Bytes by which ``rest`` is shorter than what was read."""
    given: tuple[str, str] | None = None
    """Kind and version that the list gave to objects that do not have their own; None when all have."""

    def restored(self, read: list[Item]) -> list[Item]:
        """The objects of the whole text. read: those of ``rest`` and what follows it in the stream.

        Raises DecodeError when the list says at its end that its objects are of another kind.
        """
        count = len(self.items)
        if count > len(read) or any(item.content not in _READ_STAND_INS for item in read[:count]):
            return read  # the text is faulty, or has a second list in place of the first
        if self.given is not None and (read[0].kind, read[0].api_version) != self.given:
            raise DecodeError(f"{read[0].source}: the list says twice of which kind it is, and differently")
        return [*map(_in_place_of, read, self.items), *read[count:]]


def _in_place_of(stand_in: Item, item: Item) -> Item:
    return msgspec.structs.replace(item, place=stand_in.place, notes=stand_in.notes)


def with_stand_ins(items: list[Item], head: bytes, window: TextWindow, given: tuple[str, str] | None) -> ListedItems:
    """``items`` and the text of which they were dropped. head: what stood before them."""
    before = (STAND_IN + b",") * len(items)
    lines, column = window.place()
    before += b"\n" * lines + b" " * column if lines else b" " * (column - len(before))
    return ListedItems(items, head + before + window.text(), window.dropped - len(before), given)
