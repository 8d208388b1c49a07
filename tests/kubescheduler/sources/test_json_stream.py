"""Lists of stored objects read piece by piece: the same objects, notes and faults as from the whole text."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusterstate.errors import DecodeError
from clusterstate.manifests.decode import Item
from clusterstate.manifests.fields import BY_ORIGIN
from clusterstate.objects import Pod
from kubescheduler.releases.lookup import RELEASES
from kubescheduler.simulation.openb_trace import read_inputs_of
from kubescheduler.sources import json_stream
from kubescheduler.sources.cluster_input import decode_items
from kubescheduler.sources.json_stream import STAND_IN, streamed_items
from tests.support.laws import costly
from tests.support.releases_tried import RELEASES_TRIED


@pytest.fixture(autouse=True)
def _short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every text has many pieces."""
    monkeypatch.setattr(json_stream, "PIECE", 700)


def pod(number: int = 0, **spec: Any) -> dict[str, Any]:
    """A running pod as a server answers with it."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"web-{number}",
            "namespace": "shop",
            "uid": f"u{number}",
            "resourceVersion": "7",
            "labels": {"app": "web"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "r"}],
            "managedFields": [
                {"apiVersion": "v1", "fieldsV1": {"f:metadata": {"f:name": {}}}},
                {"apiVersion": "v1", "kind": "never", "fieldsV1": {}},
            ],
        },
        "spec": {
            "nodeName": "n0",
            "priority": 0,
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "100m"}}, "ports": [{"hostPort": 80}]}],
            "volumes": [
                {"name": f"kube-api-access-{number}", "projected": {"sources": [{"name": "},\n        {"}]}},
                {"name": "d", "persistentVolumeClaim": {"claimName": "d"}},
            ],
            "tolerations": [{"key": "a", "operator": "Exists"}],
            **spec,
        },
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }


def node(number: int = 0) -> dict[str, Any]:
    """A node as a server answers with it."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"n{number}", "uid": f"n{number}", "resourceVersion": "3"},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
    }


def text_of(items: list[Any], *, indent: int | None = 4, kind: str = "List") -> str:
    """As ``kubectl get -o json`` prints a list."""
    return json.dumps({"apiVersion": "v1", "items": items, "kind": kind, "metadata": {}}, indent=indent)


def outcome(path: Path, *, sparse: bool, release: str = "1.16", piped: bool = False) -> Any:
    """What is read of a file: objects, files, notes, places; or the faults."""
    named, stdin = (["-"], io.BytesIO(path.read_bytes())) if piped else ([str(path)], None)
    read = read_inputs_of(named, stdin, sparse=sparse)
    items = read.items
    try:
        found = decode_items(items, read.problems, filling=RELEASES[release].filling, strictness=BY_ORIGIN)
    except DecodeError as error:
        return error.problems
    kept = [obj.manifest for obj in found.objects if isinstance(obj, Pod)]
    return found.objects, kept, found.notes, found.sources, [(i.source, i.place, *kind_of(i)) for i in items]


def kind_of(item: Item) -> tuple[Any, Any]:
    """Kind and version of an object; what a parsed one says itself goes before what the list says."""
    own = item.content if isinstance(item.content, dict) else {}
    return own.get("kind") or item.kind, own.get("apiVersion") or item.api_version


def assert_the_same(path: Path, text: str, release: str = "1.16", *, piped: bool = False) -> None:
    """A text reads the same in pieces and whole, as a file or through a pipe."""
    path.write_text(text, errors="surrogateescape")
    whole = outcome(path, sparse=False, release=release, piped=piped)
    assert outcome(path, sparse=True, release=release, piped=piped) == whole


