"""What extenders answer: the first value of a body, its members in any case, the shapes they must have; and the nodes
that filters answered, also such as the cluster does not have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np

from clusterstate.cache import ClusterCache
from clusterstate.errors import DecodeError, SchedulingError
from clusterstate.manifests.decode import decode_object
from clusterstate.objects import Node, Pod
from kubescheduler.core.extender_calls import FilterAnswer, SeenNodes, SnapshotRows
from kubescheduler.extender.wire import manifest_of

if TYPE_CHECKING:
    from clusterstate.growable import IntArray


_ESCAPE = re.compile(
    rb"\\u[dD][89aAbB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL
)
"""An escape of JSON; the group is half a pair of surrogates without the other."""
_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*"|[][{}]', re.DOTALL)
_DEEP, _DEEPEST = 200, 10_000
"""Levels beyond which nothing is read, and which Go's decoder takes."""
T = TypeVar("T")
NULL = b"null"
MISSING = msgspec.Raw(NULL)
MAPPING = msgspec.json.Decoder(dict[str, msgspec.Raw] | None)
LIST = msgspec.json.Decoder(list[msgspec.Raw] | None)
TEXT = msgspec.json.Decoder(str | None)
INTEGER = msgspec.json.Decoder(int | None)
Score = tuple[str, int]
"""A host and its score, as answered: not weighted, not clamped, of any host."""
Victims = tuple[tuple[str, ...], int]
"""The uids of the pods that would go from a node, and how many of them violate a budget."""


class ExtenderError(SchedulingError):
    """An extender refused the call, could not be reached in time, or answered something unreadable."""


class CutShortError(ExtenderError):
    """A body broke off."""

    def __init__(self, text: str, body: bytes) -> None:
        super().__init__(text)
        self.body = body
        """What came before."""


class FilterReply(msgspec.Struct, frozen=True):
    """The members of a filter answer; None for a list that is absent or null."""

    names: tuple[str, ...] | None
    objects: tuple[msgspec.Raw, ...] | None
    failed: dict[str, str]
    error: str
    unresolvable: dict[str, str] = msgspec.field(default_factory=dict)


# --- bodies ----------------------------------------------------------------------------------


def only_value(body: bytes) -> msgspec.Raw:
    """The body as one JSON document; anything behind it is a fault. Upstream: 1.4."""
    if not body.strip(b" \t\r\n"):
        raise ExtenderError("unexpected end of JSON input")
    return _guarded(lambda: msgspec.json.decode(_utf8(body), type=msgspec.Raw), "the body")


def first_value(body: bytes) -> msgspec.Raw:
    """The first JSON value of a body; what follows is not looked at. Upstream: 1.16 and later."""
    if not body.strip(b" \t\r\n"):
        raise ExtenderError("EOF")
    body = _utf8(body)
    try:
        return msgspec.json.decode(body, type=msgspec.Raw)
    except RecursionError:
        return _guarded(lambda: _prefix(_without_depths(body).decode()), "the body")
    except msgspec.DecodeError:
        return _guarded(lambda: _prefix(body.decode()), "the body")


def _prefix(text: str) -> msgspec.Raw:
    text = text.lstrip(" \t\r\n")
    import json

    end = json.JSONDecoder(parse_constant=_refuse_constant).raw_decode(text)[1]
    return msgspec.Raw(text[:end].encode())


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON number")


def _utf8(body: bytes) -> bytes:
    """The body with invalid UTF-8 and half surrogates replaced, as Go's decoder does."""
    body = body if body.isascii() else body.decode("utf-8", "replace").encode()
    return _ESCAPE.sub(lambda found: b"\\ufffd" if found[1] else found[0], body) if b"\\ud" in body.lower() else body


def _without_depths(body: bytes) -> bytes:
    """The body with null for what lies deeper than anything that is read of an answer.

    Raises ExtenderError beyond what Go's decoder takes.
    """
    kept, depth, begin, text = bytearray(), 0, 0, body
    for token in _BRACKETS.finditer(text):
        bracket = token[0]
        if bracket in (b"[", b"{"):
            depth += 1
            if depth == _DEEP:
                kept += text[begin : token.start()] + b"null"
            if depth > _DEEPEST:
                raise ExtenderError("cannot read the extender's answer: the body: exceeded max depth")
        elif bracket in (b"]", b"}"):
            if depth == _DEEP:
                begin = token.end()
            depth -= 1
    return bytes(kept + text[begin:]) if depth < _DEEP else text


