"""The pods that schedulers are asked about, and the cluster from which one that runs is taken out before.

A running pod is decided anew as it was when it was created: on no node, nominated to none, without status. What it
uses (amounts, ports, volumes, its part in every count) is free meanwhile, and so are devices that nobody else uses.
Its volume claims stay bound, as they do when a pod is deleted. Pods of DaemonSets and static pods belong to their node,
and pods that are being deleted leave: none of them is decided anew.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import attrs
import msgspec

from clusterstate.cache import TERMINATED, ClusterCache
from clusterstate.errors import ConfigError, DecodeError, nearest
from clusterstate.objects import ClusterObject, Pod, Requirement
from clusterstate.selectors.matching import LABEL_SELECTOR_OPERATORS, compile_requirement, requirement_error
from clusterstate.selectors.pod_owners import is_daemon_pod, workloads_of
from kubescheduler.engine.spec import Change, make, undo
from kubescheduler.releases.lookup import release_named
from kubescheduler.simulation.pod_claims import given_back
from kubescheduler.simulation.pods_to_place import PodsToPlace, joined
from kubescheduler.simulation.workload import as_new
from kubescheduler.sources.cluster_input import uid_problems

ALL = "all"
"""Picks every running pod."""

KINDS = {
    "cronjob": "CronJob",
    "daemonset": "DaemonSet",
    "deploy": "Deployment",
    "deployment": "Deployment",
    "ds": "DaemonSet",
    "job": "Job",
    "pod": "Pod",
    "replicaset": "ReplicaSet",
    "replicationcontroller": "ReplicationController",
    "rs": "ReplicaSet",
    "rc": "ReplicationController",
    "statefulset": "StatefulSet",
    "sts": "StatefulSet",
}
"""Kinds of workloads as kubectl takes them → as the API writes them."""

FIELDS = ("metadata.name", "metadata.namespace", "spec.nodeName")
"""What is selected by besides labels, as kubectl's --field-selector spells it."""

GRAMMAR = (
    "write labels as app=web,tier!=db or 'app in (web,api)', a workload as deployment/web or shop/deployment/web, "
    f"or {', '.join(FIELDS)} as metadata.namespace=shop"
)

Selects = Callable[[Pod, str], bool]
"""Whether a selector picks a pod, whose workload is ``Kind/name``."""

_SET = re.compile(r"(\S+)\s+(in|notin)\s*\(([^()]*)\)")
_EQUAL = re.compile(r"([^\s=!]+)\s*(==|=|!=)\s*(\S*)")
_WORKLOAD = re.compile(r"(?:([a-z0-9-]+)/)?([A-Za-z]+)/([a-z0-9.-]+)")
_PART = re.compile(r"(?:\([^()]*\)|[^,()])+")


class RunningPods(msgspec.Struct, frozen=True):
    """Pods that are decided anew where they run."""

    pods: list[Pod]
    """In the order in which they were found, as they run."""
    notes: tuple[str, ...] = ()
    """How many others are left out, and why."""


class AskedPods(msgspec.Struct, frozen=True):
    """The pods that schedulers are asked about, and the cluster that they see."""

    objects: list[ClusterObject]
    """The cluster, with what comes with the pods, but for those of the pods that wait in it."""
    pods: list[Pod]
    """In the order in which they are decided."""
    notes: tuple[str, ...] = ()
    """What was left out, and why."""


def asked_pods(
    cluster: Iterable[ClusterObject],
    release: str,
    given: PodsToPlace | None = None,
    *,
    running: bool | str = False,
    option: str = "--no-defaulting",
) -> AskedPods:
    """The running pods that a selector picks (True: all), those that are given, or else those that wait, in the order
    of the queue. Given ones that run and are not decided anew are in the cluster all the same.

    release: that stores the cluster. option: what leaves pods without a uid. Raises InputError where none that is given
    or picked could go elsewhere, and for uids that do not tell pods apart.
    """
    objects = list(cluster)
    if running:
        picked = running_pods(objects, ALL if running is True else running)
        return AskedPods(objects, picked.pods, picked.notes)
    asked = PodsToPlace(release_named(release).queue_order(objects)) if given is None else given
    picked = without_stayers(asked.pods)
    if given is not None and not (picked.pods or given.controllers):
        raise DecodeError(f"no pod that is asked about can go elsewhere; {'; '.join(picked.notes)}")
    there = (obj for obj in objects if isinstance(obj, Pod))
    if problems := list(uid_problems([*there, *(picked.pods if given else ())], option)):
        raise DecodeError(problems)
    none = ("no pending pods in the cluster",) if given is None and not picked.pods else ()
    notes = (*asked.notes, *asked.controllers, *picked.notes, *none)
    beside = (pod for pod in asked.pods if runs(pod) and stays(pod))
    return AskedPods(joined(without(objects, picked.pods), (*asked.objects, *beside)), picked.pods, notes)


