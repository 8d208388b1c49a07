"""A recorded day becomes a cluster and a workload; what a scheduler chose is its own."""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import msgspec
import pytest

from clusterstate.cache import ClusterCache
from clusterstate.cluster_objects import KEPT, ClusterObjects
from clusterstate.errors import DecodeError
from clusterstate.manifests.kinds import encode_object
from clusterstate.objects import (
    ConsumerReference,
    FrozenMap,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    ResourceClaim,
    ResourceClaimStatus,
)
from kubescheduler.cli.cluster_files import mirrored_inputs
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.live.dry_run_process import TrafficMirror
from kubescheduler.live.informer_rules import KINDS_1_36
from kubescheduler.live.stored_objects import ObjectChange
from kubescheduler.live.transport.io_thread import WallClock
from kubescheduler.simulation.mirrored_traffic import MirroredTraffic
from kubescheduler.simulation.simulation import Simulation
from kubescheduler.simulation.timeline import CHOICES, came_later, replayed
from kubescheduler.simulation.workload import Arrival, ObjectUpdate, Workload
from tests.support.live.dry_runs import read
from tests.support.live.live_cluster import StoodClock, a_node, a_pod


def pod(name: str, *, uid: str = "", **spec: Any) -> Pod:
    document = a_pod(name, **spec)
    document["metadata"] |= {"namespace": "default", "uid": uid or f"uid-{name}"}
    found: Pod = read(document, "Pod")
    return found


def there_in(traffic: MirroredTraffic) -> list[dict[str, Any]]:
    """The manifests of what was there from the start."""
    return [dict(item.content) for item in traffic.start() if isinstance(item.content, dict)]


class Day(WallClock):
    """A day that is recorded by hand: ``there`` before everything has been read, then ``after`` some seconds."""

    def __init__(self, *there: Any, pairs: Sequence[tuple[Any, Any]] = ()) -> None:
        """pairs: (as it was, as it is) of what changed before everything had been read."""
        self.out = io.BytesIO()
        self._seconds = 0.0
        self._clock = StoodClock()
        self._mirror = TrafficMirror(self.out.write, self)
        self._put(*((None, obj) for obj in there), *pairs)
        self._mirror.synced()

    def now(self) -> Any:
        return self._clock.now()

    def monotonic(self) -> float:
        return self._seconds

    async def sleep(self, seconds: float) -> None:
        raise AssertionError(seconds)

    def after(self, seconds: float, *pairs: tuple[Any, Any]) -> Day:
        """(as it was, as it is)."""
        self._seconds = seconds
        self._put(*pairs)
        return self

    def _put(self, *pairs: tuple[Any, Any]) -> None:
        self._mirror.record(ObjectChange(type(old if new is None else new).__name__, old, new) for old, new in pairs)

    def read(self, folder: Path) -> MirroredTraffic:
        """The day, through a packed file."""
        path = folder / "day.gz"
        path.write_bytes(gzip.compress(self.out.getvalue(), mtime=0))
        return MirroredTraffic.read(str(path))

    def workload(self, folder: Path) -> Workload:
        traffic = self.read(folder)
        start = [read(one, str(one["kind"])) for one in there_in(traffic)]
        return traffic.workload(start)[0]


NODE = read(a_node("n1"), "Node")


def test_what_stays_and_what_leaves(tmp_path: Path) -> None:
    """Pods that run all day are in the cluster; those that wait or leave are of the workload."""
    stays, leaves, waits = pod("stays").on("n1"), pod("leaves").on("n1"), pod("waits")
    day = Day(NODE, stays, leaves, waits).after(20, (leaves, None))
    assert [one["metadata"]["name"] for one in there_in(day.read(tmp_path))] == ["n1", "stays"]
    leaving, waiting = day.workload(tmp_path).arrivals
    assert (leaving.pod.node_name, leaving.at, leaving.leaves_at) == ("n1", 0.0, 20.0)
    assert (waiting.pod.node_name, waiting.at, waiting.leaves_at) == ("", 0.0, None)


