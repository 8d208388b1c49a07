"""The rights that a live process needs, derived from its code: all requests that it can send are sent here."""

from __future__ import annotations

import ast
import contextlib
import json
import re
import shlex
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import msgspec

import kubescheduler.live
from clusterstate.errors import SchedulingError
from clusterstate.manifests.kinds import encode_object
from clusterstate.objects import ClusterObject, Pod, ResourceClaim
from kubescheduler.live.events import EventBroadcaster, Surface
from kubescheduler.live.leadership import LeaderRecord, resource_lock
from kubescheduler.live.process.release_live import LiveRelease
from kubescheduler.live.transport.api_answers import ApiAnswer, ApiError
from kubescheduler.live.transport.api_client import Limits, TokenBucket
from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.live.writes import OBJECT_PATHS, LiveClient
from tests.support.live.dry_runs import read
from tests.support.live.live_cluster import HastyClock, a_pod
from tests.support.processes import SECONDS

Right = tuple[str, str, str, str]
"""API group, resource with its part (pods/status), verb, and the name where rights are given by name; else empty."""

LIVE_FOLDER = Path(kubescheduler.live.__file__).parent
PLAYED = ("writes.py", "events.py", "leadership.py")
"""The files all of whose requests are sent here; the others read, or ask by what base/authentication.yaml allows."""
ELSEWHERE = {"serving/guard.py": "POST"}
"""File → what it sends though it changes nothing: reviews of who asks, which system:auth-delegator allows."""
BY_NAME = frozenset({"leases"})
"""Resources of which one object is meant."""
METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
PATH = re.compile(
    r"/(?:api|apis/(?P<group>[^/]+))/[^/]+(?:/namespaces/[^/]+(?=/))?/(?P<resource>[^/?]+)"
    r"(?:/(?P<name>[^/?]+))?(?:/(?P<part>[^/?]+))?(?:\?(?P<query>.*))?"
)


def rights_of(method: str, path: str, body: Any = None) -> Iterator[Right]:
    """What one request needs; nothing for one that asks for no resource. path: with its query, if it has one.

    A status of a claim that speaks of its devices or its users needs the part ``binding`` as well. Upstream: 1.36
    AuthorizedForBinding.
    """
    match = PATH.fullmatch(path)
    if match is None or path.count("/") < (4 if path.startswith("/apis/") else 3):
        return
    group, resource, part, name = match["group"] or "", match["resource"], match["part"], match["name"] or ""
    verb = VERBS[method]
    if method == "GET" and not name:
        verb = "watch" if "watch=true" in (match["query"] or "") else "list"
    name = name if resource in BY_NAME else ""
    yield group, resource + (f"/{part}" if part else ""), verb, name
    if (resource, part) == ("resourceclaims", "status") and {"allocation", "reservedFor"} & set(body["status"]):
        yield group, "resourceclaims/binding", verb, name


def allows(rule: Mapping[str, Any], right: Right) -> bool:
    """Whether a rule of a role gives a right."""
    group, resource, verb, name = right
    names = rule.get("resourceNames")
    named = names is None or name in names
    return group in rule["apiGroups"] and resource in rule["resources"] and verb in rule["verbs"] and named


def granted_by(rule: Mapping[str, Any]) -> Iterator[Right]:
    """All that a rule gives."""
    for group in rule["apiGroups"]:
        for resource in rule["resources"]:
            for verb in rule["verbs"]:
                yield from ((group, resource, verb, name) for name in rule.get("resourceNames", ("",)))


class HearingClient:
    """Takes the place of an ApiClient: answers by itself, and knows what was asked, and by which lines of the code."""

    is_ending = False

    def __init__(self) -> None:
        self.rights: set[Right] = set()
        self.lines: set[tuple[str, int]] = set()
        """File and line of who asked, of who had that one ask, and so on."""
        self.stored: dict[str, Any] = {}
        """Path → what is there."""
        self.errors: dict[str, list[int]] = {}
        """``METHOD path``, as far as its end → statuses of the next answers."""
        self.bucket = TokenBucket(Limits(qps=0))
        self._heard = 0
        self._changed = threading.Condition()

    def request(
        self, method: str, path: str, query: object = (), body: Any = None, content_type: str = "", **_: object
    ) -> Coroutine[Any, Any, ApiAnswer]:
        """As ApiClient's. The lines are those of the call: whoever waits for the answer may be elsewhere."""
        frame = sys._getframe(1)
        while frame is not None:
            self.lines.add((frame.f_code.co_filename, frame.f_lineno))
            frame = frame.f_back  # type: ignore[assignment]
        return self._answered(method, path, msgspec.json.decode(body) if isinstance(body, bytes) else body)

    async def _answered(self, method: str, path: str, body: Any) -> ApiAnswer:
        self.rights |= set(rights_of(method, path, body))
        with self._changed:
            self._heard += 1
            self._changed.notify_all()
        for asked, codes in self.errors.items():
            if codes and f"{method} {path}".endswith(asked):
                raise ApiError("not now", codes.pop(0))
        known = self.stored.get(path.removesuffix("/status"), body)
        found = known if method in ("GET", "PATCH") else body
        if "generateName" in found.get("metadata", ()):
            found["metadata"]["name"] = "made"
        return ApiAnswer(200, msgspec.json.encode(found), {})

    def after(self, count: int, do: Callable[[], object]) -> None:
        """Does something, and waits until it has asked so many times."""
        wanted = self._heard + count
        do()
        with self._changed:
            assert self._changed.wait_for(lambda: self._heard >= wanted, SECONDS)


