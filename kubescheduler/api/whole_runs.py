"""What is asked of whole runs: two schedulers compared, a workload over time, how many more of a pod fit, what
would make it fit."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs
import msgspec

from clusterstate.errors import ConfigError, DecodeError, attempt_at
from clusterstate.manifests.decode import Item
from clusterstate.manifests.kinds import encode_object
from clusterstate.objects import ClusterObject, Pod
from kubescheduler.api.cluster import Cluster
from kubescheduler.api.engine_choice import described, plugin_options
from kubescheduler.api.scheduler import Scheduler
from kubescheduler.engine.engine_flags import gates_text
from kubescheduler.given import (
    GATES,
    GATES_TEXT,
    NUMBER,
    TEXT,
    checked_cluster,
    flat,
    found_in,
    is_text,
    key_of,
    refuse,
    shown_argument,
    wrong_number,
    wrong_type,
)
from kubescheduler.releases.names import RELEASE_NAMES

if TYPE_CHECKING:
    from kubescheduler.comparison.comparison import Comparison
    from kubescheduler.comparison.release_steps import Timeline
    from kubescheduler.comparison.upgrading import Upgrade
    from kubescheduler.engine.spec import EngineSpec
    from kubescheduler.hinting.proposals import PodHints
    from kubescheduler.simulation.room import Room
    from kubescheduler.simulation.simulation_report import Report
    from kubescheduler.simulation.timeline import RunEvent
    from kubescheduler.simulation.workload import Workload
    from kubescheduler.translate.translation_model import Translation


def compare(  # noqa: PLR0913
    cluster: Cluster,
    pods: Any = None,
    *,
    old: Any = "",
    new: Any,
    running: bool | str = False,
    mode: str = "independent",
    preempt: bool = False,
    names: Sequence[str] | None = None,
    extenders: str = "live",
    tie_break: str = "first",
    seeds: int | None = None,
    ties: str = "loose",
    evidence: bool = False,
) -> Comparison:
    """Decides pods by an old and a new scheduler, or several, and explains every pod that goes elsewhere.

    pods: as for ``Cluster.pods_from``, by default the pending ones; one that runs is taken out of the cluster and
    decided anew. running: instead, so are all running pods, or those of a selector: ``"app=web"``,
    ``"deployment/web"``, ``"metadata.namespace=shop"``. old, new: text like
    ``"release=1.36,config=scheduler.yaml"``, or a dict of a Scheduler's arguments and ``release``; what does not name a
    release is of the cluster's; new may be a list of several. The cluster is read again for the newest of the releases.
    mode: ``"independent"``, each pod on the same cluster, or ``"sequence"``, each scheduler running on from its own
    choices. preempt: a pod that fits nowhere takes the place of lower ones. names: of the columns, the old one first.
    extenders: as for a Scheduler, for all that do not say it themselves. tie_break: ``"upstream"``: also so many runs
    as ``seeds`` (by default 10) in which all draw among equal nodes as their releases do; ``changes[0].moves.share`` is
    then the share of runs in which a pod goes elsewhere. ties: ``"strict"``: a pod that stays by name differs where
    other nodes have the highest total than before. evidence: also what the scores of pods that go elsewhere were
    made of.

    Raises ConfigError with every fault of every configuration, DecodeError for wrong pods.

    >>> from kubescheduler import Cluster, pod
    >>> cluster = Cluster(release="1.16").node("a", cpu=4).node("b", cpu=8)
    >>> found = compare(cluster, pod("web", cpu=1), new={"provider": "ClusterAutoscalerProvider"})
    >>> [outcome.host for outcome in found.pods[0].outcomes]
    ['b', 'a']
    """
    checked_cluster(cluster, Cluster)
    refuse(
        [
            *wrong_type("names", names, (list, tuple), "a list of names"),
            *wrong_type("extenders", extenders, TEXT, "live, pass, record FILE or replay FILE"),
            *wrong_type("running", running, (bool, str), "True or a selector of running pods"),
            *(["running: pods are given besides; give one of the two"] if running and pods is not None else []),
        ]
    )
    from kubescheduler.comparison.comparing import compare as run

    asked = _asked(cluster, pods, running, _sides(cluster, old, new, extenders))
    how: dict[str, Any] = {"mode": mode, "preempt": preempt, "tie_break": tie_break, "seeds": seeds, "ties": ties}
    specs = asked.specs
    comparison = run(asked.objects, asked.pods, specs[0], specs[1:], names=names, evidence=evidence, **how)
    return attrs.evolve(comparison, notes=(*asked.notes, *comparison.notes))


def timeline(
    cluster: Cluster,
    pods: Any = None,
    *,
    old: Any = "",
    new: Any,
    running: bool | str = False,
    preempt: bool = False,
    extenders: str = "live",
) -> Timeline:
    """Decides pods by every release from an old to a new one; at which step each goes elsewhere, and by which change.

    pods, old, new, running, preempt, extenders: as for ``compare``. What configures the old scheduler goes on as long
    as releases take it, then what configures the new one does, or what ``migrate`` makes of the old one:
    ``configurations`` says where. ``pods[0].moves`` are the steps at which a pod goes elsewhere, each with the names of
    the changes without any one of which it would not.

    Raises ConfigError with every fault of both configurations, DecodeError for wrong pods.

    >>> from kubescheduler import Cluster, pod
    >>> cluster = Cluster(release="1.20").node("a", cpu=4, memory="4Gi").node("b", cpu=4, memory="8Gi")
    >>> found = timeline(cluster, pod("web", cpu=1), new="release=1.36")
    >>> found.releases[0], found.releases[-1]
    ('1.20', '1.36')
    """
    checked_cluster(cluster, Cluster)
    from kubescheduler.comparison.release_steps import timeline as run

    asked = _asked(cluster, pods, running, _sides(cluster, old, new, extenders))
    if len(asked.specs) != 2:
        raise ConfigError("new: the steps lead to one release; give one")
    found = run(asked.objects, asked.pods, *asked.specs, preempt=preempt)
    return msgspec.structs.replace(found, notes=(*asked.notes, *found.notes))


def upgrade(
    cluster: Cluster,
    pods: Any = None,
    *,
    old: Any = "",
    to: str,
    running: bool | str | None = None,
    preempt: bool = False,
    extenders: str = "live",
) -> Upgrade:
    """The report of an upgrade of the scheduler to a later release: configuration, pods, plugins and gates, by step.

    old: what runs now, as for ``compare``, by default the cluster's release. pods, running: as for ``compare``; without
    either the running pods are decided anew, or the pending ones where none runs. The configuration goes along as long
    as releases take it; ``configurations`` says where it has to become another one, with that as YAML. preempt,
    extenders: as for ``compare``.

    Raises ConfigError with every fault, DecodeError for wrong pods.

    >>> from kubescheduler import Cluster, pod
    >>> cluster = Cluster(release="1.20").node("a", cpu=4, memory="4Gi").node("b", cpu=4, memory="8Gi")
    >>> found = upgrade(cluster, pod("web", cpu=1), old="release=1.20,provider=ClusterAutoscalerProvider", to="1.24")
    >>> [step.release for step in found.configurations], found.timeline.moved
    (['1.22'], [])
    """
    checked_cluster(cluster, Cluster)
    from kubescheduler.comparison.running_pods import any_runs
    from kubescheduler.comparison.upgrading import upgrade as run

    if running is None:
        running = pods is None and any_runs(cluster)
    asked = _asked(cluster, pods, running, _sides(cluster, old, f"release={to}", extenders))
    found = run(asked.objects, asked.pods, asked.specs[0], asked.specs[1].release, preempt=preempt)
    notes = (*asked.notes, *found.timeline.notes)
    return msgspec.structs.replace(found, timeline=msgspec.structs.replace(found.timeline, notes=notes))


class _Asked(NamedTuple):
    """The pods to decide and the cluster that the newest of several schedulers sees."""

    objects: list[ClusterObject]
    pods: list[Pod]
    specs: list[EngineSpec]
    notes: tuple[str, ...]


def _asked(cluster: Cluster, pods: Any, running: bool | str, specs: list[EngineSpec]) -> _Asked:
    from kubescheduler.comparison.running_pods import asked_pods
    from kubescheduler.engine.engine_flags import newest_gates
    from kubescheduler.releases.lookup import daemons_among, newest

    releases = [spec.release for spec in specs]
    seen = cluster.for_release(newest(releases).name, newest_gates(specs))
    given = None if pods is None else seen.to_place(pods, daemons=daemons_among(releases), running=True)
    found = asked_pods(seen, seen.release, given, running=running, option="defaulting=False")
    return _Asked(found.objects, found.pods, specs, found.notes)


def _sides(cluster: Cluster, old: Any, new: Any, extenders: str) -> list[EngineSpec]:
    """The old description and the new ones. Raises ConfigError with the faults of all."""
    specs: list[EngineSpec] = []
    problems: list[str] = []
    news = new if isinstance(new, list | tuple) else [new]
    for side, given in (("old", old), *(("new", each) for each in news)):
        if (spec := attempt_at(side, problems, described, given, cluster.release)) is not None:
            specs.append(spec.asking(extenders))
    if problems:
        raise ConfigError(problems)
    return specs


def simulate(
    cluster: Cluster,
    workload: Any,
    *,
    preempt: bool = False,
    grace: float = 0.0,
    pending: bool = False,
    listen: Callable[[RunEvent], None] | None = None,
    **options: Any,
) -> Report:
    """Runs a workload on a virtual clock, through the scheduler's own loop: queue, cycles, plugins, bindings.

    workload: file names (.csv: a trace), manifests or texts: pods, controllers with a pod template, nodes that join.
    Annotations say when a pod comes and how long it stays: ``kubescheduler/arrives-after`` and
    ``kubescheduler/duration``. preempt: pods take the place of lower ones, which leave ``grace`` seconds later.
    pending: the cluster's pending pods come too. listen: called with everything that happens. options: a Scheduler's.
    Raises DecodeError and ConfigError.

    >>> from kubescheduler import Cluster, pod
    >>> short = pod("job", cpu=3, annotations={"kubescheduler/duration": "60"})
    >>> report = simulate(Cluster().node("a", cpu=4), short)
    >>> report.counts()["finished"], report.end
    (1, 60.0)
    """
    from kubescheduler.simulation.simulation import Simulation

    checked_cluster(cluster, Cluster)
    faults = wrong_type("grace", grace, NUMBER, "a number of seconds")
    if listen is not None and not callable(listen):
        faults.append(f"listen: expected a function, found {shown_argument(listen)}")
    refuse(faults)
    arriving, notes = workload_of(cluster, workload, pending=pending)
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    scheduler = Scheduler(cluster, **options)
    return Simulation(scheduler.running, arriving, preempt=preempt, grace=grace, listen=listen).run()


def workload_of(
    cluster: Cluster, given: Any, *, pending: bool, beside: Iterable[ClusterObject] = ()
) -> tuple[Workload, list[str]]:
    """A workload for a cluster, and notes on what was left out. beside: what else is in the cluster. Raises DecodeError
    with every fault."""
    from kubescheduler.simulation.openb_trace import ReadInputs, Trace, is_trace
    from kubescheduler.simulation.workload_files import workload_in

    things = list(flat(given))
    traces = [os.fspath(each) for each in things if isinstance(each, str | os.PathLike) and is_trace(os.fspath(each))]
    found = found_in([each for each in things if each not in traces], what="workload", kind="Pod")
    items = [*found.items, *(Item("", encode_object(obj)) for obj in found.objects)]
    return workload_in(
        ReadInputs(items, [Trace(path) for path in traces], found.problems),
        [*cluster, *beside],
        pending=pending,
        release=cluster.release,
        strictness=cluster.strictness,
    )


def capacity(cluster: Cluster, pod: Any, *, limit: int | None = None, **options: Any) -> Room:
    """How many more of a pod fit, one after another, and what stops the next one.

    pod: as for ``Scheduler.decide``, or a controller with a pod template, of which one pod is asked about; of a
    DaemonSet it is how many of its nodes have room. limit: no more than so many are placed. options: a Scheduler's.

    >>> from kubescheduler import Cluster, pod
    >>> room = capacity(Cluster().node("a", cpu=4).node("b", cpu=2), pod("web", cpu=1))
    >>> room.count, room.stopped.message
    (6, '0/2 nodes are available: 2 Insufficient cpu.')
    """
    checked_cluster(cluster, Cluster)
    refuse(wrong_number("limit", limit, 1))
    from kubescheduler.simulation.room import room_of
    from kubescheduler.simulation.workload import as_new

    asked = cluster.to_place(pod, "pod", running=True)
    for note in asked.notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    kinds = asked.distinct()
    if len(kinds) != 1:
        names = ", ".join(key_of(each)[1] for pods in kinds for each in pods) or "none"
        raise DecodeError(f"capacity takes one pod, or the pods of one controller, found {names}")
    running = Scheduler(cluster.with_accompanying(asked.accompanying), **options).running
    pods = [as_new(each) if cluster.find_pod(each.key) is each else each for each in kinds[0]]
    return room_of(pods, running, limit=limit)


def hints(
    cluster: Cluster, pod: Any, node: str | None = None, *, top: int | None = 10, pairs: bool = True, **options: Any
) -> PodHints:
    """What would make a pod fit, or go to a node: changes that were tried by deciding, the smallest first.

    pod, node, top, pairs: as for ``Scheduler.hints``. options: a Scheduler's.

    >>> from kubescheduler import Cluster, pod
    >>> found = hints(Cluster().node("a", cpu=4, taints=["gpu:NoSchedule"]), pod("web", cpu=1))
    >>> found[0].text, found[0].host
    ('tolerate gpu:NoSchedule', 'a')
    """
    return Scheduler(cluster, **options).hints(pod, node, top=top, pairs=pairs)


def migrate(  # noqa: PLR0913
    policy: Any = None,
    *,
    provider: str | None = None,
    release: str | None = None,
    to: str = RELEASE_NAMES[-1],
    gates: Mapping[str, bool] | str | None = None,
    hard_pod_affinity_symmetric_weight: int | None = None,
    keep_emphasis: bool = False,
    container: str | None = None,
    plugins: Any = (),
) -> Translation:
    """A Policy or a provider of one release as the KubeSchedulerConfiguration of a later one, with notes.

    policy: a file name, a dict, or text; also an older KubeSchedulerConfiguration, a ConfigMap, or the manifest of
    kube-scheduler with what it mounts. release: that runs by it, by default that of the image in a manifest, else 1.16
    for a policy, and the last that reads its version for a configuration. container: which one of a manifest, if
    several run kube-scheduler. keep_emphasis: where packing of nodes would be outweighed, with the weights that keep it
    on top. plugins: as for ``Scheduler``, in place of rules of your own that a policy names. Raises ConfigError with
    every fault, and for a target that is older.

    >>> translation = migrate(provider="ClusterAutoscalerProvider", to="1.36")
    >>> translation.exact, translation.plain()["kind"]
    (False, 'KubeSchedulerConfiguration')
    """
    from kubescheduler.translate.migration import MigrationOptions, migrated
    from kubescheduler.translate.policy_source import provider_source
    from kubescheduler.translate.translating import translate

    refuse(
        [
            *wrong_type("policy", policy, (str, bytes, os.PathLike, Mapping), "a file name, a dict or text"),
            *wrong_type("provider", provider, TEXT, "the name of an algorithm provider"),
            *wrong_type("gates", gates, GATES, GATES_TEXT),
            *wrong_type("container", container, TEXT, "the name of a container"),
        ]
    )
    if (policy is None) == (provider is None):
        raise ConfigError("say what to translate: either a policy or provider=")
    weight = hard_pod_affinity_symmetric_weight
    options = MigrationOptions(
        release,
        to,
        gates_text(gates),
        weight,
        keep_emphasis=keep_emphasis,
        container=container,
        plugins=tuple(plugin_options(plugins)),
    )
    if provider is None:
        return migrated([_named_text(policy)], options)
    source = provider_source(provider, options.read_by, options.gates(), weight)
    return translate(source, options.to, keep_emphasis=keep_emphasis)


def _named_text(given: Any) -> tuple[str, str]:
    """(name in errors, text) of what is migrated. Raises ConfigError for a file that cannot be read."""
    from pathlib import Path

    from kubescheduler.config.config_text import read_text

    if isinstance(given, Mapping):
        return "policy", msgspec.json.encode(dict(given)).decode()
    if is_text(given):
        return "policy", given if isinstance(given, str) else given.decode()
    return os.fspath(given), read_text(Path(given))
