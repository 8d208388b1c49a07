"""The manifests of deploy/: they are what an API server takes, and allow what a scheduler does, and no more."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from clusterstate.manifests.schema.known_fields import unknown_fields
from kubescheduler.live.process.release_live import LIVE
from kubescheduler.live.transport.io_thread import IoThread
from tests.support.apiserver import ApiServer
from tests.support.live_cluster import NODES, PODS, a_node, a_pod, running

DEPLOY = Path(__file__).parent.parent / "deploy"
RELEASES = pytest.mark.parametrize("release", list(LIVE))
REQUEST = re.compile(
    r"/(?:api|apis/(?P<group>[^/]+))/[^/]+(?:/namespaces/[^/]+(?=/))?/(?P<resource>[^/?]+)"
    r"(?:/(?P<name>[^/?]+))?(?:/(?P<part>[^/?]+))?(?:\?(?P<query>.*))?"
)
VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def documents(file: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(file.read_text()))


def rules(release: str) -> Iterator[dict[str, Any]]:
    for document in documents(DEPLOY / "releases" / release / "rbac.yaml"):
        yield from document.get("rules", ())


def needed(method: str, path: str) -> tuple[str, str, str, str] | None:
    """(group, resource, verb, name) of a request; None for one that asks for no resource."""
    match = REQUEST.fullmatch(path)
    if match is None or path.count("/") < 3 or (path.startswith("/apis/") and path.count("/") < 4):
        return None
    verb = VERBS.get(method, "watch" if "watch=true" in (match["query"] or "") else "get" if match["name"] else "list")
    resource = match["resource"] + (f"/{match['part']}" if match["part"] else "")
    return match["group"] or "", resource, verb, match["name"] or ""


def allows(rule: dict[str, Any], group: str, resource: str, verb: str, name: str) -> bool:
    names = rule.get("resourceNames")
    named = names is None or name in names
    return group in rule["apiGroups"] and resource in rule["resources"] and verb in rule["verbs"] and named


def test_every_release_has_manifests() -> None:
    """What runs can be deployed."""
    assert {folder.name for folder in (DEPLOY / "releases").iterdir()} == set(LIVE)


@pytest.fixture
def io() -> Iterator[IoThread]:
    with IoThread() as thread:
        yield thread


@pytest.fixture
def server(io: IoThread) -> Iterator[ApiServer]:
    with ApiServer(io) as server:
        yield server


@RELEASES
def test_rights(server: ApiServer, release: str) -> None:
    """A scheduler that leads, binds, fails and preempts does nothing that its role does not allow."""
    server.storage.create(NODES, "", a_node("n1"))
    lock: dict[str, Any] = {"resource_lock": "leases", "resource_name": "kubescheduler"}
    with running(server, release, leader_elect=True, **lock) as cluster:
        cluster.make(PODS, a_pod("low", cpu="3"))
        cluster.until(lambda: cluster.is_bound("low"))
        cluster.make(PODS, a_pod("high", cpu="3", priority=1000))
        cluster.until(lambda: len(cluster.events("Preempted")) == 1)
        cluster.until(lambda: len(cluster.events("FailedScheduling")) >= 1)
    asked = {(one.method, one.path) for one in server.asked}
    wanted = {need for method, path in asked if (need := needed(method, path)) is not None}
    assert {("", "pods/binding", "create", "low"), ("", "pods", "delete", "low")} <= wanted
    granted = list(rules(release))
    assert [need for need in sorted(wanted) if not any(allows(rule, *need) for rule in granted)] == []


@RELEASES
def test_no_more_rights_than_needed(release: str) -> None:
    """Nobody may do everything, read secrets, or change what a scheduler only reads."""
    for rule in rules(release):
        assert "*" not in (*rule["apiGroups"], *rule["resources"], *rule["verbs"])
        assert {"secrets", "configmaps"}.isdisjoint(rule["resources"])
        if {"nodes", "pods"} & set(rule["resources"]):
            assert {"create", "update", "patch"}.isdisjoint(rule["verbs"])


def test_the_pod_is_safe_and_known() -> None:
    """Fields that pods have; no root, nothing written, probes on the port that it has."""
    (deployment,) = documents(DEPLOY / "base" / "deployment.yaml")
    template = deployment["spec"]["template"]
    assert unknown_fields("Pod", {"metadata": template["metadata"], "spec": template["spec"]}) == []
    assert template["spec"]["securityContext"]["runAsNonRoot"] is True
    (container,) = template["spec"]["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    ports = {port["name"] for port in container["ports"]}
    assert {container[probe]["httpGet"]["port"] for probe in container if probe.endswith("Probe")} <= ports
    assert deployment["spec"]["selector"]["matchLabels"] == template["metadata"]["labels"]


@RELEASES
def test_the_configuration_is_the_release_s(release: str) -> None:
    """Each release reads its own, and elects by the lease that its role allows."""
    from kubescheduler.live.flags.flag_parsing import parse_flags
    from kubescheduler.live.process.process_options import CommandLine, settings_of
    from kubescheduler.live.process.release_live import live_release

    (patch,) = documents(DEPLOY / "releases" / release / "command.yaml")
    (container,) = patch["spec"]["template"]["spec"]["containers"]
    assert container["args"][:4] == ["run", "--release", release, "--"]
    words = [word.replace("/etc/kubescheduler", str(DEPLOY / "releases" / release)) for word in container["args"][4:]]
    live = live_release(release)
    flags = parse_flags(live.flags, words)
    notes: list[str] = []
    settings = settings_of(CommandLine(live, flags), notes.append, notes.append)
    assert settings is not None
    election = settings.election
    assert (election.resource_lock, election.resource_namespace, election.resource_name) == (
        *("leases", "kube-system"),
        "kubescheduler",
    )


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl")
@RELEASES
def test_kustomize(release: str) -> None:
    """kubectl puts them together; the role's lock keeps its name, and the pod finds its configuration."""
    done = subprocess.run(
        ["kubectl", "kustomize", str(DEPLOY / "releases" / release)], capture_output=True, text=True, check=True
    )
    built = {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(done.stdout)}
    role = built["Role", "kubescheduler-leader"]
    assert role["rules"][1]["resourceNames"] == ["kubescheduler"]
    volumes = built["Deployment", "kubescheduler"]["spec"]["template"]["spec"]["volumes"]
    assert ("ConfigMap", volumes[0]["configMap"]["name"]) in built
    assert {one["metadata"].get("namespace", "kube-system") for one in built.values()} == {"kube-system"}
