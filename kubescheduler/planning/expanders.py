"""How the Cluster Autoscaler chooses among node groups that could be expanded: its expanders.

Upstream: kubernetes/autoscaler, cluster-autoscaler/expander of 1.36.1, the same in 1.35.2: random/random.go,
mostpods/mostpods.go, leastnodes/leastnodes.go, waste/waste.go, price/price.go with price/preferred.go, priority/
priority.go, and factory/chain.go, by which several go one after the other and what is left is drawn.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from clusterstate.errors import ConfigError, nearest
from clusterstate.manifests.fields import describe
from clusterstate.objects import Node, Pod
from clusterstate.usage import CPU, MEMORY, as_asked, pod_requests
from kubescheduler.planning.shapes import Shape

EXPANDERS = ("least-waste", "least-nodes", "most-pods", "price", "priority", "random")
"""Those of upstream but ``grpc``, which asks a server of the user's."""
NODES_A_SCALE_UP = 1000
"""Upstream: the default of --max-nodes-per-scaleup."""
GPUS = ("nvidia.com/gpu", "habana.ai/gaudi", "gpu.intel.com/xe", "amd.com/gpu", "microsoft.com/directx")
"""Resources of which a node with any has GPUs. Upstream: GPUVendorResourceNames."""
MIB = 1024**2

LOWEST = -1
"""Upstream: what the highest priority begins with; a lower one counts as none."""
GPU_UNFITNESS = 1000.0
"""Upstream: gpuUnfitnessOverride. It keeps groups with GPUs for pods that need them."""
NOT_THERE = 2.0
"""Upstream: notExistCoeficient. What a group that is yet to be created costs more."""
STABILIZING = {CPU: 500, MEMORY: 500 * MIB}
"""Millicores and bytes of a pod that is added on both sides, so that few pods do not make ratios jump. Upstream:
priceStabilizationPod."""
PREFERRED = ((2, 1000), (6, 2000), (20, 4000), (60, 8000), (200, 16000))
"""(nodes at most, millicores of the node that such a cluster should have). Upstream: SimplePreferredNodeProvider."""
LARGEST_PREFERRED = 32000


class ExpansionOption(msgspec.Struct, frozen=True, eq=False):
    """A group that could be expanded, by so many nodes, for these pods."""

    group: str
    node: Node
    """Its template."""
    nodes: int
    pods: tuple[Pod, ...]
    exists: bool = True
    """Whether the group is there already; otherwise it would be created."""


Chooser = Callable[[Sequence[ExpansionOption]], Sequence[ExpansionOption]]
"""The best of some options; several where they are as good."""


class Prices(msgspec.Struct, frozen=True, eq=False):
    """What nodes and pods cost in an hour; a KeyError of either leaves an option out."""

    node: Callable[[Node], float]
    pod: Callable[[Pod], float]
    stabilizing: float
    """That of the pod ``STABILIZING``."""


def requests(pods: Iterable[Pod], resource: str) -> int:
    """What pods ask for, in thousandths: init containers, overhead and the pod's own resources count, as in the
    scheduler. Upstream: resourcesForPods, PodRequests."""
    return sum(pod_requests(pod.spec, pod.spec.in_use or as_asked(pod.spec)).get(resource, 0) for pod in pods)


def gpu_of(node: Node) -> str | None:
    """The first resource by which a node has GPUs. Upstream: NodeHasGpuAllocatable; labels are a cloud provider's."""
    return next((name for name in GPUS if node.allocatable.get(name, 0) > 0), None)


def least_nodes(options: Sequence[ExpansionOption]) -> list[ExpansionOption]:
    """Those with the fewest nodes."""
    some = [option for option in options if option.nodes]
    least = min((option.nodes for option in some), default=0)
    return [option for option in some if option.nodes == least]


