"""What the fixtures give, by the markers and the settings of the test that asks; and two schedulers that a test
compares: checked as a whole, and what differs in words."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any, NoReturn

import attrs
import msgspec
import pytest

from clusterstate.errors import ConfigError, attempt, attempt_at, nearest
from clusterstate.objects import ClusterObject, Pod
from kubescheduler.comparison.causes import signed
from kubescheduler.comparison.comparing import FIRST, compare
from kubescheduler.comparison.comparison import Comparison, headline
from kubescheduler.comparison.outcomes import (
    INDEPENDENT,
    LOOSE,
    MODES,
    SEQUENCE,
    Cause,
    HostChange,
    Outcome,
    PodComparison,
    faults_of_tolerated,
)
from kubescheduler.comparison.release_steps import Timeline, timeline
from kubescheduler.comparison.running_pods import asked_pods
from kubescheduler.engine.engine_flags import newest_gates
from kubescheduler.engine.spec import Engine, EngineSpec
from kubescheduler.releases.lookup import release_named
from kubescheduler.releases.names import DEFAULT_RELEASE, place
from kubescheduler.testing.named_inputs import SharedCluster, cluster_of, pods_of, spec_of
from kubescheduler.testing.placements import PlacementRecords, Placer, names_of, shown
from kubescheduler.testing.running_session import UsageErrors, faults, judgement, note

CLUSTER, SCHEDULER = "cluster", "scheduler"
"""Names of markers and fixtures."""
CLUSTER_SETTING, SCHEDULER_SETTING = "kubescheduler_cluster", "kubescheduler_scheduler"
EXTENDERS_SETTING = "kubescheduler_extenders"

Read = dict[tuple[Any, ...], SharedCluster]
"""(path, time, size) of every file, and the folders → the cluster of them: read once, as nothing changes it."""


def folders_of(request: pytest.FixtureRequest) -> tuple[Path, ...]:
    """Where names of files are looked for: beside the test, then in pytest's root folder."""
    return tuple(dict.fromkeys((request.path.parent, request.config.rootpath)))


def cluster_for(request: pytest.FixtureRequest, read: Read) -> SharedCluster:
    """Fails the test with every fault, those of the scheduler too if it asks for one."""
    problems: list[str] = []
    cluster = attempt(problems, _cluster, request, read)
    if SCHEDULER in request.fixturenames:
        spec = attempt(problems, _spec, request)
        if problems and spec is not None:
            attempt(problems, spec.engine, lambda _: None)
    if cluster is None or problems:
        _fail(problems)
    return cluster


def scheduler_for(request: pytest.FixtureRequest, cluster: Any) -> Placer:
    """cluster: what the fixture of that name gives, which a project may have replaced by its own."""
    problems: list[str] = []
    spec = attempt(problems, _spec, request)
    shared = attempt(problems, cluster_of, cluster, folders_of(request))
    placer = None if spec is None or shared is None else attempt(problems, Placer, spec, shared)
    if placer is None:
        _fail(problems)
    note(placer.notes)
    return placer


def comparer_for(request: pytest.FixtureRequest) -> Callable[..., Comparison]:
    """The fixture ``compare_placements`` for a test."""

    def compare(  # noqa: PLR0913
        old: Any,
        new: Any,
        pods: Any = None,
        *,
        running: bool | str = False,
        cluster: Any = None,
        mode: str = INDEPENDENT,
        preempt: bool = False,
        extenders: str | None = None,
        validate: str | None = None,
    ) -> Comparison:
        """See ``kubescheduler.testing.compare_placements``."""
        __tracebackhide__ = True
        where = request.getfixturevalue(CLUSTER) if cluster is None else cluster
        with UsageErrors():
            asked = _extenders(request) if extenders is None else extenders
            folders = folders_of(request)
            how: dict[str, Any] = {"mode": mode, "folders": folders, "extenders": asked, "validate": validate}
            compared = to_compare(old, new, where, pods, running=running, **how)
            return compared.comparison(preempt=preempt)

    compare.__qualname__ = "compare_placements"
    return compare


def records_for(request: pytest.FixtureRequest, *, update: bool, notes: list[str]) -> PlacementRecords:
    """The fixture ``placements`` for a test."""
    return PlacementRecords(
        file=request.path,
        test=".".join(names_of(request.node)),
        typed="::".join([os.path.relpath(request.path, request.config.invocation_params.dir), *names_of(request.node)]),
        update=update,
        notes=notes,
    )


def _fail(problems: Sequence[str]) -> NoReturn:
    pytest.fail(faults(problems), pytrace=False)


