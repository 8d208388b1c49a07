"""Where the policy comes from: ConfigMaps, files and flags."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubescheduler.live.process.live_settings import LiveSettings
from tests.support.apiserver import FrontServer
from tests.support.live.process_settings import a_file, fault, settings

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
        pytest.param(
            "nosuch",
            "couldn't get policy config map kube-system/nosuch: ",
            id="none of that name",
        ),
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
