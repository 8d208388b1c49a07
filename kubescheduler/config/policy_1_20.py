"""Policies as release 1.20 decodes and checks them, and the configuration it makes of one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import attrs
import msgspec

from clusterstate.errors import ConfigError, nearest
from kubecel.api_names import go_quote
from kubescheduler.config.go_decoding import (
    Fault,
    GoDecoder,
    KeyPath,
    UnknownKey,
    behind_notes,
    ignored_notes,
    refused_key,
    text_problems,
    twice_problems,
    unknown_problem,
)
from kubescheduler.config.policy_1_16 import (
    GATED,
    INTERNAL_VERSIONS,
    around,
    around_extender,
    checked_type,
    misplaced,
    type_problem,
)
from kubescheduler.config.policy_1_20_plugins import (
    EQUAL,
    EVEN_SPREAD,
    INTER_POD_AFFINITY,
    LABEL_PLUGIN,
    PREDICATE_ALIASES,
    PREDICATES,
    PRIORITIES,
    PRIORITY_ALIASES,
    RATIO_PLUGIN,
    RULES_1_20,
    SELECTOR_SPREAD,
    SERVICE_PLUGIN,
    PolicyRules,
    collect,
    policy_name_hint,
    policy_profile_1_20,
    predicate_name,
    priority_name,
)
from kubescheduler.config.policy_model import (
    EXTENDER,
    FROM_POLICY,
    MAX_WEIGHT,
    PREDICATE,
    Policy,
    PolicyFault,
    PriorityArgument,
    PriorityPolicy,
    RequestedToCapacityRatio,
    ResourceWeight,
    UnreadablePolicy,
    UtilizationPoint,
    checked_policy,
    extender_errors_1_20,
    give_up,
    priority_entry,
)
from kubescheduler.framework.contract.profile import SchedulerConfig
from kubescheduler.framework.document_schema import (
    BOOL,
    DURATION,
    GO_DURATION,
    INT,
    INT32,
    INT64,
    TEXT,
    Field,
    FieldError,
    ListOf,
    Struct,
    aggregate,
    fields,
    invalid,
)
from kubescheduler.framework.plugins.nodes import NODE_LABEL_1_20 as NODE_LABEL

if TYPE_CHECKING:
    from kubescheduler.framework.plugins.plugin_record import InTree


_SCHEME = "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme/scheme.go:30"

_TYPE_PATHS = (("kind",), ("apiVersion",))


# --- keys -------------------------------------------------------------------------------------


POINT = Struct("UtilizationShapePoint", UtilizationPoint, fields(utilization=INT32, score=INT32))

RESOURCE = Struct("ResourceSpec", ResourceWeight, fields(name=TEXT, weight=INT))

CAPACITY_RATIO = Struct(
    "RequestedToCapacityRatioArguments",
    RequestedToCapacityRatio,
    fields(shape=ListOf(POINT), resources=ListOf(RESOURCE)),
)

PRIORITY = priority_entry(Field("requestedToCapacityRatioArguments", "requested_to_capacity_ratio", CAPACITY_RATIO))

EXTENDER_1_20 = msgspec.structs.replace(
    EXTENDER.with_fields(
        Field("weight", "weight", INT64),
        Field("httpTimeout", "http_timeout_ns", DURATION, "HTTPTimeout", internal_kind=GO_DURATION),
    ),
    name="LegacyExtender",
)
"""Keys match in any case here, and the release passes over those it does not know."""

POLICY_1_20 = Struct(
    "Policy",
    Policy,
    fields(
        predicates=ListOf(PREDICATE),
        priorities=ListOf(PRIORITY),
        extenders=ListOf(EXTENDER_1_20),
        hard_pod_affinity_symmetric_weight=INT32,
        always_check_all_predicates=BOOL,
    ),
)


# --- a policy as a configuration --------------------------------------------------------------


def policy_config_1_20(
    document: Mapping[str, Any],
    feature_gates: Mapping[str, bool],
    *,
    plugins: InTree,
    rules: PolicyRules = RULES_1_20,
) -> SchedulerConfig:
    """What release 1.20 makes of a policy. Raises ConfigError with the text at which it gives up.

    plugins: what comes with the release. rules: how it makes plugins of a policy.
    """
    policy = parse_policy_1_20(document, release=rules.release, strict=False)
    give_up(policy_faults_1_20(policy, ends_process=rules.ends_process))
    return _config(policy, feature_gates, plugins, rules)


def checked_policy_config_1_20(
    document: Mapping[str, Any],
    feature_gates: Mapping[str, bool],
    *,
    plugins: InTree,
    rules: PolicyRules = RULES_1_20,
    notice: Callable[[str], None],
    strict: bool = False,
) -> SchedulerConfig:
    """As ``policy_config_1_20``, for a person: raises ConfigError with every problem and its path.

    ``notice`` is called with what the release silently ignores. strict: the keys that it ignores are faults.
    """

    def read() -> Policy:
        return parse_policy_1_20(document, release=rules.release, strict=strict, every_problem=True)

    policy = checked_policy(read, partial(policy_faults_1_20, ends_process=rules.ends_process))
    for note in (*policy.notes, *policy_notes_1_20(policy, spreads=rules.spreads(feature_gates))):
        notice(note)
    return _config(policy, feature_gates, plugins, rules)


def _config(policy: Policy, feature_gates: Mapping[str, bool], plugins: InTree, rules: PolicyRules) -> SchedulerConfig:
    profile, extenders = policy_profile_1_20(policy, feature_gates, plugins, rules)
    return SchedulerConfig(release=rules.release, profiles=(profile,), extenders=extenders)


# --- decoding ---------------------------------------------------------------------------------


def parse_policy_1_20(
    document: Mapping[str, Any],
    *,
    release: str = "1.20",
    strict: bool,
    every_problem: bool = False,
) -> Policy:
    """Decodes a policy as release 1.20 does: keys in their exact case, unknown and repeated ones refused.

    In extenders case does not matter and unknown keys are ignored, with a note, or refused as well when ``strict``.
    Without apiVersion that release knows only the capitalised keys of its internal type.

    Raises ConfigError: when ``strict`` or ``every_problem``, with every fault and its path (UnreadablePolicy); else
    with the release's own text (``invalid policy: …``) for the first fault.
    """
    every_problem = every_problem or strict
    version, type_error = checked_type(document, _SCHEME)
    if type_error is not None:
        raise ConfigError(_type_problem(document, type_error) if every_problem else f"invalid policy: {type_error}")
    internal = version in INTERNAL_VERSIONS
    decoder = GoDecoder(internal=internal)
    policy: Policy = decoder.decode(POLICY_1_20, document)
    unknown = [key for key in decoder.unknown if key.path not in _TYPE_PATHS]
    passed_over = [] if strict else [key for key in unknown if _in_extender(key, internal)]
    policy = attrs.evolve(policy, notes=(*ignored_notes(passed_over, release), *behind_notes(document)))
    refused_keys = [key for key in unknown if key not in passed_over]
    of_text = text_problems(document) if strict else twice_problems(document)
    if every_problem and (decoder.faults or refused_keys or of_text):
        version_fault = [_version_problem(refused_keys, release)] if internal and refused_keys else []
        reported = [*(version_fault or map(unknown_problem, refused_keys)), *of_text]
        raise UnreadablePolicy([*map(str, decoder.faults), *reported], policy, decoder.faults)
    if every_problem:
        return policy
    if decoder.faults:
        raise ConfigError(f"invalid policy: {fault_text(document, decoder.faults[0])}")
    if refused := _refused_key(document, internal):
        reason = unknown_text(document, refused, internal=internal)
        written = msgspec.json.encode(dict(document)).decode()
        raise ConfigError(f"invalid policy: strict decoder error for {written}: {reason}")
    return policy


def _refused_key(document: Mapping[str, Any], internal: bool) -> UnknownKey | None:
    """The first unknown key that the strict decoder meets."""
    decoder = GoDecoder(internal=internal)
    decoder.decode(POLICY_1_20, sorted_document(document))
    for key in decoder.unknown:
        if not _in_extender(key, internal) and key.path not in _TYPE_PATHS:
            return key
    return None


def _in_extender(key: UnknownKey, internal: bool) -> bool:
    return key.path[0] == "extenders" and len(key.path) > 1 and not internal


def _type_problem(document: Mapping[str, Any], error: str) -> str:
    if document.get("kind") == "KubeSchedulerConfiguration":
        return f"kind: {error}; this is a component configuration: give the file as --config"
    return type_problem(document, error)


def _version_problem(unknown: list[UnknownKey], release: str) -> str:
    keys = ", ".join(dict.fromkeys(str(key.path[0]) for key in unknown))
    return (
        f"apiVersion: it is missing, and release {release} then knows only the keys Predicates, Priorities, … and "
        f"refuses {keys}; add apiVersion: v1"
    )


# --- what the release's own decoder says ------------------------------------------------------


def sorted_document(value: Any) -> Any:
    """The value with every mapping in the order of its keys: so the strict decoder goes through it."""
    if isinstance(value, Mapping):
        return {key: sorted_document(value[key]) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [sorted_document(item) for item in value]
    return value


def fault_text(document: Mapping[str, Any], fault: Fault) -> str:
    """The text for a value of the wrong type; inside extenders exactly as the decoders put it."""
    if fault.path[0] != "extenders" or len(fault.path) < 2:
        return str(fault)
    shown = around_extender(document, fault.path, lambda value: _json(value).encode())
    return f"v1.Policy.Extenders: []v1.LegacyExtender: unmarshalerDecoder: {fault.go_text}{shown}"


def unknown_text(document: Mapping[str, Any], key: UnknownKey, *, internal: bool) -> str:
    """The text for a key that no field has. ``internal``: the document is in the unversioned form."""
    return refused_key(key, POLICY_1_20, lambda struct: _go_name(struct, internal)) + behind_key(document, key)


def behind_key(document: Mapping[str, Any], key: UnknownKey) -> str:
    """Where the strict decoder stood behind a key that no field has, and the text there."""
    in_order = sorted_document(document)
    text = _json(in_order).translate(_ESCAPES)
    return around(text.encode(), len(text[: _end_of_key(in_order, key.path)].encode()))


def _go_name(struct: Struct, internal: bool) -> str:
    return f"config.{struct.name.removeprefix('Legacy')}" if internal else f"v1.{struct.name}"


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _end_of_key(value: Any, path: KeyPath) -> int:
    """Where in the JSON text of ``value`` the key at the end of ``path`` ends."""
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        at = _length_before(value[:step])
        return at + _end_of_key(value[step], rest)
    at = _length_before({key: item for key, item in value.items() if key < step}) + _length(step)
    return at + len(":") + _end_of_key(value[step], rest) if rest else at


def _length_before(items: Any) -> int:
    """The length of the open bracket, the items and their commas."""
    return _length(items) - (0 if items else 1)


def _length(value: Any) -> int:
    return len(_json(value).translate(_ESCAPES))


_HTML = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}

_ESCAPES = str.maketrans(_HTML)


# --- checking ---------------------------------------------------------------------------------


def policy_faults_1_20(policy: Policy, *, ends_process: bool = True) -> Iterator[PolicyFault]:
    """Every fault, as the release looks for them; those of args it finds when it makes the plugins.

    ends_process: entries that cannot be registered end the process, with other texts.
    """
    invalid = list(validation_1_20(policy))
    yield from (PolicyFault(fault.problem, FROM_POLICY + aggregate(invalid)) for fault in invalid)
    fatal = list(registration_faults_1_20(policy))
    if not ends_process:
        fatal = [PolicyFault(_returned(fault.problem), FROM_POLICY + _returned(fault.ends or "")) for fault in fatal]
    yield from fatal
    yield from crash_faults_1_20(policy)
    labels = () if fatal else _label_problems(policy)
    yield from (PolicyFault(fault.problem) for fault in (*_args_problems(policy), *labels))


TAINTED = frozenset(name for name, gate in GATED.items() if gate.startswith("TaintNodesByCondition"))
"""Predicates of 1.16 whose conditions are taints since."""

FATAL = "fatal: "
"""What is put before a text with which the process ends itself."""

PANIC = "panic: runtime error: invalid memory address or nil pointer dereference"
"""The release's own end on two names of priorities."""


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


