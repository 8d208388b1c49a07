"""The clusters of a sweep, remembered for the cases that come next."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

import msgspec

from clusterstate.errors import DecodeError, InputError
from clusterstate.manifests.strictness import STRICT, strictness_of
from clusterstate.objects import ClusterObject, Pod
from kubescheduler.comparison.running_pods import running_pods, taken_out, without_stayers
from kubescheduler.comparison.tracks import NOTHING_RUNS
from kubescheduler.releases.lookup import release_named
from kubescheduler.simulation.pods_to_place import joined, read_pods_to_place
from kubescheduler.sources.cluster_input import read_cluster
from kubescheduler.sources.cross_objects import UnreadableManifests, check_references, uid_problems
from kubescheduler.sweep.case_files import Contents, FileLocations, digest_of, placed
from kubescheduler.sweep.cases import Case

REMEMBERED = 2
"""Clusters: that of the cases under way, and the next one's."""


class SweepInputs(msgspec.Struct, frozen=True):
    """A cluster that was read, and its pods to schedule."""

    objects: tuple[ClusterObject, ...]
    """The cluster."""
    pods: tuple[Pod, ...]
    """What to schedule, in order."""
    running: Mapping[str, Pod] = NOTHING_RUNS
    """``namespace/name`` → the pod as it runs, of those that are taken out first."""


class InputsReader:
    """Reads the clusters of cases, each once while its cases follow one another. Several threads may use it."""

    def __init__(self) -> None:
        self._read: OrderedDict[object, SweepInputs] = OrderedDict()

    def inputs(self, case: Case, contents: Contents | None) -> SweepInputs:
        """Raises InputError with every fault, also when a file is no longer what the case's id stands for."""
        release = case.configuration.spec.release
        gates = case.configuration.spec.gates
        options = case.options
        how = options.defaulting, options.validate, options.running, release, gates
        key = (case.snapshot, options.pod_files, case.pods_digest, how)
        found = self._read.get(key)
        if found is None:
            files = (*case.snapshot.files, *case.options.pod_files)
            with placed(contents, files) as here:
                try:
                    found = _read(case, here, release)
                except InputError as error:
                    raise InputError(here.by_given_names(problem) for problem in error.problems) from error
        self._read[key] = found
        for old in list(self._read)[:-REMEMBERED]:
            self._read.pop(old, None)
        return found


def _read(case: Case, here: FileLocations, release: str) -> SweepInputs:
    files = [here.path(name) for name in case.snapshot.files]
    pod_files = [here.path(name) for name in case.options.pod_files]
    if digest_of(files) != case.snapshot.digest:
        raise InputError(f"{case.snapshot.name}: it was changed after the sweep began; run the same command again")
    if pod_files and digest_of(pod_files) != case.pods_digest:
        names = ", ".join(case.options.pod_files)
        raise InputError(f"{names}: changed after the sweep began; run the same command again")
    validate, defaulting = case.options.validate, case.options.defaulting
    filling = release_named(release).filling
    accepted = release_named(release).accepted_values(case.configuration.spec.gates)
    strictness = strictness_of(validate).under(accepted)
    try:
        found = read_cluster(files, defaulting=defaulting, filling=filling, strictness=strictness)
    except UnreadableManifests as error:
        raise error.with_references() from error
    if problems := check_references(found.with_sources()):
        raise DecodeError(problems)
    objects = found.objects
    if case.options.running:
        pods = running_pods(objects, case.options.running).pods
    elif not pod_files:
        pods = release_named(release).queue_order(objects)
    else:
        strictness = strictness_of(validate, STRICT).under(accepted)
        asked = read_pods_to_place(pod_files, objects, defaulting=defaulting, release=release, strictness=strictness)
        pods = asked.pods
        given = {pod.key for pod in pods}
        objects = [obj for obj in objects if not (isinstance(obj, Pod) and not obj.node_name and obj.key in given)]
        objects = joined(objects, asked.objects)
        pods = without_stayers(pods).pods
    there = [obj for obj in objects if isinstance(obj, Pod)]
    if problems := list(uid_problems([*there, *(pods if pod_files else ())])):
        raise DecodeError(problems)
    each = taken_out(objects, pods)
    return SweepInputs(tuple(each.objects), tuple(each.pods), each.running)