def without(cluster: Iterable[ClusterObject], pods: Iterable[Pod]) -> list[ClusterObject]:
    """The cluster's objects but for those of the pods that are pending in it."""
    keys = {pod.key for pod in pods}
    return [obj for obj in cluster if not (isinstance(obj, Pod) and not obj.node_name and obj.key in keys)]


def running_pods(objects: Collection[ClusterObject], selector: str = ALL) -> RunningPods:
    """The running pods of a cluster that a selector picks. Raises ConfigError for a selector that is none, or picks
    no running pod that could go elsewhere.

    selector: a label selector as kubectl takes it, which may also name ``FIELDS``; ``deployment/web`` or
    ``shop/deployment/web``, the pods of one workload; ``all``: every running pod.
    """
    selects = _selects(selector)
    there = [obj for obj in objects if isinstance(obj, Pod) and runs(obj)]
    found = [pod for pod, owner in zip(there, workloads_of(there, objects), strict=True) if selects(pod, owner)]
    pods = [pod for pod in found if not stays(pod)]
    notes = tuple(left_out(found))
    if not pods:
        raise ConfigError("; ".join([_nothing(selector, there), *notes]))
    return RunningPods(pods, notes)


def without_stayers(pods: Iterable[Pod]) -> RunningPods:
    """Pods that are given, but for those that run and are not decided anew."""
    every = list(pods)
    return RunningPods([pod for pod in every if not (runs(pod) and stays(pod))], tuple(left_out(filter(runs, every))))


def runs(pod: Pod) -> bool:
    """Whether the pod is on a node and has not finished."""
    return bool(pod.node_name) and pod.phase not in TERMINATED


def any_runs(objects: Iterable[ClusterObject]) -> bool:
    """Whether some pod of a cluster does."""
    return any(isinstance(obj, Pod) and runs(obj) for obj in objects)


def stays(pod: Pod) -> str:
    """Why a running pod is not decided anew; empty if it is."""
    if is_daemon_pod(pod):
        return "of DaemonSets or static"
    return "being deleted" if pod.metadata.deletion_timestamp is not None else ""


def left_out(pods: Iterable[Pod]) -> Iterator[str]:
    """A note on the running pods that are not decided anew."""
    counts = Counter(filter(None, map(stays, pods)))
    if counts:
        said = (f"{count:,} {'pod' if count == 1 else 'pods'} {why}" for why, count in counts.items())
        yield f"left out: {', '.join(said)}"


def taken_out_notes(running: Collection[str]) -> Iterator[str]:
    """What is said of comparisons with running pods."""
    if running:
        each = "the running pod was" if len(running) == 1 else f"each of the {len(running):,} running pods was"
        yield f"{each} taken out of the cluster and decided anew"


def _nothing(selector: str, there: Sequence[Pod]) -> str:
    if not there:
        return "no pod runs in the cluster"
    return (
        "no running pod can go elsewhere" if selector == ALL else f"no running pod is picked by {selector}; {GRAMMAR}"
    )


# --- selectors -------------------------------------------------------------------------------


def _selects(selector: str) -> Selects:
    """Raises ConfigError for a text that is no selector."""
    text = selector.strip()
    if text == ALL:
        return lambda _, __: True
    if (found := _WORKLOAD.fullmatch(text)) and (found[1] or found[2][0].isupper() or _kind(found[2]) in KINDS):
        return _of_workload(found[1], KINDS.get(_kind(found[2]), found[2]), found[3])
    requirements = [_requirement(selector, part.strip()) for part in _PART.findall(text)]
    if not requirements or (re.sub(r"[\s,]", "", _PART.sub("", text))):
        raise ConfigError(f"{selector} is no selector of pods; {GRAMMAR}")
    matchers = [(requirement.key, compile_requirement(requirement)) for requirement in requirements]
    return lambda pod, _: all(matches(_value(pod, key)) for key, matches in matchers)


def _kind(text: str) -> str:
    """In lower case and, if it is the plural of a known one, in the singular."""
    lower = text.lower()
    return lower if lower in KINDS else lower.removesuffix("s")


def _of_workload(namespace: str | None, kind: str, name: str) -> Selects:
    """A pod's own name, its controller and the controller's controller count."""
    wanted = f"{kind}/{name}"

    def selects(pod: Pod, workload: str) -> bool:
        owners = (f"{owner.kind}/{owner.name}" for owner in pod.metadata.owner_references if owner.controller)
        return wanted in (workload, f"Pod/{pod.metadata.name}", *owners) and namespace in (None, pod.metadata.namespace)

    return selects


