"""The same pods by every release from one to another: at which step each goes elsewhere, and for which changes.

First every release decides every pod. Then, step by step, what has another node is compared with the release before it,
and for what moved each change of the step is taken back alone: those without which the pod stays are what moved it.
What configures the old release goes on as long as the releases take it; the first that does not gets what ``migrate``
makes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from clusterstate.cache import ClusterCache
from clusterstate.errors import ConfigError, InputError
from clusterstate.objects import ClusterObject, Node, Pod
from clusterstate.selectors.pod_owners import workloads_of
from kubescheduler.comparison.comparing import extender_notes, notes_of_refusals
from kubescheduler.comparison.comparison import change_document
from kubescheduler.comparison.outcomes import Cause, HostChange, Outcome, PodComparison
from kubescheduler.comparison.running_pods import TakenOut, taken_out, taken_out_notes
from kubescheduler.comparison.tracks import Counted, Progress, Run, no_progress, pods_to_compare, tried_rows
from kubescheduler.config.config_text import read_text
from kubescheduler.engine.engine_flags import DEFAULTS, gates_text
from kubescheduler.engine.spec import Engine, EngineSpec, no_notice
from kubescheduler.engine.spec_fields import SOURCES
from kubescheduler.framework.plugins.plugin_record import DEFAULT_PROVIDER
from kubescheduler.releases.lookup import release_named
from kubescheduler.releases.names import RELEASE_NAMES, TAKEN_BACK, place
from kubescheduler.releases.release import ChangeKind
from kubescheduler.translate.migration import MigrationOptions, migrated
from kubescheduler.translate.policy_source import provider_source
from kubescheduler.translate.process_upgrade import LEFT_OUT, gate_notes, staying_gates, target_process
from kubescheduler.translate.translating import translate, translation_yaml
from kubescheduler.translate.translation_model import Note, NoteKind, Translation, has_provider

POOLS = (
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "kubernetes.azure.com/agentpool",
    "karpenter.sh/nodepool",
    "kops.k8s.io/instancegroup",
    "node.cluster.x-k8s.io/pool",
)
"""Labels by which the usual ways to run a cluster name a node's pool."""
TYPES = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")

EACH = "node"
"""The grouping in which every node is a group of its own."""
NO_LABEL = "(none)"
"""The group of nodes without the label."""

FEW = 8
"""Groups that are told apart by colour."""


class Grouping(msgspec.Struct, frozen=True):
    """The nodes of a cluster by one of their labels."""

    name: str
    """The label; ``node`` where every node is its own group."""
    group_of: Mapping[str, str]
    """Node → its group."""

    @property
    def groups(self) -> int:
        """How many there are."""
        return len(set(self.group_of.values()))


def groupings(objects: Iterable[ClusterObject]) -> tuple[Grouping, ...]:
    """The ways to group the nodes, that which says most first: by node where there are few, then by the labels of
    pools, types and zones that make several groups but not too many, then the others.

    A label that all nodes have alike, or none has, makes no grouping; of two labels that mean the same only the newer
    one does.
    """
    nodes = [obj for obj in objects if isinstance(obj, Node)]
    each = Grouping(EACH, {node.name: node.name for node in nodes})
    found = [grouping for keys in (*((key,) for key in POOLS), TYPES, ZONES) if (grouping := _by(nodes, keys))]
    ordered = [each, *found] if len(nodes) <= FEW else [*found, each]
    return tuple(sorted(ordered, key=lambda grouping: grouping.groups > FEW))


def _by(nodes: Sequence[Node], keys: tuple[str, ...]) -> Grouping | None:
    """By the first of the labels that some node has; None where that makes one group."""
    key = next((key for key in keys if any(key in node.metadata.labels for node in nodes)), None)
    if key is None:
        return None
    found = Grouping(key, {node.name: node.metadata.labels.get(key, NO_LABEL) for node in nodes})
    return found if found.groups > 1 else None


SAYS_ONLY = frozenset({ChangeKind.REASON, ChangeKind.QUEUE})
"""Kinds of changes that move no pod that is decided on its own."""


