"""All informers of a scheduler; each reads a kind whole, watches it, and starts anew where that breaks.

Upstream: client-go's Reflector, SharedInformerFactory.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable
from functools import partial

import attrs
import msgspec

from clusterstate.manifests.decode import Decoder
from kubescheduler.live.informer_rules import InformerKind, InformerRules
from kubescheduler.live.stored_objects import (
    Key,
    ListMeta,
    ObjectChange,
    RawObjects,
    Stored,
    StoredObjects,
    parse_event,
    parse_name,
    parse_status,
    unchanged_event,
)
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import ApiClient, Query
from kubescheduler.live.transport.io_thread import IoThread, WallClock


@attrs.define(eq=False)
class ServerOutage:
    """What the informers of one server log of tries that failed; for the I/O thread.

    Upstream each reflector logs each of its tries.
    """

    clock: WallClock
    trouble: Callable[[str], None]
    """Logs what went wrong."""
    recovered: Callable[[str], None]
    """Logs that the server answers again."""
    _since: float | None = None
    """When the first try went without an answer, by the monotonic clock; None: the server answers."""

    def failed(self, error: ApiError, text: str) -> None:
        """A try failed. text: the release's line, for an answer that says no, which concerns one kind alone."""
        if not error.unanswered:
            self.trouble(text)
        elif self._since is None:
            self._since = self.clock.monotonic()
            self.trouble(f"The API server cannot be reached; asking it again until it answers: {error}")

    def answered(self) -> None:
        """A list or a watch was granted."""
        if self._since is not None:
            seconds = self.clock.monotonic() - self._since
            self._since = None
            self.recovered(f"The API server answers again, after {seconds:.1f} s")


@attrs.define(eq=False)
class ServerOutages:
    """The outages of every server that a process reads, by its address."""

    clock: WallClock
    trouble: Callable[[str], None]
    recovered: Callable[[str], None]
    _known: dict[str, ServerOutage] = attrs.field(factory=dict)

    def of(self, base_url: str) -> ServerOutage:
        """That of one server, which all who read it share."""
        return self._known.setdefault(base_url, ServerOutage(self.clock, self.trouble, self.recovered))


SHORTEST, LONGEST = 300, 600
"""Seconds that a watch lasts, by chance between these."""
PAGE = "500"
GONE = 410
GRACE = 30.0
"""Seconds after its end at which a watch that the server did not end is taken for dead."""


ABSENT = 600.0
"""Seconds until a kind is asked for again that the server does not have."""
CUT = 1.0
"""Seconds at most until a watch that broke at once goes on from where it was."""


class ExpiredError(Exception):
    """The version that is asked for is too old."""


class CutError(Exception):
    """A watch broke as soon as it was opened; the next one goes on from there, or tells what the server has to say."""


