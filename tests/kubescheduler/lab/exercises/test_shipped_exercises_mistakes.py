"""The exercises that come with the package: plausible mistakes fail at the check that is there for them."""

# ruff: noqa: E501 - an answer is a line of its table, however long

from __future__ import annotations

from pathlib import Path

import pytest

from clusterstate.errors import InputError
from kubescheduler.lab.exercises.exercise_reading import shipped_names
from tests.support.pages.lab_page import TOLERATIONS, checked_variant, failing

SPOT = "- {key: lifecycle, operator: NotIn, values: [spot]}"
REQUESTS = "requests: {cpu: 650m, memory: 1536Mi}"
DISK = "          - {key: disk, operator: In, values: [ssd]}\n"
CHEAP = "max(0, 10 - cents // 10)"
SHOP = "        labelSelector: {matchLabels: {app: shop}}"
CONSTRAINT = "        whenUnsatisfiable: DoNotSchedule\n"
TAKEN = "    taken = sum(needs_seat(other.metadata.labels) for other in node_info.pods)"
ALL_OFF = '      disabled: [{name: "*"}]\n'
FIT = "      enabled: [{name: NodeResourcesFit, weight: 1}]\n"
AMOUNTS = "resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}]"
POINTS = "max(0, min(10, TOO_WARM - celsius(node)))"
GIVEN_UP = 'held.reject(self.name, f"{pod.metadata.name} of the same gang was given up")'

TOO_SMALL_CPU = "a node with 1199m cpu: has no room for a second one, as two may use 1200m"
TOO_SMALL_MEMORY = "a node with a byte less than 3Gi memory: has no room for a second one, as two may use 3Gi"
GPU_TAINT = "of the taints with key gpu train tolerates gpu=true alone"
KINDS = "machines of every kind: "
NETWORK = KINDS + "network 25g counts, and no other, among machines of generation v3"
GENERATION = KINDS + "generation v3 counts before every other, and before a machine that has none"
STRANGERS = "strangers: eu-1b refuses, whatever else runs there"
OWN_REPLICAS = "other teams' pods are everywhere: only the shop's own replicas are counted"
NOT_MEASURED = (
    "thirty degrees, thirty-one, and nobody knows: thirty degrees are not, and neither is what nobody measures"
)
NETWORK_WISH = "{key: network, operator: In, values: [25g]}"
V3_WISH = "{key: generation, operator: In, values: [v3]}"
STRANGE_DISK = "labels that nobody thought of: a node with another disk, or without the label, is none with an SSD"
EDGES = "prices at the edges: 9 cents are 10 points, 10 are 9, 18 are 9, 35 are 7, 99 are 1, 100 and more are 0"
POINTS_ARE = "the points are those of the task"
LEAVES = "checkout has no node yet, and makes report leave"
AS_BEFORE = "every pod goes where 1.16 had it go"
AT_ONCE = "each gang starts at once"
BACK = "a gang whose third pod never comes: whoever waits for its places has them when the first gives up"

CPUS = ("650m", "600", 'limits: {cpu: "4"', "limits: {cpu: 600")

