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
from kubescheduler.live.flags.flag_parsing import parse_flags
from kubescheduler.live.process.process_options import CommandLine, settings_of
from kubescheduler.live.process.release_live import LIVE, live_release
from tests.support.apiserver import FrontServer
from tests.support.apiserver.forwarding_server import ForwardingServer
from tests.support.apiserver.real_server import RealServer
from tests.support.live.live_cluster import NODES, PODS, a_node, a_pod, running

DEPLOY = Path(__file__).parent.parent / "deploy"
BASE = DEPLOY / "base"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
KUBECTL = pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl")
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


@pytest.mark.parametrize("release", ["1.16", "1.20"])
def test_the_insecure_port_is_for_the_pod_alone(release: str) -> None:
    """Nobody else reads metrics without being asked who he is."""
    live = live_release(release)
    flags = parse_flags(
        live.flags, ["--config", str(DEPLOY / "releases" / release / "config.yaml"), "--master", "http://s"]
    )
    settings = settings_of(CommandLine(live, flags), lambda _: None, lambda _: None)
    assert settings is not None
    assert settings.serving is not None
    assert {port.address for port in settings.serving.insecure} == {"127.0.0.1"}


def grant(front: FrontServer, release: str) -> None:
    """Lets a real server allow requests what the manifests allow; they are those of the manifests' account then."""
    if not isinstance(front, ForwardingServer):
        return
    for document in (*documents(DEPLOY / "releases" / release / "rbac.yaml"), *documents(BASE / "authentication.yaml")):
        namespace = "" if document["kind"].startswith("Cluster") else "kube-system"
        front.storage.create(f"{RBAC}/{document['kind'].lower()}s", namespace, document)
    front.token = "deployed-token"


@RELEASES
def test_rights(api_server: FrontServer, release: str) -> None:
    """A scheduler that leads, binds, fails and preempts does nothing that its role does not allow."""
    grant(api_server, release)
    api_server.storage.create(NODES, "", a_node("n1"))
    lock: dict[str, Any] = {"resource_lock": "leases", "resource_name": "kubescheduler"}
    with running(api_server, release, leader_elect=True, **lock) as cluster:
        cluster.make(PODS, a_pod("low", cpu="3"))
        cluster.until(lambda: cluster.is_bound("low"))
        cluster.make(PODS, a_pod("high", cpu="3", priority=1000))
        cluster.until(lambda: len(cluster.events("Preempted")) == 1)
        cluster.until(lambda: len(cluster.events("FailedScheduling")) >= 1)
    assert [(one.asked.method, one.asked.path) for one in api_server.done if one.code in (401, 403)] == []
    asked = {(one.method, one.path) for one in api_server.asked}
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
    (deployment,) = documents(BASE / "deployment.yaml")
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


def kustomized(folder: Path) -> list[dict[str, Any]]:
    """What kubectl puts together."""
    done = subprocess.run(["kubectl", "kustomize", str(folder)], capture_output=True, text=True, check=True)
    return list(yaml.safe_load_all(done.stdout))


@KUBECTL
@RELEASES
def test_a_server_takes_them(real_apiserver: RealServer, release: str) -> None:
    """A real server finds nothing to refuse, and no field that it does not know."""
    for document in kustomized(DEPLOY / "releases" / release):
        version, kind, namespace = (
            document["apiVersion"],
            document["kind"].lower(),
            document["metadata"].get("namespace"),
        )
        folder = f"/api/{version}" if "/" not in version else f"/apis/{version}"
        folder += f"/namespaces/{namespace}" if namespace else ""
        real_apiserver.ask("POST", f"{folder}/{kind}s?dryRun=All&fieldValidation=Strict", document)


@KUBECTL
@RELEASES
def test_kustomize(release: str) -> None:
    """kubectl puts them together; the role's lock keeps its name, and the pod finds its configuration."""
    built = {(one["kind"], one["metadata"]["name"]): one for one in kustomized(DEPLOY / "releases" / release)}
    role = built["Role", "kubescheduler-leader"]
    assert role["rules"][1]["resourceNames"] == ["kubescheduler"]
    volumes = built["Deployment", "kubescheduler"]["spec"]["template"]["spec"]["volumes"]
    assert ("ConfigMap", volumes[0]["configMap"]["name"]) in built
    assert {one["metadata"].get("namespace", "kube-system") for one in built.values()} == {"kube-system"}
