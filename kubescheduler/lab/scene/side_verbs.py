"""The edits of the sides that there are, and the verbs that hold them against one another, or one against its releases.

Sides' documents are edited in ``tune_verbs``. Of releases a page asks for one step at a time, so that whatever else is
asked meanwhile waits for one step at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs
import msgspec

from clusterstate.errors import ConfigError, InputError, listed
from clusterstate.objects import Pod
from kubescheduler.api.cluster import Cluster
from kubescheduler.comparison.comparing import compare
from kubescheduler.comparison.comparison import Comparison, headline, outcome_document
from kubescheduler.comparison.outcomes import Cause, PodComparison
from kubescheduler.comparison.release_steps import TimelineMove, timeline
from kubescheduler.comparison.running_pods import ALL, RunningPods, running_pods, without
from kubescheduler.core.results import counted
from kubescheduler.engine.engine_flags import newest_gates
from kubescheduler.engine.spec import EngineSpec, no_notice
from kubescheduler.extender.access import LIVE, PASS
from kubescheduler.lab.form_rows import SideKind
from kubescheduler.lab.scene.scene import Change, Edit, KeptValues, Scene, Verb, verb
from kubescheduler.lab.scene.scene_state import SIDE_IDS, SceneFault, Side, default_name
from kubescheduler.releases.lookup import newest, release_named
from kubescheduler.releases.names import RELEASE_NAMES, minor, place


def with_usable(scene: Scene, text: str, side: Side) -> Change:
    """The scene's state with a side in place of the one of its id. Raises SceneFault for one that cannot decide."""
    if problems := scene.made(side).problems:
        raise SceneFault(problems)
    return text, scene.state.with_side(side)


@verb
def _release(scene: Scene, side: str, release: str, migrated: bool = False) -> Change:
    """migrated: with what migrating makes of the side's description."""
    before = scene.side(side)
    if migrated:
        name = "" if before.name == default_name(before.release) else before.name
        after = migrated_side(before, release_named(release).name, side, name)
    else:
        after = in_release(before, release)
    how = ", by what migrating makes of its configuration" if migrated else ""
    return with_usable(scene, f"Made side {side} decide as release {after.release} does{how}", after)


def in_release(side: Side, release: str) -> Side:
    """The side with another release; its name follows where it is the default. Raises ConfigError for an unknown
    release."""
    release = release_named(release).name
    name = default_name(release) if side.name == default_name(side.release) else side.name
    return msgspec.structs.replace(side, name=name, spec=msgspec.structs.replace(side.spec, release=release))


@verb
def _add_side(
    scene: Scene,
    release: str | None = None,
    kind: SideKind | None = None,
    text: str = "",
    copy: str | None = None,
    name: str = "",
) -> Change:
    """Described anew, or as another side is. release: by default that of ``copy``."""
    letter = free_letter(scene)
    if copy is not None:
        model = scene.side(copy)
        side = in_release(model, release or model.release)
        side = msgspec.structs.replace(side, id=letter, name=name or side.name)
    else:
        if release is None:
            raise SceneFault(f"release: which one? There are {', '.join(RELEASE_NAMES)}")
        release = release_named(release).name
        extenders = scene.state.sides[0].spec.extenders
        side = Side(letter, name or default_name(release), EngineSpec(release, extenders=extenders))
    if kind is not None:
        side = side.with_document(kind, text)
    return with_usable(scene, f"Added side {letter}, release {side.release}", side)


def free_letter(scene: Scene) -> str:
    """The id of another side. Raises SceneFault when there are as many as there may be."""
    taken = {side.id for side in scene.state.sides}
    free = [letter for letter in SIDE_IDS if letter not in taken]
    if not free:
        raise SceneFault(f"sides: there are {len(SIDE_IDS)} already; remove one first")
    return free[0]


@verb
def _remove_side(scene: Scene, side: str) -> Change:
    gone = scene.side(side)
    left = tuple(each for each in scene.state.sides if each is not gone)
    if not left:
        raise SceneFault("sides: it is the only one")
    return f"Removed side {side}", msgspec.structs.replace(scene.state, sides=left)


@verb
def _name_side(scene: Scene, side: str, name: str) -> Change:
    before = scene.side(side)
    if not name.strip():
        raise SceneFault("name: it is empty")
    named = msgspec.structs.replace(before, name=name.strip())
    return f"Called side {side} {named.name}", scene.state.with_side(named)


@verb
def _migrate(scene: Scene, from_: str, to: str) -> Change:
    """to: a side, which becomes what the first one is in its own release, or a release."""
    source = scene.side(from_)
    if minor(to) is not None:
        letter, release, name = free_letter(scene), release_named(to).name, ""
    else:
        target = scene.side(to)
        letter, release, name = target.id, target.release, target.name
    side = migrated_side(source, release, letter, name)
    return with_usable(scene, f"Migrated side {source.id} to release {release}, on side {letter}", side)


