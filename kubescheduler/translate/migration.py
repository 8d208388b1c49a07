"""Whatever an older kube-scheduler is configured by, as a configuration of a later one: ``kubescheduler migrate``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import msgspec

from clusterstate.errors import ConfigError, faults_at
from clusterstate.manifests.fields import describe
from kubescheduler.config.component_format import ComponentFormat, Lifted
from kubescheduler.config.config_schema import API_VERSIONS, KIND, OLDEST, V1, V1ALPHA1
from kubescheduler.config.config_text import POLICY_KEY, document_format, parse_document, parse_first_document
from kubescheduler.config.v1alpha1 import V1Alpha1Config, read_v1alpha1, refuse_policy_in, v1alpha1_document
from kubescheduler.engine.engine_flags import EngineFlags
from kubescheduler.engine.framework_engine import plugin_points
from kubescheduler.engine.v1alpha1_engine import NO_POLICY
from kubescheduler.framework.contract.profile import ALL
from kubescheduler.framework.plugin_loading import PluginOption
from kubescheduler.framework.plugins.plugin_record import DEFAULT_PROVIDER
from kubescheduler.releases.lookup import release_named, release_of
from kubescheduler.releases.names import DEFAULT_RELEASE, FRAMEWORK_RELEASES, RELEASE_NAMES, is_since, minor
from kubescheduler.sources.files import items_in
from kubescheduler.translate.component_upgrade import VERSIONS, reader, settings_said, upgraded
from kubescheduler.translate.policy_source import Source, policy_source, provider_source
from kubescheduler.translate.process_upgrade import (
    HYPERKUBE,
    PROGRAM,
    ProcessFlags,
    TargetProcess,
    flag_notes,
    flags_in,
    known_gates,
    locked_gates,
    settings_for,
    target_process,
    with_settings,
)
from kubescheduler.translate.translating import translate
from kubescheduler.translate.translation_model import Note, NoteKind, Translation, grouped, readers, with_places

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
        files = ", ".join(dict.fromkeys(one.name for one in held))
        raise ConfigError(f"{files}: {len(held)} documents; kube-scheduler reads one: give only that")
    return first, tuple(Note(NoteKind.CHECK, one.name, f"it is there too; {first.name} is migrated") for one in more)


OF_POLICIES = ("policy-config-file", "policy-configmap", "algorithm-provider", "use-legacy-policy-config")
"""Flags that only releases with policies have."""


class MigrationOptions(msgspec.Struct, frozen=True):
    """How what is given is read and translated."""

    release: str | None
    """Whose reading of a policy counts; a configuration says it itself. None: what the image of a manifest says, else
    the default.
    """
    to: str
    feature_gates: str = ""
    hard_weight: int | None = None
    """Of the flag, if the scheduler was started with it."""
    keep_emphasis: bool = False
    with_new_filters: bool = False
    """Keep the filters on that the source has no predicate for but pods of today rely on."""
    container: str | None = None
    """The container of a manifest that is meant, by its name or as ``WORKLOAD/CONTAINER``."""

    def __post_init__(self) -> None:
        """A version is its release. Raises ConfigError for releases that are not known."""
        if self.release is not None:
            msgspec.structs.force_setattr(self, "release", release_of(self.release))
        msgspec.structs.force_setattr(self, "to", release_of(self.to))

    plugins: tuple[PluginOption, ...] = ()
    """Plugins of the target that stand in place of rules of the team's own."""

    @property
    def read_by(self) -> str:
        """The release that reads."""
        return self.release or DEFAULT_RELEASE

    def gates(self) -> Mapping[str, bool]:
        """Every gate of the release. Raises ConfigError for one it does not know."""
        return release_named(self.read_by).gates.parse(self.feature_gates)

    @property
    def target(self) -> TargetProcess:
        """How the release is run that is migrated to."""
        return target_process(self.to)


