"""Who the live scheduler is to an API server."""

from __future__ import annotations

import asyncio
import json
import math
import os
import ssl
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml

from clusterstate.errors import ConfigError
from kubescheduler.live.process.process_options import ServerSettings
from kubescheduler.live.transport.server_access import NO_CONFIGURATION, ServerAccess
from tests.support.live import live_cluster


@pytest.fixture
def authority(tmp_path: Path) -> trustme.CA:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.crt")
    return authority


def kubeconfig(folder: Path, user: dict[str, Any], server: str = "https://127.0.0.1:6443") -> str:
    """A kubeconfig's path, with two contexts."""
    cluster = {"server": server, **({"certificate-authority": "ca.crt"} if server.startswith("https") else {})}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [{"name": "c", "cluster": cluster}, {"name": "d", "cluster": {"server": "http://there:8080"}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [
            {"name": "here", "context": {"cluster": "c", "user": "u"}},
            {"name": "there", "context": {"cluster": "d", "user": "u"}},
        ],
    }
    (folder / "kubeconfig").write_text(yaml.safe_dump(document))
    return str(folder / "kubeconfig")


def headers(access: ServerAccess) -> dict[str, str]:
    return live_cluster.run(access.headers())


@pytest.mark.usefixtures("authority")
@pytest.mark.parametrize(
    ("user", "header"),
    [
        pytest.param({"token": "t"}, "Bearer t", id="token"),
        pytest.param({"tokenFile": "t"}, "Bearer from a file", id="token in a file beside it"),
        pytest.param({"username": "u", "password": "p"}, "Basic dTpw", id="password"),
    ],
)
def test_credentials(tmp_path: Path, user: dict[str, Any], header: str) -> None:
    """The ways to say who one is."""
    (tmp_path / "t").write_text("from a file")
    access = live_cluster.run(ServerAccess.from_kubeconfig(kubeconfig(tmp_path, user)))
    assert (access.base_url, access.host, headers(access)) == (
        *("https://127.0.0.1:6443", "127.0.0.1:6443"),
        {"Authorization": header},
    )
    assert isinstance(access.ssl, ssl.SSLContext)


@pytest.mark.usefixtures("authority")
def test_master_goes_first(tmp_path: Path) -> None:
    """--master replaces the server of the file; another context has another server."""
    path = kubeconfig(tmp_path, {"token": "t"})
    master = live_cluster.run(ServerAccess.from_kubeconfig(path, master="https://other:1/"))
    there = live_cluster.run(ServerAccess.from_kubeconfig(path, "there"))
    assert (master.base_url, there.base_url) == ("https://other:1", "http://there:8080")


def test_no_token_over_plain_http(tmp_path: Path) -> None:
    """As client-go, a token is kept back where everybody could read it."""
    access = live_cluster.run(ServerAccess.from_kubeconfig(kubeconfig(tmp_path, {"token": "t"}, "http://127.0.0.1:1")))
    assert headers(access) == {}


def plugin(folder: Path, first_expires: str) -> dict[str, Any]:
    """A user whose plugin gives the token ``run-N`` at its Nth run, and notes each. first_expires: of the first one."""
    counts = folder / "runs"
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"}
    script = (
        f"import json, pathlib; p = pathlib.Path({str(counts)!r}); n = len(p.read_text()) if p.exists() else 0;"
        f"p.write_text('x' * (n + 1)); a = {answer!r};"
        f"a['status'] = {{'token': 'run-%d' % n, 'expirationTimestamp': [{first_expires!r},"
        " '2099-01-01T00:00:00Z'][n > 0]}; print(json.dumps(a))"
    )
    return {"exec": {"apiVersion": answer["apiVersion"], "command": sys.executable, "args": ["-c", script]}}


@pytest.mark.usefixtures("authority")
def test_an_exec_plugin(tmp_path: Path) -> None:
    """A plugin is run once, and again when its token has expired: once for all requests that wait for another one."""

    async def tokens() -> list[str]:
        access = await ServerAccess.from_kubeconfig(kubeconfig(tmp_path, plugin(tmp_path, "2020-01-01T00:00:00Z")))
        return [said["Authorization"] for said in await asyncio.gather(*(access.headers() for _ in range(3)))]

    assert live_cluster.run(tokens()) == ["Bearer run-1"] * 3


@pytest.mark.usefixtures("authority")
def test_a_token_that_the_server_refuses(tmp_path: Path) -> None:
    """Of many requests that are refused at the same time, one runs the plugin, and all are sent again."""

    async def renewed() -> tuple[list[bool], str]:
        access = await ServerAccess.from_kubeconfig(kubeconfig(tmp_path, plugin(tmp_path, "2099-01-01T00:00:00Z")))
        return await asyncio.gather(*(access.renew() for _ in range(3))), (await access.headers())["Authorization"]

    assert live_cluster.run(renewed()) == ([True] * 3, "Bearer run-1")


@pytest.mark.usefixtures("authority")
def test_a_kubeconfig_that_changes_meanwhile(tmp_path: Path) -> None:
    """Renewed credentials are for the server that was chosen at the start, also when another context is current now,
    and when the file is gone."""
    user, path = plugin(tmp_path, "2099-01-01T00:00:00Z"), tmp_path / "kubeconfig"

    async def renewed() -> list[tuple[str, str]]:
        access = await ServerAccess.from_kubeconfig(kubeconfig(tmp_path, user))
        seen = []
        for change in (
            lambda: path.write_text(path.read_text().replace("current-context: here", "current-context: there")),
            path.unlink,
        ):
            change()
            await access.renew()
            seen.append((access.base_url, (await access.headers())["Authorization"]))
        return seen

    assert live_cluster.run(renewed()) == [("https://127.0.0.1:6443", f"Bearer run-{count}") for count in (1, 2)]


def test_a_certificate_of_an_exec_plugin(tmp_path: Path, authority: trustme.CA) -> None:
    """How long it is valid is known; of tokens, and certificates of the kubeconfig itself, nothing is said."""
    made = authority.issue_cert("me@here", not_after=datetime(2031, 1, 2, tzinfo=UTC))
    texts = {
        "clientCertificateData": made.cert_chain_pems[0].bytes().decode(),
        "clientKeyData": made.private_key_pem.bytes().decode(),
    }
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": texts}
    script = f"import json; print(json.dumps({answer!r}))"
    user = {"exec": {"apiVersion": answer["apiVersion"], "command": sys.executable, "args": ["-c", script]}}
    access = live_cluster.run(ServerAccess.from_kubeconfig(kubeconfig(tmp_path, user)))
    assert access.certificate_seconds(datetime(2031, 1, 1, tzinfo=UTC)) == 86400
    assert access.certificate_seconds(datetime(2031, 1, 3, tzinfo=UTC)) == -86400
    plain = live_cluster.run(ServerAccess.from_kubeconfig(kubeconfig(tmp_path, {"token": "t"})))
    assert plain.certificate_seconds(datetime(2031, 1, 1, tzinfo=UTC)) == math.inf


def test_a_certificate_that_is_rotated(tmp_path: Path, authority: trustme.CA) -> None:
    """The age of the certificate before is told once another one takes its place, and only then."""
    since = datetime.now(UTC) - timedelta(hours=2)
    counts, status = tmp_path / "runs", []
    for until in (2031, 2032):
        made = authority.issue_cert("me@here", not_before=since, not_after=datetime(until, 1, 2, tzinfo=UTC))
        chain, key = made.cert_chain_pems[0].bytes().decode(), made.private_key_pem.bytes().decode()
        status.append({"clientCertificateData": chain, "clientKeyData": key})
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"}
    script = (
        f"import json, pathlib; p = pathlib.Path({str(counts)!r}); n = len(p.read_text()) if p.exists() else 0;"
        f"p.write_text('x' * (n + 1)); print(json.dumps({{**{answer!r}, 'status': {status!r}[n > 1]}}))"
    )
    user = {"exec": {"apiVersion": answer["apiVersion"], "command": sys.executable, "args": ["-c", script]}}
    ages: list[list[float]] = []

    async def renewals() -> None:
        access, told = await ServerAccess.from_kubeconfig(kubeconfig(tmp_path, user)), list[float]()
        access.rotated = told.append
        for _ in range(3):
            await access.renew()
            ages.append(list(told))

    live_cluster.run(renewals())
    none, (age,), still = ages
    assert (none, still) == ([], [age])
    assert 7200 <= age < 7500


def test_a_client_certificate(tmp_path: Path, authority: trustme.CA) -> None:
    """Certificates and keys are found beside the file, and read again when the server refuses them."""
    user = {"client-certificate": "me.crt", "client-key": "me.key"}

    def issue() -> None:
        made = authority.issue_cert("me@here")
        made.cert_chain_pems[0].write_to_path(tmp_path / "me.crt")
        made.private_key_pem.write_to_path(tmp_path / "me.key")

    async def renewed() -> list[bool]:
        access = await ServerAccess.from_kubeconfig(kubeconfig(tmp_path, user))
        before = access.ssl
        assert (isinstance(before, ssl.SSLContext), await access.headers()) == (True, {})
        same = await access.renew(), access.ssl is before
        issue()
        return [*same, await access.renew(), access.ssl is before]

    issue()
    assert live_cluster.run(renewed()) == [False, True, True, False]


@pytest.mark.usefixtures("authority")
def test_in_a_pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service account's token is read anew when the server no longer takes it."""
    (tmp_path / "token").write_text("old\n")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")

    async def tokens() -> tuple[str, str, str, bool]:
        access = await ServerAccess.in_cluster(tmp_path)
        first = (await access.headers())["Authorization"]
        (tmp_path / "token").write_text("new\n")
        renewed = await access.renew()
        return access.base_url, first, (await access.headers())["Authorization"], renewed

    assert live_cluster.run(tokens()) == ("https://[fd00::1]:443", "Bearer old", "Bearer new", True)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param(None, "open {}/ca.crt: no such file or directory", id="missing"),
        pytest.param("x", "unable to load the certificate authority: ", id="broken"),
    ],
)
def test_in_a_pod_without_an_authority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, fault: str
) -> None:
    """It is no other authority that is trusted then."""
    (tmp_path / "token").write_text("t")
    if text is not None:
        (tmp_path / "ca.crt").write_text(text)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    with pytest.raises(ConfigError, match=f"^invalid configuration: {tmp_path}: {fault.format(tmp_path)}"):
        live_cluster.run(ServerAccess.in_cluster(tmp_path))


