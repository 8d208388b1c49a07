"""ProcessMetrics: everything that one process exports, and what feeds it. Read ``ReleaseMetrics`` first."""

from __future__ import annotations

import math
import platform
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

import msgspec
from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from clusterstate.objects import NO_RESOURCES, Container, Pod, PodSpec
from clusterstate.usage import as_asked, is_hugepage_resource, pod_requests
from kubescheduler.config.gates import Gate
from kubescheduler.cycle.schedule_one import LoopParts, SchedulerLoop
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.framework_runtime import Framework
from kubescheduler.framework.profile_map import Profiles
from kubescheduler.live.metrics.loop_metrics import (
    CountedPlugins,
    LoopMetrics,
    LoopMetrics116,
    LoopNames,
    LoopState,
    QueueGauges,
)
from kubescheduler.live.metrics.metrics_registry import Family, MetricsRegistry, Visibility, exposition
from kubescheduler.live.metrics.unschedulable_workloads import HINT, Hints, UnschedulableWorkloads, no_hints
from kubescheduler.live.observers import AccessObserver, RestObserver, UnschedulablePod
from kubescheduler.releases.lookup import release_named

NAMED_USERS = frozenset({"admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default"})
"""Users who are counted by name."""
REVIEWS = {"TokenReview": "authn", "SubjectAccessReview": "authz"}
"""Kind of review → what its metrics are called."""
SECONDS = "request_duration_seconds"


class AccessMetrics(AccessObserver):
    """An AccessObserver that feeds a registry, as far as the release has such metrics."""

    def __init__(self, registry: MetricsRegistry) -> None:
        of = registry.instrument
        self._users, self._attempts = of("authenticated_user_requests"), of("authentication_attempts")
        self._seconds = of("authentication_duration_seconds")
        self._rights, self._right_seconds = of("authorization_attempts_total"), of("authorization_duration_seconds")
        self._remaining = of("apiserver_client_certificate_expiration_seconds")
        self._asked = of("authentication_token_cache_request_total")
        self._asked_seconds = of("authentication_token_cache_request_duration_seconds")
        self._fetched = of("authentication_token_cache_fetch_total")
        self._waiting = of("authentication_token_cache_active_fetch_count")
        self._under_way: Counter[str] = Counter()
        self._reviews = {
            kind: (of(f"apiserver_delegated_{name}_request_total"), of(f"apiserver_delegated_{name}_{SECONDS}"))
            for kind, name in REVIEWS.items()
        }

    def authenticated(self, result: str, user: str, seconds: float) -> None:
        """Users who are taken count under a few names: there may be very many of them."""
        if result == "success":
            self._users.inc((shown_user(user),))
        self._attempts.inc((result,))
        self._seconds.observe(seconds, (result,))

    def authorized(self, result: str, seconds: float) -> None:
        self._rights.inc((result,))
        self._right_seconds.observe(seconds, (result,))

    def certificate_shown(self, seconds: float) -> None:
        self._remaining.observe(seconds)

    def token_asked(self, status: str, seconds: float) -> None:
        self._asked.inc((status,))
        self._asked_seconds.observe(seconds, (status,))

    def tokens_waiting(self, status: str, change: int) -> None:
        self._under_way[status] += change
        self._waiting.set(self._under_way[status], (status,))

    def token_fetched(self, status: str) -> None:
        self._fetched.inc((status,))

    def reviewed(self, kind: str, code: str, seconds: float) -> None:
        total, durations = self._reviews[kind]
        total.inc((code,))
        durations.observe(seconds, (code,))


def shown_user(name: str) -> str:
    """What a user is counted as. Upstream: compressUsername."""
    if name in NAMED_USERS:
        return name
    return "email_id" if "@" in name else "other"


STAGES = {"alpha": "ALPHA", "beta": "BETA", "GA": "", "deprecated": "DEPRECATED"}
"""What the gauge of features calls how far they have come."""


def set_build(registry: MetricsRegistry, version: str) -> None:
    """version: the release that this one stands for, as ``v1.36.2``; what would be Go's is Python's."""
    major, minor = version.removeprefix("v").split(".")[:2]
    python = f"{platform.python_implementation().lower()}{platform.python_version()}"
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    where = f"{platform.system().lower()}/{machine}"
    values = (major, minor, version, "", "clean", "1970-01-01T00:00:00Z", python, "python", where)
    registry.instrument("kubernetes_build_info").set(1, values)
    before = f"{major}.{int(minor) - 1}"
    registry.instrument("version_info").set(1, (version.removeprefix("v"), f"{major}.{minor}", before, "kube"))


