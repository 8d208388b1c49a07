"""The workloads of upstream's scheduler_perf, as manifests, and scenes with volumes, services and labels of their own.

Every node: cpu 4, memory 32Gi, 110 pods, Ready, its name as hostname label, and a zone label where a workload
names zones. Every pod, unless said otherwise: one container with cpu 100m and memory 500Mi.

VolumeEvents: every running pod has a claim bound to a CSI volume. A claim or volume changes, then a pod is decided,
one with a claim of its own or one without: the change and the decision together.
LocalVolumes: one local volume a node, of a class that waits for the first consumer. Each pod has a claim of its own;
with ``bound`` its claim and volume are bound to one another afterwards, as a controller does.
OwnLabelsServices: services that select by ``app``, and pods of as many apps in random order, each with a label that no
other has.
"""

from __future__ import annotations

import gc
import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import attrs

import kubescheduler
from benchmarks.child_process import Stopwatch
from clusterstate.manifests.decode import Decoder
from clusterstate.objects import Pod
from kubescheduler.comparison.comparing import compare
from kubescheduler.engine.spec import EngineSpec, PodScheduler
from kubescheduler.releases.lookup import RELEASES

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
SCHED = ["sched-0", "sched-1"]
MOONS = ("moon-1", "moon-2", "moon-3")

Manifest = dict[str, Any]


def node_name(index: int) -> str:
    """The name of node ``index``."""
    return f"scheduler-perf-{index:05d}"


def node(index: int, zones: tuple[str, ...]) -> Manifest:
    """Node ``index``; its zone is ``zones[index mod count]``."""
    name = node_name(index)
    labels = {HOSTNAME: name, **({ZONE: zones[index % len(zones)]} if zones else {})}
    room = {"cpu": "4", "memory": "32Gi", "pods": "110"}
    status = {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}
    return {"kind": "Node", "metadata": {"name": name, "uid": name, "labels": labels}, "spec": {}, "status": status}


def pod(name: str, namespace: str, cpu: str = "100m", labels: Manifest | None = None, **spec: Any) -> Manifest:
    asked = {"cpu": cpu, "memory": "500Mi"}
    container = {
        "name": "pause",
        "image": "registry.k8s.io/pause:3.2",
        "ports": [{"containerPort": 80, "protocol": "TCP"}],
        "resources": {"requests": asked, "limits": asked},
    }
    metadata = {"name": name, "namespace": namespace, "uid": f"{namespace}/{name}", "labels": labels or {}}
    return {
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [container], "schedulerName": "default-scheduler", **spec},
    }


def _term(color: str, key: str, namespaces: list[str] | None = None) -> Manifest:
    term: Manifest = {"labelSelector": {"matchLabels": {"color": color}}, "topologyKey": key}
    return term if namespaces is None else {**term, "namespaces": namespaces}


def _required(kind: str, term: Manifest) -> Manifest:
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _preferred(kind: str, term: Manifest) -> Manifest:
    return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]}}


def _plain(name: str, namespace: str) -> Manifest:
    return pod(name, namespace)


