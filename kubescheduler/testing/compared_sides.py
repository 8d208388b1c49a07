"""What a test compares, checked as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from clusterstate.errors import ConfigError, attempt, nearest
from clusterstate.objects import ClusterObject, Pod
from clusterstate.versions import DEFAULT_RELEASE
from kubescheduler.api.whole_runs import without
from kubescheduler.comparison.comparing import FIRST, compare
from kubescheduler.comparison.comparison import Comparison
from kubescheduler.comparison.outcomes import LOOSE, MODES, SEQUENCE, Cause, faults_of_tolerated
from kubescheduler.comparison.release_steps import Timeline, timeline
from kubescheduler.comparison.running_pods import ALL, running_pods, without_stayers
from kubescheduler.engine.engine_contract import Engine
from kubescheduler.engine.engine_flags import newest_gates
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.releases.names import place
from kubescheduler.simulation.pods_to_place import joined
from kubescheduler.testing.given import cluster_of, pods_of, spec_of
from kubescheduler.testing.placements import difference_text, steps_text
from kubescheduler.testing.running_session import judgement, note

SIDES = ("old", "new")


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
    problems = [
        *_unknown_mode(mode),
        *_which(pods, running),
        *(f"tolerate: {fault}" for fault in faults_of_tolerated(causes)),
    ]
    judged = attempt(problems, judgement, validate)
    shared = attempt(problems, cluster_of, cluster, folders or [Path.cwd()], judged)
    if folders is None:
        folders = [Path.cwd()] if shared is None else shared.folders
    sides = [_side(problems, side, given, folders, extenders) for side, given in zip(SIDES, (old, new), strict=True)]
    known = [spec for spec, _ in sides if spec is not None]
    engines = [engine for _, engine in sides if engine is not None]
    releases = [spec.release for spec in known] or [DEFAULT_RELEASE]
    gates = attempt([], newest_gates, known)
    asked: dict[str, Any] = {"validate": judged, "gates": gates, "running": True}
    objects, picked, decoded = [], None, None
    if shared is not None and running:
        objects = attempt(problems, shared.objects_for, *releases) or []
        picked = attempt(problems, running_pods, objects, ALL if running is True else running)
    elif shared is not None and pods is not None:
        decoded = attempt(problems, pods_of, pods, shared, *releases, **asked)
    if shared is not None and decoded is not None:
        picked = without_stayers(decoded.pods)
        objects = joined(without(shared.objects_for(*releases), picked.pods), decoded.objects)
    if picked is None or problems:
        raise ConfigError(problems)
    note(picked.notes)
    return Compared(objects, picked.pods, known, engines, mode, frozenset(map(Cause, causes)))


def _which(pods: Any, running: bool | str) -> list[str]:
    if (pods is None) == (running is False or running == ""):
        return ["say which pods to compare: either pods, or running=True or a selector"]
    return []


def _side(
    problems: list[str], side: str, given: Any, folders: Sequence[Path], extenders: str
) -> tuple[EngineSpec | None, Engine | None]:
    """A description and its engine; None where there is a fault, and ``problems`` has it."""
    wrong: list[str] = []
    spec = attempt(wrong, spec_of, given, folders, extenders)
    notes: list[str] = []
    engine = None if spec is None else attempt(wrong, spec.engine, notes.append)
    note(notes)
    problems += (f"{side}: {problem}" for problem in wrong)
    return spec, engine


def _unknown_mode(mode: str) -> list[str]:
    if mode in MODES:
        return []
    return [f"mode: {mode!r} is not known; known are {', '.join(MODES)}{nearest(str(mode), MODES)}"]
