"""Policies as release 1.16 decodes and checks them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import attrs
import msgspec

from clusterstate.errors import ConfigError
from clusterstate.usage import is_extended_resource
from kubecel.api_names import go_quote, qualified_name_errors
from kubescheduler.config.go_decoding import GoDecoder
from kubescheduler.config.policy.policy_checks import (
    FROM_POLICY,
    GATED,
    MAX_PRIORITY,
    MAX_TOTAL,
    MAX_WEIGHT,
    PolicyFault,
    UnreadablePolicy,
    registration_faults,
    told_together,
)
from kubescheduler.config.policy.policy_model import POLICY, Policy, policy_keys, priority_entry, ratio
from kubescheduler.config.unread_keys import (
    ignored_notes,
    text_notes,
    text_problems,
    unknown_problem,
)
from kubescheduler.framework.args.field_errors import aggregate

if TYPE_CHECKING:
    from kubescheduler.config.go_decoding import Fault, Path, UnknownKey
    from kubescheduler.framework.args.document_schema import Struct

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
        raise ConfigError(_type_problem(document, type_error) if every_problem else f"invalid policy: {type_error}")
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
    narrowed = (weight + 2**31) % 2**32 - 2**31
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
    internal = version in INTERNAL_VERSIONS
    if kind == "Policy" and (internal or version == "v1"):
        return version, None
    registered = f"the internal version of group {go_quote('')}" if internal else f"version {go_quote(version)}"
    return version, f"no kind {go_quote(kind)} is registered for {registered} in scheme {go_quote(scheme)}"


def _type_problem(document: Mapping[str, Any], error: str) -> str:
    if document.get("kind") == "ConfigMap":
        return f"kind: {error}; this is a ConfigMap: give the file as --policy-configmap"
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


def around_extender(document: Mapping[str, Any], path: Path, encode: Callable[[Any], bytes]) -> str:
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
    invalid = list(_validation(policy))
    yield from told_together(invalid, FROM_POLICY, aggregate)
    yield from registration_faults(policy, predicates, priorities, GATED)
    reported = {path.partition("[")[0] for path, _ in invalid}  # a sum of wrong weights is no fault of its own
    if error := hard_weight_error(policy.hard_weight(hard_weight)):
        yield PolicyFault(f"hardPodAffinitySymmetricWeight: {error}", FROM_POLICY + error)
    weights = defaults if policy.priorities is None else {entry.name: entry.weight for entry in policy.priorities}
    if "priorities" not in reported and (error := total_weight_error(weights)):
        yield PolicyFault(f"priorities: {error}", FROM_POLICY + error)


def _validation(policy: Policy) -> Iterator[Problem]:
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
