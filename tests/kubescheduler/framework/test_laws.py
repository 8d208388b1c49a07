"""Laws that every plugin of both releases obeys, over random clusters with something of everything."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.cache import ClusterCache
from clusterstate.errors import SchedulingError
from clusterstate.objects import ClaimVolume, Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import PodChange, Snapshot
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.handle import Services
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.contract.runs import PreFilterOutcome
from kubescheduler.framework.deciding.filter_plugins import PluginFiltering
from kubescheduler.framework.deciding.find_nodes import answers, outside_1_32
from kubescheduler.framework.deciding.profile_attempt import FrameworkScheduler
from kubescheduler.framework.framework_runtime import Framework
from kubescheduler.releases.lookup import release_named
from predicates.types import FitPredicate
from priorities.types import MAX_NODE_SCORE, PriorityConfig, PriorityError
from tests.support.deciders import frame
from tests.support.laws import costly
from tests.support.rich_worlds import POD_PARTS, RELEASES, DrawnCluster, failing, in_tree, incoming, pod_of, worlds

PLUGINS = {release: in_tree(release) for release in RELEASES}
CHECKS: dict[str, list[FitPredicate]] = {
    release: [found for plugin in plugins.values() if (found := getattr(plugin, "check", None)) is not None]
    for release, plugins in PLUGINS.items()
}
SCORES: dict[str, list[PriorityConfig]] = {
    release: [found for plugin in plugins.values() if (found := getattr(plugin, "scoring", None)) is not None]
    for release, plugins in PLUGINS.items()
}
CASES = pytest.mark.parametrize("release", RELEASES)


def some_rows(data: st.DataObject, cache: ClusterCache, least: int = 0) -> Any:
    rows = st.lists(st.integers(0, cache.columns.node_count - 1), min_size=least, unique=True)
    return np.array(data.draw(rows), np.int64)


# --- Filter ------------------------------------------------------------------------------------


def verdicts(release: str, info: PodInfo, snapshot: Snapshot) -> dict[str, dict[str, list[str]]]:
    """Plugin → reason → the nodes that fail for it, of those that have something to say about the pod."""
    out = {}
    for rule in CHECKS[release]:
        if rule.applies(info):
            verdict = rule.check(info, snapshot)
            assert all(m.dtype == np.bool_ and m.shape == (len(snapshot),) for m in verdict.values()), rule.name
            out[rule.name] = failing(snapshot, verdict)
    return out


@CASES
@given(world=worlds(), pod=incoming, data=st.data())
def test_a_subset_of_rows_fails_alike(release: str, world: DrawnCluster, pod: Pod, data: st.DataObject) -> None:
    """What a plugin says of a node does not depend on which other nodes are asked about."""
    cache = world.cache(release)
    info, snapshot, rows = cache.info(pod), cache.snapshot(), some_rows(data, cache)
    whole, some = verdicts(release, info, snapshot), verdicts(release, info, snapshot.take(rows))
    names = {snapshot.names[row] for row in rows.tolist()}
    for plugin, reasons in whole.items():
        picked = {reason: sorted(names & {*hit}) for reason, hit in reasons.items() if names & {*hit}}
        assert {reason: sorted(hit) for reason, hit in some[plugin].items()} == picked, plugin


@CASES
@given(world=worlds(), pod=incoming)
def test_a_plugin_that_is_left_out_refuses_nobody(release: str, world: DrawnCluster, pod: Pod) -> None:
    """Neither one that does not apply to the pod nor one whose PreFilter skips would fail anywhere."""
    cache = world.cache(release)
    info, snapshot = cache.info(pod), cache.snapshot()
    for rule in CHECKS[release]:
        skips = rule.pre_filter is not None and rule.pre_filter(info, snapshot).skip
        if skips or not rule.applies(info):
            assert failing(snapshot, rule.check(info, snapshot)) == {}, rule.name


@CASES
@given(world=worlds(), pod=incoming)
def test_what_cannot_be_mended_is_among_what_fails(release: str, world: DrawnCluster, pod: Pod) -> None:
    """The rows beyond help are told for exactly the rows asked about."""
    cache = world.cache(release)
    info, snapshot = cache.info(pod), cache.snapshot()
    for rule in CHECKS[release]:
        if rule.beyond is not None and rule.applies(info):
            rows = np.arange(len(snapshot))[::-1]
            assert rule.beyond(info, snapshot)[::-1].tolist() == rule.beyond(info, snapshot.take(rows)).tolist()


# --- pods hypothetically added to nodes and removed --------------------------------------------------

Changes = Sequence[tuple[Pod, int]]
Excuse = Callable[[Pod, DrawnCluster, Changes], bool]
"""Of (the pod, the cluster, the pods that come or go): the release itself does not keep the law."""


def forgets_the_third_smallest(pod: Pod, world: DrawnCluster, changes: Changes) -> bool:
    """PodTopologySpread remembers the two smallest counts, and does not look whether a pod that comes or goes is
    terminating, nor in 1.20 whether its node is one that the pod wants."""
    return len(changes) > 1 or changes[0][1] > 0 or changes[0][0].metadata.deletion_timestamp is not None


def takes_the_pod_that_came_first(pod: Pod, world: DrawnCluster, changes: Changes) -> bool:
    """ServiceAffinity appends pods that come to the end of its list, wherever their node stands."""
    return any(sign > 0 for _, sign in changes)


def counts_claims_by_name(pod: Pod, world: DrawnCluster, changes: Changes) -> bool:
    """VolumeRestrictions of 1.36 counts a claim once for all its pods, but takes it off once for each, whatever the
    namespace."""
    return ClaimVolume("once") in pod.spec.volumes


def frees_ports_that_others_hold(pod: Pod, world: DrawnCluster, changes: Changes) -> bool:
    """The ports of a node are a set: a pod that goes takes its ports along, though another may hold the same."""
    freed = {p.node_name for p, sign in changes if sign < 0 and p.spec.containers[0].ports}
    holders = [
        p.node_name for p in (*world.pods, *(p for p, sign in changes if sign > 0)) if p.spec.containers[0].ports
    ]
    return any(holders.count(node) > 1 for node in freed)


EXCUSES: dict[str, Excuse] = {
    "NodePorts": frees_ports_that_others_hold,
    "PodTopologySpread": forgets_the_third_smallest,
    "ServiceAffinity": takes_the_pod_that_came_first,
    "VolumeRestrictions": counts_claims_by_name,
}


@CASES
@costly
@given(world=worlds(), pod=incoming, more=st.lists(POD_PARTS, max_size=2), data=st.data())
def test_a_change_thought_of_counts_like_one_that_happened(
    release: str, world: DrawnCluster, pod: Pod, more: Any, data: st.DataObject
) -> None:
    """AddPod and RemovePod give what a PreFilter of the changed cluster would."""
    nodes = st.sampled_from([node.name for node in world.nodes])
    coming = [pod_of(f"new{at}", parts, data.draw(nodes)) for at, parts in enumerate(more)]
    going = [p for p in world.pods if data.draw(st.booleans())]
    changes = [*((p, -1) for p in going), *((p, 1) for p in coming)]
    if not changes:
        return
    thought, real = (
        world.cache(release),
        DrawnCluster(world.nodes, (*(p for p in world.pods if p not in going), *coming), world.others).cache(release),
    )
    row_of = thought.columns.row_of
    steps = [PodChange(row_of[p.node_name], thought.info(p), sign, pod=p) for p, sign in changes]
    expected = verdicts(release, real.info(pod), real.snapshot())
    for plugin, reasons in verdicts(release, thought.info(pod), thought.snapshot().what_if(steps)).items():
        if plugin not in EXCUSES or not EXCUSES[plugin](pod, world, changes):
            assert reasons == expected[plugin], plugin


# --- Score -------------------------------------------------------------------------------------


def scores(rule: PriorityConfig, info: PodInfo, snapshot: Snapshot, rows: Any) -> tuple[list[int], list[int]] | None:
    """(raw, normalised) as if just those rows were feasible; None: no score at all."""
    view = snapshot.take(rows)
    try:
        if not rule.pre_score(info, snapshot):
            return None
        raw = rule.map(info, view)
        raw = raw if rule.settle is None else rule.settle(info, view, raw)
    except PriorityError:
        return None
    final = raw if rule.reduce is None else rule.reduce(info, view, raw)
    assert raw.dtype == final.dtype == np.int64, rule.name
    assert raw.shape == final.shape == rows.shape, rule.name
    return raw.tolist(), final.tolist()


@CASES
@given(world=worlds(), pod=incoming, data=st.data())
def test_a_subset_of_rows_maps_alike(release: str, world: DrawnCluster, pod: Pod, data: st.DataObject) -> None:
    """A node's number does not depend on which other nodes are asked about, nor on their order."""
    cache = world.cache(release)
    info, snapshot, rows = cache.info(pod), cache.snapshot(), some_rows(data, cache)
    for rule in SCORES[release]:
        if rule.pre_score(info, snapshot) and rule.constant(info) is None:
            whole = rule.map(info, snapshot)
            assert rule.map(info, snapshot.take(rows)).tolist() == whole[rows].tolist(), rule.name


