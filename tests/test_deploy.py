"""The manifests of deploy/: they are what an API server takes, and allow what a scheduler does, and no more."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from prometheus_client import CollectorRegistry

from clusterstate.manifests.known_fields import unknown_fields
from clusterstate.objects import ObjectMeta, Pod, PodSpec
from kubescheduler.live.dry_run_process import DRY_RUN_FAMILIES
from kubescheduler.live.flags import parse_flags
from kubescheduler.live.metrics.unschedulable_workloads import KnownHint, UnschedulableWorkloads
from kubescheduler.live.observers import ShortHint, UnschedulablePod
from kubescheduler.live.process.process_options import CommandLine, settings_of
from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.releases.lookup import live_release, recorded_processes
from tests.support.apiserver import FrontServer
from tests.support.apiserver.forwarding_server import ForwardingServer
from tests.support.apiserver.front_server import ASKED
from tests.support.apiserver.real_server import RealServer
from tests.support.live.claims import (
    CLAIMS,
    SELECTED,
    VOLUME_CLAIMS,
    VOLUMES,
    a_claim,
    a_volume,
    bind_volume,
    consumer,
    extended,
    fails_once,
    prepare_devices,
    prepare_volumes,
    remove_claims,
    sharing,
    unprotected,
)
from tests.support.live.live_cluster import NODES, PODS, Cluster, a_node, a_pod, running
from tests.support.live.rights import (
    ELSEWHERE,
    LIVE_FOLDER,
    PLAYED,
    Right,
    allows,
    asking_lines,
    granted_by,
    play,
    rights_of,
)

DEPLOY = Path(__file__).parent.parent / "deploy"
BASE = DEPLOY / "base"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
KUBECTL = pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl")
RELEASES = pytest.mark.parametrize("release", list(recorded_processes()))


def documents(file: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(file.read_text()))


def rules(release: str) -> Iterator[dict[str, Any]]:
    for document in documents(DEPLOY / "releases" / release / "rbac.yaml"):
        yield from document.get("rules", ())


def test_every_release_has_manifests() -> None:
    """What runs can be deployed."""
    assert {folder.name for folder in (DEPLOY / "releases").iterdir()} == set(recorded_processes())


@pytest.mark.parametrize("release", ["1.16", "1.20"])
def test_the_insecure_port_is_for_the_pod_alone(release: str) -> None:
    """Nobody else reads metrics without being asked who he is."""
    live = live_release(release)
    flags = parse_flags(
        live.flags, ["--config", str(DEPLOY / "releases" / release / "config.yaml"), "--master", "http://s"]
    )
    settings = settings_of(CommandLine(live, flags), lambda _: None, lambda _: None)
    assert {port.address for port in settings.serving.insecure} == {"127.0.0.1"}


BESIDE: dict[str, set[Right]] = {
    "1.36": {("resource.k8s.io", "resourceclaims", "patch", ""), ("", "pods/finalizers", "update", "")}
}
"""Rights of upstream's own role around claims that no request needs: to patch them, and to hold up a pod's deletion by
the claim that is made for it, which an API server asks about where it guards the owners of objects."""
LOCK = "kubescheduler"


def granted(release: str) -> set[Right]:
    return {right for rule in rules(release) for right in granted_by(rule)}


@RELEASES
def test_the_rights_are_those_that_the_code_needs(release: str, io: IoThread) -> None:
    """Whatever a line of the code may ask of the API server is granted, and nothing else."""
    needed, beside = play(live_release(release), io, LOCK).rights, BESIDE.get(release, set())
    assert sorted(needed - granted(release)) == []
    assert sorted(granted(release) - needed) == sorted(beside)


def test_every_line_that_asks_is_played(io: IoThread) -> None:
    """The rights are derived from all requests that the code can send: none of its lines is left out."""
    lines = {line for release in recorded_processes() for line in play(live_release(release), io, LOCK).lines}
    left = []
    for file, first, last, method in asking_lines():
        name = file.relative_to(LIVE_FOLDER).as_posix()
        if name.startswith(PLAYED):
            if not any((str(file), line) in lines for line in range(first, last + 1)):
                left.append(f"{name}:{first} is not played")
        elif method not in ("", "GET") and ELSEWHERE.get(name) != method:
            left.append(f"{name}:{first} writes, and is not played")
    assert left == []


def grant(front: FrontServer, release: str) -> None:
    """Lets a server allow requests what the manifests allow; a real one takes them for those of their account then."""
    if not isinstance(front, ForwardingServer):
        allowed = list(rules(release))

        async def refuse(request: web.Request) -> web.Response | None:
            asked = request[ASKED]
            for right in rights_of(asked.method, asked.path, asked.body):
                if not any(allows(rule, right) for rule in allowed):
                    document = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": f"no right {right}"}
                    return web.json_response(document, status=403)
            return None

        front.faults.append(refuse)
        return
    for document in (*documents(DEPLOY / "releases" / release / "rbac.yaml"), *documents(BASE / "authentication.yaml")):
        namespace = "" if document["kind"].startswith("Cluster") else "kube-system"
        front.storage.create(f"{RBAC}/{document['kind'].lower()}s", namespace, document)
    front.token = "deployed-token"


def preempts(cluster: Cluster) -> None:
    """A pod is bound, evicted for another, and told of."""
    cluster.server.storage.create(NODES, "", a_node("n1"))
    cluster.make(PODS, a_pod("low", cpu="3"))
    cluster.until(lambda: cluster.is_bound("low"))
    cluster.make(PODS, a_pod("high", cpu="3", priority=1000))
    cluster.until(lambda: len(cluster.events("Preempted")) == 1)
    cluster.until(lambda: len(cluster.events("FailedScheduling")) >= 1)
    cluster.until(lambda: len(cluster.events("Scheduled")) >= 1)


def provisions(cluster: Cluster) -> None:
    """A claim is told its node."""
    prepare_volumes(cluster.server, "example.com/p")
    cluster.make(PODS, consumer())

    def annotations() -> dict[str, str]:
        meta = cluster.server.storage.get(VOLUME_CLAIMS, "default", "c")["metadata"]
        return dict(meta.get("annotations") or {})

    cluster.until(lambda: SELECTED in annotations())


def takes_a_volume(cluster: Cluster) -> None:
    """A volume is reserved for a claim."""
    prepare_volumes(cluster.server, "kubernetes.io/no-provisioner")
    unprotected(cluster.server, VOLUMES, "", a_volume())
    cluster.make(PODS, consumer())
    cluster.until(lambda: "claimRef" in cluster.server.storage.get(VOLUMES, "", "v")["spec"])
    bind_volume(cluster.server)
    cluster.until(lambda: cluster.is_bound("p"))


def takes_a_device(cluster: Cluster) -> None:
    """A claim is allocated, taken back when binding fails, and reserved anew."""
    fails_once(cluster.server, "POST", lambda path: path.endswith("/binding"), 403)
    prepare_devices(cluster.server)
    cluster.server.storage.create(CLAIMS, "default", a_claim())
    cluster.make(PODS, sharing("p"))
    cluster.until(lambda: cluster.is_bound("p"))


def makes_a_claim(cluster: Cluster) -> None:
    """A claim is made for an extended resource, deleted when binding fails, and made anew."""
    fails_once(cluster.server, "POST", lambda path: path.endswith("/binding"), 403)
    prepare_devices(cluster.server)
    cluster.make(PODS, extended())
    cluster.until(lambda: cluster.is_bound("p"))


EVERYWHERE, SINCE_1_36 = (preempts, provisions, takes_a_volume), (takes_a_device, makes_a_claim)


@pytest.mark.parametrize(
    ("release", "scene"),
    [
        pytest.param(release, scene, id=f"{release}-{scene.__name__}")
        for release in recorded_processes()
        for scene in EVERYWHERE + (SINCE_1_36 if release == "1.36" else ())
    ],
)
def test_rights(api_server: FrontServer, release: str, scene: Callable[[Cluster], None]) -> None:
    """A scheduler that leads, and has no other rights than its role's, is refused nothing."""
    grant(api_server, release)
    lock: dict[str, Any] = {"resource_lock": "leases", "resource_name": LOCK}
    with running(api_server, release, leader_elect=True, **lock) as cluster:
        scene(cluster)
    remove_claims(api_server)
    assert [(one.asked.method, one.asked.path) for one in api_server.done if one.code in (401, 403)] == []
    asked = {right for one in api_server.asked for right in rights_of(one.method, one.path, one.body)}
    given = list(rules(release))
    assert [right for right in sorted(asked) if not any(allows(rule, right) for rule in given)] == []


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
    from kubescheduler.live.flags import parse_flags
    from kubescheduler.live.process.process_options import CommandLine, settings_of
    from kubescheduler.releases.lookup import live_release

    (patch,) = documents(DEPLOY / "releases" / release / "command.yaml")
    (container,) = patch["spec"]["template"]["spec"]["containers"]
    assert container["args"][:4] == ["run", "--release", release, "--"]
    words = [word.replace("/etc/kubescheduler", str(DEPLOY / "releases" / release)) for word in container["args"][4:]]
    live = live_release(release)
    flags = parse_flags(live.flags, words)
    notes: list[str] = []
    settings = settings_of(CommandLine(live, flags), notes.append, notes.append)
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


