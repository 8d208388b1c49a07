"""What the admission plugins of an API server make of a pod that comes to a cluster, by what is there already.

Manifest → manifest, as for defaults. A pod that a server has stored, or that has a node, was admitted before: it gets
its priority and tolerations if it has none, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from clusterstate.errors import DecodeError, nearest
from clusterstate.manifests.decode import Manifest, Prepare
from clusterstate.manifests.defaulting import default_manifest, each_of, with_values
from clusterstate.manifests.fields import Fields, is_stored
from clusterstate.manifests.kinds import SPEC, TOLERATION
from clusterstate.manifests.tables import resources_text
from clusterstate.objects import (
    NO_RESOURCES,
    AdmissionObject,
    LimitRange,
    LimitRangeItem,
    PriorityClass,
    RuntimeClass,
)
from clusterstate.quantity import amount_text, format_quantity
from clusterstate.usage import as_asked, as_limited, pod_requests

TOLERATION_SECONDS = 300
TOLERATED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
"""Taints that every pod tolerates for ``TOLERATION_SECONDS``."""

SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""Priority classes that every cluster has."""


def admission_1_13(objects: Iterable[AdmissionObject]) -> Prepare:
    """Defaults, then the plugins LimitRanger, Priority and DefaultTolerationSeconds."""
    there = tuple(objects)
    ranges = {(obj.metadata.namespace, obj.metadata.name): obj for obj in there if isinstance(obj, LimitRange)}
    classes = {obj.metadata.name: obj for obj in there if isinstance(obj, PriorityClass)}
    global_default = global_default_of(classes.values())

    def prepare(manifest: Manifest) -> Manifest:
        pod = default_manifest(manifest)
        if ranges and is_new(manifest):
            pod = default_manifest(limited(pod, ranges.values()))  # again, as whoever reads what was stored
        return admit_pod(pod, classes, global_default)

    return prepare


def admission_1_16(objects: Iterable[AdmissionObject]) -> Prepare:
    """The same after the plugin RuntimeClass, whose refusals a server tells before those of LimitRanger."""
    there = tuple(objects)
    classes = {obj.metadata.name: obj for obj in there if isinstance(obj, RuntimeClass)}
    admit = admission_1_13(there)

    def prepare(manifest: Manifest) -> Manifest:
        return admit(of_runtime_class(manifest, classes) if is_new(manifest) else manifest)

    return prepare


def is_new(manifest: Manifest) -> bool:
    """Whether it is a pod that no server has stored and that has no node."""
    metadata, spec = manifest.get("metadata"), manifest.get("spec")
    if manifest.get("kind") != "Pod" or not isinstance(metadata, Mapping) or not isinstance(spec, Mapping):
        return False
    return not is_stored(manifest) and not spec.get("nodeName")


# --- LimitRanger -----------------------------------------------------------------------------


def limited(pod: Manifest, ranges: Iterable[LimitRange]) -> Manifest:
    """The pod with the amounts that limit ranges of its namespace give to containers without.

    Raises DecodeError with every amount that is beyond one. Upstream: 1.36 LimitRanger; before 1.28 a bound on pods was
    missed by a pod of which one container said nothing, here it counts as 0.
    """
    own = [one for one in ranges if one.metadata.namespace == pod["metadata"].get("namespace")]
    for one in own:
        pod = with_values(pod, spec=_with_amounts(pod["spec"], one))
    faults: list[str] = []
    spec = SPEC.read(Fields(pod["spec"], faults))
    if faults:  # which decoding reports
        return pod
    if beyond := [fault for one in own for item in one.limits for fault in _beyond(item, pod, spec)]:
        raise DecodeError(beyond)
    return pod


def _with_amounts(spec: Manifest, limit_range: LimitRange) -> Any:
    """Upstream: defaultContainerResourceRequirements, mergePodResourceRequirements."""
    items = [item for item in limit_range.limits if item.type == "Container"]
    limits = {name: amount for item in items for name, amount in item.default.items()}
    requests = {name: amount for item in items for name, amount in item.default_request.items()}
    for key in ("containers", "initContainers"):
        spec = each_of(spec, key, lambda container: _filled(container, requests, limits))
    return spec