# --- markers and settings --------------------------------------------------------------------


def _cluster(request: pytest.FixtureRequest, read: Read) -> SharedCluster:
    """Raises InputError with every fault."""
    marker = request.node.get_closest_marker(CLUSTER)
    given = request.config.getini(CLUSTER_SETTING) if marker is None else marker.args
    if marker is not None and (marker.kwargs or not given):
        raise ConfigError('@pytest.mark.cluster: name files, as in @pytest.mark.cluster("cluster.yaml")')
    if not given:
        raise ConfigError(
            f'no cluster: mark the test with @pytest.mark.cluster("cluster.yaml"), or set {CLUSTER_SETTING} in '
            "pytest's settings"
        )
    folders = folders_of(request) if marker is not None else [request.config.rootpath]
    named = cluster_of(given, folders, judgement())
    return _once(attrs.evolve(named, folders=folders_of(request)), read)


def _once(named: SharedCluster, read: Read) -> SharedCluster:
    """The cluster of the same files if it was read before. Raises DecodeError if it cannot be read."""
    key: tuple[Any, ...] = (named.folders, named.validate)
    paths = [Path(thing) for thing in named.things if isinstance(thing, str)]
    plain = len(paths) == len(named.things) and all(path.is_file() for path in paths)
    if plain:
        stats = [path.stat() for path in paths]
        key += tuple((str(p), stat.st_mtime_ns, stat.st_size) for p, stat in zip(paths, stats, strict=True))
        if key in read:
            return read[key]
    _ = named.objects
    if plain:
        read[key] = named
    return named


def _extenders(request: pytest.FixtureRequest) -> str:
    """How extenders are asked where a test does not say it."""
    return str(request.config.getini(EXTENDERS_SETTING))


def _spec(request: pytest.FixtureRequest) -> EngineSpec:
    """Raises ConfigError with every fault."""
    marker = request.node.get_closest_marker(SCHEDULER)
    if marker is None:
        said = request.config.getini(SCHEDULER_SETTING)
        return spec_of(said or EngineSpec(), [request.config.rootpath], _extenders(request))
    if marker.args and not marker.kwargs and len(marker.args) == 1:
        return spec_of(marker.args[0], folders_of(request), _extenders(request))
    if marker.kwargs and not marker.args:
        text = ",".join(f"{key.replace('_', '-')}={value}" for key, value in marker.kwargs.items())
        return spec_of(text, folders_of(request), _extenders(request))
    raise ConfigError(
        "@pytest.mark.scheduler: describe one scheduler, as in "
        '@pytest.mark.scheduler("release=1.16,policy=policy.json")'
    )


SIDES = ("old", "new")
MOST_CHANGES = 10
"""That a text explains; of the others it names the causes."""
MOST_NAMES = 3
"""Of pods that go elsewhere alike."""
MOST_STEPS = 6
"""Of moves that are alike, release by release."""
WIDTH = 72
"""Of a line on steps: pytest puts 8 characters before it."""


def faults_of_steps(specs: Sequence[EngineSpec], mode: str, tie_break: str, ties: str) -> Iterator[str]:
    """Why it cannot be said at which release pods move."""
    if mode == SEQUENCE:
        yield "steps: in a sequence earlier choices move pods, not the changes of a step"
    if tie_break != FIRST:
        yield "steps: with drawn ties chance moves pods, not the changes of a step"
    if ties != LOOSE:
        yield "steps: a pod moves where its node is another, whatever it ties with; leave ties out"
    if len(specs) == 2 and place(specs[0].release) >= place(specs[1].release):
        yield f"steps: {specs[1].release} is not later than {specs[0].release}"


