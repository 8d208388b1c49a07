"""The scheduler's writes to a real API server: bindings, statuses as each release writes them, volumes and claims.

Read ``LiveClient``, at the end, first.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future
from itertools import chain, repeat
from typing import Any

import attrs
import msgspec

from clusterstate.errors import SchedulingError
from clusterstate.manifests.decode import decode_object
from clusterstate.manifests.kinds import encode_object
from clusterstate.objects import ClusterObject, Pod, ResourceClaim
from kubescheduler.live.klog import structured
from kubescheduler.live.transport.api_answers import ApiAnswer, ApiError
from kubescheduler.live.transport.api_client import JSON, STRATEGIC_MERGE, ApiClient
from kubescheduler.live.transport.io_thread import IoThread, WallClock

Document = dict[str, Any]


def conditions_of(pod: Pod) -> list[Document]:
    """``status.conditions`` as far as they are known: whole with the pod's manifest, else what the scheduler reads."""
    if pod.manifest is not None:
        return list((pod.manifest.get("status") or {}).get("conditions") or ())
    return [{"type": c.type, "status": c.status, "reason": c.reason} for c in pod.conditions]


def with_times(wanted: Mapping[str, Any], before: Mapping[str, Any], now: str) -> Document:
    """A condition with its times: a status that is new begins now. now: RFC 3339. Upstream: UpdatePodCondition."""
    changed = not before or before.get("status") != wanted["status"]
    since = now if changed else before.get("lastTransitionTime")
    return {"lastProbeTime": before.get("lastProbeTime"), "lastTransitionTime": since, **wanted}


def with_generation(pod: Pod, wanted: Mapping[str, Any]) -> Document:
    """The condition with the generation of the pod that it speaks of (1.36)."""
    generation = ((pod.manifest or {}).get("metadata") or {}).get("generation", 1)
    return {**wanted, "observedGeneration": generation}


def two_way_diff(pod: Pod, status: Mapping[str, Any], now: str) -> Document:
    """The strategic merge patch from a pod's status to one with these members; empty when nothing changes.

    Of a condition that is there already, only the members that change are sent. Upstream: CreateTwoWayMergePatch.
    """
    patch: Document = {}
    if status.get("conditions"):
        patch |= _conditions_diff(conditions_of(pod), status["conditions"], now)
    if "nominatedNodeName" in status and status["nominatedNodeName"] != pod.nominated_node_name:
        patch["nominatedNodeName"] = status["nominatedNodeName"] or None
    if "extendedResourceClaimStatus" in status:
        was = ((pod.manifest or {}).get("status") or {}).get("extendedResourceClaimStatus") or {}
        new = {key: value for key, value in status["extendedResourceClaimStatus"].items() if was.get(key) != value}
        patch |= {"extendedResourceClaimStatus": new} if new else {}
    return {"status": patch} if patch else {}


def _conditions_diff(before: Sequence[Mapping[str, Any]], wanted: Sequence[Mapping[str, Any]], now: str) -> Document:
    known = {condition["type"]: condition for condition in before}
    changed = []
    for condition in wanted:
        was = known.get(condition["type"], {})
        whole = with_times(condition, was, now)
        new = whole if not was else {key: value for key, value in whole.items() if was.get(key) != value}
        if new:
            changed.append({**new, "type": condition["type"]})
    if not changed:
        return {}
    order = dict.fromkeys([*known, *(condition["type"] for condition in wanted)])
    ordered = {"$setElementOrder/conditions": [{"type": type_} for type_ in order]} if known else {}
    return {**ordered, "conditions": changed}


def whole_pod(pod: Pod, status: Mapping[str, Any], now: str) -> Document:
    """The pod as it was read, with these members in its status (1.16). Nothing of it is lost, as upstream would."""
    manifest: Document = copy.deepcopy(dict(pod.manifest or {}))
    manifest.setdefault("apiVersion", "v1")
    manifest.setdefault("kind", "Pod")
    target = manifest.setdefault("status", {})
    conditions = target.setdefault("conditions", [])
    for condition in status.get("conditions", ()):
        at = next((i for i, other in enumerate(conditions) if other["type"] == condition["type"]), len(conditions))
        was = conditions[at] if at < len(conditions) else {}
        conditions[at : at + 1] = [with_times(condition, was, now)]
    if "nominatedNodeName" in status:
        target["nominatedNodeName"] = status["nominatedNodeName"]
        if not status["nominatedNodeName"]:
            del target["nominatedNodeName"]
    return manifest


class StatusWrite(msgspec.Struct, frozen=True, eq=False):
    """One request that changes a pod's status."""

    method: str
    """PUT or PATCH."""
    content_type: str
    body: Mapping[str, Any]


