"""Reading kubeconfigs: merged files, entries in other forms, exec plugins, and everything that is refused."""

from __future__ import annotations

import base64
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from clusterstate.errors import ConfigError
from kubescheduler.live.transport.kubeconfig import (
    NO_KUBECONFIG,
    Credentials,
    ExecPlugin,
    Kubeconfig,
    PluginError,
    Variable,
)
from tests.support.live import live_cluster

SERVER = "https://here:6443"
BOMB = "".join(
    f"{key}: &{key} [{(value + ', ') * 100}]\n" for key, value in (("a", "x"), ("b", "*a"), ("c", "*b"), ("d", "*c"))
)
PLUGIN = {"command": "say", "apiVersion": "client.authentication.k8s.io/v1"}


def document(user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "current-context": "x",
        "clusters": [{"name": "c", "cluster": {"server": SERVER} if cluster is None else cluster}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    }


def written(folder: Path, content: Any, name: str = "kubeconfig") -> str:
    path = folder / name
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return str(path)


def faults(path: str, context: str | None = None) -> list[str]:
    """What is said of a file, without what every line begins with."""
    with pytest.raises(ConfigError) as caught:
        Kubeconfig.read(path, context)
    return [problem.removeprefix(f"invalid configuration: {path}: ") for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("user", "cluster", "fault"),
    [
        pytest.param({"auth-provider": {"name": "oidc", "config": {"id-token": "t"}}}, None,
                     'user "u": no Auth Provider found for name "oidc"; use an exec plugin instead',
                     id="an auth provider"),
        pytest.param({"as": "somebody"}, None,
                     'user "u": as, as-uid, as-groups and as-user-extra are not supported: name the user itself',
                     id="somebody else"),
        pytest.param({}, {"server": SERVER, "proxy-url": "http://p"}, 'cluster "c": proxy-url is not supported',
                     id="proxy"),
        pytest.param({}, {}, 'no server found for cluster "c"', id="no server"),
        *[
            pytest.param({}, {"server": server}, f'cluster "c": server "{server}" {fault}', id=server)
            for server, fault in {
                "http://127.0.0.1:99999": "is no address: Port out of range 0-65535",
                "http://[::1": "is no address: Invalid IPv6 URL",
                "ftp://127.0.0.1": "is no address of HTTP or HTTPS",
                "https://": "names no host",
            }.items()
        ],
        pytest.param({"exec": {**PLUGIN, "apiVersion": "v9"}}, None,
                     'user "u": exec plugin: invalid apiVersion "v9"; there is client.authentication.k8s.io/v1, '
                     "client.authentication.k8s.io/v1beta1, client.authentication.k8s.io/v1alpha1",
                     id="a plugin of another version"),
        pytest.param({"exec": {**PLUGIN, "command": ""}}, None,
                     'user "u": exec: command must be specified to use exec authentication plugin',
                     id="a plugin without a command"),
        pytest.param({"exec": {**PLUGIN, "interactiveMode": "Often"}}, None,
                     'user "u": exec plugin: unknown interactiveMode: "Often"', id="a plugin that asks often"),
        *[
            pytest.param({"client-certificate" + form: "eA=="}, None,
                         'user "u": client-key-data or client-key must be specified to use the clientCert '
                         "authentication method", id=f"a certificate{form} without a key")
            for form in ("", "-data")
        ],
        pytest.param({"token": 12}, None, "users[0].user.token: Expected `str`, got `int`", id="a number as token"),
        pytest.param({"exec": {**PLUGIN, "args": [1]}}, None, "users[0].user.exec.args[0]: Expected `str`, got `int`",
                     id="args"),
    ],
)  # fmt: skip
def test_entries_that_cannot_be_used(
    tmp_path: Path, user: dict[str, Any], cluster: dict[str, Any] | None, fault: str
) -> None:
    """Each is refused in one line with its place, never passed over: that would be another user, or another way."""
    assert faults(written(tmp_path, document(user, cluster))) == [fault]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param({"users": 3}, ["users: must be a list"], id="users are no list"),
        pytest.param(
            {"users": [3, {"user": {}}]}, [f"users[{n}]: must be an object with a name" for n in (0, 1)], id="no"
        ),
        pytest.param(
            {"users": [{"name": 7, "user": {}}]},
            ["users[0]: must be an object with a name, in quotes: without them this one is read as 7"],
            id="a number",
        ),
        pytest.param(
            {"clusters": 3, "users": [4], "contexts": [{"name": 5}], "current-context": 6},
            [
                "clusters: must be a list",
                "users[0]: must be an object with a name",
                "contexts[0]: must be an object with a name, in quotes: without them this one is read as 5",
                "current-context: must be a name, in quotes: without them this one is read as 6",
            ],
            id="everywhere",
        ),
        pytest.param({"users": [{"name": "u"}] * 2}, ['users[1]: duplicate name "u" in list'], id="twice"),
        pytest.param({"users": None}, ['user "u" was not found for context "x"'], id="no such user"),
        pytest.param({"clusters": []}, ['cluster "c" was not found for context "x"'], id="no such cluster"),
        pytest.param({"contexts": [{"name": "x"}]}, ['cluster was not specified for context "x"'], id="no cluster"),
        pytest.param({"current-context": ""}, ["there is no current-context; there is x"], id="no current one"),
        pytest.param({"contexts": []}, ['context "x" does not exist; there are no contexts'], id="no contexts"),
    ],
)
def test_files_that_do_not_hang_together(tmp_path: Path, change: dict[str, Any], expected: list[str]) -> None:
    """Every fault has its own line."""
    assert faults(written(tmp_path, {**document(), **change})) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(BOMB, "aliases stand for more than 1,000,000 values", id="aliases"),
        pytest.param("a: " + "[" * 500 + "]" * 500, "nested too deeply", id="depth"),
        pytest.param("a: 1\n---\nb: 1\n", NO_KUBECONFIG, id="two documents"),
        pytest.param("", NO_KUBECONFIG, id="nothing"),
        pytest.param("- a\n", NO_KUBECONFIG, id="a list"),
    ],
)
def test_limits_are_those_of_every_file(tmp_path: Path, text: str, said: str) -> None:
    """A hostile file ends with a message."""
    (fault,) = faults(written(tmp_path, text))
    assert said in fault


