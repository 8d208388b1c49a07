"""What a process exports after it has worked, read by a Prometheus parser."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme
from prometheus_client.parser import text_string_to_metric_families as parse

from kubescheduler.live.metrics.metrics_registry import MetricsRegistry, Visibility
from kubescheduler.live.metrics.process_metrics import (
    AccessMetrics,
    MetricsSettings,
    NetworkTraffic,
    ProcessMetrics,
    ReleaseMetrics,
    shown_user,
)
from kubescheduler.live.process.scheduler_setup import known_pods
from kubescheduler.live.serving.client_trust import COLLECTION, NAME, NAMESPACE
from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.releases.lookup import live_release
from tests.kubescheduler.live.metrics.test_release_metrics import exported
from tests.support.apiserver import ApiServer, FrontServer
from tests.support.apiserver.real_server import RealServer
from tests.support.live.live_cluster import NODES, PODS, Cluster, a_node, a_pod, running
from tests.support.live.serving import TOKENS, Health, ServedScheduler, asking, kubeconfig, serving, trusting
from tests.support.processes import SECONDS

METRICS_1_16 = live_release("1.16").metrics
METRICS_1_20 = live_release("1.20").metrics
METRICS_1_36 = live_release("1.36").metrics

PROFILE = "default-scheduler"
Labels = dict[str, str]


class Scrape:
    """One answer, parsed."""

    def __init__(self, text: bytes) -> None:
        self.text = text.decode()
        self.families = list(parse(self.text))
        self._values = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in self.families
            for sample in family.samples
        }

    def value(self, metric: str, /, **labels: str) -> float | None:
        return self._values.get((metric, frozenset(labels.items())))

    def series(self, name: str) -> list[Labels]:
        return [dict(labels) for sample, labels in self._values if sample == name]


def scrape(cluster: Cluster) -> Scrape:
    return Scrape(cluster.process.metrics.text())


def settled(cluster: Cluster, holds: Callable[[Scrape], bool]) -> Scrape:
    """What the server has is known a moment later to who asked it."""
    end = time.monotonic() + SECONDS
    while not holds(found := scrape(cluster)):
        assert time.monotonic() < end, found.text
    return found


def shape(found: Scrape) -> dict[str, dict[str, Any]]:
    """Name → type, help, labels, buckets, quantiles of what was exported."""
    types = {line.split()[2]: line.split()[3] for line in found.text.splitlines() if line.startswith("# TYPE")}
    out: dict[str, dict[str, Any]] = {}
    for family in found.families:
        name = family.name if family.name in types else f"{family.name}_total"
        labels = {label for sample in family.samples for label in sample.labels}
        about: dict[str, Any] = {
            "type": types[name],
            "help": family.documentation,
            "labels": sorted(labels - {"le", "quantile"}),
        }
        bounds = dict.fromkeys(float(sample.labels["le"]) for sample in family.samples if "le" in sample.labels)
        quantiles = dict.fromkeys(s.labels["quantile"] for s in family.samples if "quantile" in s.labels)
        if bounds:
            about["buckets"] = list(bounds)[:-1]
        if quantiles:
            about["quantiles"] = list(quantiles)
        out[name] = about
    return out


def work(cluster: Cluster) -> None:
    """Three pods are bound, one is too large."""
    cluster.make(NODES, a_node("n1"), a_node("n2"))
    cluster.make(PODS, a_pod("a"), a_pod("b"), a_pod("c"), a_pod("big", cpu="64"))
    cluster.until(lambda: cluster.is_bound("a", "b", "c") and bool(cluster.condition("big")))


SELDOM = {"scheduler_plugin_execution_duration_seconds"}
"""What a real process exports, and this one sometimes: plugins are timed in one attempt of ten."""
CRITICAL = {"priority": 2000001000, "priorityClassName": "system-node-critical"}


def everything(cluster: Cluster, served: ServedScheduler) -> None:
    """Work that has every metric get a series: pods that are bound, that fit nowhere, that evict others; questions."""
    work(cluster)
    cluster.make(PODS, a_pod("low1", cpu="3"), a_pod("low2", cpu="3"))
    cluster.until(lambda: cluster.is_bound("low1", "low2"))
    cluster.make(PODS, a_pod("critical", cpu="2", **CRITICAL))
    cluster.until(lambda: cluster.pod("critical")["status"].get("nominatedNodeName") or cluster.is_bound("critical"))
    cluster.make(NODES, a_node("n3", cpu="1"))
    for token in ("", "wrong"):
        served.ask("/metrics", token=token)


@pytest.mark.parametrize("release", ["1.16", "1.36"])
def test_the_shape_is_that_of_the_real_process(api_server: FrontServer, tmp_path: Path, release: str) -> None:
    """Every family of the real process is there, but for those that cannot be, with its type, help, labels, buckets."""
    serving = asking(kubeconfig(tmp_path, api_server.url))
    with running(api_server, release, serving=serving, leader_elect=True) as cluster:
        everything(cluster, ServedScheduler(serving, Health(), []))
        recorded = exported(release)
        found = shape(settled(cluster, lambda found: recorded.keys() - shape(found).keys() <= SELDOM))
    common = found.keys() & recorded.keys()
    assert {name: found[name] for name in common} == {name: recorded[name] for name in common}
    assert {name for name in found if name.startswith("scheduler_")} <= recorded.keys()


def work_and_wait(cluster: Cluster) -> Scrape:
    """What is exported once three pods are bound, one is too large, and one is gated."""
    work(cluster)
    cluster.make(PODS, a_pod("gated", schedulingGates=[{"name": "wait"}]))

    def over(found: Scrape) -> bool:
        return (
            found.value("scheduler_pending_pods", queue="gated") == 1
            and found.value("scheduler_schedule_attempts_total", result="scheduled", profile=PROFILE) == 3
            and found.value("scheduler_cache_size", type="pods") == 3
            and found.value("scheduler_inflight_events", event="PodPopped") == 0
        )

    return settled(cluster, over)


@pytest.fixture(scope="module")
def counted() -> Iterator[Scrape]:
    """What 1.36 exports after that, on the API server in this process."""
    with IoThread() as io, ApiServer(io) as server, running(server, "1.36") as cluster:
        yield work_and_wait(cluster)


@pytest.fixture(scope="module")
def vain(counted: Scrape) -> float:
    """Attempts at the pod that is too large; it may be tried again when a node or a pod comes."""
    attempts = counted.value("scheduler_schedule_attempts_total", result="unschedulable", profile=PROFILE)
    assert attempts is not None
    assert attempts >= 1
    return attempts


def test_1_36_counts_attempts(counted: Scrape, vain: float) -> None:
    """Attempts, their durations, and what was kept of them for the next."""
    assert counted.value("scheduler_scheduling_algorithm_duration_seconds_count") == vain + 3
    assert counted.value("scheduler_pod_scheduling_attempts_sum") == 3
    assert counted.value("scheduler_pod_scheduling_sli_duration_seconds_count", attempts="1") == 3
    hints = "scheduler_get_node_hint_duration_seconds_count"
    assert counted.value(hints, hinted="no_hint", profile=PROFILE) == vain + 3
    assert counted.value("scheduler_store_schedule_results_duration_seconds_count", profile=PROFILE) == 3


def test_1_36_counts_preemption(counted: Scrape, vain: float) -> None:
    """Every attempt in vain looks for victims, and finds none."""
    assert counted.value("scheduler_preemption_attempts_total") == vain
    assert counted.value("scheduler_preemption_victims_count") == 0


def test_1_36_counts_extension_points(counted: Scrape, vain: float) -> None:
    """Once an attempt, or once a pod that fits."""
    every, fitting = ("PreFilter", "Filter"), ("PreScore", "Score", "Reserve", "Bind")
    statuses = {**dict.fromkeys((*every, *fitting), "Success"), "PostFilter": "Unschedulable"}
    name = "scheduler_framework_extension_point_duration_seconds_count"
    points = {
        point: counted.value(name, extension_point=point, status=status, profile=PROFILE)
        for point, status in statuses.items()
    }
    assert points == {**dict.fromkeys(every, vain + 3), "PostFilter": vain, **dict.fromkeys(fitting, 3)}


def test_1_36_counts_plugins(counted: Scrape, vain: float) -> None:
    """Once a node where they are asked about nodes; not at all where a plugin has nothing to do with the pod."""
    name = "scheduler_plugin_evaluation_total"
    plugins = {
        (labels["extension_point"], labels["plugin"]): counted.value(name, **labels) for labels in counted.series(name)
    }
    assert plugins["PreFilter", "NodeResourcesFit"] == vain + 3
    assert plugins["Filter", "NodeName"] == plugins["Filter", "NodeResourcesFit"] == 2 * (vain + 3)
    assert plugins["Score", "NodeResourcesFit"] == 6
    assert plugins["PreScore", "NodeResourcesFit"] == 3
    assert ("Filter", "InterPodAffinity") not in plugins


def test_1_36_counts_the_queue(counted: Scrape) -> None:
    """Who came into which part of it and why, and who waits for what."""
    name = "scheduler_queue_incoming_pods_total"
    came = {(labels["queue"], labels["event"]): counted.value(name, **labels) for labels in counted.series(name)}
    assert came["active", "UnschedulablePodAdd"] == 4
    assert came["unschedulable", "UnschedulablePodAdd"] == 1
    assert came["unschedulable", "ScheduleAttemptFailure"]
    assert counted.value("scheduler_unschedulable_pods", plugin="SchedulingGates", profile=PROFILE) == 1
    assert counted.value("scheduler_unschedulable_pods", plugin="NodeResourcesFit", profile=PROFILE) == 1


def test_1_36_counts_the_cache_and_what_came(counted: Scrape) -> None:
    """Nodes that are known, and events of nodes and pods."""
    assert counted.value("scheduler_cache_size", type="nodes") == 2
    assert counted.value("scheduler_event_handling_duration_seconds_count", event="NodeAdd") == 2
    assert counted.value("scheduler_event_handling_duration_seconds_count", event="UnschedulablePodAdd") == 5
    assert counted.value("kubernetes_feature_enabled", name="SchedulerAsyncAPICalls", stage="BETA") == 0


def test_1_36_counts_requests(api_server: FrontServer) -> None:
    """By host, verb and code."""
    with running(api_server, "1.36") as cluster:
        found = work_and_wait(cluster)
    host = api_server.url.removeprefix("http://")
    assert found.value("rest_client_requests_total", code="201", method="POST", host=host) is not None
    assert found.value("rest_client_request_duration_seconds_count", verb="POST", host=host) is not None


def test_1_16_counts_in_seconds_and_microseconds(api_server: FrontServer) -> None:
    """Three pods were bound; the summaries have each step, and the victims are a gauge."""
    with running(api_server, "1.16") as cluster:
        work(cluster)
        operations = {"predicate_evaluation", "priority_evaluation", "preemption_evaluation", "binding"}
        summary = "scheduler_scheduling_duration_seconds_count"
        whole = ("duration_seconds", "latency_microseconds")

        def over(found: Scrape) -> bool:
            """A pod counts in one histogram after the other, and may be refused before its preemption was timed."""
            counts = {found.value(f"scheduler_e2e_scheduling_{name}_count") for name in whole}
            return counts == {3} and {labels["operation"] for labels in found.series(summary)} == operations

        found = settled(cluster, over)
        for name in ("e2e_scheduling", "scheduling_algorithm", "binding"):
            seconds = found.value(f"scheduler_{name}_duration_seconds_sum")
            fine = found.value(f"scheduler_{name}_latency_microseconds_sum")
            assert found.value(f"scheduler_{name}_latency_microseconds_count") == 3
            assert seconds is not None
            assert fine == pytest.approx(seconds * 1e6, abs=3)
        assert found.value("scheduler_scheduling_latency_seconds_count", operation="binding") == 3
        assert found.value("scheduler_pod_preemption_victims") == 0
        assert found.value("scheduler_total_preemption_attempts") is None
        assert "\nscheduler_total_preemption_attempts " in found.text
        assert "schedule_attempts_total" not in found.text
        assert "pending_pods" not in found.text
    # Only now: while the process runs, it tries the pod that fits nowhere again.
    cluster.process.metrics.reset()
    after = scrape(cluster)
    assert not after.series("scheduler_scheduling_duration_seconds_count")
    assert after.value("scheduler_binding_duration_seconds_count") == 3


def test_1_20_counts_by_profile(api_server: FrontServer) -> None:
    """Under the names of its time, with events of its own."""
    with running(api_server, "1.20") as cluster:
        work(cluster)
        counted = ("scheduler_e2e_scheduling_duration_seconds_count", {"result": "scheduled", "profile": PROFILE})
        kept = ("scheduler_scheduler_cache_size", {"type": "pods"})
        pods = ("scheduler_pod_scheduling_duration_seconds_count", {"attempts": "1"})
        found = settled(cluster, lambda found: all(found.value(name, **by) == 3 for name, by in (counted, kept, pods)))
    assert found.value("scheduler_binding_duration_seconds_count") == 3
    assert found.value("scheduler_scheduling_algorithm_preemption_evaluation_seconds_count")
    assert found.value("scheduler_queue_incoming_pods_total", queue="active", event="PodAdd") == 4
    assert found.value("scheduler_pending_pods", queue="gated") is None
    assert "(Deprecated since 1.20.0) Binding latency in seconds" in found.text
    assert "scheduler_scheduling_duration_seconds" not in found.text


def test_resources_are_those_of_pods(api_server: FrontServer) -> None:
    """Requests and limits of each pod, with their units; the leader alone answers."""
    with running(api_server, "1.36") as cluster:
        resources = {"requests": {"cpu": "250m", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}
        container = {"name": "c", "image": "pause:3", "resources": resources}
        overhead = {"memory": "1Mi", "cpu": "1"}
        heavy = {"metadata": {"name": "heavy"}, "handler": "h", "overhead": {"podFixed": overhead}}
        cluster.server.storage.create("/apis/node.k8s.io/v1/runtimeclasses", "", heavy)
        cluster.make(NODES, a_node("n1"))
        cluster.make(PODS, a_pod("a", containers=[container], overhead=overhead, runtimeClassName="heavy"))
        cluster.until(lambda: cluster.is_bound("a"))
        pods = cluster.informers.stores["Pod"]
        metrics = cluster.process.metrics
        found = Scrape(metrics.resources(lambda: known_pods(pods), lambda: True)())
        assert metrics.resources(lambda: known_pods(pods), lambda: False)() == b""
    pod = {"namespace": "default", "pod": "a", "scheduler": PROFILE, "priority": "0"}
    values = {
        (sample.name, sample.labels["resource"], sample.labels["unit"]): sample.value
        for family in found.families
        for sample in family.samples
        if pod.items() <= sample.labels.items()
    }
    assert values == {
        ("kube_pod_resource_request", "cpu", "cores"): 1.25,
        ("kube_pod_resource_request", "memory", "bytes"): 2**30 + 2**20,
        ("kube_pod_resource_limit", "memory", "bytes"): 2**30 + 2**20,
    }
    assert "# HELP kube_pod_resource_request [STABLE] Resources requested by workloads" in found.text


@pytest.mark.parametrize("rules", [METRICS_1_16, METRICS_1_20, METRICS_1_36], ids=lambda rules: rules.version)
def test_processes_share_nothing(rules: ReleaseMetrics) -> None:
    """What one counts is not seen by another; what is the process's own is there from the start."""
    one, other = (ProcessMetrics(rules, MetricsSettings(), print) for _ in range(2))
    one.loop.preempted(2)
    found, beside = Scrape(one.text()), Scrape(other.text())
    assert "preemption_attempts" in found.text
    assert found.text.splitlines() != beside.text.splitlines()
    assert found.value("process_start_time_seconds") is not None
    assert found.value("process_virtual_memory_max_bytes") is not None