def _guarded(decode: Callable[[], T], what: str) -> T:
    """``decode()``, with every fault of the text turned into an ExtenderError."""
    try:
        return decode()
    except RecursionError as e:
        raise ExtenderError(f"cannot read the extender's answer: {what}: nested too deeply") from e
    except (msgspec.MsgspecError, ValueError) as e:
        raise ExtenderError(f"cannot read the extender's answer: {what}: {e}") from e


def _read(decoder: msgspec.json.Decoder[T], raw: msgspec.Raw, what: str) -> T:
    return _guarded(lambda: decoder.decode(raw), what)


# --- shapes ----------------------------------------------------------------------------------


def _mapping(raw: msgspec.Raw, what: str) -> dict[str, msgspec.Raw]:
    """The members of an object, keys as written; null is an empty object."""
    return _read(MAPPING, raw, what) or {}


def _members(raw: msgspec.Raw, what: str) -> dict[str, msgspec.Raw]:
    """The members of an object by lower-case key."""
    return {key.lower(): value for key, value in _mapping(raw, what).items()}


def _text(raw: msgspec.Raw, what: str) -> str:
    """A string; null is an empty one."""
    return _read(TEXT, raw, what) or ""


def _messages(members: dict[str, msgspec.Raw], key: str) -> dict[str, str]:
    """Node → message under a key of an answer."""
    raw = members.get(key.lower(), MISSING)
    return {node: _text(message, key) for node, message in _mapping(raw, key).items()}


def _integer(raw: msgspec.Raw, what: str) -> int:
    """An integer of 64 bits; null is 0."""
    number = _read(INTEGER, raw, what) or 0
    if not -(2**63) <= number < 2**63:
        raise ExtenderError(f"cannot read the extender's answer: {what}: got {number}")
    return number


def read_filter(raw: msgspec.Raw, *, with_unresolvable: bool = False) -> FilterReply:
    """A filter answer; ``null`` is an empty one. ``with_unresolvable``: failedAndUnresolvableNodes is a member.

    Raises:
        ExtenderError: a member has the wrong type.
    """
    members = _members(raw, "filter")
    names = _read(LIST, members.get("nodenames", MISSING), "nodenames")
    nodes = members.get("nodes", MISSING)
    objects = None
    if bytes(nodes) != NULL:
        items = _read(LIST, _members(nodes, "nodes").get("items", MISSING), "nodes.items")
        objects = tuple(items or ())
    return FilterReply(
        names=None if names is None else tuple(_text(name, "nodenames") for name in names),
        objects=objects,
        failed=_messages(members, "failedNodes"),
        error=read_error(raw, members),
        unresolvable=_messages(members, "failedAndUnresolvableNodes") if with_unresolvable else {},
    )


def read_error(raw: msgspec.Raw, members: dict[str, msgspec.Raw] | None = None) -> str:
    """The ``error`` member of an answer, empty when there is none."""
    members = _members(raw, "answer") if members is None else members
    return _text(members.get("error", MISSING), "error")


def node_name(node: msgspec.Raw) -> str:
    """metadata.name of an answered node object, empty when there is none."""
    metadata = _members(node, "nodes.items").get("metadata", MISSING)
    return _text(_members(metadata, "nodes.items.metadata").get("name", MISSING), "nodes.items.metadata.name")


def read_scores(raw: msgspec.Raw) -> list[Score]:
    """A prioritize answer, in its order; ``null`` is an empty one.

    Raises:
        ExtenderError: it is no list, or a score is no JSON integer of 64 bits.
    """
    return [_score(_members(item, "a score")) for item in _read(LIST, raw, "the scores, a list of {host, score}") or ()]


def _score(members: dict[str, msgspec.Raw]) -> Score:
    score = _integer(members.get("score", MISSING), "score, a 64-bit integer")
    return _text(members.get("host", MISSING), "host"), score


