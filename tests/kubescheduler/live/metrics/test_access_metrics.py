"""What is counted of who asks a process's servers, beside what the real one counted for the same requests."""

from __future__ import annotations

from pathlib import Path

import pytest
import trustme

from kubescheduler.live.metrics.access_metrics import AccessMetrics, shown_user
from kubescheduler.live.metrics.metric_family import Visibility
from kubescheduler.live.metrics.metrics_registry import MetricsRegistry
from kubescheduler.live.metrics.release_metrics import ReleaseMetrics
from kubescheduler.live.serving.authentication_config import COLLECTION, NAME, NAMESPACE
from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.releases.lookup import live_release
from tests.support.apiserver import ApiServer
from tests.support.apiserver.real_server import RealServer
from tests.support.live.serving import TOKENS, ServedScheduler, asking, kubeconfig, serving, trusting

METRICS_1_16 = live_release("1.16").metrics
METRICS_1_20 = live_release("1.20").metrics
METRICS_1_36 = live_release("1.36").metrics

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


def counted(registry: MetricsRegistry) -> Values:
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
    assert counted(registry) == expected


def test_a_real_server_is_asked_as_often(io: IoThread, real_apiserver: RealServer, tmp_path: Path) -> None:
    """The same counts with an API server that knows the tokens."""
    registry = registry_of(METRICS_1_36)
    settings = asking(kubeconfig(tmp_path, real_apiserver.url, "scheduler-token"))
    with serving(io, "1.36", settings, access=AccessMetrics(registry)) as served:
        ask_all(served)
    assert counted(registry) == COUNTED


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
    got = counted(registry)
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
