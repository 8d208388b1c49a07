"""The names of the releases there are, and what lies between those that are not and their neighbours.

A version (``v1.36``, ``1.36.2``, ``v1.20.15-gke.1``) is its minor release.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from pkgutil import iter_modules

from clusterstate.errors import ConfigError
from clusterstate.versions import is_since, minor, number

_FILE = re.compile(r"v(\d+)_(\d+)")
_FILES = (_FILE.fullmatch(module.name) for module in iter_modules([str(Path(__file__).parent)]))
RELEASE_NAMES = tuple(sorted((f"{file[1]}.{file[2]}" for file in _FILES if file), key=number))
"""Of every release that has a file here, in the order they came out. Listing them reads none of the files."""

FIRST_PROFILES, LAST_POLICIES = "1.18", "1.22"
"""Kubernetes 1.18 was the first that decided by plugins in profiles, 1.22 the last that read policies."""

POLICY_RELEASES = tuple(name for name in RELEASE_NAMES if is_since(LAST_POLICIES, name))
"""Those that read policies, or know names of algorithm providers."""

FRAMEWORK_RELEASES = tuple(name for name in RELEASE_NAMES if is_since(name, FIRST_PROFILES))
"""Those that decide by plugins in profiles."""

LEGACY_RELEASES = tuple(name for name in RELEASE_NAMES if name not in FRAMEWORK_RELEASES)
"""Those that decide by predicates and priorities only."""

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


def release_of(text: object, among: Sequence[str] = RELEASE_NAMES) -> str:
    """The release that is meant. Raises ConfigError, with ``advice``, for one that is not ``among`` those there are."""
    name = minor(text)
    if name is None or name not in among:
        hint = f"; {advice(name, among)}" if name else ""
        raise ConfigError(f"release {text} is not known; known are {', '.join(among)}{hint}")
    return name


def advice(name: str, among: Sequence[str] = RELEASE_NAMES) -> str:
    """Which releases are next to one that is not here, and what lies between."""
    older = max((each for each in among if number(each) < number(name)), key=number, default="")
    newer = min((each for each in among if number(each) > number(name)), key=number, default="")
    if not older or not newer:
        end = f"newer than all of them, nearest to {older}" if older else f"older than all of them, nearest to {newer}"
        steps = _steps(name, older or newer)
        return f"it is {end}" + (f", from which it differs by {steps}" if steps else "")
    like_newer = any(number(older) < number(each) <= number(name) for each in LIKE_THE_NEXT)
    near, far = (newer, older) if like_newer else (older, newer)
    from_near, from_far = (_steps(name, each) or "what is not known here" for each in (near, far))
    return (
        f"it is between {older} and {newer}, more like {near}: from that it differs by {from_near}; "
        f"from {far} by {from_far}"
    )


def _steps(name: str, other: str) -> str:
    return steps_between(*sorted((name, other), key=number))


def steps_between(low: str, high: str) -> str:
    """What the releases after ``low`` up to ``high`` decide or read otherwise; empty where nothing is known."""
    steps = [f"{each} ({text})" for each, text in STEPS.items() if number(low) < number(each) <= number(high)]
    return ", ".join(steps)
