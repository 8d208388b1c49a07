"""Policy documents: a mapping in, a ``Policy`` out, decoded as release 1.16 decodes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from clusterstate.api_names import go_quote
from clusterstate.errors import ConfigError
from kubescheduler.config.go_decoding import Fault, GoDecoder, Path, UnknownKey, show_path
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


def parse_policy(document: Mapping[str, Any], *, strict: bool) -> Policy:
    """Decodes a policy as release 1.16 does.

    Without apiVersion that release reads only the capitalised keys of its internal type, so an ordinary policy comes
    out empty; ``Policy.notes`` then says so. Unknown keys are ignored, or faults when ``strict``.

    Raises ConfigError: when ``strict``, with every fault and its path; else with the release's own text
    (``invalid policy: …``) for the first fault.
    """
    api_version, type_error = _check_type(document)
    if type_error is not None:
        raise ConfigError(_type_problem(document, type_error) if strict else f"invalid policy: {type_error}")
    decoder = GoDecoder(internal=api_version in _INTERNAL_VERSIONS)
    policy: Policy = decoder.decode(POLICY, document)
    ignored, unknown = _sort_unknown(decoder)
    if strict and (decoder.faults or unknown):
        raise ConfigError([*map(str, decoder.faults), *map(unknown_problem, unknown)])
    if decoder.faults:
        raise ConfigError(f"invalid policy: {_go_error(document, decoder.faults[0], decoder.internal)}")
    return _with_notes(policy, ignored if decoder.internal else None)


def _with_notes(policy: Policy, ignored: list[str] | None) -> Policy:
    """The policy with its weight narrowed to 32 bits. ``ignored``: keys not read for want of apiVersion, or None."""
    notes = [] if ignored is None else [_version_note(ignored)]
    weight = policy.hard_pod_affinity_symmetric_weight
    narrowed = (weight + 2**31) % 2**32 - 2**31
    if narrowed != weight:
        notes.append(f"hardPodAffinitySymmetricWeight {weight} does not fit 32 bits and is read as {narrowed}")
    return attrs.evolve(policy, hard_pod_affinity_symmetric_weight=narrowed, notes=tuple(notes))


def _version_note(ignored: list[str]) -> str:
    rule = "the policy has no apiVersion, and release 1.16 then reads only the keys Predicates, Priorities, …"
    if ignored:
        return f"{rule}; ignored: {', '.join(ignored)}; add apiVersion: v1 to have them read"
    return f"{rule}; add apiVersion: v1 to use the usual ones"


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


def unknown_problem(key: UnknownKey) -> str:
    """The message for an unknown key, with the known key that is meant, if one is near."""
    from algorithmprovider.registry import nearest

    name = str(key.path[-1])
    exact = next((known for known in key.known if known.casefold() == name.casefold()), None)
    hint = f"; did you mean {exact}?" if exact else nearest(name, key.known)
    return f"{show_path(key.path)}: unknown key{hint or '; known are ' + ', '.join(key.known)}"


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
