"""Wrong calls, as somebody makes them who has not read the pages: one clear sentence each, of one family of errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import kubescheduler as ks
from clusterstate.errors import InputError, KubeSchedulerError


def cluster(release: str = "1.16") -> Any:
    """A node on which a pod may go."""
    return ks.Cluster(release=release).node("a", cpu=4)


def scheduler(release: str = "1.16", **options: Any) -> Any:
    return ks.Scheduler(cluster(release), **options)


THING = "expected a file name, a manifest, YAML or JSON text, or an object, found"
NO_RELEASE = "release {} is not known; known are 1.4, 1.16, 1.20, 1.36"
NO_CLUSTER = "cluster: expected a Cluster, found null; make one with Cluster(…)"
GATES = "gates: expected a dict of feature gates or text like A=true,B=false, found"
WHOLE = "expected a whole number, found"
POLICY: Any = {"kind": "Policy", "apiVersion": "v1"}
NONE: Any = None
FIVE: Any = 5

CALLS: dict[str, tuple[Callable[[], object], str]] = {
    "decide: 5": (lambda: scheduler().decide(5), f"pod: {THING} 5"),
    "decide: None": (lambda: scheduler().decide(None), f"pod: {THING} null"),
    "decide: no pods": (lambda: scheduler().decide([]), "pod: no"),
    "decide: no name": (lambda: scheduler().decide({}), "metadata.name: missing; every object needs a name"),
    "decide: no file": (lambda: scheduler().decide("no.yaml"), "no.yaml: no such file or folder"),
    "decide: no pod": (lambda: scheduler().decide("web"), "pod: web: neither a pod of the cluster nor a file"),
    "scheduler: None": (lambda: ks.Scheduler(NONE), NO_CLUSTER),
    "scheduler: 5": (lambda: ks.Scheduler(FIVE), "cluster: expected a Cluster, found 5"),
    "scheduler: object": (lambda: ks.Scheduler(object()), "expected a Cluster, found an object of type object"),  # type: ignore[arg-type]
    "release": (lambda: ks.Cluster(release="1.17"), NO_RELEASE.format("1.17")),
    "release: number": (lambda: ks.Cluster(release=1.36), NO_RELEASE.format("1.36")),  # type: ignore[arg-type]
    "release: None": (lambda: ks.Cluster(release=NONE), NO_RELEASE.format("None")),
    "cluster: None": (lambda: ks.Cluster(None), f"cluster: {THING} null"),
    "cluster: no kind": (lambda: ks.Cluster({"metadata": {"name": "x"}}), "kind: missing; an object needs apiVersion"),
    "cluster: odd kind": (lambda: ks.Cluster({"kind": 5, "apiVersion": "v1"}), "kind: must be text, not 5"),
    "cluster: no file": (lambda: ks.Cluster.read("no/x.yaml"), "no/x.yaml: no such file or folder"),
    "cluster: judgement": (lambda: ks.Cluster(validate=FIVE), "validate: 5 is not known; known are strict, warn"),
    "cluster: gates": (lambda: ks.Cluster(gates=FIVE), f"{GATES} 5"),
    "node: name": (lambda: ks.Cluster().node(FIVE), "metadata.name: must be text, not 5"),
    "node: amount": (lambda: ks.Cluster().node("a", cpu="abc"), 'status.allocatable.cpu: quantity "abc" is not'),
    "node: taints": (lambda: ks.Cluster().node("a", taints=5), "taints: expected texts like key=value:NoSchedule"),
    "node: labels": (lambda: ks.Cluster().node("a", labels=["x"]), "labels: expected a dict, found a list"),
    "pod: labels": (lambda: ks.pod("a", labels="x"), 'labels: expected a dict, found "x"'),  # type: ignore[arg-type]
    "running: 5": (lambda: ks.compare(cluster(), new="", running=FIVE), "running: expected True or a selector"),
    "running: pods": (
        lambda: ks.compare(cluster(), ks.pod("a"), new="", running=True),
        "running: pods are given besides; give one of the two",
    ),
    "running: none": (lambda: ks.compare(cluster(), new="", running=True), "no pod runs in the cluster"),
    "policy: 5": (lambda: scheduler(policy=5), "policy: expected a file name, a document as a dict, or its text"),
    "policy: no file": (lambda: scheduler(policy="no.json"), "missing policy config file no.json"),
    "provider: 5": (lambda: scheduler(provider=5), "provider: expected the name of an algorithm provider, found 5"),
    "provider": (lambda: scheduler(provider="DefaultProvder"), "did you mean DefaultProvider?"),
    "gates: 5": (lambda: scheduler("1.36", gates=5), f"{GATES} 5"),
    "gates: list": (lambda: scheduler("1.36", gates=["A"]), f"{GATES} a list"),
    "tie break": (lambda: scheduler(tie_break=5), "tie_break: 5 is not known; known are first, random, upstream"),
    "seed": (lambda: scheduler(seed=[1]), f"seed: {WHOLE} a list"),
    "percentage": (lambda: scheduler(percentage_of_nodes_to_score="x"), f'percentage_of_nodes_to_score: {WHOLE} "x"'),
    "weight": (lambda: scheduler(hard_pod_affinity_symmetric_weight="x"), f'symmetric_weight: {WHOLE} "x"'),
    "weight: True": (lambda: scheduler(hard_pod_affinity_symmetric_weight=True), f"symmetric_weight: {WHOLE} true"),
    "extenders: 5": (lambda: scheduler(extenders=5), "extenders: expected live, pass, record FILE or replay FILE"),
    "plugins: 5": (lambda: scheduler("1.36", plugins=5), "plugins: expected a class, a factory or text like"),
    "plugins: value": (lambda: scheduler("1.36", plugins={"A": 5}), "plugins: A: expected a class or a factory, found"),
    "plugins: builtin": (lambda: scheduler("1.36", plugins=dict), "a factory takes (args, handle) or nothing"),
    "configmap": (lambda: scheduler(policy_configmap=5), "policy_configmap: expected a file name, found 5"),
    "name": (lambda: scheduler(scheduler_name=5), "scheduler_name: expected a name, found 5"),
    "bind: None": (lambda: scheduler().bind(NONE), "decision: expected a Decision, found null; the method decide"),
    "run: 5": (lambda: scheduler().run(5), f"pods: {THING} 5"),
    "compare: None": (lambda: ks.compare(NONE, new="release=1.36"), NO_CLUSTER),
    "compare: new": (lambda: ks.compare(cluster(), new=5), 'new: expected text like "release=1.36,config=sched.yaml"'),
    "compare: nothing": (lambda: ks.compare(cluster(), new=[]), "there is nothing to compare with"),
    "compare: release": (lambda: ks.compare(cluster(), new={"release": "1.17"}), f"new: {NO_RELEASE.format('1.17')}"),
    "compare: mode": (lambda: ks.compare(cluster(), new="release=1.36", mode=FIVE), "mode 5 is not known"),
    "compare: names": (
        lambda: ks.compare(cluster(), new="release=1.36", names=FIVE),
        "names: expected a list of names",
    ),
    "compare: pods": (lambda: ks.compare(cluster(), 5, new="release=1.36"), f"pods: {THING} 5"),
    "simulate: None": (lambda: ks.simulate(NONE, "x.yaml"), NO_CLUSTER),
    "simulate: no file": (lambda: ks.simulate(cluster(), "x.yaml"), "x.yaml: no such file or folder"),
    "simulate: 5": (lambda: ks.simulate(cluster(), 5), f"workload: {THING} 5"),
    "simulate: grace": (lambda: ks.simulate(cluster(), ks.pod("a"), grace="x"), "grace: expected a number of seconds"),  # type: ignore[arg-type]
    "simulate: listen": (
        lambda: ks.simulate(cluster(), ks.pod("a"), listen=FIVE),
        "listen: expected a function, found 5",
    ),
    "capacity: None": (lambda: ks.capacity(NONE, ks.pod("a")), NO_CLUSTER),
    "capacity: 5": (lambda: ks.capacity(cluster(), 5), f"pod: {THING} 5"),
    "hints: top": (lambda: ks.hints(cluster(), ks.pod("a"), top="x"), f'top: {WHOLE} "x"'),  # type: ignore[arg-type]
    "hints: none": (lambda: ks.hints(cluster(), ks.pod("a"), top=0), "top: expected 1 or more, found 0"),
    "capacity: limit": (lambda: ks.capacity(cluster(), ks.pod("a"), limit="x"), f'limit: {WHOLE} "x"'),  # type: ignore[arg-type]
    "capacity: -1": (lambda: ks.capacity(cluster(), ks.pod("a"), limit=-1), "limit: expected 1 or more, found -1"),
    "migrate: nothing": (ks.migrate, "say what to translate: either a policy or provider="),
    "migrate: 5": (lambda: ks.migrate(5), "policy: expected a file name, a dict or text, found 5"),
    "migrate: to": (lambda: ks.migrate(POLICY, to="1.17"), NO_RELEASE.format("1.17")),
    "migrate: provider": (lambda: ks.migrate(provider=FIVE), "provider: expected the name of an algorithm provider"),
    "for another release": (lambda: cluster().for_release("1.17"), NO_RELEASE.format("1.17")),
    "find": (lambda: cluster().find_pod(5), "expected the name of a pod, found 5"),
    "without": (lambda: cluster().without_node(5), "expected the name of a node, found 5"),
    "unbound": (lambda: cluster().unbound("zz"), "there is no pod zz in the cluster"),
    "add": (lambda: cluster().add(None), f"cluster: {THING} null"),
}


@pytest.mark.parametrize("call", CALLS)
def test_wrong_calls(call: str) -> None:
    """What is wrong with which argument, and nothing of how the project is built."""
    make, message = CALLS[call]
    with pytest.raises(KubeSchedulerError) as raised:
        make()
    assert isinstance(raised.value, InputError)
    assert message in str(raised.value)
    assert "kubescheduler/" not in str(raised.value)