def migrated(texts: Sequence[tuple[str, str]], options: MigrationOptions) -> Translation:
    """The translation of what is in files, given as (name, text) pairs. Raises ConfigError with every problem.

    A manifest of kube-scheduler goes before all else: its flags say what is translated, and ConfigMaps and files are
    looked up among the texts.
    """
    found = pool(texts)
    process = only_process(found.processes, options.container)
    if process is not None:
        return _of_process(found, process, options)
    names = [name for name, _ in texts]
    mains = [held for held in found.documents if held.document.get("kind") == KIND]
    mains = mains or [held for held in found.documents if is_policy(held.document)]
    held, notes = only_one([*mains, *(in_configmaps(found) if not mains else ())], names)
    return _with_notes(_of_document(found, held, options), notes)


def _of_document(found: MigrationInput, held: Held, options: MigrationOptions, image: str | None = None) -> Translation:
    """``image``: the release that runs by the document, if that is known."""
    if held.document.get("kind") != KIND:
        return _translated(_policy(held, options), options)
    version = held.document.get("apiVersion")
    if version == V1ALPHA1 and (options.release or image) in readers(V1ALPHA1):
        return _of_lifted(found, held, msgspec.structs.replace(options, release=options.release or image))
    if version in (V1ALPHA1, OLDEST):
        return _of_v1alpha1(found, held, options)
    if not isinstance(version, str) or version not in VERSIONS:
        known = ", ".join(each.rpartition("/")[2] for each in API_VERSIONS)
        raise ConfigError(f"{held.name}: apiVersion: {describe(version)} is not known; known are {known}")
    before = reader(version, options.to, options.release or image)
    return upgraded(held.document, held.name, before, options.to, keep_emphasis=options.keep_emphasis)


def _policy(held: Held, options: MigrationOptions) -> Source:
    return policy_source(held.document, options.read_by, options.gates(), held.name, options.hard_weight)


def _translated(source: Source, options: MigrationOptions) -> Translation:
    own = {option.name for option in options.plugins}
    points = plugin_points(EngineFlags(options.to, plugins=options.plugins)) if own else {}
    return translate(
        source,
        options.to,
        keep_emphasis=options.keep_emphasis,
        with_new_filters=options.with_new_filters,
        plugins={name: found for name, found in points.items() if name in own},
    )


def _with_notes(translation: Translation, notes: Sequence[Note]) -> Translation:
    return msgspec.structs.replace(translation, notes=grouped((*translation.notes, *notes)))


# --- v1alpha1 ------------------------------------------------------------------------------


def _of_v1alpha1(found: MigrationInput, held: Held, options: MigrationOptions) -> Translation:
    document = {**held.document, "apiVersion": V1ALPHA1}
    try:
        config = read_v1alpha1(document)
    except ConfigError as error:
        by_plugins = (
            document.get("plugins") and f"; if {readers(V1ALPHA1)[0]} ran by it, say --from {readers(V1ALPHA1)[0]}"
        )
        raise ConfigError(f"{held.name}: {problem}{by_plugins or ''}" for problem in error.problems) from error
    options = msgspec.structs.replace(options, release="1.16", hard_weight=config.hard_pod_affinity_symmetric_weight)
    if config.provider is not None:
        source = provider_source(config.provider, "1.16", options.gates(), options.hard_weight)
    else:
        source = _policy(_named_policy(found, config, held.name), options)
    translation = msgspec.structs.replace(_translated(source, options), source=held.name)
    written = v1alpha1_document(config)
    settings = _without_defaults(written, document)
    found_settings = settings_for(options.target, settings, lambda key: f"{held.name}: {key}")
    translation = with_settings(translation, found_settings)
    return _with_notes(translation, [Note(NoteKind.CHECK, held.name, text) for text in config.notes])


