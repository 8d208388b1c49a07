"""The mutable cluster: what happens to it is noted in its columns at once. Pods that preemption has promised a node
are kept beside it, as they take nothing yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from clusterstate.changes import Log
from clusterstate.cluster_objects import KEPT, ClusterObjects
from clusterstate.columns import Columns
from clusterstate.devices.resource_claims import with_left_over
from clusterstate.errors import ClusterStateError
from clusterstate.growable import IntArray
from clusterstate.node_order import NodeTree
from clusterstate.objects import AdmissionObject, ClusterObject, Node, Pod
from clusterstate.podinfo import PodInfo, PodKey, ReleaseView
from clusterstate.snapshot import Snapshot

LONGEST = 1 << 14
"""Changes that are remembered."""


class NominatedPods:
    """Pod by uid → the node it waits for."""

    def __init__(self) -> None:
        self._of: dict[str, tuple[str, Pod]] = {}
        self._by_node: dict[str, list[Pod]] | None = {}
        self.changed: Log[str] = Log(LONGEST)
        """The nodes whose nominations changed."""

    def put(self, uid: str, node_name: str, pod: Pod) -> None:
        """Notes that a pod waits for a node; it waits for no other any more."""
        self.drop(uid)
        self._of[uid] = node_name, pod
        self.changed.note(node_name)
        if self._by_node is not None:
            self._by_node.setdefault(node_name, []).append(pod)

    def drop(self, uid: str) -> None:
        """Takes the note of a pod back, if there is one."""
        found = self._of.pop(uid, None)
        if found is None:
            return
        node_name, pod = found
        self.changed.note(node_name)
        if self._by_node is None:
            return
        there = self._by_node[node_name]
        if len(there) == 1:
            del self._by_node[node_name]
        elif there[0] is pod:
            self._by_node = None
        else:
            del there[next(at for at, other in enumerate(there) if other is pod)]

    def node_of(self, uid: str) -> str | None:
        """The node that a pod waits for; None when it waits for none."""
        found = self._of.get(uid)
        return None if found is None else found[0]

    def by_node(self) -> Mapping[str, Sequence[Pod]]:
        """Node name → the pods that wait for it, in order of nomination; current until the next change."""
        if self._by_node is None:
            self._by_node = {}
            for node_name, pod in self._of.values():
                self._by_node.setdefault(node_name, []).append(pod)
        return self._by_node


TERMINATED = ("Succeeded", "Failed")
"""Phases of pods that a scheduler is never shown."""


class ClusterCache:
    """Nodes, pods and the other objects of one cluster. Upstream: 1.16 schedulerCache.

    A pod is assumed (placed by us, not yet confirmed) or added; pods are identified by uid (1.4: by name). Texts of
    ClusterStateError are upstream's. Nothing here reads a clock: expiry of assumed pods belongs to who
    keeps time.
    """

    def __init__(self, view: ReleaseView) -> None:
        self.view = view
        self.columns = Columns(view)
        self.objects = ClusterObjects()
        self.tree = NodeTree(view.zone_key)
        self._places: dict[str, tuple[int, Pod, PodInfo]] = {}
        self._assumed: set[str] = set()
        self.nominations = NominatedPods()
        self._listed_rows: tuple[int, IntArray] = (-1, np.zeros(0, np.int64))

    @classmethod
    def of(cls, objects: Iterable[Any], view: ReleaseView) -> ClusterCache:
        """A cache filled with decoded objects as ``view`` sees them, every node as if it had been updated since.

        Terminated pods are left out, pending ones noted if they are nominated.
        """
        cache = cls(view)
        nodes: list[Node] = []
        running: list[Pod] = []
        names: list[str] = []
        for obj in objects:
            if isinstance(obj, Node):
                nodes.append(obj)
                names.append(obj.name)
            elif isinstance(obj, Pod) and obj.node_name and obj.phase not in TERMINATED:
                running.append(obj)
                names.append(obj.node_name)
            else:
                cache.add(obj)
        cache.columns.rows(names)
        cache._fill(nodes, running)
        return cache

    def _fill(self, nodes: Sequence[Node], running: Sequence[Pod]) -> None:
        """Adds nodes and bound pods to an empty cache, whatever they have in common at once."""
        rows = self.columns.rows([node.name for node in nodes])
        if len(set(rows)) == len(rows):
            self.columns.put_nodes(rows, nodes)
            for node in nodes:
                self.tree.put(node)
        else:
            for node in nodes:
                self.add_node(node)
            self.columns.images.refresh()
        uids, rows = list(map(self._uid, running)), self.columns.rows([pod.node_name for pod in running])
        infos = self._infos(running)
        self._places = dict(zip(uids, zip(rows, running, infos, strict=True), strict=True))
        if len(self._places) < len(uids):
            twice = next(uid for uid, count in Counter(uids).items() if count > 1)
            raise ClusterStateError(f"pod {twice} was already in added state")
        self.columns.put_pods(rows, running, uids, infos)

    def _infos(self, pods: Sequence[Pod]) -> list[PodInfo]:
        """The class of each pod, compiled once."""
        classes: dict[PodKey, PodInfo] = {}
        infos = []
        for pod in pods:
            key = self.view.pod_key(pod)
            info = classes.get(key)
            if info is None:
                info = classes[key] = self.columns.info(pod)
            infos.append(info)
        return infos

    def add(self, obj: Any) -> None:
        """Adds any object; replaces one of the same name (a pod: of the same uid). Admission's are passed over."""
        if isinstance(obj, Node):
            self.add_node(obj)
        elif isinstance(obj, Pod):
            if obj.phase in TERMINATED:
                return
            if obj.node_name:
                self.add_pod(obj)
            elif obj.nominated_node_name:
                self.nominate(obj, obj.nominated_node_name)
        elif type(obj) in KEPT:
            self.columns.log.whole(self.objects.put(obj))
            self.columns.lead_elsewhere(self.objects.claims_led_elsewhere(obj))
        elif not isinstance(obj, AdmissionObject):
            raise TypeError(f"{type(obj).__name__} is not an object of a cluster")

    def remove(self, obj: Any) -> None:
        """Removes any object by its name (a pod: by its uid)."""
        if isinstance(obj, Node):
            self.remove_node(obj.name)
        elif isinstance(obj, Pod):
            self.remove_pod(obj)
        else:
            self.columns.log.whole(self.objects.take(obj))
            self.columns.lead_elsewhere(self.objects.claims_led_elsewhere(obj))

    # --- nodes -----------------------------------------------------------------------------

    def add_node(self, node: Node) -> None:
        """Adds or updates a node; pods that were there before it stay."""
        self.columns.put_node(self.columns.row(node.name), node)
        self.tree.put(node)

    update_node = add_node

    def listed_rows(self) -> IntArray:
        """(N,) the rows of all nodes in the order in which they are visited; see NodeTree.listed. Not to be changed."""
        version, rows = self._listed_rows
        if version != self.tree.version:
            rows = np.array([self.columns.row_of[name] for name in self.tree.listed()], np.int64)
            self._listed_rows = (self.tree.version, rows)
        return rows

    def node(self, name: str) -> Node | None:
        """The node of that name; None: there is none."""
        row = self.columns.row_of.get(name)
        return None if row is None else self.columns.nodes[row]

    def remove_node(self, name: str) -> None:
        """Takes the node object away; its pods stay until they are removed themselves."""
        row = self.columns.row_of.get(name)
        if row is None or self.columns.nodes[row] is None:
            raise ClusterStateError(f"node {name} is not found")
        self.tree.remove(name)
        self.columns.put_node(row, None)

    # --- pods ------------------------------------------------------------------------------

    def add_pod(self, pod: Pod) -> None:
        """A pod that is bound: new, or the confirmation of an assumed one (also on another node)."""
        uid = self._uid(pod)
        if uid in self._places:
            if uid not in self._assumed:
                raise ClusterStateError(f"pod {uid} was already in added state")
            if self._confirm(uid, pod):
                return
            self._take(uid)
        self._place(uid, pod)

    def _confirm(self, uid: str, pod: Pod) -> bool:
        """Replaces an assumed pod by the one that was seen on the same node, where every count stays as it is."""
        row, _, info = self._places[uid]
        if self.columns.row_of.get(pod.node_name) != row or not self.columns.replace_pod(row, pod, uid, info):
            return False
        del self._places[uid]
        self._places[uid] = (row, pod, info)
        self._assumed.remove(uid)
        return True

    def update_pod(self, pod: Pod) -> None:
        """Replaces an added pod."""
        uid = self._uid(pod)
        if uid not in self._places or uid in self._assumed:
            raise ClusterStateError(f"pod {uid} is not added to scheduler cache, so cannot be updated")
        self._take(uid)
        self._place(uid, pod)

    def remove_pod(self, pod: Pod) -> None:
        """Removes an added pod, and its nomination."""
        uid = self._uid(pod)
        self.nominations.drop(uid)
        if uid not in self._places or uid in self._assumed:
            raise ClusterStateError(f"pod {uid} is not found in scheduler cache, so cannot be removed from it")
        self._take(uid)

    def assume_pod(self, pod: Pod, node_name: str) -> Pod:
        """Places a pending pod ahead of its binding; the pod as it now runs. Its nomination is gone."""
        uid = self._uid(pod)
        if uid in self._places:
            raise ClusterStateError(f"pod {uid} is in the cache, so can't be assumed")
        placed = pod.on(node_name)
        self._place(uid, placed, self.columns.info(pod))
        self._assumed.add(uid)
        self.nominations.drop(uid)
        return placed

    def forget_pod(self, pod: Pod) -> None:
        """Takes back an assumption."""
        uid = self._uid(pod)
        if uid not in self._assumed:
            raise ClusterStateError(f"pod {uid} wasn't assumed so cannot be forgotten")
        self._take(uid)

    def assume_pods(self, pods: Sequence[Pod], rows: Sequence[int], infos: Sequence[PodInfo]) -> None:
        """As ``assume_pod`` of each, one after the other, with a ``snapshot`` between. rows: (k,) those of their nodes.
        infos: (k,) their classes.

        Raises ClusterStateError when one of them cannot be assumed; then none is.
        """
        names, places = self.columns.names, self._places
        uids = [self._uid(pod) for pod in pods]
        if len(set(uids)) < len(uids) or not places.keys().isdisjoint(uids):
            raise ClusterStateError("a pod is in the cache, so can't be assumed")
        placed = [pod.on(names[row]) for pod, row in zip(pods, rows, strict=True)]
        self.columns.put_pods(rows, placed, uids, infos)
        places.update(zip(uids, zip(rows, placed, infos, strict=True), strict=True))
        self._assumed.update(uids)
        for uid in uids:
            self.nominations.drop(uid)
        self.columns.copied()
        for row in rows[-1:]:
            self.columns.images.touched(row)

    def forget_pods(self, pods: Sequence[Pod]) -> None:
        """As ``forget_pod`` of each, one after the other.

        Raises ClusterStateError when one of them is not assumed; then none is forgotten.
        """
        uids = [self._uid(pod) for pod in pods]
        if not self._assumed.issuperset(uids) or len(set(uids)) < len(uids):
            raise ClusterStateError("a pod wasn't assumed so cannot be forgotten")
        taken = [self._places.pop(uid) for uid in uids]
        self.columns.take_pods([row for row, _, _ in taken], uids, [info for _, _, info in taken])
        self._assumed.difference_update(uids)

    def is_assumed(self, pod: Pod) -> bool:
        """Whether the pod is assumed: placed by the scheduler and not yet confirmed."""
        return self.view.identity(pod) in self._assumed

    def __contains__(self, pod: Pod) -> bool:
        return self.view.identity(pod) in self._places

    def pods(self) -> list[Pod]:
        """All placed pods, in order of arrival."""
        return [pod for _, pod, _ in self._places.values()]

    def everything(self) -> list[ClusterObject]:
        """All objects as they are now, of which ``of`` makes such a cache again; assumed pods as if they were bound."""
        others = (obj for table, _ in KEPT.values() for obj in getattr(self.objects, table).values())
        nodes = (node for node in self.columns.nodes if node is not None)
        nominated = (
            msgspec.structs.replace(pod, nominated_node_name=node)
            for node, pods in self.nominated().items()
            for pod in pods
        )
        return [*others, *nodes, *self.pods(), *nominated]

    @property
    def pod_count(self) -> int:
        """How many pods are placed."""
        return len(self._places)

    def placed(self, uid: str) -> Pod | None:
        """The placed pod of that identity, as it runs; None when no node holds it."""
        place = self._places.get(uid)
        return None if place is None else place[1]

    def _uid(self, pod: Pod) -> str:
        uid = self.view.identity(pod)
        if not uid:
            raise ClusterStateError("Cannot get cache key for pod with empty UID")
        return uid

    def _place(self, uid: str, pod: Pod, info: PodInfo | None = None) -> None:
        columns = self.columns
        row = columns.row_of.get(pod.node_name)
        if row is None:
            row = columns.row(pod.node_name)
        self._places[uid] = (row, pod, columns.put_pod(row, pod, uid, info))

    def _take(self, uid: str) -> None:
        row, _, info = self._places.pop(uid)
        self._assumed.discard(uid)
        self.columns.take_pod(row, uid, info)

    # --- nominations -----------------------------------------------------------------------

    def nominate(self, pod: Pod, node_name: str) -> None:
        """Notes that a pending pod waits for room on a node; an empty name takes the note back."""
        uid = self._uid(pod)
        if node_name:
            self.nominations.put(uid, node_name, pod)
        else:
            self.nominations.drop(uid)

    def nominated(self) -> Mapping[str, Sequence[Pod]]:
        """Node name → the pods nominated to it, in order of nomination; current until the next change."""
        return self.nominations.by_node()

    # --- reading ---------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """The cluster as it is now; valid until the next change."""
        self.columns.copied()
        return Snapshot(self.columns, self.objects)

    def info(self, pod: Pod) -> PodInfo:
        """The pod's class."""
        if self.objects.resource_claims:
            pod = with_left_over(pod, Snapshot(self.columns, self.objects))
        return self.columns.info(pod)
