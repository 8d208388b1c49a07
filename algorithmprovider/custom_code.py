"""What users' own algorithms do wrong: one sentence that says where, by which rule, for which pod and node."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any, TypeVar

from clusterstate.errors import InputError, KubeSchedulerError

T = TypeVar("T")


class CustomCodeError(InputError):
    """A predicate, priority or plugin of a user's own raised an exception, or answered what it must not.

    It is no answer of a scheduler, so it ends a command with the status of wrong input.
    """

    def of_pod(self, pod: str) -> CustomCodeError:
        """The same with the pod that was being decided, for rules that judge pods alike at once."""
        return CustomCodeError(f"{problem} (pod {pod})" for problem in self.problems)


def asked(name: str, function: Callable[..., Any], pod: str, node: str, *arguments: Any) -> Any:
    """What a user's function answers. name: as errors call it. pod, node: whom it is asked about, either may be empty.

    Raises CustomCodeError for whatever it raises, but for errors of this project's, which are passed on.
    """
    try:
        return function(*arguments)
    except KubeSchedulerError:
        raise
    except Exception as error:  # whatever a stranger's code raises
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise CustomCodeError(f"{_raised_at(error, function)}{name}{_about(pod, node)}: {what}") from error


def refused(name: str, function: Callable[..., Any], pod: str, node: str, text: str) -> CustomCodeError:
    """The error for an answer that a user's function must not give. text: what is wrong with it."""
    return CustomCodeError(f"{defined_at(function)}{name}{_about(pod, node)}: {text}")


def described(answer: object) -> str:
    """An answer as errors show it, cut when it is long."""
    text = repr(answer)
    return f"{text[:60]}…" if len(text) > 60 else text


def defined_at(function: Callable[..., Any]) -> str:
    """``file.py, line 3: ``, where a function begins; nothing for one without a source."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return "" if code is None else f"{code.co_filename}, line {code.co_firstlineno}: "


def is_integer(answer: object) -> bool:
    """Whether an answer is a whole number, also one of numpy's; True and False are none."""
    return not isinstance(answer, bool) and hasattr(answer, "__index__")


def _raised_at(error: Exception, function: Callable[..., Any]) -> str:
    """The line of the user's file in which it was raised, as deep as its own file goes."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    frames = traceback.extract_tb(error.__traceback__)[1:]
    own = [frame for frame in frames if code is not None and frame.filename == code.co_filename]
    if not own:
        return defined_at(function)
    return f"{own[-1].filename}, line {own[-1].lineno}: "


def _about(pod: str, node: str) -> str:
    return "".join(f", {what} {who}" for what, who in (("pod", pod), ("node", node)) if who)
