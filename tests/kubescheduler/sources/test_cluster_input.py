"""Reading files."""

from __future__ import annotations

import gc
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from clusterstate.errors import DecodeError
from clusterstate.objects import Namespace, Node, ObjectMeta, Pod
from kubescheduler.api.cluster import Cluster
from kubescheduler.sources.cluster_input import check_references
from tests.support.clusters_read import read_cluster

NODE = "apiVersion: v1\nkind: Node\nmetadata:\n  name: n1\n"
POD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n  containers: []\n"


def node(name: str = "n1") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


def pod(name: str = "web", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def names(paths: list[Path], **options: Any) -> list[str]:
    return [obj.metadata.name for obj in read_cluster([str(path) for path in paths], **options).objects]


def problems_of(*paths: Path | str, **options: Any) -> list[str]:
    with pytest.raises(DecodeError) as caught:
        read_cluster([str(path) for path in paths], **options)
    return list(caught.value.problems)


def write(path: Path, content: str | bytes | object) -> Path:
    """Writes text or bytes as they are, anything else as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not isinstance(content, str | bytes):
        content = json.dumps(content)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.yaml", f"{NODE}---\n---\n{POD}"),
        ("a.yml", f"---\n{NODE}---\n{POD}"),
        ("a.json", {"kind": "List", "items": [node(), pod()]}),
        ("a.json", {"nodes": [{"metadata": {"name": "n1"}}], "pods": [{"metadata": {"name": "web"}}]}),
        ("a.json.gz", gzip.compress(json.dumps([node(), pod()]).encode(), mtime=0)),
        ("a.yaml.gz", gzip.compress(f"{NODE}---\n{POD}".encode(), mtime=0)),
        ("a.yaml", {"kind": "List", "items": [node(), pod()]}),
        ("a.yaml", "{kind: List, items: [{kind: Node, metadata: {name: n1}}, {kind: Pod, metadata: {name: web}}]}"),
        ("a.json", b"\xef\xbb\xbf" + json.dumps([node(), pod()]).encode()),
    ],
    ids=["documents", "yml", "List", "export", "json.gz", "yaml.gz", "JSON in YAML", "flow YAML", "BOM"],
)
def test_formats(tmp_path: Path, name: str, content: Any) -> None:
    """JSON and YAML in every form, from a file and from standard input."""
    path = write(tmp_path / name, content)
    assert names([path]) == ["n1", "web"]
    assert names([Path("-")], stdin=io.BytesIO(path.read_bytes())) == ["n1", "web"]


def test_folder(tmp_path: Path) -> None:
    """Folders are read whole and sorted; other files and hidden ones are passed over."""
    write(tmp_path / "b.yaml", node("b"))
    write(tmp_path / "a" / "z.json", node("a"))
    write(tmp_path / "c.yml.gz", gzip.compress(json.dumps(node("c")).encode()))
    write(tmp_path / "notes.txt", "no manifest")
    write(tmp_path / ".hidden.yaml", "{")
    write(tmp_path / ".git" / "x.yaml", "{")
    assert names([tmp_path]) == ["a", "b", "c"]


def test_order_sources_and_notes(tmp_path: Path) -> None:
    """Objects come in the order of the input, each with its file; unknown kinds make a note."""
    a = write(tmp_path / "a.json", [pod("p"), {"kind": "Deployment"}, node("n")])
    b = write(tmp_path / "b.json", [pod("q")])
    found = read_cluster([str(b), str(a)])
    assert [(source, obj.metadata.name) for source, obj in found.with_sources()] == [
        (str(b), "q"),
        (str(a), "p"),
        (str(a), "n"),
    ]
    assert found.notes == ['kind "Deployment" ignored (1 object): no scheduler reads it']


def test_empty_lists_are_fine(tmp_path: Path) -> None:
    """A list without items is what kubectl prints when there is nothing."""
    assert names([write(tmp_path / "a.json", {"kind": "List", "items": []})]) == []


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.yaml", "", "no objects in it: it is empty"),
        ("a.json", " \n", "no objects in it: it is empty"),
        ("a.yaml", "# nothing\n---\n", "no objects in it"),
        ("a.json", '{"kind": "Pod"\n "a"}', "line 2, column 2: JSON is malformed: expected ',' or '}'"),
        ("a.yaml", '{"kind": "Pod"\n "a" 5', "line 2, column 2: JSON is malformed: expected ',' or '}'"),
        ("a.yaml", "a: b: c\n", "line 1, column 5: mapping values are not allowed in this context"),
        ("a.yaml", "a:\n  - b\n c: d\n", "line 3, column 2: while parsing a block mapping, did not find expected key"),
        ("a.yaml", "a: [\n", "line 2, column 1: while parsing a flow node, did not find expected node content"),
        ("a.yaml", b"a: \xff\xfe\n", "invalid"),
        ("a.yaml", "? [1]\n: 2\n", "line 1, column 3: a key must be text, not a list or object"),
        ("a.yaml", "a: *x\n", "line 1, column 4: found undefined alias"),
        ("a.yaml", "a: &x [*x]\n", "an alias below refers to the very value that it is part of"),
        ("a.yaml", "hello\n", 'must be a Kubernetes object, not "hello"'),
        ("a.yaml", f"{NODE}---\n5\n---\n- 6\n", "document 2: must be a Kubernetes object, not 5"),
        ("a.yaml", f"{NODE}---\nmetadata: {{}}\n", "document 2: kind: missing; an object needs apiVersion and kind"),
        ("a.json.gz", b"\x1f\x8bxx", "cannot be unpacked: "),
        ("a.json.gz", gzip.compress(b"{}", mtime=0)[:-5], "cannot be unpacked: "),
    ],
)
def test_broken_files(tmp_path: Path, name: str, content: Any, problem: str) -> None:
    """What is wrong is said with file and position."""
    path = write(tmp_path / name, content)
    found = problems_of(path)[0]
    assert found.startswith(f"{path}: ")
    assert problem in found


def test_every_fault_of_every_file(tmp_path: Path) -> None:
    """One error lists all that is wrong, in files that cannot be found, read and decoded."""
    a = write(tmp_path / "a.yaml", "{")
    b = write(tmp_path / "b.json", [pod(priority="x"), 5, pod("y", hostNetwork=1)])
    c = write(tmp_path / "c.json", [pod("z", priority="x")])
    empty = tmp_path / "empty"
    empty.mkdir()
    found = problems_of(a, "missing.yaml", empty, b, c, "-")
    assert [text.removeprefix(f"{tmp_path}/") for text in found[1:]] == [
        "missing.yaml: no such file or folder; check the path, or use - for standard input",
        "empty: no manifests in this folder; it needs .json, .yaml, .yml files",
        "b.json: [1]: must be a Kubernetes object, not 5",
        "-: there is no standard input to read; name a file or a folder",
        'b.json: Pod default/web: spec.priority: must be a whole number, not "x"',
        "b.json: Pod default/y: spec.hostNetwork: must be true or false, not 1",
        'c.json: Pod default/z: spec.priority: must be a whole number, not "x"',
    ]
    assert found[0].startswith(f"{a}: line ")


@pytest.mark.parametrize("again", ["a.json", "b.json"])
def test_duplicates(tmp_path: Path, again: str) -> None:
    """A node or pod that is there twice is named with both files; other kinds may be repeated."""
    space = {"kind": "Namespace", "metadata": {"name": "default"}}
    first = [node(), pod(), space]
    both = {"a.json": first, "b.json": [space]}
    both[again] = both[again] + [node(), {**pod(), "metadata": {"name": "web", "namespace": "default"}}]
    a, b = (write(tmp_path / name, both[name]) for name in ("a.json", "b.json"))
    place = "the same file" if again == "a.json" else str(a)
    source = tmp_path / again
    assert problems_of(a, b) == [
        f"{source}: Node n1: metadata.name: already in {place}; remove one of the two",
        f"{source}: Pod default/web: metadata.name: already in {place}; remove one of the two",
    ]


def test_check_references() -> None:
    """Pods that run on a node which is not there are faults, finished ones are not."""
    objects: list[tuple[str, Any]] = [
        ("a", Node(ObjectMeta("n1"))),
        ("a", Pod(ObjectMeta("p", "default"), node_name="n1")),
        ("b", Pod(ObjectMeta("q", "default"), node_name="n9")),
        ("b", Pod(ObjectMeta("r", "default"), node_name="n9", phase="Succeeded")),
        ("b", Pod(ObjectMeta("s", "default"))),
        ("b", Namespace(ObjectMeta("default"))),
    ]
    assert check_references(iter(objects)) == [
        'b: Pod default/q: spec.nodeName: node "n9" is not in the cluster; add the node or remove the pod'
    ]


def test_defaulting_and_admission(tmp_path: Path) -> None:
    """Defaults are filled in, with the priority classes of the same input wherever they stand."""
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9}
    path = write(
        tmp_path / "a.json",
        [
            pod(priorityClassName="high", containers=[{"resources": {"limits": {"cpu": 1}}}], nodeName="n1"),
            {**node(), "status": {"capacity": {"cpu": 4}}},
            high,
            pod("pending"),
        ],
    )
    running, n1, _, pending = read_cluster([str(path)]).objects
    assert isinstance(running, Pod)
    assert isinstance(n1, Node)
    assert isinstance(pending, Pod)
    assert (running.priority, running.spec.containers[0].requests, running.key) == (9, {"cpu": 1000}, "default/web")
    assert running.metadata.uid not in ("", pending.metadata.uid)
    assert [t.toleration_seconds for t in running.spec.tolerations] == [300, 300]
    assert n1.allocatable == {"cpu": 4000}
    assert pending.manifest is not None
    assert pending.manifest["spec"]["schedulerName"] == "default-scheduler"
    assert pending.manifest["metadata"]["uid"] == pending.metadata.uid
    bare = read_cluster([str(path)], defaulting=False).objects[0]
    assert isinstance(bare, Pod)
    assert (bare.spec.priority, bare.metadata.uid, bare.spec.tolerations) == (None, "", ())


def test_unknown_priority_class(tmp_path: Path) -> None:
    """Admission's faults stand beside those of decoding."""
    path = write(tmp_path / "a.json", [pod(priorityClassName="low", hostNetwork=1)])
    assert problems_of(path) == [
        f'{path}: Pod web: spec.priorityClassName: there is no PriorityClass "low"; '
        "add the class to the cluster, or set spec.priority",
        f"{path}: Pod web: spec.hostNetwork: must be true or false, not 1",
    ]


def test_manifests(tmp_path: Path) -> None:
    """Those of running pods are not kept."""
    (bare,) = read_cluster([str(write(tmp_path / "a.json", [pod(nodeName="n1")]))]).objects
    assert isinstance(bare, Pod)
    assert bare.manifest is None


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_left_as_it_was(tmp_path: Path, enabled: bool) -> None:
    """Reading leaves the garbage collector on or off, faults or not."""
    path = write(tmp_path / "a.json", [node()])
    try:
        (gc.enable if enabled else gc.disable)()
        names([path])
        problems_of("missing")
        assert gc.isenabled() == enabled
    finally:
        gc.enable()


def test_progress(tmp_path: Path) -> None:
    """Progress is told every thousand objects and at the end."""
    path = write(tmp_path / "a.json", [node(f"n{i}") for i in range(2500)])
    told: list[tuple[int, int]] = []
    read_cluster([str(path)], progress=lambda done, total: told.append((done, total)))
    assert told == [(1000, 2500), (2000, 2500), (2500, 2500)]


@pytest.mark.parametrize(("count", "noted"), [(999, False), (1000, True)])
def test_much_yaml(tmp_path: Path, count: int, noted: bool) -> None:
    """Many objects in YAML are read with one note that JSON is faster; in JSON without."""
    text = "---\n".join(NODE.replace("n1", f"n{number}") for number in range(count))
    note = f"{tmp_path}/a.yaml: {count} objects in YAML; JSON, as of kubectl get -o json, is read ten times faster"
    assert read_cluster([str(write(tmp_path / "a.yaml", text))]).notes == [note] * noted
    same = {"kind": "List", "items": [node(f"n{number}") for number in range(count)]}
    assert read_cluster([str(write(tmp_path / "a.json", same))]).notes == []


# --- faults in objects and between them ---------------------------------------------------------


def running(name: str, node_name: str) -> dict[str, Any]:
    return pod(name, nodeName=node_name, containers=[])


FAULTY = pod("odd", containers=[{"name": "c", "image": 5}])
CASES: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "both": ([node(), FAULTY, running("a", "n2"), node(), running("b", "n1")],
        ["Pod default/odd: spec.containers[0].image", "Node n1: metadata.name: already in the same file",
        'Pod default/a: spec.nodeName: node "n2" is not in the cluster']),
    "what follows from a faulty node": ([{**node("n2"), "status": {"allocatable": {"cpu": "1O0m"}}},
        running("a", "n2"), running("b", "n3")], ["Node n2: status.allocatable",
        'Pod default/b: spec.nodeName: node "n3" is not in the cluster']),
    "a node without a name": ([{"apiVersion": "v1", "kind": "Node", "metadata": {}}, running("a", "n2")],
        ["items[0]: Node: metadata.name"]),
}  # fmt: skip


