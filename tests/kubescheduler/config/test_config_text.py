from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.errors import ConfigError
from kubescheduler.config.config_text import (
    configmap_policy,
    parse_document,
    parse_first_document,
    read_document,
    read_policy_configmap,
    read_policy_file,
)

PLAIN = {"kind": "Policy", "predicates": [{"name": "HostName"}], "weight": 2}
JSON_TEXT = json.dumps(PLAIN, indent=2)
YAML_TEXT = "kind: Policy\npredicates:\n- name: HostName\nweight: 2.0\n"
TOML_TEXT = 'kind = "Policy"\nweight = 2\n[[predicates]]\nname = "HostName"\n'


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (JSON_TEXT, "p.json"),
        (JSON_TEXT, "p"),
        (JSON_TEXT, "p.yaml"),
        (YAML_TEXT, "p.yml"),
        (YAML_TEXT, "p.YAML"),
        (YAML_TEXT, "p.cfg"),
        ("# a comment\n---\n" + YAML_TEXT, "p"),
        (TOML_TEXT, "p.toml"),
        ("# a comment\n\n" + TOML_TEXT, "p"),
        ('[[predicates]]\nname = "HostName"\n[x]\n', "p"),
    ],
)
def test_formats(text: str, name: str) -> None:
    """The ending tells the format, else the text does; all give the same plain data."""
    document = parse_document(text, name)
    assert document["predicates"] == [{"name": "HostName"}]
    assert "x" in document or document == PLAIN


@pytest.mark.parametrize("name", ["p.json", "p.yaml", "p.toml", "p"])
def test_empty_text_is_an_empty_document(name: str) -> None:
    """A blank file holds no key."""
    assert parse_document(" \n", name) == {}


def test_yaml_becomes_what_json_would_be() -> None:
    """Keys become text, whole floats integers, dates text."""
    assert parse_document("2: a\ntrue: b\nx: 1.0\nz: 1.5\nd: 2001-02-03\nm: ~\n", "p.yaml") == {
        "2": "a",
        "true": "b",
        "x": 1,
        "z": 1.5,
        "d": "2001-02-03",
        "m": None,
    }


@pytest.mark.parametrize(
    ("text", "name", "start"),
    [
        ('{"a": 1,\n "b": x}', "p.json", "p.json:2:7: JSON is malformed"),
        ('{"a": 1', "p.json", "p.json: the JSON ends too early"),
        ("a: 1\nb: [1\n", "p.yaml", "p.yaml:3:1: "),
        ("a: 1\n b: 2\n", "p.yaml", "p.yaml:2:3: mapping values are not allowed"),
        ("a = 1\nb = [\n", "p.toml", "p.toml: Invalid value (at end of document)"),
        ("a = \n", "p.toml", "p.toml:1:5: Invalid value"),
        ("a = 0x\n", "p.toml", "p.toml:1:6: "),
        ("a = 1\n[a]\n", "p.toml", "p.toml:2:3: Cannot overwrite a value"),
        ("a = " + "9" * 5000, "p.toml", "p.toml: a number in it has too many digits"),
        ("[1]", "p.json", "p.json: expected a mapping of keys to values, found a list"),
        ("hello", "p.yaml", 'p.yaml: expected a mapping of keys to values, found the text "hello"'),
        ("a: 1\n---\nb: 2\n", "p.yaml", "p.yaml: expected one document, found 1 more document;"),
    ],
    ids=[
        *("json", "json-end", "yaml-end", "yaml", "toml", "toml-value", "toml-base", "toml-table", "toml-digits"),
        *("list", "text", "two"),
    ],
)
def test_faulty_texts(text: str, name: str, start: str) -> None:
    """What cannot be read is refused with file, line and column."""
    with pytest.raises(ConfigError) as caught:
        parse_document(text, name)
    assert str(caught.value).startswith(start)


@given(st.text(max_size=40), st.sampled_from(["p.json", "p.yaml", "p.toml", "p"]))
def test_any_text_is_a_document_or_a_fault(text: str, name: str) -> None:
    """No text ends in anything but a mapping or ConfigError."""
    try:
        document = parse_document(text, name)
    except ConfigError:
        return
    assert isinstance(document, dict)


def test_read_document(tmp_path: Path) -> None:
    """A file is read with its byte order mark taken off."""
    (tmp_path / "p.json").write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert read_document(tmp_path / "p.json") == {"a": 1}
    (tmp_path / "q.json").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(ConfigError, match="byte 7 is not UTF-8"):
        read_document(tmp_path / "q.json")
    with pytest.raises(ConfigError, match="No such file"):
        read_document(tmp_path / "absent.json")


