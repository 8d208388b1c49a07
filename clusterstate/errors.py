"""The errors a caller can catch, and the hint at a name that was meant, with which their texts end.

::

    KubeSchedulerError
    ├── InputError            something that was given is wrong: exit status 2
    │   ├── DecodeError       an object, its file and the path of the fault
    │   ├── ConfigError       a policy, a provider name, a setting
    │   └── RegistryError     an algorithm name that cannot be registered or found
    ├── StaleDecisionError    a decision that is asked about a cluster that has changed since
    ├── ClusterStateError     a cache operation that does not fit the cache's state
    └── SchedulingError       an attempt that was given up: the release's own text
        └── ExtenderError     an HTTP extender failed (kubescheduler.extender)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
U = TypeVar("U")

MOST_LISTED = 20
"""Texts of one kind that a list of errors has; others are counted."""


class KubeSchedulerError(Exception):
    """Root of every error this project raises on purpose."""


class InputError(KubeSchedulerError):
    """Something given is wrong. ``problems`` lists every fault, one text each; the error's own text the first ones."""

    def __init__(self, problems: str | Iterable[str]) -> None:
        self.problems: tuple[str, ...] = (problems,) if isinstance(problems, str) else tuple(problems)
        super().__init__("\n".join(listed(self.problems)))


class DecodeError(InputError):
    """Objects that cannot be read; each problem names file, object and path."""


class ConfigError(InputError):
    """A policy, provider name or setting that cannot be used."""


class RegistryError(InputError):
    """An algorithm name that cannot be registered, or is not registered."""


class StaleDecisionError(KubeSchedulerError):
    """A decision is asked why, after the cluster has changed in a way that matters to the answer."""


class ClusterStateError(KubeSchedulerError):
    """A cache operation that does not fit the cache's state; upstream's text."""


class SchedulingError(KubeSchedulerError):
    """A scheduling attempt that was given up, with the release's text."""


def attempt(problems: list[str], action: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
    """What ``action`` returns; None if its input is wrong, and ``problems`` then has its faults too."""
    try:
        return action(*args, **kwargs)
    except InputError as error:
        problems += error.problems
        return None


def attempt_at(where: str, problems: list[str], action: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
    """The same; each fault says first where it is."""
    faults: list[str] = []
    out = attempt(faults, action, *args, **kwargs)
    problems += (f"{where}: {fault}" for fault in faults)
    return out


def both(first: Callable[[], T], second: Callable[[], U], *checks: Callable[[], object]) -> tuple[T, U]:
    """What two actions return. Raises InputError with the faults of both, and of ``checks``, which only check."""
    problems: list[str] = []
    found: list[Any] = [attempt(problems, action) for action in (first, second, *checks)]
    if problems:
        raise InputError(problems)
    return found[0], found[1]


@contextmanager
def faults_at(where: str) -> Iterator[None]:
    """Has every problem of a ConfigError say first where it is."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{where}: {problem}" for problem in error.problems) from error


def listed(texts: Iterable[str]) -> list[str]:
    """The first texts of a list of errors or notes, and ``and N more`` where there are more than MOST_LISTED."""
    every = list(texts)
    more = len(every) - MOST_LISTED
    return [*every[:MOST_LISTED], f"and {more:,} more"] if more > 0 else every


def nearest(name: str, known: Iterable[str], alike: float = 0.75) -> str:
    """`; did you mean …?` when a known name is like this one but for case and a letter or two, else nothing.

    alike: what share of their letters they have in common at least.
    """
    import difflib

    folded = {each.lower(): each for each in reversed(list(known))}
    close = difflib.get_close_matches(name.lower(), folded, 1, alike)
    return f"; did you mean {folded[close[0]]}?" if close else ""