def one_context(**cluster: str) -> str:
    """A kubeconfig with the context ``x``."""
    return json.dumps(
        {
            "clusters": [{"name": "c", "cluster": {"server": "https://here:6443", **cluster}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
    )


@pytest.mark.parametrize(
    ("text", "context", "message"),
    [
        pytest.param(one_context(), "y", 'context "y" does not exist; there is x', id="unknown context"),
        pytest.param(
            "a: [\n", None, "line 2, column 1: while parsing a flow node, did not find expected node content", id="YAML"
        ),
        pytest.param(
            one_context(**{"certificate-authority": "/no/ca.crt"}),
            None,
            "open /no/ca.crt: no such file or directory",
            id="no authority",
        ),
        pytest.param(
            one_context(**{"certificate-authority": "/dev/null"}), None, "/dev/null: is empty", id="an empty authority"
        ),
        pytest.param(
            one_context(**{"certificate-authority-data": "eA=="}),
            None,
            "unable to load the certificate authority: no start line: cadata does not contain a certificate",
            id="no certificate",
        ),
    ],
)
def test_what_is_wrong_with_a_kubeconfig(tmp_path: Path, text: str, context: str | None, message: str) -> None:
    """One line in the words of kubectl."""
    file = tmp_path / "kubeconfig"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        live_cluster.run(ServerAccess.from_kubeconfig(str(file), context))
    assert str(caught.value).partition(" (_ssl")[0] == f"invalid configuration: {file}: {message}"


def test_no_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Upstream's texts for a missing file and for no configuration at all."""
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(ConfigError, match=f"^stat {os.fspath(tmp_path)}/no: no such file or directory$"):
        live_cluster.run(ServerAccess.from_kubeconfig(f"{tmp_path}/no"))
    with pytest.raises(ConfigError, match=f"^{NO_CONFIGURATION}$"):
        live_cluster.run(ServerAccess.in_cluster(tmp_path))


def test_kubernetes_master() -> None:
    """It says where the server is when nothing else does; without it there is no configuration."""
    access = live_cluster.run(ServerAccess.unnamed({"KUBERNETES_MASTER": "http://there:8080"}))
    assert (access.base_url, headers(access)) == ("http://there:8080", {})
    with pytest.raises(ConfigError, match=f"^{NO_CONFIGURATION}$"):
        live_cluster.run(ServerAccess.unnamed({"KUBERNETES_MASTER": ""}))


def test_a_named_server_goes_before_kubernetes_master(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A kubeconfig and --master do."""
    monkeypatch.setenv("KUBERNETES_MASTER", "http://elsewhere:8080")
    path = kubeconfig(tmp_path, {}, "http://here:8080")
    settings = (ServerSettings(kubeconfig=path), ServerSettings(master="http://here:8080"))
    assert {live_cluster.run(setting.access()).base_url for setting in settings} == {"http://here:8080"}
    assert live_cluster.run(ServerSettings().access()).base_url == "http://elsewhere:8080"


def test_a_plugin_that_is_not_there_is_reported_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing is written beside the error that is raised."""
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "/nowhere", "interactiveMode": "Never"}
    with pytest.raises(ConfigError, match="/nowhere"):
        live_cluster.run(ServerAccess.from_kubeconfig(kubeconfig(tmp_path, {"exec": plugin}, "http://here:8080")))
    assert capfd.readouterr().err == ""


def test_a_name_for_the_servers_certificate(tmp_path: Path) -> None:
    """tls-server-name is what the certificate is held against, in place of the address."""
    (tmp_path / "kubeconfig").write_text(one_context(**{"tls-server-name": "api.example"}))
    access = live_cluster.run(ServerAccess.from_kubeconfig(str(tmp_path / "kubeconfig")))
    assert access.server_name == "api.example"