class Compared(msgspec.Struct, frozen=True, eq=False):
    """Two schedulers, and what they are to decide."""

    objects: Sequence[ClusterObject]
    """The cluster, without those of ``pods`` that are pending."""
    pods: Sequence[Pod]
    """What both decide."""
    specs: Sequence[EngineSpec]
    """The old scheduler and the new one."""
    engines: Sequence[Engine]
    """Of both."""
    mode: str
    """See ``kubescheduler.compare``."""
    tolerated: frozenset[Cause] = frozenset()
    """Causes that are no difference."""

    def comparison(
        self, *, preempt: bool, tie_break: str = FIRST, seeds: int | None = None, ties: str = LOOSE
    ) -> Comparison:
        """Compares the two schedulers on the pods. tie_break, seeds, ties: see ``kubescheduler.compare``.

        Raises ConfigError for a tie-break that is not known, and for seeds that nothing draws by.
        """
        old, new = self.specs
        asked: dict[str, Any] = {"mode": self.mode, "preempt": preempt, "tie_break": tie_break, "seeds": seeds}
        asked["ties"] = ties
        return compare(self.objects, self.pods, old, [new], names=SIDES, engines=self.engines, **asked)

    def difference(self, comparison: Comparison, *, steps: bool = False, preempt: bool = False) -> str:
        """What is not tolerated, in words; empty if there is nothing. steps: with the releases at which the pods move.

        preempt: as the comparison was asked for.
        """
        if not comparison.differs(self.tolerated):
            return ""
        told = steps_text(self._timeline(comparison, preempt)) if steps else ()
        return difference_text(comparison, [spec.text for spec in self.specs], self.tolerated, told)

    def _timeline(self, comparison: Comparison, preempt: bool) -> Timeline:
        """Of the pods that differ for a cause that is not tolerated."""
        keys = {pod.pod for pod in comparison.differing if pod.cause not in self.tolerated}
        return timeline(self.objects, [pod for pod in self.pods if pod.key in keys], *self.specs, preempt=preempt)


def to_compare(  # noqa: PLR0913
    old: Any,
    new: Any,
    cluster: Any,
    pods: Any,
    *,
    mode: str,
    running: bool | str = False,
    tolerate: Iterable[str] = (),
    folders: Sequence[Path] | None = None,
    extenders: str = "live",
    validate: str | None = None,
) -> Compared:
    """See ``kubescheduler.testing.compare_placements``. Raises ConfigError with every fault.

    folders: where the names of files are looked for; by default the cluster's, else the working directory. extenders:
    how they are asked, unless a scheduler's description says it. validate: ``strict``, ``warn`` or ``ignore``; by
    default as the marker or the setting says it.
    """
    causes = [tolerate] if isinstance(tolerate, str) else list(tolerate)
    problems: list[str] = []
    if mode not in MODES:
        problems.append(f"mode: {mode!r} is not known; known are {', '.join(MODES)}{nearest(str(mode), MODES)}")
    if (pods is None) == (running is False or running == ""):
        problems.append("say which pods to compare: either pods, or running=True or a selector")
    problems += (f"tolerate: {fault}" for fault in faults_of_tolerated(causes))
    judged = attempt(problems, judgement, validate)
    shared = attempt(problems, cluster_of, cluster, folders or [Path.cwd()], judged)
    if folders is None:
        folders = [Path.cwd()] if shared is None else shared.folders
    sides = [_side(problems, side, given, folders, extenders) for side, given in zip(SIDES, (old, new), strict=True)]
    known = [spec for spec, _ in sides if spec is not None]
    engines = [engine for _, engine in sides if engine is not None]
    releases = [spec.release for spec in known] or [DEFAULT_RELEASE]
    gates = attempt([], newest_gates, known)
    asked: dict[str, Any] = {"validate": judged, "gates": gates}
    there = None if shared is None else attempt(problems, shared.cluster_for, *releases)
    given = None if shared is None or pods is None else attempt(problems, pods_of, pods, shared, *releases, **asked)
    found = None
    if there is not None and (running or given is not None):
        found = attempt(problems, asked_pods, there, there.release, given, running=running, option="defaulting=False")
    if found is None or problems:
        raise ConfigError(problems)
    note(found.notes)
    return Compared(found.objects, found.pods, known, engines, mode, frozenset(map(Cause, causes)))


def _side(
    problems: list[str], side: str, given: Any, folders: Sequence[Path], extenders: str
) -> tuple[EngineSpec | None, Engine | None]:
    """A description and its engine; None where there is a fault, and ``problems`` has it."""
    spec = attempt_at(side, problems, spec_of, given, folders, extenders)
    notes: list[str] = []
    engine = None if spec is None else attempt_at(side, problems, spec.engine, notes.append)
    note(notes)
    return spec, engine


# --- in words --------------------------------------------------------------------------------