def _filled(container: Manifest, requests: Mapping[str, int], limits: Mapping[str, int]) -> Manifest:
    given = container.get("resources") or {}
    if not isinstance(given, Mapping):
        return container
    filled = {}
    for key, amounts in (("requests", requests), ("limits", limits)):
        own = given.get(key) or {}
        if not isinstance(own, Mapping):
            return container
        filled[key] = {
            **{name: amount_text(name, amount) for name, amount in amounts.items() if name not in own},
            **own,
        }
    changed = {key: amounts for key, amounts in filled.items() if amounts}
    return with_values(container, resources={**given, **changed}) if changed else container


def _beyond(item: LimitRangeItem, pod: Manifest, spec: Any) -> Iterator[str]:
    """What is beyond one bound, with its path."""
    if item.type == "Container":
        for key, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
            for index, container in enumerate(containers):
                for fault in _faults(item, container.requests, container.limits):
                    yield f"spec.{key}[{index}].resources: {fault}"
    elif item.type == "Pod":
        of_pod = Fields(pod["spec"].get("resources") or {}, []).resources("limits")
        alone = msgspec.structs.replace(spec, overhead=NO_RESOURCES)
        limits = {**pod_requests(alone, as_limited(alone)), **of_pod}
        for fault in _faults(item, pod_requests(alone, as_asked(alone)), limits):
            yield f"spec: {fault}"


def _faults(item: LimitRangeItem, requests: Mapping[str, int], limits: Mapping[str, int]) -> Iterator[str]:
    for name, bound in item.min.items():
        yield from _below(f"minimum {name} usage per {item.type} is ", name, bound, requests, limits)
    for name, bound in item.max.items():
        yield from _above(f"maximum {name} usage per {item.type} is ", name, bound, requests, limits)
    for name, bound in item.max_limit_request_ratio.items():
        said = f"{name} max limit to request ratio per {item.type} is {format_quantity(bound)}, but "
        yield from (said + fault for fault in _ratio(bound, requests.get(name), limits.get(name)))


def _below(said: str, name: str, bound: int, requests: Mapping[str, int], limits: Mapping[str, int]) -> Iterator[str]:
    """Upstream: minConstraint."""
    if name not in requests:
        yield f"{said}{amount_text(name, bound)}.  No request is specified"
    elif requests[name] < bound:
        yield f"{said}{amount_text(name, bound)}, but request is {amount_text(name, requests[name])}"
    elif limits.get(name, bound) < bound:
        yield f"{said}{amount_text(name, bound)}, but limit is {amount_text(name, limits[name])}"


def _above(said: str, name: str, bound: int, requests: Mapping[str, int], limits: Mapping[str, int]) -> Iterator[str]:
    """Upstream: maxConstraint."""
    if name not in limits:
        yield f"{said}{amount_text(name, bound)}.  No limit is specified"
    elif limits[name] > bound:
        yield f"{said}{amount_text(name, bound)}, but limit is {amount_text(name, limits[name])}"
    elif requests.get(name, bound) > bound:
        yield f"{said}{amount_text(name, bound)}, but request is {amount_text(name, requests[name])}"


def _ratio(bound: int, request: int | None, limit: int | None) -> Iterator[str]:
    """Upstream: limitRequestRatioConstraint."""
    if not request:
        yield "no request is specified or request is 0"
    elif not limit:
        yield "no limit is specified or limit is 0"
    elif limit / request * 1000 > bound:
        yield f"provided ratio is {limit / request:f}"


# --- RuntimeClass ----------------------------------------------------------------------------


MISMATCH = "Pod's Overhead doesn't match RuntimeClass's defined Overhead"
UNDEFINED = "Pod Overhead set without corresponding RuntimeClass defined Overhead"


