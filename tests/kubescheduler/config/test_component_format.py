"""What releases fill in that a configuration does not say, and what they check of whole ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from kubescheduler.config.config_schema import Written
from kubescheduler.config.load_config import component_document, default_config
from kubescheduler.framework.contract.profile import ClientConnection, LeaderElection, SchedulerConfig
from kubescheduler.framework.document_schema import aggregate
from tests.support.configuring.component_build import entry, error, format_of, plugin_set, plugins, problems, read

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


BOTH = ("1.20", "1.36")
NO_ELECTION = {"leaderElect": False, "leaseDuration": "-1s", "resourceLock": "endpoints"}
SORT_A, SORT_B = (plugins(queueSort=plugin_set(name, disabled=("*",))) for name in ("PrioritySort", "Other"))
V1_GONE = (
    'was invalid in version "kubescheduler.config.k8s.io/v1" '
    '(KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")'
)


def extenders(*given: dict[str, Any]) -> dict[str, Any]:
    return {"extenders": [{"urlPrefix": "http://x", **extender} for extender in given]}


def managed(*names: str) -> dict[str, Any]:
    return {"managedResources": [{"name": name} for name in names]}


def row(name: str, keys: dict[str, Any], *texts: str, releases: tuple[str, ...] = BOTH) -> list[Any]:
    return [pytest.param(release, keys, texts, id=f"{name}-{release}") for release in releases]


def differs(name: str, keys: dict[str, Any], old: Sequence[str], new: Sequence[str]) -> list[Any]:
    return [*row(name, keys, *old, releases=("1.20",)), *row(name, keys, *new, releases=("1.36",))]


ROWS = [
    *row(
        "burst", {"clientConnection": {"burst": -1}}, "clientConnection.burst: Invalid value: -1: must be non-negative"
    ),
    *differs(
        "lease",
        {"leaderElection": {"leaseDuration": "-1s", "renewDeadline": "-2s"}},
        [
            "leaderElection.leaseDuration: Invalid value: -1s: must be greater than zero",
            "leaderElection.renewDeadline: Invalid value: -2s: must be greater than zero",
        ],
        [
            'leaderElection.leaseDuration: Invalid value: "-1s": must be greater than zero',
            'leaderElection.renewDeadline: Invalid value: "-2s": must be greater than zero',
        ],
    ),
    *differs(
        "retry",
        {"leaderElection": {"retryPeriod": "-500ms"}},
        ["leaderElection.retryPeriod: Invalid value: -500ms: must be greater than zero"],
        ['leaderElection.retryPeriod: Invalid value: "-500ms": must be greater than zero'],
    ),
    *differs(
        "lease-too-short",
        {"leaderElection": {"leaseDuration": "9s"}},
        ["leaderElection.leaseDuration: Invalid value: 10s: LeaseDuration must be greater than RenewDeadline"],
        ['leaderElection.leaseDuration: Invalid value: "10s": must be greater than `RenewDeadline`'],
    ),
    *row(
        "lease-as-long",
        {"leaderElection": {"leaseDuration": "10s"}},
        'leaderElection.leaseDuration: Invalid value: "10s": must be greater than `RenewDeadline`',
        releases=("1.36",),
    ),
    *row(
        "lock",
        {"leaderElection": {"resourceLock": "endpoints"}},
        'leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"',
        releases=("1.36",),
    ),
    *row(
        "parallelism", {"parallelism": 0}, "parallelism: Invalid value: 0: should be an integer value greater than zero"
    ),
    *row("no-name", {"profiles": [{"schedulerName": ""}]}, "profiles[0].schedulerName: Required value"),
    *row(
        "no-names",
        {"profiles": [{"schedulerName": "a"}, {}, {}]},
        "profiles[1].schedulerName: Required value",
        "profiles[2].schedulerName: Required value",
        "profiles[2].schedulerName: Duplicate value: profiles[1].schedulerName",
    ),
    *row(
        "same-name",
        {"profiles": [{"schedulerName": "a"}, {"schedulerName": "a"}]},
        "profiles[1].schedulerName: Duplicate value: profiles[0].schedulerName",
    ),
    *differs(
        "queue-sort",
        {"profiles": [{"schedulerName": "a", "plugins": SORT_A}, {"schedulerName": "b", "plugins": SORT_B}]},
        [
            "profiles[1].plugins.queueSort: Invalid value: "
            'config.PluginSet{Enabled:[]config.Plugin{config.Plugin{Name:"Other", Weight:0}}, '
            'Disabled:[]config.Plugin{config.Plugin{Name:"*", Weight:0}}}: has to match for all profiles'
        ],
        [
            'profiles[1].plugins.queueSort: Invalid value: {"Enabled":[{"Name":"Other","Weight":0}],'
            '"Disabled":[{"Name":"*","Weight":0}]}: must be the same for all profiles'
        ],
    ),
    *row(
        "queue-sort-absent",
        {"profiles": [{"schedulerName": "a", "plugins": SORT_A}, {"schedulerName": "b"}]},
        'profiles[1].plugins.queueSort: Invalid value: "null": has to match for all profiles',
        releases=("1.20",),
    ),
    *row(
        "two-queue-sorts",
        {"profiles": [{"plugins": plugins(queueSort=plugin_set("A", "B"))}]},
        "profiles[0].plugins.queueSort.Enabled: Invalid value: 2: only one queue sort plugin can be enabled",
        releases=("1.36",),
    ),
    *row(
        "queue-sort-args",
        {
            "profiles": [
                {"schedulerName": "a", "plugins": SORT_B, "pluginConfig": [entry("Other", x=1)]},
                {"schedulerName": "b", "plugins": SORT_B, "pluginConfig": [entry("Other", x=2)]},
            ]
        },
        'profiles[1].pluginConfig.args: Invalid value: {"x":2}: queueSort must be the same for all profiles',
        releases=("1.36",),
    ),
    *row(
        "profile-percentage",
        {"profiles": [{"percentageOfNodesToScore": 101}]},
        "profiles[0].percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]",
        releases=("1.36",),
    ),
    *row(
        "repeated-config",
        {"profiles": [{"pluginConfig": [entry("NodeAffinity"), entry("NodeAffinity")]}]},
        'profiles[0].pluginConfig[1]: Duplicate value: "NodeAffinity"',
        releases=("1.36",),
    ),
    *[
        item
        for name in ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")
        for item in row(
            f"gone-{name}",
            {"profiles": [{"plugins": plugins(filter=plugin_set("X", name)), "pluginConfig": [entry(name)]}]},
            f'profiles[0].plugins.filter.enabled[1]: Invalid value: "{name}": {V1_GONE}',
            f'profiles[0].pluginConfig[0]: Invalid value: "{name}": {V1_GONE}',
            releases=("1.36",),
        )
    ],
    *[
        item
        for key in ("healthzBindAddress", "metricsBindAddress")
        for item in (
            *row(
                f"{key}-port",
                {key: "1.2.3.4:0"},
                f'{key}: Invalid value: "1.2.3.4:0": must be between 1 and 65535, inclusive',
                releases=("1.20",),
            ),
            *row(
                f"{key}-ip",
                {key: "host:80"},
                f'{key}: Invalid value: "host:80": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
                releases=("1.20",),
            ),
            *row(
                f"{key}-both",
                {key: "host:http"},
                f'{key}: Invalid value: "host:http": must be between 1 and 65535, inclusive',
                f'{key}: Invalid value: "host:http": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
                releases=("1.20",),
            ),
        )
    ],
    *row(
        "percentage",
        {"percentageOfNodesToScore": -1},
        "percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]",
    ),
    *row(
        "backoff", {"podInitialBackoffSeconds": 0}, "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0"
    ),
    *row(
        "backoffs",
        {"podInitialBackoffSeconds": 11},
        "podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to PodInitialBackoffSeconds",
    ),
    *row(
        "extender-weight",
        extenders({}, {"prioritizeVerb": "p"}),
        "extenders[1].weight: Invalid value: 0: must have a positive weight applied to it",
    ),
    *differs(
        "extender-resource",
        extenders(managed("cpu")),
        ['extenders[0].managedResources[0].name: Invalid value: "cpu": cpu is an invalid extended resource name'],
        ['extenders[0].managedResources[0].name: Invalid value: "cpu": is an invalid extended resource name'],
    ),
    *row(
        "extender-name",
        extenders(managed("/a")),
        'extenders[0].managedResources[0].name: Invalid value: "/a": prefix part must be non-empty',
    ),
    *row(
        "extender-twice",
        extenders(managed("a.b/c"), managed("a.b/d", "a.b/c")),
        'extenders[1].managedResources[1].name: Invalid value: "a.b/c": duplicate extender managed resource name',
    ),
    *row(
        "extender-bind",
        extenders({"bindVerb": "b"}, {}, {"bindVerb": "c"}),
        'extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind',
    ),
    *row(
        "several",
        {"parallelism": -1, "podMaxBackoffSeconds": 0},
        "parallelism: Invalid value: -1: should be an integer value greater than zero",
        "podMaxBackoffSeconds: Invalid value: 0: must be greater than or equal to PodInitialBackoffSeconds",
    ),
    *row(
        "args",
        {
            "profiles": [
                {
                    "pluginConfig": [
                        entry("VolumeBinding", bindTimeoutSeconds=-1),
                        entry("PodTopologySpread", defaultingType="X"),
                    ]
                }
            ]
        },
        "profiles[0].pluginConfig[0].args.bindTimeoutSeconds: Invalid value: -1: "
        "invalid BindTimeoutSeconds, should not be a negative value",
        'profiles[0].pluginConfig[1].args.defaultingType: Unsupported value: "X": supported values: "System", "List"',
        releases=("1.36",),
    ),
]


@pytest.mark.parametrize(("release", "keys", "texts"), ROWS)
def test_rows(release: str, keys: dict[str, Any], texts: tuple[str, ...]) -> None:
    """Each rule has its path and text, and is among all problems."""
    assert error(release, **keys) == aggregate(texts)
    assert set(texts) <= set(problems(release, **keys))


@pytest.mark.parametrize("release", BOTH)
def test_no_election(release: str) -> None:
    """What leader election would need is not looked at without it."""
    assert read(release, leaderElection=NO_ELECTION).leader_election.leader_elect is False


def test_as_long_as_the_deadline_1_20() -> None:
    """1.20 lets the lease last as long as the deadline."""
    assert read("1.20", leaderElection={"leaseDuration": "10s"}).leader_election.lease_duration_ns == 10**10


def validate(config: SchedulerConfig) -> str:
    form = format_of(config.release)
    return aggregate(form.errors(form, Written(), config, form.native))


NAMES = ("resourceLock", "resourceNamespace", "resourceName")


def test_names_of_the_lock() -> None:
    """Flags can leave the names of the lock empty."""
    election = LeaderElection(resource_lock="", resource_name="", resource_namespace="")
    old, new = (
        validate(msgspec.structs.replace(default_config(format_of(release)), leader_election=election))
        for release in BOTH
    )
    required = [f"leaderElection.{name}: Required value" for name in NAMES]
    no_leases = 'leaderElection.resourceLock: Invalid value: "": resourceLock value must be "leases"'
    assert old == aggregate(f'leaderElection.{name}: Invalid value: "": {name} is required' for name in NAMES)
    assert new == aggregate([*required, no_leases])


@pytest.mark.parametrize("release", BOTH)
def test_no_profiles(release: str) -> None:
    """A configuration without profiles is refused."""
    assert (
        validate(msgspec.structs.replace(default_config(format_of(release)), profiles=())) == "profiles: Required value"
    )


def test_no_socket_address() -> None:
    """An address that is none at all, which only a program can give."""
    config = msgspec.structs.replace(default_config(format_of("1.20")), healthz_bind_address="nonsense")
    text = "must be a valid socket address format, (e.g. 0.0.0.0:10254 or [::]:10254)"
    assert validate(config) == f'healthzBindAddress: Invalid value: "nonsense": {text}'


def test_args_of_another_type() -> None:
    """Args that are no record of the plugin's are refused."""
    config = default_config(format_of("1.36"))
    profile = msgspec.structs.replace(config.profiles[0], plugin_config=(("NodeAffinity", {"a": 1}),))
    text = 'profiles[0].pluginConfig[0].args: Invalid value: {"a":1}: has to match plugin args'
    assert validate(msgspec.structs.replace(config, profiles=(profile,))) == text


