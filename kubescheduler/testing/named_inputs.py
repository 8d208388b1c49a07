"""What tests name: clusters and pods from files around them, manifests, YAML text; schedulers in one line of text."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import msgspec

from clusterstate.errors import ConfigError, DecodeError, attempt
from clusterstate.manifests.fields import STRICT, Judgement, describe, strictness_of
from clusterstate.objects import ClusterObject
from kubescheduler.api.cluster import Cluster
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.extender.access import LIVE, RECORD
from kubescheduler.given import KINDS_OF_GIVEN, flat, found_in, is_text
from kubescheduler.releases.lookup import daemons_among, newest
from kubescheduler.releases.names import DEFAULT_RELEASE
from kubescheduler.simulation.pods_to_place import PodsToPlace
from kubescheduler.testing.running_session import note


def located(name: str | os.PathLike[str], folders: Sequence[Path]) -> str:
    """The absolute path of a file or folder, looked for in ``folders`` in turn. Raises DecodeError."""
    for folder in folders:
        path = folder.absolute() / name
        if path.exists():
            return str(path)
    places = " or ".join(dict.fromkeys(str(folder.absolute()) for folder in folders))
    raise DecodeError(f"{os.fspath(name)}: no such file or folder in {places}")


def _with_paths(given: Any, folders: Sequence[Path], problems: list[str]) -> list[Any]:
    """Every single thing, a file by its absolute path and text as bytes; files that are not there are left out."""
    out: list[Any] = []
    for thing in flat(given):
        if is_text(thing):
            out.append(thing.encode() if isinstance(thing, str) else thing)
        elif isinstance(thing, str | os.PathLike):
            path = attempt(problems, located, thing, folders)
            out += [] if path is None else [path]
        else:
            out.append(thing)
    return out


def spec_of(given: Any, folders: Sequence[Path], extenders: str = LIVE) -> EngineSpec:
    """A scheduler's description, also as text (``release=1.16,policy=policy.json``). Raises ConfigError.

    extenders: how they are asked, unless the description says it.
    """
    if not isinstance(given, str | EngineSpec):
        raise ConfigError(f'scheduler: expected text like "release=1.16,policy=policy.json", found {describe(given)}')
    spec = (EngineSpec.parse(given) if isinstance(given, str) else given).asking(extenders)
    problems: list[str] = []
    paths: dict[str, Any] = {field: attempt(problems, located, name, folders) for field, name in spec.files.items()}
    access = attempt(problems, _record_located, spec.extenders, folders)
    if problems:
        raise ConfigError(problems)
    return msgspec.structs.replace(spec, **paths, extenders=access or spec.extenders)


def _record_located(said: str, folders: Sequence[Path]) -> str:
    """How extenders are asked, with the path of the record; one that is recorded is made in the first folder."""
    mode, _, file = said.replace(":", " ", 1).partition(" ")
    if not file:
        return said
    try:
        return f"{mode} {located(file.strip(), folders)}"
    except DecodeError:
        if mode != RECORD:
            raise
        return f"{mode} {folders[0].absolute() / file.strip()}"


@attrs.frozen(eq=False, repr=False)
class SharedCluster:
    """A cluster that tests share; nothing changes it."""

    things: tuple[Any, ...] = ()
    """The absolute paths of files, manifests, texts as bytes, objects."""
    folders: tuple[Path, ...] = attrs.field(factory=lambda: (Path.cwd(),))
    """The folders in which further files are looked for by name."""
    front: Cluster | None = None
    """A cluster that Python code made, in place of all the others."""
    validate: Judgement | None = None
    """What unknown fields of manifests are, of its own and of those of pods for it; None: as usual."""
    _read: dict[str, Cluster] = attrs.field(factory=dict, init=False)

    def __repr__(self) -> str:
        if self.front is not None:
            return repr(self.front)
        names = [Path(thing).name for thing in self.things if isinstance(thing, str)]
        inline = len(self.things) - len(names)
        return f"<Cluster of {', '.join([*names, *([f'{inline} more'] if inline else [])])}>"

    @property
    def objects(self) -> list[ClusterObject]:
        """As an API server of the default release would store them."""
        return self.objects_for(DEFAULT_RELEASE)

    @property
    def notes(self) -> list[str]:
        """What was left out."""
        return list(dict.fromkeys(note for found in self._read.values() for note in found.notes))

    def objects_for(self, *releases: str) -> list[ClusterObject]:
        """As an API server of the newest of these releases would store them. Raises DecodeError with every fault."""
        return self.cluster_for(*releases).objects

    def cluster_for(self, *releases: str) -> Cluster:
        """The cluster of the newest of these releases, read once. Raises DecodeError with every fault."""
        release = newest(releases).name
        if release not in self._read:
            self._read[release] = self._found(release) if self.front is None else self.front.for_release(release)
        return self._read[release]

    def _found(self, release: str) -> Cluster:
        there = Cluster.read(*self.things, release=release, validate=self.validate)
        note(there.notes)
        return there


def cluster_of(given: Any, folders: Sequence[Path], validate: Judgement | None = None) -> SharedCluster:
    """A cluster of one thing or several: file names, manifests, YAML texts, objects. Raises DecodeError.

    validate: see SharedCluster; a cluster as it is was read before.
    """
    if isinstance(given, SharedCluster):
        return given
    if isinstance(given, Cluster):
        return SharedCluster(folders=tuple(folders), front=given, validate=validate)
    problems: list[str] = []
    things = _with_paths(given, folders, problems)
    if problems:
        raise DecodeError([*problems, *found_in(each for each in things if not isinstance(each, str)).problems])
    if not things:
        raise DecodeError(f"cluster: nothing in it; give {KINDS_OF_GIVEN}")
    return SharedCluster(tuple(things), tuple(folders), validate=validate)


# --- pods ------------------------------------------------------------------------------------


def pods_of(
    given: Any,
    cluster: SharedCluster,
    *releases: str,
    validate: Judgement | None = None,
    gates: Mapping[str, bool] | None = None,
) -> PodsToPlace:
    """The pods of one thing or several, in order: file names, manifests, YAML texts, objects; pods themselves, or
    Deployments and others that make pods. What else is given with them, a Service say, is beside.

    validate: what unknown fields are; None: as the cluster says it. gates: of the newest of the releases. They may run
    in the cluster. Raises DecodeError with every fault; a pod that is there twice is one.
    """
    problems: list[str] = []
    there = attempt(problems, cluster.cluster_for, *releases) or Cluster(release=newest(releases).name)
    usual = STRICT if cluster.front is None else cluster.front.strictness
    strictness = strictness_of(validate or cluster.validate, usual).under(newest(releases).accepted_values(gates))
    asking = there.asking(strictness, daemons_among(releases), running=True)
    things = _with_paths(given, cluster.folders, problems)
    found = None if problems and not things else attempt(problems, asking.read, things, "pods")
    if found is None or problems:
        raise DecodeError(problems)
    note((*found.notes, *found.controllers))
    return found