def most_pods(options: Sequence[ExpansionOption]) -> list[ExpansionOption]:
    """Those for the most pods."""
    most = max((len(option.pods) for option in options), default=0)
    return [option for option in options if len(option.pods) == most]


def waste(option: ExpansionOption) -> float:
    """The shares of cpu and memory of the new nodes that the pods do not ask for, added up, by capacity."""
    total = 0.0
    for resource in (CPU, MEMORY):
        there = option.node.capacity.get(resource, 0) * option.nodes
        total += (there - requests(option.pods, resource)) / there if there else math.nan
    return total


def least_waste(options: Sequence[ExpansionOption]) -> list[ExpansionOption]:
    """Those that waste least."""
    best: list[ExpansionOption] = []
    least = 0.0
    for option in options:
        score = waste(option)
        if best and score == least:
            best.append(option)
        elif not best or score < least:
            best, least = [option], score
    return best


def preferred_cpu(nodes: int) -> int:
    """Millicores of the node that a cluster with so many nodes should have."""
    return next((cpu for most, cpu in PREFERRED if nodes <= most), LARGEST_PREFERRED)


def price_score(option: ExpansionOption, prices: Prices, preferred: int) -> float:
    """What an option costs for what its pods are worth, times how unlike the preferred node its nodes are; that counts
    less the more nodes there are. preferred: millicores. Raises KeyError where somebody has no price."""
    nodes = prices.node(option.node) * option.nodes
    pods = sum(map(prices.pod, option.pods))
    ratio = (nodes + prices.stabilizing) / (pods + prices.stabilizing)
    cpu = option.node.capacity.get(CPU, 0)
    unfitness = max(preferred / cpu, cpu / preferred) if cpu else math.inf
    suppressed = (unfitness - 1.0) * (1.0 - math.tanh((option.nodes - 1) / 15.0)) + 1.0
    if gpu_of(option.node) is not None:
        suppressed = GPU_UNFITNESS
    return suppressed * ratio * (1.0 if option.exists else NOT_THERE)


def cheapest(options: Sequence[ExpansionOption], prices: Prices, preferred: int) -> list[ExpansionOption]:
    """Those with the lowest score; none where nothing has a price."""
    scores: list[tuple[float, ExpansionOption]] = []
    for option in options:
        try:
            scores.append((price_score(option, prices, preferred), option))
        except KeyError:
            continue
    lowest = min((score for score, _ in scores), default=0.0)
    return [option for score, option in scores if score == lowest]


def by_priority(options: Sequence[ExpansionOption], priorities: Mapping[int, Sequence[str]]) -> list[ExpansionOption]:
    """Those whose name matches an expression of the highest priority that matches any; all where none does.

    priorities: as in the ConfigMap cluster-autoscaler-priority-expander, of RE2 expressions that match anywhere.
    """
    import re2  # type: ignore[import-untyped]

    counted = {number: texts for number, texts in priorities.items() if number >= LOWEST}
    found = {
        id(option): max(
            (number for number, texts in counted.items() if any(re2.search(text, option.group) for text in texts)),
            default=None,
        )
        for option in options
    }
    highest = max((number for number in found.values() if number is not None), default=None)
    return [option for option in options if found[id(option)] == highest]


def chosen(
    options: Sequence[ExpansionOption], choosers: Iterable[Chooser], rng: random.Random
) -> ExpansionOption | None:
    """The one that is left by one chooser after the other, or drawn from those that are; None where none is."""
    left = list(options)
    for choose in choosers:
        left = list(choose(left))
        if len(left) <= 1:
            break
    return rng.choice(left) if left else None


