"""The verbs about one node, one rule or one extender: why, what if, and what would become of pods without the node.

``drained`` and ``lost`` say it in the words of the commands: the cluster is played in the loop of the side's release,
as ``drain`` and ``outage`` do it, and the scene stays as it is.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal

import msgspec

from clusterstate.errors import InputError, nearest
from clusterstate.objects import Node
from kubescheduler.api.disruptions import drain_of, flags_for, lost_nodes, named_nodes, outage_of
from kubescheduler.api.engine_choice import tie_break_of
from kubescheduler.core.decision import Decision
from kubescheduler.core.evidence import NodeExplanation
from kubescheduler.core.extender_calls import nodes_of
from kubescheduler.engine.spec import PodScheduler
from kubescheduler.extender.client import HTTPExtender
from kubescheduler.lab.scene.decision_rows import shown_decision
from kubescheduler.lab.scene.scene import MOST_ROWS, Scene, Verb, verb
from kubescheduler.lab.scene.scene_state import SceneFault
from kubescheduler.planning.drain_order import Drain
from kubescheduler.planning.outage import Outage
from kubescheduler.releases.lookup import release_of
from kubescheduler.report.rule_pages import RulePage, all_pages, by_range, without_links
from kubescheduler.report.single_file import DRAIN_STATUS, OUTAGE_STATUS, Section, drain_sections, outage_sections

MOST_NEAREST = 2000
"""Nodes among which a name that is near is looked for."""


@verb
def why(
    scene: Scene,
    node: str,
    side: str = "a",
    pod: str | None = None,
    check: str | None = None,
    rule: str | None = None,
) -> dict[str, Any]:
    """Every reason against a node and every score of it, with the facts and formulas behind them.

    pod: ``namespace/name``; by default the pod that is asked about. check, rule: only that one.
    """
    out = explained(shown_decision(scene, side, pod), node).to_dict()
    if check is not None or rule is not None:
        out["refusals"] = [one for one in out["refusals"] if one["rule"] == check]
        out["scores"] = [one for one in out["scores"] if one["rule"] == rule]
    return out


def explained(decision: Decision, node: str) -> NodeExplanation:
    """Why a node was refused or what its scores were made of, also of one node that fits, which a release may take
    unscored. Raises SceneFault for a node that was not decided about."""
    if decision.explainer is None:
        return NodeExplanation(node, fits=False, reported=(), refusals=())
    if node not in decision.names:
        close = nearest(node, decision.names) if len(decision.names) <= MOST_NEAREST else ""
        raise SceneFault(f"node: there is no node {node}{close}")
    scored = decision.thorough()
    try:
        return (scored if node in scored.fits() else decision).why(node)
    except InputError as error:
        raise SceneFault(error.problems) from error


@verb
def whatif(scene: Scene, node: str, side: str = "a", pod: str | None = None) -> dict[str, Any]:
    """Whether a pod may run on a node, with the reasons if not, and where the scheduler would put it."""
    decision = shown_decision(scene, side, pod)
    found = explained(decision, node)
    fits = found.fits and decision.error is None
    return {
        "pod": decision.pod.key,
        "node": node,
        "fits": fits,
        "reported": list(found.reported),
        "refusals": [refusal.to_dict() for refusal in found.refusals],
        "host": decision.host,
        "error": decision.error,
        "text": whatif_text(decision, found, fits=fits),
    }


def whatif_text(decision: Decision, found: NodeExplanation, *, fits: bool) -> str:
    """One line: fits or not, and where the scheduler would put the pod."""
    if not decision.tried:
        return f"{decision.pod.key} is not tried: {decision.message}"
    if decision.error is not None:
        return f"The attempt ends in an error: {decision.error}"
    if fits and decision.host == found.node:
        return f"{decision.pod.key} fits on {found.node}, and the scheduler puts it there"
    where = f"the scheduler puts it on {decision.host}" if decision.host else "it fits nowhere"
    if fits:
        return f"{decision.pod.key} fits on {found.node}; {where}"
    reasons = (
        ", ".join(found.reported) or ", ".join(refusal.reason for refusal in found.refusals) or "it is not looked at"
    )
    return f"{decision.pod.key} does not fit on {found.node}: {reasons}; {where}"


@verb
def rule(_: Scene, rule: str, release: str) -> dict[str, Any]:
    """The page of one rule, by its name. Raises SceneFault for a name that no release has: a custom rule, or an
    extender."""
    named = [page for page in _pages() if page.name == rule]
    if not named:
        names = sorted({page.name for page in _pages()})
        raise SceneFault(f"rule: there is no documentation of {rule}{nearest(rule, names)}")
    wanted = release_of(release)
    page = next((page for page in named if wanted in page.releases), named[0])
    return {
        "rule": page.name,
        "kind": page.kind,
        "releases": list(page.releases),
        "text": without_links(page.text),
        "facts": list(page.facts),
        "reasons": dict(page.reasons),
        "differs": {releases: said for releases, said in by_range(page.differs) if said},
        "page": page.page,
    }


@cache
def _pages() -> tuple[RulePage, ...]:
    return tuple(all_pages())


MOST_SHOWN = 20_000
"""Characters of a body that are shown."""

NOT_KEPT = "an extender that was asked before it failed the attempt; what was sent to this one is not kept"
NOT_ASKED = "it was not asked"


ExtenderCall = Literal["filter", "prioritize"]


@verb
def extender_request(
    scene: Scene, side: str = "a", extender: int = 0, verb: ExtenderCall = "filter", pod: str | None = None
) -> dict[str, Any]:
    """Method, address, headers and body of one call: the body is encoded again by what encoded it, laid out in lines,
    and cut after ``MOST_SHOWN`` characters. No password is in it. ``why`` instead says why there is nothing to show.

    extender: which one, in the order they are asked, from 0. verb: which of its calls. Raises SceneFault for an
    extender that the side does not have.
    """
    found, scheduler = shown_decision(scene, side, pod), scene.decider(side, pod)
    extenders = scheduler.algorithm.extenders
    if not 0 <= extender < len(extenders):
        raise SceneFault(f"extender: there is no extender {extender}; the side has {len(extenders)}")
    asked = extenders[extender]
    nodes = _sent(scene, side, found, scheduler, extender, verb)
    path = asked.config.filter_verb if verb == "filter" else asked.config.prioritize_verb
    if not path or not nodes or not isinstance(asked, HTTPExtender):
        return {"why": NOT_ASKED if nodes is not None or not path else NOT_KEPT, "request": None}
    return {"why": None, "request": _written(asked, path, found, nodes)}


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


def _sent(
    scene: Scene, side: str, found: Decision, scheduler: PodScheduler, extender: int, verb: ExtenderCall
) -> Sequence[Node] | None:
    """The nodes of a call; none where it was not made, None where that is not known. Of an attempt that an extender's
    failure ended only the first call is: the nodes are those that passed every check."""
    if extender < len(found.extenders):
        trace = found.extenders[extender]
        return (trace.filter_nodes if verb == "filter" else trace.prioritize_nodes) or ()
    if found.error is None or found.error_at != "filter" or verb != "filter":
        return ()
    first = next(
        at
        for at, one in enumerate(scheduler.algorithm.extenders)
        if one.config.filter_verb and one.is_interested(found.pod)
    )
    if extender != first:
        return None if extender > first else ()
    return nodes_of(scheduler.cache.snapshot(), scene.checked(side, found.pod.key).feasible)


FLAGS = ("--ignore-daemonsets", "--delete-emptydir-data", "--force")
"""With which every pod leaves that drain can move."""


@verb
def drained(scene: Scene, node: str, side: str = "a") -> dict[str, Any]:
    """What happens when a node is drained."""
    cluster, engine = scene.cluster(side), scene.engine(side)
    names = named_nodes(cluster, [node], None)
    flags = flags_for(cluster, names, None, ignore_daemonsets=True, delete_emptydir_data=True, force=True)
    found = drain_of(engine, cluster, names, flags, tie_break_of(engine, "first", None))
    return _loss_answer(["drain", node, *FLAGS], engine.release, found, DRAIN_STATUS, drain_sections(found))


@verb
def lost(scene: Scene, side: str = "a", node: str = "", zone: str = "") -> dict[str, Any]:
    """What happens when a node, or all nodes of a zone, are gone at once."""
    if bool(node) == bool(zone):
        raise SceneFault("say what is lost: node or zone")
    cluster, engine = scene.cluster(side), scene.engine(side)
    name, names = lost_nodes(cluster, [node] if node else [], zone or None, None)
    found = outage_of(engine, cluster, name, names, tie_break_of(engine, "first", None))
    command = ["outage", *(["--zone", zone] if zone else ["--node", node])]
    return _loss_answer(command, engine.release, found, OUTAGE_STATUS, outage_sections(found))


def _loss_answer(
    words: list[str], release: str, found: Drain | Outage, statuses: tuple[str, str], sections: Iterable[Section]
) -> dict[str, Any]:
    """As the command says it. Raises InputError where nobody knows the answer."""
    if found.undecided:
        raise InputError(f"no decision on {moved.pod.key}: {moved.message}" for moved in found.undecided)
    status = 0 if found.fine else 1
    return {
        "command": f"kubescheduler {shlex.join([words[0], 'CLUSTER', *words[1:]])} --release {release}",
        "headline": found.summary(),
        "fine": found.fine,
        "status": f"exit status {status}: {statuses[status]}",
        "notes": list(found.notes),
        "sections": [
            {
                "title": section.title,
                "head": list(section.rows[0]) if section.rows else [],
                "rows": [list(row) for row in section.rows[1 : MOST_ROWS + 1]],
                "more": max(0, len(section.rows) - 1 - MOST_ROWS),
                "texts": list(section.texts),
            }
            for section in sections
        ],
    }


VIEWS: Mapping[str, Verb] = {
    "why": why,
    "whatif": whatif,
    "rule": rule,
    "extenderRequest": extender_request,
    "drained": drained,
    "lost": lost,
}
