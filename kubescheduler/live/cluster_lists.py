"""A cluster read once: lists of every kind at one version, where the server still has that version of all of them."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import attrs
import msgspec

from kubescheduler.live.stored_objects import ListMeta, parse_list, parse_name
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import ApiClient, ClientOptions, Limits
from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.live.transport.kubeconfig import Kubeconfig
from kubescheduler.live.transport.server_access import KubeconfigAccess, ServerAccess

CORE = "/api/v1"
NEEDED = frozenset({"Node", "Pod"})
"""Kinds without which there is nothing to decide."""


class ListedKind(msgspec.Struct, frozen=True):
    """One kind of object that is read whole."""

    kind: str
    """As objects say it: Pod."""
    plural: str
    """As paths say it: pods."""
    groups: tuple[str, ...] = (CORE,)
    """Paths of its API group with a version, the preferred one first."""

    def path(self, group: str) -> str:
        """Where a group's objects of the kind are, of all namespaces."""
        return f"{group}/{self.plural}"


def api_version(group: str) -> str:
    """``apiVersion`` of the objects below a group's path."""
    return group.removeprefix("/apis/").removeprefix("/api/")


_APPS = ("/apis/apps/v1", "/apis/apps/v1beta2", "/apis/extensions/v1beta1")
_STORAGE = ("/apis/storage.k8s.io/v1", "/apis/storage.k8s.io/v1beta1")
_RESOURCE = ("/apis/resource.k8s.io/v1", "/apis/resource.k8s.io/v1beta2", "/apis/resource.k8s.io/v1beta1")

LISTED_KINDS = (
    ListedKind("Node", "nodes"),
    ListedKind("Pod", "pods"),
    ListedKind("Namespace", "namespaces"),
    ListedKind("Service", "services"),
    ListedKind("ReplicationController", "replicationcontrollers"),
    ListedKind("ReplicaSet", "replicasets", _APPS),
    ListedKind("StatefulSet", "statefulsets", _APPS),
    ListedKind("PersistentVolume", "persistentvolumes"),
    ListedKind("PersistentVolumeClaim", "persistentvolumeclaims"),
    ListedKind("StorageClass", "storageclasses", _STORAGE),
    ListedKind("CSINode", "csinodes", _STORAGE),
    ListedKind("CSIDriver", "csidrivers", _STORAGE),
    ListedKind("CSIStorageCapacity", "csistoragecapacities", _STORAGE),
    ListedKind("VolumeAttachment", "volumeattachments", _STORAGE),
    ListedKind("PriorityClass", "priorityclasses", ("/apis/scheduling.k8s.io/v1", "/apis/scheduling.k8s.io/v1beta1")),
    ListedKind("RuntimeClass", "runtimeclasses", ("/apis/node.k8s.io/v1", "/apis/node.k8s.io/v1beta1")),
    ListedKind("LimitRange", "limitranges"),
    ListedKind("PodDisruptionBudget", "poddisruptionbudgets", ("/apis/policy/v1", "/apis/policy/v1beta1")),
    ListedKind("DeviceClass", "deviceclasses", _RESOURCE),
    ListedKind("ResourceClaim", "resourceclaims", _RESOURCE),
    ListedKind("ResourceClaimTemplate", "resourceclaimtemplates", _RESOURCE),
    ListedKind("ResourceSlice", "resourceslices", _RESOURCE),
    ListedKind("PodGroup", "podgroups", ("/apis/scheduling.k8s.io/v1alpha2",)),
)
"""Nodes come first: their version is the one at which everything else is asked for."""


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
        versions = {listed.version for listed in self.kinds if listed.version}
        return versions.pop() if len(versions) == 1 else ""

    @property
    def objects(self) -> Iterator[bytes]:
        """Every object as JSON, by kind."""
        return (obj for listed in self.kinds for obj in listed.objects)

    @property
    def counts(self) -> Counter[str]:
        """Kind → how many there are."""
        return Counter({listed.kind: len(listed.objects) for listed in self.kinds if listed.objects})

    def document(self) -> bytes:
        """A List of everything, as JSON."""
        head = b'{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":"%s"},"items":['
        return head % self.version.encode() + b",".join(self.objects) + b"]}"

    def notes(self) -> list[str]:
        """What is missing, and at which versions things were read unless it is one."""
        notes = [listed.note for listed in self.kinds if listed.note]
        if not self.version:
            said = ", ".join(f"{listed.kind} {listed.version}" for listed in self.kinds if listed.version)
            notes.append(f"the server did not list everything at one resourceVersion: {said}")
        return notes


async def list_cluster(client: ApiClient, progress: Progress) -> ClusterLists:
    """Everything that scheduling reads, at the version that the first kind's list has.

    A kind that the server does not have is left out, one that may not be listed gets a note. A server that no longer
    has the version is asked for its present one. Raises ApiError when nodes or pods cannot be listed, or it cannot be
    reached.
    """
    counted = _Progress(progress)
    first = await _Listing(client, LISTED_KINDS[0], "", counted).run()
    others = (_Listing(client, kind, first.version, counted).run() for kind in LISTED_KINDS[1:])
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
        objects: list[bytes] = []
        more = ""
        while True:
            query = [("limit", PAGE), *((("continue", more),) if more else at)]
            answer = await self.client.request("GET", self.kind.path(group), query)
            try:
                page = _parse_page(answer.body)
            except msgspec.DecodeError as error:
                raise ApiError(f"the server's list of {self.kind.plural} is not readable: {error}") from None
            objects += [_typed(bytes(raw), head) for raw in page.items or ()]
            self.counted.came(self.kind.kind, len(page.items or ()), page.metadata.remaining_item_count)
            more = page.metadata.continue_
            if not more:
                return KindList(self.kind.kind, page.metadata.resource_version, tuple(objects))