def migrated_side(source: Side, release: str, letter: str, name: str = "") -> Side:
    """What makes another release decide as a side does, as far as it can; the notes are comments of its text.

    Raises ConfigError for a release that nothing is migrated to.
    """
    from kubescheduler.api.whole_runs import migrate
    from kubescheduler.translate.translating import translation_yaml

    spec = source.spec
    options: dict[str, Any] = {"release": spec.release, "to": release, "gates": spec.feature_gates or None}
    options["hard_pod_affinity_symmetric_weight"] = spec.hard_pod_affinity_symmetric_weight
    if source.kind == "provider":
        if spec.record.framework is not None and spec.record.framework_rules.policies is None:
            raise ConfigError(
                f"release {spec.release} has no provider to migrate; describe the side by a configuration"
            )
        found = migrate(provider=spec.provider or "DefaultProvider", **options)
    else:
        found = migrate(source.text if "\n" in source.text else f"{source.text}\n", **options)
    plugins = spec.plugins if spec.record.framework is not None else ()
    fresh = EngineSpec(release, extenders=spec.extenders, plugins=plugins, max_pd_volumes=spec.max_pd_volumes)
    side = Side(letter, name or default_name(release), fresh, tie_break=source.tie_break, seed=source.seed)
    return side.with_document("config", translation_yaml(found))


@verb
def _ask_extenders(scene: Scene, side: str, on: bool) -> Change:
    before = scene.side(side)
    spec = msgspec.structs.replace(before.spec, extenders=LIVE if on else PASS)
    text = f"Let side {side} {'ask' if on else 'pass over'} its extenders"
    return with_usable(scene, text, msgspec.structs.replace(before, spec=spec))


EDITS: Mapping[str, Edit] = {
    "release": _release,
    "addSide": _add_side,
    "removeSide": _remove_side,
    "nameSide": _name_side,
    "migrateSide": _migrate,
    "askExtenders": _ask_extenders,
}
"""``do`` → the edit."""


MOST_COMPARED = 500
"""Pods that are compared at once, in the order of the queue."""


PodsAsked = Literal["asked", "pending", "running"]
"""The pod that is asked about, all that wait, or all that run, each taken out of the cluster and decided anew."""


@verb
def sides(
    scene: Scene,
    mode: Literal["independent", "sequence"] = "independent",
    pods: PodsAsked = "pending",
    of: str = ALL,
    preempt: bool = False,
) -> dict[str, Any]:
    """Where each side places the pods, and the cause where another side than the first does otherwise.

    mode: each pod on the cluster as it is, or each scheduler going on from its own choices. of: of the running pods
    those that this selector picks; see ``running_pods``. preempt: whether a pod that fits nowhere takes the place of
    lower ones.
    """
    state = scene.state
    ids = [side.id for side in state.sides]
    cluster = _read(scene)
    chosen, left, notes = _asked(scene, cluster, pods, of)
    if len(ids) < 2 or not chosen:
        text = "There is one scheduler; add another side." if len(ids) < 2 else "; ".join(notes) or "No pod waits."
        return {"sides": ids, "pods": [], "more": 0, "summary": {}, "same": True, "notes": [], "text": text}
    specs, engines = [side.spec for side in state.sides], [scene.engine(letter) for letter in ids]
    world = without(cluster, chosen)
    found = compare(world, chosen, specs[0], specs[1:], mode=mode, names=ids, engines=engines, preempt=preempt)
    return {
        "sides": ids,
        "pods": [_pod(ids, pod) for pod in found.pods],
        "more": left,
        "summary": _summary(found),
        "same": found.same,
        "notes": listed([*notes, *found.notes]),
        "text": _text(found, left),
    }


def _read(scene: Scene) -> Cluster:
    """The cluster as the newest of the releases stores it; the one that the scene keeps, where a side has its gates."""
    specs = [side.spec for side in scene.state.sides]
    release, gates = newest([spec.release for spec in specs]).name, newest_gates(specs)
    for side in scene.state.sides:
        if side.release == release and side.spec.gates == gates:
            return scene.cluster(side.id)
    return scene.state.cluster.for_release(release, gates)


def _asked(scene: Scene, cluster: Cluster, pods: PodsAsked, of: str) -> tuple[list[Pod], int, tuple[str, ...]]:
    """The pods to compare, how many are left out, and why others are."""
    if pods == "asked":
        pod = cluster.find_pod(scene.pod_key())
        return ([] if pod is None else [pod]), 0, ()
    try:
        picked = running_pods(cluster.objects, of) if pods == "running" else RunningPods(cluster.pending())
    except InputError as error:
        return [], 0, error.problems
    return picked.pods[:MOST_COMPARED], max(0, len(picked.pods) - MOST_COMPARED), picked.notes


