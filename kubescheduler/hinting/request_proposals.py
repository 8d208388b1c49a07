"""Smaller requests of the pod."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import msgspec

from clusterstate.objects import Container, FrozenMap, PodSpec
from clusterstate.resource_names import is_extended_resource, is_hugepage_resource
from clusterstate.usage import CPU
from kubescheduler.core.decision import Decision
from kubescheduler.hinting.proposals import Proposal, Scale
from kubescheduler.hinting.spec_edits import evolved, of_pod, replaced
from kubescheduler.hinting.trials import Trials
from predicates.refusal_evidence import amount

Lowered = Callable[[int, PodSpec], PodSpec]
"""Of what is still asked for, in thousandths, and a spec: the spec that asks for it."""


def requests(trials: Trials) -> Iterator[Scale]:
    """Each amount that a container asks for, lowered as far as to nothing, and each of the pod as a whole (1.36)."""
    spec = trials.pod.spec
    several = len(spec.containers) + len(spec.init_containers) > 1
    for field in ("containers", "init_containers"):
        for at, container in enumerate(getattr(spec, field)):
            of = f" in container {container.name}" if several else ""
            for resource, asked in container.requests.items():
                lowered = partial(_in_container, field, at, resource)
                yield from _scale(trials, resource, asked, 0, of, lowered)
    for resource, asked in spec.resources.items():
        least = sum(container.requests.get(resource, 0) for container in spec.containers)
        yield from _scale(trials, resource, asked, least, " for the pod as a whole", partial(_in_pod, resource))


def _in_container(field: str, at: int, resource: str, left: int, spec: PodSpec) -> PodSpec:
    containers: tuple[Container, ...] = getattr(spec, field)
    container = containers[at]
    changed = {"requests": FrozenMap({**container.requests, resource: left})}
    # An API server takes no request of these that is below the limit.
    if resource in container.limits and (is_extended_resource(resource) or is_hugepage_resource(resource)):
        changed["limits"] = FrozenMap({**container.limits, resource: left})
    return evolved(spec, **{field: replaced(containers, at, msgspec.structs.replace(container, **changed))})


def _in_pod(resource: str, left: int, spec: PodSpec) -> PodSpec:
    return msgspec.structs.replace(spec, resources=FrozenMap({**spec.resources, resource: left}))


def _scale(trials: Trials, resource: str, asked: int, least: int, of: str, lowered: Lowered) -> Iterator[Scale]:
    """The request lowered, by the unit in which the resource is counted. asked, least: in thousandths."""
    unit = 1 if resource == CPU else 1000
    whole = -(-asked // unit)
    largest = whole - -(-least // unit)

    def proposal(less: int) -> Proposal:
        left = whole - less
        text = f"ask for {amount(resource, left)} {resource} instead of {amount(resource, whole)}{of}"
        return of_pod(trials.pod, "request", text, less / whole, partial(lowered, left * unit))

    def guess(decision: Decision) -> int:
        short = trials.shortage(decision, resource)
        return int(short.min()) if len(short) else 0

    if largest > 0:
        yield Scale(largest, proposal, guess)