def test_times_of_pods(tmp_path: Path) -> None:
    """A pod runs as long as it ran, however long it waited; one that was never bound leaves when it was deleted."""
    runs, gives_up = pod("runs"), pod("gives-up")
    day = Day(NODE)
    day.after(5, (None, runs), (None, gives_up)).after(7, (runs, runs.on("n1")))
    day.after(9, (gives_up, None)).after(37.5, (runs.on("n1"), None))
    first, second = day.workload(tmp_path).arrivals
    assert (first.pod.node_name, first.at, first.duration, first.leaves_at) == ("", 5.0, 30.5, None)
    assert (second.at, second.duration, second.leaves_at) == (5.0, None, 9.0)


def test_gates(tmp_path: Path) -> None:
    """A pod comes when nothing holds it any more."""
    free = pod("web")
    held = pod("web", schedulingGates=[{"name": "wait"}])
    day = Day(NODE).after(1, (None, held)).after(4, (held, free))
    (arrival,) = day.workload(tmp_path).arrivals
    assert (arrival.at, arrival.pod.spec.scheduling_gates) == (4.0, ())


def test_the_same_name_again(tmp_path: Path) -> None:
    """A pod that follows one of its name gets a number, as a workload has each name once."""
    first, second = pod("db-0", uid="1"), pod("db-0", uid="2")
    day = Day(NODE).after(1, (None, first)).after(2, (first, None)).after(3, (None, second))
    assert [one.pod.metadata.name for one in day.workload(tmp_path).arrivals] == ["db-0", "db-0.2"]


def test_nodes(tmp_path: Path) -> None:
    """Nodes join, change and leave; of one that was there from the start it is known when it leaves."""
    new, changed = read(a_node("n2"), "Node"), read(a_node("n2", zone="b"), "Node")
    day = Day(NODE).after(1, (None, new)).after(2, (new, changed)).after(3, (changed, None), (NODE, None))
    found = [(one.node.name, one.at, one.leaves_at) for one in day.workload(tmp_path).nodes]
    assert found == [("n1", 0.0, 3.0), ("n2", 1.0, None), ("n2", 2.0, 3.0)]


def test_other_kinds(tmp_path: Path) -> None:
    """Every change has its time; what was there keeps its last state before everything had been read."""
    first, second, third = (
        read({"metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": {"app": app}}}, "Service")
        for app in "abc"
    )
    later = read({"metadata": {"name": "later", "namespace": "default"}, "spec": {}}, "Service")
    day = Day(NODE, first)
    day.after(1, (first, second), (None, later)).after(2, (second, third), (later, None))
    traffic = day.read(tmp_path)
    assert [one["metadata"]["name"] for one in there_in(traffic)] == ["n1", "s"]
    workload, notes = traffic.workload([])
    assert [(update.obj, update.at, update.gone) for update in workload.updates] == [
        (second, 1.0, False),
        (later, 1.0, False),
        (third, 2.0, False),
        (later, 2.0, True),
    ]
    assert notes == []


def test_changes_before_everything_was_read(tmp_path: Path) -> None:
    """One informer may be behind the others: the cluster begins as it was when the last one was ready."""
    waits, runs = pod("web"), pod("web").on("n1")
    node = read(a_node("n1", zone="b"), "Node")
    day = Day(NODE, waits, pairs=[(NODE, node), (waits, runs)])
    found = [read(one, str(one["kind"])) for one in there_in(day.read(tmp_path))]
    assert found == [node, runs]
    assert day.workload(tmp_path).arrivals == ()


def test_pods_that_change(tmp_path: Path) -> None:
    """A pod comes with the claims that were made for it; changes of its labels are not replayed, which is said."""
    web = pod("web", resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "t"}])
    made = msgspec.structs.replace(web, resource_claim_statuses=(ResourceClaimStatus("gpu", "web-gpu-1"),))
    relabelled = msgspec.structs.replace(
        made, metadata=msgspec.structs.replace(made.metadata, labels=FrozenMap({"app": "b"}))
    )
    day = Day(NODE).after(1, (None, web)).after(2, (web, made)).after(3, (made, relabelled))
    workload, notes = day.read(tmp_path).workload([])
    (arrival,) = workload.arrivals
    assert arrival.pod.resource_claim_statuses == made.resource_claim_statuses
    assert arrival.pod.metadata.labels == web.metadata.labels
    assert notes == ["1 changes of pods' labels and specs are not replayed"]


