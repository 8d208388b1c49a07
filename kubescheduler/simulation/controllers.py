"""What controllers make in a simulation: pods from templates, those of DaemonSets for each node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import attrs
import msgspec

from clusterstate.cache import ClusterCache
from clusterstate.manifests.decode import Manifest
from clusterstate.manifests.defaulting import default_manifest
from clusterstate.manifests.fields import describe
from clusterstate.objects import ClusterObject, Node, Pod
from kubescheduler.releases.daemon_controllers import DaemonController, with_spec
from kubescheduler.releases.release import Release
from kubescheduler.simulation.workload import ON_BINDING, ON_FINISH

DEPLOYMENT, JOB, CRON_JOB, STATEFUL_SET = "Deployment", "Job", "CronJob", "StatefulSet"
DAEMON_SET = "DaemonSet"
GROUPS = {
    DEPLOYMENT: ("apps", "extensions"),
    "ReplicaSet": ("apps", "extensions"),
    STATEFUL_SET: ("apps",),
    "ReplicationController": ("",),
    JOB: ("batch",),
    CRON_JOB: ("batch",),
    DAEMON_SET: ("apps", "extensions"),
}
"""Kind → the API groups that have it."""
WITHOUT_DEFAULTS = frozenset({JOB, DAEMON_SET})
"""Kinds whose objects scheduling does not read; what their pods belong to does not spread them."""


SUSPENDED = "is suspended"
SOME_MINUTE = 30_000_000
"""Minutes since 1970, in 2027: when the Job of a CronJob is taken to be due. Nothing but its name shows it."""


class Replicas(msgspec.Struct, frozen=True):
    """count pods named ``<name>-<start>`` on, all like ``pod``, the manifest of the first."""

    name: str
    pod: Manifest
    count: int
    at_once: int
    """How many come at first; each of the others when an earlier one is bound or has finished (``chain_on``)."""
    chain_on: str = ""
    owners: tuple[Manifest, ...] = ()
    """Objects to add beside."""
    claim_templates: tuple[Manifest, ...] = ()
    """Of a StatefulSet: each pod gets a claim of each, with ``claim_labels``."""
    claim_labels: Manifest = {}
    per_node: bool = False
    """One for each node that a DaemonSet's controller picks, whatever ``count`` says."""
    start: int = 0
    """The number of the first: a StatefulSet's ``spec.ordinals.start``."""
    idle: str = ""
    """Why there are none: ``is suspended``."""


def is_controller(manifest: Manifest) -> bool:
    """Whether a manifest is of a kind that makes pods from a template."""
    kind, version = manifest.get("kind"), manifest.get("apiVersion")
    if not isinstance(kind, str) or kind not in GROUPS:
        return False
    return not isinstance(version, str) or not version or version.rpartition("/")[0] in GROUPS[kind]


def replicas_of(manifest: Manifest, problems: list[str]) -> Replicas | None:
    """What a controller creates; None if that is not clear, and ``problems`` then says why.

    A Deployment's pods belong to a ReplicaSet of its name. A StatefulSet's come one after another unless its
    podManagementPolicy is Parallel. A Job's parallelism come at once, the rest as they finish. A CronJob's are those of
    one of its jobs. What is suspended makes none. Of a DaemonSet it is the pod as the template says it, which each node
    then gets in its own form.
    """
    if manifest["kind"] == CRON_JOB:
        return _of_cron_job(manifest, problems)
    return _of_template(manifest, problems)


def _of_template(manifest: Manifest, problems: list[str]) -> Replicas | None:
    """What a controller with ``spec.template`` creates."""
    kind, spec = str(manifest["kind"]), manifest.get("spec")
    metadata = manifest.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    if not isinstance(metadata, Mapping) or not isinstance(name, str) or not name:
        wrong = "missing; every object needs a name" if name in (None, "") else f"must be text, not {describe(name)}"
        quotes = "; put it in quotes" if isinstance(name, int | float) else ""
        problems.append(f"metadata.name: {wrong}{quotes}")
        return None
    template = spec.get("template") if isinstance(spec, Mapping) else None
    if not isinstance(spec, Mapping) or not isinstance(template, Mapping):
        problems.append("spec.template: missing; it says what the pods are like")
        return None
    problems += _unselected(kind, spec, template)
    owner = _owner(manifest, kind)
    pod = _first_pod(metadata["name"], template, owner)
    owners = () if kind in WITHOUT_DEFAULTS else (owner,)
    if kind == DAEMON_SET:
        return Replicas(metadata["name"], pod, 0, 0, per_node=True)
    if kind == JOB:
        return _of_job(metadata["name"], pod, spec, problems)
    count = _count(spec, "replicas", 1, problems)
    idle = "" if count else "has 0 replicas"
    if kind != STATEFUL_SET:
        return Replicas(metadata["name"], pod, count, count, "", owners, idle=idle)
    templates = _claim_templates(spec, problems)
    at_once, chain_on = (count, "") if spec.get("podManagementPolicy") == "Parallel" else (min(count, 1), ON_BINDING)
    selector = spec.get("selector")  # read with the set, which names its faults
    labels = selector.get("matchLabels") if isinstance(selector, Mapping) else None
    labels = labels if isinstance(labels, Mapping) else {}
    ordinals = spec.get("ordinals") or {}
    if not isinstance(ordinals, Mapping):
        problems.append(f"spec.ordinals: must be an object, not {describe(ordinals)}")
        ordinals = {}
    start = _count(ordinals, "start", 0, problems, "spec.ordinals")
    pod = {**pod, "metadata": {**pod["metadata"], "name": f"{metadata['name']}-{start}"}}
    return Replicas(metadata["name"], pod, count, at_once, chain_on, owners, templates, labels, start=start, idle=idle)


