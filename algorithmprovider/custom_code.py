"""What users' own algorithms do wrong: one sentence that says where, by which rule, for which pod and node."""

from __future__ import annotations

import inspect
import operator
import traceback
from collections.abc import Callable
from typing import Any

import msgspec

from algorithmprovider.time_limit import OverrunError, called
from clusterstate.errors import InputError, KubeSchedulerError

RAISED = (Exception, SystemExit, GeneratorExit)
"""Whatever a stranger's code raises, but for the interrupts of somebody at the keyboard."""


class CustomCodeError(InputError):
    """A predicate, priority or plugin of a user's own raised an exception, or answered what it must not.

    It is no answer of a scheduler, so it ends a command with the status of wrong input.
    """

    at: str = ""
    """Where in an attempt it was met, as ``Decision.error_at`` has it; empty outside of one."""

    def of_pod(self, pod: str) -> CustomCodeError:
        """The same with the pod that was being decided, for rules that judge pods alike at once."""
        out = CustomCodeError(f"{problem} (pod {pod})" for problem in self.problems)
        out.at = self.at
        return out


class CustomCall(msgspec.Struct, frozen=True, eq=False):
    """A function of a user's own that is about to be called, and the errors that name it."""

    name: str
    """As errors call it: ``plugin Mine, filter``."""
    function: Callable[..., Any]
    pod: str = ""
    """The pod that it is asked about, as namespace/name; empty where a whole class of pods is."""
    foreign: bool = True
    """It is a user's; of one that is not, exceptions are no fault of a user's, and are passed on."""

    def ask(self, *arguments: Any, node: str = "") -> Any:
        """What the function answers. node: the one that it is asked about, if it is one.

        Raises CustomCodeError for whatever it raises, but for errors of this project's, which are passed on.
        """
        try:
            return _closed(called(self.function, *arguments) if self.foreign else self.function(*arguments))
        except KubeSchedulerError:
            raise
        except RAISED as error:
            if not self.foreign:
                raise
            place = raised_at(error, self.function)
            raise CustomCodeError(f"{place}{self._about(node)}: {exception_text(error)}") from error

    def refused(self, text: str, node: str = "") -> CustomCodeError:
        """The error for an answer that the function must not give. text: what is wrong with it."""
        return CustomCodeError(f"{defined_at(self.function)}{self._about(node)}: {text}")

    def _about(self, node: str) -> str:
        about = (("pod", self.pod), ("node", node))
        return self.name + "".join(f", {what} {who}" for what, who in about if who)


def described(answer: object) -> str:
    """An answer as errors show it, cut when it is long."""
    try:
        text = repr(answer)
    except Exception:  # whatever a stranger's code raises
        text = f"an object of {type(answer).__name__}"
    return f"{text[:60]}…" if len(text) > 60 else text


def _closed(answer: Any) -> Any:
    """The answer; what an ``async`` function returns is refused by its caller, and not awaited."""
    if inspect.iscoroutine(answer):
        answer.close()
    return answer


def exception_text(error: BaseException) -> str:
    """An exception of a stranger's code as errors show it."""
    if isinstance(error, OverrunError):
        return str(error)
    try:
        text = str(error)
    except Exception:  # also that is a stranger's code
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def defined_at(function: Callable[..., Any]) -> str:
    """``file.py, line 3: ``, where a function begins; nothing for one without a source."""
    code = _code(function)
    return "" if code is None else f"{code.co_filename}, line {code.co_firstlineno}: "


def raised_at(error: BaseException, function: Callable[..., Any]) -> str:
    """``file.py, line 7: ``, the line of the function's own file in which it was raised, as deep as that goes."""
    if isinstance(error, OverrunError) and error.place:
        return error.place
    code = _code(function)
    frames = traceback.extract_tb(error.__traceback__)[1:]
    own = [frame for frame in frames if code is not None and frame.filename == code.co_filename]
    if not own:
        return defined_at(function)
    return f"{own[-1].filename}, line {own[-1].lineno}: "


def is_integer(answer: object) -> bool:
    """Whether an answer is a whole number, also one of numpy's; True and False are none."""
    if isinstance(answer, bool):
        return False
    try:
        operator.index(answer)  # type: ignore[arg-type]
    except Exception:  # whatever a stranger's code raises
        return False
    return True


def _code(function: Callable[..., Any]) -> Any:
    """The code of a function, method, partial or callable object; that of ``__init__`` for a class."""
    function = inspect.unwrap(getattr(function, "func", function))
    if isinstance(function, type):
        function = function.__init__  # type: ignore[misc]
    elif not hasattr(function, "__code__") and not hasattr(function, "__func__"):
        function = getattr(type(function), "__call__", function)  # noqa: B004
    return getattr(getattr(function, "__func__", function), "__code__", None)
