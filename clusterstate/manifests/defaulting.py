"""The defaults that an API server fills in before it stores an object.

Manifest → manifest. Nothing is changed in place: what needs no change is returned as it is. What has
the wrong type is left alone for decoding to report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from clusterstate.manifests.decode import Manifest
from clusterstate.manifests.fields import Fields, is_stored
from clusterstate.manifests.kinds import KINDS, PREFERRED, REQUIRED, SPEC
from clusterstate.objects import EXACT_COUNT, NO_RESOURCES
from clusterstate.quantity import amount_text, quantity_or_none
from clusterstate.usage import CPU, MEMORY, as_asked, as_limited, is_hugepage_resource, is_pod_level, pod_requests

URL_NAMESPACE = bytes.fromhex("6ba7b8119dad11d180b400c04fd430c8")
"""The namespace of URLs, see RFC 9562, 6.6."""
FREE_BITS = ~(0xF000 << 64 | 0xC000 << 48)
VERSION_5 = 0x5000 << 64 | 0x8000 << 48
"""The bits of a UUID that say its version and variant; all others are free."""


def derived_uid(kind: str, namespace: Any, name: Any) -> str:
    """The uid of an object that comes without one: always the same for its kind, namespace and name.

    It is the UUID of version 5 of a text of these, in a third of the time that ``uuid.uuid5`` takes.
    """
    from hashlib import sha1

    digest = sha1(URL_NAMESPACE + f"{kind}/{namespace or ''}/{name}".encode(), usedforsecurity=False).digest()
    text = f"{int.from_bytes(digest[:16], 'big') & FREE_BITS | VERSION_5:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


DEFAULT_NAMESPACE = "default"
DEFAULT_SCHEDULER = "default-scheduler"
DEFAULT_POOL = "rbd"

Change = Callable[[Any], Any]


# --- changing without changing in place ------------------------------------------------------


def with_values(data: Manifest, **changes: Any) -> Manifest:
    """``data`` with other values; itself when they are the ones it has."""
    changed = {key: value for key, value in changes.items() if value is not data.get(key)}
    return {**data, **changed} if changed else data


def at_key(data: Any, key: str, change: Change) -> Any:
    """``data`` with the object at ``key`` changed, if there is one."""
    if not isinstance(data, Mapping) or not isinstance(data.get(key), Mapping):
        return data
    return with_values(data, **{key: change(data[key])})


def each_of(data: Any, key: str, change: Change) -> Any:
    """``data`` with every object in the list at ``key`` changed."""
    if not isinstance(data, Mapping) or not isinstance(data.get(key), list):
        return data
    items = data[key]
    changed = [change(item) if isinstance(item, Mapping) else item for item in items]
    return with_values(data, **{key: changed}) if any(a is not b for a, b in zip(changed, items, strict=True)) else data


def _filled(data: Manifest, key: str, value: Any) -> Manifest:
    """``data`` with ``value`` at ``key`` when that is absent or empty."""
    return {**data, key: value} if data.get(key) in (None, "") else data


# --- defaults --------------------------------------------------------------------------------


def default_manifest(manifest: Manifest) -> Manifest:
    """The manifest with the defaults that matter to scheduling, a namespace and a uid.

    What a release does not know was dropped before (``clusterstate.manifests.unread``). A uid that is missing is
    derived from kind, namespace and name, so that it is always the same.
    """
    kind = manifest.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        return manifest
    if kind == "StorageClass":
        manifest = _filled(manifest, "volumeBindingMode", "Immediate")
    if kind == "PersistentVolume":
        manifest = _volume(manifest)
    if kind == "Pod" and not is_stored(manifest):
        manifest = _with_label_keys(manifest)
    return _changed(at_key(manifest, "metadata", lambda meta: _metadata(kind, meta)), _BY_KIND)


def _volume(manifest: Manifest) -> Manifest:
    """A volume that is nobody's is available, as the binder of volumes says of each that is new."""
    spec, status = manifest.get("spec") or {}, manifest.get("status") or {}
    known = not isinstance(spec, Mapping) or not isinstance(status, Mapping) or spec.get("claimRef")
    return manifest if known or status.get("phase") else {**manifest, "status": {**status, "phase": "Available"}}


