"""A pod's status as each release writes it, and in what else the releases' writes differ."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from clusterstate.objects import Pod
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import JSON, STRATEGIC_MERGE

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


def never(_: ApiError) -> bool:
    """Nothing is tried again."""
    return False


def nominates(status: Mapping[str, Any]) -> bool:
    """Whether a pod gets a nominated node: 1.16 reads the preemptor again before that. Upstream: GetUpdatedPod."""
    return bool(status.get("nominatedNodeName"))


def never_reads(_: Mapping[str, Any]) -> bool:
    """Patches need nothing but what changes."""
    return False


def passing(error: ApiError) -> bool:
    """Conflicts, and a server that is in trouble or not there."""
    return error.code in (409, 500, 503) or error.refused
