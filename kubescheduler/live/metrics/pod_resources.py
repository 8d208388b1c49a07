"""What pods ask for, one by one: ``/metrics/resources``. Upstream: pkg/scheduler/metrics/resources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily

from clusterstate.objects import NO_RESOURCES, Container, Pod, PodSpec
from clusterstate.resource_names import is_hugepage_resource
from clusterstate.usage import as_asked, pod_requests
from kubescheduler.live.metrics.exposition import exposition

LABELS = ("namespace", "pod", "node", "scheduler", "priority", "resource", "unit")
ABOUT = (
    "broken down by pod. This shows the resource usage the scheduler and kubelet expect per pod for resources along "
    "with the unit for the resource if any."
)
REQUESTED = f"Resources requested by workloads on the cluster, {ABOUT}"
LIMITED = f"Resources limit for workloads on the cluster, {ABOUT}"
FINISHED = ("Succeeded", "Failed")
UNITS = {"cpu": "cores", "memory": "bytes", "storage": "bytes", "ephemeral-storage": "bytes"}


class PodResources(msgspec.Struct, frozen=True, eq=False):
    """Writes the amounts of all pods that have not ended. prefix: of the help texts, as ``[ALPHA] ``."""

    prefix: str
    pods: Callable[[], Iterable[Pod]]
    """Every pod that is known."""
    leads: Callable[[], bool]
    """Only the leader answers; the others write nothing."""

    def text(self) -> bytes:
        """As Prometheus reads it."""
        if not self.leads():
            return b""
        registry = CollectorRegistry()
        registry.register(self)
        return exposition(registry)

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """The two families."""
        yield GaugeMetricFamily("kube_pod_resource_request", self.prefix + REQUESTED, labels=LABELS)
        yield GaugeMetricFamily("kube_pod_resource_limit", self.prefix + LIMITED, labels=LABELS)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """What all pods ask for, and what they are limited to."""
        requests, limits = self.describe()
        for pod in self.pods():
            if pod.node_name and pod.phase in FINISHED:
                continue
            _add(requests, pod, pod_requests(pod.spec, as_asked(pod.spec)))
            _add(limits, pod, pod_limits(pod.spec))
        yield requests
        yield limits


def pod_limits(spec: PodSpec) -> dict[str, int]:
    """Resource → the most that a pod may take, in thousandths. Upstream: PodLimits.

    Overhead counts only where the containers have a limit.
    """
    bounded = msgspec.structs.replace(
        spec,
        containers=tuple(map(_limited, spec.containers)),
        init_containers=tuple(map(_limited, spec.init_containers)),
        overhead=NO_RESOURCES,
        resources=NO_RESOURCES,
        in_use=None,
    )
    limits = dict(pod_requests(bounded, as_asked(bounded)))
    return {name: value + spec.overhead.get(name, 0) for name, value in limits.items() if value}


def _limited(container: Container) -> Container:
    return msgspec.structs.replace(container, requests=container.limits)


def _add(family: GaugeMetricFamily, pod: Pod, amounts: Mapping[str, int]) -> None:
    spec, metadata = pod.spec, pod.metadata
    priority = "" if spec.priority is None else str(spec.priority)
    whose = [metadata.namespace, metadata.name, pod.node_name, spec.scheduler_name, priority]
    for resource, thousandths in amounts.items():
        if thousandths:
            family.add_metric([*whose, resource, _unit(resource)], thousandths / 1000)


def _unit(resource: str) -> str:
    if is_hugepage_resource(resource):
        return "bytes"
    return UNITS.get(resource, "integer" if resource.startswith("attachable-volumes-") else "")
