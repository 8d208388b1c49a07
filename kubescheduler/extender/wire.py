"""How a release talks to extenders: pods and nodes as JSON, addresses, bodies, what it takes for an answer, its texts.

A release is one record of functions; a rule that changed stands as a second function beside the first.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from clusterstate.objects import Node, Pod

CACHED_NODES = 16_384
"""Node names whose JSON is kept; the oldest go first."""
TYPE_META = ("apiVersion", "kind")


def manifest_of(obj: Pod | Node) -> dict[str, Any]:
    """The object as it was read, or else written anew; without apiVersion and kind, as items of a list are."""
    if obj.manifest is None:
        from clusterstate.manifests.kinds import encode_object

        found: Mapping[str, Any] = encode_object(obj)
    else:
        found = obj.manifest
    return {key: value for key, value in found.items() if key not in TYPE_META}


def encode_pod(pod: Pod, represent: Callable[[dict[str, Any]], dict[str, Any]]) -> msgspec.Raw:
    """The pod's JSON after ``represent``, the release's way to write a pod."""
    return msgspec.Raw(msgspec.json.encode(represent(manifest_of(pod)), enc_hook=_plain))


def pod_as_read(manifest: dict[str, Any]) -> dict[str, Any]:
    """The v1 form. Upstream: 1.16 and later."""
    return manifest


def pod_internal(manifest: dict[str, Any]) -> dict[str, Any]:
    """The internal form: host flags in securityContext, no init containers, volumes null when absent. Upstream: 1.4."""
    spec = dict(manifest.get("spec") or {})
    spec.pop("initContainers", None)
    spec.setdefault("volumes", None)
    security = dict(spec.get("securityContext") or {})
    for flag in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.pop(flag, False):
            security[flag] = True
    spec["securityContext"] = security
    return {**manifest, "spec": spec}


class NodeEncoder(msgspec.Struct, eq=False):
    """Writes each node once and keeps its JSON while it is asked for. Extenders may share one; it is thread-safe."""

    capacity: int = CACHED_NODES
    _kept: dict[str, tuple[Node, msgspec.Raw]] = msgspec.field(default_factory=dict)
    _lock: threading.Lock = msgspec.field(default_factory=threading.Lock)

    def encode(self, nodes: Iterable[Node]) -> list[msgspec.Raw]:
        """The nodes' JSON, in order. The same object is written once: frozen objects do not change."""
        with self._lock:
            return [self._encode(node) for node in nodes]

    def _encode(self, node: Node) -> msgspec.Raw:
        kept = self._kept.get(node.name)
        if kept is not None and kept[0] is node:
            return kept[1]
        raw = msgspec.Raw(msgspec.json.encode(manifest_of(node), enc_hook=_plain))
        if kept is None and len(self._kept) >= self.capacity:
            del self._kept[next(iter(self._kept))]
        self._kept[node.name] = (node, raw)
        return raw


def _plain(value: object) -> object:
    """Mappings that are no dict."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


FLAGS = frozenset("#0+- ")
TOO_LARGE = 1_000_000
"""A width or precision beyond this swallows the rest of the text."""


def format_without_operands(text: str) -> str:
    """The text as ``fmt.Errorf(text)`` gives it; unchanged when it has no ``%``."""
    if "%" not in text:
        return text
    scanner = _Scanner(text)
    while scanner.at < len(text):
        percent = text.find("%", scanner.at)
        if percent < 0:
            scanner.out.append(text[scanner.at :])
            break
        scanner.out.append(text[scanner.at : percent])
        scanner.at = percent + 1
        scanner.directive()
    return "".join(scanner.out)


class _Scanner(msgspec.Struct):
    """Reads one directive at a time and writes what stands for it."""

    text: str
    at: int = 0
    out: list[str] = msgspec.field(default_factory=list)
    indexed: bool = False

    def directive(self) -> None:
        """From behind the ``%`` to behind the verb."""
        self.indexed = False
        while self._peek() in FLAGS:
            self.at += 1
        after_index = self._index()
        after_index = self._amount("%!(BADWIDTH)") and after_index
        if self._peek() == ".":
            self.at += 1
            after_index = self._index()
            after_index = self._amount("%!(BADPREC)") and after_index
        if not after_index:
            self._index()
        self._verb()

    def _peek(self) -> str:
        """The next character; NUL at the end, which means nothing here."""
        return self.text[self.at] if self.at < len(self.text) else "\0"

    def _index(self) -> bool:
        """Skips ``[…]``; whether it holds a number. Every index is a bad one, as there are no operands."""
        if self._peek() != "[":
            return False
        self.indexed = True
        close = self.text.find("]", self.at)
        if close < 0 or len(self.text) - self.at < 3:
            self.at += 1
            return False
        inside, self.at = self.text[self.at + 1 : close], close + 1
        return inside.isascii() and inside.isdigit() and not _too_large(inside)

    def _amount(self, bad: str) -> bool:
        """Skips a width or precision. False when it was ``*``, which asks for an operand."""
        if self._peek() == "*":
            self.at += 1
            self.out.append(bad)
            return False
        start = self.at
        while self._peek() in "0123456789":
            self.at += 1
        if _too_large(self.text[start : self.at]):
            self.at = len(self.text)
        return True

    def _verb(self) -> None:
        if self.at >= len(self.text):
            self.out.append("%!(NOVERB)")
            return
        verb = self.text[self.at]
        self.at += 1
        if verb == "%":
            self.out.append("%")
        else:
            self.out.append(f"%!{verb}({'BADINDEX' if self.indexed else 'MISSING'})")


def _too_large(digits: str) -> bool:
    """Go looks at the number before it reads the last digit."""
    read = digits[:-1].lstrip("0")
    return len(read) > 7 or int(read or "0") > TOO_LARGE


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