def _node_affinity(name: str, namespace: str) -> Manifest:
    zone = {"key": ZONE, "operator": "In", "values": ["zone1", "zone2"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return pod(name, namespace, affinity=affinity)


def _colored(color: str, affinity: Manifest) -> Callable[[str, str], Manifest]:
    def make(name: str, namespace: str) -> Manifest:
        return pod(name, namespace, labels={"color": color}, affinity=affinity)

    return make


def _spread(action: str) -> Callable[[str, str], Manifest]:
    constraint = {
        "maxSkew": 5,
        "topologyKey": ZONE,
        "whenUnsatisfiable": action,
        "labelSelector": {"matchLabels": {"color": "blue"}},
    }

    def make(name: str, namespace: str) -> Manifest:
        return pod(name, namespace, labels={"color": "blue"}, topologySpreadConstraints=[constraint])

    return make


def _giant(name: str, namespace: str) -> Manifest:
    return pod(name, namespace, cpu="9", priority=10)


def _small(name: str, namespace: str) -> Manifest:
    return pod(name, namespace, cpu="900m")


def _important(name: str, namespace: str) -> Manifest:
    return pod(name, namespace, cpu="3", priority=10)


POD_ANTI_AFFINITY = _colored("green", _required("podAntiAffinity", _term("green", HOSTNAME, SCHED)))
POD_AFFINITY = _colored("blue", _required("podAffinity", _term("blue", ZONE, SCHED)))
PREFERRED_AFFINITY = _colored("red", _preferred("podAffinity", _term("red", HOSTNAME, SCHED)))
PREFERRED_ANTI_AFFINITY = _colored("yellow", _preferred("podAntiAffinity", _term("yellow", HOSTNAME)))
ANTI_AFFINITY_WITH_SELECTOR = _colored(
    "green",
    _required(
        "podAntiAffinity",
        {**_term("green", HOSTNAME), "namespaceSelector": {"matchLabels": {"team": "devops"}}},
    ),
)
MIXED = (_plain, POD_AFFINITY, POD_ANTI_AFFINITY, PREFERRED_AFFINITY, PREFERRED_ANTI_AFFINITY)


def _mixed(name: str, namespace: str) -> Manifest:
    return MIXED[int(name.rsplit("-", 1)[1]) % len(MIXED)](name, namespace)


INITIAL_PODS_A_NAMESPACE = 40


def namespace(name: str, labels: dict[str, str]) -> Manifest:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


@attrs.frozen
class Workload:
    """initial, measured: name and namespace of a pod → its manifest. fits: every measured pod finds a node, or else
    none does. preempts: pods that fit nowhere preempt. nominated: so many of them wait for the room of their victims at
    any time. most_a_node: pods a node, initial ones too, beyond which a cluster is begun anew.

    initial_namespace: ``{}`` stands for a number that goes up every 40 pods. namespace_labels: of all namespaces, which
    are not made when there are none. releases: those it can be run on; empty: all. initial_pods: how many upstream
    begins with on (500, 5000) nodes.
    """

    initial: Callable[[str, str], Manifest]
    initial_namespace: str
    measured: Callable[[str, str], Manifest]
    measured_namespace: str
    zones: tuple[str, ...] = ()
    feature_gates: dict[str, bool] = attrs.field(factory=dict)
    preempts: bool = False
    namespace_labels: dict[str, str] = attrs.field(factory=dict)
    releases: tuple[str, ...] = ()
    initial_pods: tuple[int, int] = (500, 1000)
    nominated: int = 0
    fits: bool = True
    most_a_node: int = 30

    def runs_on(self, release: str) -> bool:
        return not self.releases or release in self.releases

    def begins_with(self, nodes: int) -> int:
        """Initial pods on so many nodes."""
        small, large = self.initial_pods
        return small if nodes < 5000 else large

    def namespaces(self, init_pods: int) -> dict[str, dict[str, str]]:
        """Namespace → its labels."""
        if not self.namespace_labels:
            return {}
        count = -(-init_pods // INITIAL_PODS_A_NAMESPACE)
        names = [*(self.initial_namespace.format(index) for index in range(count)), self.measured_namespace]
        return dict.fromkeys(names, self.namespace_labels)


def _same(
    make: Callable[[str, str], Manifest], first: str, then: str, zones: tuple[str, ...] = (), **fields: Any
) -> Workload:
    return Workload(make, first, make, then, zones, **fields)


EVEN_SPREAD = {"EvenPodsSpread": True}

WORKLOADS: dict[str, Workload] = {
    "SchedulingBasic": _same(_plain, "namespace-1", "namespace-2"),
    "SchedulingNodeAffinity": _same(_node_affinity, "namespace-1", "namespace-2", ("zone1",), initial_pods=(500, 5000)),
    "SchedulingPodAntiAffinity": _same(
        POD_ANTI_AFFINITY, "sched-0", "sched-1", initial_pods=(100, 1000), most_a_node=1
    ),
    "SchedulingPodAffinity": _same(POD_AFFINITY, "sched-0", "sched-1", ("zone1",), initial_pods=(500, 5000)),
    "SchedulingPreferredPodAffinity": _same(PREFERRED_AFFINITY, "sched-0", "sched-1", initial_pods=(500, 5000)),
    "SchedulingPreferredPodAntiAffinity": _same(
        PREFERRED_ANTI_AFFINITY, "sched-0", "sched-1", initial_pods=(500, 5000)
    ),
    "TopologySpreading": Workload(
        _plain, "namespace-1", _spread("DoNotSchedule"), "namespace-2", MOONS, EVEN_SPREAD, initial_pods=(1000, 5000)
    ),
    "PreferredTopologySpreading": Workload(
        _plain, "namespace-1", _spread("ScheduleAnyway"), "namespace-2", MOONS, EVEN_SPREAD, initial_pods=(1000, 5000)
    ),
    "SchedulingRequiredPodAntiAffinityWithNSSelector": Workload(
        ANTI_AFFINITY_WITH_SELECTOR,
        "init-ns-{}",
        ANTI_AFFINITY_WITH_SELECTOR,
        "measure-ns-0",
        namespace_labels={"team": "devops"},
        releases=("1.36",),
        initial_pods=(40, 4000),
        most_a_node=1,
    ),
    "Unschedulable": Workload(_plain, "namespace-1", _giant, "namespace-2", initial_pods=(10, 100), fits=False),
    "PreemptionBasic": Workload(
        _small, "namespace-1", _important, "namespace-2", preempts=True, initial_pods=(2000, 20_000), most_a_node=5
    ),
    "PreemptionNominated": Workload(
        _small,
        "namespace-1",
        _important,
        "namespace-2",
        preempts=True,
        initial_pods=(2000, 20_000),
        nominated=500,
        most_a_node=5,
    ),
    "MixedSchedulingBasePod": Workload(
        _mixed, "sched-0", _plain, "namespace-7", ("zone1",), initial_pods=(1000, 10_000)
    ),
}


LAST_ONE_BY_ONE = 5
PODS_AT_ONCE = 1 << 14

Run = Callable[[PodScheduler, list[Pod]], int]
"""Decides and assumes pods in their order; how many found a node."""


def build(workload: Workload, release: str, nodes: int, init_pods: int) -> PodScheduler:
    """A scheduler over a fresh cluster with the initial pods in place."""
    known = RELEASES[release].gates.gates
    gates = {name: on for name, on in workload.feature_gates.items() if name in known}
    objects = [namespace(name, labels) for name, labels in workload.namespaces(init_pods).items()]
    objects += (node(index, workload.zones) for index in range(nodes))
    cluster = kubescheduler.Cluster(objects, release=release, defaulting=False)
    scheduler = kubescheduler.Scheduler(cluster, gates=gates).running
    decoder = Decoder()
    for index in range(init_pods):
        pod: Any = decoder.decode_object(
            workload.initial(f"init-{index}", workload.initial_namespace.format(index // INITIAL_PODS_A_NAMESPACE))
        )
        scheduler.cache.assume_pod(pod, node_name(index % nodes))
    return scheduler


def measured_pods(workload: Workload, pods: int, *, own_labels: bool = False, prefix: str = "pod") -> list[Pod]:
    """The pods to decide. own_labels: each has a label that no other has."""
    decoder = Decoder()
    waiting: list[Any] = []
    for index in range(pods):
        made = workload.measured(f"{prefix}-{index}", workload.measured_namespace)
        if own_labels:
            made["metadata"]["labels"] = {**made["metadata"]["labels"], "own": str(index)}
        waiting.append(decoder.decode_object(made))
    return waiting


def measure(
    workload: Workload, release: str, nodes: int, init_pods: int, waiting: list[Pod], run: Run
) -> tuple[Stopwatch, int]:
    """(the time of all decisions, how many pods found a node); a cluster that would be too full is begun anew, untimed.

    run: how the pods of a workload that does not preempt are decided.
    """
    watch, scheduled = Stopwatch(), 0
    while waiting:
        room = max(1, nodes * workload.most_a_node - init_pods - workload.nominated)
        batch, waiting = waiting[:room], waiting[room:]
        scheduler = build(workload, release, nodes, init_pods)
        early = measured_pods(workload, workload.nominated, prefix="early")
        nominated = deque(nominated_at_once(scheduler, early))
        gc.collect()
        gc.freeze()
        watch.start()
        if workload.preempts:
            scheduled += by_preemption(scheduler, batch, nominated, workload.nominated)
        else:
            scheduled += run(scheduler, batch)
        watch.stop()
        gc.unfreeze()
    return watch, scheduled


def measure_comparison(
    workload: Workload, releases: tuple[str, str], nodes: int, pods: int, *, evidence: bool
) -> Stopwatch:
    """The time of comparing ``pods`` pods, one after another, on nodes without pods."""
    decoder = Decoder()
    objects = [decoder.decode_object(node(index, workload.zones)) for index in range(nodes)]
    waiting = measured_pods(workload, pods, own_labels=True)
    old, new = (EngineSpec(release=release) for release in releases)
    watch = Stopwatch()
    watch.start()
    compare(objects, waiting, old, [new], mode="sequence", evidence=evidence)
    watch.stop()
    return watch


def one_by_one(scheduler: PodScheduler, pods: list[Pod]) -> int:
    """Each pod is decided by itself."""
    scheduled = 0
    for pod in pods:
        decision = scheduler.decide(pod)
        if decision.host is not None:
            scheduler.cache.assume_pod(pod, decision.host)
            scheduled += 1
    return scheduled


def in_bulk(scheduler: PodScheduler, pods: list[Pod]) -> int:
    """Runs of pods that no rule can tell apart are placed in one go; by a checkout that cannot, one by one."""
    if not hasattr(scheduler, "place_run"):
        return one_by_one(scheduler, pods)
    at = placed = 0
    while at < len(pods):
        run = scheduler.place_run(pods[at : at + PODS_AT_ONCE])
        placed += one_by_one(scheduler, pods[at : at + 1]) if run is None else len(run)
        at += 1 if run is None else len(run)
    return placed


def nominated_at_once(scheduler: PodScheduler, pods: list[Pod]) -> Iterator[tuple[Pod, str]]:
    """Each pod and the node that it waits for. Pods take the candidates of one preemption in turn, then of the next,
    so that many are there without as many preemptions; the last few are preempted for one by one."""
    pods, last = pods[:-LAST_ONE_BY_ONE], pods[-LAST_ONE_BY_ONE:]
    while pods:
        found = scheduler.decide(pods[0], preempt=True).preemption
        if found is None or not found.chosen:
            break
        for pod, (host, victims) in zip(pods, found.candidates.items(), strict=False):
            _wait_for(scheduler, pod, host, victims.pods)
            yield pod, host
        pods = pods[len(found.candidates) :]
    waiting = deque[tuple[Pod, str]]()
    by_preemption(scheduler, last, waiting, len(last))
    yield from waiting


def by_preemption(scheduler: PodScheduler, pods: list[Pod], waiting: deque[tuple[Pod, str]], most: int) -> int:
    """Every pod is decided, its victims leave, and it waits for the room they leave as a nominated pod, until ``most``
    others do after it; then it is placed. waiting: those that wait from before, the first of them first."""
    preempted = 0
    for pod in pods:
        found = scheduler.decide(pod, preempt=True).preemption
        if found is not None and found.chosen:
            node = found.chosen[0]
            _wait_for(scheduler, pod, node, found.candidates[node].pods, nominate=bool(most))
            preempted += 1
            waiting.append((pod, node))
            if len(waiting) > most:
                scheduler.cache.assume_pod(*waiting.popleft())
    return preempted


def _wait_for(scheduler: PodScheduler, pod: Pod, node: str, victims: Iterable[Pod], *, nominate: bool = True) -> None:
    for victim in victims:
        scheduler.cache.forget_pod(victim)
    if nominate:
        scheduler.cache.nominate(pod, node)


DRIVER, LOCAL_CLASS, CSI_CLASS, NAMESPACE = "csi.example.com", "local", "csi", "default"
BOUND = {"pv.kubernetes.io/bind-completed": "yes"}
MOST_VOLUMES = 100
TIMED = 20
"""Pods of local volumes that are timed."""


# --- objects -------------------------------------------------------------------------------


def storage_class(name: str, provisioner: str) -> Manifest:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def csi_node(name: str) -> Manifest:
    driver = {"name": DRIVER, "nodeID": name, "allocatable": {"count": MOST_VOLUMES}}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": [driver]},
    }


def claim(name: str, class_name: str, volume: str = "", version: str = "1") -> Manifest:
    """Bound where a volume is named."""
    metadata: Manifest = {"name": name, "namespace": NAMESPACE, "uid": name, "resourceVersion": version}
    spec: Manifest = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": class_name,
    }
    if volume:
        metadata["annotations"] = BOUND
        spec["volumeName"] = volume
    status = {"phase": "Bound" if volume else "Pending"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec, "status": status}


def volume(name: str, class_name: str, source: Manifest, claimed: str = "", version: str = "1") -> Manifest:
    """Bound where a claim is named."""
    spec: Manifest = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "storageClassName": class_name,
        **source,
    }
    if claimed:
        spec["claimRef"] = {"name": claimed, "namespace": NAMESPACE, "uid": claimed}
    metadata = {"name": name, "uid": name, "resourceVersion": version}
    status = {"phase": "Bound" if claimed else "Available"}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec, "status": status}


def csi_volume(name: str, claimed: str = "", version: str = "1") -> Manifest:
    return volume(name, CSI_CLASS, {"csi": {"driver": DRIVER, "volumeHandle": name}}, claimed, version)


def local_volume(name: str, host: str, claimed: str = "") -> Manifest:
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [host]}]}
    affinity = {"required": {"nodeSelectorTerms": [term]}}
    return volume(name, LOCAL_CLASS, {"local": {"path": "/mnt"}, "nodeAffinity": affinity}, claimed)