def _of_lifted(found: MigrationInput, held: Held, options: MigrationOptions) -> Translation:
    """As a release reads it that makes one profile of it."""
    record = release_named(options.read_by)
    form = record.framework_rules.component
    with faults_at(held.name):
        lifted = form.lifts[V1ALPHA1](held.document, record.name, strict=False)
        if lifted.provider is None:
            refuse_policy_in(lifted)
        elif error := form.provider_problem(form, lifted.provider):
            raise ConfigError(error)
    if lifted.provider is not None:
        document = _with_provider(lifted.document, lifted.provider, form)
        found_out = upgraded(document, held.name, record.name, options.to, keep_emphasis=options.keep_emphasis)
        version = form.native.rpartition("/")[2]
        translation = with_places(found_out, lambda text: lifted.own(text).replace(version, "v1alpha1"))
    else:
        options = msgspec.structs.replace(options, hard_weight=None)
        source = _policy(_named_policy(found, lifted, held.name), options)
        translation = msgspec.structs.replace(_translated(source, options), source=held.name)
        (profile,) = lifted.document["profiles"]
        said = {**settings_said(lifted.document, record), "schedulerName": profile.get("schedulerName")}
        settings = settings_for(options.target, said, lambda key: f"{held.name}: {key}")
        translation = with_settings(translation, settings)
    return _with_notes(translation, [Note(NoteKind.CHECK, held.name, text) for text in lifted.notes])


def _with_provider(document: Mapping[str, Any], provider: str, form: ComponentFormat) -> dict[str, Any]:
    """A document of one profile, with what a provider runs in place of the default one."""
    (profile,) = document["profiles"]
    plugins = {**(profile.get("plugins") or {})}
    for point, default in form.providers[DEFAULT_PROVIDER].items():
        other = form.providers[provider].get(point, ())
        given = plugins.get(point.value) or {}
        off = {entry["name"] for entry in given.get("disabled") or ()}
        gone = [{"name": name} for name in default if name not in other]
        new = [{"name": name} for name in other if name not in default and not off & {name, ALL}]
        if gone or new:
            plugins[point.value] = {
                "enabled": [*(given.get("enabled") or ()), *new],
                "disabled": [*(given.get("disabled") or ()), *gone],
            }
    return {**document, "profiles": [{**profile, "plugins": plugins}]}


def _named_policy(found: MigrationInput, config: V1Alpha1Config | Lifted, name: str) -> Held:
    if config.policy_file is not None:
        held = found.named(config.policy_file)
        if held is None:
            raise ConfigError(f"{name}: algorithmSource names {config.policy_file}: give that file, too")
        return held
    place = config.policy_configmap
    if place is None:
        return Held(NO_POLICY, name)
    held = found.in_configmap(place.name, "policy.cfg")
    if held is None:
        raise ConfigError(
            f"{name}: algorithmSource names ConfigMap {place.namespace}/{place.name}: give its manifest, too"
        )
    return held


