"""A scene as a test for pytest: what each side decides today is what it has to decide."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pprint import pformat
from typing import Any

from kubescheduler.engine.spec import EngineSpec
from kubescheduler.engine.spec_fields import BESIDES
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_faults import SceneFault
from kubescheduler.lab.scene.scene_side import Side

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
        name=f"{side.id}_{_plain(key)}",
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


def _plain(text: str) -> str:
    """A text as part of a function's name."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or "pod"
