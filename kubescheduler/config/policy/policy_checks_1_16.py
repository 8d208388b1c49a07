"""Whether a decoded policy can be used, in the words and in the order of release 1.16.

Every rule yields (path, message). ``check_policy`` stops where the release stops and gives its text;
``policy_problems`` reports all of it, with paths and suggestions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from algorithmprovider.registry import valid_name
from clusterstate.errors import ConfigError, RegistryError, nearest
from clusterstate.resource_names import is_extended_resource
from kubecel.api_names import qualified_name_errors
from priorities.capacity_ratio import shape_error

if TYPE_CHECKING:
    from kubescheduler.config.policy.policy_model import Policy, PredicatePolicy, PriorityPolicy

FROM_POLICY = "couldn't create scheduler from policy: "
"""What the release puts before the texts of its checks; the fatal ones stand alone."""

MAX_TOTAL = 2**63 - 1
MAX_PRIORITY = 10
MAX_WEIGHT = MAX_TOTAL // MAX_PRIORITY

Problem = tuple[str, str]
"""(path, message)."""


def aggregate(messages: Iterable[str]) -> str:
    """Several messages as the release joins them: each once, in brackets unless there is but one."""
    distinct = list(dict.fromkeys(messages))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


# --- first checks: all messages are collected ----------------------------------------------


def validate_policy(policy: Policy) -> list[str]:
    """The messages of the release's policy validation, in its order. Upstream: 1.16 ``ValidatePolicy``."""
    return [message for _, message in _validation(policy)]


def _validation(policy: Policy) -> Iterator[Problem]:
    for at, priority in enumerate(policy.priorities or ()):
        if not 0 < priority.weight < MAX_WEIGHT:
            text = f"Priority {priority.name} should have a positive weight applied to it or it has overflown"
            yield f"priorities[{at}].weight", text
    managed: set[str] = set()
    for at, extender in enumerate(policy.extenders):
        path = f"extenders[{at}]"
        if extender.prioritize_verb and extender.weight <= 0:
            text = f"Priority for extender {extender.name} should have a positive weight applied to it"
            yield f"{path}.weight", text
        names = [resource.name for resource in extender.managed_resources]
        yield from _managed_resources(f"{path}.managedResources", names, managed)
    binders = sum(bool(extender.bind_verb) for extender in policy.extenders)
    if binders > 1:
        yield "extenders", f"Only one extender can implement bind, found {binders}"


def _managed_resources(path: str, names: Iterable[str], seen: set[str]) -> Iterator[Problem]:
    for at, name in enumerate(names):
        where = f"{path}[{at}].name"
        errors = qualified_name_errors(name)
        yield from ((where, error) for error in errors)
        if not errors and not is_extended_resource(name):
            yield where, f"{name} is an invalid extended resource name"
        if name in seen:
            yield where, f"Duplicate extender managed resource name {name}"
        seen.add(name)


# --- registration: the first fault ends the process ----------------------------------------


def predicate_error(entry: PredicatePolicy, known: Collection[str]) -> str | None:
    """Why an entry cannot be registered; ``known`` are the names that are registered at that moment."""
    if entry.argument is None:
        found = entry.name in known
        return None if found else f"Invalid configuration: Predicate type not found for {entry.name}"
    if entry.argument.count != 1:
        count = entry.argument.count
        return f"Exactly 1 predicate argument is required, numArgs: {count}, Predicate: {entry.name}"
    return _name_error(entry.name)


def priority_error(entry: PriorityPolicy, known: Collection[str]) -> str | None:
    """Why an entry cannot be registered; ``known`` are the names that are registered at that moment."""
    if entry.argument is None:
        found = entry.name in known
        return None if found else f"Invalid configuration: Priority type not found for {entry.name}"
    if entry.argument.count != 1:
        count = entry.argument.count
        return f"Exactly 1 priority argument is required, numArgs: {count}, Priority: {entry.name}"
    ratio = entry.argument.requested_to_capacity_ratio
    if ratio is not None and (error := shape_error(ratio.shape)):
        return f"invalid RequestedToCapacityRatioPriority arguments: {error}"
    return _name_error(entry.name)


def _name_error(name: str) -> str | None:
    try:
        valid_name(name)
    except RegistryError as error:
        return str(error)
    return None


GATED = {
    **dict.fromkeys(
        ("CheckNodeCondition", "CheckNodeMemoryPressure", "CheckNodeDiskPressure", "CheckNodePIDPressure"),
        "TaintNodesByCondition=false",
    ),
    "EvenPodsSpread": "EvenPodsSpread=true",
    "EvenPodsSpreadPriority": "EvenPodsSpread=true",
    "ResourceLimitsPriority": "ResourceLimitsPriorityFunction=true",
}
"""Name that release 1.16 registers only under a feature gate → the gate."""


