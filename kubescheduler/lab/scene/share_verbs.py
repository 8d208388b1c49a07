"""The verbs ``share`` and ``export``: a scene as a link, a test for pytest, manifests, a replay.

A replay, which comes first, is one HTML file: the lab's page with the answers to what it may ask, without a server.
"""

from __future__ import annotations

import base64
import html
import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from pprint import pformat
from typing import Any, Literal

import msgspec

from clusterstate.errors import InputError
from kubescheduler.api.engine_choice import tie_break_of
from kubescheduler.engine.spec import EngineSpec, cache_for
from kubescheduler.engine.spec_fields import BESIDES
from kubescheduler.lab import PAGE
from kubescheduler.lab.scene.lab_document import LONGEST, lab_document, share_text
from kubescheduler.lab.scene.scene import Parameters, Scene, Verb, verb
from kubescheduler.lab.scene.scene_state import SceneFault, Side
from kubescheduler.report.simulator_export import Results, export_text
from kubescheduler.report.single_file import script_digest
from kubescheduler.sources.untrusted import json_text
from kubescheduler.sources.yaml_stream import yaml_dumper

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

    def walk(folder: Path, prefix: str) -> None:
        for each in sorted(folder.iterdir(), key=lambda each: each.name):
            path = f"{prefix}{each.name}"
            if each.is_dir():
                walk(each, f"{path}/")
            elif path.endswith((".js", ".css", ".svg", ".html")) and path not in LEFT_OUT:
                found[path] = each.read_text(encoding="utf-8")

    walk(PAGE, "")
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
    hashes = " ".join(map(script_digest, scripts))
    policy = f"default-src 'none'; script-src {hashes} data:; style-src 'unsafe-inline'; img-src data:"
    return f'<meta http-equiv="Content-Security-Policy" content="{policy}">'


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
    for name, params in (*first_questions(scene, verbs), *asked):
        key = canonical_question(name, params)
        if name in verbs and name not in CHANGING and key not in answers:
            answers[key] = _answer(scene, verbs[name], params)
    answers.update(whole_answers(scene, verbs))
    return replay_document(answers)