def asking_lines() -> Iterator[tuple[Path, int, int, str]]:
    """Every call that sends a request: (file, first line, last line, method; empty where it is not a literal)."""
    for file in sorted(LIVE_FOLDER.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            first = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else ""
            if node.func.attr == "request" or first in METHODS:
                yield file, node.lineno, node.end_lineno or node.lineno, str(first)


def play(live: LiveRelease, io: IoThread, lock: str) -> HearingClient:
    """Has a release send everything it can. lock: the name of the lease that it leads by."""
    heard = HearingClient()
    _play_writes(heard, live, io)
    _play_events(heard, live, io)
    held: Any = resource_lock(heard, live.locks["leases"], "kube-system", lock, {}, "10s")  # type: ignore[arg-type]
    record = LeaderRecord("me", 15, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", 0)
    heard.stored[f"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{lock}"] = {"metadata": {}, "spec": {}}
    for work in (held.create(record), held.get(), held.update(record)):
        io.wait(work)
    for kind in live.informers.kinds:
        for path in kind.paths:
            heard.rights |= {*rights_of("GET", path), *rights_of("GET", f"{path}?watch=true")}
    return heard


def _a_pod() -> Pod:
    document = a_pod("p")
    document["metadata"] |= {"namespace": "default", "uid": "u"}
    found: Pod = read(document, "Pod")
    return found


def _play_writes(heard: HearingClient, live: LiveRelease, io: IoThread) -> None:
    client = LiveClient(heard, io, live.writes, trouble=print, clock=HastyClock())  # type: ignore[arg-type]
    pod = _a_pod()
    path = "/api/v1/namespaces/default/pods/p"
    heard.stored[path] = encode_object(pod)
    heard.errors = {f"{path}/binding": [500]}
    with contextlib.suppress(SchedulingError):
        client.bind(pod, "n1")
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no"}
    client.patch_pod_status(pod, {"conditions": [condition], "nominatedNodeName": "n1"})
    client.delete_pod(pod)
    for kind in OBJECT_PATHS:
        obj: ClusterObject = read({"metadata": {"name": "v", "namespace": "default", "uid": "u"}, "spec": {}}, kind)
        heard.stored[OBJECT_PATHS[kind].format(name="v", namespace="default")] = encode_object(obj)
        client.update_object(obj)
    if any(kind.kind == "ResourceClaim" for kind in live.informers.kinds):
        _play_claims(heard, client, pod)


def _play_claims(heard: HearingClient, client: LiveClient, pod: Pod) -> None:
    """Of releases that know claims of devices."""
    meta = {"name": "c", "namespace": "default", "uid": "u"}
    allocation = {"devices": {"results": [{"request": "r", "driver": "d", "pool": "p", "device": "g"}]}}
    free: ResourceClaim = read({"metadata": meta, "spec": {}}, "ResourceClaim")
    taken: ResourceClaim = read({"metadata": meta, "spec": {}, "status": {"allocation": allocation}}, "ResourceClaim")
    heard.stored["/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/c"] = encode_object(free)
    client.create_claim(free)
    client.update_claim(free, lambda _: taken)
    client.take_back_claim(taken, pod)
    client.delete_claim(taken)


def _play_events(heard: HearingClient, live: LiveRelease, io: IoThread) -> None:
    """A new event, the same once more, once more when the server has lost it, and all in core/v1."""
    surface = Surface("host", lambda _: "1")
    lock = {"kind": "Lease", "namespace": "kube-system", "name": "l", "uid": "u"}
    for core in (False, True):
        events = EventBroadcaster(heard, io, live.events, surface, trouble=print)  # type: ignore[arg-type]
        events.start(core=core)
        recorder = events.recorder(["default-scheduler"])

        def tell(recorder: Any = recorder) -> None:
            recorder.event(_a_pod(), "Normal", "Scheduled", "Binding", "to n1")

        heard.errors = {}
        heard.after(1, tell)
        heard.errors = {"": [404]}
        heard.after(2, tell)
        heard.after(1, partial(events.about_lock, "kubescheduler", lock, "LeaderElection", "leads"))
        events.stop()


@attrs.frozen
class Instruction:
    """One line of a Containerfile."""

    name: str
    """In capitals: COPY."""
    words: tuple[str, ...]
    """What follows, with flags, as a shell splits it; of a list in JSON its members."""

    @property
    def flags(self) -> dict[str, str]:
        """``--from=build`` as from → build."""
        pairs = (word[2:].partition("=") for word in self.words if word.startswith("--"))
        return {key: value for key, _, value in pairs}

    @property
    def operands(self) -> tuple[str, ...]:
        """The words that are no flags."""
        return tuple(word for word in self.words if not word.startswith("--"))


@attrs.frozen
class Stage:
    """The instructions from one FROM to the next."""

    image: str
    name: str
    """Empty: it has none."""
    instructions: tuple[Instruction, ...]

    def all(self, name: str) -> list[Instruction]:
        """The instructions of a name."""
        return [one for one in self.instructions if one.name == name]


def stages_of(path: Path) -> list[Stage]:
    """The stages of a file, in order."""
    stages: list[Stage] = []
    for instruction in _instructions(path.read_text()):
        if instruction.name == "FROM":
            image, *rest = instruction.operands
            stages.append(Stage(image, rest[1] if rest else "", ()))
        else:
            last = stages[-1]
            stages[-1] = attrs.evolve(last, instructions=(*last.instructions, instruction))
    return stages


def _instructions(text: str) -> Iterator[Instruction]:
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, rest = line.partition(" ")
            listed = rest.strip().startswith("[")
            yield Instruction(name.upper(), tuple(json.loads(rest) if listed else shlex.split(rest)))
