"""Where a fault in a file of a user's own is, for whom it was, and what it says."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import itertools
import re
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from algorithmprovider.custom_code import RAISED, called, exception_text
from algorithmprovider.registry import FIT_PREDICATES, PRIORITY_CONFIGS, PROVIDERS
from clusterstate.errors import ConfigError, KubeSchedulerError
from kubescheduler.config.config_text import read_text
from kubescheduler.framework.contract.plugin import Plugin, points_of
from kubescheduler.framework.plugin_loading import PluginOption, plugin_option
from kubescheduler.releases.names import LEGACY_RELEASES

_ABOUT = re.compile(r"^(?P<file>.+?), line (?P<line>\d+): (?P<rest>.*)$", re.DOTALL)
_FOR = re.compile(
    r"^(?P<what>[^:]*?)(?:, pod (?P<pod>[^\s,:]+))?(?:, node (?P<node>[^\s,:]+))?: "
    r"(?P<said>.*?)(?: \(pod (?P<whose>[^\s)]+)\))?$",
    re.DOTALL,
)


class CodeFault(msgspec.Struct, frozen=True):
    """One fault."""

    text: str
    """Without the pod and the node, which stand beside it."""
    line: int | None = None
    """From 1; None where no line of the file is to blame."""
    column: int | None = None
    """From 1."""
    pod: str = ""
    """namespace/name of the pod that was decided."""
    node: str = ""
    """The node that was looked at."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        out = {"text": self.text, "line": self.line, "column": self.column}
        return out | {key: value for key, value in (("pod", self.pod), ("node", self.node)) if value}