def _unselected(kind: str, spec: Mapping[str, Any], template: Mapping[str, Any]) -> Iterator[str]:
    """Of a selector of labels that the template does not have. Upstream: ValidatePodTemplateSpecForReplicaSet."""
    selector, meta = spec.get("selector"), template.get("metadata")
    wanted = selector.get("matchLabels") if isinstance(selector, Mapping) and kind != JOB else None
    labels = meta.get("labels") if isinstance(meta, Mapping) else None
    has = labels if isinstance(labels, Mapping) else {}
    if isinstance(wanted, Mapping) and any(has.get(key) != value for key, value in wanted.items()):
        yield "spec.template.metadata.labels: `selector` does not match template `labels`"


def _claim_templates(spec: Mapping[str, Any], problems: list[str]) -> tuple[Manifest, ...]:
    """Those that have a name."""
    given = spec.get("volumeClaimTemplates") or ()
    if not isinstance(given, list | tuple):
        problems.append(f"spec.volumeClaimTemplates: must be a list, not {describe(given)}")
        return ()
    out = []
    for at, one in enumerate(given):
        where = f"spec.volumeClaimTemplates[{at}].metadata"
        metadata = one.get("metadata") if isinstance(one, Mapping) else None
        if not isinstance(metadata, Mapping) or not isinstance(metadata.get("name"), str):
            problems.append(f"{where}.name: missing; volumes are mounted by it")
        elif not isinstance(metadata.get("labels") or {}, Mapping):
            problems.append(f"{where}.labels: must be an object, not {describe(metadata['labels'])}")
        else:
            out.append(one)
    return tuple(out)


def _of_job(name: str, pod: Manifest, spec: Mapping[str, Any], problems: list[str]) -> Replicas:
    parallelism = _count(spec, "parallelism", 1, problems)
    count = _count(spec, "completions", parallelism, problems)
    at_once = min(count, parallelism)
    idle = "" if at_once else f"has {'completions' if parallelism else 'parallelism'} 0"
    idle = SUSPENDED if _is_suspended(spec, problems) else idle
    return Replicas(name, pod, 0 if idle else count, 0 if idle else at_once, ON_FINISH, idle=idle)


def _of_cron_job(manifest: Manifest, problems: list[str]) -> Replicas | None:
    """The pods of one job, which has the CronJob's name."""
    spec = manifest.get("spec")
    template = spec.get("jobTemplate") if isinstance(spec, Mapping) else None
    if not isinstance(spec, Mapping) or not isinstance(template, Mapping):
        problems.append("spec.jobTemplate: missing; it says what the jobs are like")
        return None
    faults: list[str] = []
    metadata = manifest.get("metadata")
    job = {"apiVersion": "batch/v1", "kind": JOB, "metadata": metadata, "spec": template.get("spec")}
    found = replicas_of(job, faults)
    problems += (fault if fault.startswith("metadata.") else f"spec.jobTemplate.{fault}" for fault in faults)
    if found is None:
        return None
    none = {"count": 0, "at_once": 0, "idle": SUSPENDED} if _is_suspended(spec, problems) else {}
    return msgspec.structs.replace(found, pod=_of_numbered_job(found.pod), **none)


def _of_numbered_job(pod: Manifest) -> Manifest:
    """The pod with its controller named as a CronJob names its Jobs: ``<name>-<minutes since 1970>``."""
    [job] = pod["metadata"]["ownerReferences"]
    owners = [{**job, "name": f"{job['name']}-{SOME_MINUTE}"}]
    return {**pod, "metadata": {**pod["metadata"], "ownerReferences": owners}}


def _count(spec: Mapping[str, Any], key: str, default: int, problems: list[str], where: str = "spec") -> int:
    value = spec.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        problems.append(f"{where}.{key}: must be a whole number from 0 on, not {describe(value)}")
        return 0
    return value


def _is_suspended(spec: Mapping[str, Any], problems: list[str]) -> bool:
    value = spec.get("suspend") or False
    if not isinstance(value, bool):
        problems.append(f"spec.suspend: must be true or false, not {describe(value)}")
    return value is True


def _owner(manifest: Manifest, kind: str) -> Manifest:
    """The object that the pods name as their controller."""
    if kind != DEPLOYMENT:
        said = {key: value for key, value in manifest.items() if key != "status"}
        return default_manifest(said) if kind not in WITHOUT_DEFAULTS else _with_uid(said)
    spec = {key: manifest["spec"][key] for key in ("replicas", "selector") if key in manifest["spec"]}
    uid = _with_uid(manifest)["metadata"]["uid"]
    deployment = {"apiVersion": manifest.get("apiVersion") or "apps/v1", "kind": DEPLOYMENT, "controller": True}
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "uid"}
    metadata["ownerReferences"] = [{**deployment, "name": metadata["name"], "uid": uid}]
    return default_manifest({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec})


