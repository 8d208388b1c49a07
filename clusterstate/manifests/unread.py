"""What of pods a release does not look at: it does not know the field, or the field's feature gate is off.

Of a pod that somebody wrote its API server drops the field then. That is done here only where a rule would read it;
everything else is left, and a note says that it counts for nothing.

Upstream: pkg/api/pod dropDisabledFields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from clusterstate.manifests.fields import is_stored
from clusterstate.manifests.kinds import PREFERRED, REQUIRED
from clusterstate.objects import EphemeralVolume, PodAffinityTerm, PodSpec, TopologySpreadConstraint


class PodField(msgspec.Struct, frozen=True):
    """One field of pods, or several that came together."""

    has: Callable[[PodSpec], bool]
    """Whether a pod has something in it that would count."""
    dropped: tuple[tuple[str, ...], ...] = ()
    """The steps of the paths in a pod's spec, through objects and lists, that are dropped of a pod that somebody
    wrote; none where no rule reads them then."""
    stays: bool = False
    """Whether it counts in a pod that a server has stored with it."""
    of_running: bool = True
    """Whether it is dropped of a pod with a node, too."""


def _terms(spec: PodSpec) -> Iterator[PodAffinityTerm]:
    affinity = spec.affinity
    for group in (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity else ():
        if group is not None:
            yield from group.required
            yield from (weighted.term for weighted in group.preferred)


def names_label_keys(spec: PodSpec) -> bool:
    """Whether a term selects by labels of the pod itself: API servers add their values to a new pod's selectors."""
    return any(term.match_label_keys or term.mismatch_label_keys for term in _terms(spec))


def _in_terms(*keys: str) -> tuple[tuple[str, ...], ...]:
    return tuple(
        ("affinity", kind, *steps, key)
        for kind in ("podAffinity", "podAntiAffinity")
        for steps in ((REQUIRED,), (PREFERRED, "podAffinityTerm"))
        for key in keys
    )


def _constrains(has: Callable[[TopologySpreadConstraint], object]) -> PodField:
    return PodField(lambda spec: any(map(has, spec.topology_spread_constraints)))


FIELDS: Mapping[str, PodField] = {
    "affinity": PodField(lambda spec: spec.affinity is not None),
    "affinity.namespaceSelector": PodField(
        lambda spec: any(term.namespace_selector is not None for term in _terms(spec)),
        _in_terms("namespaceSelector"),
        stays=True,
    ),
    "affinity.matchLabelKeys": PodField(names_label_keys, _in_terms("matchLabelKeys", "mismatchLabelKeys"), stays=True),
    "initContainers": PodField(lambda spec: bool(spec.init_containers)),
    "initContainers.restartPolicy": PodField(
        lambda spec: any(container.restart_policy for container in spec.init_containers),
        (("initContainers", "restartPolicy"),),
        stays=True,
        of_running=False,
    ),
    "tolerations": PodField(lambda spec: bool(spec.tolerations)),
    "priority": PodField(lambda spec: bool(spec.priority)),
    "preemptionPolicy": PodField(lambda spec: spec.preemption_policy == "Never"),
    "overhead": PodField(lambda spec: bool(spec.overhead)),
    "resources": PodField(lambda spec: bool(spec.resources), (("resources",),)),
    "schedulingGates": PodField(lambda spec: bool(spec.scheduling_gates), (("schedulingGates",),)),
    "topologySpreadConstraints": PodField(lambda spec: bool(spec.topology_spread_constraints)),
    "topologySpreadConstraints.minDomains": _constrains(lambda one: one.min_domains is not None),
    "topologySpreadConstraints.nodeAffinityPolicy": _constrains(lambda one: one.node_affinity_policy == "Ignore"),
    "topologySpreadConstraints.nodeTaintsPolicy": _constrains(lambda one: one.node_taints_policy == "Honor"),
    "topologySpreadConstraints.matchLabelKeys": _constrains(lambda one: one.match_label_keys),
    "resourceClaims": PodField(lambda spec: bool(spec.resource_claims)),
    "ephemeral volumes": PodField(lambda spec: any(isinstance(volume, EphemeralVolume) for volume in spec.volumes)),
}
"""Name, as notes have it → the field; a name with a dot is of what the part before it names."""


class UnreadFields:
    """Drops what is dropped of pods, and says what nobody looks at, once for each field and file."""

    def __init__(self, why: Mapping[str, str], *, drops: bool) -> None:
        """why: name → why nobody looks at it. drops: whether manifests come to an API server."""
        self._why = why
        self._dropped = {name: FIELDS[name] for name in why if FIELDS[name].dropped and drops}
        self._counted = {name: FIELDS[name].has for name in why if not FIELDS[name].stays}
        self._told: set[tuple[str, str]] = set()
        self.left: dict[int, tuple[PodSpec, list[str]]] = {}
        """Id → a spec, and the names of what it has that no rule looks at, of each that has some."""

    def drops(self, spec: PodSpec) -> bool:
        """Whether something may be dropped of a pod that somebody wrote."""
        return any(field.has(spec) for field in self._dropped.values())

    def taken(self, manifest: Mapping[str, Any]) -> tuple[Mapping[str, Any], list[str]]:
        """(an object's manifest as the API server takes it, the names of what it drops)."""
        names: list[str] = []
        spec = manifest.get("spec")
        if not self._dropped or manifest["kind"] != "Pod" or not isinstance(spec, Mapping) or is_stored(manifest):
            return manifest, names
        for name, field in self._dropped.items():
            before = spec
            for path in field.dropped if field.of_running or not spec.get("nodeName") else ():
                spec = _without(spec, *path)
            names += [] if spec is before else [name]
        return ({**manifest, "spec": spec} if names else manifest), names

    def look_at(self, spec: PodSpec) -> None:
        """Notes what no rule looks at in a spec that is new."""
        if names := [name for name, has in self._counted.items() if has(spec)]:
            self.left[id(spec)] = spec, names

    def notes(self, names: list[str], source: str) -> Iterator[str]:
        """What is to be said of names found in a file, and was not said yet."""
        for name in names:
            if (name, source) not in self._told:
                self._told.add((name, source))
                shown = name if " " in name else f"spec.{name}"
                yield f"{source}: {shown} of pods ignored: {self._why[name]}".removeprefix(": ")


def _without(value: Any, step: str, *steps: str) -> Any:
    """Without what is at a path; the value itself where nothing is."""
    if isinstance(value, list):
        changed = [_without(each, step, *steps) for each in value]
        return changed if any(a is not b for a, b in zip(changed, value, strict=True)) else value
    if not isinstance(value, Mapping) or value.get(step) is None:
        return value
    if not steps:
        return {key: each for key, each in value.items() if key != step}
    inner = _without(value[step], *steps)
    return value if inner is value[step] else {**value, step: inner}