def of_runtime_class(pod: Manifest, classes: Mapping[str, RuntimeClass]) -> Manifest:
    """The pod with the overhead, node selector and tolerations of the class that it names.

    Raises DecodeError where it cannot have them, and for a class that does not exist. A pod without a class keeps an
    overhead that it says itself. Upstream: 1.36 RuntimeClass.
    """
    spec = pod["spec"]
    name = spec.get("runtimeClassName")
    if not name or not isinstance(name, str):
        return pod
    found = classes.get(name)
    if found is None:
        hint = nearest(name, classes) or "; add the class to the cluster, or remove it from the pod"
        raise DecodeError(f'spec.runtimeClassName: there is no RuntimeClass "{name}"{hint}')
    faults: list[str] = []
    given = SPEC.read(Fields(spec, faults))
    if faults:  # which decoding reports
        return pod
    if spec.get("overhead") is not None and given.overhead != found.overhead:
        faults.append(f"spec.overhead: {MISMATCH if found.overhead else UNDEFINED}")
    own = dict(given.node_selector)
    faults += (
        f"spec.nodeSelector: conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
        f"pod.spec.nodeSelector[{key}] = {own[key]}"
        for key, value in found.node_selector.items()
        if own.get(key, value) != value
    )
    if faults:
        raise DecodeError(faults)
    more = [TOLERATION.write(one) for one in found.tolerations if one not in given.tolerations]
    changes: dict[str, Any] = {
        "overhead": resources_text(found.overhead),
        "nodeSelector": {**own, **found.node_selector},
        "tolerations": [*(spec.get("tolerations") or ()), *more] if more else None,
    }
    return with_values(pod, spec=with_values(spec, **{key: value for key, value in changes.items() if value}))


# --- Priority and DefaultTolerationSeconds ---------------------------------------------------


def global_default_of(classes: Iterable[PriorityClass]) -> PriorityClass | None:
    """The class with ``globalDefault``; of several the one with the lowest value, as upstream takes it."""
    return min((c for c in classes if c.global_default), key=lambda c: c.value, default=None)


def admit_pod(
    manifest: Manifest,
    priority_classes: Mapping[str, int | PriorityClass],
    global_default: PriorityClass | None = None,
) -> Manifest:
    """The pod with its priority and the two tolerations that every pod gets; other kinds as they are.

    A pod that has a priority keeps it. Raises DecodeError for a priority class that does not exist.
    Upstream: the admission plugins Priority and DefaultTolerationSeconds.
    """
    if manifest.get("kind") != "Pod" or not isinstance(manifest.get("spec"), Mapping):
        return manifest
    spec = _prioritised(manifest["spec"], priority_classes, global_default)
    return with_values(manifest, spec=_tolerant(spec))


def _prioritised(
    spec: Manifest, classes: Mapping[str, int | PriorityClass], global_default: PriorityClass | None
) -> Manifest:
    name = spec.get("priorityClassName")
    if spec.get("priority") is not None or not isinstance(name, str | None):
        return spec
    found: int | PriorityClass | None = global_default
    if name:
        found = classes.get(name, SYSTEM_CLASSES.get(name))
        if found is None:
            raise DecodeError(f"spec.priorityClassName: {_unknown_class(name, classes)}")
    if found is None or isinstance(found, int):
        return {**spec, "priority": found or 0}
    policy = {"preemptionPolicy": found.preemption_policy} if found.preemption_policy else {}
    return {**policy, **spec, "priority": found.value, "priorityClassName": found.metadata.name}


def _unknown_class(name: str, classes: Mapping[str, object]) -> str:
    hint = nearest(name, [*classes, *SYSTEM_CLASSES]) or "; add the class to the cluster, or set spec.priority"
    return f'there is no PriorityClass "{name}"{hint}'


def _tolerant(spec: Manifest) -> Manifest:
    tolerations = spec.get("tolerations")
    if not isinstance(tolerations, list | None):
        return spec
    given = [t for t in tolerations or () if isinstance(t, Mapping)]
    added = [_toleration(key) for key in TOLERATED if not any(_tolerates(t, key) for t in given)]
    return {**spec, "tolerations": [*(tolerations or ()), *added]} if added else spec


def _tolerates(toleration: Manifest, key: str) -> bool:
    return toleration.get("key") in (key, None, "") and toleration.get("effect") in ("NoExecute", None, "")


def _toleration(key: str) -> dict[str, Any]:
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": TOLERATION_SECONDS}
