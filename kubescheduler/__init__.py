"""Decides where a Kubernetes pod goes exactly as kube-scheduler of a release from 1.4 to 1.36 does, and says why.

A cluster belongs to a release; it is read, or written in a few words, and never changes:

>>> import kubescheduler as ks
>>> cluster = ks.Cluster(release="1.36").node("a", cpu=4, memory="8Gi").node("b", cpu=2)
>>> cluster = cluster.pod("db", node="a", cpu="3500m")

A scheduler decides in it by a provider, a policy or a configuration, and says why:

>>> scheduler = ks.Scheduler(cluster)
>>> decision = scheduler.decide(ks.pod("web", cpu=1))
>>> decision.host
'b'
>>> decision.reasons()
{'a': ['Insufficient cpu']}

What is bound, the next decision sees; what-ifs are other clusters:

>>> scheduler.bind(decision)
>>> ks.Scheduler(cluster.without_node("b").for_release("1.16")).decide(ks.pod("web", cpu=1)).message
'0/1 nodes are available: 1 Insufficient cpu.'

Two schedulers are compared pod by pod, workloads run on a virtual clock, and room is counted:

>>> ks.compare(cluster, ks.pod("web"), old="release=1.20", new="release=1.36").same
True
>>> ks.capacity(cluster, ks.pod("web", cpu="500m")).count
5
>>> ks.hints(cluster, ks.pod("web", cpu=3))[0].text
'ask for 2 cpu instead of 3'

Clusters and manifests: Cluster, node, pod. Deciding: Scheduler, Decision, why. Whole runs: compare, Comparison,
timeline, simulate, capacity, hints. Questions about nodes: drain, outage, outages, nodes, removable_nodes, rebalance.
From one release to another: migrate, upgrade. In notebooks: scene. Everything that is raised on purpose is in the
module errors; RELEASES are the releases' names.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clusterstate import errors as errors
    from kubescheduler.api.cluster import Cluster as Cluster
    from kubescheduler.api.disruptions import drain as drain
    from kubescheduler.api.disruptions import outage as outage
    from kubescheduler.api.disruptions import outages as outages
    from kubescheduler.api.nodes import nodes as nodes
    from kubescheduler.api.nodes import rebalance as rebalance
    from kubescheduler.api.nodes import removable_nodes as removable_nodes
    from kubescheduler.api.scheduler import Scheduler as Scheduler
    from kubescheduler.api.whole_runs import capacity as capacity
    from kubescheduler.api.whole_runs import compare as compare
    from kubescheduler.api.whole_runs import hints as hints
    from kubescheduler.api.whole_runs import migrate as migrate
    from kubescheduler.api.whole_runs import simulate as simulate
    from kubescheduler.api.whole_runs import timeline as timeline
    from kubescheduler.api.whole_runs import upgrade as upgrade
    from kubescheduler.api.why import why as why
    from kubescheduler.comparison.comparison import Comparison as Comparison
    from kubescheduler.core.decision import Decision as Decision
    from kubescheduler.lab.scene.verbs import scene as scene
    from kubescheduler.manifest_builders import node as node
    from kubescheduler.manifest_builders import pod as pod
    from kubescheduler.releases.names import RELEASE_NAMES as RELEASES

__version__ = "0.1.0"

__all__ = [
    "RELEASES",
    "Cluster",
    "Comparison",
    "Decision",
    "Scheduler",
    "__version__",
    "capacity",
    "compare",
    "drain",
    "errors",
    "hints",
    "migrate",
    "node",
    "nodes",
    "outage",
    "outages",
    "pod",
    "rebalance",
    "removable_nodes",
    "scene",
    "simulate",
    "timeline",
    "upgrade",
    "why",
]

_PLACES = {
    "RELEASES": "kubescheduler.releases.names",
    "Cluster": "kubescheduler.api.cluster",
    "Comparison": "kubescheduler.comparison.comparison",
    "Decision": "kubescheduler.core.decision",
    "Scheduler": "kubescheduler.api.scheduler",
    "capacity": "kubescheduler.api.whole_runs",
    "compare": "kubescheduler.api.whole_runs",
    "drain": "kubescheduler.api.disruptions",
    "errors": "clusterstate.errors",
    "hints": "kubescheduler.api.whole_runs",
    "migrate": "kubescheduler.api.whole_runs",
    "node": "kubescheduler.manifest_builders",
    "nodes": "kubescheduler.api.nodes",
    "rebalance": "kubescheduler.api.nodes",
    "removable_nodes": "kubescheduler.api.nodes",
    "outage": "kubescheduler.api.disruptions",
    "outages": "kubescheduler.api.disruptions",
    "pod": "kubescheduler.manifest_builders",
    "scene": "kubescheduler.lab.scene.verbs",
    "simulate": "kubescheduler.api.whole_runs",
    "timeline": "kubescheduler.api.whole_runs",
    "upgrade": "kubescheduler.api.whole_runs",
    "why": "kubescheduler.api.why",
}
"""What is imported when it is first asked for → the module that has it."""

_ELSEWHERE_NAMED = {"RELEASES": "RELEASE_NAMES"}
"""What has another name in its module → that name."""


def __getattr__(name: str) -> Any:
    """What the front door offers, imported when it is first asked for."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(_PLACES[name])
    found = module if name == "errors" else getattr(module, _ELSEWHERE_NAMED.get(name, name))
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """What the front door offers."""
    return sorted(__all__)
