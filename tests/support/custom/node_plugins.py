"""Asks plugins that work over columns what they say of small clusters."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from clusterstate.objects import Pod
from clusterstate.snapshot import Snapshot
from kubescheduler.framework.contract.plugin import ColumnPlugin
from predicates.types import FitPredicate, Verdict
from priorities.types import PriorityConfig
from tests.support.build import Cluster, names_where

HANDLE: Any = SimpleNamespace(feature_gates={}, client=None)
"""A handle of a scheduler without gates set and without an API."""


def check_of(plugin: ColumnPlugin) -> FitPredicate:
    assert plugin.check is not None
    return plugin.check


def scoring_of(plugin: ColumnPlugin) -> PriorityConfig:
    assert plugin.scoring is not None
    return plugin.scoring


def verdict(plugin: ColumnPlugin, cluster: Cluster, pod: Pod, snapshot: Snapshot | None = None) -> Verdict:
    """What Filter says; nothing where the plugin does not apply."""
    info, rule = cluster.info(pod), check_of(plugin)
    info.node_name = pod.node_name
    return rule.check(info, cluster.snapshot if snapshot is None else snapshot) if rule.applies(info) else {}


def refused(plugin: ColumnPlugin, cluster: Cluster, pod: Pod, snapshot: Snapshot | None = None) -> dict[str, list[str]]:
    """Reason → the nodes that fail for it; reasons that fail nowhere left out."""
    asked = cluster.snapshot if snapshot is None else snapshot
    found = {reason: names_where(asked, mask) for reason, mask in verdict(plugin, cluster, pod, asked).items()}
    return {reason: names for reason, names in found.items() if names}


def scores(plugin: ColumnPlugin, cluster: Cluster, pod: Pod, rows: Any = None) -> tuple[list[int], list[int]]:
    """(raw, normalised) over some rows, by default all, as if just those were feasible."""
    info, config, snapshot = cluster.info(pod), scoring_of(plugin), cluster.snapshot
    feasible = snapshot if rows is None else snapshot.take(np.array(rows, np.int64))
    raw = config.map(info, feasible)
    final = raw if config.reduce is None else config.reduce(info, feasible, raw)
    assert raw.dtype == final.dtype == np.int64
    assert raw.shape == final.shape == (len(feasible),)
    constant = config.constant(info)
    if constant is not None:
        assert {*raw.tolist(), *final.tolist()} <= {constant}
    return raw.tolist(), final.tolist()