class Expander(msgspec.Struct, frozen=True):
    """How the autoscaler is told to choose."""

    names: tuple[str, ...] = (EXPANDERS[0],)
    """One after the other."""
    priorities: Mapping[int, Sequence[str]] | None = None
    seed: int | None = None
    """Of what is drawn."""
    most: int = NODES_A_SCALE_UP
    """Nodes that it adds at a time; 0: any number."""

    def choosers(self, shapes: Sequence[Shape], nodes: int) -> list[Chooser]:
        """What chooses among groups of these shapes. nodes: of the cluster, whose size says which node is preferred."""
        known: dict[str, Chooser] = {
            "least-waste": least_waste,
            "least-nodes": least_nodes,
            "most-pods": most_pods,
            "random": lambda options: options,
            "price": lambda options: cheapest(options, prices_by(shapes), preferred_cpu(nodes)),
            "priority": lambda options: by_priority(options, self.priorities or {}),
        }
        return [known[name] for name in self.names]


def prices_by(shapes: Sequence[Shape]) -> Prices:
    """Nodes at the price of their shape, and pods at what is our own: half of what their cpu costs where that is
    cheapest and half of what their memory does.

    Upstream a cloud provider says both (cloudprovider.PricingModel; in 1.36.1 those of gce, equinixmetal, scaleway and
    externalgrpc do). That of gce is as linear, by its list prices of cpu, memory and local storage: "a theoretical
    minimum price of running a pod on a perfectly matching machine" (gce_price_model.go).
    """
    by_name = {shape.name: float(shape.price) for shape in shapes if shape.price is not None}

    def rate(resource: str) -> float:
        offered = ((by_name[each.name], each.node.capacity.get(resource, 0)) for each in shapes if each.name in by_name)
        return min((price / there for price, there in offered if there), default=0.0)

    rates = {resource: rate(resource) / 2 for resource in (CPU, MEMORY)}
    thousandths = {CPU: STABILIZING[CPU], MEMORY: 1000 * STABILIZING[MEMORY]}
    return Prices(
        lambda node: by_name[node.name],
        lambda pod: sum(requests((pod,), resource) * rates[resource] for resource in rates),
        sum(thousandths[resource] * rates[resource] for resource in rates),
    )


def checked_expanders(text: str, *, priced: bool, priorities: object) -> tuple[str, ...]:
    """The names of ``priority,least-waste``. Raises ConfigError with everything that is wrong, also of what they need.

    priced: whether shapes have prices. priorities: None where there are none.
    """
    names = tuple(part.strip() for part in text.split(","))
    problems = [
        f"expander: {name!r} is not known; known are {', '.join(EXPANDERS)}{nearest(name, EXPANDERS)}"
        for name in names
        if name not in EXPANDERS
    ]
    problems += [f"expander: {name} is there more than once" for name in dict.fromkeys(names) if names.count(name) > 1]
    if "random" in names[:-1]:
        problems.append("expander: random leaves one group, so that nothing may come after it")
    if "price" in names and not priced:
        problems.append("expander: price needs shapes with a price")
    if "priority" in names and priorities is None:
        problems.append("expander: priority needs --priorities (in Python priorities=)")
    if problems:
        raise ConfigError(problems)
    return names


def priorities_of(document: Mapping[Any, Any], where: str) -> dict[int, list[str]]:
    """The priorities of a ConfigMap's document, or of what stands under ``priorities`` in its data.

    Raises ConfigError with every fault, with its path.
    """
    import re2

    problems: list[str] = []
    found: dict[int, list[str]] = {}
    for key, texts in document.items():
        number = int(key) if re.fullmatch(r"-?[0-9]+", str(key)) else None
        if number is None:
            problems.append(f"{where}: {key}: must be a whole number, the priority")
            continue
        if not isinstance(texts, list):
            problems.append(f"{where}: {key}: must be a list of expressions, not {describe(texts)}")
            continue
        for at, text in enumerate(texts):
            try:
                re2.compile(text)
            except (re2.error, TypeError) as error:
                problems.append(f"{where}: {key}[{at}]: {describe(text)} is no expression: {error}")
        found[number] = texts
    if not document:
        problems.append(f"{where}: priority configuration is empty")
    if problems:
        raise ConfigError(problems)
    return found