# --- args that 1.20 checks as it builds the plugins ----------------------------------------


def test_args_among_all_problems_1_20() -> None:
    """All problems include those of args that 1.20 tells of later, with their paths."""
    found = problems(
        "1.20",
        profiles=[
            {
                "pluginConfig": [
                    entry("VolumeBinding", bindTimeoutSeconds=0),
                    entry("InterPodAffinity", hardPodAffinityWeight=101),
                    entry("NodeResourcesFit"),
                    entry("NodeResourcesFit"),
                ]
            }
        ],
    )
    path = "profiles[0].pluginConfig"
    assert found == (
        f"{path}[0].args: invalid BindTimeoutSeconds: 0, must be positive integer",
        f"{path}[1].args.hardPodAffinityWeight: Invalid value: 101: not in valid range [0-100]",
        f"{path}[3]: repeated config for plugin NodeResourcesFit; keep one entry",
    )


def test_args_that_are_needed_1_20() -> None:
    """A plugin that has to have args is told of when it has none."""
    sets = plugins(score=plugin_set("RequestedToCapacityRatio"))
    text = "profiles[0].pluginConfig: RequestedToCapacityRatio needs args: at least one point must be specified"
    assert problems("1.20", profiles=[{"plugins": sets}]) == (text,)


def test_args_of_fit_are_checked_later() -> None:
    """1.36 checks args of NodeResourcesFit as it builds the plugin."""
    keys: dict[str, Any] = {"profiles": [{"pluginConfig": [entry("NodeResourcesFit", ignoredResources=["a b"])]}]}
    assert read("1.36", **keys).release == "1.36"
    assert problems("1.36", **keys)[0].startswith(
        'profiles[0].pluginConfig[0].args.ignoredResources[0]: Invalid value: "a b": name part must consist of'
    )
