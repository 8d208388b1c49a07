"""The verb ``extenderRequest``: what was posted to an extender, as it stood on the wire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from clusterstate.objects import Node
from kubescheduler.core.decision import Decision
from kubescheduler.core.extender_calls import nodes_of
from kubescheduler.engine.engine_contract import PodScheduler
from kubescheduler.extender.client import HTTPExtender
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_faults import SceneFault
from kubescheduler.lab.scene.verb_parameters import SideParameters, parameters
from kubescheduler.lab.scene.viewing.shown_decisions import shown_decision

MOST_SHOWN = 20_000
"""Characters of a body that are shown."""

NOT_KEPT = "an extender that was asked before it failed the attempt; what was sent to this one is not kept"
NOT_ASKED = "it was not asked"


class RequestParameters(SideParameters, frozen=True, kw_only=True):
    """Of ``extenderRequest``."""

    extender: int = 0
    """Which one, in the order they are asked, from 0."""
    verb: Literal["filter", "prioritize"] = "filter"
    """Which of its calls."""
    pod: str | None = None
    """``namespace/name``; by default the pod that is asked about."""


def extender_request(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Method, address, headers and body of one call: the body is encoded again by what encoded it, laid out in lines,
    and cut after ``MOST_SHOWN`` characters. No password is in it. ``why`` instead says why there is nothing to show.

    Raises SceneFault for an extender that the side does not have.
    """
    want = parameters(RequestParameters, asked)
    found, scheduler = shown_decision(scene, want.side, want.pod), scene.decider(want.side, want.pod)
    extenders = scheduler.algorithm.extenders
    if not 0 <= want.extender < len(extenders):
        raise SceneFault(f"extender: there is no extender {want.extender}; the side has {len(extenders)}")
    extender = extenders[want.extender]
    nodes = _sent(scene, found, scheduler, want)
    verb = extender.config.filter_verb if want.verb == "filter" else extender.config.prioritize_verb
    if not verb or not nodes or not isinstance(extender, HTTPExtender):
        return {"why": NOT_ASKED if nodes is not None or not verb else NOT_KEPT, "request": None}
    return {"why": None, "request": _written(extender, verb, found, nodes)}


def _written(extender: HTTPExtender, verb: str, found: Decision, nodes: Sequence[Node]) -> dict[str, Any]:
    body = extender.arguments(found.pod, nodes)
    text = msgspec.json.format(body, indent=2).decode()
    shown = text if len(text) <= MOST_SHOWN else text[: text.rindex("\n", 0, MOST_SHOWN)]
    return {
        "method": "POST",
        "url": extender.shown_url(verb),
        "headers": extender.shown_headers(),
        "nodes": len(nodes),
        "bytes": len(body),
        "body": shown,
        "cut": len(shown) < len(text),
    }


def _sent(scene: Scene, found: Decision, scheduler: PodScheduler, want: RequestParameters) -> Sequence[Node] | None:
    """The nodes of a call; none where it was not made, None where that is not known. Of an attempt that an extender's
    failure ended only the first call is: the nodes are those that passed every check."""
    if want.extender < len(found.extenders):
        trace = found.extenders[want.extender]
        return (trace.filter_nodes if want.verb == "filter" else trace.prioritize_nodes) or ()
    if found.error is None or found.error_at != "filter" or want.verb != "filter":
        return ()
    first = next(
        at
        for at, extender in enumerate(scheduler.algorithm.extenders)
        if extender.config.filter_verb and extender.is_interested(found.pod)
    )
    if want.extender != first:
        return None if want.extender > first else ()
    feasible = scene.checked(want.side, want.pod).feasible
    return nodes_of(scheduler.cache.snapshot(), feasible)
