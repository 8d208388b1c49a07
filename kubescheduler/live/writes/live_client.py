"""The scheduler's writes to a real API server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from itertools import chain, repeat
from typing import Any

import msgspec

from clusterstate.manifests.kinds import encode_object
from clusterstate.objects import ClusterObject, Pod
from clusterstate.objects.resource import ResourceClaim
from kubescheduler.live.contract.wall_clock import SystemClock, WallClock
from kubescheduler.live.transport.api_answers import ApiAnswer, ApiError
from kubescheduler.live.transport.api_client import JSON, ApiClient
from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.live.writes.claim_writes import Change, ClaimWrites
from kubescheduler.live.writes.status_turns import StatusTurns
from kubescheduler.live.writes.write_rules import WriteRules

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
        self._clock = SystemClock() if clock is None else clock
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
            self._trouble(f'"Error updating pod" err="{error}" pod="{pod.key}"')
        except Exception as error:  # nobody else would hear of it
            self._trouble(f'"Error updating pod" err="{type(error).__name__}: {error}" pod="{pod.key}"')

    async def _write_tried(self, pod: Pod, status: Mapping[str, Any]) -> None:
        """Raises ApiError when the last try failed."""
        if self._rules.reads_first(status):
            pod = msgspec.structs.replace(pod, manifest=(await self._api.request("GET", _path(pod))).document())
        write = self._rules.status(pod, status, self._now())
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

    def _now(self) -> str:
        return self._clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")


def _path(pod: Pod) -> str:
    return f"/api/v1/namespaces/{pod.metadata.namespace}/pods/{pod.metadata.name}"


def _merged(current: Any, wanted: Any) -> Any:
    """The members of ``wanted`` over those of ``current``, member by member; lists are replaced."""
    if isinstance(current, dict) and isinstance(wanted, dict):
        return {**current, **{key: _merged(current.get(key), value) for key, value in wanted.items()}}
    return wanted