def test_leadership_and_health() -> None:
    """The lease is held or not; checks count by their outcome."""
    metrics = ProcessMetrics(METRICS_1_36, MetricsSettings(), print)
    assert not Scrape(metrics.text()).series("leader_election_master_status")
    metrics.leads("kube-scheduler", leading=True)
    metrics.slow_path("kube-scheduler")
    metrics.health.checked("ping", "livez", passed=True)
    metrics.health.checked("ping", "livez", passed=False)
    found, health = Scrape(metrics.text()), Scrape(metrics.health.text())
    assert found.value("leader_election_master_status", name="kube-scheduler") == 1
    assert found.value("leader_election_slowpath_total", name="kube-scheduler") == 1
    assert health.value("kubernetes_healthcheck", name="ping", type="livez") == 0
    assert health.value("kubernetes_healthchecks_total", name="ping", type="livez", status="success") == 1
    assert health.value("kubernetes_healthchecks_total", name="ping", type="livez", status="error") == 1


def test_metrics_about_metrics() -> None:
    """How many there are, are hidden, are disabled; the same after a reset."""
    metrics = ProcessMetrics(METRICS_1_36, MetricsSettings(disabled=("scheduler_goroutines",)), print)
    for _ in range(2):
        found = Scrape(metrics.text())
        assert found.value("disabled_metrics_total") == 1
        assert found.value("hidden_metrics_total") == 0
        stable = found.value("registered_metrics_total", stability_level="STABLE", deprecated_version="")
        assert stable == sum(family.stability == "STABLE" for family in METRICS_1_36.families)
        metrics.reset()