WRONG: dict[str, dict[str, tuple[str, ...]]] = {
    "01-requests": {
        "just too little cpu": ("650m", "599m", TOO_SMALL_CPU),
        "too much cpu": ("650m", "701m", "all three replicas have a node"),
        "too much memory": ("1536Mi", "2049Mi", "all three replicas have a node"),
        "limits alone": (f"          {REQUESTS}\n", "", "all three replicas have a node"),
        "a byte too little": ("1536Mi", '"1610612735"', TOO_SMALL_MEMORY),
        "cpus for millicores": (*CPUS, "all three replicas have a node"),
        "fewer replicas": ("replicas: 3", "replicas: 1", "only what may be edited differs"),
        "a pod bound by hand": ("      containers:", "      nodeName: worker-1\n      containers:",
            "only what may be edited differs"),
    },
    "02-taints": {
        "everything": (TOLERATIONS, "{operator: Exists}", "train is kept off gpu-3 by the taint maintenance"),
        "maintenance as well, for a minute": (TOLERATIONS,
            TOLERATIONS + ", {key: maintenance, operator: Exists, tolerationSeconds: 60, effect: NoExecute}",
            "train is kept off gpu-3 by the taint maintenance"),
        "every team's GPUs": (TOLERATIONS, "{key: gpu, operator: Exists}",
            "the taint has another value: train is not let in where gpu is reserved for another team"),
        "of yet another team": (TOLERATIONS, TOLERATIONS + ", {key: gpu, value: audio, effect: NoSchedule}", GPU_TAINT),
        "of every team, for a minute": (TOLERATIONS,
            TOLERATIONS + ", {key: gpu, operator: Exists, effect: NoExecute, tolerationSeconds: 60}", GPU_TAINT),
        "what may be evicted only": ("NoSchedule", "NoExecute", "train runs on gpu-2"),
        "another case": ('"true"', '"True"', "train runs on gpu-2"),
        "no GPU asked for": ('limits: {nvidia.com/gpu: "1"}', "limits: {}", "only what may be edited differs"),
    },
    "03-node-affinity": {
        "two terms, an or": (f"          {SPOT}",
            "        - matchExpressions: [{key: lifecycle, operator: NotIn, values: [spot]}]",
            "search runs on ssd-b3"),
        "any disk but a slow one": ("{key: disk, operator: In, values: [ssd]}",
            "{key: disk, operator: NotIn, values: [hdd]}", STRANGE_DISK),
        "any label of a disk": ("{key: disk, operator: In, values: [ssd]}", "{key: disk, operator: Exists}",
            "hdd-a3 is refused for its disk"),
        "any zone but one": ("operator: In, values: [eu-1a, eu-1b]", "operator: NotIn, values: [eu-1c]",
            "labels that nobody thought of: a fourth zone is neither eu-1a nor eu-1b"),
        "no lifecycle at all": (SPOT, "- {key: lifecycle, operator: DoesNotExist}",
            "no generation v3 to be had: search runs on an older machine"),
        "a must for a wish": (SPOT, SPOT + "\n          - {key: generation, operator: In, values: [v3]}",
            "no generation v3 to be had: search runs on an older machine"),
        "a wish for what there is not": ("[v3]", "[v9]", "search runs on ssd-b3"),
        "weights alike": ("weight: 100", "weight: 10", "generation v3 counts for more than the network"),
        "weights nearly alike": ("weight: 100", "weight: 11",
            "busy and idle machines: generation v3 goes before an idle machine"),
        "weights not far apart": ("weight: 100", "weight: 80", "weight: 10\n", "weight: 50\n",
            "busy and idle machines: generation v3 goes before an idle machine"),
        "any network but one": (NETWORK_WISH, "{key: network, operator: NotIn, values: [1g]}", NETWORK),
        "any generation but two": (V3_WISH, "{key: generation, operator: NotIn, values: [v1, v2]}", GENERATION),
        "any generation": (V3_WISH, "{key: generation, operator: Exists}", GENERATION),
        "the network of new machines only": (NETWORK_WISH, f"{NETWORK_WISH}\n          - {V3_WISH}",
            "old machines: of old machines the one with network 25g is preferred too"),
        "one wish": (
            "      - weight: 10\n        preference:\n          matchExpressions:\n          - {key: network, operator: In, values: [25g]}\n",
            "",
            "two machines of generation v3: the one with the fast network is taken",
        ),
        "a machine by its name": ("{key: generation, operator: In, values: [v3]}",
            "{key: kubernetes.io/hostname, operator: In, values: [ssd-b3]}", "no rule names a machine"),
    },
    "04-inter-pod-affinity": {
        "a zone by its name": ("      affinity:",
            ("      affinity:\n        nodeAffinity:\n          preferredDuringSchedulingIgnoredDuringExecution:\n"
            "          - {weight: 1, preference: {matchExpressions: [{key: zone, operator: In, values: [eu-1a]}]}}"),
            "no rule names a zone or a node"),
        "near means on the same node": ("topology.kubernetes.io/zone", "kubernetes.io/hostname",
            "both replicas run in the zone of the cache"),
        "another team's cache": ("app: cache", "app: shop-cache", "both replicas run in the zone of the cache"),
        "any cache": ("{matchLabels: {app: cache}}",
            "{matchExpressions: [{key: app, operator: In, values: [cache, shop-cache]}]}",
            "b-1 refuses, as no cache is near"),
        "the cache or a replica": ("{matchLabels: {app: cache}}",
            "{matchExpressions: [{key: app, operator: In, values: [cache, api]}]}", STRANGERS),
        "whoever is none of those seen, and has a label": ("{matchLabels: {app: cache}}",
            ("{matchExpressions: [{key: app, operator: NotIn, values: [shop-cache, noise, api]}, "
            "{key: app, operator: Exists}]}"), STRANGERS),
        "kept apart from all but the cache": ("{matchLabels: {app: api}}\n            topologyKey: kube",
            "{matchExpressions: [{key: app, operator: NotIn, values: [cache]}]}\n            topologyKey: kube",
            "strangers: both replicas run in the zone of the cache"),
        "no selector": ("labelSelector: {matchLabels: {app: cache}}\n            topologyKey", "topologyKey",
            "both replicas run in the zone of the cache"),
        "kept apart by zones": ("kubernetes.io/hostname", "topology.kubernetes.io/zone",
            "each replica has a node to itself"),
        "no rule keeps replicas apart": ("{app: api}}\n            topologyKey: kube",
            "{app: nobody}}\n            topologyKey: kube",
            "only one node in the cache's zone: one replica runs, and the other waits"),
        "kept apart from the cache too": ("{matchLabels: {app: api}}\n            topologyKey: kube",
            "{}\n            topologyKey: kube", "both replicas run in the zone of the cache"),
        "apart, if it can be had": (
            (
                "        podAntiAffinity:\n          requiredDuringSchedulingIgnoredDuringExecution:\n          - labelSelector: {matchLabels: {app: api}}\n"
                "            topologyKey: kubernetes.io/hostname"
            ),
            (
                "        podAntiAffinity:\n          preferredDuringSchedulingIgnoredDuringExecution:\n          - weight: 100\n            podAffinityTerm: "
                "{labelSelector: {matchLabels: {app: api}}, topologyKey: kubernetes.io/hostname}"
            ),
            "only one node in the cache's zone: one replica runs, and the other waits",
        ),
    },
    "05-spreading": {
        "a wish": ("DoNotSchedule", "ScheduleAnyway", "eu-1c is full: replicas wait rather than crowd the other zones"),
        "all but two teams' pods": (SHOP,
            "        labelSelector: {matchExpressions: [{key: app, operator: NotIn, values: [batch, queue]}]}",
            OWN_REPLICAS),
        "all pods": (SHOP, "        labelSelector: {}", "no zone has more than one replica more than another"),
        "nobody": ("        labelSelector: {matchLabels: {app: shop}}\n", "",
            "no zone has more than one replica more than another"),
        "over nodes": ("topology.kubernetes.io/zone", "kubernetes.io/hostname",
            "no zone has more than one replica more than another"),
        "over an old label": ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone",
            "all six replicas have a node"),
        "a skew of two": ("maxSkew: 1", "maxSkew: 2", "eu-1c is full: replicas wait rather than crowd the other zones"),
        "more zones than there are": (CONSTRAINT, CONSTRAINT + "        minDomains: 4\n",
            "all six replicas have a node"),
    },
    "06-pending": {
        "any disk will do": ("  nodeSelector: {disk: ssd}\n", "", "it still asks for an SSD"),
        "the slow disk": ("disk: ssd", "disk: hdd", "invoice runs on n-3"),
        "the port of the node stays": ("containerPort: 9100", "containerPort: 9100, hostPort: 9100",
            "invoice runs on n-3"),
        "the port of one address": ("containerPort: 9100", "containerPort: 9100, hostPort: 9100, hostIP: 127.0.0.1",
            "invoice runs on n-3"),
        "the node's own label": ("{disk: ssd}", "{disk: ssd, kubernetes.io/hostname: n-3}", "nothing names a node"),
        "a zone by its name": ("{disk: ssd}", "{disk: ssd, topology.kubernetes.io/zone: eu-1b}",
            "another hall: invoice runs on the only SSD"),
        "a toleration": ("  containers:", "  tolerations: [{operator: Exists}]\n  containers:",
            "only what may be edited differs"),
        "less memory": ("4Gi", "1Gi", "only what may be edited differs"),
    },
    "07-priority": {
        "the dearest first": (CHEAP, "min(10, cents // 10)", "the cheaper, the better"),
        "a point for ten begun": (CHEAP, "max(0, 10 - -(-cents // 10))", POINTS_ARE),
        "rounded": (CHEAP, "max(0, round(10 - cents / 10))", EDGES),
        "cut": (CHEAP, "max(0, int(10 - cents / 10))", POINTS_ARE),
        "never less than 1": (CHEAP, "max(1, 10 - cents // 10)", POINTS_ARE),
        "unknown prices count as none": ('"100"', '"0"', "a node without a price comes last"),
        "unknown prices count as fair": ('"100"', '"50"', POINTS_ARE),
        "a step": (CHEAP, "9 if cents < 20 else 6 if cents < 50 else 1 if cents < 100 else 0", EDGES),
    },
    "08-predicate": {
        "another number of pods than seats": ("seats > taken", "seats != taken",
            "more who draw than seats: a node on which more draw than have a seat has none free"),
        "numbers of one digit": ("if text.isdecimal()", "if len(text) == 1 and text.isdecimal()",
            "more who draw than seats: twelve seats are twelve"),
        "everybody takes a seat": (TAKEN, "    taken = len(node_info.pods)", "draw-1 and draw-2 run on dock"),
        "whoever has the label takes one": (TAKEN,
            '    taken = sum("needs-seat" in other.metadata.labels for other in node_info.pods)',
            "another studio: two more draw on studio"),
        "nobody takes a seat": (TAKEN, "    taken = 0", "attic's only seat is taken"),
        "pods without a need are refused": ("    if not needs_seat(pod.labels):\n        return True, []\n", "",
            "site needs no seat and goes to the emptiest node"),
        "one seat too many": ("seats > taken", "seats >= taken", "attic's only seat is taken"),
        "a seat where there is no label": ('"seats", "0"', '"seats", "1"', "a node without the label has no seats"),
        "a seat where there is no number": ("else 0", "else 9", "another studio: a label that is no number is no seat"),
        "a longer reason": ("no free seat", "no free seat left", "draw-3 finds no seat"),
        "a second reason": ('["no free seat"]', '["no free seat", "ask at the desk"]', "attic's only seat is taken"),
        "anything but no": ('labels.get("needs-seat") == "yes"', 'labels.get("needs-seat", "no") != "no"',
            "another studio: who may need a seat later needs none now"),
    },
    "09-packing-policy": {
        "both priorities": ("priorities:", "priorities:\n- name: LeastRequestedPriority\n  weight: 1",
            "a fuller cluster: the fullest node is filled first, then the next"),
        "no priority": ("priorities:\n- name: MostRequestedPriority\n  weight: 1\n", "priorities: []\n",
            "a fuller cluster: the fullest node is filled first, then the next"),
        "outvoted": ("priorities:", "priorities:\n- name: LeastRequestedPriority\n  weight: 5",
            "they run on two nodes"),
        "predicates that leave out one": ("priorities:", "predicates:\n- name: PodFitsResources\npriorities:",
            "nobody runs on win-1"),
        "predicates, resources left out": ("priorities:", "predicates:\n- name: MatchNodeSelector\npriorities:",
            "a cluster with one place left: one pod runs, and the others wait"),
        "full at a half": ("- name: MostRequestedPriority\n",
            ("- name: Packing\n  argument: {requestedToCapacityRatioArguments: {shape: "
            "[{utilization: 0, score: 0}, {utilization: 50, score: 10}]}}\n"),
            "a fuller cluster: the fuller a node, the more points it has"),
    },
    "10-extender": {
        "scored, not refused": ("> TOO_WARM", "> 99", "hot-1 is refused in the extender's words"),
        "thirty degrees are refused": (
            "> TOO_WARM",
            ">= TOO_WARM",
            "thirty degrees, thirty-one, and nobody knows: thirty degrees are not, and neither is what nobody measures",
        ),
        "refused, and kept all the same": ('"items": kept', '"items": nodes_of(asked)',
            "a heat wave: where every rack is too warm nothing runs"),
        "no scores": (POINTS, "0", "render runs on north-1"),
        "no most": (POINTS, "max(0, TOO_WARM - celsius(node))",
            "frost: 20 degrees are 10 points, and colder ones are not more"),
        "a point for two degrees": (POINTS, "max(0, min(10, (TOO_WARM - celsius(node)) // 2))", POINTS_ARE),
        "weighted twice": (POINTS, POINTS + " * 10", POINTS_ARE),
        "who is not measured is cool": ('"rack-celsius", TOO_WARM', '"rack-celsius", 20',
            "thirty degrees, thirty-one, and nobody knows: neither has points"),
        "who is not measured is refused": ('"rack-celsius", TOO_WARM', '"rack-celsius", 99', NOT_MEASURED),
        "more words": ("rack at {celsius(node)} C", "the rack at {celsius(node)} C is too warm",
            "hot-1 is refused in the extender's words"),
        "one node is forgotten": ("for node in nodes_of(asked)\n    ]", "for node in nodes_of(asked)[1:]\n    ]",
            POINTS_ARE),
        "a filter without return": ('return {"nodes"', 'answer = {"nodes"', "render runs on north-1"),
        "refused without a word": ('"failedNodes": refused', '"failedNodes": {}',
            "hot-1 is refused in the extender's words"),
    },
    "11-preemption": {
        "one may be disturbed": ("disruptionsAllowed: 0", "disruptionsAllowed: 1", LEAVES),
        "a budget for everybody": ("    matchLabels: {app: ledger}", "    matchLabels: {}", LEAVES),
        "a budget for nobody": ("  selector:\n    matchLabels: {app: ledger}\n", "", LEAVES),
        "a budget in another namespace": ("{name: ledger}\nspec", "{name: ledger, namespace: shop}\nspec", LEAVES),
        "a budget for all but report": ("    matchLabels: {app: ledger}",
            "    matchExpressions: [{key: app, operator: NotIn, values: [report]}]",
            "a third candidate that no budget protects: the least important of those that may be disturbed leaves"),
        "a label too many": ("{app: ledger}", "{app: ledger, tier: money}", LEAVES),
    },
    "12-migration": {
        "packing outvoted": (ALL_OFF, "      disabled: [{name: ImageLocality}]\n", FIT, "", AS_BEFORE),
        "packing outvotes, this night": (ALL_OFF, "      disabled: [{name: NodeResourcesFit}]\n",
            "weight: 1}]\n  pluginConfig", "weight: 2}]\n  pluginConfig", f"another night: {AS_BEFORE}"),
        "as spread as ever": ("MostAllocated", "LeastAllocated", "they run on two nodes, as they did"),
        "nothing scores": (FIT, "", f"another night: {AS_BEFORE}"),
        "memory counts more": (AMOUNTS, AMOUNTS.replace("memory, weight: 1", "memory, weight: 3"),
            f"a night with much cpu in use: {AS_BEFORE}"),
        "balance still scores": (FIT, FIT.replace("}]", "}, {name: NodeResourcesBalancedAllocation, weight: 1}]"),
            f"a night with other pods: {AS_BEFORE}"),
        "preferred nodes still score": (FIT, FIT.replace("}]", "}, {name: NodeAffinity, weight: 2}]"),
            f"a night with other pods: {AS_BEFORE}"),
        "preferred neighbours still score": (FIT, FIT.replace("}]", "}, {name: InterPodAffinity, weight: 2}]"),
            f"a night with other pods: {AS_BEFORE}"),
        "cpu counts more": (AMOUNTS, AMOUNTS.replace("cpu, weight: 1", "cpu, weight: 9"),
            f"a night with much memory in use: {AS_BEFORE}"),
        "the default strategy": (
            f"  pluginConfig:\n  - name: NodeResourcesFit\n    args:\n      scoringStrategy:\n        type: MostAllocated\n        {AMOUNTS}\n",
            "",
            "they run on two nodes, as they did",
        ),
    },
    "13-gang": {
        "a gang of two": ("< size_of(pod)", "< 2", AT_ONCE),
        "the last one waits too": ("len(waiting) + 1 <", "len(waiting) <",
            "all of the film and all of the trailer have run"),
        "the others are not let go": ("held.allow(self.name)", "pass", AT_ONCE),
        "everybody is told": ("        for held in self.waiting(pod):\n            held.reject",
            "        for held in self.handle.waiting_pods():\n            held.reject",
            "two gangs wait, and one gives up: the other gang keeps its place until its own time is over"),
        "a second too patient": ("SECONDS = 30.0", "SECONDS = 31.0", BACK),
        "nobody is told": (GIVEN_UP, "pass", BACK),
        "they are let go instead": (GIVEN_UP, "held.allow(self.name)",
            "a gang whose third pod never comes: no gang starts in part"),
        "gangs mixed": ("gang is not None and gang_of(held.pod) == gang", "gang_of(held.pod)",
            "a gang too large for the cluster: no gang starts in part"),
        "nobody is held": ("return Status(Code.Wait), SECONDS", "return None, 0", AT_ONCE),
        "everybody is held": ("        if gang_of(pod) is None:\n            return None, 0\n",
            "        if gang_of(pod) is None:\n            return Status(Code.Wait), SECONDS\n",
            "a gang too large for the cluster: a pod of no gang is not held"),
    },
}  # fmt: skip
"""Exercise → mistake → texts of the solution and those in their place, a check that then fails."""