@pytest.mark.parametrize(("objects", "problems"), CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("ending", ["json", "yaml"])
def test_faults_do_not_hide_one_another(
    tmp_path: Path, objects: list[dict[str, Any]], problems: list[str], ending: str
) -> None:
    """One message has both lists; what only follows from a fault is left out."""
    path = write(tmp_path / f"c.{ending}", {"kind": "List", "apiVersion": "v1", "items": objects})
    with pytest.raises(DecodeError) as caught:
        Cluster.read(str(path))
    found = [problem.removeprefix(f"{path}: ") for problem in caught.value.problems]
    assert len(found) == len(problems)
    assert all(actual.startswith(expected) for actual, expected in zip(found, problems, strict=True))


def test_what_is_there_already_counts() -> None:
    """A pod that is added beside a faulty one may run on a node of the cluster that it comes to."""
    with pytest.raises(DecodeError) as caught:
        Cluster().add(node()).add(running("a", "n1"), FAULTY, running("b", "n9"))
    assert [problem.partition(": ")[0] for problem in caught.value.problems] == ["Pod default/odd", "Pod default/b"]


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """Then nobody knows which nodes there are, and no pod is said to run nowhere."""
    files = write(tmp_path / "nodes.yaml", "kind: ["), write(tmp_path / "pods.json", [running("a", "n1"), FAULTY])
    with pytest.raises(DecodeError) as caught:
        Cluster.read(*files)
    assert not any("is not in the cluster" in problem for problem in caught.value.problems)
    assert len(caught.value.problems) == 2