def test_health_is_beside_the_start() -> None:
    """/metrics/slis says when the process began, as /metrics does; releases without that page have none."""
    metrics = ProcessMetrics(METRICS_1_36, MetricsSettings(), print)
    started = Scrape(metrics.health.text()).value("process_start_time_seconds")
    assert started is not None
    assert started == Scrape(metrics.text()).value("process_start_time_seconds")
    assert ProcessMetrics(METRICS_1_16, MetricsSettings(), print).health.text() == b""


def test_the_network_is_counted(tmp_path: Path) -> None:
    """1.36 has what came and went over the network; without the machine's counters there is nothing."""
    source = tmp_path / "netstat"
    source.write_text("TcpExt: A B\nTcpExt: 1 2\nIpExt: InMcastPkts InOctets OutOctets\nIpExt: 5 1234 99\n")
    values = {f.name: f.samples[0].value for f in NetworkTraffic(source).collect()}
    assert values == {"process_network_receive_bytes": 1234, "process_network_transmit_bytes": 99}
    assert list(NetworkTraffic(tmp_path / "none").collect()) == []
    found = {
        rules.version: Scrape(ProcessMetrics(rules, MetricsSettings(), print).text()).value(
            "process_network_receive_bytes_total"
        )
        for rules in (METRICS_1_20, METRICS_1_36)
    }
    assert found["v1.20.15"] is None
    assert (found["v1.36.2"] is None) != Path("/proc/self/net/netstat").exists()


