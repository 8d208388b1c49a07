"""Command lines and files: what they come to, and how that is written down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from kubescheduler.live.process.process_options import LiveSettings
from tests.support.apiserver import FrontServer
from tests.support.live.live_cluster import EVERY, GROUP, SECOND, a_file, fault, settings, settled

# --- defaults and flags --------------------------------------------------------------------------------

LOCKS = {"1.16": "endpoints", "1.20": "leases", "1.36": "leases"}


@EVERY
def test_defaults(release: str) -> None:
    """What a release does that is told nothing."""
    found = settings(release, "--master=http://here")
    assert (found.server.master, found.server.kubeconfig) == ("http://here", "")
    assert (found.server.qps, found.server.burst) == (50, 100)
    election = found.election
    assert (election.leader_elect, election.resource_lock) == (True, LOCKS[release])
    assert (election.resource_namespace, election.resource_name) == ("kube-system", "kube-scheduler")
    assert election.lease_duration_ns == 15 * SECOND
    assert not found.delays_cache
    assert found.unschedulable_seconds is None


@EVERY
def test_flags_fill_the_configuration(release: str) -> None:
    """Without a file they say it all."""
    words = "--kubeconfig=k --kube-api-qps=5000 --kube-api-burst=1 --leader-elect=false --leader-elect-retry-period=1s"
    found = settings(release, *words.split())
    assert (found.server.kubeconfig, found.server.qps, found.server.burst) == ("k", 5000, 1)
    assert (found.election.leader_elect, found.election.retry_period_ns) == (False, SECOND)


@pytest.mark.parametrize("release", ["1.16", "1.20"])
@pytest.mark.parametrize(
    ("words", "name"),
    [
        pytest.param(("--lock-object-name=a",), "a", id="old spelling"),
        pytest.param(("--leader-elect-resource-name=b",), "b", id="new spelling"),
        pytest.param(("--lock-object-name=a", "--leader-elect-resource-name=b"), "b", id="new one last"),
        pytest.param(("--leader-elect-resource-name=b", "--lock-object-name=a"), "a", id="old one last"),
    ],
)
def test_two_flags_name_the_lock(release: str, words: tuple[str, ...], name: str) -> None:
    """The later one wins."""
    assert settings(release, "--master=x", *words).election.resource_name == name


def test_the_longest_wait_of_1_36() -> None:
    """``--pod-max-in-unschedulable-pods-duration``."""
    found = settings("1.36", "--master=x", "--pod-max-in-unschedulable-pods-duration=90s")
    assert found.unschedulable_seconds == 90


# --- files ---------------------------------------------------------------------------------------------

CONTENT: dict[str, Any] = {
    "clientConnection": {"kubeconfig": "from-file", "qps": 7, "burst": 8},
    "leaderElection": {"leaderElect": True, "leaseDuration": "30s", "renewDeadline": "20s", "resourceName": "mine"},
}
BESIDE = ("--kubeconfig=k", "--kube-api-qps=1", "--leader-elect-lease-duration=40s", "--master=http://m")


@pytest.mark.parametrize(
    ("release", "lease"),
    [
        pytest.param("1.16", 30, id="1.16 the file alone"),
        pytest.param("1.20", 30, id="1.20 the file alone"),
        pytest.param("1.36", 40, id="1.36 flags of the election win"),
    ],
)
def test_a_file_and_flags(tmp_path: Path, release: str, lease: int) -> None:
    """Flags that do not count beside a file are named; --master counts."""
    notes: list[str] = []
    found = settings(release, a_file(tmp_path, release, **CONTENT), *BESIDE, notes=notes)
    assert (found.server.kubeconfig, found.server.qps, found.server.burst) == ("from-file", 7, 8)
    assert found.server.master == "http://m"
    assert found.election.lease_duration_ns == lease * SECOND
    assert (found.election.renew_deadline_ns, found.election.resource_name) == (20 * SECOND, "mine")
    ignored = [note for note in notes if "--kubeconfig" in note]
    assert len(ignored) == 1
    assert ("--leader-elect-lease-duration" in ignored[0]) is (release != "1.36")


def test_what_counts_beside_a_file_of_1_36(tmp_path: Path) -> None:
    """The wait of unschedulable pods is not in the file, and delayCacheUntilActive is."""
    words = a_file(tmp_path, "1.36", delayCacheUntilActive=True), "--pod-max-in-unschedulable-pods-duration=1m"
    found = settings("1.36", *words)
    assert (found.unschedulable_seconds, found.delays_cache) == (60, True)


@pytest.mark.parametrize(
    ("names", "name"),
    [
        pytest.param({"lockObjectName": "a"}, "a", id="old spelling"),
        pytest.param({"resourceName": "a"}, "a", id="new spelling"),
        pytest.param({"resourceName": "a", "lockObjectName": "a"}, "a", id="both"),
        pytest.param({}, "kube-scheduler", id="neither"),
    ],
)
def test_lock_names_of_1_16_files(tmp_path: Path, names: dict[str, str], name: str) -> None:
    """Two spellings of one thing."""
    found = settings("1.16", a_file(tmp_path, "1.16", leaderElection=names))
    assert found.election.resource_name == name


def test_lock_names_that_do_not_match(tmp_path: Path) -> None:
    """1.16's own text."""
    words = a_file(tmp_path, "1.16", leaderElection={"resourceName": "a", "lockObjectName": "b"})
    text = "ResourceName and LockObjectName are both set and do not match, ResourceName: a, LockObjectName: b"
    assert text in fault("1.16", words)