def set_features(registry: MetricsRegistry, gates: Mapping[str, Gate], values: Mapping[str, bool]) -> None:
    """gates: the release's; values: which are on."""
    gauge = registry.instrument("kubernetes_feature_enabled")
    for name, gate in gates.items():
        gauge.set(float(values.get(name, gate.default)), (name, STAGES[gate.stage]))


def set_metrics(registry: MetricsRegistry) -> None:
    """How many families there are; counted from 0."""
    names = ("registered_metrics_total", "hidden_metrics_total", "disabled_metrics_total")
    registry.reset(*names)
    shown = Counter((family.stability, family.deprecated) for family in registry.shown if family.stability)
    for labels, count in shown.items():
        registry.instrument(names[0]).inc(labels, count)
    registry.instrument(names[1]).inc(by=len(registry.hidden))
    registry.instrument(names[2]).inc(by=len(registry.disabled))


START = "process_start_time_seconds"


class HealthMetrics:
    """Counts what health checks come to. Any thread may call it."""

    def __init__(self, families: Iterable[Family], visibility: Visibility) -> None:
        self._registry = MetricsRegistry(families, visibility)
        self._last = self._registry.instrument("kubernetes_healthcheck")
        self._total = self._registry.instrument("kubernetes_healthchecks_total")
        for started in _process_start():
            self._registry.instrument(START).set(started)

    def checked(self, name: str, kind: str, passed: bool) -> None:
        """A check was made. kind: the endpoint that asked: ``healthz``, ``livez`` or ``readyz``."""
        self._last.set(float(passed), (name, kind))
        self._total.inc((name, kind, "success" if passed else "error"))

    def text(self) -> bytes:
        """As Prometheus reads it."""
        return self._registry.text()


def _process_start() -> list[float]:
    """When the process began, in seconds since 1970; nothing where the machine does not say it."""
    families = ProcessCollector(registry=CollectorRegistry()).collect()
    return [sample.value for family in families for sample in family.samples if sample.name == START]


class MetricsSettings(msgspec.Struct, frozen=True):
    """Which metrics a process shows."""

    shows_hidden: bool = False
    """Also those that are too old to be shown. Upstream: --show-hidden-metrics-for-version."""
    disabled: tuple[str, ...] = ()
    """Names of those that are not shown. Upstream: --disabled-metrics."""


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
    for name, thousandths in amounts.items():
        if thousandths:
            family.add_metric([*whose, name, _unit(name)], thousandths / 1000)


def _unit(resource: str) -> str:
    if is_hugepage_resource(resource):
        return "bytes"
    return UNITS.get(resource, "integer" if resource.startswith("attachable-volumes-") else "")


UNLIMITED = float(2**64 - 1)
NETSTAT = Path("/proc/self/net/netstat")
"""Counters of the process's network, in pairs of lines: names, and values."""
TRAFFIC = {
    "InOctets": ("process_network_receive_bytes", "Number of bytes received by the process over the network."),
    "OutOctets": ("process_network_transmit_bytes", "Number of bytes sent by the process over the network."),
}
"""Counter of IpExt → (metric without ``_total``, help)."""


class AddressSpace(Collector):
    """How much memory the process may address."""

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """Its name."""
        text = "Maximum amount of virtual memory available in bytes."
        yield GaugeMetricFamily("process_virtual_memory_max_bytes", text)

    def collect(self) -> Iterator[Metric]:
        """Without a limit it is the largest number of 64 bits."""
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        for family in self.describe():
            family.add_metric([], UNLIMITED if limit == resource.RLIM_INFINITY else float(limit))
            yield family