class TimelineMove(msgspec.Struct, frozen=True):
    """A pod goes elsewhere at a step."""

    before: str
    """The release before the step."""
    release: str
    """The release after it."""
    old: str | None
    """The node before; None for none."""
    new: str | None
    """The node after."""
    change: HostChange
    """Why, with each rule's part of the two totals."""
    changes: tuple[str, ...]
    """Names of the release's changes without any one of which the pod would go where it went before; none where
    several have a part, or what configures the scheduler."""

    @property
    def cause(self) -> Cause:
        """The one primary cause."""
        return self.change.cause

    @property
    def text(self) -> str:
        """One sentence for people."""
        return self.change.text

    def document(self) -> dict[str, Any]:
        """As data."""
        why = change_document(self.change)
        del why["moves"]  # no runs draw among equal totals
        hosts = {"before": self.before, "release": self.release, "old": self.old, "new": self.new}
        return {**hosts, "changes": list(self.changes), **why}


class PodTimeline(msgspec.Struct, frozen=True):
    """A pod by every release."""

    pod: str
    workload: str
    """``Kind/name`` of what controls it."""
    outcomes: tuple[Outcome, ...]
    """Per release."""
    moves: tuple[TimelineMove, ...]
    """Oldest step first."""

    @property
    def came_back(self) -> bool:
        """Whether it moves, and in the end goes where it went at first."""
        return bool(self.moves) and self.outcomes[0].host == self.outcomes[-1].host


class Timeline(msgspec.Struct, frozen=True):
    """All pods by every release from the old to the new one."""

    releases: tuple[str, ...]
    """Those that decided, oldest first."""
    pods: tuple[PodTimeline, ...]
    notes: tuple[str, ...]
    """What configures which release, and which were left out."""
    groupings: tuple[Grouping, ...] = ()
    """The ways to group the nodes for people, that which says most first."""
    configurations: tuple[ConfigurationStep, ...] = ()
    """The releases that are configured otherwise than the one before them."""

    @property
    def moved(self) -> list[PodTimeline]:
        """The pods that move at some step."""
        return [pod for pod in self.pods if pod.moves]

    @property
    def errors(self) -> list[tuple[str, str]]:
        """(pod, release: text) of every attempt that an error ended, or that went on without an extender's scores."""
        return [
            (pod.pod, f"{release}: {outcome.message or outcome.unanswered}")
            for pod in self.pods
            for release, outcome in zip(self.releases, pod.outcomes, strict=True)
            if outcome.unanswered
        ]

    def _repr_html_(self) -> str:
        """A small static page: which pods move at which step, and by which changes."""
        from kubescheduler.notebook import timeline_html

        return timeline_html(self)

    def workloads(self) -> dict[tuple[str, str], list[PodTimeline]]:
        """(namespace, workload) → its pods, those first of which most move."""
        found: dict[tuple[str, str], list[PodTimeline]] = {}
        for pod in self.pods:
            found.setdefault((pod.pod.rpartition("/")[0], pod.workload), []).append(pod)
        return dict(sorted(found.items(), key=lambda item: (-sum(bool(pod.moves) for pod in item[1]), item[0])))

    def document(self) -> dict[str, Any]:
        """All of it as data."""
        return {
            "releases": list(self.releases),
            "moved": len(self.moved),
            "notes": list(self.notes),
            "configurations": [step.document() for step in self.configurations],
            "pods": [
                {
                    "pod": pod.pod,
                    "workload": pod.workload,
                    "hosts": [outcome.host for outcome in pod.outcomes],
                    "cameBack": pod.came_back,
                    "moves": [move.document() for move in pod.moves],
                }
                for pod in self.pods
            ],
        }


