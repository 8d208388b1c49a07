"""What is to be migrated, found in whatever files hold it: policies, configurations, ConfigMaps and manifests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import msgspec

from clusterstate.errors import ConfigError
from clusterstate.manifests.fields import describe
from kubescheduler.config.component.config_schema import KIND
from kubescheduler.config.config_text import POLICY_KEY, document_format, parse_document, parse_first_document
from kubescheduler.sources.files import items_in
from kubescheduler.translate.translation_model import Note, NoteKind
from kubescheduler.translate.upgrade.process_flags import HYPERKUBE, PROGRAM, ProcessFlags, flags_in

KINDS = ("Policy", KIND)
POLICY_KEYS = (
    "predicates",
    "priorities",
    "extenders",
    "extenderconfigs",
    "hardpodaffinitysymmetricweight",
    "alwayscheckallpredicates",
)
"""The keys of a Policy but for kind and apiVersion, as all releases spell them, in lower case."""
IMAGE = re.compile(rf"(?:{PROGRAM}|{HYPERKUBE})(?:-[a-z0-9]+)?:(v?1\.\d[^@]*)(?:@.*)?")
"""The last part of the name of an image of kube-scheduler, with its version."""
WORKLOADS = ("Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "Job", "Pod")


class Held(msgspec.Struct, frozen=True):
    """A document and where it is."""

    document: Mapping[str, Any]
    name: str
    """Its file, and its key if it is in a ConfigMap."""


class Process(msgspec.Struct, frozen=True):
    """A container that runs kube-scheduler."""

    name: str
    """The kind and the name of its workload."""
    container: str
    file: str
    version: str
    """That of its image; empty where the image says none."""
    flags: ProcessFlags
    mounts: Mapping[str, tuple[str, Mapping[str, str]]]
    """Where a ConfigMap is mounted → its name, and the paths of its keys if only some are."""

    @property
    def place(self) -> str:
        """Its file, workload and container."""
        return f"{self.file}: {self.name}, container {self.container}"

    @property
    def path(self) -> str:
        """What tells it from containers of the same name: ``WORKLOAD/CONTAINER``."""
        return f"{self.name.rpartition(' ')[2]}/{self.container}"

    def configmap_file(self, path: str) -> tuple[str, str] | None:
        """(ConfigMap, key) of a file in the container; None when it comes from elsewhere."""
        for place, (configmap, paths) in self.mounts.items():
            if path == place or path.startswith(place.rstrip("/") + "/"):
                below = path[len(place) :].strip("/") or PurePosixPath(path).name
                return configmap, paths.get(below, below)
        return None


class MigrationInput(msgspec.Struct, frozen=True):
    """Everything that was given."""

    documents: tuple[Held, ...]
    """Policies and configurations that are files or parts of files."""
    configmaps: Mapping[str, Mapping[str, Any]]
    """Name → manifest."""
    processes: tuple[Process, ...]

    def in_configmap(self, name: str, key: str) -> Held | None:
        """The document under a key; None when there is no such ConfigMap. Raises ConfigError for a key it has not."""
        manifest = self.configmaps.get(name)
        if manifest is None:
            return None
        text = _object_at(manifest.get("data"), f"ConfigMap {name}: data").get(key)
        if not isinstance(text, str):
            raise ConfigError(f'ConfigMap {name}: missing value at key "{key}"')
        return Held(parse_first_document(text, f"{name}[{key}]"), f"ConfigMap {name}[{key}]")

    def named(self, path: str) -> Held | None:
        """The document of a file of this name, in whatever folder, or under this key of a ConfigMap."""
        base = PurePosixPath(path).name
        for held in self.documents:
            if PurePosixPath(held.name).name == base:
                return held
        for name, manifest in self.configmaps.items():
            if base in _object_at(manifest.get("data"), f"ConfigMap {name}: data"):
                return self.in_configmap(name, base)
        return None


def pool(texts: Iterable[tuple[str, str]]) -> MigrationInput:
    """What is in (name, text) pairs. Raises ConfigError with every fault."""
    documents: list[Held] = []
    configmaps: dict[str, Mapping[str, Any]] = {}
    processes: list[Process] = []
    for name, text in texts:
        for document, place in _documents(name, text):
            if document.get("kind") == "ConfigMap":
                configmaps[_named(document, name)] = document
            elif document.get("kind") in WORKLOADS:
                processes += _processes(document, name)
            elif document.get("kind") in KINDS or "kind" not in document:
                documents.append(Held(document, place))
    return MigrationInput(tuple(documents), configmaps, tuple(processes))


def _documents(name: str, text: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Every document of a file with its place: one is decoded strictly, of several each by itself."""
    if document_format(text, name) != "YAML" or not _several(text):
        document = parse_document(text, name)
        if not str(document.get("kind", "")).endswith("List"):
            yield document, name
            return
    problems: list[str] = []
    items = items_in(name, text.encode(), problems)
    if problems:
        raise ConfigError(problems)
    for item in items:
        content = item.content
        found: Mapping[str, Any] = msgspec.json.decode(content) if isinstance(content, msgspec.Raw) else content
        yield {"kind": item.kind, **found} if item.kind else found, name


def _several(text: str) -> bool:
    return sum(bool(part.strip()) for part in f"\n{text}".split("\n---")) > 1


# --- manifests -----------------------------------------------------------------------------


def _object_at(value: Any, where: str) -> Mapping[str, Any]:
    """The object there, an empty one for nothing. Raises ConfigError for anything else."""
    if value is not None and not isinstance(value, Mapping):
        raise ConfigError(f"{where}: must be an object, not {describe(value)}")
    return value or {}