def test_a_folder_is_no_kubeconfig(tmp_path: Path) -> None:
    """The message is about the file, not about the system."""
    assert faults(str(tmp_path)) == ["cannot be read: Is a directory"]


def test_a_device_without_an_end_is_no_kubeconfig() -> None:
    """It is not read until memory ends."""
    assert faults("/dev/zero") == ["this is no text: it has NUL characters"]


def test_of_several_files_the_first_counts(tmp_path: Path) -> None:
    """Entry by entry; paths are seen from the folder of the file that has them."""
    (tmp_path / "sub").mkdir()
    first = written(tmp_path, {"users": [{"name": "u", "user": {"tokenFile": "t"}}]}, "first")
    second = written(tmp_path / "sub", document({"token": "other"}, {"server": SERVER, "certificate-authority": "ca"}))
    found = Kubeconfig.read(os.pathsep.join((first, second)))
    assert found.url == SERVER
    assert (found.user.token, found.user.token_file) == ("", str(tmp_path / "t"))
    assert found.cluster.certificate_authority == str(tmp_path / "sub" / "ca")


@pytest.mark.parametrize(
    ("cluster", "url"),
    [
        pytest.param({"server": "here:6443"}, "http://here:6443", id="plain"),
        pytest.param({"server": "here", "insecure-skip-tls-verify": True}, "https://here", id="insecure"),
        pytest.param({"server": "here", "certificate-authority-data": "eA=="}, "https://here", id="authority"),
    ],
)
def test_an_address_without_a_scheme(tmp_path: Path, cluster: dict[str, Any], url: str) -> None:
    """It is one of HTTPS where the file says anything of TLS. Upstream: rest.DefaultServerURL."""
    assert Kubeconfig.read(written(tmp_path, document({}, cluster))).url == url