def test_heartbeats_are_left_out() -> None:
    """What scheduling does not read changes nothing."""
    day = Day(NODE)
    size = len(day.out.getvalue())
    day.after(1, (NODE, msgspec.structs.replace(NODE)))
    assert len(day.out.getvalue()) == size


def test_a_recording_that_was_cut_off(tmp_path: Path) -> None:
    """Half a line at the end is left out; one in the middle is a fault."""
    lines = Day(NODE).after(1, (None, pod("web"))).out.getvalue().splitlines()
    path = tmp_path / "day"
    path.write_bytes(b"\n".join(lines)[:-9])
    assert MirroredTraffic.read(str(path)).workload([])[0].arrivals == ()
    path.write_bytes(b"\n".join([*lines[:2], b"{", *lines[2:]]))
    with pytest.raises(DecodeError, match="line 3"):
        MirroredTraffic.read(str(path))


@pytest.mark.parametrize("missing", [1, 9, 20])
def test_a_packed_recording_that_was_cut_off(tmp_path: Path, missing: int) -> None:
    """What comes before the missing end is read, as of one that is not packed."""
    packed = gzip.compress(Day(NODE).after(1, (None, pod("web"))).out.getvalue())
    path = tmp_path / "day.gz"
    path.write_bytes(packed[:-missing])
    assert len(MirroredTraffic.read(str(path)).start()) == 1


HEAD, THERE, SYNCED = Day(NODE).out.getvalue().decode().splitlines()
RUNNING = Day(pod("runs", nodeName="n1")).out.getvalue().decode().splitlines()[1]
FAULTS = {
    "no time": (['{"kind": "Mirror"}', THERE, SYNCED], 'line 1: started: "" is no time'),
    "another time": (['{"kind": "Mirror", "started": "today"}', THERE, SYNCED], 'line 1: started: "today" is no time'),
    "a moment that never comes": ([HEAD, SYNCED, '{"time": 1e300}'], "line 3: time: 1e+300 seconds"),
    "a number without an end": ([HEAD, SYNCED, '{"time": 1e400}'], "line 3: Number out of range"),
    "no kind": ([HEAD, '{"object": {}}', SYNCED], "/day: line 2: kind: missing"),
    "no name": ([HEAD, '{"object": {"kind": "Pod", "metadata": 5}}', SYNCED], "/day: line 2: Pod: metadata: must be"),
    "a list as name": (
        [HEAD, '{"object": {"kind": "Node", "metadata": {"name": []}}}', SYNCED],
        "/day: line 2: Node: metadata.name: ",
    ),
    "no uid": (
        [HEAD, SYNCED, '{"object": {"kind": "Pod", "metadata": {"name": "p"}}}'],
        "line 3: Pod /p: metadata.uid",
    ),
    "the uid of another": (
        [HEAD, THERE, RUNNING, SYNCED, RUNNING.replace('"runs"', '"other"')],
        "line 5: Pod default/other: metadata.uid: it is that of Pod default/runs",
    ),
    "no name later": (
        [HEAD, SYNCED, '{"object": {"kind": "Service"}}'],
        "/day: line 3: Service: metadata.name: missing",
    ),
}


@pytest.mark.parametrize(("lines", "said"), FAULTS.values(), ids=FAULTS.keys())
def test_faulty_lines(tmp_path: Path, lines: list[str], said: str) -> None:
    """A whole line that cannot be read is an error of the input, also the last one, with what is wrong."""
    path = tmp_path / "day"
    path.write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(DecodeError, match=re.escape(said)):
        mirrored_inputs(str(path), "1.36")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(b"", "this is no mirror", id="empty"),
        pytest.param(b'{"kind": "List"}', "this is no mirror", id="a list"),
        pytest.param(b'{"kind":"Mirror","started":"2026-01-01T00:00:00Z"}\n', "ended before", id="not synced"),
        pytest.param(b"kind: List", "line 1", id="no JSON"),
        pytest.param(b'{"kind":"Mir\xff"}\n{}\n', "line 1: it is not UTF-8 text", id="no UTF-8"),
        pytest.param(b'{"object":' * 5000 + b"\n{}\n", "line 1: nested too deeply", id="deep"),
    ],
)
def test_what_is_no_mirror(tmp_path: Path, text: bytes, said: str) -> None:
    """Other files are refused."""
    path = tmp_path / "day"
    path.write_bytes(text)
    with pytest.raises(DecodeError, match=said):
        MirroredTraffic.read(str(path))


