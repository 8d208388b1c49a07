"""Policy documents of release 1.20: strictly decoded, checked, and turned into a profile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from clusterstate.errors import ConfigError
from kubecel.api_names import go_quote
from kubescheduler.config.go_decoding import GoDecoder
from kubescheduler.config.policy.policy_1_16 import kind_and_version
from kubescheduler.config.policy.policy_1_20_checks import check_policy_1_20, policy_notes_1_20, policy_problems_1_20
from kubescheduler.config.policy.policy_1_20_decoding import fault_text, sorted_document, unknown_text
from kubescheduler.config.policy.policy_1_20_plugins import policy_profile_1_20
from kubescheduler.config.policy.policy_1_20_schema import POLICY_1_20
from kubescheduler.config.policy.unread_keys import (
    UnreadablePolicy,
    behind_notes,
    checked_policy,
    ignored_notes,
    text_problems,
    twice_problems,
    unknown_problem,
)
from kubescheduler.framework.contract.profile import DEFAULT_SCHEDULER_NAME, SchedulerConfig

if TYPE_CHECKING:
    from kubescheduler.config.go_decoding import UnknownKey
    from kubescheduler.config.policy.policy_model import Policy
    from kubescheduler.framework.profiles.default_plugins import InTree

_SCHEME = "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme/scheme.go:30"
_INTERNAL_VERSIONS = ("", "/", "__internal")
_TYPE_PATHS = (("kind",), ("apiVersion",))


def policy_config_1_20(
    document: Mapping[str, Any],
    feature_gates: Mapping[str, bool],
    scheduler_name: str = DEFAULT_SCHEDULER_NAME,
    *,
    plugins: InTree,
    text: str | None = None,
) -> SchedulerConfig:
    """What release 1.20 makes of a policy. Raises ConfigError with the text at which it gives up.

    plugins: what comes with the release. text: the document as it was written, which one of the texts repeats; by
    default its JSON.
    """
    policy = parse_policy_1_20(document, strict=False, text=text)
    check_policy_1_20(policy)
    return _config(policy, feature_gates, scheduler_name, plugins)


def checked_policy_config_1_20(
    document: Mapping[str, Any],
    feature_gates: Mapping[str, bool],
    scheduler_name: str = DEFAULT_SCHEDULER_NAME,
    *,
    plugins: InTree,
    notice: Callable[[str], None],
    strict: bool = False,
) -> SchedulerConfig:
    """As ``policy_config_1_20``, for a person: raises ConfigError with every problem and its path.

    ``notice`` is called with what the release silently ignores. strict: the keys that it ignores are faults.
    """

    def read() -> Policy:
        return parse_policy_1_20(document, strict=strict, every_problem=True)

    policy = checked_policy(read, policy_problems_1_20)
    for note in (*policy.notes, *policy_notes_1_20(policy, feature_gates)):
        notice(note)
    return _config(policy, feature_gates, scheduler_name, plugins)


def _config(policy: Policy, feature_gates: Mapping[str, bool], scheduler_name: str, plugins: InTree) -> SchedulerConfig:
    profile, extenders = policy_profile_1_20(policy, scheduler_name, feature_gates, plugins)
    return SchedulerConfig(release="1.20", profiles=(profile,), extenders=extenders)


# --- decoding ------------------------------------------------------------------------------


def parse_policy_1_20(
    document: Mapping[str, Any], *, strict: bool, every_problem: bool = False, text: str | None = None
) -> Policy:
    """Decodes a policy as release 1.20 does: keys in their exact case, unknown and repeated ones refused.

    In extenders case does not matter and unknown keys are ignored, with a note, or refused as well when ``strict``.
    Without apiVersion that release knows only the capitalised keys of its internal type.

    Raises ConfigError: when ``strict`` or ``every_problem``, with every fault and its path (UnreadablePolicy); else
    with the release's own text (``invalid policy: …``) for the first fault.
    """
    every_problem = every_problem or strict
    version, type_error = _check_type(document)
    if type_error is not None:
        raise ConfigError(_type_problem(document, type_error) if every_problem else f"invalid policy: {type_error}")
    internal = version in _INTERNAL_VERSIONS
    decoder = GoDecoder(internal=internal)
    policy: Policy = decoder.decode(POLICY_1_20, document)
    unknown = [key for key in decoder.unknown if key.path not in _TYPE_PATHS]
    passed_over = [] if strict else [key for key in unknown if _in_extender(key, internal)]
    policy = attrs.evolve(policy, notes=(*ignored_notes(passed_over, "1.20"), *behind_notes(document)))
    refused_keys = [key for key in unknown if key not in passed_over]
    of_text = text_problems(document) if strict else twice_problems(document)
    if every_problem and (decoder.faults or refused_keys or of_text):
        version_fault = [_version_problem(refused_keys)] if internal and refused_keys else []
        reported = [*(version_fault or map(unknown_problem, refused_keys)), *of_text]
        raise UnreadablePolicy([*map(str, decoder.faults), *reported], policy, decoder.faults)
    if every_problem:
        return policy
    if decoder.faults:
        raise ConfigError(f"invalid policy: {fault_text(document, decoder.faults[0])}")
    if refused := _refused_key(document, internal):
        reason = unknown_text(document, refused, internal=internal)
        raise ConfigError(f"invalid policy: strict decoder error for {_written(document, text)}: {reason}")
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


def _written(document: Mapping[str, Any], text: str | None) -> str:
    if text is not None:
        return text
    import msgspec

    return msgspec.json.encode(dict(document)).decode()


# --- kind and apiVersion -------------------------------------------------------------------


def _check_type(document: Mapping[str, Any]) -> tuple[str, str | None]:
    """(apiVersion, the release's text if this is no Policy). Both keys are first looked for in any case."""
    kind, version, error = kind_and_version(document)
    if error is not None:
        return version, error
    internal = version in _INTERNAL_VERSIONS
    if kind == "Policy" and (internal or version == "v1"):
        return version, None
    registered = f"the internal version of group {go_quote('')}" if internal else f"version {go_quote(version)}"
    return version, f"no kind {go_quote(kind)} is registered for {registered} in scheme {go_quote(_SCHEME)}"


def _type_problem(document: Mapping[str, Any], error: str) -> str:
    match document.get("kind"):
        case "ConfigMap":
            return f"kind: {error}; this is a ConfigMap: give the file as --policy-configmap"
        case "KubeSchedulerConfiguration":
            return f"kind: {error}; this is a component configuration: give the file as --config"
    return f"kind: {error}; a policy begins with kind: Policy and apiVersion: v1"


def _version_problem(unknown: list[UnknownKey]) -> str:
    keys = ", ".join(dict.fromkeys(str(key.path[0]) for key in unknown))
    return (
        "apiVersion: it is missing, and release 1.20 then knows only the keys Predicates, Priorities, … and refuses "
        f"{keys}; add apiVersion: v1"
    )
