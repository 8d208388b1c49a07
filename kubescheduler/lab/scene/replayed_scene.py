"""A scene as one HTML file: the lab's page with the answers to what it may ask, without a server."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from clusterstate.errors import InputError
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_state import SceneFault
from kubescheduler.lab.scene.verb_contract import Verb

PREFIX = "lab/"
"""What modules call each other by in the document."""
LEFT_OUT = frozenset({"vendor/codemirror.js"})
"""Modules that a replay can do without: nothing is edited in one, so texts are shown as plain fields."""

_IMPORTED = re.compile(r"""(\bfrom\s*|\bimport\s*\(?\s*)"(\.{1,2}/[^"]+\.js)\"""")
_SHEET = re.compile(r'<link rel="stylesheet" href="([^"]+)">\n?')
_ICON = re.compile(r'<link rel="icon" href="([^"]+)">')
_ENTRY = re.compile(r'<script type="module" src="([^"]+)"></script>')


def page_files() -> dict[str, str]:
    """Path in the page → text, of the modules, stylesheets, pictures and the document itself."""
    found: dict[str, str] = {}

    def walk(folder: Traversable, prefix: str) -> None:
        for each in sorted(folder.iterdir(), key=lambda each: each.name):
            path = f"{prefix}{each.name}"
            if each.is_dir():
                walk(each, f"{path}/")
            elif path.endswith((".js", ".css", ".svg", ".html")) and path not in LEFT_OUT:
                found[path] = each.read_text(encoding="utf-8")

    walk(resources.files("kubescheduler.lab.page"), "")
    return found


def bare_imports(path: str, text: str) -> str:
    """A module with the relative names of the modules that it imports made absolute ones, as ``lab/store.js``."""
    folder = posixpath.dirname(path)

    def bare(match: re.Match[str]) -> str:
        return f'{match[1]}"{PREFIX}{posixpath.normpath(posixpath.join(folder, match[2]))}"'

    return _IMPORTED.sub(bare, text)


def data_address(media_type: str, text: str) -> str:
    """A ``data:`` address that holds a text."""
    return f"data:{media_type};base64,{base64.b64encode(text.encode()).decode()}"


@cache
def page_parts() -> tuple[str, str]:
    """The document up to the answers, and the rest of it."""
    files = page_files()
    index = files["index.html"]
    modules = {
        f"{PREFIX}{path}": data_address("text/javascript", bare_imports(path, text))
        for path, text in files.items()
        if path.endswith(".js")
    }
    entry = _ENTRY.search(index)
    assert entry is not None
    import_map = json.dumps({"imports": modules}, separators=(",", ":"))
    start = f'import "{PREFIX}{entry[1]}";'
    icon = _ICON.search(index)
    head = "\n".join(
        [
            _policy(import_map, start),
            *([f'<link rel="icon" href="{data_address("image/svg+xml", files[icon[1]])}">'] if icon else []),
            *(
                f'<style data-sheet="{html.escape(path)}">\n{text}</style>'
                for path, text in _sheets(files, index)
                if "</style" not in text.lower()
            ),
            f'<script type="importmap">{import_map}</script>',
        ]
    )
    document = _SHEET.sub("", _ICON.sub("", _ENTRY.sub("", index)))
    before, after = document.replace("</head>", f"{head}\n</head>").split("</body>")
    return before, f'<script type="module">{start}</script>\n</body>{after}'


def _sheets(files: dict[str, str], index: str) -> list[tuple[str, str]]:
    """The stylesheets: those of the document in its order, then those of screens."""
    first = _SHEET.findall(index)
    rest = [path for path in files if path.endswith(".css") and path not in first]
    return [(path, files[path]) for path in (*first, *rest)]


def _policy(*scripts: str) -> str:
    """A policy that lets these scripts, modules in the document and its own styles pass, and no request at all."""
    hashes = " ".join(f"'sha256-{_digest(text)}'" for text in scripts)
    policy = f"default-src 'none'; script-src {hashes} data:; style-src 'unsafe-inline'; img-src data:"
    return f'<meta http-equiv="Content-Security-Policy" content="{policy}">'


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def replay_document(answers: dict[str, Any]) -> str:
    """The page with its answers. answers: a question as the page writes it → what the scene says."""
    before, after = page_parts()
    kept = json.dumps(answers, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'{before}<script type="application/json" id="replay">{kept}</script>\n{after}'


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