def _pod(ids: list[str], pod: PodComparison) -> dict[str, Any]:
    return {
        "pod": pod.pod,
        "workload": pod.workload,
        "runsOn": pod.runs_on,
        "hosts": {letter: outcome.host for letter, outcome in zip(ids, pod.outcomes, strict=True)},
        "outcomes": {letter: outcome_document(outcome) for letter, outcome in zip(ids, pod.outcomes, strict=True)},
        "causes": [
            {"side": letter, "name": str(change.cause), "meaning": change.cause.meaning, "text": change.text}
            for letter, change in zip(ids[1:], pod.changes, strict=True)
        ],
        "moved": pod.moved,
        "differs": pod.differs,
    }


def _summary(found: Comparison) -> dict[str, Any]:
    """By side but the first: how many pods have which cause."""
    return {
        name: [
            {"name": str(cause), "meaning": cause.meaning, "pods": count}
            for cause, count in counts.items()
            if cause is not Cause.SAME
        ]
        for name, counts in zip(found.names[1:], found.summary, strict=True)
    }


def _text(found: Comparison, left: int) -> str:
    total = len(found.pods)
    said = f"{counted(total, 'pod')}: all go to the same nodes" if found.same else headline(found)
    return f"{said}; {left} more were not compared." if left else f"{said}."


KEPT = "releases"
"""Under which a scene keeps what was answered last."""


@attrs.define(eq=False)
class AskedReleases:
    """What was answered of one side's description, pod and cluster, whichever release decides now."""

    of: str
    """Another for other clusters, pods and descriptions."""
    problems: dict[str, str]
    """Release → why it cannot read what describes the side; empty if it can."""
    cluster: Cluster | None = None
    """As the newest release reads it that can decide: every step is decided on it."""
    steps: dict[tuple[str, str], dict[str, Any]] = attrs.field(factory=dict)
    """(release, next release) → the answer on the step."""


@verb
def releases(scene: Scene, side: str = "a") -> dict[str, Any]:
    """Every release, with why it cannot decide by what describes the side; ``of`` is another text for other steps."""
    kept = _kept(scene, scene.side(side))
    return {"of": kept.of, "releases": [{"release": name, "problem": why} for name, why in kept.problems.items()]}


def _problem(side: Side, release: str) -> str:
    try:
        in_release(side, release).spec.engine(no_notice)
    except ConfigError as error:
        return error.problems[0]
    return ""


@verb
def release_step(scene: Scene, before: str, release: str, side: str = "a") -> dict[str, Any]:
    """Where the pod that is asked about goes by each of two releases, and by which changes it goes elsewhere.

    Raises SceneFault where a release cannot read what describes the side, or the cluster.
    """
    decides = scene.side(side)
    names = release_named(before).name, release_named(release).name
    if place(names[0]) >= place(names[1]):
        raise SceneFault(f"release: {names[1]} is not later than {names[0]}")
    kept = _kept(scene, decides)
    if kept.cluster is None:
        last = max((name for name, why in kept.problems.items() if not why), key=place, default=decides.release)
        kept.cluster = scene.state.cluster.for_release(last, in_release(decides, last).spec.gates)
    if names not in kept.steps:
        kept.steps[names] = _step(kept.cluster, scene.pod_key(), decides, *names)
    return kept.steps[names]


def _step(cluster: Cluster, key: str, side: Side, before: str, release: str) -> dict[str, Any]:
    specs = [in_release(side, name).spec for name in (before, release)]
    pod = cluster.find_pod(key)
    assert pod is not None
    [found] = timeline(without(cluster, [pod]), [pod], *specs).pods
    old, new = found.outcomes[0], found.outcomes[-1]
    return {
        "pod": found.pod,
        "before": before,
        "release": release,
        "hosts": [old.host, new.host],
        "changes": [_change(move, name) for move in found.moves for name in move.changes],
        "text": "; ".join(f"{move.cause}: {move.text}" for move in found.moves),
    }


def _change(move: TimelineMove, name: str) -> dict[str, str]:
    text = next(change.text for change in release_named(move.release).changes if change.name == name)
    return {"name": name, "text": text}


def _kept(scene: Scene, side: Side) -> AskedReleases:
    """What was answered of the side as it is but for its release; begun anew where something else is asked about."""
    kept: KeptValues = scene.extra.setdefault(KEPT, KeptValues(4))
    described = msgspec.structs.asdict(side.spec)
    del described["release"]

    def made() -> AskedReleases:
        return AskedReleases(
            f"{scene.version} {side.id}", {release: _problem(side, release) for release in RELEASE_NAMES}
        )

    return kept.value((scene.state.cluster, *described.values()), made, scene.state.asked)


VERBS: Mapping[str, Verb] = {"sides": sides, "releases": releases, "releaseStep": release_step}
