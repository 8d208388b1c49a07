"""How the inputs of scores are written: amounts with their units, labels and selectors on one line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from clusterstate.growable import IntArray
from clusterstate.nodecolumn import ABSENT
from clusterstate.objects import LabelSelector, NodeSelectorTerm, Requirement
from clusterstate.quantity import format_quantity
from clusterstate.selectors.matching import Matcher
from clusterstate.snapshot import Snapshot
from clusterstate.usage import CPU, EPHEMERAL_STORAGE, MEMORY

BYTES = (MEMORY, EPHEMERAL_STORAGE)


def amount(resource: str, number: int) -> str:
    """``500m`` of cpu (in millicores), ``200Mi`` of what is counted in bytes, a plain number of all else."""
    if resource == CPU:
        return f"{number}m"
    return size(number) if resource in BYTES else str(number)


def size(number: int) -> str:
    """A number of bytes."""
    return format_quantity(number * 1000, binary=True)


def resource_inputs(resources: Iterable[str], requested: IntArray, allocatable: IntArray) -> dict[str, dict[str, str]]:
    """Of each resource what its pods ask for, the incoming one included, and what the node has; (k,) amounts."""
    pairs = zip(resources, requested.tolist(), allocatable.tolist(), strict=True)
    return {
        name: {"requested": amount(name, wanted), "allocatable": amount(name, there)} for name, wanted, there in pairs
    }


def labels_text(labels: Mapping[str, str]) -> str:
    """``app=web,tier=front``."""
    return ",".join(f"{key}={value}" for key, value in labels.items()) or "no labels"


def requirements_text(requirements: Iterable[Requirement]) -> str:
    """``disk In (ssd), zone Exists``."""
    return ", ".join(
        f"{r.key} {r.operator} ({', '.join(r.values)})" if r.values else f"{r.key} {r.operator}" for r in requirements
    )


def term_text(term: NodeSelectorTerm) -> str:
    """What a node selector term asks for."""
    return requirements_text((*term.match_expressions, *term.match_fields)) or "nothing"


def selector_text(selector: Mapping[str, str] | LabelSelector | Matcher | None) -> str:
    """What a selector asks for."""
    if selector is None:
        return "nothing"
    if isinstance(selector, Matcher):
        return "nothing" if selector.never else requirements_text(selector.requirements) or "everything"
    if isinstance(selector, LabelSelector):
        pairs = [labels_text(selector.match_labels)] if selector.match_labels else []
        return ", ".join([*pairs, requirements_text(selector.match_expressions)]).strip(", ") or "everything"
    return labels_text(selector) if selector else "everything"


def domain_text(snapshot: Snapshot, key: str, at: int) -> str:
    """``zone=a``, the topology domain of a row, or that it has none."""
    code = int(snapshot.label_codes(key)[0][at])
    return f"no {key}" if code == ABSENT else f"{key}={snapshot.label_values(key)[code]}"


def zone_text(zone: tuple[str, ...] | str) -> str:
    """``eu, eu-1``: a region and a zone, in either form of a zone key."""
    parts = zone.split(":\0:") if isinstance(zone, str) else zone
    return ", ".join(part for part in parts if part)
