"""The Python files of a student: run where they lie, registered for one check, gone afterwards."""

from __future__ import annotations

import contextlib
import itertools
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from algorithmprovider.custom_code import RAISED, exception_text
from algorithmprovider.registration import registered_until_the_end
from algorithmprovider.time_limit import called
from clusterstate.errors import ConfigError, KubeSchedulerError, nearest
from kubescheduler.config.config_text import read_text
from kubescheduler.lab.exercises.exercise_record import CodeFile, SchedulerChoice

_NUMBERS = itertools.count()


@contextlib.contextmanager
def student_code(folder: Path, choice: SchedulerChoice) -> Iterator[list[Callable[..., Any]]]:
    """Runs the files that a scheduler needs; gives the factories of its plugins.

    What the files print goes to standard error. Raises ConfigError for what cannot be run, with file and line.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(registered_until_the_end())
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        if choice.rules is not None:
            register = stack.enter_context(_loaded(folder, choice.rules))
            _called(register, folder / choice.rules.file)
        yield [stack.enter_context(_loaded(folder, plugin)) for plugin in choice.plugins]


@contextlib.contextmanager
def _loaded(folder: Path, code: CodeFile) -> Iterator[Callable[..., Any]]:
    """What is asked for of a file, in a module that nobody else can import."""
    path = folder / code.file
    text = read_text(path)
    module = ModuleType(f"student_{path.stem}_{next(_NUMBERS)}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    try:
        _called(lambda: exec(compile(text, str(path), "exec"), module.__dict__), path)
        found = getattr(module, code.attribute, None)
        if not callable(found):
            own = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
            raise ConfigError(f"{path}: there is no {code.attribute} to call{nearest(code.attribute, own)}")
        yield found
    finally:
        del sys.modules[module.__name__]


def _called(function: Callable[[], object], path: Path) -> None:
    try:
        called(function)
    except KubeSchedulerError:
        raise
    except RAISED as error:
        raise ConfigError(f"{path}{_line(error, path)}: {exception_text(error)}") from error


def _line(error: BaseException, path: Path) -> str:
    """The line of the student's file that raised it; a syntax error says its own."""
    if isinstance(error, SyntaxError):
        return ""
    own = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f", line {own[-1]}" if own else ""
