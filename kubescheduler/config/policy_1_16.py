"""Policies as releases with predicates and priorities decode and check them: 1.16, and 1.4 at the end.

1.4 has no defaults for absent lists, and keys in their exact case.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import msgspec

from algorithmprovider.registry import valid_name
from clusterstate.errors import ConfigError, RegistryError, faults_at, nearest
from clusterstate.usage import is_extended_resource
from kubecel.api_names import go_quote, qualified_name_errors
from kubescheduler.config.config_text import CONFIGURATION_KIND, parse_document, read_text
from kubescheduler.config.go_decoding import (
    Fault,
    GoDecoder,
    UnknownKey,
    ignored_notes,
    not_registered,
    text_notes,
    text_problems,
    unknown_problem,
)
from kubescheduler.config.policy_model import (
    FROM_POLICY,
    MAX_PRIORITY,
    MAX_TOTAL,
    MAX_WEIGHT,
    POLICY,
    PREDICATE,
    Policy,
    PolicyFault,
    PredicatePolicy,
    PriorityPolicy,
    UnreadablePolicy,
    int32,
    policy_keys,
    priority_entry,
    ratio,
    told_together,
)
from kubescheduler.extender.config import ExtenderConfig, TLSConfig
from kubescheduler.framework.document_schema import (
    BOOL,
    BYTES,
    DURATION,
    INT,
    TEXT,
    Field,
    ListOf,
    Struct,
    aggregate,
    fields,
)
from priorities.capacity_ratio import shape_error

Problem = tuple[str, str]
"""(path, message)."""

POLICY_1_13 = policy_keys(priority_entry(ratio(with_resources=False)))
"""Those of 1.13 and 1.15: RequestedToCapacityRatio is of cpu and memory alike."""

_SCHEME = "k8s.io/kubernetes/pkg/scheduler/api/register.go:27"
_TYPE_KEYS = ("kind", "apiversion")
INTERNAL_VERSIONS = ("", "/", "__internal")
"""A policy of these has the capitalised keys of the unversioned form."""


def parse_policy(
    document: Mapping[str, Any],
    *,
    release: str = "1.16",
    strict: bool,
    every_problem: bool = False,
    keys: Struct = POLICY,
) -> Policy:
    """Decodes a policy as release 1.16 does.

    Without apiVersion that release reads only the capitalised keys of its internal type, so an ordinary policy comes
    out empty. Unknown keys are ignored, and of a key that is set twice the last one counts; ``Policy.notes`` says so.
    strict: such keys are faults. keys: those that the release knows.

    Raises ConfigError: when ``strict`` or ``every_problem``, with every fault and its path (UnreadablePolicy); else
    with the release's own text (``invalid policy: …``) for the first fault.
    """
    every_problem = every_problem or strict
    api_version, type_error = checked_type(document, _SCHEME)
    if type_error is not None:
        raise ConfigError(type_problem(document, type_error) if every_problem else f"invalid policy: {type_error}")
    decoder = GoDecoder(internal=api_version in INTERNAL_VERSIONS)
    policy: Policy = decoder.decode(keys, document)
    ignored, unknown = _sort_unknown(decoder)
    refused = [*map(unknown_problem, unknown), *text_problems(document)] if strict else []
    if decoder.faults and not every_problem:
        raise ConfigError(f"invalid policy: {_go_error(document, decoder.faults[0], decoder.internal)}")
    notes = [_version_note(ignored, release)] if decoder.internal else []
    notes += (*ignored_notes(unknown, release), *text_notes(document, release))
    policy = _narrowed(policy, notes)
    if decoder.faults or refused:
        raise UnreadablePolicy([*map(str, decoder.faults), *refused], policy, decoder.faults)
    return policy


def _narrowed(policy: Policy, notes: list[str]) -> Policy:
    """The policy with its weight narrowed to 32 bits, and the notes."""
    weight = policy.hard_pod_affinity_symmetric_weight
    narrowed = int32(weight)
    if narrowed != weight:
        notes.append(f"hardPodAffinitySymmetricWeight {weight} does not fit 32 bits and is read as {narrowed}")
    return attrs.evolve(policy, hard_pod_affinity_symmetric_weight=narrowed, notes=tuple(notes))


UNREAD = "the policy has no apiVersion, and release {} then reads only the keys Predicates, Priorities, …"
"""How the note on such a policy begins; of the release."""


def _version_note(ignored: list[str], release: str) -> str:
    unread = UNREAD.format(release)
    if ignored:
        return f"{unread}; ignored: {', '.join(ignored)}; add apiVersion: v1 to have them read"
    return f"{unread}; add apiVersion: v1 to use the usual ones"


# --- kind and apiVersion -------------------------------------------------------------------


def checked_type(document: Mapping[str, Any], scheme: str) -> tuple[str, str | None]:
    """(apiVersion, the release's text if this is no Policy). Both keys are first looked for in any case.

    scheme: where the release says its types are registered.
    """
    given = {"kind": "", "apiversion": ""}
    for key, value in document.items():
        name = key.casefold()
        if name in given and value is not None:
            if not isinstance(value, str):
                return "", f"couldn't get version/kind; json parse error: {key} is not a string"
            given[name] = value
    kind, version = given["kind"] or "Policy", given["apiversion"]
    if version.count("/") > 1:
        return version, f"unexpected GroupVersion string: {version}"
    if kind == "Policy" and version in (*INTERNAL_VERSIONS, "v1"):
        return version, None
    return version, not_registered(kind, version, scheme)


def type_problem(document: Mapping[str, Any], error: str) -> str:
    """What to do with a document that is no Policy. error: the release's text."""
    if document.get("kind") == "ConfigMap":
        return f"kind: {error}; this is a ConfigMap: give the file as --policy-configmap"
    if document.get("kind") == CONFIGURATION_KIND:
        return f"kind: {error}; this is a {CONFIGURATION_KIND}: give the file as --config"
    return f"kind: {error}; a policy begins with kind: Policy and apiVersion: v1"


# --- faults --------------------------------------------------------------------------------


def _sort_unknown(decoder: GoDecoder) -> tuple[list[str], list[UnknownKey]]:
    """(top-level keys that the other form of the policy knows, unknown keys)."""
    other_form = {field.key for field in POLICY.fields} if decoder.internal else set()
    ignored, unknown = [], []
    for key in decoder.unknown:
        name = str(key.path[-1])
        if len(key.path) == 1 and name.casefold() in _TYPE_KEYS:
            continue
        if len(key.path) == 1 and name in other_form:
            ignored.append(name)
        else:
            unknown.append(key)
    return ignored, unknown


def _go_error(document: Mapping[str, Any], fault: Fault, internal: bool) -> str:
    """The release's text for a value of the wrong type; inside extenders exactly as its decoders put it."""
    if internal or fault.path[0] != "extenders" or len(fault.path) < 2:
        return str(fault)
    shown = around_extender(document, fault.path, msgspec.json.encode)
    return f"v1.Policy.ExtenderConfigs: []v1.ExtenderConfig: unmarshalerDecoder: {fault.go_text}{shown}"


def around_extender(document: Mapping[str, Any], path: tuple[str | int, ...], encode: Callable[[Any], bytes]) -> str:
    """Where the decoder stood that met a fault in an extender, and the text there: behind the extender."""
    before: dict[str, Any] = {}
    for key, value in document.items():
        before[key] = value[: int(path[1]) + 1] if key == "extenders" else value
        if key == "extenders":
            break
    return around(encode(dict(document)), len(encode(before)) - len("]}"))


def around(text: bytes, at: int) -> str:
    """Where a decoder stood in compact JSON, and the text there."""
    near, wide = (text[max(0, at - n) : at + n].decode("utf-8", "replace") for n in (10, 50))
    return f", error found in #{min(at, 10)} byte of ...|{near}|..., bigger context ...|{wide}|..."


# --- entries ----------------------------------------------------------------------------------


def _kind_error(entry: PredicatePolicy | PriorityPolicy, kind: str, known: Collection[str]) -> str | None:
    """Why a Predicate or Priority is none, whatever its argument says; ``known`` are the names that are registered at
    that moment."""
    if entry.argument is None:
        return None if entry.name in known else f"Invalid configuration: {kind} type not found for {entry.name}"
    if entry.argument.count != 1:
        count = entry.argument.count
        return f"Exactly 1 {kind.lower()} argument is required, numArgs: {count}, {kind}: {entry.name}"
    return None


def _predicate_error(entry: PredicatePolicy, known: Collection[str]) -> str | None:
    """Why an entry cannot be registered."""
    error = _kind_error(entry, "Predicate", known)
    return error if error or entry.argument is None else _name_error(entry.name)


def _priority_error(entry: PriorityPolicy, known: Collection[str]) -> str | None:
    """Why an entry cannot be registered."""
    error = _kind_error(entry, "Priority", known)
    if error or entry.argument is None:
        return error
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
    if not name:
        return "; it has no name"
    if name in gated:
        return f"; --feature-gates {gated[name]} registers it"
    from kubescheduler.config.policy_1_20_plugins import policy_name_hint

    return elsewhere.get(name) or policy_name_hint(name, known) or nearest(name, known)


# --- checking ------------------------------------------------------------------------------


def policy_faults(
    policy: Policy,
    predicates: Collection[str],
    priorities: Collection[str],
    *,
    hard_weight: int,
    defaults: Mapping[str, int],
) -> Iterator[PolicyFault]:
    """Every fault of a decoded policy, in the order in which the release looks for them.

    predicates, priorities: the registered names. hard_weight: the configured weight of required pod affinity.
    defaults: DefaultProvider's priorities and their weights.
    """
    invalid = list(_validation_1_16(policy))
    yield from told_together(invalid, FROM_POLICY, aggregate)
    yield from registration_faults(policy, predicates, priorities, GATED)
    reported = {path.partition("[")[0] for path, _ in invalid}  # a sum of wrong weights is no fault of its own
    if error := hard_weight_error(policy.hard_weight(hard_weight)):
        yield PolicyFault(f"hardPodAffinitySymmetricWeight: {error}", FROM_POLICY + error)
    weights = defaults if policy.priorities is None else {entry.name: entry.weight for entry in policy.priorities}
    if "priorities" not in reported and (error := total_weight_error(weights)):
        yield PolicyFault(f"priorities: {error}", FROM_POLICY + error)


def _validation_1_16(policy: Policy) -> Iterator[Problem]:
    """Upstream: 1.16 ValidatePolicy."""
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


def hard_weight_error(weight: int, least: int = 1) -> str | None:
    """The text for a weight of required pod affinity out of range; ``weight`` is the one in effect."""
    if least <= weight <= 100:
        return None
    return f"invalid hardPodAffinitySymmetricWeight: {weight}, must be in the range {least}-100"


def total_weight_error(weights: Mapping[str, int]) -> str | None:
    """The text for weights (selected priority → weight) whose sum of highest scores overflows, in name order."""
    total = 0
    for name in sorted(weights):
        highest = MAX_PRIORITY * weights[name]
        if highest > MAX_TOTAL - total:
            return "total priority of priority functions has overflown"
        total += highest
    return None


FATAL = "Failed to create scheduler configuration: "
"""What the release's process says before it exits; texts of the registry stand alone."""
INVALID = FATAL + "invalid configuration: "

# --- keys ----------------------------------------------------------------------------------

PRIORITY = priority_entry()

TLS = Struct(
    "TLSClientConfig",
    TLSConfig,
    (
        Field("CertFile", "cert_file", TEXT),
        Field("KeyFile", "key_file", TEXT),
        Field("CAFile", "ca_file", TEXT),
        Field("CertData", "cert_data", BYTES),
        Field("KeyData", "key_data", BYTES),
        Field("CAData", "ca_data", BYTES),
    ),
)

EXTENDER = Struct(
    "ExtenderConfig",
    ExtenderConfig,
    (
        *fields(url_prefix=TEXT, filter_verb=TEXT, prioritize_verb=TEXT, weight=INT, enable_https=BOOL),
        Field("tlsConfig", "tls", TLS),
        Field("httpTimeout", "http_timeout_ns", DURATION),
    ),
)

POLICY_1_4 = Struct(
    "Policy", Policy, fields(predicates=ListOf(PREDICATE), priorities=ListOf(PRIORITY), extenders=ListOf(EXTENDER))
)

# --- reading -------------------------------------------------------------------------------


def read_policy_file_1_4(path: Path) -> dict[str, Any] | None:
    """The document of ``--policy-config-file``, which is JSON; None when there is no such file.

    Upstream then silently uses the provider.
    """
    if not path.exists():
        return None
    with faults_at(f"{FATAL}unable to read policy config"):
        text = read_text(path)
    try:
        return parse_document(text, str(path), "JSON")
    except ConfigError as error:
        raise ConfigError(INVALID + problem for problem in error.problems) from error


def parse_policy_1_4(
    document: Mapping[str, Any], *, release: str = "1.4", strict: bool, every_problem: bool = False
) -> Policy:
    """Decodes a policy as release 1.4 does; absent lists are empty ones.

    Unknown keys are ignored, with a note, or faults when ``strict``. Raises ConfigError: when ``strict`` or
    ``every_problem``, with every fault (UnreadablePolicy); else for the first fault.
    """
    every_problem = every_problem or strict
    type_error = _type_error(document)
    if type_error is not None:
        hint = "; a policy begins with kind: Policy and apiVersion: v1"
        raise ConfigError(f"kind: {type_error}{hint}" if every_problem else INVALID + type_error)
    decoder = GoDecoder()
    policy: Policy = decoder.decode(POLICY_1_4, document)
    unknown = [key for key in decoder.unknown if key.path not in (("kind",), ("apiVersion",))]
    refused = [*map(unknown_problem, unknown), *text_problems(document)] if strict else []
    if decoder.faults and not every_problem:
        raise ConfigError(f"{INVALID}{decoder.faults[0]}")
    policy = attrs.evolve(policy, notes=(*ignored_notes(unknown, release), *text_notes(document, release)))
    if decoder.faults or refused:
        raise UnreadablePolicy([*map(str, decoder.faults), *refused], policy, decoder.faults)
    return policy


def _type_error(document: Mapping[str, Any]) -> str | None:
    """The release's text if this is no Policy; kind and apiVersion may be left out."""
    kind, version = document.get("kind") or "Policy", document.get("apiVersion") or "v1"
    if (kind, version) == ("Policy", "v1"):
        return None
    return f"no kind {go_quote(str(kind))} is registered for version {go_quote(str(version))}"


# --- checking ------------------------------------------------------------------------------


def _validation_1_4(policy: Policy) -> Iterator[tuple[str, str]]:
    """Upstream: 1.4 ValidatePolicy."""
    for at, priority in enumerate(policy.priorities or ()):
        if priority.weight <= 0:
            yield f"priorities[{at}].weight", f"Priority {priority.name} should have a positive weight applied to it"
    for at, extender in enumerate(policy.extenders):
        if extender.weight < 0:
            text = f"Priority for extender {extender.name} should have a non negative weight applied to it"
            yield f"extenders[{at}].weight", text


def joined(messages: Iterable[str]) -> str:
    """Several messages as the release joins them: in brackets unless there is but one."""
    texts = list(messages)
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def failure_domains_error(domains: Iterable[str]) -> str | None:
    """The text for the first topology key that is no qualified name."""
    for domain in domains:
        if errors := qualified_name_errors(domain):
            return f"invalid failure domain: {go_quote(domain)}: {';'.join(errors)}"
    return None


def no_total_error(_: Mapping[str, int]) -> None:
    """Sums of weights are not looked at."""
    return


def policy_faults_1_4(
    policy: Policy,
    predicates: Collection[str],
    priorities: Collection[str],
    *,
    hard_weight: int,
    defaults: Mapping[str, int],  # noqa: ARG001
) -> Iterator[PolicyFault]:
    """Every fault in the order in which the release looks for them; arguments as ``policy_faults`` of 1.16."""
    yield from told_together(_validation_1_4(policy), FATAL, joined)
    yield from registration_faults(policy, predicates, priorities)
    if error := hard_weight_error(hard_weight, least=0):
        yield PolicyFault(f"--hard-pod-affinity-symmetric-weight: {error}", FATAL + error)
