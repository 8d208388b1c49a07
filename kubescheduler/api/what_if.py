"""What would be if a cluster were different: each method gives another cluster and leaves this one alone."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from clusterstate.errors import DecodeError
from clusterstate.objects import Pod
from kubescheduler.inputs import manifest_builders
from kubescheduler.inputs.given import key_of

if TYPE_CHECKING:
    from clusterstate.objects import Node
    from kubescheduler.inputs.given import Entry, Key
    from kubescheduler.inputs.manifest_builders import Amount, Edit, Manifest

STAYS_ON_NODE = ("DaemonSet", "Node")
"""Kinds of owners whose pods belong to one node: they are not made anew elsewhere."""


class WhatIf(ABC):
    """The what-if methods of a cluster. Each raises DecodeError for a name that the cluster does not have."""

    @property
    @abstractmethod
    def nodes(self) -> list[Node]:
        """The nodes, in order."""

    @property
    @abstractmethod
    def pods(self) -> list[Pod]:
        """The pods, in order."""

    @abstractmethod
    def add(self, *things: Any) -> Self:
        """With more objects."""

    @abstractmethod
    def _known(self, kind: str, name: str) -> Entry:
        """The entry of that name. Raises DecodeError when there is none."""

    @abstractmethod
    def _changed(self, changes: Mapping[Key, Edit | None]) -> Self:
        """With some objects edited, by their keys; None takes one away."""

    # --- nodes -------------------------------------------------------------------------------

    def without_node(self, *names: str) -> Self:
        """Without nodes. Their pods wait for another, but those of a DaemonSet are gone with the node.

        >>> from kubescheduler import Cluster
        >>> cluster = Cluster().node("a").node("b").pod("web-1", node="a")
        >>> [pod.key for pod in cluster.without_node("a").pending()]
        ['default/web-1']
        """
        gone: dict[Key, Edit | None] = {self._known("Node", name).key: None for name in names}
        return self._changed({**gone, **self._pods_off(names)})

    def drained(self, *names: str) -> Self:
        """With nodes that take no more pods and whose pods wait for another; those of a DaemonSet stay.

        >>> from kubescheduler import Cluster
        >>> cluster = Cluster().node("a").pod("web-1", node="a").drained("a")
        >>> cluster.nodes[0].unschedulable, len(cluster.pending())
        (True, 1)
        """
        leaving = {key: edit for key, edit in self._pods_off(names).items() if edit is not None}
        return self._nodes(names, manifest_builders.cordoned)._changed(leaving)

    def cordoned(self, *names: str) -> Self:
        """With nodes that take no more pods.

        >>> from kubescheduler import Cluster
        >>> Cluster().node("a").cordoned("a").nodes[0].unschedulable
        True
        """
        return self._nodes(names, manifest_builders.cordoned)

    def uncordoned(self, *names: str) -> Self:
        """With nodes that take pods again.

        >>> from kubescheduler import Cluster
        >>> Cluster().node("a", unschedulable=True).uncordoned("a").nodes[0].unschedulable
        False
        """
        return self._nodes(names, manifest_builders.uncordoned)

    def with_taint(self, name: str, taint: str | Manifest) -> Self:
        """With a taint on a node: ``"key=value:NoSchedule"``, as kubectl writes it, or a manifest.

        >>> from kubescheduler import Cluster
        >>> Cluster().node("a").with_taint("a", "maintenance:NoExecute").nodes[0].taints[0].key
        'maintenance'
        """
        return self._nodes([name], manifest_builders.tainted(taint))

    def without_taint(self, name: str, taint: str) -> Self:
        """Without a node's taints of a key, or of ``key:Effect``.

        >>> from kubescheduler import Cluster
        >>> Cluster().node("a", taints=["gpu:NoSchedule"]).without_taint("a", "gpu").nodes[0].taints
        ()
        """
        return self._nodes([name], manifest_builders.untainted(taint))

    def with_label(self, name: str, labels: Mapping[str, str | None] | str, value: str | None = None) -> Self:
        """With labels on a node: a key and its value, or several as a mapping; the value None removes a label.

        >>> from kubescheduler import Cluster
        >>> Cluster().node("a").with_label("a", "disk", "ssd").nodes[0].metadata.labels["disk"]
        'ssd'
        """
        pairs = {labels: value} if isinstance(labels, str) else labels
        return self._nodes([name], manifest_builders.labelled(pairs))

    def resized(self, name: str, **amounts: Amount | Mapping[str, Amount | None] | None) -> Self:
        """With other allocatable amounts on a node: ``cpu=``, ``memory=``, ``pods=``, ``resources={"gpu": 2}``.

        >>> from kubescheduler import Cluster
        >>> Cluster().node("a", cpu=4).resized("a", cpu=8).nodes[0].allocatable["cpu"]
        8000
        """
        further = amounts.pop("resources", None)
        more = further if isinstance(further, Mapping) else {}
        return self._nodes([name], manifest_builders.resized({**amounts, **more}))

    def cloned(self, name: str, count: int = 1) -> Self:
        """With copies of a node, empty and called ``name-1``, ``name-2`` and so on, but for taken names.

        >>> from kubescheduler import Cluster
        >>> [node.name for node in Cluster().node("a", cpu=64).cloned("a", 2).cloned("a").nodes]
        ['a', 'a-1', 'a-2', 'a-3']
        """
        manifest = self._known("Node", name).manifest()
        taken = {node.name for node in self.nodes}
        free = (fresh for number in itertools.count(1) if (fresh := f"{name}-{number}") not in taken)
        return self.add([manifest_builders.renamed(fresh)(manifest) for fresh in itertools.islice(free, count)])

    # --- pods --------------------------------------------------------------------------------

    def without_pod(self, *names: str) -> Self:
        """Without pods, named ``namespace/name``, or ``name`` in the namespace default.

        >>> from kubescheduler import Cluster
        >>> len(Cluster().node("a").pod("web-1", node="a").without_pod("web-1").pods)
        0
        """
        return self._changed({self._known("Pod", name).key: None for name in names})

    def unbound(self, *names: str) -> Self:
        """With running pods that are pending again, as if they had just been created.

        >>> from kubescheduler import Cluster
        >>> [pod.key for pod in Cluster().node("a").pod("web-1", node="a").unbound("web-1").pending()]
        ['default/web-1']
        """
        return self._changed({self._known("Pod", name).key: manifest_builders.unbound for name in names})

    def bound(self, name: str, node: str) -> Self:
        """With a pending pod that runs on a node.

        >>> from kubescheduler import Cluster
        >>> Cluster().node("a").pod("web-1").bound("web-1", "a").pods[0].node_name
        'a'
        """
        return self.with_hosts({name: node})

    def with_hosts(self, hosts: Mapping[str, str]) -> Self:
        """With pods that run on nodes: pod → node.

        >>> from kubescheduler import Cluster
        >>> cluster = Cluster().node("a").pod("web-1").pod("web-2").with_hosts({"web-1": "a", "web-2": "a"})
        >>> [pod.node_name for pod in cluster.pods]
        ['a', 'a']
        """
        for node in set(hosts.values()):
            self._known("Node", node)
        return self._changed(
            {self._known("Pod", name).key: manifest_builders.bound(node) for name, node in hosts.items()}
        )

    def scaled(self, name: str, replicas: int) -> Self:
        """With so many pods like one: further ones are pending copies, and those there are too many of are gone.

        name: of a pod, or of the controller that owns the pods (``namespace/name``, or ``name`` in the namespace
        default). Pending pods go first, then the last ones.

        >>> from kubescheduler import Cluster
        >>> cluster = Cluster().node("a").pod("web", node="a", cpu=1)
        >>> [pod.key for pod in cluster.scaled("web", 3).pending()]
        ['default/web-1', 'default/web-2']
        """
        pods = self._replicas(name)
        order = sorted(pods, key=lambda pod: not pod.node_name)
        if replicas <= len(order):
            return self._changed({key_of(pod): None for pod in order[replicas:]})
        first = order[0]
        model = manifest_builders.unbound(self._known("Pod", first.key.removeprefix("/")).manifest())
        taken = {pod.key for pod in self.pods}
        fresh: list[Manifest] = []
        number = 1
        while len(fresh) < replicas - len(order):
            name = f"{first.metadata.name}-{number}"
            if f"{first.metadata.namespace}/{name}" not in taken:
                fresh.append(manifest_builders.renamed(name)(model))
            number += 1
        return self.add(fresh)

    # --- anything ----------------------------------------------------------------------------

    def with_manifest(self, kind: str, name: str, manifest: Manifest) -> Self:
        """With another manifest for an object: its kind, and ``namespace/name`` or the name, stay.

        >>> from kubescheduler import Cluster, node
        >>> Cluster().node("a").with_manifest("Node", "a", node("a", cpu=8)).nodes[0].allocatable["cpu"]
        8000
        """
        key = self._known(kind, name).key
        where = manifest.get("spec")
        if kind == "Pod" and isinstance(where, Mapping) and where.get("nodeName"):
            self._known("Node", str(where["nodeName"]))
        out = self._changed({key: lambda _: {**manifest, "kind": kind}})
        try:
            out._known(*key)
        except DecodeError as error:
            text = f"{kind} {key[1]}: metadata: name and namespace cannot be changed; add another and remove this one"
            raise DecodeError(text) from error
        return out

    # --- inside ------------------------------------------------------------------------------

    def _nodes(self, names: Any, edit: Edit) -> Self:
        return self._changed({self._known("Node", name).key: edit for name in names})

    def _pods_off(self, names: Any) -> dict[Key, Edit | None]:
        """What becomes of the pods of nodes that go."""
        there = [pod for pod in self.pods if pod.node_name in set(names)]
        return {key_of(pod): None if stays_on_node(pod) else manifest_builders.unbound for pod in there}

    def _replicas(self, name: str) -> list[Pod]:
        full = name if "/" in name else f"default/{name}"
        namespace, _, short = full.rpartition("/")
        owned = [
            pod
            for pod in self.pods
            if pod.metadata.namespace == namespace
            and any(owner.controller and owner.name == short for owner in pod.metadata.owner_references)
        ]
        if owned:
            return owned
        found = self._known("Pod", name).obj
        if not isinstance(found, Pod):
            raise DecodeError(f"{name} is no pod")
        return [found]


def stays_on_node(pod: Pod) -> bool:
    """Whether the pod belongs to its node, as those of a DaemonSet do, and is not made anew elsewhere."""
    return any(owner.controller and owner.kind in STAYS_ON_NODE for owner in pod.metadata.owner_references)
