"""Who is answered what when a real API server says who somebody is, and what they may."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.releases.lookup import recorded_processes
from tests.support.apiserver.real_server import RealServer
from tests.support.live.serving import ServedScheduler, asking, kubeconfig, serving, trusting
from tests.support.processes import until

RBAC = "/apis/rbac.authorization.k8s.io/v1"


@pytest.fixture(params=list(recorded_processes()))
def served(
    request: pytest.FixtureRequest, io: IoThread, real_apiserver: RealServer, tmp_path: Path
) -> Iterator[ServedScheduler]:
    """The servers of a release, which forget at once what a real API server said of rights."""
    config = kubeconfig(tmp_path, real_apiserver.url, "scheduler-token")
    with serving(io, request.param, asking(config, allowed_seconds=0.0, denied_seconds=0.0)) as found:
        yield found


def test_tokens(served: ServedScheduler) -> None:
    """Everybody may ask for health, masters for everything; a wrong token is nobody."""
    codes = {
        token: tuple(served.ask(path, token=token).code for path in ("/healthz", "/metrics", "/nosuch"))
        for token in ("", "nobody-token", "admin-token", "wrong")
    }
    assert codes == {
        "": (200, 403, 403),
        "nobody-token": (200, 403, 403),
        "admin-token": (200, 200, 404),
        "wrong": (401, 401, 401),
    }


def test_rights(served: ServedScheduler, real_apiserver: RealServer) -> None:
    """A user whom a role allows metrics gets them, and loses them with the role."""
    rule = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    real_apiserver.ask("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "scrapes"}, "rules": [rule]})
    subject = {"kind": "User", "name": "nobody", "apiGroup": "rbac.authorization.k8s.io"}
    role = {"kind": "ClusterRole", "name": "scrapes", "apiGroup": "rbac.authorization.k8s.io"}
    binding = {"metadata": {"name": "scrapes"}, "subjects": [subject], "roleRef": role}
    try:
        real_apiserver.ask("POST", f"{RBAC}/clusterrolebindings", binding)
        until(lambda: served.ask("/metrics", token="nobody-token").code == 200)
        assert served.ask("/metrics", method="DELETE", token="nobody-token").code == 403
        assert served.ask("/configz", token="nobody-token").code == 403
    finally:
        real_apiserver.ask("DELETE", f"{RBAC}/clusterrolebindings/scrapes")
        real_apiserver.ask("DELETE", f"{RBAC}/clusterroles/scrapes")
    until(lambda: served.ask("/metrics", token="nobody-token").code == 403)


def test_certificates(served: ServedScheduler, real_apiserver: RealServer) -> None:
    """The API server's ConfigMap says by whose word clients and front proxies are believed."""
    root = real_apiserver.clients.issue_cert(common_name="root", organization_name="system:masters")
    jane = real_apiserver.clients.issue_cert(common_name="jane", organization_name="devs")
    front = real_apiserver.proxies.issue_cert(common_name="front")
    back = real_apiserver.proxies.issue_cert(common_name="back")
    masters = {"X-Remote-User": "ann", "X-Remote-Group": "system:masters"}
    codes = [
        served.ask("/metrics", context=trusting(leaf), headers=headers).code
        for leaf, headers in ((root, {}), (jane, masters), (front, masters), (back, masters))
    ]
    assert codes == [200, 403, 200, 401]