def difference_text(
    comparison: Comparison, titles: Sequence[str], tolerated: frozenset[Cause], steps: Iterable[str] = ()
) -> str:
    """Which pods differ for a cause that is not tolerated, and why. titles: of the old and the new scheduler. steps:
    lines on the releases at which they move."""
    shown = [pod for pod in comparison.differing if pod.cause not in tolerated]
    lines = [headline(comparison)]
    lines += [f"  {side}: {title}" for side, title in zip(("old", "new"), titles, strict=True)]
    lines += [f"  {note}" for note in comparison.notes]
    alike: dict[tuple[str, ...], list[str]] = {}
    for pod in shown:
        alike.setdefault(tuple(_pod(pod)), []).append(pod.pod.removeprefix("/"))
    for (change, *why), names in list(alike.items())[:MOST_CHANGES]:
        lines += ["", f"{_listed(names)}: {change}", *why]
    if told := list(steps):
        lines += ["", *told]
    lines += ["", *_causes(pod.cause for pod in shown)]
    if rest := sum(map(len, list(alike.values())[MOST_CHANGES:])):
        lines.append(f"{rest} of them {'is' if rest == 1 else 'are'} not explained here")
    if others := len(comparison.differing) - len(shown):
        lines.append(f"{others} of them {'differs' if others == 1 else 'differ'} for causes that are tolerated")
    if comparison.errors:
        lines.append("an error cannot be tolerated: nothing was compared")
    else:
        causes = sorted({str(cause) for cause in (*tolerated, *(pod.cause for pod in shown))})
        lines.append(f"to accept this: tolerate=[{', '.join(map(repr, causes))}]")
    return "\n".join(lines)


def steps_text(found: Timeline) -> Iterator[str]:
    """Lines of at most ``WIDTH`` characters: at which release which pods move, and by which change; at first the oldest
    steps, of the rest only the number."""
    alike: dict[tuple[str, str | None, str | None, str, tuple[str, ...]], list[str]] = {}
    for pod in found.pods:
        for move in pod.moves:
            key = (move.release, move.old, move.new, "" if move.changes else str(move.cause), move.changes)
            alike.setdefault(key, []).append(pod.pod.removeprefix("/"))
    steps = sorted(alike.items(), key=lambda step: found.releases.index(step[0][0]))
    yield f"release by release from {found.releases[0]} to {found.releases[-1]}:"
    for (release, old, new, cause, names), pods in steps[:MOST_STEPS]:
        yield from _wrapped(f"{release}: {_listed(pods)}: {shown(old)} -> {shown(new)}", 2)
        texts = {change.name: change.text for change in release_named(release).changes}
        for name in names[:MOST_NAMES]:
            yield from _wrapped(f"{name}: {texts[name]}", 4)
        if cause:
            yield from _wrapped(f"no change alone: {cause}", 4)
    if len(steps) > MOST_STEPS:
        yield f"  and {len(steps) - MOST_STEPS} more"
    if still := [pod.pod.removeprefix("/") for pod in found.pods if not pod.moves]:
        yield from _wrapped(f"{_listed(still)}: at no step", 2)
    for text in found.notes[:MOST_NAMES]:
        yield from _wrapped(f"! {text}", 2)


def _wrapped(text: str, indent: int) -> list[str]:
    """What follows in the next lines is indented more."""
    first = " " * indent
    return wrap(text, WIDTH, initial_indent=first, subsequent_indent=f"{first}  ", break_on_hyphens=False)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _causes(causes: Iterable[Cause]) -> Iterator[str]:
    counts: dict[Cause, int] = {}
    for cause in causes:
        counts[cause] = counts.get(cause, 0) + 1
    for cause, count in sorted(counts.items(), key=lambda item: -item[1]):
        yield f"{count} {cause}: {cause.meaning}"


def _pod(pod: PodComparison) -> Iterator[str]:
    """Without its name: pods that are alike read alike."""
    old, new = pod.outcomes
    [change] = pod.changes
    yield f"{_host(old)} -> {_host(new)} ({change.cause})"
    if change.text:
        yield f"  {change.text}"
    yield from (f"  {line}" for line in _table(change))
    for outcome in (old, new):
        if outcome.host is None and outcome.message:
            yield f"  {outcome.message.rstrip()}"


def _host(outcome: Outcome) -> str:
    return "no node" if outcome.host is None else outcome.host


def _table(change: HostChange) -> Iterator[str]:
    """What each priority adds to the new node's lead over the old one."""
    if not change.contributions:
        return
    rows = [(part.name, _signed(part.old), _signed(part.new)) for part in change.contributions if part.old or part.new]
    rows.append(("new node minus old node", _signed(change.old_difference), _signed(change.new_difference)))
    names = max(len(row[0]) for row in rows)
    widths = [max(len(title), *(len(row[at]) for row in rows)) for at, title in ((1, "old"), (2, "new"))]
    for name, old, new in [("", "old", "new"), *rows]:
        yield f"{name:<{names}}   {old:>{widths[0]}}   {new:>{widths[1]}}"


def _signed(points: int | None) -> str:
    return signed(points) if points != 0 else "0"