def fault_of(error: BaseException, path: Path) -> CodeFault:
    """A fault that a file has, or raised while it was run."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return CodeFault(f"{type(error).__name__}: {error.msg}", error.lineno, error.offset)
    line, column = _place(error, path)
    return CodeFault(exception_text(error), line, column)


def faults_in(error: BaseException, problems: tuple[str, ...], path: Path) -> Iterator[CodeFault]:
    """The faults of a decision that this file is to blame for. problems: as the error words them.

    A problem begins with the file and the line, and names pod and node.
    """
    line, column = _place(error, path)
    for problem in problems:
        found = _ABOUT.match(problem)
        if found is None or found["file"] != str(path):
            continue
        at = int(found["line"])
        about, text = _FOR.match(found["rest"]), found["rest"]
        pod = node = ""
        if about is not None:
            text, pod = f"{about['what']}: {about['said']}", about["pod"] or about["whose"] or ""
            node = about["node"] or ""
        yield CodeFault(text, at, column if at == line else None, pod, node)


def _place(error: BaseException, path: Path) -> tuple[int | None, int | None]:
    """The line and the column of a file, as deep as the error and what caused it go."""
    found: tuple[int | None, int | None] = (None, None)
    cause: BaseException | None = error
    while cause is not None:
        own = [frame for frame in traceback.extract_tb(cause.__traceback__) if frame.filename == str(path)]
        if own:
            column = own[-1].colno
            found = own[-1].lineno, None if column is None else column + 1
        cause = cause.__cause__
    return found


def stamp_of(path: Path) -> tuple[int, int] | None:
    """(time of a file's last change in ns, size in bytes); None for one that is not there."""
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size


_NUMBERS = itertools.count(1)
_REGISTERING = threading.Lock()
MAPS: tuple[dict[str, Any], ...] = (FIT_PREDICATES, PRIORITY_CONFIGS, PROVIDERS)
"""What functions that register algorithms write to."""


class PluginFile:
    """A module of a user's own and what is asked for in it, as the file is now.

    Safe to use from several threads. The module is run as a new one whenever the file was saved; what other modules
    have imported stays as it was.
    """

    def __init__(self, name: str, path: Path, attribute: str, release: str) -> None:
        """name: as ``--plugin`` has it. attribute: the factory, or the function that registers algorithms."""
        self.name = name
        self.path = path
        self.attribute = attribute
        self.legacy = release in LEGACY_RELEASES
        self.text = ""
        self.faults: tuple[CodeFault, ...] = ()
        """Why the file as it is now cannot be used; empty when it can."""
        self.loaded_at = 0.0
        """When it was loaded last, in seconds since 1970."""
        self.made: PluginOption | None = None
        """The plugin that the file last made without a fault; None: none yet, or the file registers algorithms."""
        self._module: str | None = None
        self._registered: list[Mapping[str, Any]] = [{} for _ in MAPS]
        self._stamp: tuple[int, int] | None = None
        self._lock = threading.RLock()
        self.refresh()

    @property
    def option(self) -> PluginOption:
        """A plugin that is what the file says when a scheduler is made. Raises ConfigError if it never worked."""
        if self.made is None:
            raise ConfigError(self.problems)
        return PluginOption(self.made.name, FileFactory(self))

    @property
    def problems(self) -> list[str]:
        """The faults as texts that say file and line."""
        return [f"{self.path}{f', line {one.line}' if one.line else ''}: {one.text}" for one in self.faults]

    @property
    def decides_on(self) -> bool:
        """Whether a fault leaves the rules that were there before: registered ones stay, a plugin is not made."""
        return any(self._registered)

    def refresh(self) -> bool:
        """Loads the file again if it was saved since; whether it was."""
        with self._lock:
            stamp = stamp_of(self.path)
            if stamp == self._stamp and self.loaded_at:
                return False
            self._stamp, self.loaded_at = stamp, time.time()
            try:
                self.text = read_text(self.path)
                self._load()
                self.faults = ()
            except KubeSchedulerError as error:
                self.faults = tuple(CodeFault(problem) for problem in getattr(error, "problems", (str(error),)))
            except RAISED as error:
                self.faults = (fault_of(error, self.path),)
            return True

    def _load(self) -> None:
        module = ModuleType(f"{self.path.stem}_as_saved_{next(_NUMBERS)}")
        module.__file__ = str(self.path)
        sys.modules[module.__name__] = module
        try:
            with contextlib.redirect_stdout(sys.stderr):
                called(exec, compile(self.text, str(self.path), "exec"), module.__dict__)
                found = getattr(module, self.attribute, None)
                if not callable(found):
                    raise ConfigError(f"there is no {self.attribute} to call in it any more")
                self._use(found)
        except BaseException:
            del sys.modules[module.__name__]
            raise
        if self._module is not None:
            sys.modules.pop(self._module, None)
        self._module = module.__name__

    def _use(self, found: Callable[..., Any]) -> None:
        if not self.legacy:
            name = self.name.rpartition("=")[0]
            self.made = plugin_option(name or (self.made.name if self.made else ""), found, self.name)
            return
        with _REGISTERING:
            before = [dict(one) for one in MAPS]
            for one, mine in zip(MAPS, self._registered, strict=True):
                for key in mine:
                    one.pop(key, None)
            without = [dict(one) for one in MAPS]
            try:
                called(found)
            except BaseException:
                for one, entries in zip(MAPS, before, strict=True):
                    one.clear()
                    one.update(entries)
                raise
            self._registered = [
                {key: value for key, value in one.items() if there.get(key) is not value}
                for one, there in zip(MAPS, without, strict=True)
            ]


class FileFactory:
    """Makes the plugin that a file has when it is called."""

    def __init__(self, file: PluginFile) -> None:
        self._file = file

    @property
    def points(self) -> Any:
        """Where the plugin takes part, as the file last said without a fault."""
        made = self._file.made
        assert made is not None
        return points_of(inspect.unwrap(made.factory))

    @property
    def __wrapped__(self) -> Any:
        """The class or function itself; nothing for a file with faults."""
        made = self._file.made
        if made is None or self._file.faults:
            raise AttributeError("__wrapped__")
        return made.factory

    def __call__(self, args: Any, handle: Any) -> Plugin:
        """Raises ConfigError for a file with faults."""
        made = self._file.made
        if made is None or self._file.faults:
            raise ConfigError(self._file.problems)
        return made.factory(args, handle)


def plugin_files(names: Iterable[str], release: str) -> tuple[PluginFile, ...]:
    """The files of what ``--plugin`` names, which have been loaded once; those that are in no file are left out."""
    found = []
    for name in names:
        module_name, _, attribute = name.rpartition("=")[2].partition(":")
        module = sys.modules.get(module_name) or importlib.import_module(module_name)
        path = getattr(module, "__file__", None)
        if path and Path(path).suffix == ".py":
            found.append(PluginFile(name, Path(path).resolve(), attribute, release))
    return tuple(found)


def from_files(options: Iterable[PluginOption], files: Iterable[PluginFile]) -> tuple[PluginOption, ...]:
    """The plugins, those of files as they are when a scheduler is made."""
    by_name = {file.made.name: file.option for file in files if file.made is not None}
    return tuple(by_name.get(option.name, option) for option in options)