def registration_problems(
    policy: Policy, predicates: Iterable[str], priorities: Iterable[str], gated: Mapping[str, str] | None = None
) -> Iterator[tuple[str, str, str]]:
    """(path, message, hint) of every entry in order, predicates first; a custom entry is known to those after it.

    gated: name → the feature gate that registers it.
    """
    known, others, gates = set(predicates), set(priorities), gated or {}
    for at, predicate in enumerate(policy.predicates or ()):
        if error := predicate_error(predicate, known):
            yield f"predicates[{at}]", error, _hint(predicate.name, known, error, gates, misplaced(others, "priority"))
        known.add(predicate.name)
    known, others = others, known
    for at, priority in enumerate(policy.priorities or ()):
        if error := priority_error(priority, known):
            hint = _hint(priority.name, known, error, gates, misplaced(others, "predicate"))
            yield f"priorities[{at}]", error, hint
        known.add(priority.name)


def misplaced(names: Iterable[str], what: str) -> dict[str, str]:
    """Name of the other list → what to do with an entry of that name."""
    lists = {"priority": "priorities, with a weight", "predicate": "predicates"}
    return dict.fromkeys(names, f"; it is a {what}: move it to {lists[what]}")


def _hint(name: str, known: Collection[str], error: str, gated: Mapping[str, str], elsewhere: Mapping[str, str]) -> str:
    if "type not found" not in error:
        return ""
    if name in gated:
        return f"; --feature-gates {gated[name]} registers it"
    from kubescheduler.config.policy.policy_1_20_names import policy_name_hint

    return elsewhere.get(name) or policy_name_hint(name, known) or nearest(name, known)


# --- later checks --------------------------------------------------------------------------


def hard_weight_error(weight: int) -> str | None:
    """The text for a weight of required pod affinity out of range; ``weight`` is the one in effect."""
    if 1 <= weight <= 100:
        return None
    return f"invalid hardPodAffinitySymmetricWeight: {weight}, must be in the range 1-100"


def total_weight_error(weights: Mapping[str, int]) -> str | None:
    """The text for weights (selected priority → weight) whose sum of highest scores overflows, in name order."""
    total = 0
    for name in sorted(weights):
        highest = MAX_PRIORITY * weights[name]
        if highest > MAX_TOTAL - total:
            return "total priority of priority functions has overflown"
        total += highest
    return None


def priority_weights(policy: Policy, defaults: Mapping[str, int]) -> dict[str, int]:
    """Selected priority → weight: the last entry of a name counts; ``defaults`` when the policy has no list."""
    if policy.priorities is None:
        return dict(defaults)
    return {priority.name: priority.weight for priority in policy.priorities}


def _later(policy: Policy, hard_weight: int, defaults: Mapping[str, int]) -> Iterator[Problem]:
    if error := hard_weight_error(policy.hard_weight(hard_weight)):
        yield "hardPodAffinitySymmetricWeight", error
    if error := total_weight_error(priority_weights(policy, defaults)):
        yield "priorities", error


# --- all of it -----------------------------------------------------------------------------


def check_policy(
    policy: Policy,
    predicates: Collection[str],
    priorities: Collection[str],
    *,
    hard_weight: int,
    defaults: Mapping[str, int],
) -> None:
    """Raises ConfigError with the text at which the release gives up.

    predicates, priorities: the registered names. hard_weight: the configured weight of required pod affinity.
    defaults: DefaultProvider's priorities and their weights.
    """
    if messages := validate_policy(policy):
        raise ConfigError(FROM_POLICY + aggregate(messages))
    for _, fatal, _ in registration_problems(policy, predicates, priorities):
        raise ConfigError(fatal)
    for _, message in _later(policy, hard_weight, defaults):
        raise ConfigError(FROM_POLICY + message)


def policy_problems(
    policy: Policy,
    predicates: Collection[str],
    priorities: Collection[str],
    *,
    hard_weight: int,
    defaults: Mapping[str, int],
) -> list[str]:
    """Every problem of every check as ``path: message``, with the nearest known name; arguments as ``check_policy``."""
    invalid = list(_validation(policy))
    reported = {path.partition("[")[0] for path, _ in invalid}  # a sum of wrong weights is no fault of its own
    problems = [
        *invalid,
        *((path, error + hint) for path, error, hint in registration_problems(policy, predicates, priorities, GATED)),
        *(problem for problem in _later(policy, hard_weight, defaults) if problem[0] not in reported),
    ]
    return [f"{path}: {message}" for path, message in problems]
