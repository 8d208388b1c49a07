"""How a release talks to extenders: addresses, bodies, what it takes for an answer, and its texts.

A release is one record of functions; a rule that changed stands as a second function beside the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from clusterstate.objects import Pod
from kubescheduler.extender.encoding import encode_pod, pod_as_read

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


def url_with_lost_version(url_prefix: str, verb: str) -> str:
    """The policy's apiVersion belongs between the slashes and is lost while the policy is decoded."""
    return f"{url_prefix}//{verb}"


def lower_case_arguments(pod: msgspec.Raw, nodes: Raws | None, names: Sequence[str] | None) -> bytes:  # noqa: ARG001
    """Keys in lower case, and nodes as objects alone."""
    return msgspec.json.encode({"pod": pod, "nodes": _node_list(nodes or ())})


def any_status(verb: str, url: str, status: int) -> None:  # noqa: ARG001
    """Every status is a good one."""
    return


# --- 1.16 ------------------------------------------------------------------------------------


def url_of_verb(url_prefix: str, verb: str) -> str:
    """One slash between the two."""
    return f"{url_prefix.rstrip('/')}/{verb}"


def capitalised_arguments(pod: msgspec.Raw, nodes: Raws | None, names: Sequence[str] | None) -> bytes:
    """Keys as the fields of Go's struct are called."""
    listed = None if nodes is None else _node_list(nodes)
    return msgspec.json.encode({"Pod": pod, "Nodes": listed, "NodeNames": names})


def counted_preemption(pod: msgspec.Raw, victims: VictimsByNode, meta: bool) -> bytes:
    """Victims by node, in full or as uids, with the number of budgets that they violate."""
    full, short = None, None
    if meta:
        short = {n: _victims([{"UID": p.metadata.uid} for p in pods], k) for n, (pods, k) in victims.items()}
    else:
        full = {n: _victims([encode_pod(p, pod_as_read) for p in pods], k) for n, (pods, k) in victims.items()}
    return msgspec.json.encode({"Pod": pod, "NodeNameToVictims": full, "NodeNameToMetaVictims": short})


def capitalised_preemption(pod: msgspec.Raw, victims: VictimsByNode, meta: bool) -> bytes:
    """The short form leaves the number of violated budgets at 0."""
    return counted_preemption(pod, {n: (pods, 0) for n, (pods, _) in victims.items()} if meta else victims, meta)


def _victims(pods: Sequence[Any], violations: int) -> dict[str, Any]:
    return {"Pods": pods, "NumPDBViolations": violations}


def only_200(verb: str, url: str, status: int) -> str | None:
    """Any status but 200 is a fault."""
    return None if status == 200 else f"Failed {verb} with extender at URL {url}, code {status}"


def not_in_map(url_prefix: str, name: str) -> str:
    """The text of releases that look among all nodes."""
    return f"extender {quote(url_prefix)} claims a filtered node {quote(name)} which is not found in nodeNameToInfo map"


# --- 1.20 and 1.36 ---------------------------------------------------------------------------


def only_200_lower_case(verb: str, url: str, status: int) -> str | None:
    """The same, with its text in lower case."""
    return None if status == 200 else f"failed {verb} with extender at URL {url}, code {status}"


def not_among_asked(url_prefix: str, name: str) -> str:
    """The text of releases that look among the nodes that were sent."""
    return (
        f"extender {quote(url_prefix)} claims a filtered node {quote(name)} which is not found in the input node list"
    )


def as_told(error: str) -> str:
    """The error itself."""
    return error


# --- helpers ---------------------------------------------------------------------------------


def _node_list(nodes: Raws) -> dict[str, Any]:
    return {"metadata": {}, "items": nodes}


def quote(text: str) -> str:
    """A text in double quotes, as error texts show URLs and names."""
    import json

    return json.dumps(text, ensure_ascii=False)
