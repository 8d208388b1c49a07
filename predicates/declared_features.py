"""NodeDeclaredFeatures: nodes must declare the features that a pod needs of them."""

from __future__ import annotations

from functools import lru_cache, partial
from itertools import combinations

from clusterstate.objects import Node, PodSpec
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from predicates.refusal_evidence import Need, Refusal, Unmet, node_of
from predicates.types import PASS, Verdict

FEATURES_MISSING = "node(s) didn't match Pod's required features"
FEATURES_MISSING_1_35 = "node declared features check failed - unsatisfied requirements: "
"""Before their names."""

RESTART_ALL = "RestartAllContainersOnContainerExits"
HOST_NETWORK_USERS = "UserNamespacesHostNetworkSupport"
RESTART_ALL_ACTION = "RestartAllContainers"


@lru_cache(maxsize=8192)
def needed_features(spec: PodSpec) -> frozenset[str]:
    """The features that a pod needs of its node, as far as scheduling infers them.

    Upstream: 1.36 InferForPodScheduling.
    """
    features = set()
    if any(RESTART_ALL_ACTION in c.restart_rule_actions for c in (*spec.containers, *spec.init_containers)):
        features.add(RESTART_ALL)
    if spec.host_network and spec.host_users is False:
        features.add(HOST_NETWORK_USERS)
    return frozenset(features)


def needs_features(pod: PodInfo) -> bool:
    """Whether the pod needs a feature that a node has to declare."""
    return bool(needed_features(pod.spec))


def declared(node: Node) -> frozenset[str] | None:
    """The features that a node declares; None without any."""
    return frozenset(node.declared_features) or None


def check_declared_features(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """Fails where some needed feature is not declared. Upstream: 1.36 NodeDeclaredFeatures."""
    needed = needed_features(pod.spec)
    if not needed:
        return PASS
    return {FEATURES_MISSING: snapshot.spread(declared, lambda there: there is None or not needed <= there)}


def check_declared_features_1_35(pod: PodInfo, snapshot: Snapshot) -> Verdict:
    """The same, with the features that a node lacks in its reason. Upstream: 1.35 NodeDeclaredFeatures."""
    needed = needed_features(pod.spec)
    verdict = {}
    for count in range(1, len(needed) + 1):
        for lacking in combinations(sorted(needed), count):
            lacks = partial(_lacks, needed, frozenset(lacking))
            verdict[f"{FEATURES_MISSING_1_35}{', '.join(lacking)}"] = snapshot.spread(declared, lacks)
    return verdict or PASS


def _lacks(needed: frozenset[str], lacking: frozenset[str], there: frozenset[str] | None) -> bool:
    return needed - (there or frozenset()) == lacking


def explain_features(pod: PodInfo, snapshot: Snapshot, _: str) -> Refusal:
    """By needed feature whether the node declares it."""
    node = node_of(snapshot)
    there = (None if node is None else declared(node)) or frozenset()
    said = ", ".join(sorted(there)) or "none"
    return Unmet(tuple(Need(feature, said, feature in there) for feature in sorted(needed_features(pod.spec))))
