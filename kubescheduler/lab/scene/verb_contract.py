"""What verbs and edits are: functions of the scene and its parameters, which are checked by their types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, get_type_hints

import msgspec

from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_state import SceneFault, SceneState

T = TypeVar("T", bound=msgspec.Struct)
Answer = TypeVar("Answer")

Verb = Callable[[Scene, Mapping[str, Any]], dict[str, Any]]
"""Answers plain data. Raises SceneFault, or another InputError, with every problem."""

Change = tuple[str, SceneState]
"""What was done, in the past tense, and the state after it."""

Edit = Callable[[Scene, Mapping[str, Any]], Change]
"""Of a scene and the edit's parameters without ``do``; the scene itself stays as it is. Raises InputError with every
fault."""

MOST_ROWS = 500
"""Rows that one answer has at most."""


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The base of every verb's parameters."""


def parameters(kind: type[T], asked: Mapping[str, Any]) -> T:
    """The parameters of a verb. Raises SceneFault that names the one that is wrong."""
    try:
        return msgspec.convert(asked, kind)
    except msgspec.ValidationError as error:
        raise SceneFault(str(error)) from error


def verb(function: Callable[..., Answer]) -> Callable[[Scene, Mapping[str, Any]], Answer]:
    """A verb or an edit, made of a function of the scene whose other arguments are its parameters.

    They are checked by the arguments' types, and have their names in camel case: ``from_`` is ``from``.
    """
    hints = get_type_hints(function)
    _, *taken = signature(function).parameters.values()
    fields = [(each.name, hints[each.name], *([] if each.default is each.empty else [each.default])) for each in taken]
    kind = msgspec.defstruct(function.__name__, fields, bases=(Parameters,), frozen=True, kw_only=True)

    @wraps(function)
    def answered(scene: Scene, asked: Mapping[str, Any]) -> Answer:
        return function(scene, **msgspec.structs.asdict(parameters(kind, asked)))

    return answered


def part(start: int, end: int) -> slice:
    """The rows that are asked for, not more than an answer has."""
    start = max(0, start)
    return slice(start, max(start, min(end, start + MOST_ROWS)))