PERCENTAGES = [("nothing", {}, 0), ("a number", {"percentageOfNodesToScore": 30}, 30)]


@EVERY
@pytest.mark.parametrize(("content", "wanted"), [row[1:] for row in PERCENTAGES], ids=[row[0] for row in PERCENTAGES])
def test_the_percentage_of_nodes(tmp_path: Path, release: str, content: dict[str, Any], wanted: int) -> None:
    """The live process looks at as many nodes as kube-scheduler: by default an adaptive share of them."""
    from clusterstate.cache import ClusterCache

    engine = settings(release, a_file(tmp_path, release, **content)).engine
    scheduler = engine.scheduler(ClusterCache(engine.view))
    assert scheduler.algorithm.percentage_of_nodes_to_score == wanted


# --- gates ---------------------------------------------------------------------------------------------


def test_gates_of_the_client_library() -> None:
    """1.36 takes them among its own; they have no effect here, and a note says so."""
    notes: list[str] = []
    settings("1.36", "--master=x", "--feature-gates=WatchListClient=false,SchedulerAsyncPreemption=false", notes=notes)
    assert any("WatchListClient has no effect here" in note for note in notes)


# --- writing -------------------------------------------------------------------------------------------


def test_1_16_writes_what_flags_say_and_goes_on(tmp_path: Path) -> None:
    """Not what the file says."""
    target, notes = tmp_path / "written.yaml", list[str]()
    file = a_file(tmp_path, "1.16", **CONTENT)
    words = f"--write-config-to={target} --leader-elect-resource-name=flagged --policy-configmap=p"
    found = settled("1.16", file, *words.split(), notes=notes)
    assert found is not None
    assert str(target) in notes
    document = yaml.safe_load(target.read_text())
    assert document["leaderElection"]["resourceName"] == "flagged"
    assert document["algorithmSource"] == {"policy": {"configMap": {"namespace": "kube-system", "name": "p"}}}
    assert document["clientConnection"]["qps"] == 50


@pytest.mark.parametrize("release", ["1.20", "1.36"])
def test_the_others_write_what_it_comes_to_and_end(tmp_path: Path, release: str) -> None:
    """With the flags that count; no server is needed. What is written comes to the same again."""
    target = tmp_path / "written.yaml"
    words = f"--write-config-to={target} --leader-elect-retry-period=1s --kube-api-qps=9"
    assert settled(release, *words.split()) is None
    document = yaml.safe_load(target.read_text())
    assert document["leaderElection"]["retryPeriod"] == "1s"
    assert document["clientConnection"]["qps"] == 9
    assert document["percentageOfNodesToScore"] == 0
    again = settings(release, f"--config={target}")
    assert (again.election.retry_period_ns, again.server.qps) == (SECOND, 9)


@EVERY
def test_a_file_that_cannot_be_written(tmp_path: Path, release: str) -> None:
    """Upstream's text."""
    target = tmp_path / "no" / "such"
    assert fault(release, f"--write-config-to={target}") == f"open {target}: no such file or directory"


