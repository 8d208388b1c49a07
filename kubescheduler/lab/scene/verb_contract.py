"""What verbs and edits are: functions of the scene and its parameters, which are checked by their types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_state import SceneFault, SceneState

T = TypeVar("T", bound=msgspec.Struct)

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


class NoParameters(Parameters, frozen=True):
    """Of a verb that needs none."""


class SideParameters(Parameters, frozen=True):
    """Of a verb about one side."""

    side: str = "a"
    """The side's id."""


class RowParameters(SideParameters, frozen=True, kw_only=True):
    """Of a verb that answers some of many rows."""

    from_: int = msgspec.field(default=0, name="from")
    """The first row."""
    to: int = 60
    """The row after the last."""
    find: str = ""
    """Only rows whose name has this text in it."""

    @property
    def part(self) -> slice:
        """The rows that are asked for, not more than an answer has."""
        start = max(0, self.from_)
        return slice(start, max(start, min(self.to, start + MOST_ROWS)))


def parameters(kind: type[T], asked: Mapping[str, Any]) -> T:
    """The parameters of a verb. Raises SceneFault that names the one that is wrong."""
    try:
        return msgspec.convert(asked, kind)
    except msgspec.ValidationError as error:
        raise SceneFault(str(error)) from error