def registration_faults_1_20(policy: Policy) -> Iterator[PolicyFault]:
    """Every entry that ends the process, predicates first."""
    for at, predicate in enumerate(policy.predicates or ()):
        count = None if predicate.argument is None else predicate.argument.count
        if count not in (None, 1):
            text = f"Exactly 1 predicate argument is required, numArgs: {count}, Predicate: {predicate.name}"
            yield _fatal(f"predicates[{at}]", text)
        elif count is None and (name := predicate_name(predicate.name)) not in PREDICATES:
            text = f"Invalid configuration: Predicate type not found for {go_quote(name)}"
            yield _fatal(f"predicates[{at}]", text, _predicate_hint(name))
    for at, priority in enumerate(policy.priorities or ()):
        count = None if priority.argument is None else priority.argument.count
        if priority.name == EQUAL:
            continue
        if count not in (None, 1):
            text = f"Exactly 1 priority argument is required, numArgs: {count}, Priority: {priority.name}"
            yield _fatal(f"priorities[{at}]", text)
        elif count is None and (name := priority_name(priority.name)) not in PRIORITIES:
            text = f"Invalid configuration: Priority type not found for {go_quote(name)}"
            others = misplaced({*PREDICATES, *PREDICATE_ALIASES}, "predicate")
            hint = (
                others.get(name)
                or policy_name_hint(name, PRIORITIES)
                or nearest(name, {*PRIORITIES, *PRIORITY_ALIASES, EQUAL})
            )
            yield _fatal(f"priorities[{at}]", text, hint)