def apart_from(*keys: str, required: bool = False) -> dict[str, Any]:
    """A spec with anti-affinity to pods with the same values of labels, preferred or required."""
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"tier": "a"}}, "matchLabelKeys": list(keys)}
    if required:
        return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    preferred = [{"weight": 1, "podAffinityTerm": term}]
    return {"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}}


CHANGES: dict[str, Any] = {
    "pending": {"spec": {"nodeName": ""}},
    "without a uid": {"metadata": {"uid": ""}},
    "without a namespace": {"metadata": {"namespace": ""}},
    "never stored": {"metadata": {"resourceVersion": None}},
    "a class without a priority": {"spec": {"priorityClassName": "high", "priority": None}},
    "a class that is nowhere": {"spec": {"priorityClassName": "hihg", "priority": None}},
    "no priority": {"spec": {"priority": None}},
    "a wrong quantity": {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "x"}}}]}},
    "a wrong limit": {"spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "x"}}}]}},
    "wrong containers": {"spec": {"containers": {}}},
    "no containers": {"spec": {"containers": None}},
    "null volumes": {"spec": {"volumes": [{"name": "a", "ephemeral": None}]}},
    "a wrong name": {"metadata": {"name": "Web"}},
    "wrong labels": {"metadata": {"labels": {"a": 1}}},
    "a wrong volume behind another": {
        "spec": {"volumes": [{"name": "a", "projected": {}}, {"name": "d", "persistentVolumeClaim": {"claimName": 7}}]}
    },
    "keys of labels": {"spec": apart_from("app")},
    "keys of other labels": {"spec": apart_from("app"), "metadata": {"labels": {"app": "db"}}},
    "no keys of labels": {"spec": apart_from()},
    "null labels": {"metadata": {"labels": None}},
    "no labels": {"metadata": {"labels": {}}},
    "labels that are no object": {"metadata": {"labels": ["a"]}},
    "a label that is null": {"metadata": {"labels": {"app": None}}},
    "another label": {"metadata": {"labels": {"app": "wéb", "tier": "a"}}},
    "the labels in another order": {"metadata": {"labels": {"tier": "a", "app": "wéb"}}},
    "null owners": {"metadata": {"ownerReferences": None}},
    "no owners": {"metadata": {"ownerReferences": []}},
    "another owner": {"metadata": {"ownerReferences": [{"kind": "Job", "name": "a", "uid": "b", "controller": True}]}},
    "a wrong owner": {"metadata": {"ownerReferences": [{"kind": "ReplicaSet", "name": 7}]}},
    "an owner that is null": {"metadata": {"ownerReferences": [None]}},
    "another group": {"apiVersion": "apps/v1"},
    "another version": {"apiVersion": "v2"},
    "no version": {"apiVersion": ""},
    "a wrong condition": {"status": {"conditions": [{"type": 1}]}},
    "a wrong phase": {"status": {"phase": 4}},
    "grants": {"status": {"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}},
    "an unknown field": {"spec": {"nodeNam": "n0"}},
    "another kind": {"kind": "Endpoints"},
    "no kind": {"kind": None},
    "a kind that is no text": {"kind": 7},
    "a list in the list": {"kind": "PodList"},
    "the text of a separator": {"metadata": {"annotations": {"a": "}\n        },\n        {"}}},
    "no object": [],
}
"""What may be different in one pod → the fields that are."""


def changed(manifest: dict[str, Any], change: Any) -> Any:
    """A manifest with some fields set."""
    if not isinstance(change, dict):
        return change
    return {**manifest, **{k: {**manifest[k], **v} if isinstance(v, dict) else v for k, v in change.items()}}


@pytest.mark.parametrize("indent", [4, 1, None], ids=["kubectl", "narrow", "one line"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_one_unusual_pod(tmp_path: Path, change: Any, indent: int | None) -> None:
    """A pod that is unusual in any way is read as from the whole text, and so are the others."""
    items = [node(), *map(pod, range(3)), changed(pod(3), change), *map(pod, range(4, 7))]
    for release, piped in (("1.4", False), ("1.36", True)):
        assert_the_same(tmp_path / "a.json", text_of(items, indent=indent), release, piped=piped)
    assert_the_same(tmp_path / "a.json", text_of([changed(pod(9), change), node()], indent=indent))


CLASS = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 9}


@settings(costly, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_lists(tmp_path: Path, data: st.DataObject) -> None:
    """Any list of such objects, cut anywhere, with any byte replaced, reads as from the whole text."""
    names = data.draw(st.lists(st.sampled_from(["", "", "", "", *CHANGES]), min_size=1, max_size=8))
    items = [changed(pod(number), CHANGES.get(name, {})) for number, name in enumerate(names)]
    items.insert(data.draw(st.integers(0, len(items))), node())
    if data.draw(st.booleans()):
        items.append({**CLASS, "metadata": {"name": "high", "uid": "c", "resourceVersion": "1"}})
    kind = data.draw(st.sampled_from(["List", "List", "PodList", "Pod", ""]))
    text = text_of(items, indent=data.draw(st.sampled_from([4, None])), kind=kind)
    at = data.draw(st.integers(0, len(text)))
    damaged = data.draw(
        st.sampled_from([text, text, text[:at], text[:at] + data.draw(st.sampled_from(']},x"')) + text[at + 1 :]])
    )
    name = data.draw(st.sampled_from(["a.json", "a.yaml"]))
    release, piped = data.draw(st.sampled_from(RELEASES_TRIED)), data.draw(st.booleans())
    assert_the_same(tmp_path / name, damaged, release, piped=piped)


def test_the_list_says_the_kind(tmp_path: Path) -> None:
    """As an API server answers: one line, kind and version first, objects without them."""
    items = [{key: value for key, value in pod(n).items() if key not in ("kind", "apiVersion")} for n in range(9)]
    for kind, version in (("PodList", "v1"), ("List", "v1"), ("PodList", "v2"), ("PodList", "apps/v1")):
        document = {"kind": kind, "apiVersion": version, "metadata": {"resourceVersion": "9"}, "items": items}
        assert_the_same(tmp_path / "a.json", json.dumps(document, separators=(",", ":")))
        assert_the_same(tmp_path / "a.json", json.dumps({**document, "more": 1}))


UNSTORED = {**pod(99), "metadata": {"name": "new", "namespace": "shop"}, "spec": {"containers": [{"name": "c"}]}}
"""A pod that no server has stored."""

WRITTEN_BY_SERVERS = ("uid", "resourceVersion")

ODD_TEXTS = {
    "empty": "",
    "an empty list": text_of([]),
    "no list": json.dumps(pod()),
    "YAML": "apiVersion: v1\nkind: List\nitems: []\n",
    "items twice": text_of([pod(1), pod(2)])[:-1] + ', "items": []}',
    "more behind": text_of([pod(1), pod(2)]) + "{}",
    "items twice, of the same length": text_of([pod(1), pod(2), pod(3)])[:-1]
    + f', "items": {json.dumps([pod(7)] * 3)}}}',
    "another document behind": f"{text_of([pod(1), pod(2), pod(3)])}\n---\n{text_of([UNSTORED])}",
    "a key twice in another document": f"{text_of([pod(1), pod(2), pod(3)])}\n---\n{text_of([UNSTORED])}".replace(
        '"name": "c"\n', '"name": "b", "name": "c"\n'
    ),
    "a fault where an object begins": text_of([pod(1), pod(2), pod(3)]) .replace("\n        {\n",
        "\n        {x\n") .replace("{x", "{", 2),
    "a node in a list of pods, and a key that only YAML takes": text_of([node(), pod(1)],
        kind="PodList").replace("            {\n", "            {x", 1),
    "a comment behind": text_of([pod(1), node(), pod(3)]) + "  # two pods",
    "a comma too many": text_of([pod(1), pod(2), pod(3)]).replace("\n    ],", ",\n    ],"),
    "a fault behind other letters": text_of([changed(pod(1), {"metadata": {"labels": {"app": "wéb"}}}),
        *map(pod, range(5))]) .replace("\\u00e9", "é") .replace('"name": "web-4"', '"name": "web-4'),
    "kind twice": text_of([pod(1), pod(2)])[:-1] + ', "kind": "Pod"}',
    "a label twice": text_of([pod(1), pod(2), pod(3)]).replace('"app": "web"', '"app": 1, "app": "x"', 1),
    "a key twice in what was never stored": text_of([pod(1), pod(2)]) .replace('"resourceVersion": "7",',
        "") .replace('"uid": "u2"', '"uid": "u2", "uid": "u3"'),
    "nested too deeply": text_of([pod(1), pod(2)]).replace('"Exists"', "[" * 1200 + "]" * 1200, 1),
    "a spec that is no UTF-8": text_of([pod(1), pod(2)]).replace('"operator": "Exists"', '"operator": "\udcff"', 1),
    "text that is no UTF-8": text_of([pod(1), pod(2)]).replace('"app": "web"', '"app": "\udcff"', 1),
    "an object that ends before a comma": text_of([pod(1), pod(2), pod(3)]).replace('"phase": "Running"', '"phase": }',
        1),
    "two values of a node": text_of([node(), {**node(1), "x": 1}]).replace('"x": 1', '"x": 1,\n            "x": 2'),
}  # fmt: skip


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS)
def test_odd_texts(tmp_path: Path, text: str) -> None:
    """What is no list of stored objects is read whole, also in one line."""
    line = re.sub("\n *", "", re.sub(",\n *", ", ", text))
    for each in (text, line, line.replace('"kind": "never", ', "")):
        assert_the_same(tmp_path / "a.json", each)
        assert_the_same(tmp_path / "a.yaml", each, piped=True)


@pytest.mark.parametrize("indent", [4, None], ids=["kubectl", "one line"])
@pytest.mark.parametrize("sparse", [True, False], ids=["in pieces", "whole"])
@pytest.mark.parametrize("required", [True, False], ids=["required", "preferred"])
@pytest.mark.parametrize("stored", [True, False], ids=["stored", "written"])
def test_terms_by_the_pods_own_labels(
    tmp_path: Path, stored: bool, required: bool, sparse: bool, indent: int | None
) -> None:
    """New pods with one spec and several values of the labels that it names select by their own values in 1.36; those
    that are stored have them already."""
    apps = ("web", "db", "web")
    spec = {**apart_from("app", required=required), "volumes": []}
    items = [changed(pod(n), {"spec": spec, "metadata": {"labels": {"app": app}}}) for n, app in enumerate(apps)]
    for item in items if not stored else ():
        item["metadata"] = {key: value for key, value in item["metadata"].items() if key not in WRITTEN_BY_SERVERS}
    path = tmp_path / "a.json"
    path.write_text(text_of([node(), *items], indent=indent))
    objects = outcome(path, sparse=sparse, release="1.36")[0]
    seen = []
    for each in objects[1:]:
        affinity = each.spec.affinity
        terms = affinity.pod_anti_affinity.required if required else [affinity.pod_affinity.preferred[0].term]
        seen.append([(r.key, r.operator, r.values) for t in terms for r in t.label_selector.match_expressions])
    assert seen == [[] if stored else [("app", "In", (app,))] for app in apps]


def test_running_pods_come_without_their_text() -> None:
    """Running pods are read, and nothing of the text is kept; a pending one keeps its manifest."""
    items = [node(), *map(pod, range(30)), changed(pod(30), CHANGES["pending"])]
    found = streamed_items("x", io.BytesIO(text_of(items).encode())).items
    assert [item.read is None for item in found] == [True, *[False] * 30, True]
    assert {item.read.spec for item in found if item.read is not None} == {found[1].read.spec if found[1].read else b""}


def test_replicas_share_what_they_have_in_common() -> None:
    """Equal labels and owners are one object, however they are spelled."""
    texts = [
        text_of([node(), *map(pod, range(5))]),
        text_of([node(), *map(pod, range(5))]).replace('"web"', '"\\u0077eb"', 1),
    ]
    for text in texts:
        metadata = [item.read.metadata for item in streamed_items("x", io.BytesIO(text.encode())).items if item.read]
        assert len(metadata) == 5
        assert len({id(each.labels) for each in metadata}) == 1
        assert len({id(each.owner_references) for each in metadata}) == 1


@pytest.mark.parametrize("indent", [4, None], ids=["kubectl", "one line"])
@pytest.mark.parametrize("change", ["another label", "never stored"])
def test_more_than_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, indent: int | None) -> None:
    """A text that is too long is refused, with or without a part that is read whole."""
    text = text_of([node(), *map(pod, range(30)), changed(pod(30), CHANGES[change])], indent=indent)
    for size in (5000, len(text) - 1, len(text)):
        monkeypatch.setenv("KUBESCHEDULER_LIMITS", f"size={size}")
        assert_the_same(tmp_path / "a.json", text)


def test_a_list_of_two_kinds(tmp_path: Path) -> None:
    """What objects without a kind are cannot be said anew behind them; where each has its own, the last kind counts."""
    own = [pod(n) for n in range(9)]
    bare = [{key: value for key, value in each.items() if key not in ("kind", "apiVersion")} for each in own]
    behind = ', "kind": "ServiceList"}'
    texts = [json.dumps({"kind": "PodList", "apiVersion": "v1", "items": items})[:-1] + behind for items in (own, bare)]
    assert_the_same(tmp_path / "a.json", texts[0])
    (tmp_path / "a.json").write_text(texts[1])
    assert outcome(tmp_path / "a.json", sparse=True) == (
        f"{tmp_path}/a.json: the list says twice of which kind it is, and differently",
    )


def test_only_the_unusual_part_is_read_whole() -> None:
    """Nothing of what was read is kept: a stand-in is in its place, and lines and columns are the same."""
    text = text_of([node(), *map(pod, range(30)), UNSTORED, pod(31)])
    read = streamed_items("x", io.BytesIO(text.encode()))
    assert read.rest is not None
    count, at = len(read.items), read.rest.rindex(b'\n            "apiVersion"')
    assert count > 25
    assert read.rest.count(STAND_IN) == count
    assert read.shorter > 25 * len(json.dumps(pod()))
    behind = read.rest[at:].decode()
    assert text.count("\n", 0, text.index(behind)) == read.rest.count(b"\n", 0, at)