def timeline(
    objects: Iterable[ClusterObject],
    pods: Sequence[Pod],
    old: EngineSpec,
    new: EngineSpec,
    *,
    preempt: bool = False,
    progress: Callable[[int, int], None] | None = None,
    notice: Callable[[str], None] = no_notice,
) -> Timeline:
    """Decides every pod on the same cluster by each release from the old one's to the new one's.

    What configures the old scheduler goes on as long as releases take it; then what configures the new one does, where
    it says something and the release takes that, else what ``migrate`` makes of the old one. preempt: a pod that fits
    nowhere takes the place of lower ones, which are only named. progress: called with (done, total). Raises ConfigError
    where the old or the new release refuses its configuration, or the new one is not the later one, InputError where
    there is no pod that one of them tries.
    """
    if place(old.release) >= place(new.release):
        raise ConfigError(f"the steps from {old.release} to {new.release}: say the older release first")
    objects = list(objects)
    old.engine(notice)
    new.engine(notice)
    way = carried(old, new)
    specs = way.specs
    engines = [spec.engine(no_notice) for spec in specs]
    pods, others = pods_to_compare(pods, engines)
    asked = taken_out(objects, pods)
    every = _decided(asked, engines, asked.pods, preempt, progress=progress or no_progress, explains=False)
    rows, held = tried_rows(every, asked.running)
    every, pods = [every[at] for at in rows], [asked.pods[at] for at in rows]
    by_key = {pod.key: pod for pod in pods}
    moves: dict[str, list[TimelineMove]] = {each.pod: [] for each in every}
    for at in range(1, len(specs)):
        elsewhere = [by_key[each.pod] for each in every if each.outcomes[at - 1].host != each.outcomes[at].host]
        for found in _decided(asked, engines[at - 1 : at + 1], elsewhere, preempt):
            if found.changes[0].moved:
                moves[found.pod].append(_move(found, specs[at - 1].release, specs[at].release))
        moved = [pod for pod in elsewhere if moves[pod.key] and moves[pod.key][-1].release == specs[at].release]
        for key, stays in _without_which_they_stay(asked, moved, moves, specs[at - 1 : at + 1], preempt):
            moves[key][-1] = replace(moves[key][-1], changes=stays)
    owners = workloads_of(pods, asked.objects)
    columns = tuple(spec.release for spec in specs)
    return Timeline(
        columns,
        tuple(
            PodTimeline(each.pod, owner, each.outcomes, tuple(moves[each.pod]))
            for each, owner in zip(every, owners, strict=True)
        ),
        (
            *way.notes,
            *others,
            *held,
            *taken_out_notes(asked.running),
            *extender_notes(columns, specs, engines),
            *notes_of_refusals(every),
        ),
        groupings(objects),
        way.steps,
    )


def _decided(
    asked: TakenOut,
    engines: Sequence[Engine],
    pods: Sequence[Pod],
    preempt: bool,
    *,
    progress: Progress = no_progress,
    explains: bool = True,
) -> Sequence[PodComparison]:
    """Pods by several engines, each on the same cluster; with what changes from the first engine, if that is asked."""
    if not pods:
        return ()
    run = Run(asked.objects, engines, sequence=False, preempts=preempt, running=asked.running, explains=explains)
    return run.pods(pods, Counted(progress, len(pods)).one_more)


def _move(found: PodComparison, before: str, after: str) -> TimelineMove:
    """What is known of a move without its changes."""
    old, new = found.outcomes
    return TimelineMove(before, after, old.host, new.host, found.changes[0], ())


