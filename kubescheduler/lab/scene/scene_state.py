"""SceneState: everything about a scene that an edit can change."""

from __future__ import annotations

import msgspec

from kubescheduler.api.cluster import Cluster
from kubescheduler.lab.scene.scene_faults import SceneFault
from kubescheduler.lab.scene.scene_side import Side


class SceneState(msgspec.Struct, frozen=True, eq=False, weakref=True):
    """One moment of a scene. It never changes: an edit makes another."""

    cluster: Cluster
    """The cluster, of the release of the first side; the others read its manifests as their releases do."""
    asked: str | None
    """The pod that is asked about, ``namespace/name``; None: nobody is."""
    sides: tuple[Side, ...]
    """One to four schedulers."""
    title: str = ""
    """What the scene is called."""
    notes: tuple[str, ...] = ()
    """What a reader has to know of it."""

    def side(self, letter: str) -> Side:
        """The side of that id. Raises SceneFault."""
        for side in self.sides:
            if side.id == letter:
                return side
        raise SceneFault(f"side: there is no side {letter!r}; there are {', '.join(side.id for side in self.sides)}")

    def with_side(self, side: Side) -> SceneState:
        """With a side in place of the one of its id, or as another one."""
        if all(each.id != side.id for each in self.sides):
            return msgspec.structs.replace(self, sides=(*self.sides, side))
        return msgspec.structs.replace(self, sides=tuple(side if each.id == side.id else each for each in self.sides))