def _objects_at(value: Any, where: str) -> list[Mapping[str, Any]]:
    return [_object_at(item, f"{where}[{at}]") for at, item in enumerate(_list_at(value, where))]


def _list_at(value: Any, where: str) -> list[Any]:
    if value is not None and not isinstance(value, list):
        raise ConfigError(f"{where}: must be a list, not {describe(value)}")
    return value or []


def _named(manifest: Mapping[str, Any], default: str) -> str:
    where = f"{default or manifest.get('kind')}: metadata"
    name = _object_at(manifest.get("metadata"), where).get("name")
    return str(name or default)


def _processes(manifest: Mapping[str, Any], file: str) -> Iterator[Process]:
    """The containers of a workload that run kube-scheduler. Raises ConfigError for what is no workload inside."""
    who = f"{manifest.get('kind')} {_named(manifest, '')}".strip()
    pod, where = _object_at(manifest.get("spec"), f"{who}: spec"), f"{who}: spec"
    if manifest.get("kind") != "Pod":
        for key in ("template", "spec"):
            where = f"{where}.{key}"
            pod = _object_at(pod.get(key), where)
    volumes = {str(each.get("name")): each for each in _objects_at(pod.get("volumes"), f"{where}.volumes")}
    for at, container in enumerate(_objects_at(pod.get("containers"), f"{where}.containers")):
        place = f"{where}.containers[{at}]"
        command = _list_at(container.get("command"), f"{place}.command")
        words = [*command, *_list_at(container.get("args"), f"{place}.args")]
        image = str(container.get("image", "")).rpartition("/")[2]
        if not command and image.startswith(PROGRAM):
            words.insert(0, "kube-scheduler")
        flags = flags_in(words)
        if flags is not None:
            tag = IMAGE.fullmatch(image)
            version = tag[1] if tag else ""
            name = str(container.get("name") or at)
            yield Process(who, name, file, version, flags, dict(_mounts(container, volumes, place)))


def _mounts(
    container: Mapping[str, Any], volumes: Mapping[str, Mapping[str, Any]], where: str
) -> Iterator[tuple[str, tuple[str, dict[str, str]]]]:
    for mount in _objects_at(container.get("volumeMounts"), f"{where}.volumeMounts"):
        volume = volumes.get(str(mount.get("name")), {})
        if volume.get("configMap") is None:
            continue
        name = f"{where}: volume {mount.get('name')}: configMap"
        configmap = _object_at(volume["configMap"], name)
        items = _objects_at(configmap.get("items"), f"{name}.items")
        paths = {str(item.get("path")): str(item.get("key")) for item in items}
        place = str(mount.get("mountPath"))
        if sub := mount.get("subPath"):
            paths[PurePosixPath(place).name] = paths.get(str(sub), str(sub))
        yield place, (str(configmap.get("name")), paths)


# --- the one that is meant -----------------------------------------------------------------


def only_process(processes: Sequence[Process], container: str | None) -> Process | None:
    """The one that is meant, None where there is none at all.

    container: its name, or ``WORKLOAD/CONTAINER``. Raises ConfigError where it is not clear which one is meant.
    """
    names = [one.container for one in processes]
    known = [one.container if names.count(one.container) == 1 else one.path for one in processes]
    if container is None and len(processes) > 1:
        raise ConfigError(f"several kube-schedulers: say which one with --container, one of {', '.join(known)}")
    found = [one for one in processes if container in (None, one.container, one.path)]
    if len(found) > 1:
        places = ", ".join(one.place for one in found)
        raise ConfigError(f"--container {container}: several kube-schedulers have this name: {places}; give one file")
    if container is not None and not found:
        there = f"; there are {', '.join(known)}" if known else ""
        raise ConfigError(f"--container {container}: no container of this name runs kube-scheduler{there}")
    return found[0] if found else None


def is_policy(document: Mapping[str, Any]) -> bool:
    """Whether a document is a Policy: it says so, or has no kind and a key of one. Keys are found in any case."""
    if "kind" in document:
        return bool(document["kind"] == "Policy")
    return any(key.casefold() in POLICY_KEYS for key in document)


def in_configmaps(found: MigrationInput) -> list[Held]:
    """The policies and configurations in ConfigMaps, the key of policies first."""
    held: list[Held] = []
    for name, manifest in found.configmaps.items():
        data = _object_at(manifest.get("data"), f"ConfigMap {name}: data")
        for key in sorted(data, key=lambda key: key != POLICY_KEY):
            document = _readable(data[key], f"{name}[{key}]")
            if key == POLICY_KEY or (document is not None and document.get("kind") in KINDS):
                one = found.in_configmap(name, key)
                held += [one] if one is not None else []
    return held


def _readable(text: Any, name: str) -> Mapping[str, Any] | None:
    try:
        return parse_first_document(text, name) if isinstance(text, str) else None
    except ConfigError:
        return None


def only_one(held: Sequence[Held], names: Sequence[str]) -> tuple[Held, tuple[Note, ...]]:
    """The document that is meant; of a ConfigMap with several the policy, with a note. Raises ConfigError."""
    if not held:
        raise ConfigError(f"{', '.join(names)}: there is no Policy, KubeSchedulerConfiguration or kube-scheduler in it")
    first, *more = held
    if more and not first.name.startswith("ConfigMap "):
        raise ConfigError(f"several documents: {', '.join(one.name for one in held)}; give one of them")
    return first, tuple(Note(NoteKind.CHECK, one.name, f"it is there too; {first.name} is migrated") for one in more)