Values = dict[str, float]
REQUESTS = (
    *(("/healthz", "admin-token"),) * 3,
    *(("/healthz", ""), ("/metrics", "nobody-token"), ("/metrics", "wrong")),
    *((path, "admin-token") for path in ("/configz", "/flagz", "/statusz", "/livez", "/readyz", "/metrics")),
)
COUNTED: Values = {
    'authenticated_user_requests{username="admin"}': 9,
    'authenticated_user_requests{username="other"}': 2,
    'authentication_attempts{result="error"}': 1,
    'authentication_attempts{result="success"}': 11,
    'authentication_duration_seconds_count{result="error"}': 1,
    'authentication_duration_seconds_count{result="success"}': 11,
    'authentication_token_cache_active_fetch_count{status="blocked"}': 0,
    'authentication_token_cache_active_fetch_count{status="in_flight"}': 0,
    'authentication_token_cache_fetch_total{status="error"}': 1,
    'authentication_token_cache_fetch_total{status="ok"}': 2,
    'authentication_token_cache_request_duration_seconds_count{status="hit"}': 8,
    'authentication_token_cache_request_duration_seconds_count{status="miss"}': 3,
    'authentication_token_cache_request_total{status="hit"}': 8,
    'authentication_token_cache_request_total{status="miss"}': 3,
    'authorization_attempts_total{result="allowed"}': 10,
    'authorization_attempts_total{result="no-opinion"}': 1,
    'authorization_duration_seconds_count{result="allowed"}': 10,
    'authorization_duration_seconds_count{result="no-opinion"}': 1,
    'apiserver_delegated_authn_request_total{code="201"}': 3,
    'apiserver_delegated_authn_request_duration_seconds_count{code="201"}': 3,
    'apiserver_delegated_authz_request_total{code="201"}': 1,
    'apiserver_delegated_authz_request_duration_seconds_count{code="201"}': 1,
    "apiserver_client_certificate_expiration_seconds_count": 0,
}
"""What 1.36 has after REQUESTS."""
LATER = {
    "1.16": ("authentication_duration", "authentication_token", "authorization", "apiserver_delegated"),
    "1.20": ("authorization", "apiserver_delegated"),
    "1.36": (),
}
"""How the metrics begin that a release does not have yet."""


