"""What a scene is made of: a cluster, the pod that is asked about, the schedulers that decide; and how it is opened.

``SceneState`` never changes: an edit makes another. ``scene.py``, which holds one, comes next.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from clusterstate.errors import DecodeError, InputError
from clusterstate.manifests.decode import Item, parse_json
from clusterstate.objects import Pod
from kubescheduler.api.cluster import Cluster
from kubescheduler.config.config_text import (
    ParsedDocument,
    document_format,
    parse_first_document,
    read_configuration,
    read_policy_configmap,
    read_text,
)
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.engine.spec_fields import FILES
from kubescheduler.given import Entry, found_in, is_text, key_of, shown_argument
from kubescheduler.lab.form_rows import SideKind
from kubescheduler.releases.names import DEFAULT_RELEASE, POLICY_RELEASES
from kubescheduler.simulation.controllers import is_controller
from kubescheduler.simulation.openb_trace import is_trace


class SceneFault(InputError):
    """A question that cannot be answered, or an edit that cannot be made: it changed nothing. ``problems`` has every
    fault, one text each."""


SIDE_IDS = ("a", "b", "c", "d")
"""A scene has at most so many sides."""


DEFAULT_TEXT = "DefaultProvider"
"""What describes a side of a release with providers that nothing is said of."""


class Side(msgspec.Struct, frozen=True, eq=False):
    """One scheduler of a scene."""

    id: str
    """``a`` to ``d``."""
    name: str
    """What the user calls it."""
    spec: EngineSpec
    """Release, documents, gates, plugins, and how extenders are asked. Files have been read: it names none."""
    text: str = ""
    """The Policy or configuration as it was written (YAML or JSON); empty for a provider."""
    tie_break: str = "first"
    """Which of equal nodes is taken: ``first``, ``random`` or ``upstream``."""
    seed: int | None = None
    """Makes random and upstream ties repeatable."""

    @property
    def release(self) -> str:
        """Whose rules decide."""
        return self.spec.release

    @property
    def kind(self) -> SideKind:
        """What it is described by."""
        if self.spec.policy is not None:
            return "policy"
        return "provider" if self.spec.component is None else "config"

    @property
    def shown_text(self) -> str:
        """The document, or the provider's name; empty for the defaults of a release that has no providers."""
        if self.kind != "provider":
            return self.text
        return self.spec.provider or (DEFAULT_TEXT if self.release in POLICY_RELEASES else "")

    @property
    def document(self) -> Mapping[str, Any] | None:
        """The Policy or the configuration; None for a provider."""
        return self.spec.policy if self.spec.policy is not None else self.spec.component

    def with_document(self, kind: SideKind, text: str) -> Side:
        """Described otherwise: by a provider's name, or by a document's text. Raises ConfigError for a text that cannot
        be read; whether an engine can be made of it shows when one is."""
        if kind == "provider":
            spec = msgspec.structs.replace(self.spec, provider=text.strip() or None, policy=None, component=None)
            return msgspec.structs.replace(self, spec=spec, text="")
        document = parse_first_document(text, kind)
        policy, component = (document, None) if kind == "policy" else (None, document)
        spec = msgspec.structs.replace(self.spec, provider=None, policy=policy, component=component)
        return msgspec.structs.replace(self, spec=spec, text=text)


def default_name(release: str) -> str:
    """What a side is called that nobody has named."""
    return f"release {release}"


def side_of(spec: EngineSpec, letter: str = SIDE_IDS[0], name: str = "", **ties: Any) -> Side:
    """A side by what the command line or Python says of a scheduler; its files are read now, and not again.

    ties: ``tie_break`` and ``seed``. Raises ConfigError for a file that cannot be read.
    """
    without_files = msgspec.structs.replace(spec, **dict.fromkeys(FILES))
    side = Side(letter, name or default_name(spec.release), without_files, **ties)
    for kind, document, path in _documents(spec):
        text = document_text(document) if path is None else _yaml_or_json(read_text(path), path)
        side = side.with_document(kind, text)
    return side


def _documents(spec: EngineSpec) -> list[tuple[SideKind, Mapping[str, Any], Path | None]]:
    """(kind, document, its file if that holds nothing else)."""
    if spec.policy is not None:
        return [("policy", spec.policy, None)]
    if spec.policy_configmap is not None and not (spec.use_legacy_policy_config and spec.policy_file is not None):
        return [("policy", read_policy_configmap(Path(spec.policy_configmap)), None)]
    if spec.policy_file is not None:
        return [("policy", {}, Path(spec.policy_file))]
    if spec.component is not None:
        return [("config", spec.component, None)]
    if spec.config_file is None:
        return []
    document, name = read_configuration(Path(spec.config_file))
    return [("config", document, Path(name) if name == spec.config_file else None)]


def _yaml_or_json(text: str, path: Path) -> str:
    """The text itself; TOML as YAML."""
    if document_format(text, str(path)) != "TOML":
        return text
    return document_text(parse_first_document(text, str(path), "TOML"))


def document_text(document: Mapping[str, Any]) -> str:
    """A document as YAML, its keys in their order."""
    plain = dict(document) if isinstance(document, ParsedDocument) else document
    return yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=120)