@CASES
@costly
@given(world=worlds(), pod=incoming, data=st.data())
def test_scores_are_within_their_range(release: str, world: DrawnCluster, pod: Pod, data: st.DataObject) -> None:
    """0 to 100 after normalising, in whatever order the nodes come; a constant is what would come out."""
    cache = world.cache(release)
    info, snapshot, rows = cache.info(pod), cache.snapshot(), some_rows(data, cache, 1)
    for rule in SCORES[release]:
        constant, found = rule.constant(info), scores(rule, info, snapshot, rows)
        if constant is not None:
            assert 0 <= constant <= MAX_NODE_SCORE, rule.name
        elif found is not None:
            assert all(0 <= score <= MAX_NODE_SCORE for score in found[1]), rule.name
            turned = scores(rule, info, snapshot, rows[::-1])
            assert turned == (found[0][::-1], found[1][::-1]), rule.name


@CASES
@given(world=worlds(), pod=incoming, data=st.data())
def test_equal_numbers_give_one_score(release: str, world: DrawnCluster, pod: Pod, data: st.DataObject) -> None:
    """A reduce that looks at the numbers only gives equal ones the same score, however many rows there are."""
    cache = world.cache(release)
    info, rows, number = cache.info(pod), some_rows(data, cache, 1), data.draw(st.integers(0, 9))
    for rule in SCORES[release]:
        if rule.valuewise and rule.reduce is not None and rule.pre_score(info, cache.snapshot()):
            many = rule.reduce(info, cache.snapshot().take(rows), np.full(len(rows), number, np.int64))
            one = rule.reduce(info, cache.snapshot().take(rows[:1]), np.array([number], np.int64))
            assert many.tolist() == one.tolist() * len(rows), rule.name


