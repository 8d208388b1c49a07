"""The verbs ``share`` and ``export``: a scene as a link's text, and as files of several kinds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from kubescheduler.api.engine_choice import tie_break_of
from kubescheduler.engine.engine_contract import cache_for
from kubescheduler.lab.scene.replaying.replayed_scene import Question, Verb, replayed_text
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_faults import SceneFault
from kubescheduler.lab.scene.sharing.lab_document import lab_document
from kubescheduler.lab.scene.sharing.pytest_export import pytest_text
from kubescheduler.lab.scene.sharing.share_text import LONGEST, share_text
from kubescheduler.lab.scene.verb_parameters import NoParameters, Parameters, SideParameters, parameters
from kubescheduler.report.simulator_export import Results, configuration_of, export_text
from kubescheduler.sources.foreign_text import json_text, yaml_dumper

MOST_ASKS = 400
"""Questions of the page that a replay answers, the latest."""

MOST_RESULTS = 500_000
"""Nodes times pods that wait in an export for kube-scheduler-simulator: about 150 bytes and 10 µs each."""


class AskedBefore(Parameters, frozen=True):
    """A question that the page has asked."""

    verb: str
    params: dict[str, Any] = msgspec.field(default_factory=dict)


class ExportParameters(SideParameters, frozen=True, kw_only=True):
    """Of ``export``."""

    as_: Literal["lab", "pytest", "simulator", "replay", "manifests"] = msgspec.field(name="as")
    asks: tuple[AskedBefore, ...] = ()
    """What a replay holds answers to besides those that the page asks first."""


def share(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The text of a link; none where it would be too long."""
    parameters(NoParameters, asked)
    text = share_text(scene.state)
    too_long = len(text) > LONGEST
    return {"text": "" if too_long else text, "length": len(text), "most": LONGEST, "tooLong": too_long}


def exporting(verbs: Callable[[], Mapping[str, Verb]]) -> Callable[[Scene, Mapping[str, Any]], dict[str, Any]]:
    """The verb ``export``. verbs: all verbs, whose answers a replay holds."""

    def export(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
        want = parameters(ExportParameters, asked)
        name = _plain(scene.state.title)
        match want.as_:
            case "lab":
                return _file(f"{name}.lab.json", "application/json", json_text(lab_document(scene.state), 1) + "\n")
            case "pytest":
                return _file(f"test_{name.replace('-', '_')}.py", "text/x-python", pytest_text(scene))
            case "manifests":
                return _file(f"{name}.yaml", "application/yaml", manifests_text(scene))
            case "simulator":
                return _file(f"{name}-simulator.json", "application/json", simulator_text(scene, want.side))
            case "replay":
                return _file(f"{name}.html", "text/html", replayed_text(scene, verbs(), _questions(want.asks)))

    return export


def _questions(asks: Sequence[AskedBefore]) -> Iterator[Question]:
    return ((ask.verb, ask.params) for ask in asks[-MOST_ASKS:])


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
    return "".join(export_text(cluster.objects, results, configuration_of(engine)))


def _file(name: str, media_type: str, text: str) -> dict[str, Any]:
    return {"name": name, "mediaType": media_type, "text": text}


def _plain(title: str) -> str:
    """A title as the name of a file."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60] or "scene"
