"""The answers that a replay holds: what every screen asks at first, and what the page has asked besides."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from clusterstate.errors import InputError
from kubescheduler.lab.scene.replaying.page_bundle import replay_document
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_faults import SceneFault

Verb = Callable[[Scene, Mapping[str, Any]], Mapping[str, Any]]
Question = tuple[str, Mapping[str, Any]]
"""A verb and its parameters."""

CHANGING = frozenset({"edit", "undo", "redo", "export", "share", "exerciseHint", "exerciseFile", "exerciseCheck"})
"""Verbs that a replay has no answer to."""
FIRST_ROWS, EXPLAINED, MOST_ATTEMPTS = 60, 60, 40
"""Rows of a moment that are kept, nodes whose evidence is, attempts of a simulation that are."""

NODES_OF_MOMENTS = 8000
"""Nodes of all moments of a simulation that are kept, at least one moment: a large cluster has fewer."""

MOST_JUDGED = 100_000
"""Nodes times pods that wait, up to which simulations and comparisons of all of them are kept without being asked for:
what takes some seconds to work out."""

MOST_NODES = 20_000
"""Nodes of a cluster of which a replay is written."""

WHOLE = 500
"""Nodes of the cluster and of a decision that are kept; the page takes its rows from there."""


def canonical_question(verb: str, asked: Mapping[str, Any]) -> str:
    """A question as the page writes it: the verb, and the parameters as JSON with their keys in order."""
    return f"{verb} {json.dumps(asked, sort_keys=True, separators=(',', ':'), ensure_ascii=False)}"


def replayed_text(scene: Scene, verbs: Mapping[str, Verb], asked: Iterable[Question] = ()) -> str:
    """The scene as one HTML file.

    verbs: all that the page can ask. asked: what it has asked in this version of the scene. A question that the scene
    refuses is kept with what it says of it. Of a large scene less is kept that was not asked: see MOST_JUDGED.

    Raises SceneFault for a cluster of more than MOST_NODES nodes.
    """
    nodes = len(scene.state.cluster.nodes)
    if nodes > MOST_NODES:
        raise SceneFault(
            f"replay: a replay has clusters of at most {MOST_NODES:,} nodes, and this one has {nodes:,}; "
            "save the scene as a .lab.json file, which the lab opens"
        )
    answers: dict[str, Any] = {}
    state = verbs["state"](scene, {})
    answers[canonical_question("open", {"from": "start"})] = {
        "tab": "replay",
        "version": scene.version,
        "state": {**state, "canUndo": False, "canRedo": False},
    }
    for verb, params in (*first_questions(scene, verbs), *asked):
        key = canonical_question(verb, params)
        if verb in verbs and verb not in CHANGING and key not in answers:
            answers[key] = _answer(scene, verbs[verb], params)
    answers.update(whole_answers(scene, verbs))
    return replay_document(answers)


def whole_answers(scene: Scene, verbs: Mapping[str, Verb]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Of the cluster and of decisions, all nodes by side: the question without rows, then ``whole``; the answer."""
    for side in (each.id for each in scene.state.sides):
        asked: list[Question] = [("cluster", {"side": side})]
        if scene.state.asked is not None:
            asked += [("decision", {"side": side, "all": every}) for every in (False, True)]
        for verb, params in asked:
            found = _answer(scene, verbs[verb], {**params, "from": 0, "to": WHOLE})
            if "fault" not in found:
                yield f"{canonical_question(verb, params)} whole", found


def _answer(scene: Scene, verb: Verb, params: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return {**verb(scene, params), "version": scene.version}
    except InputError as error:
        return {"fault": list(error.problems)}


def first_questions(scene: Scene, verbs: Mapping[str, Verb]) -> Iterator[Question]:
    """What the screens ask when they are first shown, for each side."""
    yield "state", {}
    for side in scene.state.sides:
        yield from _of_side(scene, verbs, side.id)
    if len(scene.state.sides) > 1:
        for mode in ("independent", "sequence") if _judged(scene) <= MOST_JUDGED else ():
            yield "sides", {"mode": mode, "pods": "pending"}
        for mode in ("independent", "sequence"):
            yield "sides", {"mode": mode, "pods": "asked"}
    yield "code", {}
    yield "exercise", {}


def _of_side(scene: Scene, verbs: Mapping[str, Verb], side: str) -> Iterator[Question]:
    yield "pending", {"side": side}
    yield "tune", {"side": side}
    small = _judged(scene) <= MOST_JUDGED
    if small:
        yield "time", {"side": side}
    if scene.state.asked is None:
        return
    yield "thresholds", {"side": side}
    for pairs in (True, False):
        yield "hints", {"side": side, "top": 10, "pairs": pairs}
    decision = _answer(scene, verbs["decision"], {"side": side, "to": EXPLAINED})
    for row in decision.get("nodes", ()):
        yield "why", {"side": side, "node": row["name"]}
        yield "whatif", {"side": side, "node": row["name"], "pod": scene.state.asked}
    run = _answer(scene, verbs["time"], {"side": side}) if small and "time" in verbs else {}
    most = max(1, min(MOST_ATTEMPTS, NODES_OF_MOMENTS // max(1, decision.get("total", 0))))
    for attempt in run.get("attempts", ())[:most]:
        at = {"order": "rank", "find": "", "all": False, "from": 0, "to": FIRST_ROWS}
        yield "timeAt", {"side": side, "attempt": attempt["id"], "verb": "decision", "params": at}


def _judged(scene: Scene) -> int:
    """How many nodes are looked at when each pod that waits is decided."""
    return len(scene.state.cluster.nodes) * len(scene.state.cluster.pending())