ALL = "all plugins"


def frames(release: str, cache: ClusterCache) -> Iterator[tuple[str, Framework]]:
    """A framework of each plugin of the release alone, and one of them all; weights are 1, 2, 3 and 1 again.

    Each also without PreFilter and PreScore, which some plugins cannot do without.
    """
    services = Services(release, cache, max_pd_volumes=1)
    made = in_tree(release, services)
    weights = {name: 1 + at % 3 for at, name in enumerate(made)}
    for name, plugin in made.items():
        whole = frame(release, plugin, services=services, weights=weights)
        yield name, whole
        yield f"{name}, unprepared", unprepared(whole)
    whole = frame(release, *made.values(), services=services, weights=weights)
    yield ALL, whole
    yield f"{ALL}, unprepared", unprepared(whole)


def unprepared(framework: Framework) -> Framework:
    """The same without its PreFilter and PreScore plugins."""
    skipped = {Point.PRE_FILTER, Point.PRE_SCORE}
    kept = {point: plugins for point, plugins in framework.plugins.items() if point not in skipped}
    return msgspec.structs.replace(framework, plugins=kept)


# --- node by node --------------------------------------------------------------------------------


@attrs.define
class Found:
    """What one way came to: why nodes are refused, and the scores of the others."""

    statuses: dict[str, tuple[Code, tuple[str, ...]]] = attrs.field(factory=dict)
    raws: dict[str, dict[str, int]] = attrs.field(factory=dict)
    scores: dict[str, dict[str, int]] = attrs.field(factory=dict)
    totals: dict[str, int] = attrs.field(factory=dict)
    errors: set[str] = attrs.field(factory=set)


