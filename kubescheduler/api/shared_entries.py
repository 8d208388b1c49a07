"""What two clusters that grew apart have in common, so that it is not read again for another release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterstate.objects import PriorityClass

if TYPE_CHECKING:
    from kubescheduler.api.cluster_entries import Entries, Entry, Key


def shared(now: Entries, before: Entries, after: Entries) -> tuple[dict[Key, Entry], list[Entry]] | None:
    """(key → the entry of ``after`` that is kept, the entries of ``now`` that have to be read). ``after`` is what
    another release makes of ``before``. None: everything has to be read, as priority classes, which say the priority of
    pods, are not the same."""
    kept: dict[Key, Entry] = {}
    fresh: list[Entry] = []
    for entry in now:
        there = after.find(entry.key) if before.find(entry.key) is entry else None
        if there is None:
            fresh.append(entry)
        else:
            kept[entry.key] = there
    classes = [[entry for entry in entries if isinstance(entry.obj, PriorityClass)] for entries in (now, before)]
    return (kept, fresh) if classes[0] == classes[1] else None
