"""Running exec plugins."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from kubescheduler.live.transport.exec_plugin import Credentials, ExecPlugin, PluginError, Variable
from tests.support.live import live_cluster

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
        pytest.param(
            answering(status={"clientKeyData": "k"}),
            "exec plugin returned only certificate or key, not both",
            id="half a pair",
        ),
        pytest.param(
            answering(apiVersion="v2", status={"token": "secret"}),
            f"exec plugin is configured to use API version {V1}, plugin returned version v2 of ExecCredential",
            id="another version",
        ),
        pytest.param(
            plugin("print('secret')"),
            f"decoding stdout of {sys.executable}: JSON is malformed: invalid character (byte 0)",
            id="no JSON",
        ),
        pytest.param(
            plugin("import sys; sys.exit('log in\\nfirst')", install_hint="get\n  it"),
            f"exec: executable {sys.executable} failed with exit code 1: log in first; get it",
            id="it fails",
        ),
        pytest.param(
            ExecPlugin("/nowhere", V1, install_hint="install it"),
            "exec: executable /nowhere failed: no such file or directory; install it",
            id="it is not there",
        ),
    ],
)
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
