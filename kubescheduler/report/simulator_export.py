"""kube-scheduler-simulator: its annotations with the results of every plugin, and its export files.

Annotations have the prefix below and a compact JSON text as value; numbers in them are texts. Legacy releases are
written the same way, predicates as filters and priorities as scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import msgspec

from clusterstate.manifests.decode import SECTIONS
from clusterstate.manifests.kinds import encode_object
from clusterstate.objects import ClusterObject, Pod
from kubescheduler.core.decision import Decision, gave_up
from kubescheduler.core.extender_calls import ExtenderTrace
from kubescheduler.engine.spec import PodScheduler
from kubescheduler.framework.contract.profile import Point
from kubescheduler.sources.untrusted import json_text

PREFIX = "kube-scheduler-simulator.sigs.k8s.io/"
SUCCESS, PASSED, VICTIM = "success", "passed", "preemption victim"
MOST_BYTES = 262_144
"""What the names and values of all annotations of an object may take; an API server refuses more."""
HISTORY, DROPPED = "result-history", "dropped-results"
"""The results of all attempts; the names of results that were left out, as there was no room."""
NOTES = "kubescheduler/notes"
"""The annotation with what a reader has to know of the results of a pod, as that extenders were not asked."""
FAILED = "kubescheduler/error"
"""The annotation with what ended the last attempt of a pod: its results are no answer."""

EXPORTED = ("pods", "nodes", "pvs", "pvcs", "storageClasses", "priorityClasses", "namespaces")
"""The lists of an export file."""


Ran = Mapping[str, Sequence[str]]
"""Point, as ``preFilter`` → the plugins that run there, in order; predicates and priorities for legacy releases."""

AFTER = {
    "reserve-result": (Point.RESERVE, SUCCESS),
    "permit-result": (Point.PERMIT, SUCCESS),
    "permit-result-timeout": (Point.PERMIT, "0s"),
    "prebind-result": (Point.PRE_BIND, SUCCESS),
    "bind-result": (Point.BIND, SUCCESS),
}
"""Results of pods that have a node → where plugins give them, and what each says."""


def result_annotations(
    decision: Decision, ran: Ran, history: str | None = None, room: int = MOST_BYTES
) -> dict[str, str]:
    """What the simulator would write on the pod after this attempt. history: its result-history so far, as JSON.

    room: bytes that it may take. Without enough, the oldest attempts of the history are left out first, then all of
    it, then the longest results; ``dropped-results`` names what is missing.
    """
    results = {name: msgspec.json.encode(value).decode() for name, value in _results(decision, ran).items()}
    if decision.host is not None:
        results["selected-node"] = decision.host
    return {PREFIX + name: text for name, text in fitting(results, _earlier(history), room).items()}


def _results(decision: Decision, ran: Ran) -> dict[str, Any]:
    placed = decision.host is not None
    pre_status, pre_nodes = _pre_filter(decision, ran)
    return {
        "prefilter-result-status": pre_status,
        "prefilter-result": pre_nodes,
        "filter-result": _filters(decision, ran.get(Point.FILTER.value, ())),
        "postfilter-result": _post_filter(decision),
        "prescore-result": dict.fromkeys(ran.get(Point.PRE_SCORE.value, ()), SUCCESS) if len(decision.totals) else {},
        "score-result": _scores(decision, weighted=False),
        "finalscore-result": _scores(decision, weighted=True),
        **{
            name: dict.fromkeys(ran.get(point.value, ()), said) if placed else {}
            for name, (point, said) in AFTER.items()
        },
        **_extenders(decision.extenders),
    }


# --- points ----------------------------------------------------------------------------------


def _pre_filter(decision: Decision, ran: Ran) -> tuple[dict[str, str], dict[str, list[str]]]:
    """(plugin → what it said, plugin → the nodes that it alone would consider); up to the one that refuses the pod."""
    said: dict[str, str] = {}
    refused = decision.pre_filter_rejection
    for name in ran.get(Point.PRE_FILTER.value, ()):
        if refused is not None and refused.plugin == name:
            return {**said, name: refused.message}, {}
        said[name] = SUCCESS
    if decision.judged is None or refused is not None:
        return said, {}
    names = [decision.names[row] for row in (decision.listed & decision.judged).nonzero()[0].tolist()]
    return said, dict.fromkeys(decision.pre_filter_plugins, names)


def _filters(decision: Decision, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Node → plugin → passed, or why not; up to the first that refuses the node."""
    if decision.pre_filter_rejection is not None:
        return {}
    refusals: dict[int, tuple[str, str]] = {}
    for row, failures in decision.with_nominated.items():
        name, reasons = failures[0]
        refusals[row] = (name, ", ".join(reasons))
    for name, verdict in decision.verdicts:
        here: dict[int, list[str]] = {}
        for reason, mask in verdict.items():
            for row in mask.nonzero()[0].tolist():
                here.setdefault(row, []).append(str(reason))
        for row, texts in here.items():
            refusals.setdefault(row, (name, ", ".join(texts)))
    out: dict[str, dict[str, str]] = {}
    for row in decision.listed.nonzero()[0].tolist():
        out[decision.names[row]] = _until(names, *refusals.get(row, ("", "")))
    return out


