"""What tests name: clusters and pods from files around them, manifests, YAML text; schedulers in one line of text."""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import msgspec

from clusterstate.errors import ConfigError, DecodeError, attempt
from clusterstate.manifests.fields import STRICT, Judgement, describe, strictness_of
from clusterstate.objects import KINDS, ClusterObject, Pod
from kubescheduler.api.cluster import Cluster
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.extender.access import LIVE, RECORD
from kubescheduler.given import PodAsking, flat, identified, is_text
from kubescheduler.releases.lookup import daemons_among, newest
from kubescheduler.releases.names import DEFAULT_RELEASE
from kubescheduler.simulation.pods_to_place import PodsToPlace
from kubescheduler.sources.cluster_input import nothing_to_place
from kubescheduler.sources.yaml_stream import parse_yaml
from kubescheduler.testing.running_session import note

KINDS_OF_GIVEN = "a file name, a manifest, YAML text or an object"


def located(name: str | os.PathLike[str], folders: Sequence[Path]) -> str:
    """The absolute path of a file or folder, looked for in ``folders`` in turn. Raises DecodeError."""
    for folder in folders:
        path = folder.absolute() / name
        if path.exists():
            return str(path)
    places = " or ".join(dict.fromkeys(str(folder.absolute()) for folder in folders))
    raise DecodeError(f"{os.fspath(name)}: no such file or folder in {places}")


def _stream(documents: Sequence[Any]) -> io.BytesIO:
    """Manifests as files are read, under the name that faults in them have. Raises DecodeError for what is no JSON."""
    try:
        stream = io.BytesIO(msgspec.json.encode(documents[0] if len(documents) == 1 else documents))
    except (TypeError, ValueError) as error:
        raise DecodeError(f"manifest: {error}") from None
    stream.name = "manifest"
    return stream


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

    files: tuple[str, ...] = ()
    """The absolute paths of the manifests."""
    manifests: tuple[Any, ...] = ()
    given: tuple[ClusterObject, ...] = ()
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
        names = [Path(file).name for file in self.files]
        inline = len(self.manifests) + len(self.given)
        return f"<Cluster of {', '.join([*names, *([f'{inline} objects'] if inline else [])])}>"

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
        things: list[Any] = [*self.files, *([_stream(self.manifests)] if self.manifests else []), *self.given]
        there = Cluster.read(*things, release=release, validate=self.validate)
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
    files, documents, objects = _told_apart(given, folders, "cluster")
    if not (files or documents or objects):
        raise DecodeError(f"cluster: nothing in it; give {KINDS_OF_GIVEN}")
    return SharedCluster(tuple(files), tuple(documents), tuple(objects), tuple(folders), validate=validate)


def _told_apart(given: Any, folders: Sequence[Path], what: str) -> tuple[list[str], list[Any], list[ClusterObject]]:
    """The paths of files, the manifests, and the objects among things. what: their name in errors. Raises DecodeError
    with every fault."""
    files: list[str] = []
    documents: list[Any] = []
    objects: list[ClusterObject] = []
    problems: list[str] = []
    for thing in flat(given):
        if is_text(thing):
            found = attempt(problems, parse_yaml, "YAML text", thing if isinstance(thing, bytes) else thing.encode())
            documents += found or ()
            problems += ["YAML text: no objects in it"] if found == [] else []
        elif isinstance(thing, str | os.PathLike):
            path = attempt(problems, located, thing, folders)
            files += [path] if path else []
        elif isinstance(thing, Mapping):
            documents.append(thing)
        elif isinstance(thing, tuple(KINDS.values())):
            objects.append(identified(thing))
        else:
            problems.append(f"{what}: expected {KINDS_OF_GIVEN}, found {describe(thing)}")
    if problems:
        raise DecodeError(problems)
    return files, documents, objects


def key_of(pod: Pod) -> str:
    """``namespace/name``."""
    return pod.key.removeprefix("/")


# --- pods ------------------------------------------------------------------------------------


def pods_of(
    given: Any,
    cluster: SharedCluster,
    *releases: str,
    validate: Judgement | None = None,
    gates: Mapping[str, bool] | None = None,
    running: bool = False,
) -> PodsToPlace:
    """The pods of one thing or several, in order: file names, manifests, YAML texts, objects; pods themselves, or
    Deployments and others that make pods. What else is given with them, a Service say, is beside.

    validate: what unknown fields are; None: as the cluster says it. gates: of the newest of the releases. running:
    they may run in the cluster. Raises DecodeError with every fault; a pod that is there twice is one.
    """
    problems: list[str] = []
    there = attempt(problems, cluster.cluster_for, *releases) or Cluster(release=newest(releases).name)
    usual = STRICT if cluster.front is None else cluster.front.strictness
    strictness = strictness_of(validate or cluster.validate, usual).under(newest(releases).accepted_values(gates))
    asking = there.asking(strictness, daemons_among(releases), running=True)
    to_place = PodsToPlace([])
    things = list(flat(given))
    for thing in things:
        to_place = attempt(problems, _with_more, to_place, thing, asking, cluster.folders) or to_place
    pods = to_place.pods
    if not things:
        problems.append(f"pods: none are given; give {KINDS_OF_GIVEN}")
    elif not (pods or to_place.controllers or problems):
        problems.append(nothing_to_place("pods", to_place.objects, to_place.notes))
    problems += _twice("metadata.name", map(key_of, pods))
    problems += _twice("metadata.uid", (pod.metadata.uid for pod in {key_of(pod): pod for pod in pods}.values()))
    problems += () if running else running_among(pods, there.pods)
    if problems:
        raise DecodeError(problems)
    note((*to_place.notes, *to_place.controllers))
    return to_place


def _with_more(before: PodsToPlace, thing: Any, asking: PodAsking, folders: Sequence[Path]) -> PodsToPlace:
    """A manifest that does not say its kind is a pod's. Raises DecodeError with every fault."""
    files, documents, objects = _told_apart(thing, folders, "pods")
    kinded = [{"kind": "Pod", **each} if isinstance(each, Mapping) else each for each in documents]
    if kinded:
        return asking.more(before, _stream(kinded), "manifest")
    return asking.more(before, Path(files[0]), files[0]) if files else asking.more(before, objects[0], "pods")


def _twice(path: str, values: Iterable[str]) -> Iterator[str]:
    for value, count in Counter(values).items():
        if count > 1:
            yield f"pods: {path}: {count} of them have {value}; pods are told apart by it"


def running_among(pods: Iterable[Pod], objects: Iterable[ClusterObject]) -> Iterator[str]:
    """A fault for each pod that runs already."""
    running = {key_of(obj): obj.node_name for obj in objects if isinstance(obj, Pod) and obj.node_name}
    for pod in pods:
        if key_of(pod) in running:
            yield f"Pod {key_of(pod)}: it runs on {running[key_of(pod)]}; remove it there, or give the pod another name"
