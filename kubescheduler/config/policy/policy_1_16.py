"""Policy documents: a mapping in, a ``Policy`` out, decoded as release 1.16 decodes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from clusterstate.errors import ConfigError
from kubecel.api_names import go_quote
from kubescheduler.config.go_decoding import GoDecoder
from kubescheduler.config.policy.policy_model import (
    LabelPreference,
    LabelsPresence,
    Policy,
    PredicateArgument,
    PredicatePolicy,
    PriorityArgument,
    PriorityPolicy,
    RequestedToCapacityRatio,
    ResourceWeight,
    ServiceAffinity,
    ServiceAntiAffinity,
    UtilizationPoint,
)
from kubescheduler.config.policy.policy_schema import POLICY
from kubescheduler.config.policy.unread_keys import (
    UnreadablePolicy,
    ignored_notes,
    text_notes,
    text_problems,
    unknown_problem,
)

if TYPE_CHECKING:
    from kubescheduler.config.go_decoding import Fault, Path, UnknownKey

__all__ = [
    "LabelPreference",
    "LabelsPresence",
    "Policy",
    "PredicateArgument",
    "PredicatePolicy",
    "PriorityArgument",
    "PriorityPolicy",
    "RequestedToCapacityRatio",
    "ResourceWeight",
    "ServiceAffinity",
    "ServiceAntiAffinity",
    "UtilizationPoint",
    "parse_policy",
]

_SCHEME = "k8s.io/kubernetes/pkg/scheduler/api/register.go:27"
_TYPE_KEYS = ("kind", "apiversion")
_INTERNAL_VERSIONS = ("", "/", "__internal")


def parse_policy(document: Mapping[str, Any], *, strict: bool, every_problem: bool = False) -> Policy:
    """Decodes a policy as release 1.16 does.

    Without apiVersion that release reads only the capitalised keys of its internal type, so an ordinary policy comes
    out empty. Unknown keys are ignored, and of a key that is set twice the last one counts; ``Policy.notes`` says so.
    strict: such keys are faults.

    Raises ConfigError: when ``strict`` or ``every_problem``, with every fault and its path (UnreadablePolicy); else
    with the release's own text (``invalid policy: …``) for the first fault.
    """
    every_problem = every_problem or strict
    api_version, type_error = _check_type(document)
    if type_error is not None:
        raise ConfigError(_type_problem(document, type_error) if every_problem else f"invalid policy: {type_error}")
    decoder = GoDecoder(internal=api_version in _INTERNAL_VERSIONS)
    policy: Policy = decoder.decode(POLICY, document)
    ignored, unknown = _sort_unknown(decoder)
    refused = [*map(unknown_problem, unknown), *text_problems(document)] if strict else []
    if decoder.faults and not every_problem:
        raise ConfigError(f"invalid policy: {_go_error(document, decoder.faults[0], decoder.internal)}")
    notes = [_version_note(ignored)] if decoder.internal else []
    notes += (*ignored_notes(unknown, "1.16"), *text_notes(document, "1.16"))
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


UNREAD = "the policy has no apiVersion, and release 1.16 then reads only the keys Predicates, Priorities, …"
"""How the note on such a policy begins."""


def _version_note(ignored: list[str]) -> str:
    if ignored:
        return f"{UNREAD}; ignored: {', '.join(ignored)}; add apiVersion: v1 to have them read"
    return f"{UNREAD}; add apiVersion: v1 to use the usual ones"


# --- kind and apiVersion -------------------------------------------------------------------


def kind_and_version(document: Mapping[str, Any]) -> tuple[str, str, str | None]:
    """(kind, apiVersion, the text if they cannot be read). Both keys are found in any case."""
    found = {"kind": "", "apiversion": ""}
    for key, value in document.items():
        name = key.casefold()
        if name in found and value is not None:
            if not isinstance(value, str):
                return "", "", f"couldn't get version/kind; json parse error: {key} is not a string"
            found[name] = value
    kind, version = found["kind"] or "Policy", found["apiversion"]
    return kind, version, f"unexpected GroupVersion string: {version}" if version.count("/") > 1 else None


def _check_type(document: Mapping[str, Any]) -> tuple[str, str | None]:
    """(apiVersion, the release's text if this is no Policy). Both keys are found in any case."""
    kind, version, error = kind_and_version(document)
    if error is not None:
        return version, error
    if version in _INTERNAL_VERSIONS:
        registered = f"the internal version of group {go_quote('')}"
    else:
        registered = f"version {go_quote(version)}"
    if kind == "Policy" and version in ("v1", *_INTERNAL_VERSIONS):
        return version, None
    return version, f"no kind {go_quote(kind)} is registered for {registered} in scheme {go_quote(_SCHEME)}"


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
    around = _around(document, fault.path)
    return f"v1.Policy.ExtenderConfigs: []v1.ExtenderConfig: unmarshalerDecoder: {fault.go_text}{around}"


def _around(document: Mapping[str, Any], path: Path) -> str:
    """Where the decoder stood, and the text there: after the extender, in the policy as compact JSON."""
    import msgspec

    before: dict[str, Any] = {}
    for key, value in document.items():
        if key == "extenders":
            before[key] = value[: int(path[1]) + 1]
            break
        before[key] = value
    text = msgspec.json.encode(dict(document))
    at = len(msgspec.json.encode(before)) - len("]}")
    near, wide = (text[max(0, at - n) : at + n].decode("utf-8", "replace") for n in (10, 50))
    return f", error found in #{min(at, 10)} byte of ...|{near}|..., bigger context ...|{wide}|..."