def _until(names: Sequence[str], last: str, message: str) -> dict[str, str]:
    passed: dict[str, str] = {}
    for name in names:
        if name == last:
            return {**passed, name: message}
        passed[name] = PASSED
    return passed


def _post_filter(decision: Decision) -> dict[str, dict[str, str]]:
    preemption = decision.preemption
    if preemption is None:
        return {}
    nominated = preemption.chosen[0] if preemption.chosen else None
    return {
        name: {"DefaultPreemption": VICTIM} if name == nominated else {}
        for row, name in enumerate(decision.names)
        if decision.listed[row]
    }


def _scores(decision: Decision, *, weighted: bool) -> dict[str, dict[str, str]]:
    """Node → plugin → its score: raw, or normalised and times its weight."""
    out: dict[str, dict[str, str]] = {}
    if not len(decision.totals):
        return out
    for name in decision.scores:
        scores = decision.score(name) if weighted else decision.raw(name)
        factor = decision.weights[name] if weighted else 1
        for node, score in scores.items():
            out.setdefault(node, {})[name] = str(score * factor)
    return out


def _extenders(traces: Iterable[ExtenderTrace]) -> dict[str, Any]:
    """The answers of extenders in the shapes of their own API."""
    filters: dict[str, Any] = {}
    scores: dict[str, Any] = {}
    for trace in traces:
        if trace.failed is not None:
            filters[trace.name] = {
                "FailedNodes": dict(trace.failed),
                "FailedAndUnresolvableNodes": dict(trace.unresolvable or {}),
                "Error": "",
            }
        elif trace.filter_error is not None:
            filters[trace.name] = {"FailedNodes": {}, "FailedAndUnresolvableNodes": {}, "Error": trace.filter_error}
        if trace.scores is not None:
            scores[trace.name] = [{"Host": host, "Score": score} for host, score in trace.scores]
    return {
        "extender-filter-result": filters,
        "extender-prioritize-result": scores,
        "extender-preempt-result": {},
        "extender-bind-result": {},
    }


# --- writing ---------------------------------------------------------------------------------


def fitting(results: Mapping[str, str], earlier: Sequence[Any], room: int) -> dict[str, str]:
    """The results and their history in so many bytes. earlier: the attempts before this one."""
    attempts = [*earlier, {PREFIX + name: text for name, text in results.items()}]
    while attempts:
        dropped = [] if len(attempts) > len(earlier) else ["earlier attempts"]
        annotations = {**results, HISTORY: msgspec.json.encode(attempts).decode(), **_said(dropped)}
        if size_of(annotations) <= room:
            return annotations
        del attempts[0]
    left = dict(results)
    longest = sorted(results, key=lambda name: (-len(results[name]), name))
    dropped = [HISTORY]
    while size_of({**left, **_said(dropped)}) > room and longest:
        dropped.append(longest.pop(0))
        del left[dropped[-1]]
    return {**left, **_said(dropped)}


def _said(dropped: Sequence[str]) -> dict[str, str]:
    return {DROPPED: msgspec.json.encode(list(dropped)).decode()} if dropped else {}