def test_no_file(tmp_path: Path) -> None:
    """A file that is not there is a fault of the input."""
    with pytest.raises(DecodeError, match="no such file or folder"):
        MirroredTraffic.read(str(tmp_path / "none"))


WAITS = read(
    {"metadata": {"name": "waits"}, "provisioner": "p", "volumeBindingMode": "WaitForFirstConsumer"}, "StorageClass"
)
AT_ONCE = read({"metadata": {"name": "at-once"}, "provisioner": "p", "volumeBindingMode": "Immediate"}, "StorageClass")
OTHERS = [kind.kind for kind in KINDS_1_36 if kind.kind not in ("Pod", "Node")]
"""What 1.36 reads besides nodes and pods."""


def waiting(name: str) -> Pod:
    document = a_pod(name)
    document["metadata"] |= {"namespace": "default", "uid": name}
    found: Pod = read(document, "Pod")
    return found


def claim(class_name: str = "waits", **spec: Any) -> PersistentVolumeClaim:
    document = {
        "metadata": {"name": "c", "namespace": "default", "uid": "1"},
        "spec": {"storageClassName": class_name, "resources": {"requests": {"storage": "1Gi"}}, **spec},
    }
    found: PersistentVolumeClaim = read(document, "PersistentVolumeClaim")
    return found


def volume(*, provisioned: bool = True, given: bool = True) -> PersistentVolume:
    reference = {"claimRef": {"namespace": "default", "name": "c", "uid": "1"}} if given else {}
    annotations = {"pv.kubernetes.io/provisioned-by": "p"} if provisioned else {}
    spec = {"storageClassName": "waits", "capacity": {"storage": "1Gi"}, **reference}
    document = {"metadata": {"name": "pvc-1", "annotations": annotations}, "spec": spec}
    found: PersistentVolume = read(document, "PersistentVolume")
    return found


def world(*objects: Any) -> ClusterObjects:
    found = ClusterObjects()
    for obj in objects:
        found.put(obj)
    return found


def chosen_document(kind: str, label: str) -> dict[str, Any]:
    """A small object of a kind as a server stores it."""
    specs: dict[str, Any] = {
        "StorageClass": {"provisioner": "p"},
        "CSIStorageCapacity": {"storageClassName": "fast"},
        "VolumeAttachment": {"spec": {"attacher": "d", "nodeName": "n1", "source": {"persistentVolumeName": "v"}}},
        "ResourceSlice": {"spec": {"driver": "d", "pool": {"name": "p", "resourceSliceCount": 1}, "nodeName": "n1"}},
        "CSINode": {"spec": {"drivers": [{"name": "d", "nodeID": "n1"}]}},
    }
    return {"metadata": {"name": "x", "namespace": "default", "labels": {"is": label}}, **specs.get(kind, {})}


@pytest.mark.parametrize("kind", OTHERS)
def test_every_kind_comes_changes_and_goes(kind: str) -> None:
    """What the release reads is recorded whole, is there from its time on, in its last state, and then no more."""
    old, new = (read(chosen_document(kind, label), kind) for label in "ab")
    assert read(encode_object(new), kind) == new
    seen = dict[float, Any]()
    updates = [ObjectUpdate(old, 10.0), ObjectUpdate(new, 20.0), ObjectUpdate(new, 30.0, gone=True)]
    spec = EngineSpec(release="1.36")
    scheduler = spec.engine(lambda _: None).scheduler(
        ClusterCache.of([read(a_node("n1"), "Node")], spec.release_view())
    )
    pods = [waiting(f"p{at}") for at in (5, 15, 25, 35)]

    def look(_: Any) -> None:
        seen[len(seen)] = scheduler.cache.objects.current(old)

    arrivals = tuple(Arrival(pod, at) for pod, at in zip(pods, (5.0, 15.0, 25.0, 35.0), strict=True))
    Simulation(scheduler, Workload(arrivals, updates=tuple(updates)), observers=[look]).run()
    comes_not = type(old) in CHOICES and CHOICES[type(old)](old, None, ClusterObjects()) is None
    assert list(seen.values()) == [None] * 4 if comes_not else [None, old, new, None]