def _returned(text: str) -> str:
    """The text of an entry that cannot be registered, as an error that is returned. Upstream: 1.21."""
    place, colon, rest = text.partition(": ")
    rest = rest.removeprefix("Invalid configuration: ")
    kept = "" if place == FATAL.removesuffix(": ") else place + colon
    return f"{kept}{rest[:1].lower()}{rest[1:]}"


def _fatal(path: str, text: str, hint: str = "") -> PolicyFault:
    return PolicyFault(f"{path}: {text}{hint}", FATAL + text)


def _predicate_hint(name: str) -> str:
    if name in TAINTED:
        return "; 1.20 has taints for it, which PodToleratesNodeTaints heeds: take it out"
    others = misplaced({*PRIORITIES, *PRIORITY_ALIASES, EQUAL}, "priority")
    return others.get(name) or policy_name_hint(name, PREDICATES) or nearest(name, {*PREDICATES, *PREDICATE_ALIASES})


def crash_faults_1_20(policy: Policy) -> Iterator[PolicyFault]:
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
            yield PolicyFault(f"priorities[{at}]: {text}", PANIC)


# --- args, which the plugins check ------------------------------------------------------------


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


# --- notes ------------------------------------------------------------------------------------


def policy_notes_1_20(policy: Policy, *, spreads: bool) -> tuple[str, ...]:
    """What the release passes over in silence, in plain words. spreads: see ``PolicyRules``."""
    return (*_entry_notes(policy), *_policy_notes(policy, spreads=spreads))


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


def _policy_notes(policy: Policy, *, spreads: bool) -> Iterator[str]:
    if policy.priorities is None:
        return
    names = {priority_name(priority.name) for priority in policy.priorities}
    if policy.hard_pod_affinity_symmetric_weight and INTER_POD_AFFINITY not in names:
        yield f"hardPodAffinitySymmetricWeight: it has no effect without {INTER_POD_AFFINITY}"
    if spreads and {SELECTOR_SPREAD, EVEN_SPREAD} <= names:
        yield (
            f"priorities: {SELECTOR_SPREAD} and {EVEN_SPREAD} are the one plugin PodTopologySpread; "
            f"the weight of {EVEN_SPREAD} counts"
        )