class SceneState(msgspec.Struct, frozen=True, eq=False, weakref=True):
    """One moment of a scene. It never changes: an edit makes another."""

    cluster: Cluster
    """The cluster, of the release of the first side; the others read its manifests as their releases do."""
    asked: str | None
    """The pod that is asked about, ``namespace/name``; None: nobody is."""
    sides: tuple[Side, ...]
    """One to four schedulers."""
    title: str = ""
    """What the scene is called."""
    notes: tuple[str, ...] = ()
    """What a reader has to know of it."""

    def side(self, letter: str) -> Side:
        """The side of that id. Raises SceneFault."""
        for side in self.sides:
            if side.id == letter:
                return side
        raise SceneFault(f"side: there is no side {letter!r}; there are {', '.join(side.id for side in self.sides)}")

    def with_side(self, side: Side) -> SceneState:
        """With a side in place of the one of its id, or as another one."""
        if all(each.id != side.id for each in self.sides):
            return msgspec.structs.replace(self, sides=(*self.sides, side))
        return msgspec.structs.replace(self, sides=tuple(side if each.id == side.id else each for each in self.sides))


def opened_state(
    sources: Iterable[Any], pods: Iterable[Any], sides: Iterable[Side | EngineSpec], title: str
) -> SceneState:
    """See ``Scene.opened``. Raises InputError with every fault."""
    things = list(sources)
    given = list(sides)
    if not given:
        given = [EngineSpec(next((one.release for one in things if isinstance(one, Cluster)), DEFAULT_RELEASE))]
    if len(given) > len(SIDE_IDS):
        raise SceneFault(f"sides: at most {len(SIDE_IDS)}, found {len(given)}")
    named = tuple(numbered(side, letter) for side, letter in zip(given, SIDE_IDS, strict=False))
    cluster = _cluster(things, named[0].release)
    asked: list[str] = []
    notes: list[str] = list(cluster.notes)
    for pod in pods:
        cluster, keys = with_objects(cluster, pod, notes, instead=True)
        if not keys:
            raise SceneFault(f"pods: there is no pod in {pod if isinstance(pod, Path) else shown_argument(pod)}")
        asked += keys
    waiting = asked or [pod.key for pod in cluster.pending()[:1]]
    return SceneState(cluster, waiting[0] if waiting else None, named, title, tuple(dict.fromkeys(notes)))


def numbered(side: Side | EngineSpec, letter: str) -> Side:
    """A side of that id."""
    return msgspec.structs.replace(side, id=letter) if isinstance(side, Side) else side_of(side, letter)


def _cluster(things: list[Any], release: str) -> Cluster:
    clusters = [one for one in things if isinstance(one, Cluster)]
    if len(clusters) > 1:
        raise SceneFault("cluster: expected one, found several")
    paths = [one for one in things if isinstance(one, str | os.PathLike) and not is_text(one)]
    others = [one for one in things if not isinstance(one, Cluster) and one not in paths]
    if clusters:
        cluster, others = clusters[0].for_release(release), [*paths, *others]
    else:
        cluster = Cluster.read(*paths, release=release)
    return cluster.add(*others) if others else cluster


# --- objects that are added ----------------------------------------------------------------------


def with_objects(cluster: Cluster, given: Any, notes: list[str], *, instead: bool = False) -> tuple[Cluster, list[str]]:
    """The cluster with what manifests hold and what their controllers make; and the pods among that.

    notes: what is to be said is added. instead: a pod takes the place of one that waits under its name. Raises
    DecodeError with every fault.
    """
    if isinstance(given, str | os.PathLike) and not is_text(given) and is_trace(os.fspath(given)):
        return _with_made(cluster, given, notes)
    found = found_in([given], what="pods", kind="Pod")
    if found.problems:
        raise DecodeError(found.problems)
    manifests = [manifest_of(item) for item in found.items]
    making = [manifest for manifest in manifests if is_controller(manifest)]
    written = [manifest for manifest in manifests if not is_controller(manifest)]
    names = [pod_name(manifest) for manifest in written if manifest.get("kind") == "Pod"]
    there = [pod for name in names if instead and (pod := cluster.find_pod(name)) is not None and not pod.node_name]
    out = cluster.without_pod(*(pod.key for pod in there)) if there else cluster
    out = out.add(*written, *found.objects) if written or found.objects or not making else out
    keys = [pod.key for name in names if (pod := out.find_pod(name)) is not None]
    keys += [pod.key for pod in found.objects if isinstance(pod, Pod)]
    notes += [note for note in out.notes if note not in cluster.notes]
    if making:
        out, made = _with_made(out, making, notes)
        keys += made
    return out, keys


def _with_made(cluster: Cluster, given: Any, notes: list[str]) -> tuple[Cluster, list[str]]:
    """With the pods that controllers or a trace make."""
    found = cluster.to_place(given)
    notes += (*found.notes, *found.controllers)
    out = cluster.with_accompanying(found.accompanying)
    if found.pods:
        out = out.add(*(Entry(pod).manifest() for pod in found.pods))
    return out, [key_of(pod)[1] for pod in found.pods]


def manifest_of(item: Item) -> dict[str, Any]:
    """What an item was read from, with its kind."""
    content = item.content
    plain = parse_json(item.source, content) if isinstance(content, msgspec.Raw) else content
    if not isinstance(plain, Mapping):
        raise DecodeError(f"{item.source}: expected a manifest, a mapping of keys to values")
    header = {"apiVersion": item.api_version, "kind": item.kind}
    return {**{key: value for key, value in header.items() if value}, **plain}


def pod_name(manifest: Mapping[str, Any]) -> str:
    """``namespace/name``; empty for a manifest without."""
    metadata = manifest.get("metadata")
    if not isinstance(metadata, Mapping):
        return ""
    return f"{metadata.get('namespace') or 'default'}/{metadata.get('name') or ''}"
