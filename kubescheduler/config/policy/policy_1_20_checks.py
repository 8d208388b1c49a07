"""Whether a decoded policy can be used, in the words and in the order of release 1.20.

``check_policy_1_20`` stops where the release stops and gives its text; ``policy_problems_1_20`` reports all of it, with
paths and suggestions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from clusterstate.errors import ConfigError, nearest
from kubecel.api_names import go_quote
from kubescheduler.config.extender_checks import extender_errors_1_20
from kubescheduler.config.policy.policy_1_20_names import (
    EQUAL,
    EVEN_SPREAD,
    INTER_POD_AFFINITY,
    LABEL_PLUGIN,
    PREDICATE_ALIASES,
    PREDICATES,
    PRIORITIES,
    PRIORITY_ALIASES,
    RATIO_PLUGIN,
    SELECTOR_SPREAD,
    SERVICE_PLUGIN,
    policy_name_hint,
    predicate_name,
    priority_name,
)
from kubescheduler.config.policy.policy_1_20_plugins import collect
from kubescheduler.config.policy.policy_checks_1_16 import FROM_POLICY, GATED, MAX_WEIGHT, misplaced
from kubescheduler.framework.args.field_errors import FieldError, aggregate, invalid
from kubescheduler.framework.plugins.node_label import PLUGIN_1_20 as NODE_LABEL

if TYPE_CHECKING:
    from kubescheduler.config.policy.policy_model import (
        Policy,
        PriorityArgument,
        PriorityPolicy,
        RequestedToCapacityRatio,
    )

TAINTED = frozenset(name for name, gate in GATED.items() if gate.startswith("TaintNodesByCondition"))
"""Predicates of 1.16 whose conditions are taints since."""
FATAL = "fatal: "
"""What is put before a text with which the process ends itself."""
PANIC = "panic: runtime error: invalid memory address or nil pointer dereference"
"""The release's own end on two names of priorities."""

# --- first checks: all messages are collected ----------------------------------------------


def validation_1_20(policy: Policy) -> Iterator[FieldError]:
    """Upstream: 1.20 ValidatePolicy."""
    seen: dict[str, PriorityPolicy] = {}
    for at, priority in enumerate(policy.priorities or ()):
        if not 0 < priority.weight < MAX_WEIGHT:
            text = f"priority {priority.name} should have a positive weight applied to it or it has overflown"
            yield FieldError(f"priorities[{at}].weight", text)
        if priority.argument is not None and (error := _custom_error(priority, priority.argument, seen)):
            yield FieldError(f"priorities[{at}]", error)
    yield from extender_errors_1_20(policy.extenders)
    weight = policy.hard_pod_affinity_symmetric_weight
    if not 0 <= weight <= 100:
        yield invalid("hardPodAffinitySymmetricWeight", weight, "not in valid range [0-100]")


def _custom_error(priority: PriorityPolicy, argument: PriorityArgument, seen: dict[str, PriorityPolicy]) -> str | None:
    """What is wrong between this priority and the last of its kind; ``seen`` is brought up to date."""
    if argument.label_preference is not None:
        kind = "LabelPreference"
    elif argument.service_anti_affinity is not None:
        kind = "ServiceAntiAffinity"
    elif argument.requested_to_capacity_ratio is not None:
        kind = RATIO_PLUGIN
    else:
        return f"no priority arguments set for priority {priority.name}"
    earlier = seen.get(kind)
    this, other = go_quote(priority.name), go_quote(earlier.name if earlier else "")
    if earlier is not None and kind == RATIO_PLUGIN:
        return f"priority {this} redeclares custom priority {go_quote(kind)}, from: {other}"
    if earlier is not None and earlier.weight != priority.weight:
        return f"{kind}  priority {this} has a different weight with {other}"
    seen[kind] = priority
    return None


# --- registration: the first fault ends the process ----------------------------------------