def test_policy_file(tmp_path: Path) -> None:
    """Errors of a policy file begin in the release's words."""
    file = tmp_path / "p.json"
    with pytest.raises(ConfigError) as caught:
        read_policy_file(file)
    assert str(caught.value) == f"missing policy config file {file}"
    with pytest.raises(ConfigError, match=r"^couldn't read policy config: "):
        read_policy_file(tmp_path)
    file.write_text("{]")
    with pytest.raises(ConfigError, match=r"^invalid policy: .*p\.json:1:2: "):
        read_policy_file(file)
    file.write_text(JSON_TEXT)
    assert read_policy_file(file) == PLAIN


@pytest.mark.parametrize("text", [JSON_TEXT, YAML_TEXT, TOML_TEXT], ids=["json", "yaml", "toml"])
def test_policy_configmap(tmp_path: Path, text: str) -> None:
    """The policy is the text under policy.cfg, in any format."""
    file = tmp_path / "c.json"
    file.write_text(json.dumps({"kind": "ConfigMap", "apiVersion": "v1", "data": {"policy.cfg": text}}))
    assert read_policy_configmap(file) == PLAIN
    with pytest.raises(ConfigError, match=r"^couldn't get policy config map: "):
        read_policy_configmap(tmp_path / "absent.yaml")


@pytest.mark.parametrize(
    ("manifest", "text"),
    [
        ({"kind": "Policy"}, "c: expected a ConfigMap, found kind Policy"),
        ({"kind": "ConfigMap"}, 'missing policy config map value at key "policy.cfg": c has none'),
        ({"kind": "ConfigMap", "data": {"x": ""}}, 'missing policy config map value at key "policy.cfg": c has none'),
        (
            {"kind": "ConfigMap", "data": {"x": "kind: KubeSchedulerConfiguration"}},
            'missing policy config map value at key "policy.cfg": c has none; it has a KubeSchedulerConfiguration: '
            "give the file as --config",
        ),
        (
            {"kind": "ConfigMap", "data": {"policy.cfg": {}}},
            "c: data[policy.cfg]: expected text, found a mapping; write it after a |",
        ),
        (
            {"kind": "ConfigMap", "data": {"policy.cfg": "[1]"}},
            "invalid policy: c[policy.cfg]: expected a mapping of keys to values, found a list",
        ),
    ],
    ids=["kind", "no-data", "no-key", "configuration", "no-text", "no-policy"],
)
def test_faulty_configmaps(manifest: dict[str, Any], text: str) -> None:
    """A ConfigMap without a policy is refused."""
    with pytest.raises(ConfigError) as caught:
        configmap_policy(manifest, "c")
    assert str(caught.value) == text


def test_first_of_several_documents() -> None:
    """What a release decodes is the first document; how many are behind it is kept for notes."""
    document = parse_first_document("a: 1\na: 2\n---\nb: 2\nb: 3\n---\nc: 3\n", "p.yaml")
    assert document == {"a": 2}
    assert document.set_twice() == ("a: set twice, in lines 1 and 2",)
    assert document.documents_behind() == "2 more documents"
    assert (
        parse_first_document("a: 1\n---\n[[\n", "p.yaml").documents_behind() == "what stands behind the first document"
    )
    assert parse_first_document("---\n---\na: 1\n", "p.yaml") == {}


def test_configmap_among_documents(tmp_path: Path) -> None:
    """Of a file with several manifests the one ConfigMap with a policy is meant."""
    file = tmp_path / "c.yaml"
    other = "kind: ServiceAccount\nmetadata: {name: s}\n---\nkind: ConfigMap\ndata: {a: b}\n---\n"
    mine = "kind: ConfigMap\ndata:\n  policy.cfg: |\n    kind: Policy\n    weight: 2\n"
    file.write_text(other + mine)
    assert read_policy_configmap(file) == {"kind": "Policy", "weight": 2}
    file.write_text(other + mine + "---\n" + mine)
    with pytest.raises(ConfigError, match=r'2 ConfigMaps with a value at key "policy\.cfg" among its documents'):
        read_policy_configmap(file)
    file.write_text(other + "kind: Pod\n")
    with pytest.raises(ConfigError, match="no ConfigMap with a value"):
        read_policy_configmap(file)
