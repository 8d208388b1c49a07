from __future__ import annotations

from typing import Any

import pytest

from kubescheduler.config.component import component_document, default_config
from kubescheduler.framework.contract.profile import ClientConnection, LeaderElection
from tests.support.configuring.component_build import format_of, read

RELEASES = pytest.mark.parametrize("release", ["1.20", "1.36"])


@RELEASES
def test_defaults(release: str) -> None:
    """What a document does not say has the release's default, and so has a configuration without document."""
    for config in (read(release), default_config(format_of(release))):
        assert config.parallelism == 16
        assert config.leader_election == LeaderElection(
            True, 15 * 10**9, 10 * 10**9, 2 * 10**9, "leases", "kube-system", "kube-scheduler"
        )
        assert config.client_connection == ClientConnection("", "", "application/vnd.kubernetes.protobuf", 50, 100)
        assert (config.healthz_bind_address, config.metrics_bind_address) == ("0.0.0.0:10251", "0.0.0.0:10251")
        assert (config.enable_profiling, config.enable_contention_profiling) == (True, True)
        assert config.percentage_of_nodes_to_score == 0
        assert (config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds) == (1, 10)
        assert [profile.scheduler_name for profile in config.profiles] == ["default-scheduler"]
        assert config.extenders == ()
        assert config.delay_cache_until_active is False
        assert config.notes == ()
        assert config.document == component_document(config, format_of(config.release))


@RELEASES
def test_everything_said(release: str) -> None:
    """What a document says is taken."""
    config = read(
        release,
        parallelism=3,
        leaderElection={"leaderElect": False, "leaseDuration": "1m", "retryPeriod": "1s", "resourceName": "x"},
        clientConnection={"qps": 1.5, "burst": 7, "kubeconfig": "/k", "contentType": "application/json"},
        enableProfiling=False,
        percentageOfNodesToScore=70,
        podInitialBackoffSeconds=2,
        podMaxBackoffSeconds=2,
    )
    assert config.parallelism == 3
    assert config.leader_election == LeaderElection(False, 60 * 10**9, retry_period_ns=10**9, resource_name="x")
    assert config.client_connection == ClientConnection("/k", "", "application/json", 1.5, 7)
    assert (config.enable_profiling, config.enable_contention_profiling) == (False, False)
    assert config.percentage_of_nodes_to_score == 70
    assert (config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds) == (2, 2)


def test_only_in_1_36() -> None:
    """Members of v1 alone."""
    config = read("1.36", delayCacheUntilActive=True, profiles=[{"percentageOfNodesToScore": 5}])
    assert config.delay_cache_until_active is True
    assert config.profiles[0].percentage_of_nodes_to_score == 5


@RELEASES
def test_zero_values_are_defaults(release: str) -> None:
    """Empty texts and zeros of leader election and client connection count as not said."""
    config = read(
        release,
        leaderElection={"leaseDuration": "0s", "resourceLock": "", "resourceName": "", "resourceNamespace": ""},
        clientConnection={"qps": 0, "burst": 0, "contentType": ""},
    )
    assert config.leader_election == LeaderElection()
    assert config.client_connection == ClientConnection()


@pytest.mark.parametrize(
    ("given", "profiling", "contention"),
    [
        pytest.param({"enableProfiling": True}, True, True, id="with-profiling"),
        pytest.param({"enableContentionProfiling": False}, True, False, id="off"),
        pytest.param({"enableProfiling": False, "enableContentionProfiling": True}, False, True, id="alone"),
    ],
)
def test_contention_profiling(given: dict[str, Any], profiling: bool, contention: bool) -> None:
    """Contention is profiled by default where the rest is."""
    config = read("1.36", **given)
    assert (config.enable_profiling, config.enable_contention_profiling) == (profiling, contention)


@pytest.mark.parametrize(
    ("given", "address"),
    [
        pytest.param("1.2.3.4:80", "1.2.3.4:80", id="both"),
        pytest.param(":80", "0.0.0.0:80", id="port"),
        pytest.param("1.2.3.4", "1.2.3.4:10251", id="host"),
        pytest.param("::1", "[::1]:10251", id="host-6"),
        pytest.param("[::1]:80", "[::1]:80", id="both-6"),
        pytest.param("nonsense", "0.0.0.0:10251", id="nonsense"),
        pytest.param("", "0.0.0.0:10251", id="empty"),
        pytest.param("[::1:80", "0.0.0.0:10251", id="bracket"),
        pytest.param("[::1]x:80", "0.0.0.0:10251", id="behind-bracket"),
    ],
)
def test_addresses(given: str, address: str) -> None:
    """1.20 fills in what is missing of an address."""
    config = read("1.20", healthzBindAddress=given, metricsBindAddress=given)
    assert (config.healthz_bind_address, config.metrics_bind_address) == (address, address)


@pytest.mark.parametrize(
    ("profiles", "names"),
    [
        pytest.param(None, ["default-scheduler"], id="none"),
        pytest.param([], ["default-scheduler"], id="empty"),
        pytest.param([{}], ["default-scheduler"], id="unnamed"),
        pytest.param([{"schedulerName": "a"}], ["a"], id="named"),
        pytest.param([{"schedulerName": "a"}, {"schedulerName": "b"}], ["a", "b"], id="two"),
    ],
)
@RELEASES
def test_profile_names(release: str, profiles: list[dict[str, Any]] | None, names: list[str]) -> None:
    """A single profile needs no name."""
    assert [profile.scheduler_name for profile in read(release, profiles=profiles).profiles] == names