def test_null_is_as_nothing(tmp_path: Path) -> None:
    """What tools write for members that they do not set."""
    user = {"token": None, "exec": {**PLUGIN, "args": None, "env": None, "installHint": None}}
    found = Kubeconfig.read(written(tmp_path, document(user)))
    assert (found.user.token, found.user.exec.args) == ("", ())


def test_data_goes_before_files(tmp_path: Path) -> None:
    """Certificates and keys stand in the file itself, as base64."""
    data = {key: base64.b64encode(key.encode()).decode() for key in ("certificate", "key", "authority")}
    user = {"client-certificate": "no", "client-certificate-data": data["certificate"], "client-key-data": data["key"]}
    found = Kubeconfig.read(
        written(tmp_path, document(user, {"server": SERVER, "certificate-authority-data": data["authority"]}))
    )
    assert (found.authority(), found.client_pair()) == (b"authority", (b"certificate", b"key"))
    broken = Kubeconfig.read(written(tmp_path, document({"client-key-data": "?"})))
    with pytest.raises(ValueError, match="client-key-data: this is no base64"):
        broken.client_pair()


V1 = "client.authentication.k8s.io/v1"


def plugin(script: str, **members: Any) -> ExecPlugin:
    return ExecPlugin(sys.executable, V1, ("-c", script), **members)


def answering(**members: Any) -> ExecPlugin:
    answer = {"kind": "ExecCredential", "apiVersion": V1, **members}
    return plugin(f"print({json.dumps(answer)!r})")


def credentials(of: ExecPlugin, cluster: dict[str, Any] | None = None) -> Credentials:
    return live_cluster.run(of.credentials(cluster or {}))


@pytest.mark.parametrize(
    ("of", "said"),
    [
        pytest.param(answering(), "exec plugin didn't return a status field", id="no status"),
        pytest.param(answering(status={}), "exec plugin didn't return a token or cert/key pair", id="nothing"),
        pytest.param(answering(status={"clientKeyData": "k"}),
                     "exec plugin returned only certificate or key, not both", id="half a pair"),
        pytest.param(
            answering(apiVersion="v2", status={"token": "secret"}),
            f"exec plugin is configured to use API version {V1}, plugin returned version v2 of ExecCredential",
            id="another version",
        ),
        pytest.param(plugin("print('secret')"),
                     f"decoding stdout of {sys.executable}: JSON is malformed: invalid character (byte 0)",
                     id="no JSON"),
        pytest.param(plugin("import sys; sys.exit('log in\\nfirst')", install_hint="get\n  it"),
                     f"exec: executable {sys.executable} failed with exit code 1: log in first; get it", id="it fails"),
        pytest.param(ExecPlugin("/nowhere", V1, install_hint="install it"),
                     "exec: executable /nowhere failed: no such file or directory; install it", id="it is not there"),
    ],
)  # fmt: skip
def test_plugins_that_say_nothing_of_use(of: ExecPlugin, said: str) -> None:
    """One line that says why, and nothing of what may be secret."""
    with pytest.raises(PluginError) as caught:
        credentials(of)
    assert str(caught.value) == said


def test_what_a_plugin_is_told() -> None:
    """The version, whether somebody is there, its variables, and the cluster where it wants to know."""
    script = (
        "import json, os; told = json.loads(os.environ['KUBERNETES_EXEC_INFO']);"
        "told['status'] = {'token': json.dumps([told['spec'], os.environ['NAME']])}; print(json.dumps(told))"
    )
    variables = (Variable("NAME", "value"),)
    asked = [
        json.loads(credentials(plugin(script, env=variables, provide_cluster_info=wants), {"server": "s"}).token)
        for wants in (False, True)
    ]
    assert asked == [[{"interactive": False}, "value"], [{"interactive": False, "cluster": {"server": "s"}}, "value"]]


def test_one_that_needs_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one it is not even begun."""
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(PluginError, match="standard input is not a terminal"):
        credentials(plugin("raise SystemExit(3)", interactive_mode="Always"))
