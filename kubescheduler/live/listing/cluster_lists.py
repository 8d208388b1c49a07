"""Lists of every kind at one version, where the server still has that version of all of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator

import attrs
import msgspec

from kubescheduler.live.informers.raw_objects import ListMeta
from kubescheduler.live.listing.listed_kinds import LISTED_KINDS, NEEDED, ListedKind, api_version
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import ApiClient

PAGE = "500"
"""Objects of one answer."""
ABSENT, FORBIDDEN, NOT_AT_THAT_VERSION = 404, 403, frozenset({400, 410, 504})

Progress = Callable[[int, int], None]
"""Called with (objects read, objects known of)."""


class _PageMeta(ListMeta, rename="camel"):
    remaining_item_count: int = 0


class _Page(msgspec.Struct):
    metadata: _PageMeta = msgspec.field(default_factory=_PageMeta)
    items: list[msgspec.Raw] | None = None


_parse_page: Callable[[bytes], _Page] = msgspec.json.Decoder(_Page).decode


class KindList(msgspec.Struct, frozen=True, eq=False):
    """All objects of one kind."""

    kind: str
    version: str
    """The resourceVersion of the list; empty where nothing could be listed."""
    objects: tuple[bytes, ...] = ()
    """As JSON, each with its apiVersion and kind."""
    note: str = ""
    """What keeps it from being complete."""


class ClusterLists(msgspec.Struct, frozen=True, eq=False):
    """A cluster as its API server listed it."""

    kinds: tuple[KindList, ...]

    @property
    def version(self) -> str:
        """The resourceVersion of everything; empty where lists are of different versions."""
        versions = {found.version for found in self.kinds if found.version}
        return versions.pop() if len(versions) == 1 else ""

    @property
    def objects(self) -> Iterator[bytes]:
        """Every object as JSON, by kind."""
        return (obj for found in self.kinds for obj in found.objects)

    @property
    def counts(self) -> Counter[str]:
        """Kind → how many there are."""
        return Counter({found.kind: len(found.objects) for found in self.kinds if found.objects})

    def document(self) -> bytes:
        """A List of everything, as JSON."""
        head = b'{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":"%s"},"items":['
        return head % self.version.encode() + b",".join(self.objects) + b"]}"

    def notes(self) -> list[str]:
        """What is missing, and at which versions things were read unless it is one."""
        notes = [found.note for found in self.kinds if found.note]
        if not self.version:
            said = ", ".join(f"{found.kind} {found.version}" for found in self.kinds if found.version)
            notes.append(f"the server did not list everything at one resourceVersion: {said}")
        return notes


async def list_cluster(
    client: ApiClient, progress: Progress, kinds: tuple[ListedKind, ...] = LISTED_KINDS
) -> ClusterLists:
    """Everything that scheduling reads, at the version that the first kind's list has.

    A kind that the server does not have is left out, one that may not be listed gets a note. A server that no longer
    has the version is asked for its present one. Raises ApiError when nodes or pods cannot be listed, or it cannot be
    reached.
    """
    counted = _Progress(progress)
    first = await _Listing(client, kinds[0], "", counted).run()
    others = (_Listing(client, kind, first.version, counted).run() for kind in kinds[1:])
    return ClusterLists((first, *await asyncio.gather(*others)))


@attrs.define(eq=False)
class _Progress:
    tell: Progress
    done: int = 0
    remaining: dict[str, int] = attrs.field(factory=dict)

    def came(self, kind: str, number: int, remaining: int) -> None:
        self.done += number
        self.remaining[kind] = remaining
        self.tell(self.done, self.done + sum(self.remaining.values()))


class _Listing(msgspec.Struct, frozen=True, eq=False):
    """The list of one kind."""

    client: ApiClient
    kind: ListedKind
    version: str
    """At which it is asked for; empty: as it is now."""
    counted: _Progress

    async def run(self) -> KindList:
        for group in self.kind.groups:
            try:
                return await self._in_group(group)
            except ApiError as error:
                if error.code == ABSENT:
                    continue
                if error.code != FORBIDDEN or self.kind.kind in NEEDED:
                    raise
                return KindList(self.kind.kind, "", note=f"{self.kind.plural} are left out: {error.message}")
        if self.kind.kind in NEEDED:
            raise ApiError(f"the server has no {self.kind.plural}", ABSENT)
        return KindList(self.kind.kind, "")

    async def _in_group(self, group: str) -> KindList:
        if self.version:
            exactly = (("resourceVersion", self.version), ("resourceVersionMatch", "Exact"))
            try:
                return await self._pages(group, exactly)
            except ApiError as error:
                if error.code not in NOT_AT_THAT_VERSION:
                    raise
        return await self._pages(group, ())

    async def _pages(self, group: str, at: tuple[tuple[str, str], ...]) -> KindList:
        """All pages; one that comes too late for its version begins anew, without a version. Raises ApiError."""
        head = b'{"apiVersion":"%s","kind":"%s",' % (api_version(group).encode(), self.kind.kind.encode())
        found: list[bytes] = []
        more = ""
        while True:
            query = [("limit", PAGE), *((("continue", more),) if more else at)]
            answer = await self.client.request("GET", self.kind.path(group), query)
            try:
                page = _parse_page(answer.body)
            except msgspec.DecodeError as error:
                raise ApiError(f"the server's list of {self.kind.plural} is not readable: {error}") from None
            found += [_typed(bytes(raw), head) for raw in page.items or ()]
            self.counted.came(self.kind.kind, len(page.items or ()), page.metadata.remaining_item_count)
            more = page.metadata.continue_
            if not more:
                return KindList(self.kind.kind, page.metadata.resource_version, tuple(found))


def _typed(raw: bytes, head: bytes) -> bytes:
    """An object of a list, which does not say its kind itself. Those of a group may: they are left as they are."""
    if raw.startswith((b'{"kind"', b'{"apiVersion"')):
        return raw
    return head + raw[1:].lstrip()
