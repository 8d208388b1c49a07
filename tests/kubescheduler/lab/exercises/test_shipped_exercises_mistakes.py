"""The exercises that come with the package: plausible mistakes fail at the check that is there for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pages.exercise_work import TOLERATIONS, Replacement, checked_variant, failing

SPOT = "- {key: lifecycle, operator: NotIn, values: [spot]}"

WRONG: dict[str, tuple[str, list[Replacement], str]] = {
    "requests too little cpu": (
        "01-requests",
        [("web.yaml", "650m", "100m")],
        "a node with 1100m cpu: takes one replica and no second one",
    ),
    "requests too little memory": (
        "01-requests",
        [("web.yaml", "1536Mi", "1Gi")],
        "a node with 2800Mi memory: takes one replica and no second one",
    ),
    "fewer replicas": ("01-requests", [("web.yaml", "replicas: 3", "replicas: 1")], "only what may be edited differs"),
    "a pod bound by hand": (
        "01-requests",
        [("web.yaml", "      containers:", "      nodeName: worker-1\n      containers:")],
        "only what may be edited differs",
    ),
    "tolerates everything": (
        "02-taints",
        [("train.yaml", TOLERATIONS, "{operator: Exists}")],
        "train is kept off gpu-3 by the taint maintenance",
    ),
    "tolerates every team's GPUs": (
        "02-taints",
        [("train.yaml", TOLERATIONS, "{key: gpu, operator: Exists}")],
        "the taint has another value: train is not let in where gpu is reserved for another team",
    ),
    "tolerates what may be evicted only": (
        "02-taints",
        [("train.yaml", "NoSchedule", "NoExecute")],
        "train runs on gpu-2",
    ),
    "two terms, an or": (
        "03-node-affinity",
        [
            (
                "search.yaml",
                f"          {SPOT}",
                "        - matchExpressions: [{key: lifecycle, operator: NotIn, values: [spot]}]",
            )
        ],
        "search runs on ssd-b3",
    ),
    "a wish written as a must": (
        "03-node-affinity",
        [("search.yaml", SPOT, SPOT + "\n          - {key: generation, operator: In, values: [v3]}")],
        "no generation v3 to be had: search runs on an older machine",
    ),
    "a wish without weight": (
        "03-node-affinity",
        [("search.yaml", "weight: 100", "weight: 1"), ("search.yaml", "[v3]", "[v9]")],
        "busy and idle machines: generation v3 goes before an idle machine",
    ),
    "a machine by its name": (
        "03-node-affinity",
        [
            (
                "search.yaml",
                "{key: generation, operator: In, values: [v3]}",
                "{key: kubernetes.io/hostname, operator: In, values: [ssd-b3]}",
            )
        ],
        "no rule names a machine",
    ),
    "a zone by its name": (
        "04-inter-pod-affinity",
        [
            (
                "api.yaml",
                "      affinity:",
                "      affinity:\n        nodeAffinity:\n          preferredDuringSchedulingIgnoredDuringExecution:\n"
                "          - {weight: 1, preference: {matchExpressions: [{key: zone, operator: In, values: [eu-1a]}]}}",
            )
        ],
        "no rule names a zone or a node",
    ),
    "near means on the same node": (
        "04-inter-pod-affinity",
        [("api.yaml", "topology.kubernetes.io/zone", "kubernetes.io/hostname")],
        "both replicas run in the zone of the cache",
    ),
    "another team's cache": (
        "04-inter-pod-affinity",
        [("api.yaml", "app: cache", "app: shop-cache")],
        "both replicas run in the zone of the cache",
    ),
    "kept apart by zones": (
        "04-inter-pod-affinity",
        [("api.yaml", "kubernetes.io/hostname", "topology.kubernetes.io/zone")],
        "each replica has a node to itself",
    ),
    "no rule keeps replicas apart": (
        "04-inter-pod-affinity",
        [("api.yaml", "{app: api}}\n            topologyKey: kube", "{app: nobody}}\n            topologyKey: kube")],
        "only one node in the cache's zone: one replica runs, and the other waits",
    ),
    "spreading as a wish": (
        "05-spreading",
        [("shop.yaml", "DoNotSchedule", "ScheduleAnyway")],
        "eu-1c is full: replicas wait rather than crowd the other zones",
    ),
    "another team's pods are counted": (
        "05-spreading",
        [
            (
                "shop.yaml",
                "        labelSelector: {matchLabels: {app: shop}}",
                "        labelSelector: {matchExpressions: [{key: app, operator: Exists}]}",
            )
        ],
        "other teams' pods are everywhere: only the shop's own replicas are counted",
    ),
    "spreading over nodes": (
        "05-spreading",
        [("shop.yaml", "topology.kubernetes.io/zone", "kubernetes.io/hostname")],
        "no zone has more than one replica more than another",
    ),
    "a larger skew": (
        "05-spreading",
        [("shop.yaml", "maxSkew: 1", "maxSkew: 3")],
        "no zone has more than one replica more than another",
    ),
    "any disk will do": (
        "06-pending",
        [("invoice.yaml", "  nodeSelector: {disk: ssd}\n", "")],
        "it still asks for an SSD",
    ),
    "the slow disk": ("06-pending", [("invoice.yaml", "disk: ssd", "disk: hdd")], "invoice runs on n-3"),
    "the port of the node stays": (
        "06-pending",
        [("invoice.yaml", "containerPort: 9100", "containerPort: 9100, hostPort: 9100")],
        "invoice runs on n-3",
    ),
    "the node's own label": (
        "06-pending",
        [("invoice.yaml", "{disk: ssd}", "{disk: ssd, kubernetes.io/hostname: n-3}")],
        "nothing names a node",
    ),
    "everybody takes a seat": (
        "07-predicate",
        [
            (
                "rules.py",
                "    taken = sum(needs_seat(other.metadata.labels) for other in node_info.pods)",
                "    taken = len(node_info.pods)",
            )
        ],
        "draw-1 and draw-2 run on dock",
    ),
    "pods without a need are refused": (
        "07-predicate",
        [("rules.py", "    if not needs_seat(pod.labels):\n        return True, []\n", "")],
        "site needs no seat and goes to the emptiest node",
    ),
    "one seat too many": (
        "07-predicate",
        [("rules.py", "seats > taken", "seats >= taken")],
        "attic's only seat is taken",
    ),
    "another reason": ("07-predicate", [("rules.py", "no free seat", "full")], "draw-3 finds no seat"),
    "the dearest first": (
        "08-priority",
        [("rules.py", "max(0, 10 - cents // 10)", "min(10, cents // 10)")],
        "the cheaper, the better",
    ),
    "unknown prices count as none": (
        "08-priority",
        [("rules.py", '"100"', '"0"')],
        "the totals are those of the task",
    ),
    "both priorities": (
        "09-packing-policy",
        [("policy.yaml", "priorities:", "priorities:\n- name: LeastRequestedPriority\n  weight: 1")],
        "a fuller cluster: the fullest node is filled first, then the next",
    ),
    "predicates that leave out one": (
        "09-packing-policy",
        [("policy.yaml", "priorities:", "predicates:\n- name: PodFitsResources\npriorities:")],
        "nobody runs on win-1",
    ),
    "nodes above 30 degrees are scored only": (
        "10-extender",
        [("extender.py", "> TOO_WARM", "> 99")],
        "hot-1 is refused in the extender's words",
    ),
    "thirty degrees are refused": (
        "10-extender",
        [("extender.py", "> TOO_WARM", ">= TOO_WARM")],
        "thirty degrees, thirty-one, and nobody knows: thirty degrees are not, and neither is what nobody measures",
    ),
    "no scores": ("10-extender", [("extender.py", "TOO_WARM - celsius(node)", "0")], "render runs on north-1"),
    "a budget that allows one": (
        "11-preemption",
        [("budget.yaml", "disruptionsAllowed: 0", "disruptionsAllowed: 1")],
        "checkout has no node yet, and makes report leave",
    ),
    "a budget for everybody": (
        "11-preemption",
        [("budget.yaml", "    matchLabels: {app: ledger}", "    matchLabels: {}")],
        "checkout has no node yet, and makes report leave",
    ),
    "a budget for the wrong one": (
        "11-preemption",
        [("budget.yaml", "app: ledger", "app: report")],
        "checkout has no node yet, and makes report leave",
    ),
    "packing outvoted": (
        "12-migration",
        [
            ("scheduler.yaml", '      disabled: [{name: "*"}]\n', "      disabled: [{name: ImageLocality}]\n"),
            ("scheduler.yaml", "      enabled: [{name: NodeResourcesFit, weight: 1}]\n", ""),
        ],
        "every pod goes where 1.16 had it go",
    ),
    "as spread as ever": (
        "12-migration",
        [("scheduler.yaml", "MostAllocated", "LeastAllocated")],
        "they run on two nodes, as they did",
    ),
    "a gang of two": ("13-gang", [("gang.py", "< size_of(pod)", "< 2")], "each gang starts at once"),
    "the others are not let go": (
        "13-gang",
        [("gang.py", "held.allow(self.name)", "pass")],
        "each gang starts at once",
    ),
    "everybody is held": (
        "13-gang",
        [
            (
                "gang.py",
                "        if gang_of(pod) is None:\n            return None, 0\n",
                "        if gang_of(pod) is None:\n            return Status(Code.Wait), SECONDS\n",
            )
        ],
        "a gang too large for the cluster: a pod of no gang is not held",
    ),
}
"""Mistake → exercise, what it changes of the solution, a check that then fails."""


@pytest.mark.parametrize("mistake", WRONG)
def test_plausible_mistakes_fail(mistake: str, tmp_path: Path) -> None:
    """A mistake that students make fails at the check that is there for it."""
    name, replacements, check = WRONG[mistake]
    assert check in failing(checked_variant(name, replacements, tmp_path))