def _changed(manifest: Manifest, changes: Mapping[str, tuple[str, Change]]) -> Manifest:
    """changes: kind → (the key of an object in it, the change of that)."""
    kind = manifest.get("kind")
    change = changes.get(kind) if isinstance(kind, str) else None
    changed: Manifest = manifest if change is None else at_key(manifest, *change)
    return changed


def _metadata(kind: str, meta: Manifest) -> Manifest:
    if KINDS[kind].namespaced:
        meta = _filled(meta, "namespace", DEFAULT_NAMESPACE)
    if meta.get("uid") in (None, ""):
        meta = {**meta, "uid": derived_uid(kind, meta.get("namespace"), meta.get("name"))}
    return meta


def _pod_spec(spec: Manifest) -> Any:
    host = spec.get("hostNetwork") is True
    spec = _filled(spec, "schedulerName", DEFAULT_SCHEDULER)
    for key in ("containers", "initContainers"):
        spec = _containers(spec, key, host)
    return _pod_level(each_of(spec, "volumes", _rbd))


def _containers(spec: Manifest, key: str, host: bool) -> Any:
    return each_of(spec, key, lambda c: each_of(at_key(c, "resources", _requests), "ports", lambda p: _port(p, host)))


def _requests(resources: Manifest) -> Manifest:
    """Every resource with a limit and without a request gets request := limit, unless that is no amount."""
    limits, requests = resources.get("limits"), resources.get("requests")
    if not isinstance(limits, Mapping) or not isinstance(requests, Mapping | None):
        return resources
    missing = {
        name: amount
        for name, amount in limits.items()
        if name not in (requests or {}) and (amount is None or quantity_or_none(amount) is not None)
    }
    return {**resources, "requests": {**(requests or {}), **missing}} if missing else resources


def _pod_level(spec: Manifest) -> Manifest:
    """A pod that limits what it takes as a whole, as containers do, asks for what they ask for, else for its limit.

    Upstream: 1.34 defaultHugePagePodLimits, defaultPodRequests.
    """
    given = _mapping(spec.get("resources"))
    requests, limits = _mapping(given.get("requests")), _mapping(given.get("limits"))
    faults: list[str] = []
    if not (requests or limits) or any(quantity_or_none(amount) is None for amount in limits.values()):
        return spec
    pod = msgspec.structs.replace(SPEC.read(Fields(spec, faults)), resources=NO_RESOURCES, overhead=NO_RESOURCES)
    if faults:
        return spec
    asked, limited = pod_requests(pod, as_asked(pod)), pod_requests(pod, as_limited(pod))
    huge = {name: amount_text(name, limited[name]) for name in limited if is_hugepage_resource(name)}
    limits = {**{name: amount for name, amount in huge.items() if name not in requests}, **limits}
    if not limits:
        return spec
    of_containers = {name: amount_text(name, asked[name]) for name in (CPU, MEMORY) if name in asked}
    of_limits = {name: amount for name, amount in limits.items() if is_pod_level(name)}
    filled = {**given, "limits": limits, "requests": {**of_limits, **of_containers, **requests}}
    return spec if filled == given else {**spec, "resources": filled}


def _port(port: Manifest, host: bool) -> Manifest:
    if host and port.get("hostPort") in (None, 0) and port.get("containerPort"):
        port = {**port, "hostPort": port["containerPort"]}
    return _filled(port, "protocol", "TCP")


def _rbd(data: Manifest) -> Any:
    return at_key(data, "rbd", lambda rbd: _filled(rbd, "pool", DEFAULT_POOL))


def _allocatable(status: Manifest) -> Manifest:
    if status.get("allocatable") is None and status.get("capacity") is not None:
        return {**status, "allocatable": status["capacity"]}
    return status


def _selector(spec: Manifest) -> Manifest:
    """Without a selector a ReplicationController has its template's labels."""
    template = spec.get("template")
    meta = template.get("metadata") if isinstance(template, Mapping) else None
    labels = meta.get("labels") if isinstance(meta, Mapping) else None
    return {**spec, "selector": labels} if labels and not spec.get("selector") else spec


def _claim_spec(spec: Manifest) -> Any:
    return at_key(spec, "devices", lambda devices: each_of(devices, "requests", _request))


def _request(request: Manifest) -> Any:
    """That of v1beta1 says itself how many."""
    return _count(each_of(at_key(request, "exactly", _count), "firstAvailable", _count))


