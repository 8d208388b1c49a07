"""The calls a scheduler makes to an HTTP extender."""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING

import attrs
import msgspec

from kubescheduler.core.extender_calls import FilterAnswer
from kubescheduler.extender.answers import (
    CutShortError,
    ExtenderError,
    Score,
    Victims,
    node_name,
    read_error,
    read_filter,
    read_scores,
    read_victims,
)
from kubescheduler.extender.config import ExtenderConfig, masked
from kubescheduler.extender.wire import NodeEncoder, VictimsByNode, WireFormat, encode_pod

if TYPE_CHECKING:
    from clusterstate.objects import Node, Pod
    from kubescheduler.extender.recorded_answers import Exchange


@attrs.define(eq=False)
class HTTPExtender:
    """An extender as a release talks to it. Makes no connection before the first call; safe to share by threads.

    ``encoder`` keeps the JSON of nodes; extenders of one scheduler had better share one.
    """

    config: ExtenderConfig
    wire: WireFormat
    encoder: NodeEncoder = attrs.field(factory=NodeEncoder, repr=False)
    opener: Callable[[ExtenderConfig], Exchange] | None = attrs.field(default=None, repr=False)
    """Makes what posts the requests; None: connections to the extender itself."""
    _opened: Exchange | None = attrs.field(default=None, init=False, repr=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)

    @property
    def name(self) -> str:
        """What messages call it: its urlPrefix, without a password."""
        return self.config.name

    def is_interested(self, pod: Pod) -> bool:
        """Whether the extender is to be asked about the pod."""
        return self.config.is_interested(pod)

    def filter(self, pod: Pod, nodes: Sequence[Node], known: Container[str] | None = None) -> FilterAnswer:
        """The nodes the extender keeps, and its messages; all of ``nodes`` without a filterVerb.

        ``known`` holds the names a list of names may contain in a release that takes more than those of ``nodes``
        (1.16: every node of the snapshot). Node objects are not checked against it.

        Raises:
            ExtenderError: with the release's text.
        """
        if not self.config.filter_verb:
            return FilterAnswer(tuple(node.name for node in nodes))
        document = self._ask(self.config.filter_verb, pod, nodes)
        answer = read_filter(document, with_unresolvable=self.wire.knows_unresolvable)
        if answer.error:
            raise ExtenderError(self.wire.refusal(answer.error))
        if self._by_name and answer.names is not None:
            if known is None or self.wire.takes_only_asked:
                known = {node.name for node in nodes}
            for name in answer.names:
                if name not in known:
                    raise ExtenderError(self.wire.unknown_node(self.name, name))
            return FilterAnswer(answer.names, answer.failed, unresolvable=answer.unresolvable)
        names = tuple(node_name(node) for node in answer.objects or ())
        return FilterAnswer(names, answer.failed, answer.unresolvable, answer.objects)

    def prioritize(self, pod: Pod, nodes: Sequence[Node]) -> list[Score]:
        """(host, score) as answered, hosts perhaps repeated or unknown; empty without a prioritizeVerb.

        Raises:
            ExtenderError: the call failed or a score is no integer of 64 bits. Upstream goes on without the scores.
        """
        if not self.config.prioritize_verb:
            return []
        return read_scores(self._ask(self.config.prioritize_verb, pod, nodes))

    def bind(self, pod: Pod, node_name: str) -> None:
        """Has the extender bind the pod. Upstream: 1.16 and later.

        Raises:
            ExtenderError: the call failed, or the extender has no bindVerb.
        """
        if not self.config.bind_verb:
            raise ExtenderError("unexpected empty bindVerb in extender")
        meta = pod.metadata
        binding = {"PodName": meta.name, "PodNamespace": meta.namespace, "PodUID": meta.uid, "Node": node_name}
        error = read_error(self._post(self.config.bind_verb, msgspec.json.encode(binding)))
        if error:
            raise ExtenderError(self.wire.refusal(error))

    def preempt(self, pod: Pod, victims: VictimsByNode) -> dict[str, Victims]:
        """The nodes the extender leaves of ``victims``: (uids of the pods that would go, violated budgets).

        The number is the extender's in 1.36 and 0 in older releases, whatever the extender says.

        Raises:
            ExtenderError: the call failed, or the extender has no preemptVerb. An ``error`` member is not looked at:
                no node is left then.
        """
        if not self.config.preempt_verb:
            raise ExtenderError(f"preempt verb is not defined for extender {self.name} but run into ProcessPreemption")
        meta = self.config.node_cache_capable
        body = self.wire.preemption(encode_pod(pod, self.wire.pod), victims, meta)
        answer = read_victims(self._post(self.config.preempt_verb, body))
        if self.wire.counts_violations:
            return answer
        return {name: (uids, 0) for name, (uids, _) in answer.items()}

    def arguments(self, pod: Pod, nodes: Sequence[Node]) -> bytes:
        """The body of a filter or prioritize call: JSON with the pod, and the nodes whole or by name."""
        names = [node.name for node in nodes] if self._by_name else None
        items = self.encoder.encode(nodes) if names is None else None
        return self.wire.arguments(encode_pod(pod, self.wire.pod), items, names)

    def shown_url(self, verb: str) -> str:
        """The address of a call, without a password. verb: as the configuration names it."""
        return masked(self.wire.url(self.config.url_prefix, verb))

    def shown_headers(self) -> list[str]:
        """The headers of a call that say something of it; user and password are not shown."""
        authority = self.config.url_prefix.partition("://")[2].partition("/")[0]
        return ["Content-Type: application/json", *(["Authorization: Basic ***"] if "@" in authority else [])]

    def close(self) -> None:
        """Closes the connections that are kept open; the next call opens new ones."""
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    @property
    def _by_name(self) -> bool:
        return self.config.node_cache_capable and self.wire.sends_names

    def _ask(self, verb: str, pod: Pod, nodes: Sequence[Node]) -> msgspec.Raw:
        return self._post(verb, self.arguments(pod, nodes))

    def _post(self, verb: str, body: bytes) -> msgspec.Raw:
        url, shown = self.wire.url(self.config.url_prefix, verb), self.shown_url(verb)
        try:
            answer = self._transport().post(url, body, lambda status: self.wire.status_fault(verb, shown, status))
        except CutShortError as error:
            if self.wire.needs_end or error.body.lstrip()[:1] not in (b"{", b"["):
                raise
            try:  # upstream decodes as it reads, and reads no further than the end of the value
                return self.wire.document(error.body)
            except ExtenderError:
                raise error from None
        return self.wire.document(answer)

    def _transport(self) -> Exchange:
        with self._lock:
            if self._opened is None and self.opener is not None:
                self._opened = self.opener(self.config)
            elif self._opened is None:
                from kubescheduler.extender.transport import Transport

                self._opened = Transport(self.config)
            return self._opened
