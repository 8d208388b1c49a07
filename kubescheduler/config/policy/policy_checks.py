"""Whether a policy can be used: what its faults are, for a person and in the words of the releases.

A release's checks yield each ``PolicyFault`` in the order in which the release looks for them; ``give_up`` stops where
it stops.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from algorithmprovider.registry import valid_name
from clusterstate.errors import ConfigError, RegistryError, nearest
from clusterstate.usage import is_extended_resource
from kubecel.api_names import qualified_name_errors, worded_1_20
from kubescheduler.config.go_decoding import show_path
from kubescheduler.framework.args.field_errors import invalid
from priorities.capacity_ratio import shape_error

if TYPE_CHECKING:
    from kubescheduler.config.go_decoding import Fault
    from kubescheduler.config.policy.policy_model import Policy, PredicatePolicy, PriorityPolicy
    from kubescheduler.extender.config import ExtenderConfig
    from kubescheduler.framework.args.field_errors import FieldError


FROM_POLICY = "couldn't create scheduler from policy: "
"""What releases 1.16 and 1.20 put before the texts of their checks; the fatal ones stand alone."""

MAX_TOTAL = 2**63 - 1

MAX_PRIORITY = 10

MAX_WEIGHT = MAX_TOTAL // MAX_PRIORITY


class PolicyFault(NamedTuple):
    """Something wrong with a policy."""

    problem: str
    """With its path, and what is to be done where that is known."""
    ends: str | None = None
    """The text with which the release gives up here, for all that it tells together; None: it does not notice yet."""


def told_together(
    problems: Iterable[tuple[str, str]], prefix: str, joined: Callable[[list[str]], str]
) -> list[PolicyFault]:
    """Faults of (path, message) that a release collects before it gives up."""
    faults = list(problems)
    ends = prefix + joined([message for _, message in faults]) if faults else None
    return [PolicyFault(f"{path}: {message}", ends) for path, message in faults]


def give_up(faults: Iterable[PolicyFault]) -> None:
    """Raises ConfigError with the text at which the release gives up; nothing if it does not."""
    for fault in faults:
        if fault.ends is not None:
            raise ConfigError(fault.ends)


class UnreadablePolicy(ConfigError):
    """A policy with faults of decoding; ``policy`` is what could be read of it."""

    def __init__(self, problems: Iterable[str], policy: Policy, faults: Iterable[Fault] = ()) -> None:
        super().__init__(problems)
        self.policy = policy
        self.faulty = tuple(show_path(fault.path) for fault in faults)
        """The paths of values of a wrong type."""


def checked_policy(read: Callable[[], Policy], faults_of: Callable[[Policy], Iterable[PolicyFault]]) -> Policy:
    """The policy that ``read`` decodes, when neither decoding nor ``faults_of`` finds a fault.

    Raises ConfigError with the faults of both: one of decoding hides only what follows from it.
    """
    try:
        policy = read()
    except UnreadablePolicy as error:
        problems = (fault.problem for fault in faults_of(error.policy))
        later = [problem for problem in problems if not _follows(problem.partition(": ")[0], error.faulty)]
        raise ConfigError([*error.problems, *later]) from error
    if faults := list(faults_of(policy)):
        raise ConfigError(fault.problem for fault in faults)
    return policy


def _follows(path: str, faulty: Iterable[str]) -> bool:
    """Whether a problem at ``path`` only comes of a value that could not be read."""
    return any(
        path == other
        or path.startswith((f"{other}.", f"{other}["))
        or other == f"{path}.name"
        or other.startswith(f"{path}.argument")
        for other in faulty
    )


# --- entries, releases 1.4 and 1.16 -----------------------------------------------------------


def _predicate_error(entry: PredicatePolicy, known: Collection[str]) -> str | None:
    """Why an entry cannot be registered; ``known`` are the names that are registered at that moment."""
    if entry.argument is None:
        found = entry.name in known
        return None if found else f"Invalid configuration: Predicate type not found for {entry.name}"
    if entry.argument.count != 1:
        count = entry.argument.count
        return f"Exactly 1 predicate argument is required, numArgs: {count}, Predicate: {entry.name}"
    return _name_error(entry.name)


def _priority_error(entry: PriorityPolicy, known: Collection[str]) -> str | None:
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


def registration_faults(
    policy: Policy, predicates: Iterable[str], priorities: Iterable[str], gated: Mapping[str, str] | None = None
) -> Iterator[PolicyFault]:
    """Of every entry in order, predicates first; a custom entry is known to those after it. The first ends the process.

    gated: name → the feature gate that registers it.
    """
    known, others, gates = set(predicates), set(priorities), gated or {}
    for at, predicate in enumerate(policy.predicates or ()):
        if error := _predicate_error(predicate, known):
            hint = _hint(predicate.name, known, error, gates, misplaced(others, "priority"))
            yield PolicyFault(f"predicates[{at}]: {error}{hint}", error)
        known.add(predicate.name)
    known, others = others, known
    for at, priority in enumerate(policy.priorities or ()):
        if error := _priority_error(priority, known):
            hint = _hint(priority.name, known, error, gates, misplaced(others, "predicate"))
            yield PolicyFault(f"priorities[{at}]: {error}{hint}", error)
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
    from kubescheduler.config.policy.policy_1_20_plugins import policy_name_hint

    return elsewhere.get(name) or policy_name_hint(name, known) or nearest(name, known)


# --- extenders, also of configurations --------------------------------------------------------


def extender_errors(
    extenders: Sequence[ExtenderConfig], worded: Callable[[str], str], foreign: Callable[[str], str]
) -> Iterator[FieldError]:
    """worded: a text about a name as the release has it. foreign: of a name that is no extended resource."""
    managed: set[str] = set()
    for at, extender in enumerate(extenders):
        path = f"extenders[{at}]"
        if extender.prioritize_verb and extender.weight <= 0:
            yield invalid(f"{path}.weight", extender.weight, "must have a positive weight applied to it")
        for number, resource in enumerate(extender.managed_resources):
            where, name = f"{path}.managedResources[{number}].name", resource.name
            texts = qualified_name_errors(name)
            yield from (invalid(where, name, worded(text)) for text in texts)
            if not texts and not is_extended_resource(name):
                yield invalid(where, name, foreign(name))
            if name in managed:
                yield invalid(where, name, "duplicate extender managed resource name")
            managed.add(name)
    binders = sum(bool(extender.bind_verb) for extender in extenders)
    if binders > 1:
        text = "only one extender can implement bind"
        yield invalid("extenders", f"found {binders} extenders implementing bind", text)


def extender_errors_1_20(extenders: Sequence[ExtenderConfig]) -> Iterator[FieldError]:
    """The faults of extenders, which policies have too."""
    return extender_errors(extenders, worded_1_20, lambda name: f"{name} is an invalid extended resource name")
