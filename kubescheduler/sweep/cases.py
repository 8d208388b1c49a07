"""What a sweep runs: cluster snapshots × configurations × seeds, the files that these need, and users' own modules."""

from __future__ import annotations

import glob
import hashlib
import importlib
import os
import sys
import tempfile
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import attrs
import msgspec

from algorithmprovider.registry import registered_until_the_end
from clusterstate.errors import InputError
from clusterstate.manifests.fields import Judgement
from kubescheduler.engine.plugin_options import plugins_for_all
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.extender.access import RECORD, REPLAY, ExtenderAccess
from kubescheduler.framework.plugin_loading import PluginOption
from kubescheduler.sources.files import COMPRESSED, EXTENSIONS, is_special
from kubescheduler.sources.untrusted import exceeded, limit

Contents = Mapping[str, bytes]
"""A file's name as the user gave it → its bytes, compressed."""


def is_manifest(path: Path) -> bool:
    """Whether a folder's reader takes this file."""
    return path.name.removesuffix(COMPRESSED).endswith(EXTENSIONS) and not path.name.startswith(".")


def manifests(path: str) -> tuple[str, ...]:
    """The manifests below a folder in the order in which they are read; of a file the file itself."""
    folder = Path(path)
    if not folder.is_dir():
        return (path,)
    hidden = {below for below in folder.rglob(".*") if below.is_dir()}
    files = (
        file
        for file in folder.rglob("*")
        if is_manifest(file) and not is_special(file) and not hidden.intersection(file.parents)
    )
    return tuple(sorted(map(str, files)))


def digest_of(files: Iterable[str]) -> str:
    """A SHA-256 of the contents of files, in their order. Of a file that cannot be read its last name counts."""
    whole = hashlib.sha256()
    for name in files:
        try:
            part = hashlib.sha256(Path(name).read_bytes()).hexdigest()
        except OSError:
            part = f"unreadable {Path(name).name}"
        whole.update(f"{part}\n".encode())
    return whole.hexdigest()


def packed(files: Iterable[str]) -> dict[str, bytes]:
    """The contents of files, to be sent. Those that cannot be read are left out."""
    out = {}
    for name in files:
        try:
            out[name] = zlib.compress(Path(name).read_bytes(), level=1)
        except OSError:
            continue
    return out


class FileLocations(msgspec.Struct, frozen=True):
    """Where files are on this machine."""

    paths: Mapping[str, str]
    """The name as given → path; empty: every file is where its name says."""

    def path(self, name: str) -> str:
        """Where the file of this name is."""
        return self.paths.get(name, name)

    def by_given_names(self, text: str) -> str:
        """A text with the files by the names that the user gave them."""
        for name, path in self.paths.items():
            text = text.replace(path, name)
        return text


@contextmanager
def placed(contents: Contents | None, files: Iterable[str]) -> Iterator[FileLocations]:
    """Puts files where they can be read by path, until the end. contents: None: they are where their names say."""
    if contents is None:
        yield FileLocations({})
        return
    with tempfile.TemporaryDirectory(prefix="kubescheduler-sweep-") as folder:
        paths = {name: Path(folder, str(at), Path(name).name) for at, name in enumerate(files)}
        for name, path in paths.items():
            path.parent.mkdir()
            if name in contents:
                path.write_bytes(zlib.decompress(contents[name]))
        yield FileLocations({name: str(path) for name, path in paths.items()})


# --- custom modules --------------------------------------------------------------------------

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


# --- cases -----------------------------------------------------------------------------------

FORMAT = "kubescheduler sweep 1"
"""Goes into every case's id; changes when the same case would give another row."""

ID_LENGTH = 16

MANIFEST_ENDINGS = ".json, .yaml or .yml, also with .gz"

NOT_DECIDING = ("plugins", "certificate_places")
"""Fields of a spec that are no part of a case's id: the plugins' code is one for all cases."""


class SnapshotFiles(msgspec.Struct, frozen=True):
    """A cluster of a sweep."""

    name: str
    """As it was given."""
    files: tuple[str, ...]
    """The files of the manifests, in the order they are read."""
    digest: str

    @classmethod
    def of(cls, name: str) -> SnapshotFiles:
        """A file, or all manifests below a folder."""
        files = manifests(name) or (name,)
        return cls(name, files, digest_of(files))


