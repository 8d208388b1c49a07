"""Manifests of nodes and pods from a few arguments, as Python writes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from clusterstate.errors import DecodeError
from clusterstate.manifests.annotations_1_4 import TAINTS_ANNOTATION, TOLERATIONS_ANNOTATION
from clusterstate.node_order import REGION, STABLE_REGION, STABLE_ZONE, ZONE
from clusterstate.usage import may_overcommit
from kubecel.api_names import label_value_errors
from kubescheduler.given import refuse, wrong_type

Amount = int | float | str
"""An amount as Kubernetes writes it: ``4``, ``"500m"``, ``"8Gi"``."""

HOSTNAME = "kubernetes.io/hostname"
PODS_A_NODE = 110
"""Pods that a kubelet takes when nobody says otherwise."""

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

_TAINT = re.compile(r"(?P<key>[^=:]+)(?:=(?P<value>[^:]*))?:(?P<effect>\w+)")
_TOLERATION = re.compile(r"(?P<key>[^=:]*)(?:=(?P<value>[^:]*))?(?::(?P<effect>\w*))?")


def node(  # noqa: PLR0913
    name: str,
    *,
    cpu: Amount = 4,
    memory: Amount = "8Gi",
    pods: int = PODS_A_NODE,
    resources: Mapping[str, Amount] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    taints: Iterable[str | Mapping[str, Any]] = (),
    zone: str | None = None,
    region: str | None = None,
    unschedulable: bool = False,
    status: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The manifest of a ready node.

    cpu, memory, pods: allocatable; by default 4, 8Gi and 110. resources: further ones, such as
    ``{"nvidia.com/gpu": 2}``. labels: besides ``kubernetes.io/hostname``, the name. taints: as kubectl writes
    them, ``"key=value:NoSchedule"``, or manifests. zone, region: set the labels of all releases. status: what else
    ``status`` has, such as images. Raises DecodeError for a taint that is none.

    >>> node("a", cpu=2, taints=["dedicated=db:NoSchedule"])["spec"]
    {'taints': [{'key': 'dedicated', 'value': 'db', 'effect': 'NoSchedule'}]}
    """
    places = {ZONE: zone, STABLE_ZONE: zone, REGION: region, STABLE_REGION: region}
    refuse(
        [
            *wrong_type("labels", labels, (Mapping,), "a dict"),
            *wrong_type("taints", taints, (Iterable,), "texts like key=value:NoSchedule, or manifests"),
        ]
    )
    own = {} if label_value_errors(str(name)) else {HOSTNAME: name}
    known = {**own, **{key: place for key, place in places.items() if place}, **(labels or {})}
    given = [taint(each) for each in _several(taints)]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": _metadata(name, known, {**as_annotation(TAINTS_ANNOTATION, given), **(annotations or {})}),
        "spec": {**({"taints": given} if given else {}), **({"unschedulable": True} if unschedulable else {})},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            **(status or {}),
            "allocatable": {"cpu": cpu, "memory": memory, "pods": pods, **(resources or {})},
        },
    }


