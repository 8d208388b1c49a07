"""What custom plugins answer, and how they are written: whatever is wrong ends in one sentence that says where."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from typing import Any

from algorithmprovider.custom_code import asked, defined_at, described, is_integer, refused
from clusterstate.errors import ConfigError
from kubescheduler.core.status import Status

ARGUMENTS: dict[str, int] = {
    "pre_enqueue": 1,
    "less": 2,
    "pre_filter": 3,
    "add_pod": 4,
    "remove_pod": 4,
    "filter": 3,
    "filter_nodes": 3,
    "post_filter": 3,
    "pre_score": 3,
    "score": 3,
    "score_nodes": 3,
    "normalize_scores": 3,
    "reserve": 3,
    "unreserve": 3,
    "permit": 3,
    "pre_bind_pre_flight": 3,
    "pre_bind": 3,
    "bind": 3,
    "post_bind": 3,
}
"""Method of a plugin → how many arguments it is called with."""

_ALIKE = 0.9
"""How much alike two names are for one to be taken for a slip of the other, from 0 to 1."""


def plugin_faults(plugin: Any) -> list[str]:
    """What is wrong with how a custom plugin is written: its name, its methods' names and arguments."""
    faults = []
    if not isinstance(getattr(plugin, "name", None), str):
        faults.append(f"{type(plugin).__name__} has no name; give it one: name = {type(plugin).__name__!r}")
    for method in ARGUMENTS:
        if inspect.isfunction(getattr(type(plugin), method, None)):
            faults += _signature_faults(method, getattr(plugin, method))
    return faults + misnamed_methods(type(plugin))


def misnamed_methods(plugin: type) -> list[str]:
    """Methods of a custom plugin's class that are nearly named like one that is called."""
    public = [name for name in dir(plugin) if not name.startswith("_") and name not in ARGUMENTS]
    functions = [(name, getattr(plugin, name)) for name in public if inspect.isfunction(getattr(plugin, name))]
    return [
        f"{defined_at(function)}there is no extension point {name}; did you mean {meant}?"
        for name, function in functions
        if (meant := _meant(name))
    ]


def _meant(method: str) -> str:
    """The method that a name is a slip of, as ``Filter``, ``preFilter`` or ``filtr``; empty for any other name."""
    plain = {known.replace("_", ""): known for known in ARGUMENTS}
    close = difflib.get_close_matches(method.replace("_", "").lower(), plain, 1, _ALIKE)
    return plain[close[0]] if close else ""


def _signature_faults(method: str, bound: Callable[..., Any]) -> list[str]:
    try:
        inspect.signature(bound).bind(*[None] * ARGUMENTS[method])
    except TypeError:
        return [f"{defined_at(bound)}{method} is called with {ARGUMENTS[method]} arguments, and does not take them"]
    except ValueError:
        pass
    return []


def check_plugin(plugin: Any) -> None:
    """Raises ConfigError with everything that is wrong with how a custom plugin is written."""
    if not type(plugin).__module__.startswith("kubescheduler.") and (faults := plugin_faults(plugin)):
        raise ConfigError(faults)


def custom_status(plugin: Any, method: str, pod: str, node: str, *arguments: Any) -> Status | None:
    """The status that a method answers, None for Success. Raises CustomCodeError for anything else."""
    function, name = getattr(plugin, method), _named(plugin, method)
    answer = asked(name, function, pod, node, *arguments)
    if answer is None or isinstance(answer, Status):
        return answer
    raise refused(name, function, pod, node, f"it answers None or a Status, not {described(answer)}")


def custom_score(plugin: Any, pod: str, node: str, *arguments: Any) -> int:
    """What ``score`` answers. Raises CustomCodeError when that is no whole number."""
    function, name = plugin.score, _named(plugin, "score")
    answer = asked(name, function, pod, node, *arguments)
    if is_integer(answer):
        return int(answer)
    raise refused(name, function, pod, node, f"a score is a whole number, not {described(answer)}")


def custom_answer(plugin: Any, method: str, pod: str, *arguments: Any) -> Any:
    """What any other method answers. Raises CustomCodeError for what it raises."""
    return asked(_named(plugin, method), getattr(plugin, method), pod, "", *arguments)


def _named(plugin: Any, method: str) -> str:
    return f"plugin {plugin.name}, {method}"