class WriteRules(msgspec.Struct, frozen=True, eq=False):
    """How one release writes."""

    status: Callable[[Pod, Mapping[str, Any], str], StatusWrite | None]
    """Of (pod, members of its status, now): the request; None: nothing changes."""
    reads_first: Callable[[Mapping[str, Any]], bool]
    """Of the members of a status: whether they are written onto the pod as it is now, not as it was tried."""
    binding_metadata: Mapping[str, Any]
    """What stands in a Binding's metadata besides name, namespace and uid."""
    retry_pauses: tuple[float, ...]
    """Seconds before each further try of a status write that failed."""
    retries: Callable[[ApiError], bool]
    """Whether a failed status write is tried again."""


def put_1_16(pod: Pod, status: Mapping[str, Any], now: str) -> StatusWrite | None:
    """The whole pod with its resourceVersion, so that a pod which has changed since is left as it is (409).

    Nothing where nothing changes; only a preemptor's node is written whatever the pod has.
    """
    if not nominates(status) and not two_way_diff(pod, status, now):
        return None
    return StatusWrite("PUT", JSON, whole_pod(pod, status, now))


def patch_1_20(pod: Pod, status: Mapping[str, Any], now: str) -> StatusWrite | None:
    """What changes, as a strategic merge patch."""
    patch = two_way_diff(pod, status, now)
    return StatusWrite("PATCH", STRATEGIC_MERGE, patch) if patch else None


def patch_1_36(pod: Pod, status: Mapping[str, Any], now: str) -> StatusWrite | None:
    """The same; conditions say of which generation they speak."""
    if status.get("conditions"):
        status = {**status, "conditions": [with_generation(pod, condition) for condition in status["conditions"]]}
    return patch_1_20(pod, status, now)


def nominates(status: Mapping[str, Any]) -> bool:
    """Whether a pod gets a nominated node: 1.16 reads the preemptor again before that. Upstream: GetUpdatedPod."""
    return bool(status.get("nominatedNodeName"))


def passing(error: ApiError) -> bool:
    """Conflicts, and a server that is in trouble or not there."""
    return error.code in (409, 500, 503) or error.refused


Change = Callable[[ResourceClaim], ResourceClaim]
"""From a claim as it is to the claim as it shall be; may raise SchedulingError."""

FINALIZER = "resource.kubernetes.io/delete-protection"
"""Keeps an allocated claim from going away. Upstream: resourceapi.Finalizer."""
TRIES = 5
"""Of a write that meets a conflict. Upstream: client-go retry.DefaultRetry."""
PAUSE = 0.01
"""Seconds between two of them."""
CONFLICT = 409


