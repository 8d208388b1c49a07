"""Releases by whatever name they go, and what lies between one that is not here and its neighbours.

A version (``v1.36``, ``1.36.2``, ``v1.20.15-gke.1``) is its minor release.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from clusterstate.errors import ConfigError
from clusterstate.release_names import RELEASE_NAMES

_VERSION = re.compile(r"v?(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})(?:[-+_.].*)?", re.DOTALL)

STEPS = {
    "1.6": "affinity, tolerations and taints are fields of pods and nodes, no longer annotations",
    "1.8": "pods have priorities and preempt others",
    "1.12": "conditions of nodes become taints",
    "1.15": "SelectorSpreadPriority counts pods that all selectors match",
    "1.16": "limits of CSI volumes come from CSINode",
    "1.17": "scores run from 0 to 100",
    "1.18": "profiles, v1alpha2, topology spread constraints count",
    "1.19": "v1beta1, init containers of running pods count",
    "1.20": "PodTopologySpread stands in place of SelectorSpread",
    "1.21": "InterPodAffinity scores from the lowest sum to the highest",
    "1.22": "v1beta2, no providers, NodeResourcesFit scores, NodePreferAvoidPods does not",
    "1.23": "v1beta3, no policies, TaintToleration 3, NodeAffinity 2, InterPodAffinity 2",
    "1.24": "PodTopologySpread rounds and counts on eligible nodes alone",
    "1.25": "v1",
    "1.26": "scheduling gates, one reason a node",
    "1.27": "ReadWriteOncePod, matchLabelKeys, overhead scores in full",
    "1.28": "v1beta2 is gone, requests of 0 are not compared",
    "1.29": "v1beta3 is gone, sidecars count",
    "1.30": "ImageLocality counts init containers",
    "1.31": "no EBSLimits, GCEPDLimits and AzureDiskLimits",
    "1.32": "CSI limits come from CSINode alone",
    "1.33": "pods that request nothing have no balance score, resized pods count",
    "1.34": "dynamic resource allocation, host ports of sidecars",
    "1.35": "DynamicResources scores, one reason for all taints",
    "1.36": "NodeResourcesBalancedAllocation has another formula",
}
"""Release → what it decides or reads otherwise than the one before it."""

LIKE_THE_NEXT = ("1.6", "1.17", "1.23")
"""Where a release begins to be more like the next one that is here than like the last one: with the fields of pods and
nodes, the scale of scores, and the default weights.
"""


def minor(text: object) -> str | None:
    """The minor release that a version is of (``v1.20.15-gke.1`` → ``1.20``); None for what is no version."""
    found = _VERSION.fullmatch(text.strip()) if isinstance(text, str) else None
    return f"{found[1]}.{found[2]}" if found else None


def release_of(text: object, among: Sequence[str] = RELEASE_NAMES) -> str:
    """The release that is meant. Raises ConfigError, with ``advice``, for one that is not ``among`` those there are."""
    name = minor(text)
    if name is None or name not in among:
        hint = f"; {advice(name, among)}" if name else ""
        raise ConfigError(f"release {text} is not known; known are {', '.join(among)}{hint}")
    return name


def advice(name: str, among: Sequence[str] = RELEASE_NAMES) -> str:
    """Which releases are next to one that is not here, and what lies between."""
    older = max((each for each in among if _number(each) < _number(name)), key=_number, default="")
    newer = min((each for each in among if _number(each) > _number(name)), key=_number, default="")
    if not older or not newer:
        end = f"newer than all of them, nearest to {older}" if older else f"older than all of them, nearest to {newer}"
        steps = _steps(name, older or newer)
        return f"it is {end}" + (f", from which it differs by {steps}" if steps else "")
    like_newer = any(_number(older) < _number(each) <= _number(name) for each in LIKE_THE_NEXT)
    near, far = (newer, older) if like_newer else (older, newer)
    from_near, from_far = (_steps(name, each) or "what is not known here" for each in (near, far))
    return (
        f"it is between {older} and {newer}, more like {near}: from that it differs by {from_near}; "
        f"from {far} by {from_far}"
    )


def _steps(name: str, other: str) -> str:
    return steps_between(*sorted((name, other), key=_number))


def steps_between(low: str, high: str) -> str:
    """What the releases after ``low`` up to ``high`` decide or read otherwise; empty where nothing is known."""
    steps = [f"{each} ({text})" for each, text in STEPS.items() if _number(low) < _number(each) <= _number(high)]
    return ", ".join(steps)


def is_since(name: str, other: str) -> bool:
    """Whether a release is another one or a later one."""
    return _number(name) >= _number(other)


def _number(name: str) -> tuple[int, ...]:
    return tuple(map(int, name.split(".")))