def _with_uid(manifest: Manifest) -> Manifest:
    """A kind that scheduling does not read has no defaults; a pod of its name lends it a namespace and a uid."""
    lent = default_manifest({"kind": "Pod", "metadata": manifest["metadata"]})["metadata"]
    return {**manifest, "metadata": {**manifest["metadata"], "namespace": lent["namespace"], "uid": lent["uid"]}}


def _first_pod(name: str, template: Mapping[str, Any], owner: Manifest) -> Manifest:
    said = template.get("metadata")
    meta = owner["metadata"]
    reference = {"apiVersion": owner.get("apiVersion", ""), "kind": owner["kind"], "controller": True}
    metadata = {
        **{key: said[key] for key in ("labels", "annotations") if isinstance(said, Mapping) and key in said},
        "name": f"{name}-0",
        "namespace": meta["namespace"],
        "ownerReferences": [{**reference, "name": meta["name"], "uid": meta["uid"]}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.get("spec")}


LONGEST_NAME = 253
"""Characters of a pod's name."""


@attrs.define(eq=False)
class DaemonSets:
    """Makes the pods of one DaemonSet after the other; each sees the pods that were given their node before."""

    release: Release
    """Whose API server stores the cluster, and whose controller picks the nodes."""
    controller: DaemonController
    """The release's, or one that places where another release of a comparison does."""
    notes: list[str] = attrs.field(factory=list)
    """On how many nodes get a pod, and who places it."""
    _cache: ClusterCache | None = None

    def picking(self, replicas: Replicas | None) -> Replicas | None:
        """Of a DaemonSet with the pod by which nodes are picked; of other controllers as they are."""
        if replicas is None or not replicas.per_node:
            return replicas
        return msgspec.structs.replace(replicas, pod=with_spec(replicas.pod, self.controller.template))

    def see(self, cluster: Iterable[ClusterObject], joining: Iterable[Node]) -> None:
        """Takes in the nodes there are and those that join, and what runs on them."""
        nodes = {obj.name: obj for obj in cluster if isinstance(obj, Node)} | {node.name: node for node in joining}
        running = (obj for obj in cluster if isinstance(obj, Pod) and obj.node_name in nodes)
        self._cache = ClusterCache.of([*nodes.values(), *running], self.release.default_view)

    def pods(
        self, name: str, template: Pod, manifest: Manifest, decode: Callable[[Manifest], Pod | None]
    ) -> list[tuple[Pod, str]]:
        """A pod for each node, with its name; where the controller places pods itself, they have their node.

        name: of the DaemonSet. template: its pod by which nodes are picked. manifest: the same. decode: makes a pod of
        a manifest, None of a faulty one.
        """
        assert self._cache is not None
        wanted = self._wanted(name, template)
        made: list[tuple[Pod, str]] = []
        for index, node in enumerate(wanted):
            said = with_spec(manifest, partial(self.controller.spec_for, node=node))
            found = decode({**said, "metadata": {**said["metadata"], "name": _pod_name(name, node, index)}})
            if found is None:
                return []
            pod = found.on(node) if self.controller.places else found
            if self.controller.places:
                self._cache.add(pod)
            made.append((pod, node))
        return made

    def _wanted(self, name: str, template: Pod) -> list[str]:
        """The names of the nodes that are to get a pod and have none yet; a note says how many that are."""
        assert self._cache is not None
        there = {pod.node_name for pod in self._cache.pods() if _belongs(pod, template.metadata.namespace, name)}
        names = self._cache.columns.names
        picked = self.controller.runs_on(template.on(""), self._cache)
        runs = [node for node, runs in zip(names, picked.tolist(), strict=True) if runs]
        if template.node_name:
            runs = [node for node in runs if node == template.node_name]
        wanted = [node for node in runs if node not in there]
        self._note(f"{template.metadata.namespace}/{name}", len(wanted), len(names), len(runs) - len(wanted))
        return wanted

    def _note(self, name: str, pods: int, nodes: int, there: int) -> None:
        text = f"DaemonSet {name}: a pod for {pods} of {nodes} nodes"
        if there:
            text += f"; {there} have one already"
        if self.controller.places and pods:
            text += ", placed by its controller: up to release 1.11 no scheduler decides on them"
        self.notes.append(text)


def _belongs(pod: Pod, namespace: str, name: str) -> bool:
    owners = pod.metadata.owner_references
    return pod.metadata.namespace == namespace and any(
        owner.controller and (owner.kind, owner.name) == (DAEMON_SET, name) for owner in owners
    )


def _pod_name(name: str, node: str, index: int) -> str:
    """By the node, so that it says whose pod it is; by number where that is too long."""
    text = f"{name}-{node}"
    return text if len(text) <= LONGEST_NAME else f"{name}-{index}"