@attrs.define(eq=False)
class Reflector:
    """Keeps ``store`` as the API server has it, and reports each change to ``deliver``; for the I/O thread."""

    client: ApiClient
    kind: InformerKind
    objects: RawObjects
    store: StoredObjects
    rules: InformerRules
    clock: WallClock
    rng: random.Random
    deliver: Callable[[list[ObjectChange]], None]
    """Gets the changes in order. The first call has everything that there is, and may be empty."""
    outage: ServerOutage
    """Logs what went wrong, in upstream's words."""
    version: str = ""
    """The resourceVersion up to which everything is known."""
    listed: bool = False
    """Whether everything was read once."""
    _path: int = 0
    """Which of the kind's paths the server has."""
    _whole: bool = False
    """Whether the last version was too old: the newest one is asked for."""
    _latest: bool = False
    """Whether the next reading has to be of the state as it is then, whatever the release asks for otherwise."""
    _moved: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)
    """Set whenever ``version`` goes on."""

    @property
    def path(self) -> str:
        """Where this server has the kind."""
        return self.kind.paths[self._path]

    async def run(self, *, latest: bool = False) -> None:
        """Goes on until it is cancelled. latest: what it reads first is the state as it is then."""
        self._latest = latest
        pauses = self.rules.pauses(self.clock, self.rng)
        while True:
            try:
                await self._read_and_watch(pauses.next)
            except ExpiredError:
                self._whole = self.rules.asks_newest_when_expired
            except ApiError as error:
                if error.code == 404 and self._path + 1 < len(self.kind.paths):
                    self._path += 1
                    continue
                if error.code == 404 and self.kind.optional:
                    self._none_there()
                    await self.clock.sleep(ABSENT)
                    continue
                if is_expired(error):
                    self._whole = self.rules.asks_newest_when_expired
                self._failed(error)
            except Exception as error:  # nobody foresaw it; without this kind no decision would be right
                self.outage.trouble(self.rules.trouble(self.kind.kind, f"{type(error).__name__}: {error}"))
            await self.clock.sleep(pauses.next())

    def _none_there(self) -> None:
        """The server does not have the kind: there is none of it, until it is asked for again and there."""
        if not self.listed:
            self.outage.trouble(f"The API server has no {self.kind.kind}: none is read")
            self._replace([], "")
        self._path = 0

    async def _read_and_watch(self, pause: Callable[[], float]) -> None:
        """Reads everything and watches until that has to be done anew."""
        if not (self.rules.streams_first and await self._watch_list()):
            await self._list()
        while True:
            try:
                await self._watch()
            except CutError:
                await self.clock.sleep(min(pause(), CUT))
            except ApiError as error:
                if not (error.unanswered or self.rules.watches_again(error)):
                    raise
                if error.unanswered:
                    self._failed(error)
                await self.clock.sleep(pause())

    def _know(self, version: str) -> None:
        self.version = version
        self._moved.set()

    async def newest_version(self) -> str:
        """The resourceVersion at which the server is now. Raises ApiError."""
        meta, _ = await self._page([*self._selector(), ("limit", "1")])
        return meta.resource_version

    async def reached(self, version: str) -> None:
        """Returns once everything up to a version has been delivered; at once for a version that is no number."""
        while number_of(self.version) < number_of(version):
            self._moved.clear()
            await self._moved.wait()

    def _failed(self, error: ApiError) -> None:
        self.outage.failed(error, self.rules.trouble(self.kind.kind, str(error)))

    # --- reading everything --------------------------------------------------------------------

    async def _list(self) -> None:
        """Reads all pages. Raises ExpiredError when the version asked for is gone, and no page has come."""
        objects: list[tuple[Key, Stored]] = []
        version, more = "" if self._latest else self.rules.list_version(self.version, self._whole), ""
        while True:
            query = [*self._selector(), *((("continue", more),) if more else ()), ("limit", PAGE)]
            if not more and version is not None:
                query.append(("resourceVersion", version))
            try:
                meta, page = await self._page(query)
            except ApiError as error:
                if not version or not is_expired(error):
                    raise
                version, more, objects = "", "", []
                continue
            objects += page
            more = meta.continue_
            if not more:
                break
        self._replace(objects, meta.resource_version)

    async def _page(self, query: Query) -> tuple[ListMeta, list[tuple[Key, Stored]]]:
        """(what one page of a list says of itself, its objects). Raises ApiError, also for what is no list."""
        answer = await self.client.request("GET", self.path, query)
        self.outage.answered()
        try:
            return self.objects.read_page(answer.body, self.store.get)
        except msgspec.DecodeError as error:
            raise ApiError(f"the server's list is not readable: {error}") from None

    async def _watch_list(self) -> bool:
        """Reads everything as the first events of a watch, and goes on with it.

        False: the server does not do that, or the stream broke before everything was there, as it may time and again;
        pages of a list get there.
        """
        query = [("allowWatchBookmarks", "true"), *self._selector()]
        if self.version and not (self._whole or self._latest):
            query.append(("resourceVersion", self.version))
        query += [("resourceVersionMatch", "NotOlderThan"), ("sendInitialEvents", "true")]
        seconds, times = self._times()
        initial: dict[Key, Stored] = {}
        told = opened = False
        try:
            async with self.client.watch(self.path, [*query, *times], seconds + GRACE) as batches:
                opened = True
                self.outage.answered()
                async for lines in batches:
                    rest = lines if told else self._initial(lines, initial)
                    if rest is not None:
                        told = True
                        self._take_in(rest)
        except ApiError as error:
            if opened and is_cut(error):
                return told
            if told or error.code in (0, GONE, 429):
                raise
            return False
        except msgspec.DecodeError as error:
            self._failed(ApiError(f"the server's events are not readable: {error}"))
            return False
        return told

    def _initial(self, lines: list[bytes], initial: dict[Key, Stored]) -> list[bytes] | None:
        """Takes initial events in; the lines behind the last of them once that has come. Raises ExpiredError."""
        known = self.store.get
        for at, line in enumerate(lines):
            if self.listed and (unchanged := unchanged_event(line, known)) is not None:
                initial[unchanged[0]] = unchanged[1]
                continue
            event = parse_event(line)
            if event.type == "BOOKMARK":
                bookmark = parse_name(event.object)
                if bookmark.ends_initial_events:
                    self._replace(list(initial.items()), bookmark.metadata.resource_version)
                    initial.clear()  # the stream goes on for minutes, and would keep each object as it was at first
                    return lines[at + 1 :]
            elif event.type == "ERROR":
                self._fail(event.object)
            else:
                read = self.objects.read(event.object, known)
                if read is not None:
                    initial[read[0]] = read[1]
        return None

    def _replace(self, objects: list[tuple[Key, Stored]], version: str) -> None:
        self._whole = self._latest = False
        self._know(version)
        self.listed = True
        self.deliver(self.store.replace(objects))

    # --- watching ------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """One watch from the version that is known, until the server ends it."""
        started, before = self.clock.monotonic(), self.version
        seconds, times = self._times()
        query = [("allowWatchBookmarks", "true"), *self._selector(), ("resourceVersion", self.version), *times]
        seen = opened = cut = False
        try:
            async with self.client.watch(self.path, query, seconds + GRACE) as batches:
                opened = True
                self.outage.answered()
                async for lines in batches:
                    seen = True
                    self._take_in(lines)
        except ApiError as error:
            if not (opened and is_cut(error)):
                raise
            cut = True
        if not seen and self.version == before and self.clock.monotonic() - started < 1.0:
            if cut:
                raise CutError
            raise ApiError(
                f"very short watch: {self.kind.kind}: Unexpected watch close - "
                "watch lasted less than a second and no items received"
            )

    def _take_in(self, lines: list[bytes]) -> None:
        """Events that arrived together. Raises ExpiredError or ApiError for an ERROR among them, after those before."""
        changes: list[ObjectChange] = []
        try:
            for line in lines:
                event = parse_event(line)
                if event.type == "ERROR":
                    self._fail(event.object)
                if event.type == "BOOKMARK":
                    self._know(parse_name(event.object).metadata.resource_version)
                    continue
                read = self.objects.read(event.object)
                if read is None:
                    self._know(parse_name(event.object).metadata.resource_version)
                    continue
                key, stored = read
                removed = event.type == "DELETED"
                changes.append(self.store.remove(key, stored.obj) if removed else self.store.put(key, stored))
                self._know(stored.version)
        except msgspec.DecodeError as error:
            raise ApiError(f"the server's events are not readable: {error}") from None
        finally:
            if changes:
                self.deliver(changes)

    def _fail(self, raw: msgspec.Raw) -> None:
        """Raises what an ERROR event means."""
        status = parse_status(raw)
        if status.code == GONE:
            raise ExpiredError
        raise ApiError(status.message, status.code, status.reason)

    # --- what is asked -------------------------------------------------------------------------

    def _selector(self) -> list[tuple[str, str]]:
        return [("fieldSelector", self.kind.field_selector)] if self.kind.field_selector else []

    def _times(self) -> tuple[int, Query]:
        """(how long a watch lasts, the query that says so)."""
        seconds = self.rng.randrange(SHORTEST, LONGEST)
        said = [("timeout", f"{seconds // 60}m{seconds % 60}s")] if self.kind.says_timeout else []
        return seconds, [*said, ("timeoutSeconds", str(seconds)), ("watch", "true")]


