"""Scene: one state with what came before and after it, and what its schedulers decide."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from kubescheduler.api.cluster import Cluster
from kubescheduler.core.decision import Decision
from kubescheduler.engine.engine_contract import Engine, PodScheduler
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.extender.access import PASS
from kubescheduler.lab.plugin_file import PluginFile
from kubescheduler.lab.scene.scene_state import SceneFault, SceneState, Side, opened_state
from kubescheduler.lab.scene.side_schedulers import KeptValues, MadeEngine, SideSchedulers

T = TypeVar("T")

MOST_STEPS = 100
"""Edits that can be undone."""

MOST_DECISIONS = 64
"""Decisions that are kept."""


class EditStep(msgspec.Struct, frozen=True, eq=False):
    """An edit that was made."""

    text: str
    """What was done, in the past tense."""
    before: SceneState
    """What the scene was."""
    join: str = ""
    """What edits in a row have in common that are one step back; empty: nothing."""


class Scene:
    """A state that edits replace, with undo and redo, and the decisions of its sides.

    Used by one thread at a time. Schedulers are kept until the cluster or their side changes, decisions until the scene
    does.

    >>> import kubescheduler as ks
    >>> scene = Scene.opened(ks.Cluster(release="1.36").node("a").pod("web", cpu=1))
    >>> scene.decision("a").host
    'a'
    """

    def __init__(self, state: SceneState, plugin_files: Sequence[PluginFile] = ()) -> None:
        """plugin_files: where the plugins of the sides come from, if that is looked at while the scene is open."""
        self._state = state
        self.plugin_files = tuple(plugin_files)
        self._version = 1
        self._done: deque[EditStep] = deque(maxlen=MOST_STEPS)
        self._undone: list[EditStep] = []
        self._sides = SideSchedulers()
        self._decisions = KeptValues(MOST_DECISIONS)
        self._without = KeptValues(2)
        self._views = KeptValues(8)
        self.extra: dict[str, Any] = {}
        """What families of verbs keep with the scene, by their own key."""

    @classmethod
    def opened(
        cls, *sources: Any, pods: Iterable[Any] = (), sides: Iterable[Side | EngineSpec] = (), title: str = ""
    ) -> Self:
        """A scene of a cluster (files, manifests, objects, or a Cluster), pods that wait in it besides, and sides.

        The first of ``pods``, else the first that waits in the cluster, is the one that is asked about. sides: by
        default the default provider of the cluster's release. Raises InputError with every fault.
        """
        return cls(opened_state(sources, pods, sides, title))

    # --- what it is ----------------------------------------------------------------------------

    @property
    def state(self) -> SceneState:
        """What it is now."""
        return self._state

    @property
    def version(self) -> int:
        """Grows with every change, also by undo and redo."""
        return self._version

    @property
    def undo_text(self) -> str | None:
        """What undo would take back; None when there is nothing."""
        return self._done[-1].text if self._done else None

    @property
    def redo_text(self) -> str | None:
        """What redo would do again; None when there is nothing."""
        return self._undone[-1].text if self._undone else None

    # --- changes -------------------------------------------------------------------------------

    def change(self, text: str, state: SceneState, join: str = "") -> None:
        """Goes on with another state; what was undone cannot be redone any more. text: what was done.

        join: when not empty and that of the edit just before, both are undone at once.
        """
        joined = self._done.pop() if join and self._done and self._done[-1].join == join else None
        self._done.append(EditStep(text, joined.before if joined else self._state, join))
        self._undone.clear()
        self._goto(state)

    def undo(self) -> str:
        """Takes the last edit back; what it had done. Raises SceneFault when there is none."""
        if not self._done:
            raise SceneFault("undo: nothing was done")
        step = self._done.pop()
        self._undone.append(EditStep(step.text, self._state))
        self._goto(step.before)
        return step.text

    def redo(self) -> str:
        """Makes the edit that was taken back last again. Raises SceneFault when there is none."""
        if not self._undone:
            raise SceneFault("redo: nothing was undone")
        step = self._undone.pop()
        self._done.append(EditStep(step.text, self._state))
        self._goto(step.before)
        return step.text

    def touched(self) -> None:
        """Something outside of the state has changed, such as a plugin's file: nothing that was decided counts."""
        self._sides, self._decisions, self._without = SideSchedulers(), KeptValues(MOST_DECISIONS), KeptValues(2)
        self.extra = {key: value for key, value in self.extra.items() if not isinstance(value, KeptValues)}
        self._version += 1

    def watched(self) -> list[Path]:
        """The files outside that the scene is made of."""
        return [file.path for file in self.plugin_files]

    def reread(self) -> list[str]:
        """Reads the files again that were saved; what is wrong with them. Another scene may have read them already."""
        for file in self.plugin_files:
            file.refresh()
        if self.plugin_files:
            self.touched()
        return [problem for file in self.plugin_files for problem in file.problems]

    def _goto(self, state: SceneState) -> None:
        self._state = state
        self._version += 1

    # --- what decides --------------------------------------------------------------------------

    def side(self, letter: str) -> Side:
        """The side of that id. Raises SceneFault."""
        return self._state.side(letter)

    def made(self, side: Side) -> MadeEngine:
        """A side's engine with its notes, or why there is none."""
        return self._sides.made(side)

    def engine(self, side: str) -> Engine:
        """What a side decides by. Raises SceneFault with what is wrong with its description."""
        return self._sides.engine(self.side(side))

    def problems(self, side: str) -> tuple[str, ...]:
        """Why a side cannot decide: its description, or manifests that its release refuses to read."""
        return self._sides.problems(self._state.cluster, self.side(side))

    def cluster(self, side: str) -> Cluster:
        """The cluster as the side's release stores it. Raises SceneFault."""
        return self._sides.cluster(self._state.cluster, self.side(side))

    def scheduler(self, side: str) -> PodScheduler:
        """What decides; its cache is not to be changed. Raises SceneFault."""
        return self._sides.scheduler(self._state.cluster, self.side(side))

    def decider(self, side: str, pod: str | None = None) -> PodScheduler:
        """What decides a pod, over the cluster in which it waits: rows of its decisions are those of this one's cache.
        Raises SceneFault."""
        cluster = self._where_it_waits(self.pod_key(pod))
        return self._sides.scheduler(cluster, self.side(side), aside=cluster is not self._state.cluster)

    def decision(self, side: str, pod: str | None = None, *, thorough: bool = False) -> Decision:
        """Where a pod goes, by default the one that is asked about, with what preemption would do.

        pod: ``namespace/name``; one that runs is decided as if it waited. thorough: every check judges every node, and
        one node that fits is scored too; extenders are not asked for that. Raises SceneFault.
        """
        return self._decided(self.side(side), pod, thorough=thorough)

    def checked(self, side: str, pod: str | None = None) -> Decision:
        """As ``decision``, of a scheduler that passes its extenders over: its ``feasible`` are the nodes that the first
        of them is asked about. Raises SceneFault."""
        described = self.side(side)
        spec = msgspec.structs.replace(described.spec, extenders=PASS)
        return self._decided(msgspec.structs.replace(described, spec=spec), pod, thorough=False)

    def _decided(self, described: Side, pod: str | None, *, thorough: bool) -> Decision:
        key = self.pod_key(pod)
        cluster = self._where_it_waits(key)
        own = self._sides.cluster(cluster, described)

        def decide() -> Decision:
            pod = own.find_pod(key)
            assert pod is not None
            scheduler = self._sides.scheduler(cluster, described, aside=aside)
            return scheduler.decide(pod, preempt=True, thorough=thorough)

        aside = cluster is not self._state.cluster
        filled = self._sides.filled(cluster, described, aside=aside)
        return self._decisions.value((own, described), decide, key, thorough, filled.turn)

    def pod_key(self, pod: str | None = None) -> str:
        """``namespace/name`` of a pod of the cluster, by default of the one that is asked about. Raises SceneFault."""
        if pod is None and self._state.asked is None:
            raise SceneFault("pod: no pod is asked about; choose one")
        key = self._state.asked if pod is None else pod
        found = self._state.cluster.find_pod(key or "")
        if found is None:
            raise SceneFault(f"pod: there is no pod {key} in the cluster")
        return found.key

    def _where_it_waits(self, key: str) -> Cluster:
        """The cluster, with a pod that runs taken off its node."""
        cluster = self._state.cluster
        there = cluster.find_pod(key)
        if there is None or not there.node_name:
            return cluster
        return self._without.value((cluster,), lambda: cluster.unbound(key), key)

    def once(self, make: Callable[[Cluster], T]) -> T:
        """What a function of the cluster answers, kept until the cluster changes."""
        cluster = self._state.cluster
        return self._views.value((cluster, make), lambda: make(cluster))