class Fatal(msgspec.Struct, frozen=True):
    """An entry for which the release's process ends."""

    path: str
    text: str
    hint: str = ""
    """The nearest known name."""


def registration_problems_1_20(policy: Policy) -> Iterator[Fatal]:
    """Every entry that ends the process, predicates first."""
    for at, predicate in enumerate(policy.predicates or ()):
        count = None if predicate.argument is None else predicate.argument.count
        if count not in (None, 1):
            text = f"Exactly 1 predicate argument is required, numArgs: {count}, Predicate: {predicate.name}"
            yield Fatal(f"predicates[{at}]", text)
        elif count is None and (name := predicate_name(predicate.name)) not in PREDICATES:
            text = f"Invalid configuration: Predicate type not found for {go_quote(name)}"
            yield Fatal(f"predicates[{at}]", text, _predicate_hint(name))
    for at, priority in enumerate(policy.priorities or ()):
        count = None if priority.argument is None else priority.argument.count
        if priority.name == EQUAL:
            continue
        if count not in (None, 1):
            text = f"Exactly 1 priority argument is required, numArgs: {count}, Priority: {priority.name}"
            yield Fatal(f"priorities[{at}]", text)
        elif count is None and (name := priority_name(priority.name)) not in PRIORITIES:
            text = f"Invalid configuration: Priority type not found for {go_quote(name)}"
            others = misplaced({*PREDICATES, *PREDICATE_ALIASES}, "predicate")
            hint = (
                others.get(name)
                or policy_name_hint(name, PRIORITIES)
                or nearest(name, {*PRIORITIES, *PRIORITY_ALIASES, EQUAL})
            )
            yield Fatal(f"priorities[{at}]", text, hint)


def _predicate_hint(name: str) -> str:
    if name in TAINTED:
        return "; 1.20 has taints for it, which PodToleratesNodeTaints heeds: take it out"
    others = misplaced({*PRIORITIES, *PRIORITY_ALIASES, EQUAL}, "priority")
    return others.get(name) or policy_name_hint(name, PREDICATES) or nearest(name, {*PREDICATES, *PREDICATE_ALIASES})


def crash_problems_1_20(policy: Policy) -> Iterator[FieldError]:
    """The priorities on whose names the release crashes: no entry with an argument has made their plugin's args."""
    predicates = [p.argument for p in policy.predicates or () if predicate_name(p.name) not in PREDICATES]
    priorities = [p.argument for p in policy.priorities or () if priority_name(p.name) not in PRIORITIES]
    made = {
        LABEL_PLUGIN: any(a and a.labels_presence for a in predicates)
        or any(a and a.label_preference for a in priorities),
        SERVICE_PLUGIN: any(a and a.service_affinity for a in predicates)
        or any(a and a.service_anti_affinity for a in priorities),
    }
    for at, priority in enumerate(policy.priorities or ()):
        if not made.get(priority.name, True):
            text = f"release 1.20 crashes on the name {priority.name}; give the priority another name and an argument"
            yield FieldError(f"priorities[{at}]", text)


# --- args -------------------------------------------------------------------------------------


def _args_problems(policy: Policy) -> Iterator[FieldError]:
    for at, priority in enumerate(policy.priorities or ()):
        ratio = priority.argument.requested_to_capacity_ratio if priority.argument else None
        if priority.name == RATIO_PLUGIN:
            text = f"at least one point must be specified: the name {RATIO_PLUGIN} passes over the argument"
            yield FieldError(f"priorities[{at}]", f"{text}; give the priority another name")
        elif ratio is not None and priority_name(priority.name) not in PRIORITIES and priority.name != EQUAL:
            yield from _ratio_problems(f"priorities[{at}].argument.requestedToCapacityRatioArguments", ratio)


def _label_problems(policy: Policy) -> Iterator[FieldError]:
    """The entries with labels, which add up to one plugin. To be asked of a policy whose entries can be registered."""
    assert NODE_LABEL.args is not None
    labels = collect(policy)[2].label
    for fault in () if labels is None else NODE_LABEL.args.errors(labels):
        yield FieldError("predicates and priorities with labels", fault.detail)