def whole_answers(scene: Scene, verbs: Mapping[str, Verb]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Of the cluster and of decisions, all nodes by side: the question without rows, then ``whole``; the answer."""
    for side in (each.id for each in scene.state.sides):
        asked: list[Question] = [("cluster", {"side": side})]
        if scene.state.asked is not None:
            asked += [("decision", {"side": side, "all": every}) for every in (False, True)]
        for name, params in asked:
            found = _answer(scene, verbs[name], {**params, "from": 0, "to": WHOLE})
            if "fault" not in found:
                yield f"{canonical_question(name, params)} whole", found


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


MOST_ASKS = 400
"""Questions of the page that a replay answers, the latest."""

MOST_RESULTS = 500_000
"""Nodes times pods that wait in an export for kube-scheduler-simulator: about 150 bytes and 10 µs each."""


ExportFormat = Literal["lab", "pytest", "simulator", "replay", "manifests"]


class AskedBefore(Parameters, frozen=True):
    """A question that the page has asked."""

    verb: str
    params: dict[str, Any] = msgspec.field(default_factory=dict)


@verb
def share(scene: Scene) -> dict[str, Any]:
    """The text of a link; none where it would be too long."""
    text = share_text(scene.state)
    too_long = len(text) > LONGEST
    return {"text": "" if too_long else text, "length": len(text), "most": LONGEST, "tooLong": too_long}


def exported(
    scene: Scene, as_: ExportFormat, side: str, asks: Sequence[AskedBefore], verbs: Mapping[str, Verb]
) -> dict[str, Any]:
    """A file. asks: what a replay holds answers to besides what the page asks first. verbs: all, which answer that."""
    name = re.sub(r"[^a-z0-9]+", "-", scene.state.title.lower()).strip("-")[:60] or "scene"
    match as_:
        case "lab":
            return _file(f"{name}.lab.json", "application/json", json_text(lab_document(scene.state), 1) + "\n")
        case "pytest":
            return _file(f"test_{name.replace('-', '_')}.py", "text/x-python", pytest_text(scene))
        case "manifests":
            return _file(f"{name}.yaml", "application/yaml", manifests_text(scene))
        case "simulator":
            return _file(f"{name}-simulator.json", "application/json", simulator_text(scene, side))
        case "replay":
            questions = [(ask.verb, ask.params) for ask in asks[-MOST_ASKS:]]
            return _file(f"{name}.html", "text/html", replayed_text(scene, verbs, questions))


def manifests_text(scene: Scene) -> str:
    """Every object as YAML, in order."""
    dump = yaml_dumper()
    return "---\n".join(map(dump, scene.state.cluster.manifests()))


def simulator_text(scene: Scene, side: str) -> str:
    """What kube-scheduler-simulator imports, with the results of every plugin for the pods that wait.

    Raises SceneFault where these are for more than MOST_RESULTS nodes in all.
    """
    engine, cluster = scene.engine(side), scene.cluster(side)
    nodes, waiting = len(cluster.nodes), len(cluster.pending())
    if nodes * waiting > MOST_RESULTS:
        raise SceneFault(
            f"export: the results of {waiting:,} pods that wait on {nodes:,} nodes are too many for one file "
            f"({MOST_RESULTS:,} of a pod on a node at most); take pods away, or write them with "
            "kubescheduler schedule -o simulator"
        )
    described = scene.side(side)
    scheduler = engine.scheduler(
        cache_for(engine, cluster.objects), tie_break_of(engine, described.tie_break, described.seed)
    )
    results = Results(scheduler)
    for pod in cluster.pending():
        results.note(scheduler.decide(pod, preempt=True))
    return "".join(export_text(cluster.objects, results, engine.document))


def _file(name: str, media_type: str, text: str) -> dict[str, Any]:
    return {"name": name, "mediaType": media_type, "text": text}


# --- a test for pytest: what each side decides today is what it has to decide ----------------------------

MOST_REASONS = 200
"""Refusing nodes whose reasons are expected too."""

HEAD = '''\
"""Where a pod goes in a scene of the lab; run it with pytest."""

import kubescheduler as ks

MANIFESTS = {manifests}
'''

TEST = '''

def test_{name}():
    """{title}"""
    cluster = ks.Cluster(*MANIFESTS, release={cluster!r}){read}
    scheduler = ks.Scheduler(
        cluster,
{arguments}    )
    decision = scheduler.decide({pod!r}, preempt=True)
    assert decision.host == {host!r}
{more}'''


def pytest_text(scene: Scene) -> str:
    """The file. Raises SceneFault for a scene that asks about no pod, and as decisions do."""
    key = scene.pod_key()
    cluster = scene.state.cluster
    there = cluster.find_pod(key)
    waiting = cluster.unbound(key) if there is not None and there.node_name else cluster
    tests = [_test(scene, side, key) for side in scene.state.sides if not side.spec.plugins]
    if not tests:
        raise SceneFault("export: every side has plugins of its own, which a test does not carry")
    manifests = pformat(waiting.manifests(), width=110, sort_dicts=False)
    return HEAD.format(manifests=manifests) + "".join(tests)


def _test(scene: Scene, side: Side, key: str) -> str:
    decision = scene.decision(side.id)
    release = scene.state.cluster.release
    gates = _gates(side.spec)
    read = "" if side.release == release else f".for_release({side.release!r}{f', {gates!r}' if gates else ''})"
    more = [] if decision.host is not None else [f"    assert decision.message == {decision.message!r}\n"]
    reasons = {node: list(texts) for node, texts in decision.reasons().items()}
    if 0 < len(reasons) <= MOST_REASONS:
        more.append(f"    assert decision.reasons() == {pformat(reasons, width=90, indent=4)}\n")
    return TEST.format(
        name=f"{side.id}_{_function_name(key)}",
        title=f"By release {side.release}.",
        cluster=release,
        read=read,
        arguments="".join(f"        {name}={value!r},\n" for name, value in _arguments(side)),
        pod=key,
        host=decision.host,
        more="".join(more),
    )


def _arguments(side: Side) -> Iterator[tuple[str, Any]]:
    """Those of the Scheduler's that are not at their defaults. Extenders are not asked by a test unless they were."""
    spec = side.spec
    if side.kind == "provider" and spec.provider:
        yield "provider", spec.provider
    elif side.kind != "provider":
        yield side.kind, side.text if "\n" in side.text else f"{side.text}\n"
    if gates := _gates(spec):
        yield "gates", gates
    for name, field in BESIDES.items():
        if field != "feature_gates" and (said := spec.said(field)) is not None:
            yield name, said
    yield "tie_break", side.tie_break
    if side.seed is not None:
        yield "seed", side.seed


def _gates(spec: EngineSpec) -> dict[str, bool]:
    """The feature gates that are not at their defaults."""
    defaults = spec.record.gates.resolve({})
    return {name: on for name, on in spec.gates.items() if on != defaults[name]}


def _function_name(text: str) -> str:
    """A text as part of a function's name."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or "pod"