def read_victims(raw: msgspec.Raw) -> dict[str, Victims]:
    """A preempt answer, node → (uids, violations); ``null`` and anything unknown is an empty one.

    Raises:
        ExtenderError: a member has the wrong type.
    """
    nodes = _mapping(_members(raw, "preempt").get("nodenametometavictims", MISSING), "nodeNameToMetaVictims")
    return {name: _victims(_members(victims, "victims")) for name, victims in nodes.items()}


def _victims(members: dict[str, msgspec.Raw]) -> Victims:
    pods = _read(LIST, members.get("pods", MISSING), "pods") or ()
    uids = tuple(_text(_members(pod, "pods").get("uid", MISSING), "uid") for pod in pods)
    return uids, _integer(members.get("numpdbviolations", MISSING), "numPDBViolations, a 64-bit integer")


def node_not_found(name: str) -> str:
    """The text for a name that the snapshot does not have. Upstream: 1.20 and 1.36 snapshot.Get."""
    return f'nodeinfo not found for node name "{name}"'


class AnsweredRows(SnapshotRows, eq=False):
    """The rows of one attempt's nodes: those of the snapshot, and behind them a row for every answered node object that
    the cluster does not have. Upstream: 1.36 findNodesThatPassExtenders makes node records of the answered objects.
    """

    added: list[Node] = msgspec.field(default_factory=list)
    """The nodes of the rows behind the snapshot's."""
    changed: dict[int, Node] = msgspec.field(default_factory=dict)
    """Row → the answered object, where it says something else than the cluster's."""
    invented: dict[str, int] = msgspec.field(default_factory=dict)
    """Name → row, of answered nodes that the cluster has no object of."""

    @property
    def altered(self) -> bool:
        """Whether the answers hold a node that the cluster does not have as it was answered."""
        return bool(self.added or self.changed)

    @property
    def added_names(self) -> tuple[str, ...]:
        """The names of the rows behind the snapshot's."""
        return tuple(node.name for node in self.added)

    def names(self, rows: IntArray) -> list[str]:
        names = (*self.snapshot.names, *self.added_names) if self.added else self.snapshot.names
        return [names[row] for row in rows.tolist()]

    def nodes(self, rows: IntArray) -> list[Node]:
        if not self.altered:
            return super().nodes(rows)
        found = (self._node(row) for row in rows.tolist())
        return [node for node in found if node is not None]

    def _node(self, row: int) -> Node | None:
        size = len(self.snapshot)
        return self.added[row - size] if row >= size else self.changed.get(row, self.snapshot.node(row))

    def read(self, answer: FilterAnswer) -> None:
        for name, raw in zip(answer.nodes, answer.objects or (), strict=False):
            self._note(name, _document(raw))

    def _of_name(self, name: str) -> int:
        row = self.invented.get(name)
        return super()._of_name(name) if row is None else row

    def _note(self, name: str, document: dict[str, Any]) -> None:
        row = self.snapshot.row_of(name)
        if row is None:
            self.added.append(_decoded(document))
            self.invented[name] = len(self.snapshot) + len(self.added) - 1
            return
        known = self.snapshot.node(row)
        if known is None:
            self.changed[row] = _decoded(document)
            self.invented[name] = row
            return
        self.changed.pop(row, None)
        if document != manifest_of(known):
            node = _decoded(document)
            if node != known:
                self.changed[row] = node


def _document(raw: msgspec.Raw) -> dict[str, Any]:
    found = msgspec.json.decode(raw)
    return {key: value for key, value in (found or {}).items() if key not in ("apiVersion", "kind")}


def _decoded(document: dict[str, Any]) -> Node:
    try:
        node = decode_object({"apiVersion": "v1", "kind": "Node", **document})
    except DecodeError as error:
        raise SchedulingError(f"cannot read the extender's answer: nodes.items: {error}") from error
    assert isinstance(node, Node)
    return node


class AnsweredCluster(msgspec.Struct, frozen=True, eq=False):
    """The cluster, row for row, and behind it a row without pods for every answered object that it does not have so."""

    cache: ClusterCache
    """A copy, of which the cluster knows nothing."""
    copies: Mapping[int, int]
    """Row → the row of the object that was answered for its node."""

    def rows(self, rows: IntArray) -> IntArray:
        """(n,) the rows of the objects as they were answered last, for those of the nodes."""
        return np.array([self.copies.get(row, row) for row in rows.tolist()], np.int64)


