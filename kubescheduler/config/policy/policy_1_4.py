"""Policies as release 1.4 decodes and checks them: no defaults for absent lists, keys in their exact case."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from clusterstate.errors import ConfigError
from kubecel.api_names import go_quote, qualified_name_errors
from kubescheduler.config.config_text import parse_document, read_text
from kubescheduler.config.go_decoding import GoDecoder
from kubescheduler.config.policy.policy_checks import (
    PolicyFault,
    UnreadablePolicy,
    registration_faults,
    told_together,
)
from kubescheduler.config.policy.policy_model import PREDICATE, Policy, new_extender, priority_entry
from kubescheduler.config.unread_keys import (
    ignored_notes,
    text_notes,
    text_problems,
    unknown_problem,
)
from kubescheduler.extender.config import TLSConfig
from kubescheduler.framework.args.document_schema import BOOL, BYTES, DURATION, INT, TEXT, Field, ListOf, Struct

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
    new_extender,
    (
        Field("urlPrefix", "url_prefix", TEXT),
        Field("filterVerb", "filter_verb", TEXT),
        Field("prioritizeVerb", "prioritize_verb", TEXT),
        Field("weight", "weight", INT),
        Field("enableHttps", "enable_https", BOOL),
        Field("tlsConfig", "tls", TLS),
        Field("httpTimeout", "http_timeout_ns", DURATION),
    ),
)

POLICY_1_4 = Struct(
    "Policy",
    Policy,
    (
        Field("predicates", "predicates", ListOf(PREDICATE)),
        Field("priorities", "priorities", ListOf(PRIORITY)),
        Field("extenders", "extenders", ListOf(EXTENDER)),
    ),
)

# --- reading -------------------------------------------------------------------------------


def read_policy_file_1_4(path: Path) -> dict[str, Any] | None:
    """The document of ``--policy-config-file``, which is JSON; None when there is no such file.

    Upstream then silently uses the provider.
    """
    if not path.exists():
        return None
    try:
        text = read_text(path)
    except ConfigError as error:
        raise ConfigError(f"{FATAL}unable to read policy config: {problem}" for problem in error.problems) from error
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


def _validation(policy: Policy) -> Iterator[tuple[str, str]]:
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


def hard_weight_error_1_4(weight: int) -> str | None:
    """The text for a weight of required pod affinity out of range."""
    if 0 <= weight <= 100:
        return None
    return f"invalid hardPodAffinitySymmetricWeight: {weight}, must be in the range 0-100"


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
    yield from told_together(_validation(policy), FATAL, joined)
    yield from registration_faults(policy, predicates, priorities)
    if error := hard_weight_error_1_4(hard_weight):
        yield PolicyFault(f"--hard-pod-affinity-symmetric-weight: {error}", FATAL + error)