def said(status: Status) -> tuple[Code, tuple[str, ...]]:
    return status.code, tuple(status.all_reasons)


def by_runner(framework: Framework, snapshot: Snapshot, pod: Pod, *, nominated: bool = False) -> Found:
    """As a plugin would ask the Handle: PreFilter, Filter on each node, PreScore and Score on those that pass."""
    found, state = Found(), CycleState()
    run = framework.run_filter_with_nominated if nominated else framework.run_filter
    outcome = framework.run_pre_filter(state, pod, snapshot)
    if outcome.status is not None and outcome.status.code is Code.Error:
        return Found(errors={outcome.status.message})
    feasible = []
    for row, name in enumerate(snapshot.names):
        status = refused_before(outcome, name) or run(state, pod, snapshot.take(np.array([row])))
        if status is None:
            feasible.append(row)
        elif status.code is Code.Error:
            found.errors.add(status.message)
        else:
            found.statuses[name] = said(status)
    if feasible and not found.errors:
        score_by_runner(framework, snapshot.take(np.array(feasible)), pod, state, found)
    return found


def refused_before(outcome: PreFilterOutcome, name: str) -> Status | None:
    """Why a node is not looked at at all."""
    if outcome.status is not None:
        return outcome.status
    return None if outcome.nodes is None or name in outcome.nodes else outside_1_32(outcome.plugins)


def score_by_runner(framework: Framework, feasible: Snapshot, pod: Pod, state: CycleState, found: Found) -> None:
    status = framework.run_pre_score(state, pod, feasible)
    outcome = framework.run_score(state, pod, feasible)
    for failed in (status, outcome.status):
        if failed is not None:
            found.errors.add(failed.message)
            return
    for name, given_ in outcome.scores.items():
        found.raws[name] = dict(zip(feasible.names, given_.raw.tolist(), strict=True))
        found.scores[name] = dict(zip(feasible.names, given_.normalized.tolist(), strict=True))
    if outcome.scores:
        found.totals = dict(zip(feasible.names, outcome.totals.tolist(), strict=True))


# --- over columns --------------------------------------------------------------------------------


def scheduler_of(framework: Framework, cache: ClusterCache) -> FrameworkScheduler:
    """What decides by the plugins of a framework."""
    return FrameworkScheduler(framework, cache, release_named(framework.release).framework_rules.deciding)


def by_columns(framework: Framework, cache: ClusterCache, pod: Pod) -> Found:
    """As the scheduler decides."""
    scheduler = scheduler_of(framework, cache)
    decision = scheduler.attempt(pod).run()
    if decision.error is None and len(decision.feasible):
        decision = scheduler.attempt(pod, thorough=True).run()
    if decision.error is not None:
        return Found(errors={decision.error})
    return Found(
        {name: said(status) for name, status in decision.statuses().items()},
        {name: decision.raw(name) for name in decision.scores},
        {name: decision.score(name) for name in decision.scores},
        decision.total() if decision.scores else {},
    )


def same(plugin: str, columns: Found, runner: Found) -> None:
    """A decision that gives up names one of the errors."""
    if columns.errors or runner.errors:
        assert columns.errors <= runner.errors, plugin
        assert bool(columns.errors) == bool(runner.errors), plugin
        return
    assert columns.statuses == runner.statuses, plugin
    assert columns.raws == runner.raws, plugin
    assert columns.scores == runner.scores, plugin
    assert columns.totals == runner.totals, plugin


def asking(data: st.DataObject, world: DrawnCluster, pod: Pod) -> Pod:
    """The pod, or the same pod asking for one node by name, or for a feature that nodes must declare."""
    names = [node.name for node in world.nodes]
    asked: dict[str, Any] = {"host_network": True, "host_users": False} if data.draw(st.booleans()) else {}
    spec = msgspec.structs.replace(pod.spec, **asked)
    return msgspec.structs.replace(pod, spec=spec, node_name=data.draw(st.sampled_from(["", "", *names, "gone"])))


