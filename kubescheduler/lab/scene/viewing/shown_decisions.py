"""Decisions to be shown, also where code of a user's own ends the attempt."""

from __future__ import annotations

from algorithmprovider.custom_code import CustomCodeError
from kubescheduler.core.decision import FRAMEWORK_SCALE, LEGACY_SCALE, Decision
from kubescheduler.lab.scene.scene import Scene


def shown_decision(scene: Scene, side: str, pod: str | None = None, *, thorough: bool = False) -> Decision:
    """``Scene.decision``; a rule of a user's own that raises, or answers what it must not, is the decision's error.

    Raises SceneFault.
    """
    try:
        return scene.decision(side, pod, thorough=thorough)
    except CustomCodeError as error:
        return _given_up(scene, side, scene.pod_key(pod), error)


def _given_up(scene: Scene, side: str, key: str, error: CustomCodeError) -> Decision:
    scheduler, pod = scene.decider(side, key), scene.cluster(side).find_pod(key)
    assert pod is not None
    names, listed = scheduler.cache.columns.published
    framework = scene.side(side).spec.record.framework is not None
    return Decision(
        pod,
        scene.side(side).release,
        names,
        listed,
        scheduler.cache.columns.node_count,
        coded=framework,
        scale=FRAMEWORK_SCALE if framework else LEGACY_SCALE,
        error=str(error),
        error_at=error.at or "filter",
    )