PORT = "--secure-port 70000 must be between 1 and 65535, inclusive. It cannot be turned off with 0"
RANGE = "must be between 0 and 65535, inclusive"
FLAG_FAULTS = [
    ("1.16", "--secure-port=70000", PORT),
    ("1.20", "--secure-port=70000", PORT),
    ("1.36", "--secure-port=70000", PORT),
    ("1.36", "--secure-port=-1", f"--secure-port -1 {RANGE}. 0 for turning off secure port"),
    ("1.16", "--port=70000", f"--port 70000 {RANGE}. 0 for turning off insecure (HTTP) port"),
    ("1.20", "--port=70000", f"--port 70000 {RANGE}. 0 for turning off insecure (HTTP) port"),
    ("1.16", "--address=x", "--address x is an invalid IP address"),
    ("1.16", "--use-legacy-policy-config",
     "policyConfigFile: Required value: required when --use-legacy-policy-config is true"),
    ("1.20", "--use-legacy-policy-config",
     "policyConfigFile: Required value: required when --use-legacy-policy-config is true"),
    ("1.16", "--hard-pod-affinity-symmetric-weight=101",
     "hardPodAffinitySymmetricWeight: Invalid value: 101: not in valid range 0-100"),
    ("1.20", "--hard-pod-affinity-symmetric-weight=101",
     "hardPodAffinitySymmetricWeight: Invalid value: 101: not in valid range [0-100]"),
    ("1.20", "--show-hidden-metrics-for-version=1.30",
     "--show-hidden-metrics-for-version must be omitted or have the value '1.19'. "
     "Only the previous minor version is allowed"),
    ("1.36", "--show-hidden-metrics-for-version=1.30",
     "metrics.showHiddenMetricsForVersion: Invalid value: \"1.30\": must be omitted or have the value '1.35'; "
     "only the previous minor version is allowed"),
    ("1.36", "--show-hidden-metrics-for-version=1.30 --secure-port=70000",
     f"[{PORT}, metrics.showHiddenMetricsForVersion: Invalid value: \"1.30\": must be omitted or have the value "
     "'1.35'; only the previous minor version is allowed]"),
    ("1.36", "--feature-gates=Foo=true", "unrecognized feature gate: Foo"),
    ("1.36", "--feature-gates=A", "missing bool value for A"),
    ("1.36", "--feature-gates=kube:SchedulerQueueingHints=false",
     "cannot set feature gate SchedulerQueueingHints to false, feature is locked to true"),
    ("1.36", "--config=nosuch", "open nosuch: no such file or directory"),
    ("1.20", "--config=nosuch", "open nosuch: no such file or directory"),
    ("1.16", "--config=nosuch", "open nosuch: no such file or directory"),
    ("1.16", "--policy-config-file=nosuch", "missing policy config file nosuch"),
    ("1.20", "--policy-config-file=nosuch", "missing policy config file nosuch"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("release", "line", "text"), FLAG_FAULTS, ids=[f"{release} {line}" for release, line, _ in FLAG_FAULTS]
)
def test_faults_of_flags(release: str, line: str, text: str) -> None:
    """Upstream's texts, and its aggregate where there are several."""
    assert fault(release, "--master=x", *line.split()) == text


FILE_FAULTS: list[tuple[str, dict[str, Any], tuple[str, ...], str]] = [
    ("an unknown key", {"nosuch": 1}, (), 'strict decoding error: unknown field "nosuch"'),
    ("an unknown version", {"apiVersion": f"{GROUP}/v1beta1"}, (),
     f'no kind "KubeSchedulerConfiguration" is registered for version "{GROUP}/v1beta1" '
     'in scheme "pkg/scheduler/apis/config/scheme/scheme.go:'),
    ("parallelism", {"parallelism": 0}, (), "parallelism: Invalid value: 0: should be an integer value greater than"),
    ("two profiles of one name", {"profiles": [{"schedulerName": "a"}, {"schedulerName": "a"}]}, (),
     "profiles[1].schedulerName: Duplicate value"),
    ("a lease that is too short", {"leaderElection": {"leaseDuration": "5s"}}, (),
     "leaderElection.leaseDuration: Invalid value: "),
    ("a flag beside it", {}, ("--leader-elect-lease-duration=5s",), "leaderElection.leaseDuration: Invalid value: "),
    ("a lock that is gone", {}, ("--leader-elect-resource-lock=endpoints",),
     'leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"'),
]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "words", "text"), [row[1:] for row in FILE_FAULTS], ids=[row[0] for row in FILE_FAULTS]
)
def test_faults_of_files_of_1_36(tmp_path: Path, content: dict[str, Any], words: tuple[str, ...], text: str) -> None:
    """1.36's texts, with the flags that override the file."""
    assert text in fault("1.36", a_file(tmp_path, "1.36", **content), *words)


@pytest.mark.parametrize(
    "word", ["--leader-elect-lease-duration=5s", "--leader-elect-resource-lock=endpoints"], ids=["lease", "lock"]
)
def test_1_36_does_not_look_at_the_election_of_flags(word: str) -> None:
    """Without a file the elector finds such faults, later."""
    assert settings("1.36", "--master=x", word).election.leader_elect


