"""Which pending pods wait for room on which node, and on which nodes that changed since a reader last looked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clusterstate.objects import Pod

LONGEST = 1 << 14
"""Changes that are remembered."""


class NominatedPods:
    """Pod by uid → the node it waits for."""

    def __init__(self) -> None:
        self._of: dict[str, tuple[str, Pod]] = {}
        self._by_node: dict[str, list[Pod]] | None = {}
        self._changed: list[str] = []
        self._start = 0

    @property
    def position(self) -> int:
        """Grows with every change; what a reader remembers."""
        return self._start + len(self._changed)

    def since(self, position: int) -> Sequence[str] | None:
        """The nodes whose nominations changed after a position, some of them repeated; None: too long ago."""
        return None if position < self._start else self._changed[position - self._start :]

    def put(self, uid: str, node_name: str, pod: Pod) -> None:
        """Notes that a pod waits for a node; it waits for no other any more."""
        self.drop(uid)
        self._of[uid] = node_name, pod
        self._note(node_name)
        if self._by_node is not None:
            self._by_node.setdefault(node_name, []).append(pod)

    def drop(self, uid: str) -> None:
        """Takes the note of a pod back, if there is one."""
        found = self._of.pop(uid, None)
        if found is None:
            return
        node_name, pod = found
        self._note(node_name)
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

    def _note(self, node_name: str) -> None:
        if len(self._changed) >= LONGEST:
            half = LONGEST // 2
            del self._changed[:half]
            self._start += half
        self._changed.append(node_name)