class Configuration(msgspec.Struct, frozen=True):
    """A scheduler's configuration in a sweep."""

    label: str
    spec: EngineSpec
    weights: tuple[tuple[str, int], ...] = ()
    """Priority or Score plugin → weight; 0: it does not score."""
    certificates: tuple[str, ...] = ()
    """The certificate and key files of its extenders, where they have to be sent along."""

    @property
    def recorded(self) -> str | None:
        """The file into which answers of extenders are recorded, or from which they come; None: there is none."""
        access = ExtenderAccess.named(self.spec.extenders)
        return access.file if access.mode in (RECORD, REPLAY) else None

    def asking(self, extenders: str) -> Configuration:
        """The same with its extenders asked so, unless it says how; what is not live is in its label."""
        spec = self.spec.asking(extenders)
        asked = "" if spec.extenders == self.spec.extenders else f",extenders={extenders}"
        return msgspec.structs.replace(self, label=self.label + asked, spec=spec)

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it is read from, and those of its extenders."""
        recorded = () if self.recorded is None else (self.recorded,)
        return tuple(dict.fromkeys((*self.spec.files.values(), *recorded, *self.certificates)))

    def digest(self) -> str:
        """Of everything that decides; files count by what is in them."""
        fields = {key: value for key, value in msgspec.structs.asdict(self.spec).items() if key not in NOT_DECIDING}
        access = ExtenderAccess.named(self.spec.extenders)
        fields["extenders"] = digest_of([access.file]) if access.mode == REPLAY else access.mode
        fields |= {field: digest_of([name]) for field, name in self.spec.files.items()}
        return _digest([fields, sorted(self.weights)])


class SweepOptions(msgspec.Struct, frozen=True):
    """What holds for all cases."""

    pod_files: tuple[str, ...] = ()
    """The files of the pods to schedule; empty: each snapshot's pending pods."""
    tie_break: str = "random"
    """``random`` or ``upstream``, where there is a seed."""
    placements: bool = False
    timings: bool = False
    version: str = ""
    """The version of the program that started the sweep."""
    validate: Judgement | None = None
    """What comes of fields that the API does not have; None: a fault where somebody wrote them."""
    defaulting: bool = True
    """What an API server would fill in is filled in."""
    running: str = ""
    """Instead: running pods that this selector picks, each taken out of its snapshot's cluster and decided anew."""
    preempt: bool = False
    """A pod that fits nowhere takes the place of pods with a lower priority."""
    modules: CustomModules = NO_MODULES
    """Custom rules and plugins."""


class Case(msgspec.Struct, frozen=True):
    """One run."""

    id: str
    """Stable hash of the contents of snapshot and pods, of how they are read and placed, of the configuration, and of
    the seed."""
    snapshot: SnapshotFiles
    configuration: Configuration
    configured: str
    """The configuration's digest."""
    seed: int | None
    """None: of equal totals the first node by name is chosen."""
    options: SweepOptions
    pods_digest: str = ""
    """Of the contents of the files of pods; empty where there are none."""

    @property
    def files(self) -> tuple[str, ...]:
        """Every file that it is read from."""
        modules = (path for _, path in self.options.modules.files)
        return (*self.snapshot.files, *self.options.pod_files, *self.configuration.files, *modules)


def cases_of(
    snapshots: Iterable[SnapshotFiles],
    configurations: Sequence[Configuration],
    seeds: Sequence[int],
    options: SweepOptions,
) -> list[Case]:
    """Every combination, each once: snapshots change slowest, seeds fastest. No seeds: one case without."""
    pods = digest_of(options.pod_files) if options.pod_files else ""
    reading = [] if options.defaulting else ["no-defaulting"]
    reading += ["preempt"] if options.preempt else []
    reading += [f"running {options.running}"] if options.running else []
    reading += [f"validate {options.validate}"] if options.validate is not None else []
    reading += [f"plugins {options.modules.digest}"] if options.modules.names else []
    digests = [configuration.digest() for configuration in configurations]
    cases: dict[str, Case] = {}
    for snapshot in snapshots:
        for configuration, configured in zip(configurations, digests, strict=True):
            for seed in seeds or (None,):
                tie = "first" if seed is None else options.tie_break
                case_id = _digest([FORMAT, snapshot.digest, pods, configured, tie, seed, *reading])[:ID_LENGTH]
                cases.setdefault(case_id, Case(case_id, snapshot, configuration, configured, seed, options, pods))
    return list(cases.values())


def _digest(value: object) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()


# --- what a command line names -----------------------------------------------------------------


def find_snapshots(arguments: Iterable[str], *, whole_folders: bool = False) -> list[SnapshotFiles]:
    """The snapshots of files, folders and globs, each once, in order; a glob and a folder sorted.

    In a folder every manifest is a snapshot and so is every folder; whole_folders: a folder is one itself.
    Raises InputError with every argument that names none.
    """
    names: list[str] = []
    problems: list[str] = []
    for argument in arguments:
        matching = [argument] if os.path.lexists(argument) else sorted(glob.glob(argument, recursive=True))
        if not matching:
            problems.append(f"{argument}: no such file or folder; check the path")
        for name in matching:
            if os.path.isdir(name) and not whole_folders:
                below = list(_snapshots_in(name))
                if not below:
                    problems.append(f"{name}: no snapshots in this folder; they end in {MANIFEST_ENDINGS}")
                names += below
            elif is_special(name):
                problems.append(f"{name}: this is no regular file, and a snapshot is read more than once")
            else:
                names.append(name)
    if problems:
        raise InputError(problems)
    return [SnapshotFiles.of(name) for name in dict.fromkeys(names)]


def _snapshots_in(folder: str) -> Iterator[str]:
    for path in sorted(Path(folder).iterdir()):
        if is_manifest(path) if path.is_file() else not path.name.startswith(".") and manifests(str(path)):
            yield str(path)


def parse_seeds(text: str) -> tuple[int, ...]:
    """``0..9`` (both ends are in), ``1,5``, or several of them. Raises InputError."""
    seeds: list[int] = []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        first, dots, last = part.partition("..")
        try:
            low, high = int(first), int(last if dots else first)
        except ValueError:
            raise InputError(f"--seeds {text}: {part} is no whole number and no range; write 0..9 or 1,5,7") from None
        if high < low:
            raise InputError(f"--seeds {text}: {part} is empty; write the smaller number first")
        if len(seeds) + high - low >= limit("seeds"):
            raise InputError(f"--seeds {text}: {exceeded('seeds')}")
        seeds += range(low, high + 1)
    if not seeds:
        raise InputError("--seeds: there is none; write 0..9 or 1,5,7, or leave it out")
    return tuple(dict.fromkeys(seeds))