def _without_which_they_stay(
    asked: TakenOut,
    pods: Sequence[Pod],
    moves: Mapping[str, Sequence[TimelineMove]],
    step: Sequence[EngineSpec],
    preempt: bool,
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(pod, the names of the changes of a step without any one of which it goes where it went before)."""
    without: dict[str, Engine] = {}
    before, after = step
    for name in _changes_of_step(before.release, after.release) if pods else ():
        spec = replace(after, release=f"{after.release}{TAKEN_BACK}{name}")
        try:
            engine = spec.engine(no_notice)
            engine.scheduler(ClusterCache(spec.release_view()))
        except ConfigError:
            continue  # what others of the step build on does not go away alone
        without[name] = engine
    if without:
        for found in _decided(asked, [*without.values()], pods, preempt, explains=False):
            stays = (
                name
                for name, outcome in zip(without, found.outcomes, strict=True)
                if not outcome.unanswered and outcome.host == moves[found.pod][-1].old
            )
            yield found.pod, tuple(stays)


def _changes_of_step(before: str, after: str) -> list[str]:
    """The names of the changes that may move a pod, where there is no release between the two."""
    if place(after) != place(before) + 1:
        return []
    return [change.name for change in release_named(after).changes if change.kind not in SAYS_ONLY]


def headline(found: Timeline) -> str:
    """``12 of 40 pods go elsewhere at some step from 1.18 to 1.31, 2 of them come back, 1 fits on no node in any
    release``, without a full stop."""
    moved, count = len(found.moved), len(found.pods)
    back, failed = sum(pod.came_back for pod in found.moved), len({pod for pod, _ in found.errors})
    pods, go = "pod" if moved == count == 1 else "pods", "goes" if moved == 1 else "go"
    ends = f"from {found.releases[0]} to {found.releases[-1]}"
    first = f"{moved:,} of {count:,} {pods} {go} elsewhere at some step {ends}"
    returns = f", {back:,} of them {'comes' if back == 1 else 'come'} back" if back else ""
    nowhere = sum(all(one.host is None and not one.unanswered for one in pod.outcomes) for pod in found.pods)
    unfit = f", {nowhere:,} {'fits' if nowhere == 1 else 'fit'} on no node in any release" if nowhere else ""
    return first + returns + unfit + (f", {failed:,} could not be decided by every release" if failed else "")


OWN = "it is what the new scheduler is given"
OF_FLAGS = ("hard_pod_affinity_symmetric_weight", "use_legacy_policy_config", "scheduler_name", "failure_domains")
"""Fields that a configuration says instead."""


class ConfigurationStep(msgspec.Struct, frozen=True):
    """A release that is configured otherwise than the one before it."""

    release: str
    refused: str
    """Why it does not take what configured the one before."""
    by: str
    """What configures it."""
    translation: Translation | None = None
    """What ``migrate`` made for it; None where something else stands in its place."""
    gates: tuple[Note, ...] = ()
    """Of feature gates that it takes no more."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """All that is to know."""
        return (*(self.translation.notes if self.translation else ()), *self.gates)

    @property
    def text(self) -> str:
        """In one line."""
        return f"from {self.release} on, {self.by} configures: {self.refused}"

    @property
    def yaml(self) -> str:
        """The configuration with its comments; empty where none was made."""
        return translation_yaml(self.translation) if self.translation else ""

    def document(self) -> dict[str, Any]:
        """As data; the configuration where one was made."""
        return {
            "release": self.release,
            "refused": self.refused,
            "by": self.by,
            "configuration": self.translation.plain() if self.translation else None,
            "notes": [note.document() for note in self.notes],
        }


class Carried(msgspec.Struct, frozen=True):
    """What configures every release from the old one to the new one."""

    specs: tuple[EngineSpec, ...]
    """Oldest first, without releases that nothing configures."""
    steps: tuple[ConfigurationStep, ...]
    """Where that changes."""
    left_out: tuple[str, ...]
    """Notes on releases that nothing configures."""

    @property
    def notes(self) -> tuple[str, ...]:
        """All of it in sentences."""
        return (*(step.text for step in self.steps), *self.left_out)


def carried(old: EngineSpec, new: EngineSpec) -> Carried:
    """What configures every release from the old one's to the new one's.

    The new one's own configuration, if it says one, stands in place of the old one as soon as that is not taken any
    more and this is. Raises ConfigError where the new release takes nothing of it.
    """
    specs, current = [old], old
    steps: list[ConfigurationStep] = []
    left_out: list[str] = []
    stands_by = new if configures(new) else None
    for name in RELEASE_NAMES[place(old.release) + 1 : place(new.release) + 1]:
        last = name == new.release
        spec = at_release(current, name)
        refused = _refused(spec)
        other = None if stands_by is None or current is new else at_release(new, name)
        if other is not None and (last or (refused and not _refused(other))):
            steps.append(ConfigurationStep(name, refused or OWN, new.text))
            spec, current = other, new
        elif refused:
            try:
                spec, step = _migrated(old, name, refused)
            except ConfigError as error:
                if last:
                    raise
                left_out.append(f"{name} is left out, as nothing configures it: {error.problems[0]}")
                continue
            steps.append(step)
            current = spec
        else:
            steps += _gates_gone(specs[-1], spec)
        specs.append(_with_flags_of(new, spec) if last else spec)
    return Carried(tuple(specs), tuple(steps), tuple(left_out))


def _with_flags_of(new: EngineSpec, spec: EngineSpec) -> EngineSpec:
    """What the new scheduler is started with besides, for one that is configured as ``spec`` says."""
    if configures(new):
        return new
    kept = {field: getattr(spec, field) for field in (*SOURCES, *OF_FLAGS)}
    return replace(new, **kept, feature_gates=new.feature_gates or spec.feature_gates)


def configures(spec: EngineSpec) -> bool:
    """Whether something is said that decides, beside the release."""
    return any(spec.said(field) is not None for field in SOURCES)


def at_release(spec: EngineSpec, release: str) -> EngineSpec:
    """What a spec says, for another release, with the feature gates that it still takes."""
    gates = staying_gates(gates_text(spec.feature_gates), release_named(release).gates)
    moved = replace(spec, release=release, feature_gates=gates)
    return moved if release_named(release).framework is not None else replace(moved, plugins=())


def _refused(spec: EngineSpec) -> str:
    """The first fault for which a release does not take a configuration; empty if it does."""
    try:
        spec.engine(no_notice)
    except InputError as error:
        return error.problems[0]
    if spec.provider is not None and not has_provider(spec.record, spec.provider):
        return f"unknown flag: --algorithm-provider: release {spec.release} has none"
    return ""


def _gates_gone(before: EngineSpec, after: EngineSpec) -> Iterator[ConfigurationStep]:
    """A step at which feature gates go, and nothing else changes."""
    if before.record.framework is not None and (notes := _gate_notes(before, after.release)):
        refused = "; ".join(f"{note.path}: {note.text}" for note in notes)
        yield ConfigurationStep(after.release, refused, "the same without feature gates that are gone", gates=notes)


def _gate_notes(before: EngineSpec, release: str) -> tuple[Note, ...]:
    """On the feature gates of a scheduler that another release does not take."""
    notes = gate_notes(gates_text(before.feature_gates), before.release, target_process(release))
    return tuple(note for note in notes if note.text.endswith(LEFT_OUT) and note.kind is not NoteKind.EXACT)


def _migrated(old: EngineSpec, release: str, refused: str) -> tuple[EngineSpec, ConfigurationStep]:
    """What ``migrate`` makes of the old configuration. Raises ConfigError where it makes nothing."""
    if release_named(release).framework is None:
        raise ConfigError(refused)
    translation = _translation(old, release)
    document = translation.plain()
    if old.scheduler_name:
        document["profiles"] = [{**document["profiles"][0], "schedulerName": old.scheduler_name}]
    cleared = {field: DEFAULTS[field] for field in (*SOURCES, *OF_FLAGS)}
    spec = replace(at_release(old, release), **{**cleared, "component": document})
    spec.engine(no_notice)
    by = f"what migrate makes of {_name(old)}"
    return spec, ConfigurationStep(release, refused, by, translation, _gate_notes(old, release))


def _translation(old: EngineSpec, to: str) -> Translation:
    options = MigrationOptions(
        old.release, to, gates_text(old.feature_gates), old.hard_pod_affinity_symmetric_weight, plugins=old.plugins
    )
    if texts := list(_texts(old)):
        return migrated(texts, options)
    provider = old.provider or DEFAULT_PROVIDER
    return translate(provider_source(provider, old.release, options.gates(), options.hard_weight), to)


def _texts(old: EngineSpec) -> Iterator[tuple[str, str]]:
    """(name, text) of what configures the old scheduler, and of a policy that it names."""
    for document in (old.policy, old.component):
        if document is not None:
            yield "policy" if document is old.policy else "config", msgspec.json.encode(dict(document)).decode()
    for path in old.files.values():
        yield path, read_text(Path(path))


def _name(old: EngineSpec) -> str:
    names = [Path(path).name for path in old.files.values()]
    named = names or [f"provider {old.provider or DEFAULT_PROVIDER}"]
    if old.policy is not None or old.component is not None:
        return "the policy" if old.policy is not None else "the configuration"
    return named[0]
