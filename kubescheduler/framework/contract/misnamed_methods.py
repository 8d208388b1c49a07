"""Methods of custom plugins whose names are slips of those that the framework calls.

A slip leaves a plugin silently out of a point, and a helper that is called something alike is nothing wrong. What
certainly is a slip: another spelling of the same letters (``preFilter``, ``Filter``, ``prefilter``), and two letters
swapped (``fliter``). What may be a helper's name is a slip only if the method takes the arguments of the point too: a
letter left out, doubled or replaced by its neighbour on the keyboard (``filtr``, ``scoore``, ``permut``), one instead
of many in a name of several words (``score_node``), and upstream's name (``normalize_score``, ``queue_sort``). One
word with an ending (``filters``, ``scored``, ``binding``) and other words (``preserve``, ``scope``, ``find``) are
names of helpers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from algorithmprovider.custom_code import defined_at
from kubescheduler.framework.contract.plugin import METHOD_ARGUMENTS

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