def _without_defaults(written: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """What is said, and what v1 has another default for: the lock and profiling."""
    kept = {key: value for key, value in written.items() if key in said}
    kept["enableProfiling"] = written["enableProfiling"]
    election = said.get("leaderElection") or {}
    lock = written["leaderElection"]["resourceLock"]
    return {**kept, "leaderElection": {**election, "resourceLock": lock}}


# --- a manifest ----------------------------------------------------------------------------


def _of_process(found: MigrationInput, process: Process, options: MigrationOptions) -> Translation:
    """Upstream: a configuration goes before all flags; a file of flags before a ConfigMap before a provider."""
    flags, image = process.flags, minor(process.version)
    notes: list[Note] = []
    path = flags.get("config")
    config = None if path is None else _file(found, process, "--config", path)
    by_defaults = config is None and options.release is None and image is not None and is_since(image, readers(V1)[0])
    if by_defaults:
        config = Held({"apiVersion": V1, "kind": KIND}, process.name)
        if policies := [f"--{name}" for name in OF_POLICIES if flags.get(name)]:
            raise ConfigError(
                f"{process.place}: kube-scheduler {image} has no {' and '.join(policies)} and does not start with it; "
                "say with --from which release it is of"
            )
    if config is None or not _says_its_release(config):
        options, notes = _as_its_release(process, options)
    translation = _of_flags(found, process, options) if config is None else _of_document(found, config, options, image)
    if by_defaults:
        translation = _with_flag_settings(translation, process, options, {})
    known = translation.from_release if translation.from_release in RELEASE_NAMES else FRAMEWORK_RELEASES[0]
    gates = release_named(known).gates
    notes += (
        Note(
            NoteKind.CHECK,
            f"{process.place}: --feature-gates {pair}",
            f"release {known} has it locked to {str(gate.default).lower()} and does not start with this",
            f"it is read as {str(gate.default).lower()}; see which release the manifest is of",
        )
        for pair, gate in locked_gates(flags.get("feature-gates") or "", gates).items()
    )
    notes += flag_notes(flags, known, options.target, configured=path is not None)
    return _with_notes(translation, notes)


def _says_its_release(config: Held) -> bool:
    """Whether a configuration is of a version that says how it is read; flags and images then change nothing."""
    return config.document.get("kind") == KIND and config.document.get("apiVersion") not in (V1ALPHA1, OLDEST)


def _as_its_release(process: Process, options: MigrationOptions) -> tuple[MigrationOptions, list[Note]]:
    """The options with the flags and, where none is named, the release of the image, and a note where these disagree.

    Raises ConfigError for a release that is not there.
    """
    image, notes = minor(process.version), []
    if options.release is None and image is not None:
        try:
            options = msgspec.structs.replace(options, release=image)
        except ConfigError as error:
            text = f"{process.place}: its image is of {process.version}: {error}"
            raise ConfigError(f"{text}; --from reads it as another release does") from error
    elif image is not None and image != options.release:
        text = f"its image is of {process.version}, and it is read as {options.release} does, as --from says"
        advice = f"say --from {image} if it is of that release" if image in RELEASE_NAMES else ""
        notes.append(Note(NoteKind.CHECK, process.place, text, advice))
    return _with_flags(options, process.flags), notes


def _with_flags(options: MigrationOptions, flags: ProcessFlags) -> MigrationOptions:
    weight = flags.get("hard-pod-affinity-symmetric-weight")
    if weight is not None and not weight.lstrip("-").isdigit():
        raise ConfigError(f"--hard-pod-affinity-symmetric-weight: {weight!r} is no number")
    return msgspec.structs.replace(
        options,
        feature_gates=options.feature_gates  # manifests often have gates of other components, too
        or known_gates(flags.get("feature-gates") or "", release_named(options.read_by).gates),
        hard_weight=int(weight) if weight is not None and options.hard_weight is None else options.hard_weight,
    )


def _of_flags(found: MigrationInput, process: Process, options: MigrationOptions) -> Translation:
    flags = process.flags
    file, configmap = flags.get("policy-config-file"), flags.get("policy-configmap")
    if file is not None and (configmap is None or flags.get("use-legacy-policy-config") == "true"):
        source = _policy(_file(found, process, "--policy-config-file", file), options)
    elif configmap is not None:
        held = found.in_configmap(configmap, "policy.cfg")
        if held is None:
            place = f"{flags.get('policy-configmap-namespace') or 'kube-system'}/{configmap}"
            raise ConfigError(f"{process.name}: --policy-configmap names {place}: give its manifest, too")
        source = _policy(held, options)
    else:
        provider = flags.get("algorithm-provider") or "DefaultProvider"
        source = provider_source(provider, options.read_by, options.gates(), options.hard_weight)
    translation = msgspec.structs.replace(_translated(source, options), source=process.name)
    return _with_flag_settings(translation, process, options, release_named(options.read_by).process_defaults)


def _with_flag_settings(
    translation: Translation, process: Process, options: MigrationOptions, differing: Mapping[str, Any]
) -> Translation:
    """The translation with what the flags say of the process; ``differing``: defaults that the target has not."""
    said = process.flags.settings()
    election = {**differing.get("leaderElection", {}), **said.get("leaderElection", {})}
    said = {**differing, **said, **({"leaderElection": election} if election else {})}
    settings = settings_for(options.target, said, lambda _: f"flags of {process.name}")
    return with_settings(translation, settings)


def _file(found: MigrationInput, process: Process, flag: str, path: str) -> Held:
    """The document at a path in the container: from the ConfigMap that is mounted there, or a file of that name."""
    place = process.configmap_file(path)
    held = None if place is None else found.in_configmap(*place)
    held = held or found.named(path)
    if held is None:
        what = f"ConfigMap {place[0]}" if place is not None else path
        raise ConfigError(f"{process.name}: {flag} is {path}: give {what}, too")
    return held