def size_of(results: Mapping[str, str]) -> int:
    """Bytes of the annotations as an API server counts them."""
    return sum(len(PREFIX) + len(name) + len(text.encode()) for name, text in results.items())


def _earlier(before: str | None) -> list[Any]:
    if before is None:
        return []
    try:
        attempts = msgspec.json.decode(before)
    except msgspec.DecodeError:
        return []
    return attempts if isinstance(attempts, list) else []


def annotated(
    decision: Decision, ran: Ran, earlier: Mapping[str, Any] | None = None, notes: Sequence[str] = ()
) -> dict[str, Any]:
    """The pod's manifest with the results on it, and the node it was given. earlier: it after the attempt before.

    notes: what a reader has to know of the results.
    """
    manifest = dict(earlier or decision.pod.manifest or encode_object(decision.pod))
    metadata = dict(manifest.get("metadata") or {})
    given = dict(metadata.get("annotations") or {})
    history = given.get(PREFIX + HISTORY)
    given = {name: text for name, text in given.items() if not name.startswith(PREFIX) and name not in (NOTES, FAILED)}
    given |= {NOTES: "; ".join(notes)} if notes else {}
    given |= {FAILED: decision.message} if gave_up(decision) else {}
    taken = sum(len(name.encode()) + len(str(text).encode()) for name, text in given.items())
    given |= result_annotations(decision, ran, history, MOST_BYTES - taken)
    out = {"apiVersion": "v1", "kind": "Pod", **manifest, "metadata": {**metadata, "annotations": given}}
    if decision.host is not None:
        out["spec"] = {**(manifest.get("spec") or {}), "nodeName": decision.host}
    return out


@attrs.define(eq=False)
class Results:
    """Collects decisions as they are made."""

    scheduler: PodScheduler
    notes: Sequence[str] = ()
    """What a reader has to know of all results; every pod has it in an annotation."""
    pods: dict[str, dict[str, Any]] = attrs.field(factory=dict)
    """Namespace/name → the manifest with its results."""

    def note(self, decision: Decision) -> None:
        """Adds a decision to the results of its pod."""
        ran = self.scheduler.points(decision.pod)
        self.pods[decision.pod.key] = annotated(decision, ran, self.pods.get(decision.pod.key), self.notes)

    def dropped(self) -> list[str]:
        """What was left out, as an API server takes only so many bytes: a text for each set of names."""
        pods: dict[str, int] = {}
        for manifest in self.pods.values():
            text = manifest["metadata"]["annotations"].get(PREFIX + DROPPED)
            if text is not None:
                pods[text] = pods.get(text, 0) + 1
        return [
            f"annotations of {count} {'pod' if count == 1 else 'pods'} would take more than {MOST_BYTES:,} bytes; "
            f"left out: {', '.join(msgspec.json.decode(text))}"
            for text, count in pods.items()
        ]


def export_text(objects: Iterable[ClusterObject], results: Results, configuration: Mapping[str, Any]) -> Iterator[str]:
    """An export file in pieces, as kubectl indents JSON."""
    yield json_text(export(objects, results.pods, configuration), 4)
    yield "\n"


def export(
    objects: Iterable[ClusterObject], pods: Mapping[str, Mapping[str, Any]], configuration: Mapping[str, Any]
) -> dict[str, Any]:
    """An export file: the cluster, with ``pods`` (namespace/name → manifest) in place of those of the same name.

    configuration: the KubeSchedulerConfiguration that was decided by; empty for releases without.
    """
    lists: dict[str, list[Any]] = {name: [] for name in EXPORTED}
    list_of = {SECTIONS[name]: name for name in EXPORTED}
    left = dict(pods)
    for obj in objects:
        key = list_of.get(type(obj).__name__)
        if key is None:
            continue
        changed = left.pop(obj.key, None) if isinstance(obj, Pod) else None
        lists[key].append(changed or _manifest(obj))
    lists["pods"] += left.values()
    return {**lists, "schedulerConfig": dict(configuration) or None}


def _manifest(obj: Any) -> Mapping[str, Any]:
    kept: Mapping[str, Any] | None = getattr(obj, "manifest", None)
    return kept or encode_object(obj)
