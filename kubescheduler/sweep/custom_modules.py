"""The modules of custom rules and plugins in a sweep: what they are, and their way into a process that runs cases."""

from __future__ import annotations

import importlib
import sys
import tempfile
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import attrs
import msgspec

from algorithmprovider.registration import registered_until_the_end
from kubescheduler.engine.plugin_options import plugins_for_all
from kubescheduler.framework.profiles.plugin_registration import PluginOption
from kubescheduler.sweep.case_files import Contents, digest_of

INSTALLED = frozenset({"algorithmprovider", "clusterstate", "kubescheduler", "predicates", "priorities"})
"""Packages that every process has which runs cases."""


class CustomModules(msgspec.Struct, frozen=True):
    """What ``--plugin`` names, and the modules that it needs."""

    names: tuple[str, ...] = ()
    """As they were given."""
    files: tuple[tuple[str, str], ...] = ()
    """(path within the folder of the modules, path) of every file of the modules that come from the current folder."""
    digest: str = ""
    """Of the names and of the code."""

    @classmethod
    def of(cls, names: Sequence[str]) -> CustomModules:
        """Loads what is named. Raises ConfigError with every one that cannot be loaded.

        Modules that were imported from the current folder go along, each with the whole of its package; what is
        installed has to be installed where cases run.
        """
        if not names:
            return cls()
        with registered_until_the_end():
            plugins_for_all(names)
        tops = sorted(_tops_below(Path.cwd()))
        files = [path for top in tops for path in _code_of(Path(top))]
        named = [sys.modules.get(_module(name)) for name in names]
        installed = [file for module in named if (file := getattr(module, "__file__", None)) is not None]
        whole = digest_of([*map(str, files), *installed])
        return cls(tuple(names), tuple((str(path), str(path)) for path in files), f"{' '.join(names)} {whole}")


NO_MODULES = CustomModules()
"""Of a sweep without ``--plugin``."""


def _module(name: str) -> str:
    """The module of ``module:function`` or ``NAME=module:Factory``."""
    return name.rpartition("=")[2].partition(":")[0]


def _tops_below(folder: Path) -> Iterator[str]:
    """The modules and packages, by their path in a folder, that this process has imported from there."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if "." in name or file is None or name in INSTALLED:
            continue
        for candidate in (f"{name}.py", f"{name}/__init__.py"):
            if Path(file).absolute() == folder / candidate:
                yield candidate.removesuffix("/__init__.py")


def _code_of(top: Path) -> list[Path]:
    return sorted(top.rglob("*.py")) if top.is_dir() else [top]


# --- in a process that runs cases ----------------------------------------------------------------


@attrs.define
class _Unpacked:
    """The modules that were sent to this process last."""

    digest: str = ""
    folder: tempfile.TemporaryDirectory[str] | None = None

    def change_to(self, modules: CustomModules, contents: Contents) -> None:
        """Puts the files where they can be imported, in place of those of another sweep."""
        if modules.digest == self.digest:
            return
        self.leave()
        self.folder = tempfile.TemporaryDirectory(prefix="kubescheduler-plugins-")
        for below, name in modules.files:
            path = Path(self.folder.name, below)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(zlib.decompress(contents[name]))
        sys.path.insert(0, self.folder.name)
        _forget({Path(below).parts[0].removesuffix(".py") for below, _ in modules.files})
        importlib.invalidate_caches()
        self.digest = modules.digest

    def leave(self) -> None:
        """Forgets the modules."""
        if self.folder is None:
            return
        _forget(
            name
            for name, module in sys.modules.items()
            if (getattr(module, "__file__", None) or "").startswith(f"{self.folder.name}/")
        )
        sys.path[:] = [path for path in sys.path if path != self.folder.name]
        self.folder.cleanup()
        self.folder, self.digest = None, ""


def _forget(tops: Iterable[str]) -> None:
    """Has modules imported anew, with all that is in them."""
    names = set(tops)
    for name in [name for name in sys.modules if name.partition(".")[0] in names]:
        del sys.modules[name]


_LOCK = threading.RLock()
_UNPACKED = _Unpacked()


@contextmanager
def loaded(modules: CustomModules, contents: Contents | None) -> Iterator[tuple[PluginOption, ...]]:
    """The plugins, with custom rules registered, until the end: an engine is made meanwhile, which keeps its rules.

    contents: of the modules' files, where this machine does not have them. One thread at a time.
    Raises ConfigError with every one that cannot be loaded.
    """
    with _LOCK, registered_until_the_end():
        if contents is not None and modules.files:
            _UNPACKED.change_to(modules, contents)
        yield plugins_for_all(modules.names)