class NetworkTraffic(Collector):
    """Bytes that came and went, of all processes that share the network: in a cluster those of the pod."""

    def __init__(self, source: Path = NETSTAT) -> None:
        """source: see NETSTAT; where it is not there, nothing is collected."""
        self._source = source

    def describe(self) -> Iterator[Metric]:
        """Its names."""
        for name, text in TRAFFIC.values():
            yield CounterMetricFamily(name, text)

    def collect(self) -> Iterator[Metric]:
        """Both counters, as they stand."""
        counters = self._counters()
        for key, (name, text) in TRAFFIC.items():
            if key in counters:
                yield CounterMetricFamily(name, text, value=float(counters[key]))

    def _counters(self) -> dict[str, str]:
        try:
            lines = self._source.read_text(encoding="ascii").splitlines()
        except OSError:
            return {}
        names, *rest = [line.split() for line in lines if line.startswith("IpExt:")] or [[]]
        return dict(zip(names, rest[0], strict=False)) if rest else {}


Says = Callable[[str], None]
"""Writes a line of the log."""


class ReleaseMetrics(msgspec.Struct, frozen=True, eq=False):
    """The metrics of one release."""

    version: str
    """As ``v1.36.2``: hidden is what an earlier minor release deprecated."""
    families: tuple[Family, ...]
    """On ``/metrics``."""
    loop: Callable[[MetricsRegistry, Says], LoopMetrics | LoopMetrics116]
    """Makes what observes the loop, of a registry and a log."""
    rest_by_url: bool = True
    """Whether requests are timed by the server's URL, else by its host."""
    names: LoopNames | None = None
    """Of what is read when somebody asks; None: nothing is."""
    health: tuple[Family, ...] = ()
    """On ``/metrics/slis``."""
    resources: str = ""
    """The prefix of the help texts on ``/metrics/resources``."""
    resets: tuple[str, ...] = ()
    """The metrics that ``DELETE /metrics`` resets; none named: all."""
    collectors: tuple[Collector, ...] = (AddressSpace(),)
    """What is read of the machine, besides what prometheus_client reads."""


class ProcessMetrics:
    """The metrics of one process. ``text`` and the other answers of the HTTP server are for any thread."""

    def __init__(self, rules: ReleaseMetrics, settings: MetricsSettings, says: Says) -> None:
        """says: writes a line of the log."""
        self.rules = rules
        self._visibility = Visibility(rules.version, settings.shows_hidden, frozenset(settings.disabled))
        self.registry = MetricsRegistry(rules.families, self._visibility)
        self.loop = rules.loop(self.registry, says)
        self.health = HealthMetrics(rules.health, self._visibility)
        """What health checks report to."""
        self.access = AccessMetrics(self.registry)
        """What is told of who asks."""
        self._leader = self.registry.instrument("leader_election_master_status")
        self._slow = self.registry.instrument("leader_election_slowpath_total")
        ProcessCollector(registry=self.registry.collectors)
        PlatformCollector(registry=self.registry.collectors)
        GCCollector(registry=self.registry.collectors)
        for collector in rules.collectors:
            self.registry.collectors.register(collector)
        self.registry.instrument("rest_client_exec_plugin_ttl_seconds").set(math.inf)
        set_build(self.registry, rules.version)
        set_metrics(self.registry)

    # --- what feeds it ---------------------------------------------------------------------------

    def rest(self, base_url: str) -> RestObserver:
        """What observes the requests to a server."""
        return RestMetrics(self.registry, base_url + TEMPLATE if self.rules.rest_by_url else "")

    def credentials(self, seconds: Callable[[], float]) -> None:
        """seconds: for which the certificate of an exec plugin is valid; asked for each scrape."""
        gauge = self.registry.instrument("rest_client_exec_plugin_ttl_seconds")
        self.registry.refresh_with(lambda: gauge.set(seconds()))

    def certificate_rotated(self, seconds: float) -> None:
        """Another certificate of an exec plugin took the place of one; seconds: for which that had been valid."""
        self.registry.instrument("rest_client_exec_plugin_certificate_rotation_age").observe(seconds)

    def watch(
        self, loop: SchedulerLoop, parts: LoopParts, profiles: Profiles | None = None, hints: Hints = no_hints
    ) -> Callable[[], None]:
        """Listens to a loop's queue, and reads gauges from it; what its own thread is to call once a second.

        profiles: whose plugins are counted.
        """
        names, queue, services = self.rules.names, parts.queue, parts.services
        self.unschedulable(partial(_unschedulable, parts), hints)
        set_features(self.registry, release_named(services.release).gates.gates, services.feature_gates)
        if names is None or not isinstance(self.loop, LoopMetrics):
            return lambda: None  # it has no gauges of the cache
        queue.listener = self.loop
        queue.hints.listener = self.loop
        if profiles is not None:
            self.loop.counted = {name: _counted_plugins(framework) for name, framework in profiles.items()}
        state = LoopState(queue, services.cache, loop.cycles.assumed, services.lock, loop.under_way)
        return QueueGauges(self.registry, names, state).read_cache

    def unschedulable(self, pods: Callable[[], Iterable[UnschedulablePod]], hints: Hints = no_hints) -> None:
        """pods: those that fit nowhere; asked for each scrape, by any thread. hints: asked as well, unless disabled."""
        wanted = HINT not in self._visibility.disabled
        self.registry.collectors.register(UnschedulableWorkloads(pods, hints if wanted else no_hints))

    def leads(self, name: str, *, leading: bool) -> None:
        """Leadership by the lease of this name began, or is not held."""
        self._leader.set(float(leading), (name,))

    def slow_path(self, name: str) -> None:
        """A lease could not be renewed without reading it (1.36)."""
        self._slow.inc((name,))

    # --- what is asked for -------------------------------------------------------------------------

    def text(self) -> bytes:
        """``GET /metrics``."""
        return self.registry.text()

    def reset(self) -> None:
        """``DELETE /metrics``: what can be counted anew is."""
        self.registry.reset(*self.rules.resets)
        set_metrics(self.registry)

    def resources(self, pods: Callable[[], Iterable[Pod]], leads: Callable[[], bool]) -> Callable[[], bytes]:
        """``GET /metrics/resources``. pods: all that are known; leads: whether this process does."""
        return PodResources(self.rules.resources, pods, leads).text