class ClaimWrites:
    """For one event loop. Claims are read before they are written; a conflict has them read and written again."""

    def __init__(self, api: ApiClient, clock: WallClock) -> None:
        self._api = api
        self._clock = clock

    async def create(self, claim: ResourceClaim) -> ResourceClaim:
        """Makes a claim whose name begins with that of ``claim``, and returns it as the server has it.

        Raises ApiError. Upstream: 1.36 createExtendedResourceClaimInAPI.
        """
        body = encode_object(claim)
        body["metadata"]["generateName"] = f"{body['metadata'].pop('name')}-"
        body["metadata"].pop("uid", None)
        body["status"] = {}
        return _decoded(await self._send("POST", _claim_path(claim).rpartition("/")[0], body))

    async def update(self, claim: ResourceClaim, change: Change) -> ResourceClaim:
        """Writes the status that ``change`` makes of the claim, after the finalizer if devices are allocated.

        Raises SchedulingError, with upstream's text. Upstream: 1.36 bindClaim.
        """
        after: ResourceClaim = await self._retried(lambda: self._update(claim, change))
        return after

    async def _update(self, claim: ResourceClaim, change: Change) -> ResourceClaim:
        current = await self._read(claim)
        before = _decoded(current)
        after = change(before)
        allocates = before.allocation is None and after.allocation is not None
        step = f"add finalizer to claim {claim.key}"
        try:
            if allocates and FINALIZER not in current["metadata"].get("finalizers", ()):
                finalizers = [*current["metadata"].get("finalizers", ()), FINALIZER]
                protected = {**current, "metadata": {**current["metadata"], "finalizers": finalizers}}
                current = await self._send("PUT", _claim_path(claim), protected)
            step = f"add {'allocation and ' if allocates else ''}reservation to claim {claim.key}"
            whole = {**current, "status": _status(current.get("status") or {}, before, after)}
            return _decoded(await self._send("PUT", f"{_claim_path(claim)}/status", whole))
        except ApiError as error:
            if error.code == CONFLICT or after.allocation is None:
                raise
            raise SchedulingError(f"{step}: {error}") from None

    async def take_back(self, claim: ResourceClaim, pod_uid: str) -> ResourceClaim:
        """The claim is no longer reserved for a pod, whoever else it is reserved for by now. Returns it as the server
        has it. Raises ApiError."""
        entry = {"$patch": "delete", "uid": pod_uid}
        patch = {"metadata": {"uid": claim.metadata.uid}, "status": {"reservedFor": [entry]}}
        return _decoded(await self._send("PATCH", f"{_claim_path(claim)}/status", patch, STRATEGIC_MERGE))

    async def delete(self, claim: ResourceClaim) -> None:
        """Deletes a claim, without its finalizer. Raises ApiError. Upstream: 1.36 deleteClaim."""

        async def unprotect() -> None:
            current = await self._read(claim)
            meta = current["metadata"]
            meta["finalizers"] = [name for name in meta.get("finalizers", ()) if name != FINALIZER]
            await self._send("PUT", _claim_path(claim), current)

        await self._retried(unprotect)
        await self._send("DELETE", _claim_path(claim), {"kind": "DeleteOptions", "apiVersion": "resource.k8s.io/v1"})

    # --- inside ------------------------------------------------------------------------------

    async def _retried(self, write: Callable[[], Any]) -> Any:
        for _ in range(TRIES - 1):
            try:
                return await write()
            except ApiError as error:
                if error.code != CONFLICT:
                    raise
            await self._clock.sleep(PAUSE)
        return await write()

    async def _read(self, claim: ResourceClaim) -> Document:
        """Raises ApiError 404 also for another claim of this name."""
        current: Document = (await self._api.request("GET", _claim_path(claim))).document()
        if current["metadata"].get("uid") != claim.metadata.uid:
            text = f'resourceclaims.resource.k8s.io "{claim.metadata.name}" not found'
            raise ApiError(text, 404, "NotFound")
        return current

    async def _send(self, method: str, path: str, body: Document, content_type: str = JSON) -> Document:
        answer = await self._api.request(method, path, (), msgspec.json.encode(body), content_type)
        written: Document = answer.document()
        return written


def _claim_path(claim: ResourceClaim) -> str:
    meta = claim.metadata
    return f"/apis/resource.k8s.io/v1/namespaces/{meta.namespace}/resourceclaims/{meta.name}"


def _decoded(document: Document) -> ResourceClaim:
    whole = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", **document}
    claim = decode_object(whole)
    assert isinstance(claim, ResourceClaim)
    return claim


def _status(current: Document, before: ResourceClaim, after: ResourceClaim) -> Document:
    """The status of ``after``, with what the server has of it besides; members that are empty are left out."""
    wanted = encode_object(after).get("status") or {}
    status = {**current, "reservedFor": wanted.get("reservedFor")}
    if after.allocation is None:
        status |= {"allocation": None, "devices": None}
    elif before.allocation is None:
        status["allocation"] = wanted["allocation"]
    elif after.allocation.timestamp is not None:
        status["allocation"] = {**current["allocation"], "allocationTimestamp": after.allocation.timestamp}
    return {key: value for key, value in status.items() if value is not None}


Status = Mapping[str, Any]
"""Members of a pod's status."""


@attrs.define(eq=False)
class _Waiting:
    """A write that has not begun."""

    pod: Pod
    status: Status
    done: asyncio.Event = attrs.field(factory=asyncio.Event)
    error: BaseException | None = None


@attrs.define(eq=False)
class _PodTurns:
    """The writes of one pod."""

    lock: asyncio.Lock = attrs.field(factory=asyncio.Lock)
    waiting: dict[Hashable, _Waiting] = attrs.field(factory=dict)
    """What is said → the write that says it."""
    written: Status | None = None
    """What the last write said; None: nothing was written yet, or it failed."""
    users: int = 0


