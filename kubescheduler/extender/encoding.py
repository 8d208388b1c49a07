"""Pods and nodes as the JSON an extender is sent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
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