@CASES
@costly
@given(world=worlds(), pod=incoming, data=st.data())
def test_nodes_are_judged_and_scored_alike(release: str, world: DrawnCluster, pod: Pod, data: st.DataObject) -> None:
    """Verdicts, reasons, codes and scores of every plugin alone, and of all of them, do not depend on who asks."""
    cache, wanted = world.cache(release), asking(data, world, pod)
    for name, framework in frames(release, cache):
        same(name, by_columns(framework, cache, wanted), by_runner(framework, cache.snapshot(), wanted))


@CASES
@costly
@given(world=worlds(), pod=incoming, other=POD_PARTS, data=st.data())
def test_nominated_pods_count_alike(
    release: str, world: DrawnCluster, pod: Pod, other: dict[str, Any], data: st.DataObject
) -> None:
    """So do those beside a pod that is nominated to a node: a node has to pass with it and without."""
    cache = world.cache(release)
    nominee = pod_of("nominee", other)
    cache.nominate(nominee, data.draw(st.sampled_from(world.nodes)).name)
    for name, framework in frames(release, cache):
        columns, runner = by_columns(framework, cache, pod), by_runner(framework, cache.snapshot(), pod, nominated=True)
        same(name, columns, runner)


# --- pods hypothetically added and removed -------------------------------------------------------


def judged_by_columns(framework: Framework, cache: ClusterCache, pod: Pod, there: Snapshot) -> tuple[Code, Any] | None:
    """As preemption tries a node; None: PreFilter refuses the pod, so that no node is tried."""
    scheduler = scheduler_of(framework, cache)
    snapshot, log, cycle, rules = cache.snapshot(), cache.columns.log, CycleState(), scheduler.rules
    state = scheduler.state(cache.info(pod), snapshot)
    narrowed = rules.narrow(answers(pod, state, scheduler.compiled, cycle, snapshot, log), cycle)
    if narrowed.status is not None:
        return None
    filtering = PluginFiltering.of(pod, state, cache, rules, scheduler.compiled, cycle)
    state.check(snapshot, log, cache.columns.published[1])
    try:
        judged = filtering.judge(there, filtering.checks())
    except SchedulingError as error:
        return Code.Error, (str(error),)
    if judged.error is not None:
        plugin, error_text = judged.error
        return Code.Error, (rules.filter_error(plugin, pod.metadata.name, error_text.about(pod.key)),)
    return judged.code, tuple(reason for _, reasons in judged.found for reason in reasons)


@CASES
@costly
@given(world=worlds(), pod=incoming, more=st.lists(POD_PARTS, max_size=2), data=st.data())
def test_added_and_removed_pods_count_alike(
    release: str, world: DrawnCluster, pod: Pod, more: Sequence[dict[str, Any]], data: st.DataObject
) -> None:
    """So do those of a node that pods are hypothetically added to and removed from."""
    cache = world.cache(release)
    node = data.draw(st.sampled_from(world.nodes)).name
    row = cache.columns.row_of[node]
    going = [p for p in world.pods if p.node_name == node and data.draw(st.booleans())]
    coming = [pod_of(f"new{at}", parts, node) for at, parts in enumerate(more)]
    here = cache.snapshot().take(np.array([row]))
    steps = [PodChange(row, here.info(p), sign, pod=p) for pods, sign in ((going, -1), (coming, 1)) for p in pods]
    for name, framework in frames(release, cache):
        state = CycleState()
        refused = framework.run_pre_filter(state, pod, cache.snapshot()).status
        columns = judged_by_columns(framework, cache, pod, here.what_if(steps))
        assert (columns is None) == (refused is not None), name
        if columns is None:
            continue
        for done, step in enumerate(steps, start=1):
            tell = framework.run_add_pod if step.sign > 0 else framework.run_remove_pod
            assert step.pod is not None
            assert tell(state, pod, step.pod, here.what_if(steps[:done])) is None
        status = framework.run_filter(state, pod, here.what_if(steps)) or Status()
        assert said(status) == columns, name