class StatusTurns:
    """Writes of one pod are done one after the other, in the order in which they were asked for.

    Attempts may ask for more of them than a limited client sends: a write takes the place of one that still waits and
    says the same members, and one that says what was just written is done. Upstream: 1.36 merges the calls that wait in
    its API dispatcher; releases before wait for each write. For one event loop.
    """

    def __init__(self, write: Callable[[Pod, Status], Awaitable[None]]) -> None:
        """write: writes the members of a pod's status."""
        self._write = write
        self._turns: dict[str, _PodTurns] = {}

    def __len__(self) -> int:
        """How many pods have writes under way."""
        return len(self._turns)

    def replaced(self, pod: Pod, status: Status) -> bool:
        """Whether a write that waits was made to say this instead: nothing is left to do."""
        return self._replaced(pod, status) is not None

    async def take(self, pod: Pod, status: Status) -> None:
        """Returns once this is written, or what came after it and says the same members. Raises what writing raises."""
        waiting = self._replaced(pod, status)
        if waiting is None:
            await self._take(pod, status)
            return
        await waiting.done.wait()
        if waiting.error is not None:
            raise waiting.error

    def _replaced(self, pod: Pod, status: Status) -> _Waiting | None:
        turns = self._turns.get(pod.metadata.uid)
        waiting = None if turns is None else turns.waiting.get(said(status))
        if waiting is not None:
            waiting.pod, waiting.status = pod, status
        return waiting

    async def _take(self, pod: Pod, status: Status) -> None:
        uid, what, mine = pod.metadata.uid, said(status), _Waiting(pod, status)
        turns = self._turns.setdefault(uid, _PodTurns())
        turns.waiting[what] = mine
        turns.users += 1
        try:
            async with turns.lock:
                del turns.waiting[what]
                if mine.status != turns.written:
                    turns.written = None
                    await self._write(mine.pod, mine.status)
                    turns.written = mine.status
        except BaseException as error:
            mine.error = error
            raise
        finally:
            turns.waiting = {key: one for key, one in turns.waiting.items() if one is not mine}
            mine.done.set()
            turns.users -= 1
            if not turns.users:
                del self._turns[uid]


def said(status: Status) -> Hashable:
    """Of what a status speaks: its members, and the types of its conditions."""
    return frozenset(status), tuple(condition["type"] for condition in status.get("conditions") or ())


UNCERTAIN = 500
"""From this HTTP status on a request may have been carried out."""
PAUSES = (0.1, 0.2, 0.5, 1.0)
"""Seconds between questions that the server does not answer; the last one is repeated."""

OBJECT_PATHS = {
    "PersistentVolume": "/api/v1/persistentvolumes/{name}",
    "PersistentVolumeClaim": "/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}",
}
"""Kind → where an object of it is written."""


class SentBinding(msgspec.Struct, frozen=True, eq=False):
    """A binding whose answer is awaited."""

    answer: Future[ApiAnswer]

    def wait(self) -> None:
        """Waits for the answer, whatever it is."""
        self.answer.exception()

    def when_settled(self, follow: Callable[[], None], /) -> None:
        """Has ``follow`` called once there is an answer, on the I/O thread, or at once if it is there."""
        self.answer.add_done_callback(lambda _: follow())


