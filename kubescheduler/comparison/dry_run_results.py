"""What a dry run found: a line for each attempt of the real scheduler, counts, and a comparison in the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from clusterstate.objects import ClusterObject, Pod
from clusterstate.release_view import ReleaseView
from kubescheduler.comparison.comparison import Comparison
from kubescheduler.comparison.comparison_document import change_document
from kubescheduler.comparison.effects import effects
from kubescheduler.comparison.outcomes import Cause, HostChange, PodComparison
from kubescheduler.comparison.pod_controllers import workloads_of
from kubescheduler.comparison.real_choices import RealChoices
from kubescheduler.live.dry_run.sightings import RealEnd, Sighting

BESIDE = "Every pod was decided as the real scheduler's choice was seen, on the cluster as it was right before."
"""How the pods of the comparison were decided."""
REFUSED = "Unschedulable"


class DryRunResults:
    """Judges what the real scheduler does. Implements SightingListener."""

    def __init__(self, choices: RealChoices, write: Callable[[dict[str, Any]], None], *, keep: bool) -> None:
        """write: gets each attempt as plain data, in the order in which they ended. keep: for ``comparison``."""
        self._choices = choices
        self._write = write
        self._keep = keep
        self._kept: dict[str, tuple[Pod, PodComparison]] = {}
        self.causes: Counter[Cause] = Counter()
        """Why attempts differ; ``same`` is among them."""
        self.deleted = 0
        """Pods that went before the real scheduler had said anything of them."""

    @property
    def compared(self) -> int:
        """Attempts of the real scheduler that were compared."""
        return self.causes.total()

    @property
    def agreeing(self) -> int:
        """Those with the same node, or none, in both; or one of several equally good ones."""
        return self.causes[Cause.SAME] + self.causes[Cause.COULD_HAVE_BEEN] + self.causes[Cause.DIFFERENT_REASONS]

    def ended(self, sighting: Sighting) -> bool:
        """Compares an attempt, writes it, and says whether both did the same."""
        if sighting.end is RealEnd.DELETED:
            self.deleted += 1
            self._write(_line(sighting))
            return False
        first = None if sighting.first is None else sighting.first.node
        message = REFUSED if sighting.end is RealEnd.UNSCHEDULABLE else ""
        found = self._choices.compared(sighting.pod, sighting.node, first, message)
        (change,) = found.changes
        self.causes[change.cause] += 1
        agrees = not change.moved and change.cause is not Cause.ERROR
        ours = found.outcomes[1]
        said = {"node": ours.host, "message": ours.message, "tied": len(ours.tied), "fits": ours.fits}
        self._write({**_line(sighting), "then": said, "agrees": agrees, **_why(change)})
        if self._keep:
            self._kept[sighting.pod.metadata.uid] = (sighting.pod, found)
        return agrees

    def summary(self) -> list[str]:
        """Lines for people: how many were compared, and why others differ."""
        share = f" ({self.agreeing / self.compared:.1%})" if self.compared else ""
        lines = [f"{self.compared} attempts compared, {self.agreeing} agree{share}"]
        lines += [f"  {cause}: {count}" for cause, count in self.causes.most_common() if cause is not Cause.SAME]
        if self.deleted:
            lines.append(f"{self.deleted} pods were deleted before anything became of them")
        return lines

    def comparison(
        self, objects: Sequence[ClusterObject], names: tuple[str, str], releases: tuple[str, str], view: ReleaseView
    ) -> Comparison:
        """The last attempt of each pod. objects: the cluster in the end. names, releases: the real one's first."""
        pods = [pod for pod, _ in self._kept.values()]
        compared = {pod.metadata.uid for pod in pods}
        there = [obj for obj in objects if not isinstance(obj, Pod) or obj.metadata.uid not in compared]
        owned = zip((found for _, found in self._kept.values()), workloads_of(pods, there), strict=True)
        results = tuple(attrs.evolve(found, workload=workload) for found, workload in owned)
        hosts = [[found.outcomes[column].host for found in results] for column in (0, 1)]
        return Comparison(
            names=names,
            releases=releases,
            mode=BESIDE,
            pods=results,
            effects=tuple(effects(there, pods, column, (), view, leave=False) for column in hosts),
            before=effects(there, (), (), (), view, leave=False),
        )


def _line(sighting: Sighting) -> dict[str, Any]:
    first = None if sighting.first is None else attrs.asdict(sighting.first)
    return {
        "pod": sighting.pod.key,
        "uid": sighting.pod.metadata.uid,
        "appeared": _time(sighting.appeared),
        "ended": _time(sighting.ended),
        "real": {"end": str(sighting.end), "node": sighting.node},
        "first": first,
    }


def _why(change: HostChange) -> dict[str, Any]:
    """The cause with the terms that speak for one of the nodes."""
    telling = tuple(part for part in change.contributions if part.old or part.new)
    document = change_document(attrs.evolve(change, contributions=telling))
    return {key: value for key, value in document.items() if value not in ([], {}, None)}


def _time(moment: Any) -> str:
    return str(moment.isoformat(timespec="milliseconds")).replace("+00:00", "Z")
