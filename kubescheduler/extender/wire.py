"""How a release talks to extenders: addresses, bodies, what it takes for an answer, and its texts.

A release is one record of functions; a rule that changed stands as a second function beside the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from clusterstate.objects import Pod
from kubescheduler.extender.answers import first_value, only_value
from kubescheduler.extender.encoding import encode_pod, pod_as_read, pod_internal
from kubescheduler.extender.goformat import format_without_operands

Raws = Sequence[msgspec.Raw]
VictimsByNode = Mapping[str, tuple[Sequence[Pod], int]]
"""Node → (the pods that would go, how many of them violate a budget)."""


class WireFormat(msgspec.Struct, frozen=True):
    """How one release talks to extenders."""

    sends_names: bool
    """Whether a nodeCacheCapable extender is sent, and may answer, node names."""
    url: Callable[[str, str], str]
    """``url(url_prefix, verb)``: the address of a call."""
    pod: Callable[[dict[str, Any]], dict[str, Any]]
    """``pod(manifest)``: the pod as the release writes it."""
    arguments: Callable[[msgspec.Raw, Raws | None, Sequence[str] | None], bytes]
    """``arguments(pod, nodes, names)``: the body of filter and prioritize; one of nodes and names is None."""
    preemption: Callable[[msgspec.Raw, VictimsByNode, bool], bytes]
    """``preemption(pod, victims, meta)``: the body of preempt; victims by node, as uids if ``meta``."""
    status_fault: Callable[[str, str, int], str | None]
    """``status_fault(verb, url, status)``: the text of a refused status, None when the body is read."""
    document: Callable[[bytes], msgspec.Raw]
    """``document(body)``: the JSON value of a body; raises ExtenderError."""
    refusal: Callable[[str], str]
    """``refusal(error)``: the text that an answer's ``error`` becomes."""
    unknown_node: Callable[[str, str], str]
    """``unknown_node(url_prefix, name)``: the text for an answered name that is no node."""
    takes_only_asked: bool = False
    """Whether answered names have to be among those sent; otherwise any node of the cluster is accepted."""
    needs_end: bool = False
    """Whether a body is read to its end before it is decoded; otherwise one that breaks off behind its value does."""
    knows_unresolvable: bool = False
    """Whether a filter may name nodes on which preemption cannot help."""
    counts_violations: bool = False
    """Whether the number of violated budgets in a preempt answer is read; otherwise it is 0."""


# --- 1.4 -------------------------------------------------------------------------------------


def _url_with_lost_version(url_prefix: str, verb: str) -> str:
    """The policy's apiVersion belongs between the slashes and is lost while the policy is decoded."""
    return f"{url_prefix}//{verb}"


def _lower_case_arguments(pod: msgspec.Raw, nodes: Raws | None, names: Sequence[str] | None) -> bytes:  # noqa: ARG001
    return msgspec.json.encode({"pod": pod, "nodes": _node_list(nodes or ())})


def _any_status(verb: str, url: str, status: int) -> None:  # noqa: ARG001
    return None


# --- 1.16 ------------------------------------------------------------------------------------


def _url_of_verb(url_prefix: str, verb: str) -> str:
    return f"{url_prefix.rstrip('/')}/{verb}"


def _capitalised_arguments(pod: msgspec.Raw, nodes: Raws | None, names: Sequence[str] | None) -> bytes:
    listed = None if nodes is None else _node_list(nodes)
    return msgspec.json.encode({"Pod": pod, "Nodes": listed, "NodeNames": names})


def _counted_preemption(pod: msgspec.Raw, victims: VictimsByNode, meta: bool) -> bytes:
    full, short = None, None
    if meta:
        short = {n: _victims([{"UID": p.metadata.uid} for p in pods], k) for n, (pods, k) in victims.items()}
    else:
        full = {n: _victims([encode_pod(p, pod_as_read) for p in pods], k) for n, (pods, k) in victims.items()}
    return msgspec.json.encode({"Pod": pod, "NodeNameToVictims": full, "NodeNameToMetaVictims": short})


def _capitalised_preemption(pod: msgspec.Raw, victims: VictimsByNode, meta: bool) -> bytes:
    """The short form leaves the number of violated budgets at 0."""
    return _counted_preemption(pod, {n: (pods, 0) for n, (pods, _) in victims.items()} if meta else victims, meta)


def _victims(pods: Sequence[Any], violations: int) -> dict[str, Any]:
    return {"Pods": pods, "NumPDBViolations": violations}


def _only_200(verb: str, url: str, status: int) -> str | None:
    return None if status == 200 else f"Failed {verb} with extender at URL {url}, code {status}"


def _not_in_map(url_prefix: str, name: str) -> str:
    return f"extender {quote(url_prefix)} claims a filtered node {quote(name)} which is not found in nodeNameToInfo map"


# --- 1.20 and 1.36 ---------------------------------------------------------------------------


def _only_200_lower_case(verb: str, url: str, status: int) -> str | None:
    return None if status == 200 else f"failed {verb} with extender at URL {url}, code {status}"


def _not_among_asked(url_prefix: str, name: str) -> str:
    return (
        f"extender {quote(url_prefix)} claims a filtered node {quote(name)} which is not found in the input node list"
    )


def _as_told(error: str) -> str:
    return error


# --- helpers ---------------------------------------------------------------------------------


def _node_list(nodes: Raws) -> dict[str, Any]:
    return {"metadata": {}, "items": nodes}


def quote(text: str) -> str:
    """A text in double quotes, as error texts show URLs and names."""
    import json

    return json.dumps(text, ensure_ascii=False)


WIRE_1_16 = WireFormat(
    sends_names=True,
    url=_url_of_verb,
    pod=pod_as_read,
    arguments=_capitalised_arguments,
    preemption=_capitalised_preemption,
    status_fault=_only_200,
    document=first_value,
    refusal=format_without_operands,
    unknown_node=_not_in_map,
)

WIRE_1_4 = msgspec.structs.replace(
    WIRE_1_16,
    sends_names=False,
    url=_url_with_lost_version,
    pod=pod_internal,
    arguments=_lower_case_arguments,
    status_fault=_any_status,
    document=only_value,
    needs_end=True,
)

WIRE_1_20 = msgspec.structs.replace(
    WIRE_1_16,
    status_fault=_only_200_lower_case,
    unknown_node=_not_among_asked,
    takes_only_asked=True,
)

WIRE_1_36 = msgspec.structs.replace(
    WIRE_1_20,
    preemption=_counted_preemption,
    refusal=_as_told,
    knows_unresolvable=True,
    counts_violations=True,
)
