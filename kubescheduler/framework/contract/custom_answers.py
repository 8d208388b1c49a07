"""What custom plugins answer at each point: whatever is wrong ends in one sentence that says where.

Every function raises CustomCodeError for an exception of a plugin's, other than SchedulingError, and for an answer
that the point does not know.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from algorithmprovider.column_answers import described_array, masks_by_reason, score_of_row, scores_of_rows
from algorithmprovider.custom_code import CustomCall, described
from clusterstate.growable import IntArray, Mask
from clusterstate.objects import Pod
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.plugin import PreFilterResult, PreFlight
from kubescheduler.framework.contract.pod_signature import Fragments

PROJECT = "kubescheduler."
"""Modules whose plugins come with the scheduler."""


def is_custom(plugin: Any) -> bool:
    """Whether a plugin does not come with the scheduler."""
    return not type(plugin).__module__.startswith(PROJECT)


def call_of(plugin: Any, method: str, pod: str = "") -> CustomCall:
    """A method of a plugin that is about to be called. pod: namespace/name, empty where there is none."""
    return CustomCall(f"plugin {plugin.name}, {method}", getattr(plugin, method), pod, is_custom(plugin))


def checked_status(call: CustomCall, answer: object, node: str = "", what: str = "None or a Status") -> Status | None:
    """A status that a method answered, None for Success. what: what the method may answer, as the error says it."""
    if answer is None:
        return None
    if not isinstance(answer, Status):
        raise call.refused(f"it answers {what}, not {described_array(answer)}", node)
    fault = _status_fault(answer.code, answer.reasons, answer.error)
    if fault:
        raise call.refused(fault, node)
    return answer


def _status_fault(code: object, reasons: object, error: object) -> str:
    """What is wrong with the fields of a Status that a plugin made; empty when nothing is."""
    if not isinstance(code, Code):
        return f"the code of a Status is one of Code, not {described(code)}"
    if not isinstance(reasons, tuple | list) or not all(isinstance(text, str) for text in reasons):
        return f"the reasons of a Status are texts, not {described(reasons)}"
    return "" if error is None or isinstance(error, str) else f"the error of a Status is a text, not {described(error)}"


def custom_status(plugin: Any, method: str, pod: str, node: str, *arguments: Any) -> Status | None:
    """The status that a method answers, None for Success. node: the one that it is asked about, empty for none."""
    call = call_of(plugin, method, pod)
    return checked_status(call, call.ask(*arguments, node=node), node)


def custom_nothing(plugin: Any, method: str, pod: str, node: str, *arguments: Any) -> None:
    """Calls a method that has nothing to answer: Unreserve, PostBind."""
    call = call_of(plugin, method, pod)
    answer = call.ask(*arguments, node=node)
    if answer is not None:
        raise call.refused(f"it answers nothing, not {described_array(answer)}", node)


def custom_fragments(plugin: Any, pod: Pod) -> Fragments | None:
    """What ``sign_pod`` says that the plugin reads of a pod; None: the pod cannot be signed."""
    call = call_of(plugin, "sign_pod", pod.key)
    answer = call.ask(pod)
    if isinstance(answer, Mapping):
        return answer
    status = checked_status(call, answer, what="a mapping, None or a Status")
    return {} if status is None or status.code is Code.Success else None


# --- PreFilter and Filter ----------------------------------------------------------------------


def custom_pre_filter(plugin: Any, pod: str, *arguments: Any) -> tuple[Status | None, frozenset[str] | None]:
    """(status, the node names that alone may be considered; None: all)."""
    call = call_of(plugin, "pre_filter", pod)
    answer = call.ask(*arguments)
    both = isinstance(answer, tuple) and len(answer) == 2
    result, status = answer if both else (answer, None)
    if not isinstance(result, PreFilterResult):
        what = "None, a Status or a PreFilterResult"
        return checked_status(call, status if result is None else result, what=what), None
    names = result.node_names
    if names is not None and not _are_names(names):
        raise call.refused(f"the node_names of a PreFilterResult are a set of names, not {described(names)}")
    return checked_status(call, status), None if names is None else frozenset(names)


def _are_names(names: object) -> bool:
    return isinstance(names, Collection) and not isinstance(names, str | Mapping) and all(type(n) is str for n in names)


def custom_masks(plugin: Any, pod: str, rows: int, *arguments: Any) -> dict[str | Status, Mask]:
    """What ``filter_nodes`` answers: reason → (n,) bool, true where a node fails. rows: n."""
    call = call_of(plugin, "filter_nodes", pod)
    masks: dict[str | Status, Mask] = masks_by_reason(call, call.ask(*arguments), (str, Status), rows)
    for reason in masks:
        if isinstance(reason, Status):
            checked_status(call, reason)
    return masks


def custom_post_filter(plugin: Any, pod: str, *arguments: Any) -> tuple[Status | None, str | None]:
    """(status, the node that the pod is nominated to; empty: it no longer is; None: nothing is said)."""
    call = call_of(plugin, "post_filter", pod)
    answer = call.ask(*arguments)
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise call.refused(f"it answers (node name or None, Status or None), not {described_array(answer)}")
    nominee, status = answer
    if nominee is not None and not isinstance(nominee, str):
        raise call.refused(f"the nominated node is a name or None, not {described(nominee)}")
    return checked_status(call, status), nominee


# --- Score -------------------------------------------------------------------------------------


def custom_scores(plugin: Any, method: str, pod: str, rows: int, *arguments: Any) -> IntArray:
    """What ``score_nodes`` or ``normalize_scores`` answers: (n,) int64. rows: n."""
    call = call_of(plugin, method, pod)
    return scores_of_rows(call, call.ask(*arguments), rows)


def custom_score(plugin: Any, pod: str, node: str, *arguments: Any) -> int:
    """What ``score`` answers: a whole number of 64 bits."""
    call = call_of(plugin, "score", pod)
    return score_of_row(call, call.ask(*arguments, node=node), node)


def refuse_score(plugin: Any, pod: str, node: str, text: str) -> None:
    """Raises for a final score out of range, with the release's text; nothing for the scheduler's own plugins."""
    if is_custom(plugin):
        given = ("normalize_scores", "score_nodes", "score")
        raise call_of(plugin, next(name for name in given if hasattr(plugin, name)), pod).refused(text, node)


# --- Permit, PreBind and the queue -------------------------------------------------------------


def custom_permit(plugin: Any, pod: str, node: str, *arguments: Any) -> tuple[Status | None, float]:
    """(status, the seconds that the pod is held for at most)."""
    call = call_of(plugin, "permit", pod)
    answer = call.ask(*arguments, node=node)
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise call.refused(f"it answers (Status or None, seconds), not {described_array(answer)}", node)
    status, seconds = answer
    number = isinstance(seconds, int | float | np.integer | np.floating) and not isinstance(seconds, bool)
    if not number or math.isnan(seconds):
        raise call.refused(f"the seconds are a number, not {described(seconds)}", node)
    return checked_status(call, status, node), float(min(seconds, float("inf")))


def custom_pre_flight(plugin: Any, pod: str, node: str, *arguments: Any) -> tuple[Status | None, bool]:
    """(status, whether it may run beside others)."""
    call = call_of(plugin, "pre_bind_pre_flight", pod)
    answer = call.ask(*arguments, node=node)
    if not isinstance(answer, PreFlight):
        return checked_status(call, answer, node, "None, a Status or a PreFlight"), False
    if not isinstance(answer.allow_parallel, bool | np.bool_):
        raise call.refused(f"allow_parallel is True or False, not {described(answer.allow_parallel)}", node)
    return checked_status(call, answer.status, node), bool(answer.allow_parallel)


def custom_less(plugin: Any, first: Any, second: Any) -> bool:
    """Whether one queued pod is tried before another."""
    call = call_of(plugin, "less", first.pod.key)
    answer = call.ask(first, second)
    if not isinstance(answer, bool | np.bool_):
        text = f"it answers whether the pod is tried before {second.pod.key}, True or False"
        raise call.refused(f"{text}, not {described_array(answer)}")
    return bool(answer)