def _count(ask: Manifest) -> Manifest:
    """No devices at all are one. Upstream: SetDefaults_ExactDeviceRequest."""
    count = ask.get("count")
    none = type(count) is int and count == 0 and ask.get("allocationMode") in (None, "", EXACT_COUNT)
    return {**ask, "count": 1} if none else ask


def _limit(item: Manifest) -> Manifest:
    """What bounds containers gives them amounts, too. Upstream: SetDefaults_LimitRangeItem."""
    own = {key: _mapping(item.get(key)) for key in ("max", "min", "default", "defaultRequest")}
    limits = {**own["max"], **own["default"]}
    requests = {**own["min"], **limits, **own["defaultRequest"]}
    changed = {key: new for key, new in (("default", limits), ("defaultRequest", requests)) if new != own[key]}
    return with_values(item, **changed) if item.get("type") == "Container" else item


def _pod_spec_1_4(spec: Manifest) -> Any:
    return each_of(_containers(spec, "containers", spec.get("hostNetwork") is True), "volumes", _rbd)


_BY_KIND_1_4: dict[str, tuple[str, Change]] = {
    "Pod": ("spec", _pod_spec_1_4),
    "Node": ("status", _allocatable),
    "PersistentVolume": ("spec", _rbd),
    "ReplicationController": ("spec", _selector),
}
_BY_KIND: dict[str, tuple[str, Change]] = {
    **_BY_KIND_1_4,
    "Pod": ("spec", _pod_spec),
    "LimitRange": ("spec", lambda spec: each_of(spec, "limits", _limit)),
    "ResourceClaim": ("spec", _claim_spec),
    "ResourceClaimTemplate": ("spec", lambda spec: at_key(spec, "spec", _claim_spec)),
}


def default_manifest_1_4(manifest: Manifest) -> Manifest:
    """The manifest as the decoder of release 1.4 itself fills it in, whoever wrote it: no namespace, no uid.

    Init containers are no field there and get nothing.
    """
    return _changed(manifest, _BY_KIND_1_4)


def named_manifest_1_4(manifest: Manifest) -> Manifest:
    """The same with a namespace and a uid."""
    kind = manifest.get("kind")
    if isinstance(kind, str) and kind in KINDS:
        manifest = at_key(manifest, "metadata", lambda meta: _metadata(kind, meta))
    return default_manifest_1_4(manifest)


# --- label keys ------------------------------------------------------------------------------

OPERATORS = {"matchLabelKeys": "In", "mismatchLabelKeys": "NotIn"}


def _with_label_keys(manifest: Manifest) -> Manifest:
    """A new pod; an affinity term that names label keys selects by the pod's own values of them.

    Upstream: 1.36 pod strategy, applyMatchLabelKeysAndMismatchLabelKeys.
    """
    spec, labels = manifest.get("spec"), _mapping(manifest.get("metadata")).get("labels")
    affinity = _mapping(spec).get("affinity")
    if not isinstance(affinity, Mapping) or not isinstance(labels, Mapping) or not isinstance(spec, Mapping):
        return manifest
    changed = {kind: _group(affinity[kind], labels) for kind in ("podAffinity", "podAntiAffinity") if kind in affinity}
    return with_values(manifest, spec=with_values(spec, affinity=with_values(affinity, **changed)))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _group(group: Any, labels: Mapping[str, Any]) -> Any:
    """podAffinity or podAntiAffinity with the selectors of its terms completed."""
    out = each_of(group, REQUIRED, lambda term: _completed(term, labels))
    return each_of(
        out, PREFERRED, lambda weighted: at_key(weighted, "podAffinityTerm", lambda t: _completed(t, labels))
    )


def _completed(term: Any, labels: Mapping[str, Any]) -> Any:
    """A term with one requirement more for each of its label keys that the pod has; none without a selector."""
    selector = _mapping(term).get("labelSelector")
    if not isinstance(selector, Mapping):
        return term
    more = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for keys, operator in OPERATORS.items()
        for key in term.get(keys) or ()
        if key in labels
    ]
    if not more:
        return term
    expressions = selector.get("matchExpressions") or []
    fresh = [requirement for requirement in more if requirement not in expressions]
    return {**term, "labelSelector": {**selector, "matchExpressions": [*expressions, *fresh]}} if fresh else term
