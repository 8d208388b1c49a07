"""The verbs ``why`` and ``whatif``: what one node's refusals and scores were made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterstate.errors import InputError, nearest
from kubescheduler.core.decision import Decision
from kubescheduler.core.evidence import NodeExplanation
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_faults import SceneFault
from kubescheduler.lab.scene.verb_parameters import SideParameters, parameters
from kubescheduler.lab.scene.viewing.shown_decisions import shown_decision

MOST_NEAREST = 2000
"""Nodes among which a name that is near is looked for."""


class NodeParameters(SideParameters, frozen=True, kw_only=True):
    """Of a verb about a pod on a node."""

    node: str
    pod: str | None = None
    """``namespace/name``; by default the pod that is asked about."""


class WhyParameters(NodeParameters, frozen=True, kw_only=True):
    """Of ``why``: one check or rule, or all of them."""

    check: str | None = None
    rule: str | None = None


def why(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Every reason against a node and every score of it, with the facts and formulas behind them."""
    want = parameters(WhyParameters, asked)
    found = explained(shown_decision(scene, want.side, want.pod), want.node)
    out = found.to_dict()
    chosen = want.check is not None or want.rule is not None
    if chosen:
        out["refusals"] = [one for one in out["refusals"] if one["rule"] == want.check]
        out["scores"] = [one for one in out["scores"] if one["rule"] == want.rule]
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


def whatif(scene: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Whether a pod may run on a node, with the reasons if not, and where the scheduler would put it."""
    want = parameters(NodeParameters, asked)
    decision = shown_decision(scene, want.side, want.pod)
    found = explained(decision, want.node)
    fits = found.fits and decision.error is None
    return {
        "pod": decision.pod.key,
        "node": want.node,
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