# --- alerts and dashboards ------------------------------------------------------------------

NAME = re.compile(r"\b(?:kubescheduler|scheduler)_[a-z0-9_]+")
LABELS = re.compile(r"by \(([^)]*)\)|([a-z]+)=~?\"")


def expressions() -> list[str]:
    """What the alerts and the dashboard ask Prometheus for."""
    [rule] = documents(DEPLOY / "components/alerts/prometheus-rule.yaml")
    dashboard = json.loads((DEPLOY / "dashboards/kubescheduler.json").read_text())
    asked = [alert["expr"] for group in rule["spec"]["groups"] for alert in group["rules"]]
    return asked + [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]


def exported_labels() -> dict[str, set[str]]:
    """Metric → its labels, of everything that 1.36 and a dry run export of scheduling."""
    found: dict[str, set[str]] = {}
    for family in (*live_release("1.36").metrics.families, *DRY_RUN_FAMILIES):
        parts = ("_bucket", "_sum", "_count") if family.kind == "histogram" else ("",)
        found |= {family.name + part: {*family.labels, "le"} for part in parts if family.registered}
    registry = CollectorRegistry()
    pod = Pod(ObjectMeta("a", "b"), PodSpec())
    hint = KnownHint("", ShortHint("request", "ask for less"), 1)
    stuck = [UnschedulablePod(pod, frozenset(), 1)]
    registry.register(UnschedulableWorkloads(lambda: stuck, lambda pods: dict.fromkeys(pods, hint)))
    for metric in registry.collect():
        found |= {sample.name: set(sample.labels) for sample in metric.samples}
    return found


@pytest.mark.parametrize("expression", expressions())
def test_expressions_ask_for_what_is_exported(expression: str) -> None:
    """Every metric is there under its name, and has the labels that it is selected and summed by."""
    exported = exported_labels()
    names = NAME.findall(expression)
    assert names
    asked = {label.strip() for found in LABELS.findall(expression) for label in (found[0] or found[1]).split(",")}
    for name in names:
        assert asked <= exported[name], name


def test_alerts_are_what_the_operator_reads() -> None:
    """Every alert has a name of its own, an expression, how long it holds, and a summary."""
    [rule] = documents(DEPLOY / "components/alerts/prometheus-rule.yaml")
    alerts = [alert for group in rule["spec"]["groups"] for alert in group["rules"]]
    assert len({alert["alert"] for alert in alerts}) == len(alerts)
    assert all(alert.keys() == {"alert", "expr", "for", "labels", "annotations"} for alert in alerts)
    assert all(alert["annotations"]["summary"] for alert in alerts)