def _parsed(text: str) -> Requirement:
    """One requirement of a label selector as it is written, right or not."""
    if found := _SET.fullmatch(text):
        values = tuple(value.strip() for value in found[3].split(","))
        return Requirement(found[1], "In" if found[2] == "in" else "NotIn", values)
    if found := _EQUAL.fullmatch(text):
        return Requirement(found[1], "NotIn" if found[2] == "!=" else "In", (found[3],))
    return Requirement(text.removeprefix("!").strip(), "DoesNotExist" if text[:1] == "!" else "Exists")


def label_selector(selector: str) -> Callable[[Mapping[str, str]], bool]:
    """Whether labels are selected, as kubectl's -l has it: ``app=web,tier!=db`` or ``app in (web,api)``.

    Raises ConfigError for a text that is no label selector.
    """
    requirements = [_parsed(part.strip()) for part in _PART.findall(selector)]
    faults = [fault for each in requirements if (fault := requirement_error(each, LABEL_SELECTOR_OPERATORS))]
    if faults or not requirements or re.sub(r"[\s,]", "", _PART.sub("", selector)):
        raise ConfigError(f"{selector} is no label selector; write app=web,tier!=db or 'app in (web,api)'")
    matchers = [(requirement.key, compile_requirement(requirement)) for requirement in requirements]
    return lambda labels: all(matches(labels.get(key)) for key, matches in matchers)


def _requirement(selector: str, text: str) -> Requirement:
    """One requirement of a label selector. Raises ConfigError."""
    requirement = _parsed(text)
    if fault := requirement_error(requirement, LABEL_SELECTOR_OPERATORS):
        raise ConfigError(f"{selector} is no selector of pods: {fault}; {GRAMMAR}")
    if "." in requirement.key and (close := nearest(requirement.key, FIELDS)) and requirement.key not in FIELDS:
        raise ConfigError(f"{selector}: {requirement.key} is no field to select by{close}")
    return requirement


def _value(pod: Pod, key: str) -> str | None:
    fields = (pod.metadata.name, pod.metadata.namespace, pod.node_name)
    return dict(zip(FIELDS, fields, strict=True)).get(key) if key in FIELDS else pod.metadata.labels.get(key)


# --- taking out ------------------------------------------------------------------------------


class TakenOut(msgspec.Struct, frozen=True):
    """A cluster with pods to decide, some of which run in it."""

    objects: list[ClusterObject]
    """The cluster, with the pods that run."""
    pods: list[Pod]
    """What is decided, each as it was when it was created."""
    running: Mapping[str, Pod]
    """``namespace/name`` → the pod as it runs, of those that do."""

    @property
    def without(self) -> list[ClusterObject]:
        """The cluster without the pods that are decided."""
        return [obj for obj in self.objects if not (isinstance(obj, Pod) and obj.key in self.running)]


def taken_out(objects: Iterable[ClusterObject], pods: Sequence[Pod]) -> TakenOut:
    """Of the pods to decide, those that run: in the cluster under their name, or as they are given."""
    cluster = list(objects)
    keys = {pod.key for pod in pods}
    there = {obj.key: obj for obj in cluster if isinstance(obj, Pod) and obj.key in keys and runs(obj)}
    given = {pod.key: pod for pod in pods if pod.key not in there and runs(pod)}
    fresh = [renewed(pod) if pod.node_name or pod.nominated_node_name else pod for pod in pods]
    return TakenOut([*cluster, *given.values()], fresh, {**there, **given})


def renewed(pod: Pod) -> Pod:
    """A pod as it was when it was created, but for the names of the claims that were made for it."""
    return msgspec.structs.replace(as_new(pod), resource_claim_statuses=pod.resource_claim_statuses)


@attrs.define(eq=False)
class Absences:
    """Takes running pods out of one cluster, one at a time, and puts them back."""

    cache: ClusterCache
    running: Mapping[str, Pod]
    """``namespace/name`` → the pod as it runs."""
    _changes: dict[str, list[Change]] = attrs.field(factory=dict, init=False)
    """``namespace/name`` of a pod that is out → what became of its claims."""

    def begin(self, pod: Pod) -> bool:
        """Takes the pod out if it runs, with its devices; whether it did. Preemption may have evicted it before."""
        there = self.running.get(pod.key)
        if there is None or there not in self.cache:
            return False
        self.cache.remove_pod(there)
        changes = self._changes[pod.key] = list(given_back(there, self.cache.objects, again=True))
        make(self.cache, changes)
        return True

    def end(self, pod: Pod) -> None:
        """Puts a pod that was taken out back where it ran."""
        self.cache.add_pod(self.running[pod.key])
        undo(self.cache, self._changes.pop(pod.key))