def _unschedulable(parts: LoopParts) -> list[UnschedulablePod]:
    """The pods of the queue that were tried in vain, or that a plugin holds back."""
    queue = parts.queue
    with parts.services.lock:
        entries = [entry for entry in queue.entries() if entry.attempts or entry.rejectors]
        began = time.time() - queue.now
    return [UnschedulablePod(entry.pod, entry.rejectors | entry.pending, began + entry.added) for entry in entries]


def _counted_plugins(framework: Framework) -> CountedPlugins:
    asked, prepared = (
        frozenset(plugin.name for plugin in framework.at(point)) for point in (Point.PRE_FILTER, Point.PRE_SCORE)
    )
    return CountedPlugins(tuple(plugin.name for plugin in framework.at(Point.FILTER)), asked, prepared)


TEMPLATE = "/%7Bprefix%7D"
"""What stands for the path of a URL: one series for each of them would be too many."""


class RestMetrics(RestObserver):
    """By verb and host, with sizes (1.36); before that by verb and URL. Upstream: client-go's metrics."""

    def __init__(self, registry: MetricsRegistry, url: str = "") -> None:
        """url: what requests are timed by in place of their hosts."""
        self._url = url
        of = registry.instrument
        self._requests, self._retries = of("rest_client_requests_total"), of("rest_client_request_retries_total")
        self._seconds = of("rest_client_request_duration_seconds")
        self._older = of("rest_client_request_latency_seconds")
        self._waits = of("rest_client_rate_limiter_duration_seconds")
        self._sent, self._received = of("rest_client_request_size_bytes"), of("rest_client_response_size_bytes")
        self._resolved = of("rest_client_dns_resolution_duration_seconds")

    def finished(self, verb: str, path: str, host: str, code: str, seconds: float, sent: int, received: int) -> None:  # noqa: ARG002
        to = (verb, self._url or host)
        self._requests.inc((code, verb, host))
        self._seconds.observe(seconds, to)
        self._older.observe(seconds, to)
        self._sent.observe(sent, to)
        self._received.observe(received, to)

    def limited(self, verb: str, path: str, host: str, seconds: float) -> None:  # noqa: ARG002
        self._waits.observe(seconds, (verb, self._url or host))

    def retried(self, verb: str, host: str, code: str) -> None:
        self._retries.inc((code, verb, host))

    def watched(self, verb: str, host: str, code: str) -> None:
        self._requests.inc((code, verb, host))

    def resolved(self, name: str, seconds: float) -> None:
        self._resolved.observe(seconds, (name,))