def accesses_counted(registry: MetricsRegistry) -> Values:
    """Every series but sums and buckets, by its name with its labels."""
    lines = [line.rpartition(" ") for line in registry.text().decode().splitlines() if not line.startswith("#")]
    found = {name: float(value) for name, _, value in lines if "_sum" not in name and "_bucket" not in name}
    return {name: value for name, value in found.items() if name.startswith(("auth", "apiserver_"))}


def registry_of(rules: ReleaseMetrics) -> MetricsRegistry:
    return MetricsRegistry(rules.families, Visibility(rules.version))


def ask_all(served: ServedScheduler) -> None:
    for path, token in REQUESTS:
        served.ask(path, token=token)


@pytest.mark.parametrize(("release", "rules"), [("1.16", METRICS_1_16), ("1.20", METRICS_1_20), ("1.36", METRICS_1_36)])
def test_requests_are_counted(
    io: IoThread, server: ApiServer, tmp_path: Path, release: str, rules: ReleaseMetrics
) -> None:
    """Who asks, by what credential, with which rights, and what the API server was asked for that."""
    server.tokens.update(TOKENS)
    registry = registry_of(rules)
    with serving(io, release, asking(kubeconfig(tmp_path, server.url)), access=AccessMetrics(registry)) as served:
        ask_all(served)
    expected = {name: value for name, value in COUNTED.items() if not name.startswith(LATER[release])}
    assert accesses_counted(registry) == expected


