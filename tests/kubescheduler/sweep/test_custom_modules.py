"""Custom rules and plugins in a sweep, and the files of extenders, where cases run on machines that have none of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import trustme

from algorithmprovider import FIT_PREDICATES
from kubescheduler.sweep.cases import Case, CustomModules, packed
from kubescheduler.sweep.run_case import run_case, with_certificates
from tests.support.comparisons import node_manifest, one_case, pod_manifest, write
from tests.support.custom.extender_process import extender

PLUGIN = """\
from tables_{at} import ALLOWED
import algorithmprovider

def rule(pod, meta, node_info):
    return node_info.node.metadata.name == ALLOWED, ["not allowed"]

def mine():
    algorithmprovider.register_fit_predicate("Mine", rule)

class Plugin:
    name = "Mine"

    def score(self, state, pod, node_info):
        return 100 if node_info.node.metadata.name == ALLOWED else 0
"""
POLICY = {"kind": "Policy", "apiVersion": "v1", "predicates": [{"name": "Mine"}]}
CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "Mine", "weight": 100}]}}}],
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a snapshot of three equal nodes and one pod."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", ["", *sys.path])
    write(tmp_path / "snap.json", *(node_manifest(name) for name in ("n0", "n1", "n2", "node-2")), pod_manifest("a"))
    (tmp_path / "policy.json").write_text(json.dumps(POLICY))
    (tmp_path / "config.json").write_text(json.dumps(CONFIGURATION))
    return tmp_path


def sent_away(case: Case) -> dict[str, bytes]:
    """The contents of the case's files, which are gone."""
    contents = packed(case.files)
    for name in contents:
        Path(name).unlink()
    return contents


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        pytest.param("release=1.16,policy=policy.json", "plugin_{at}:mine", id="1.16"),
        pytest.param("release=1.4,policy=policy.json", "plugin_{at}:mine", id="1.4"),
        pytest.param("release=1.36,config=config.json", "Mine=plugin_{at}:Plugin", id="1.36"),
    ],
)
def test_code_that_is_sent(
    folder: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, spec: str, name: str
) -> None:
    """A module and what it imports from its folder go along; another version of it is another case with its answer."""
    at = request.node.callspec.id.replace(".", "_")
    (folder / f"plugin_{at}.py").write_text(PLUGIN.format(at=at))
    found = []
    path = list(sys.path)
    for allowed in ("n1", "node-2"):
        monkeypatch.setattr("sys.path", list(path))
        (folder / f"tables_{at}.py").write_text(f"ALLOWED = {allowed!r}\n")
        (folder / f"plugin_{at}.py").write_text(PLUGIN.format(at=at))
        modules = CustomModules.of([name.format(at=at)])
        case = one_case("snap.json", spec, modules=modules, placements=True)
        contents = packed(case.files)
        for file, _ in modules.files:
            Path(file).unlink()
        outcome = run_case(case, contents)
        for module in ("plugin", "tables"):
            monkeypatch.delitem(sys.modules, f"{module}_{at}")
        assert outcome.row["error"] == ""
        assert json.loads(str(outcome.row["placements"])) == {"default/a": allowed}
        found.append(case.id)
    assert len(set(found)) == 2
    assert "Mine" not in FIT_PREDICATES


def test_where_code_is_here(folder: Path) -> None:
    """On this machine modules are imported from the current folder, and what they register does not stay."""
    (folder / "tables_here.py").write_text("ALLOWED = 'n2'\n")
    (folder / "plugin_here.py").write_text(PLUGIN.format(at="here"))
    modules = CustomModules.of(["plugin_here:mine"])
    case = one_case("snap.json", "release=1.16,policy=policy.json", modules=modules, placements=True)
    assert json.loads(str(run_case(case).row["placements"])) == {"default/a": "n2"}
    assert run_case(one_case("snap.json", "release=1.16,policy=policy.json")).row["error"] != ""


# --- extenders ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, trustme.CA]]:
    """An extender that wants a client's certificate, and who signs them."""
    folder, authority = tmp_path_factory.mktemp("tls"), trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(folder / "server.pem")
    with extender(folder / "server.pem", folder / "ca.pem") as url:
        yield url, authority


@pytest.mark.parametrize("release", ["1.16", "1.20"])
def test_certificates_that_are_sent(folder: Path, secured: tuple[str, trustme.CA], release: str) -> None:
    """A machine without them asks an extender that wants a client's certificate; errors have the user's names."""
    url, authority = secured
    client = authority.issue_cert("scheduler.example")
    authority.cert_pem.write_to_path(folder / "ca.pem")
    client.cert_chain_pems[0].write_to_path(folder / "cert.pem")
    client.private_key_pem.write_to_path(folder / "key.pem")
    tls = {"caFile": "ca.pem", "certFile": "cert.pem", "keyFile": "key.pem"}
    asked = {"urlPrefix": f"{url}/good", "filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 5}
    policy = {"kind": "Policy", "apiVersion": "v1", "extenders": [{**asked, "enableHttps": True, "tlsConfig": tls}]}
    (folder / "policy.json").write_text(json.dumps(policy))
    plain = one_case("snap.json", f"release={release},policy=policy.json", placements=True)
    configuration = with_certificates(plain.configuration, CustomModules())
    case = msgspec.structs.replace(plain, configuration=configuration)
    assert set(case.configuration.certificates) == {"ca.pem", "cert.pem", "key.pem"}
    contents = sent_away(case)
    outcome = run_case(case, contents)
    assert outcome.row["error"] == ""
    assert json.loads(str(outcome.row["placements"])) == {"default/a": "node-2"}
    lacking = {name: data for name, data in contents.items() if name != "ca.pem"}
    assert "caFile ca.pem" in str(run_case(case, lacking).row["error"])
