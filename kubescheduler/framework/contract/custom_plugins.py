"""Custom plugins, written by users: how they are to be written, and what their methods may answer."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from algorithmprovider.custom_code import CustomCall, defined_at, described
from algorithmprovider.pernode import described_array, masks_by_reason, score_of_row, scores_of_rows
from clusterstate.errors import ConfigError
from clusterstate.growable import IntArray, Mask
from clusterstate.objects import Pod
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.plugin import METHOD_ARGUMENTS, Fragments, PreFilterResult, PreFlight

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


UPSTREAM = {"normalizescore": "normalize_scores", "queuesort": "less", "queuesortless": "less"}
"""What upstream calls a method or its point, in small letters → the method."""

KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")

SHORTEST = 5
"""Letters that a method's name has at least for a name with one letter less or another one to be a slip of it."""

ALIKE = 0.75
"""How much alike two names are for a hint to a plugin that takes part in no point, from 0 to 1."""


def misnamed_methods(plugin: type) -> list[str]:
    """A sentence for each method of a custom plugin's class that is a slip of one that is called."""
    return [
        f"{defined_at(function)}there is no extension point {name}; did you mean {meant}?"
        for name, function in _other_methods(plugin)
        if (meant := meant_method(name, function))
    ]


def nearest_methods(plugin: type) -> list[str]:
    """The same for each method that is called a little like one, for a plugin that takes part in no point."""
    import difflib

    plain = {_letters(known): known for known in METHOD_ARGUMENTS}
    return [
        f"{defined_at(function)}there is no extension point {name}; did you mean {plain[close[0]]}?"
        for name, function in _other_methods(plugin)
        if (close := difflib.get_close_matches(_letters(name), plain, 1, ALIKE))
    ]


def meant_method(name: str, function: Callable[..., Any]) -> str:
    """The method that a name is a slip of; empty for any other name. function: as the class has it."""
    letters = _letters(name)
    for known in METHOD_ARGUMENTS:
        plain = _letters(known)
        if (letters == plain and not name.endswith("_")) or _swapped(letters, plain):
            return known
    meant = UPSTREAM.get(letters) or next((known for known in METHOD_ARGUMENTS if _may_be(name, known)), "")
    return meant if meant and _takes(function, METHOD_ARGUMENTS[meant]) else ""


def _other_methods(plugin: type) -> list[tuple[str, Callable[..., Any]]]:
    names = [name for name in dir(plugin) if not name.startswith("_") and name not in METHOD_ARGUMENTS]
    return [(name, getattr(plugin, name)) for name in names if inspect.isfunction(getattr(plugin, name))]


def _letters(name: str) -> str:
    return name.replace("_", "").lower().replace("normalise", "normalize")


def _swapped(name: str, known: str) -> bool:
    """Two neighbouring letters have changed places."""
    if len(name) != len(known):
        return False
    at = [place for place, pair in enumerate(zip(name, known, strict=True)) if pair[0] != pair[1]]
    return len(at) == 2 and at[1] == at[0] + 1 and name[at[0]] == known[at[1]] and name[at[1]] == known[at[0]]


def _may_be(name: str, known: str) -> bool:
    """A slip if the arguments say so too."""
    letters, plain = _letters(name), _letters(known)
    if letters == plain or ("_" in known and _singular(name) == _singular(known)):
        return True
    if len(letters) > len(plain):
        return any(plain[: at + 1] + plain[at:] == letters for at in range(len(plain)))
    if len(plain) < SHORTEST:
        return False
    if len(letters) < len(plain):
        return any(plain[:at] + plain[at + 1 :] == letters for at in range(1, len(plain)))
    wrong = [pair for pair in zip(letters, plain, strict=True) if pair[0] != pair[1]]
    return len(wrong) == 1 and _neighbours(*wrong[0])


def _singular(name: str) -> list[str]:
    return [word.removesuffix("s") for word in name.lower().split("_")]


def _neighbours(one: str, other: str) -> bool:
    """Whether two letters lie beside each other on the keyboard."""
    places = {letter: (row, at) for row, letters in enumerate(KEYBOARD) for at, letter in enumerate(letters)}
    if one not in places or other not in places:
        return False
    (row, at), (other_row, other_at) = places[one], places[other]
    return abs(row - other_row) <= 1 and abs(at - other_at) <= 1


def _takes(function: Callable[..., Any], count: int) -> bool:
    """Whether a method, with self, takes so many arguments."""
    try:
        inspect.signature(function).bind(*[None] * (count + 1))
    except (TypeError, ValueError):
        return False
    return True


def check_plugin(plugin: Any) -> None:
    """Raises ConfigError with everything that is wrong with how a custom plugin is written."""
    if is_custom(plugin) and (faults := plugin_faults(plugin)):
        raise ConfigError(faults)


def plugin_faults(plugin: Any) -> list[str]:
    """What is wrong with how a custom plugin is written: its name, its methods' names and arguments."""
    if plugin is None:
        return ["its factory answers None, and no plugin"]
    faults = []
    if not isinstance(getattr(plugin, "name", None), str):
        faults.append(f"{type(plugin).__name__} has no name; give it one: name = {type(plugin).__name__!r}")
    for method in METHOD_ARGUMENTS:
        if inspect.isfunction(getattr(type(plugin), method, None)):
            faults += _signature_faults(method, getattr(plugin, method))
    return faults + misnamed_methods(type(plugin))


def _signature_faults(method: str, bound: Callable[..., Any]) -> list[str]:
    try:
        inspect.signature(bound).bind(*[None] * METHOD_ARGUMENTS[method])
    except TypeError:
        count = METHOD_ARGUMENTS[method]
        return [f"{defined_at(bound)}{method} is called with {count} arguments, and does not take them"]
    except ValueError:
        pass
    return []