UNUSABLE: dict[str, tuple[str, ...]] = {
    "a share of a point": ("07-priority", CHEAP, "10 - cents / 10", "a score is a whole number"),
    "points below 0": ("07-priority", "max(0, 10 - cents // 10)", "10 - cents // 10", "not -15"),
    "a number that is none": ("08-predicate", "int(text) if text.isdecimal() else 0", "int(text)",
        "invalid literal for int()"),
    "an unknown priority": ("09-packing-policy", "MostRequestedPriority", "MostRequested", "MostRequested"),
    "points that are no numbers": ("10-extender", POINTS, f"{POINTS} / 3", "no decision on pod default/render"),
    "a plugin's name in a policy": ("09-packing-policy", "MostRequestedPriority", "NodeResourcesMostAllocated",
        "in a policy it is called MostRequestedPriority"),
    "a selector on the wrong level": ("05-spreading", "labelSelector: {matchLabels: {app: shop}}",
        "matchLabels: {app: shop}", "did you mean labelSelector.matchLabels?"),
    "a port without a number": ("06-pending", "{containerPort: 9100}", "{hostPort: 8080}",
        "containerPort: Required value"),
    "fewer disruptions than none": ("11-preemption", "disruptionsAllowed: 0", "disruptionsAllowed: -1",
        "disruptionsAllowed: Invalid value: -1"),
    "a budget of both kinds": ("11-preemption", "minAvailable: 1", "minAvailable: 1\n  maxUnavailable: 0",
        "minAvailable and maxUnavailable cannot be both set"),
    "no name of a strategy": ("12-migration", "MostAllocated", "mostAllocated", "mostAllocated"),
    "a key set twice in a configuration": ("12-migration", "        type: MostAllocated",
        "        type: LeastAllocated\n        type: MostAllocated", "set twice"),
}  # fmt: skip
"""Case → exercise, texts of its solution and those in their place, a part of the error: nothing is judged then."""


