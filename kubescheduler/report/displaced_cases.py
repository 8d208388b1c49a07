"""Pods that had to leave their nodes, for CI: a case for each, which passes if it runs again.

The group of a case is the pod's namespace and workload: ``default.Deployment/web``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from clusterstate.objects import Pod
from clusterstate.workloads import workloads_of
from kubescheduler.hinting.proposals import Hint
from kubescheduler.planning.departures import Fate
from kubescheduler.planning.displaced import moved_text
from kubescheduler.planning.rehearsal import Moved
from kubescheduler.report.ci_results import CiCase, Standing

NOBODY = "no controller makes it anew"


def displaced_cases(
    kept: Sequence[tuple[Pod, str, str]],
    moved: Sequence[Moved],
    hints: Mapping[str, tuple[Hint, ...]],
    *,
    lost_fails: bool,
) -> Iterator[CiCase]:
    """kept: (pod, what is wrong in a word, why) of pods that do not leave. lost_fails: whether a pod that nobody makes
    anew is a failure; otherwise that is said of a case that passes."""
    pods = [*(pod for pod, _, _ in kept), *(each.pod for each in moved)]
    groups = [f"{pod.metadata.namespace}.{name}" for pod, name in zip(pods, workloads_of(pods, ()), strict=True)]
    for group, (pod, kind, why) in zip(groups, kept, strict=False):
        yield CiCase(group, pod.metadata.name, Standing.FAILED, kind, why, why)
    for group, each in zip(groups[len(kept) :], moved, strict=True):
        name, text = each.pod.metadata.name, moved_text(each, hints)
        if each.nowhere:
            failed = each.record is not None and each.record.gave_up
            standing = Standing.ERROR if failed else Standing.FAILED
            yield CiCase(group, name, standing, "nowhere", " ".join(each.message.split()), text)
        elif each.now is None and each.fate is Fate.BARE:
            yield CiCase(group, name, Standing.FAILED if lost_fails else Standing.PASSED, "lost", NOBODY, text)
        else:
            yield CiCase(group, name)
