"""Every question and edit that a page sends: name → function of the scene and its parameters; and a scene in a
notebook, which the lab's own page shows without a server.

What answers says so in maps at the end of its module: ``VIEWS`` only look, also at a moment of a run, ``VERBS`` are the
other questions, and ``EDITS`` what the verb ``edit`` can do. Here they come together, with what concerns all of them.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from clusterstate.errors import nearest
from kubescheduler.api.cluster import Cluster
from kubescheduler.api.engine_choice import described
from kubescheduler.lab.scene import (
    cluster_edits,
    decision_view,
    exercise_verbs,
    scene_view,
    share_verbs,
    side_verbs,
    time_verbs,
    tune_verbs,
    why_view,
)
from kubescheduler.lab.scene.exercise_verbs import refuse_in_exercise, written_back
from kubescheduler.lab.scene.scene import Edit, Scene, Verb, verb
from kubescheduler.lab.scene.scene_state import SceneFault, SceneState
from kubescheduler.lab.scene.scene_view import state
from kubescheduler.lab.scene.share_verbs import AskedBefore, ExportFormat, exported

VIEWS: Mapping[str, Verb] = {**scene_view.VIEWS, **decision_view.VIEWS, **why_view.VIEWS}
SIDELESS = ("state", "pod", "node")
"""Of these, what is said whatever decides."""

EDITS: Mapping[str, Edit] = {
    **cluster_edits.EDITS,
    **side_verbs.EDITS,
    **tune_verbs.EDITS,
    **time_verbs.EDITS,
}
"""Everything that the verb ``edit`` can do."""


def edit(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The verb ``edit``: makes the edit that ``edit.do`` names, in an exercise one that it allows.

    ``join``: a text; edits in a row with the same one, as those of a slider that is dragged, are undone at once.
    Raises InputError; nothing has changed then.
    """
    wanted, join = asked.get("edit"), asked.get("join", "")
    refuse_in_exercise(scene, str(wanted.get("do")) if isinstance(wanted, Mapping) else "")
    if not isinstance(wanted, Mapping) or not isinstance(join, str) or not asked.keys() <= {"edit", "join"}:
        raise SceneFault('edit: expected {"edit": {"do": …}}')
    name = wanted.get("do")
    if not isinstance(name, str) or name not in EDITS:
        raise SceneFault(f"edit.do: there is no edit {name!r}{nearest(str(name), EDITS)}")
    text, changed = EDITS[name](scene, {key: value for key, value in wanted.items() if key != "do"})
    scene.change(text, settled(changed), join)
    return _changed(scene, text)


def settled(state: SceneState) -> SceneState:
    """With another pod asked about where the one that was is gone: the first that waits, or none."""
    if state.asked is None or state.cluster.find_pod(state.asked) is not None:
        return state
    waiting = state.cluster.pending()
    return msgspec.structs.replace(state, asked=waiting[0].key if waiting else None)


@verb
def undo(scene: Scene) -> dict[str, Any]:
    """Takes the last edit back."""
    return _changed(scene, f"Undone: {scene.undo()}")


@verb
def redo(scene: Scene) -> dict[str, Any]:
    """Makes the edit again that was taken back last."""
    return _changed(scene, f"Done again: {scene.redo()}")


def _changed(scene: Scene, text: str) -> dict[str, Any]:
    """What was done and the scene after it; the files of an exercise follow."""
    answer = {"text": text, "state": state(scene, {})}
    written_back(scene)
    return answer


def at_moment(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The verb ``timeAt``: what Why and Cluster would show before an attempt of a run.

    verb: ``decision`` by default, or another one that only looks; params: its parameters.
    """
    name, given = asked.get("verb", "decision"), asked.get("params") or {}
    if not isinstance(name, str) or name not in VIEWS or not isinstance(given, Mapping):
        raise SceneFault(f"verb: expected one of {', '.join(VIEWS)} with its params, found {name!r}")
    rest = {key: value for key, value in asked.items() if key not in ("verb", "params")}
    moment, attempt, notes = time_verbs.time_at(scene, rest)
    side = {} if name in SIDELESS else {"side": moment.state.sides[0].id}
    return {"t": attempt.time, "pod": attempt.pod, "notes": notes, name: VIEWS[name](moment, {**given, **side})}


@verb
def export(scene: Scene, as_: ExportFormat, side: str = "a", asks: tuple[AskedBefore, ...] = ()) -> dict[str, Any]:
    """A file; a replay holds the answers of every verb."""
    return exported(scene, as_, side, asks, VERBS)


VERBS: Mapping[str, Verb] = {
    **VIEWS,
    "edit": edit,
    "undo": undo,
    "redo": redo,
    **tune_verbs.VERBS,
    **side_verbs.VERBS,
    **time_verbs.VERBS,
    "timeAt": at_moment,
    **scene_view.VERBS,
    **exercise_verbs.VERBS,
    "share": share_verbs.share,
    "export": export,
}


HEIGHT = 640
"""Of the frame in a notebook, in pixels."""

FRAME = (
    '<iframe sandbox="allow-scripts" title="{title}" srcdoc="{page}" width="100%" height="{height}" style="border:0">'
)


class NotebookScene(Scene):
    """A scene that a notebook shows as the lab's page does: cluster, evidence, and sides beside one another.

    What is shown is a replay: it holds answers, and changes nothing.
    """

    def replay(self) -> str:
        """The page with its answers, one HTML file."""
        text: str = VERBS["export"](self, {"as": "replay"})["text"]
        return text

    def save(self, path: str | Path) -> None:
        """Writes the replay into a file that opens without a server."""
        Path(path).write_text(self.replay(), encoding="utf-8")

    def _repr_html_(self) -> str:
        """A frame that can neither reach the notebook nor the network."""
        title = html.escape(self.state.title or "kubescheduler lab")
        return f"{FRAME.format(title=title, page=html.escape(self.replay()), height=HEIGHT)}</iframe>"


def scene(cluster: Cluster, *, pod: Any = None, sides: Iterable[Any] = ({},), title: str = "") -> NotebookScene:
    """A scene of a cluster for a notebook: show it as the last value of a cell, or ``save`` it as one HTML file.

    pod: the pod that is asked about, as for ``Scheduler.decide``, by default the first that waits. sides: up to four
    schedulers, each text such as ``"release=1.36,config=sched.yaml"`` or a dict of a Scheduler's arguments and
    ``release``; what names no release is of the cluster's. Raises InputError with every fault.

    >>> from kubescheduler import Cluster, pod, scene
    >>> found = scene(Cluster(release="1.36").node("a", cpu=4), pod=pod("web", cpu=1))
    >>> found.decision("a").host
    'a'
    """
    specs = [described(side, cluster.release) for side in sides]
    named = isinstance(pod, str) and "\n" not in pod and cluster.find_pod(pod) is not None
    pods = [] if pod is None or named else [pod]
    found = NotebookScene.opened(cluster, pods=pods, sides=specs, title=title)
    if pod is not None and not pods:
        VERBS["edit"](found, {"edit": {"do": "ask", "pod": pod}})
    return found