def pod(  # noqa: PLR0913
    name: str,
    *,
    node: str | None = None,
    namespace: str = "default",
    cpu: Amount | None = None,
    memory: Amount | None = None,
    resources: Mapping[str, Amount] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    priority: int | None = None,
    priority_class: str | None = None,
    node_selector: Mapping[str, str] | None = None,
    tolerations: Iterable[str | Mapping[str, Any]] = (),
    scheduler_name: str | None = None,
    gates: Iterable[str] = (),
    image: str = "pause",
    spec: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The manifest of a pod with one container.

    node: where it runs; a pod without one is pending. cpu, memory, resources: what it requests, and its limit where an
    API server wants one. tolerations: as texts, ``"key=value:NoSchedule"``, ``"key:NoSchedule"`` or ``"key"``, or
    manifests. gates: names of scheduling gates. spec: anything else of ``spec`` in kubectl's form, such as affinity.
    Raises DecodeError for a toleration that is none.

    >>> pod("web-1", cpu="500m", tolerations=["dedicated=db"])["spec"]["tolerations"]
    [{'key': 'dedicated', 'operator': 'Equal', 'value': 'db'}]
    """
    tolerated = [toleration(each) for each in _several(tolerations)]
    noted = {**as_annotation(TOLERATIONS_ANNOTATION, tolerated), **(annotations or {})}
    requests = {**_given(cpu=cpu, memory=memory), **(resources or {})}
    limits = {name: amount for name, amount in requests.items() if not may_overcommit(name)}
    asked = {"resources": _given(requests=requests, limits=limits or None)} if requests else {}
    container = {"name": "main", "image": image, **asked}
    fields = _given(
        nodeName=node,
        priority=priority,
        priorityClassName=priority_class,
        nodeSelector=None if node_selector is None else dict(node_selector),
        tolerations=tolerated or None,
        schedulerName=scheduler_name,
        schedulingGates=[{"name": gate} for gate in _several(gates)] or None,
    )
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**_metadata(name, labels, noted), "namespace": namespace},
        "spec": {"containers": [container], **fields, **(spec or {})},
    }


def taint(given: str | Mapping[str, Any]) -> dict[str, Any]:
    """A taint's manifest from ``key=value:Effect`` or ``key:Effect``, as ``kubectl taint`` reads them.

    >>> taint("dedicated=db:NoSchedule")
    {'key': 'dedicated', 'value': 'db', 'effect': 'NoSchedule'}
    """
    if isinstance(given, Mapping):
        return dict(given)
    parts = _TAINT.fullmatch(given)
    if parts is None or parts["effect"] not in EFFECTS:
        raise DecodeError(f"taint {given!r}: write key=value:EFFECT or key:EFFECT with one of {', '.join(EFFECTS)}")
    return _given(key=parts["key"], value=parts["value"], effect=parts["effect"])


def toleration(given: str | Mapping[str, Any]) -> dict[str, Any]:
    """A toleration's manifest from ``key=value:Effect``; without a value any is tolerated, without an effect all.

    >>> toleration("dedicated:NoSchedule")
    {'key': 'dedicated', 'operator': 'Exists', 'effect': 'NoSchedule'}
    """
    if isinstance(given, Mapping):
        return dict(given)
    parts = _TOLERATION.fullmatch(given)
    if parts is None or (parts["effect"] and parts["effect"] not in EFFECTS):
        raise DecodeError(
            f"toleration {given!r}: write key=value:EFFECT, key:EFFECT or key with one of {', '.join(EFFECTS)}"
        )
    operator = "Exists" if parts["value"] is None else "Equal"
    return _given(key=parts["key"] or None, operator=operator, value=parts["value"], effect=parts["effect"] or None)


def as_annotation(name: str, entries: list[dict[str, Any]]) -> dict[str, str]:
    """Taints or tolerations as release 1.4 has them; nothing for none."""
    import json

    return {name: json.dumps(entries)} if entries else {}


def _metadata(name: str, labels: Mapping[str, str] | None, annotations: Mapping[str, str] | None) -> dict[str, Any]:
    refuse(
        [
            *wrong_type("labels", labels, (Mapping,), "a dict"),
            *wrong_type("annotations", annotations, (Mapping,), "a dict"),
        ]
    )
    more = {"labels": dict(labels or {}), "annotations": dict(annotations or {})}
    return {"name": name, **{key: pairs for key, pairs in more.items() if pairs}}


def _given(**fields: Any) -> dict[str, Any]:
    """The fields that are not None."""
    return {key: value for key, value in fields.items() if value is not None}


def _several(given: Iterable[Any]) -> Iterable[Any]:
    """One text is one thing, not its letters."""
    return (given,) if isinstance(given, str | Mapping) else given


Manifest = Mapping[str, Any]
Edit = Callable[[Manifest], Manifest]
"""A manifest → the same with one thing changed; what it was made from stays as it is."""


def _inside(manifest: Manifest, section: str) -> Mapping[str, Any]:
    inner = manifest.get(section)
    return inner if isinstance(inner, Mapping) else {}


def _with(manifest: Manifest, section: str, **changes: Any) -> Manifest:
    """The manifest with fields of a section set; None removes one."""
    fields = {**_inside(manifest, section), **changes}
    return {**manifest, section: {key: value for key, value in fields.items() if value is not None}}


def labelled(labels: Mapping[str, str | None]) -> Edit:
    """Sets labels; None removes one."""

    def edit(manifest: Manifest) -> Manifest:
        merged = {**_inside(_inside(manifest, "metadata"), "labels"), **labels}
        return _with(manifest, "metadata", labels={key: value for key, value in merged.items() if value is not None})

    return edit


def tainted(given: str | Manifest) -> Edit:
    """Adds a taint, in place of one with the same key and effect."""
    added = taint(given)

    def edit(manifest: Manifest) -> Manifest:
        kept = [each for each in _taints(manifest) if not _alike(each, added["key"], added.get("effect"))]
        return _with_taints(manifest, [*kept, added])

    return edit


def untainted(text: str) -> Edit:
    """Removes the taints that ``key`` or ``key:Effect`` names. Raises DecodeError when a node has none of them."""
    key, _, effect = text.removesuffix("-").partition(":")
    key = key.partition("=")[0]

    def edit(manifest: Manifest) -> Manifest:
        there = _taints(manifest)
        kept = [each for each in there if not _alike(each, key, effect or None)]
        if len(kept) == len(there):
            name = _inside(manifest, "metadata").get("name")
            has = ", ".join(f"{each.get('key')}:{each.get('effect')}" for each in there)
            raise DecodeError(f"Node {name}: there is no taint {text}; it has {has or 'none'}")
        return _with_taints(manifest, kept)

    return edit


def _taints(manifest: Manifest) -> list[Manifest]:
    """The taints of the spec; without any those that release 1.4 reads in an annotation."""
    given = _inside(manifest, "spec").get("taints")
    text = _inside(_inside(manifest, "metadata"), "annotations").get(TAINTS_ANNOTATION)
    if given is None and isinstance(text, str):
        import json

        try:
            given = json.loads(text)
        except ValueError:
            given = ()
    return [each for each in given or () if isinstance(each, Mapping)]


def _with_taints(manifest: Manifest, taints: list[Manifest]) -> Manifest:
    """With these taints, as all releases read them."""
    annotations = {**_inside(_inside(manifest, "metadata"), "annotations")}
    annotations.pop(TAINTS_ANNOTATION, None)
    annotations |= as_annotation(TAINTS_ANNOTATION, [dict(each) for each in taints])
    changed = _with(manifest, "spec", taints=taints or None)
    return _with(changed, "metadata", annotations=annotations or None)


def _alike(each: Manifest, key: str, effect: str | None) -> bool:
    return each.get("key") == key and (effect is None or each.get("effect") == effect)


def cordoned(manifest: Manifest) -> Manifest:
    """The node takes no more pods."""
    return _with(manifest, "spec", unschedulable=True)


def uncordoned(manifest: Manifest) -> Manifest:
    """The node takes pods again."""
    return _with(manifest, "spec", unschedulable=None)


def resized(amounts: Mapping[str, Any]) -> Edit:
    """Sets what is allocatable of some resources; None removes one."""

    def edit(manifest: Manifest) -> Manifest:
        status = _inside(manifest, "status")
        there = status.get("allocatable") or status.get("capacity") or {}
        merged = {key: amount for key, amount in {**there, **amounts}.items() if amount is not None}
        return _with(manifest, "status", allocatable=merged)

    return edit


def renamed(name: str) -> Edit:
    """Another object like this one: its name, its uid and a node's hostname label are new."""

    def edit(manifest: Manifest) -> Manifest:
        labels = _inside(_inside(manifest, "metadata"), "labels")
        if manifest.get("kind") == "Node" and HOSTNAME in labels:
            labels = {**labels, HOSTNAME: name}
        return _with(manifest, "metadata", name=name, uid=None, labels=dict(labels) or None)

    return edit


def bound(node: str) -> Edit:
    """The pod runs on a node."""
    return lambda manifest: _with(manifest, "spec", nodeName=node)


def unbound(manifest: Manifest) -> Manifest:
    """The pod is pending, as if it had just been created and controllers had made its claims."""
    out = {key: value for key, value in _with(manifest, "spec", nodeName=None).items() if key != "status"}
    claims = (manifest.get("status") or {}).get("resourceClaimStatuses")
    return {**out, "status": {"resourceClaimStatuses": claims}} if claims else out