def _ratio_problems(path: str, ratio: RequestedToCapacityRatio) -> Iterator[FieldError]:
    if not ratio.shape:
        yield FieldError(f"{path}.shape", "at least one point must be specified")
    for at, (before, here) in enumerate(pairwise(ratio.shape), 1):
        if before.utilization >= here.utilization:
            text = f"utilization values must be sorted: {before.utilization} >= {here.utilization}"
            yield FieldError(f"{path}.shape[{at}].utilization", text)
    for at, point in enumerate(ratio.shape):
        if not 0 <= point.utilization <= 100:
            yield FieldError(f"{path}.shape[{at}].utilization", f"{point.utilization} is not in the range 0-100")
        if not 0 <= point.score <= 10:
            yield FieldError(f"{path}.shape[{at}].score", f"{point.score} is not in the range 0-10")
    for at, (name, weight) in enumerate(ratio.resources):
        if weight < 1:
            text = f"resource {name} weight {weight} must not be less than 1"
            yield FieldError(f"{path}.resources[{at}].weight", text)


# --- all of it -----------------------------------------------------------------------------


def check_policy_1_20(policy: Policy) -> None:
    """Raises ConfigError with the text at which the release gives up; plugins check their args later."""
    if faults := list(validation_1_20(policy)):
        raise ConfigError(FROM_POLICY + aggregate(faults))
    for fatal in registration_problems_1_20(policy):
        raise ConfigError(FATAL + fatal.text)
    for _ in crash_problems_1_20(policy):
        raise ConfigError(PANIC)


def policy_problems_1_20(policy: Policy) -> list[str]:
    """Every problem of every check as ``path: message``, with the nearest known name."""
    fatal = list(registration_problems_1_20(policy))
    labels = () if fatal else _label_problems(policy)
    return [
        *(fault.problem for fault in validation_1_20(policy)),
        *(f"{fault.path}: {fault.text}{fault.hint}" for fault in fatal),
        *(fault.problem for fault in (*crash_problems_1_20(policy), *_args_problems(policy), *labels)),
    ]


def policy_notes_1_20(policy: Policy, feature_gates: Mapping[str, bool]) -> tuple[str, ...]:
    """What the release passes over in silence, in plain words."""
    return (*_entry_notes(policy), *_policy_notes(policy, feature_gates))


def _entry_notes(policy: Policy) -> Iterator[str]:
    known = "the argument is passed over, as the release knows the name already"
    for at, predicate in enumerate(policy.predicates or ()):
        if predicate.argument is not None and predicate_name(predicate.name) in PREDICATES:
            yield f"predicates[{at}]: {known}; give {predicate.name} another name to use it"
    for at, priority in enumerate(policy.priorities or ()):
        if priority.name == EQUAL:
            yield f"priorities[{at}]: {EQUAL} is passed over"
        elif priority.argument is not None and priority_name(priority.name) in PRIORITIES:
            yield f"priorities[{at}]: {known}; give {priority.name} another name to use it"


def _policy_notes(policy: Policy, feature_gates: Mapping[str, bool]) -> Iterator[str]:
    if policy.priorities is None:
        return
    names = {priority_name(priority.name) for priority in policy.priorities}
    if policy.hard_pod_affinity_symmetric_weight and INTER_POD_AFFINITY not in names:
        yield f"hardPodAffinitySymmetricWeight: it has no effect without {INTER_POD_AFFINITY}"
    if feature_gates["DefaultPodTopologySpread"] and {SELECTOR_SPREAD, EVEN_SPREAD} <= names:
        yield (
            f"priorities: {SELECTOR_SPREAD} and {EVEN_SPREAD} are the one plugin PodTopologySpread; "
            f"the weight of {EVEN_SPREAD} counts"
        )
