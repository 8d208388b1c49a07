"""Arguments of the wrong type, told in one sentence each instead of what happens to break first."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from clusterstate.errors import ConfigError
from clusterstate.manifests.fields import describe
from kubescheduler.engine.spec_fields import ARGUMENTS

TEXT, PATH, NUMBER = (str,), (str, os.PathLike), (int, float)
WHOLE = (int,)
GATES = (Mapping, str)
GATES_TEXT = ARGUMENTS["gates"].expected


def wrong_type(name: str, given: object, types: tuple[type, ...], what: str) -> list[str]:
    """The sentence about an argument that is neither None nor of one of the types; none when it is.

    name: the argument's. what: what is expected, in words. True and False are no numbers.
    """
    if given is None or (isinstance(given, types) and not (isinstance(given, bool) and bool not in types)):
        return []
    return [f"{name}: expected {what}, found {shown_argument(given)}"]


def shown_argument(given: object) -> str:
    """An argument as errors show it: values as they are, anything else by its type."""
    if given is None or isinstance(given, str | int | float | list | tuple | Mapping):
        return describe(given)
    return f"an object of type {type(given).__name__}"


def refuse(faults: Iterable[str]) -> None:
    """Raises ConfigError with all faults, if there are any."""
    if found := list(faults):
        raise ConfigError(found)


def checked_cluster(cluster: object, kind: type[Any]) -> None:
    """Raises ConfigError for what is no cluster. kind: the class Cluster."""
    if not isinstance(cluster, kind):
        text = f"cluster: expected a Cluster, found {shown_argument(cluster)}"
        raise ConfigError(f"{text}; make one with Cluster(…)")


def checked_name(name: object, kind: str) -> None:
    """Raises ConfigError for what is no name. kind: of the object it is to name."""
    if not isinstance(name, str):
        raise ConfigError(f"expected the name of a {kind.lower()}, found {shown_argument(name)}")