def _typed(raw: bytes, head: bytes) -> bytes:
    """An object of a list, which does not say its kind itself. Those of a group may: they are left as they are."""
    if raw.startswith((b'{"kind"', b'{"apiVersion"')):
        return raw
    return head + raw[1:].lstrip()


USER_AGENT = "kubescheduler"
CONNECTING = 30.0
"""Seconds until a server that does not answer counts as unreachable; a page of a list is given as long."""


class ListedServer(msgspec.Struct, frozen=True):
    """Which cluster is read, and how gently."""

    kubeconfig: str = ""
    """A file's path; empty: as kubectl finds it, else as the service account of the pod we run in, else where
    KUBERNETES_MASTER says."""
    context: str | None = None
    """Of the kubeconfig; None: its current one."""
    limits: Limits = msgspec.field(default_factory=Limits)
    """Of all requests together."""

    async def access(self, environment: Mapping[str, str]) -> ServerAccess:
        """The server and the credentials for it. Raises ConfigError."""
        path = self.kubeconfig or _default_kubeconfig(environment)
        if not path and self.context is None:
            return await ServerAccess.unnamed(environment)
        if os.pathsep in path:
            several = KubeconfigAccess(path, self.context, "")
            await several.load()
            return several
        return await ServerAccess.from_kubeconfig(path or str(_home(environment)), self.context)

    def namespace(self, environment: Mapping[str, str]) -> str:
        """Where the context looks for names without a namespace. Raises ConfigError."""
        path = self.kubeconfig or _default_kubeconfig(environment)
        named = Kubeconfig.read(path, self.context, needs_server=False).namespace if path else ""
        return named or "default"


A = TypeVar("A")
Ask = Callable[[ApiClient], Awaitable[A]]
"""What is asked of a server."""


def _asked(server: ListedServer, environment: Mapping[str, str], ask: Ask[A], seconds: float = CONNECTING) -> A:
    """The answer of a server. Raises ConfigError when the kubeconfig cannot be used, ApiError as ``ask`` does."""

    async def work() -> A:
        client = ApiClient(await server.access(environment), ClientOptions(server.limits, USER_AGENT, seconds))
        try:
            return await ask(client)
        finally:
            await client.close()

    with IoThread() as io:
        return io.wait(work())


class _Version(msgspec.Struct, rename="camel"):
    git_version: str


def read_version(server: ListedServer, environment: Mapping[str, str]) -> str:
    """The version that the server says it is of, such as v1.28.3+k3s1. Raises as ``read_server`` does."""

    async def ask(client: ApiClient) -> str:
        answer = await client.request("GET", "/version")
        try:
            return msgspec.json.decode(answer.body, type=_Version).git_version
        except msgspec.DecodeError as error:
            raise ApiError(f"the server's version is not readable: {error}") from None

    return _asked(server, environment, ask)


AT_ONCE = 3.0
"""Seconds within which a shell that completes a name is answered, or is not."""


def read_pod_names(server: ListedServer, environment: Mapping[str, str], namespace: str) -> list[str]:
    """The names of at most ``PAGE`` pods of a namespace, for a shell to complete. Raises as ``read_server`` does."""

    async def ask(client: ApiClient) -> list[str]:
        path = f"{CORE}/namespaces/{quote(namespace, safe='')}/pods"
        answer = await client.request("GET", path, [("limit", PAGE)])
        try:
            return [parse_name(raw).metadata.name for raw in parse_list(answer.body).items or ()]
        except msgspec.DecodeError as error:
            raise ApiError(f"the server's list of pods is not readable: {error}") from None

    return _asked(server, environment, ask, AT_ONCE)


def read_server(server: ListedServer, environment: Mapping[str, str], progress: Progress) -> tuple[str, ClusterLists]:
    """(the server's address, its cluster). progress: called on the I/O thread with (objects read, known of).

    Raises ConfigError when the kubeconfig cannot be used, ApiError when the server cannot be reached, or refuses.
    """

    async def ask(client: ApiClient) -> tuple[str, ClusterLists]:
        return client.access.base_url, await list_cluster(client, progress)

    return _asked(server, environment, ask)


def _home(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("HOME", "~")).expanduser() / ".kube" / "config"


def _default_kubeconfig(environment: Mapping[str, str]) -> str:
    """The files of KUBECONFIG that are there, or ~/.kube/config; empty: there is none. Upstream: kubectl's rules."""
    named = [path for path in environment.get("KUBECONFIG", "").split(os.pathsep) if path]
    if named:
        return os.pathsep.join([path for path in named if Path(path).exists()] or named[:1])
    return str(_home(environment)) if _home(environment).exists() else ""