def test_a_real_server_is_asked_as_often(io: IoThread, real_apiserver: RealServer, tmp_path: Path) -> None:
    """The same counts with an API server that knows the tokens."""
    registry = registry_of(METRICS_1_36)
    settings = asking(kubeconfig(tmp_path, real_apiserver.url, "scheduler-token"))
    with serving(io, "1.36", settings, access=AccessMetrics(registry)) as served:
        ask_all(served)
    assert accesses_counted(registry) == COUNTED


def test_certificates_are_counted(io: IoThread, server: ApiServer, tmp_path: Path) -> None:
    """A certificate counts with the time for which it is valid, and its user as any other."""
    clients = trustme.CA()
    server.storage.create(
        COLLECTION.replace(f"/namespaces/{NAMESPACE}", ""),
        NAMESPACE,
        {"metadata": {"name": NAME}, "data": {"client-ca-file": clients.cert_pem.bytes().decode()}},
    )
    registry = registry_of(METRICS_1_36)
    with serving(io, "1.36", asking(kubeconfig(tmp_path, server.url)), access=AccessMetrics(registry)) as served:
        leaf = clients.issue_cert(common_name="jane@example.com", organization_name="system:masters")
        assert served.ask("/metrics", context=trusting(leaf)).code == 200
    got = accesses_counted(registry)
    assert got["apiserver_client_certificate_expiration_seconds_count"] == 1
    assert got['authenticated_user_requests{username="email_id"}'] == 1


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("admin", "admin"),
        ("system:serviceaccount:kube-system:default", "system:serviceaccount:kube-system:default"),
        ("jane@example.com", "email_id"),
        ("system:kube-scheduler", "other"),
        ("", "other"),
    ],
)
def test_users_are_counted_under_few_names(name: str, shown: str) -> None:
    """Those that every cluster has by name, all others by what they are like."""
    assert shown_user(name) == shown