@pytest.mark.parametrize(
    ("name", "mistake"), [(name, mistake) for name, mistakes in WRONG.items() for mistake in mistakes]
)
def test_plausible_mistakes_fail(name: str, mistake: str, tmp_path: Path) -> None:
    """A mistake that students make fails at the check that is there for it."""
    *texts, check = WRONG[name][mistake]
    assert check in failing(checked_variant(name, texts, tmp_path))


@pytest.mark.parametrize("name", shipped_names())
def test_every_exercise_is_tried_with_wrong_answers(name: str) -> None:
    """Five mistakes at least, so that whoever writes an exercise thinks of them."""
    assert len(WRONG[name]) >= 5


@pytest.mark.parametrize("case", UNUSABLE)
def test_what_cannot_be_judged_is_an_error(case: str, tmp_path: Path) -> None:
    """A slip in a file, or code that raises, is neither passed nor failed."""
    name, *texts, said = UNUSABLE[case]
    with pytest.raises(InputError, match=said.replace("(", r"\(").replace(")", r"\)")):
        checked_variant(name, texts, tmp_path)


SAID: dict[str, tuple[str, ...]] = {
    "cpus for millicores": ("01-requests", *CPUS, "3 Insufficient cpu"),
    "another team's GPUs": ("02-taints", TOLERATIONS, TOLERATIONS + ", {key: gpu, value: audio, effect: NoSchedule}",
        "train tolerates gpu=audio too"),
    "every team's GPUs": ("02-taints", TOLERATIONS, "{key: gpu, operator: Exists}",
        "train tolerates gpu with other values too, by operator Exists"),
    "a skew of two": ("05-spreading", "maxSkew: 1", "maxSkew: 2", "their constraint has maxSkew 2"),
    "over nodes": ("05-spreading", "topology.kubernetes.io/zone", "kubernetes.io/hostname",
        "their constraint has topologyKey kubernetes.io/hostname"),
    "a wish": ("05-spreading", "DoNotSchedule", "ScheduleAnyway",
        "their constraint has whenUnsatisfiable ScheduleAnyway"),
    "no selector": ("05-spreading", f"{SHOP}\n", "", "no labelSelector, which counts nobody"),
    "others counted": ("05-spreading", SHOP, "        labelSelector: {}",
        "a labelSelector that counts 6 of these 6 pods and 2 other pods (old-b, old-c)"),
    "no constraint": ("05-spreading",
        "      - maxSkew: 1\n        topologyKey: topology.kubernetes.io/zone\n" + CONSTRAINT + SHOP + "\n", "",
        "they have no topologySpreadConstraints"),
    "a budget for nobody": ("11-preemption", "app: ledger", "name: ledger",
        "budget ledger selects no pod and lets 0 be disturbed"),
    "a budget for everybody": ("11-preemption", "    matchLabels: {app: ledger}", "    matchLabels: {}",
        "budget ledger selects ledger, report, search and lets 0 be disturbed"),
    "one may be disturbed": ("11-preemption", "disruptionsAllowed: 0", "disruptionsAllowed: 1",
        "budget ledger selects ledger and lets 1 be disturbed"),
    "a budget elsewhere": ("11-preemption", "{name: ledger}\nspec", "{name: ledger, namespace: shop}\nspec",
        "budget ledger in namespace shop selects no pod"),
    "one node is forgotten": ("10-extender", "for node in nodes_of(asked)\n    ]",
        "for node in nodes_of(asked)[1:]\n    ]",
        "north-1 has no score for render; the extender was asked and did not name it"),
}  # fmt: skip
"""Mistake → exercise, texts of its solution and those in their place, a part of what is found."""


@pytest.mark.parametrize("mistake", SAID)
def test_what_is_found_speaks_of_the_mistake(mistake: str, tmp_path: Path) -> None:
    """Of several mistakes with one outcome each is told by what was computed."""
    name, *texts, said = SAID[mistake]
    found = [one.found for one in checked_variant(name, texts, tmp_path).outcomes if one.found]
    assert [text for text in found if said in text], found


def test_an_answer_of_null_is_noted(tmp_path: Path) -> None:
    """A filter without return keeps no node and gives no reason, which a note says in so many words."""
    notes = checked_variant("10-extender", ('return {"nodes"', 'answer = {"nodes"'), tmp_path).notes
    assert notes[0] == (
        "extender.py: filter neither keeps nor refuses hot-1, hot-2, north-1, mild-1; an answer of null, as of a "
        "function without return, reads like this"
    )