@pytest.mark.parametrize("release", ["1.16", "1.20"])
def test_1_16_and_1_20_do(release: str) -> None:
    """They validate the defaults with the flags."""
    text = "leaderElection.leaseDuration: Invalid value: 10s: LeaseDuration must be greater than RenewDeadline"
    assert fault(release, "--master=x", "--leader-elect-lease-duration=5s") == text


def test_a_policy_beside_profiles(tmp_path: Path) -> None:
    """1.20 refuses a policy with a file whose profiles say something of plugins."""
    policy = tmp_path / "policy.json"
    policy.write_text('{"kind": "Policy", "apiVersion": "v1"}')
    file = a_file(tmp_path, "1.20", profiles=[{"plugins": {"score": {"disabled": [{"name": "*"}]}}}])
    assert fault("1.20", file, f"--policy-config-file={policy}") == "cannot set a Plugin config and Policy config"


POLICY = """{"kind": "Policy", "apiVersion": "v1", "predicates": [{"name": "PodFitsResources"}],
"priorities": [{"name": "MostRequestedPriority", "weight": 3}]}"""


def scores(found: LiveSettings) -> list[str]:
    from clusterstate.cache import ClusterCache

    engine = found.engine
    return [each.config.name for each in engine.scheduler(ClusterCache(engine.view)).algorithm.priorities]


MOST = {"1.16": ["MostRequestedPriority"], "1.20": ["NodeResourcesMostAllocated"]}


@pytest.fixture
def configmap(api_server: FrontServer) -> str:
    """A server with a policy in a ConfigMap; its address."""
    for name, data in (("policy", {"policy.cfg": POLICY}), ("empty", {}), ("faulty", {"policy.cfg": "{"})):
        api_server.storage.create("/api/v1/configmaps", "kube-system", {"metadata": {"name": name}, "data": data})
    return f"--master={api_server.url}"


@pytest.mark.parametrize("release", ["1.16", "1.20"])
def test_a_policy_in_a_configmap(api_server: FrontServer, configmap: str, release: str) -> None:
    """It is read once from the server, and goes before a file and a provider."""
    words = "--policy-configmap=policy --policy-config-file=nosuch --algorithm-provider=nosuch"
    found = settings(release, configmap, *words.split())
    assert scores(found) == MOST[release]
    assert [(one.method, one.path) for one in api_server.asked] == [
        ("GET", "/api/v1/namespaces/kube-system/configmaps/policy")
    ]


@pytest.mark.parametrize("release", ["1.16", "1.20"])
def test_the_legacy_flag_has_the_file_go_first(
    api_server: FrontServer, configmap: str, release: str, tmp_path: Path
) -> None:
    """No ConfigMap is read then."""
    policy = tmp_path / "policy.json"
    policy.write_text(POLICY)
    words = f"--policy-configmap=nosuch --policy-config-file={policy} --use-legacy-policy-config"
    assert scores(settings(release, configmap, *words.split())) == MOST[release]
    assert api_server.asked == []


def test_a_file_of_1_16_that_names_a_configmap(api_server: FrontServer, configmap: str, tmp_path: Path) -> None:
    """The policy is read from where algorithmSource says."""
    place = {"policy": {"configMap": {"namespace": "kube-system", "name": "policy"}}}
    found = settings("1.16", configmap, a_file(tmp_path, "1.16", algorithmSource=place))
    assert scores(found) == MOST["1.16"]
    assert len(api_server.asked) == 1


@pytest.mark.parametrize("release", ["1.16", "1.20"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("nosuch", "couldn't get policy config map kube-system/nosuch: ", id="none of that name"),
        pytest.param("empty", 'missing policy config map value at key "policy.cfg"', id="no policy"),
        pytest.param("faulty", "invalid policy: ", id="no JSON"),
    ],
)
def test_configmaps_that_cannot_be_used(configmap: str, release: str, name: str, text: str) -> None:
    """Upstream's texts."""
    assert fault(release, configmap, f"--policy-configmap={name}").startswith(text)


def test_a_flag_of_1_20_overrides_a_file(tmp_path: Path) -> None:
    """The flags of the algorithm count beside a file."""
    policy = tmp_path / "policy.json"
    policy.write_text(POLICY)
    found = settings("1.20", a_file(tmp_path, "1.20"), f"--policy-config-file={policy}")
    assert scores(found) == MOST["1.20"]