class LiveClient:
    """Binds, deletes and patches; each method waits for the answer, and raises ApiError when it is no.

    Status writes of one pod take turns; see StatusTurns.
    """

    def __init__(
        self,
        api: ApiClient,
        io: IoThread,
        rules: WriteRules,
        *,
        trouble: Callable[[str], None],
        clock: WallClock | None = None,
    ) -> None:
        self._api = api
        self._io = io
        self._rules = rules
        self._trouble = trouble
        self._clock = clock or WallClock()
        self._turns = StatusTurns(self._write_tried)
        self._claims = ClaimWrites(api, self._clock)
        self._sent: dict[tuple[str, str], SentBinding] = {}

    # --- for threads that may wait -------------------------------------------------------------

    def bind(self, pod: Pod, node_name: str) -> None:
        """Upstream: DefaultBinder. A binding that was sent already only has its answer looked at."""
        sent = self._sent.pop((pod.metadata.uid, node_name), None)
        (self._send(pod, node_name) if sent is None else sent).answer.result()

    def _send(self, pod: Pod, node_name: str) -> SentBinding:
        meta = pod.metadata
        identity = {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid, **self._rules.binding_metadata}
        body = {
            "kind": "Binding",
            "apiVersion": "v1",
            "metadata": identity,
            "target": {"kind": "Node", "name": node_name},
        }
        return SentBinding(self._io.submit(self._bound(pod, node_name, body)))

    def delete_pod(self, pod: Pod) -> None:
        """Without preconditions, as upstream."""
        self._io.wait(self._api.request("DELETE", _path(pod), body={"kind": "DeleteOptions", "apiVersion": "v1"}))

    def patch_pod_status(self, pod: Pod, status: Mapping[str, Any]) -> None:
        """In the way of the release, tried as often as it does."""
        self._io.wait(self._turns.take(pod, status))

    def update_object(self, obj: ClusterObject) -> None:
        """Reads the object as the server has it, and writes it back with what this version of it says."""
        self._io.wait(self._update(obj))

    def create_claim(self, claim: ResourceClaim) -> ResourceClaim:
        """The server completes the name."""
        return self._io.wait(self._claims.create(claim))

    def update_claim(self, claim: ResourceClaim, change: Change) -> ResourceClaim:
        """Reads the claim as the server has it, and changes that; again after a conflict."""
        return self._io.wait(self._claims.update(claim, change))

    def take_back_claim(self, claim: ResourceClaim, pod: Pod) -> ResourceClaim:
        """As a patch that removes the pod and nothing else."""
        return self._io.wait(self._claims.take_back(claim, pod.metadata.uid))

    def delete_claim(self, claim: ResourceClaim) -> None:
        """Takes its finalizer off before."""
        self._io.wait(self._claims.delete(claim))

    # --- for the scheduler's thread --------------------------------------------------------------

    def send_binding(self, pod: Pod, node_name: str) -> SentBinding:
        """Sends a binding; ``bind`` with the same arguments, called once it is settled, says what became of it."""
        sent = self._sent[pod.metadata.uid, node_name] = self._send(pod, node_name)
        return sent

    def write_status_later(self, pod: Pod, status: Mapping[str, Any]) -> None:
        """The same as ``patch_pod_status``, beside everything else; what goes wrong is told to ``trouble``."""
        self._io.submit(self._write_or_tell(pod, status))

    # --- on the I/O thread -----------------------------------------------------------------------

    async def _bound(self, pod: Pod, node_name: str, body: Any) -> ApiAnswer:
        """Sends a binding. Without an answer the pod itself is asked about: until then its room is not another's."""
        try:
            return await self._api.request("POST", f"{_path(pod)}/binding", body=body)
        except ApiError as error:
            if error.refused or 0 < error.code < UNCERTAIN:
                raise
            now = await self._known(pod)
            if now is None or now.document()["spec"].get("nodeName") != node_name:
                raise
            return now

    async def _known(self, pod: Pod) -> ApiAnswer | None:
        """The pod as the server has it, asked for until there is an answer; None: it is gone, or the process ends."""
        for pause in chain(PAUSES, repeat(PAUSES[-1])):
            try:
                now = await self._api.request("GET", _path(pod))
            except ApiError as error:
                if self._api.is_ending or 0 < error.code < UNCERTAIN:
                    return None
                await self._clock.sleep(pause)
            else:
                return now if now.document()["metadata"].get("uid") == pod.metadata.uid else None
        return None

    async def _write_or_tell(self, pod: Pod, status: Mapping[str, Any]) -> None:
        if self._turns.replaced(pod, status):
            return
        try:
            await self._turns.take(pod, status)
        except ApiError as error:
            self._trouble(structured("Error updating pod", err=str(error), pod=pod.key))
        except Exception as error:  # nobody else would hear of it
            self._trouble(structured("Error updating pod", err=f"{type(error).__name__}: {error}", pod=pod.key))

    async def _write_tried(self, pod: Pod, status: Mapping[str, Any]) -> None:
        """Raises ApiError when the last try failed."""
        if self._rules.reads_first(status):
            pod = msgspec.structs.replace(pod, manifest=(await self._api.request("GET", _path(pod))).document())
        write = self._rules.status(pod, status, self._clock.now().strftime("%Y-%m-%dT%H:%M:%SZ"))
        if write is None:
            return
        body = msgspec.json.encode(write.body, order="sorted")
        for pause in (*self._rules.retry_pauses, None):
            try:
                await self._api.request(write.method, f"{_path(pod)}/status", (), body, write.content_type)
            except ApiError as error:
                if pause is None or not self._rules.retries(error):
                    raise
                await self._clock.sleep(pause)
            else:
                return

    async def _update(self, obj: ClusterObject) -> None:
        meta = obj.metadata
        path = OBJECT_PATHS[type(obj).__name__].format(name=meta.name, namespace=meta.namespace)
        current = (await self._api.request("GET", path)).document()
        whole = _merged(current, encode_object(obj))
        await self._api.request("PUT", path, (), msgspec.json.encode(whole), JSON)


def _path(pod: Pod) -> str:
    return f"/api/v1/namespaces/{pod.metadata.namespace}/pods/{pod.metadata.name}"


def _merged(current: Any, wanted: Any) -> Any:
    """The members of ``wanted`` over those of ``current``, member by member; lists are replaced."""
    if isinstance(current, dict) and isinstance(wanted, dict):
        return {**current, **{key: _merged(current.get(key), value) for key, value in wanted.items()}}
    return wanted