def is_cut(error: ApiError) -> bool:
    """Whether a stream broke, which is its end as well as any other."""
    return error.code == 0 and not error.refused


def is_expired(error: ApiError) -> bool:
    """Whether the version that was asked for is too old, or one that the server has yet to see."""
    return error.code == GONE or "Too large resource version" in error.message


def number_of(version: str) -> int:
    """A resourceVersion as a number, by which versions of one server are compared; 0 for what is none."""
    return int(version) if version.isdigit() else 0


PATIENCE = 1.0
"""Seconds within which a watch has everything that the server knows, or is begun anew."""


class Informers:
    """Reads and watches every kind that a release reads.

    deliver: gets the changes of each kind in order, on the I/O thread. outage: logs what goes wrong.
    """

    def __init__(
        self,
        client: ApiClient,
        io: IoThread,
        rules: InformerRules,
        deliver: Callable[[list[ObjectChange]], None],
        *,
        outage: ServerOutage,
        clock: WallClock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self._io = io
        self._deliver = deliver
        self._waiting = {kind.kind for kind in rules.kinds}
        self.synced = threading.Event()
        """Whether every kind was read whole, and delivered."""
        self.stores = {kind.kind: StoredObjects(kind.kind) for kind in rules.kinds}
        """Kind → what is known of it."""
        decoder = Decoder(prepare=rules.prepare)
        self._clock = clock or WallClock()
        self._rng = random.Random() if rng is None else rng
        self._rules = rules
        self.reflectors = [
            Reflector(
                client,
                kind,
                RawObjects(kind.kind, decoder, outage.trouble),
                self.stores[kind.kind],
                rules,
                self._clock,
                self._rng,
                partial(self._take, kind.kind),
                outage,
            )
            for kind in rules.kinds
        ]
        """One a kind."""
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Starts them all; ``synced`` is set when all have read everything once."""
        self._io.wait(self._start())

    def stop(self) -> None:
        """Ends them all."""
        self._io.wait(self._stop())

    async def reach_newest(self, *kinds: str) -> None:
        """Returns once these kinds have been delivered as they are now; on the I/O thread.

        A watch that does not get there soon is taken for one that hangs, and everything is read anew.
        """
        numbers = [number for number, reflector in enumerate(self.reflectors) if reflector.kind.kind in kinds]
        await asyncio.gather(*map(self._reach_newest, numbers))

    async def _reach_newest(self, number: int) -> None:
        reflector = self.reflectors[number]
        version = await self._newest_version(reflector)
        reached = asyncio.create_task(reflector.reached(version))
        patience = asyncio.create_task(self._clock.sleep(PATIENCE))
        try:
            await asyncio.wait((reached, patience), return_when=asyncio.FIRST_COMPLETED)
            if not reached.done():
                self._tasks[number].cancel()
                await asyncio.gather(self._tasks[number], return_exceptions=True)
                self._tasks[number] = asyncio.create_task(reflector.run(latest=True))
            await reached
        finally:
            reached.cancel()
            patience.cancel()

    async def _newest_version(self, reflector: Reflector) -> str:
        """Asks until the server answers."""
        pauses = self._rules.pauses(self._clock, self._rng)
        while True:
            try:
                return await reflector.newest_version()
            except ApiError:
                await self._clock.sleep(pauses.next())

    async def _start(self) -> None:
        self._tasks = [asyncio.create_task(reflector.run()) for reflector in self.reflectors]

    async def _stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _take(self, kind: str, changes: list[ObjectChange]) -> None:
        self._deliver(changes)
        self._waiting.discard(kind)
        if not self._waiting:
            self.synced.set()