def cluster_as_answered(cache: ClusterCache, answered: AnsweredRows) -> AnsweredCluster:
    """A copy of the cluster with the answered objects.

    An answered object stands beside the cluster's own, with no pods: running pods count in the domains that the
    cluster's own labels put them in, and the answered labels only say in which domain the pod would be.
    Cost: all nodes and pods are noted anew, which only an answer of other nodes than were sent brings about.
    Upstream: 1.36 counts over the snapshot and scores the records made of the answered objects.
    """
    made = _copy(cache, {})
    for node in answered.added:
        made.columns.put_node(made.columns.row(node.name), node)
    copies: dict[int, int] = {}
    for row, node in answered.changed.items():
        copy = copies[row] = made.columns.row(f"\0{node.name}")
        made.columns.put_node(copy, node)
        made.columns.names[copy] = node.name
    return AnsweredCluster(made, copies)


def _copy(cache: ClusterCache, replaced: Mapping[int, Node]) -> ClusterCache:
    """A copy of the cluster, row for row; replaced: row → the node object to put there."""
    made = ClusterCache(cache.view)
    made.objects = cache.objects
    columns = cache.columns
    for row, name in enumerate(columns.names):
        made.columns.row(name or f"\0{row}")
        node = replaced.get(row, columns.nodes[row])
        if node is not None:
            made.columns.put_node(row, node)
        for uid, pod in columns.pods[row].items():
            made.columns.put_pod(row, pod, uid)
    return made


# --- releases with priorities --------------------------------------------------------------


class AnsweredKnownRows(AnsweredRows, eq=False):
    """The same for releases that fail on a node that the cluster does not have."""

    def _note(self, name: str, document: dict[str, Any]) -> None:
        row = self.snapshot.row_of(name)
        if row is not None and self.snapshot.node(row) is not None:
            super()._note(name, document)

    def _beside(self, pod: Pod, cache: ClusterCache, rows: IntArray) -> SeenNodes:
        """The labels say where the pod would be; running pods are where the cluster's own labels put them."""
        cluster = cluster_as_answered(cache, self)
        made = cluster.cache
        return made.info(pod).naming(pod.node_name), made.snapshot().take(cluster.rows(rows))

    def _replaced(self, pod: Pod, cache: ClusterCache, rows: IntArray) -> SeenNodes:
        """The answered objects with the pods and the amounts of the cluster's."""
        known = cache.columns.nodes
        made = _copy(cache, {row: _with_amounts_of(known[row], node) for row, node in self.changed.items()})
        return made.info(pod).naming(pod.node_name), made.snapshot().take(rows)


def _with_amounts_of(known: Node | None, answered: Node) -> Node:
    assert known is not None
    return msgspec.structs.replace(answered, allocatable=known.allocatable, capacity=known.capacity)


INTER_POD_AFFINITY = "InterPodAffinityPriority"
EVEN_PODS_SPREAD = "EvenPodsSpreadPriority"


class AnsweredRows1_16(AnsweredKnownRows, eq=False):  # noqa: N801
    """Priorities that are one function get the answered objects; those with a map function read the snapshot.

    Upstream: 1.16 CalculateInterPodAffinityPriority, CalculateEvenPodsSpreadPriority, PrioritizeNodes.
    """

    def views(self, pod: Pod, cache: ClusterCache, rules: Iterable[str], rows: IntArray) -> dict[str, SeenNodes]:
        if not self.changed:
            return {}
        read = [rule for rule in rules if rule in (INTER_POD_AFFINITY, EVEN_PODS_SPREAD)]
        return dict.fromkeys(read, self._beside(pod, cache, rows)) if read else {}


class AnsweredRows1_4(AnsweredKnownRows, eq=False):  # noqa: N801
    """Every priority gets the answered objects, and finds amounts and running pods in the snapshot.

    InterPodAffinityPriority looks up the nodes of running pods there. Upstream: 1.4 PrioritizeNodes.
    """

    def views(self, pod: Pod, cache: ClusterCache, rules: Iterable[str], rows: IntArray) -> dict[str, SeenNodes]:
        if not self.changed:
            return {}
        replaced = self._replaced(pod, cache, rows)
        found = dict.fromkeys(rules, replaced)
        return found | {INTER_POD_AFFINITY: self._beside(pod, cache, rows)}