def test_the_kinds_are_all_that_a_scheduler_keeps() -> None:
    """Of what a cache keeps, only what an API server does not have, or no release reads, is not watched."""
    kept = {kind.__name__ for kind in KEPT}
    assert set(OTHERS) <= kept
    assert kept - set(OTHERS) == {"ResourceClaimTemplate", "PendingAllocation", "PodGroup"}


# --- what a scheduler chose -----------------------------------------------------------------------------


def test_a_claim_that_waits_stays_as_it_is() -> None:
    """The real scheduler's node and volume are not taken over; what else changed is."""
    ours = msgspec.structs.replace(claim(), volume_name="ours", phase="Bound")
    theirs = claim(volumeName="theirs")
    theirs = msgspec.structs.replace(
        theirs,
        storage=2 * theirs.storage,
        metadata=msgspec.structs.replace(
            theirs.metadata, annotations=FrozenMap({"volume.kubernetes.io/selected-node": "n9", "k": "v"})
        ),
    )
    old, new = replayed(ObjectUpdate(theirs), world(WAITS, ours))
    assert (old, new.volume_name, new.phase, new.storage) == (ours, "ours", "Bound", theirs.storage)
    assert dict(new.metadata.annotations) == {"k": "v"}


def test_a_claim_that_is_bound_at_once_is_as_recorded() -> None:
    """A controller binds it whatever a scheduler does."""
    bound = claim("at-once", volumeName="v")
    assert replayed(ObjectUpdate(bound), world(AT_ONCE, claim("at-once")))[1] == bound


@pytest.mark.parametrize(
    ("comes", "there", "expected"),
    [
        pytest.param(volume(), (), None, id="made for the claim"),
        pytest.param(volume(provisioned=False), (), "free", id="given to the claim"),
        pytest.param(volume(provisioned=False), (volume(provisioned=False, given=False),), "free", id="given later"),
        pytest.param(volume(given=False), (), "free", id="free"),
    ],
)
def test_volumes_of_a_claim_that_waits(
    comes: PersistentVolume, there: tuple[PersistentVolume, ...], expected: str | None
) -> None:
    """One that was made for it does not come; others come without having been given away."""
    _, new = replayed(ObjectUpdate(comes), world(WAITS, claim(), *there))
    assert (None if new is None else "free" if new.claim_ref is None else "given") == expected


def test_devices_are_allocated_by_who_schedules() -> None:
    """A claim comes without an allocation, and keeps the one that it got in the run."""
    document = {"metadata": {"name": "c", "namespace": "default"}, "spec": {}}
    plain: ResourceClaim = read(document, "ResourceClaim")
    theirs = attrs.evolve(plain, reserved_for=(ConsumerReference("pods", "web", "1"),))
    ours = attrs.evolve(plain, reserved_for=(ConsumerReference("pods", "web.2", "2"),))
    assert replayed(ObjectUpdate(theirs), world())[1] == plain
    assert replayed(ObjectUpdate(theirs), world(ours))[1] == ours


def test_attached_volumes_go_but_do_not_come() -> None:
    """They follow the nodes of pods, which are others here."""
    attached = read(chosen_document("VolumeAttachment", "a"), "VolumeAttachment")
    assert replayed(ObjectUpdate(attached), world()) == (None, None)
    assert replayed(ObjectUpdate(attached, gone=True), world(attached)) == (attached, None)


def test_without_times_objects_are_as_they_were_first() -> None:
    """Each once, whatever became of it; what was there already is not told again."""
    first, second = (read(chosen_document("Service", label), "Service") for label in "ab")
    updates = [ObjectUpdate(first, 1.0), ObjectUpdate(second, 2.0), ObjectUpdate(second, 3.0, gone=True)]
    assert came_later(updates, []) == [first]
    assert came_later(updates, [second]) == []
