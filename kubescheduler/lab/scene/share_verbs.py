"""The verbs ``share`` and ``export``: a scene as a link, a test for pytest, manifests, a replay."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pprint import pformat
from typing import Any, Literal

import msgspec

from kubescheduler.api.engine_choice import tie_break_of
from kubescheduler.engine.engine_contract import cache_for
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.engine.spec_fields import BESIDES
from kubescheduler.lab.scene.lab_document import LONGEST, lab_document, share_text
from kubescheduler.lab.scene.replayed_scene import replayed_text
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_state import SceneFault, Side
from kubescheduler.lab.scene.verb_contract import Parameters, Verb, verb
from kubescheduler.report.simulator_export import Results, export_text
from kubescheduler.sources.sanitize import json_text, yaml_dumper

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
    name = _file_name(scene.state.title)
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


def _file_name(title: str) -> str:
    """A title as the name of a file."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60] or "scene"


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