def claiming(name: str, claim_name: str) -> Manifest:
    return pod(name, NAMESPACE, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": claim_name}}])


def scheduler_of(objects: list[Manifest], release: str) -> PodScheduler:
    cluster = kubescheduler.Cluster(objects, release=release, defaulting=False)
    return kubescheduler.Scheduler(cluster).running


# --- measures ------------------------------------------------------------------------------


def cpu_seconds(work: Callable[[], Any]) -> float:
    """CPU time of some work, the garbage of before collected."""
    gc.collect()
    gc.freeze()
    started = time.process_time()
    work()
    spent = time.process_time() - started
    gc.unfreeze()
    return spent


Seconds = Iterator[tuple[str, float]]
"""(what was done, CPU seconds of one such operation)."""


# --- scenes --------------------------------------------------------------------------------


def volume_events(release: str, *, nodes: int, pods: int, events: int, **_: int) -> Seconds:
    objects = [storage_class(CSI_CLASS, DRIVER)]
    for index in range(nodes):
        objects += [node(index, ()), csi_node(node_name(index))]
    for index in range(pods + 1):
        objects += [csi_volume(f"pv-{index}", f"pvc-{index}"), claim(f"pvc-{index}", CSI_CLASS, f"pv-{index}")]
    scheduler = scheduler_of(objects, release)
    decoder = Decoder()
    for index in range(pods):
        running: Any = decoder.decode_object(claiming(f"running-{index}", f"pvc-{index}"))
        scheduler.cache.assume_pod(running, node_name(index % nodes))
    asked = {"with a claim": claiming("waiting", f"pvc-{pods}"), "without a claim": pod("waiting", NAMESPACE)}
    for text, manifest in asked.items():
        waiting: Any = decoder.decode_object(manifest)
        assert scheduler.decide(waiting).host is not None
        for kind in ("claim", "volume"):
            changes = list(_events(kind, decoder, events))

            def run(changes: list[Any] = changes, waiting: Pod = waiting) -> None:
                for change in changes:
                    scheduler.cache.add(change)
                    scheduler.decide(waiting)

            yield f"{kind} changes, pod {text}", cpu_seconds(run) / events


def _events(kind: str, decoder: Decoder, count: int) -> Iterator[Any]:
    """Changes of the volumes or claims of pods that run."""
    for index in range(count):
        made = csi_volume(f"pv-{index}", f"pvc-{index}", version=str(index))
        held = claim(f"pvc-{index}", CSI_CLASS, f"pv-{index}", version=str(index))
        yield decoder.decode_object(made if kind == "volume" else held)


def local_volumes(release: str, *, nodes: int, **_: int) -> Seconds:
    objects = [storage_class(LOCAL_CLASS, "kubernetes.io/no-provisioner")]
    for index in range(nodes):
        objects += [node(index, ()), local_volume(f"pv-{index}", node_name(index))]
    objects += [claim(f"pvc-{index}", LOCAL_CLASS) for index in range(TIMED)]
    decoder = Decoder()
    waiting: list[Any] = [decoder.decode_object(claiming(f"pod-{index}", f"pvc-{index}")) for index in range(TIMED)]
    for bound in (False, True):
        scheduler = scheduler_of(objects, release)
        scheduler.decide(waiting[0])
        spent = cpu_seconds(partial(_place, scheduler, waiting, bound, decoder))
        yield "placed, claim and volume bound" if bound else "placed", spent / TIMED


def _place(scheduler: PodScheduler, pods: list[Pod], bound: bool, decoder: Decoder) -> None:
    for waiting in pods:
        host = scheduler.decide(waiting).host
        if host is None:
            continue
        scheduler.cache.assume_pod(waiting, host)
        if bound:
            index, number = int(host.rsplit("-", 1)[1]), waiting.metadata.name.rsplit("-", 1)[1]
            for made in (
                local_volume(f"pv-{index}", host, f"pvc-{number}"),
                claim(f"pvc-{number}", LOCAL_CLASS, f"pv-{index}"),
            ):
                scheduler.cache.add(decoder.decode_object(made))


def own_labels_services(release: str, *, nodes: int, pods: int, services: int, **_: int) -> Seconds:
    objects = [node(index, ("zone1", "zone2", "zone3")) for index in range(nodes)]
    for index in range(services):
        metadata = {"name": f"app-{index}", "namespace": NAMESPACE}
        objects.append({"kind": "Service", "metadata": metadata, "spec": {"selector": {"app": f"app-{index}"}}})
    decoder = Decoder()
    draw = random.Random(0)
    apps = [index % services for index in range(pods)]
    draw.shuffle(apps)
    waiting: list[Any] = [
        decoder.decode_object(pod(f"pod-{i}", NAMESPACE, labels={"app": f"app-{app}", "pod-name": f"pod-{i}"}))
        for i, app in enumerate(apps)
    ]
    scheduler = scheduler_of(objects, release)
    yield f"{services} services, pods of {services} apps", cpu_seconds(partial(one_by_one, scheduler, waiting)) / pods


SCENES: dict[str, Callable[..., Seconds]] = {
    "VolumeEvents": volume_events,
    "LocalVolumes": local_volumes,
    "OwnLabelsServices": own_labels_services,
}
