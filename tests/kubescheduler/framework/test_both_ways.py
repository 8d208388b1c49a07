"""Plugins decide over columns; the Handle's runner asks them node by node. Both ways give the same answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterstate.cache import ClusterCache
from clusterstate.errors import SchedulingError
from clusterstate.objects import Pod
from clusterstate.snapshot import PodChange, Snapshot
from kubescheduler.core.status import Code, Status
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.contract.runner_results import PreFilterOutcome
from kubescheduler.framework.deciding.filter_plugins import Filtering
from kubescheduler.framework.deciding.find_nodes import answers, outside
from kubescheduler.framework.deciding.schedule_pod import FrameworkScheduler
from kubescheduler.framework.running.framework_runtime import Framework
from kubescheduler.framework.running.framework_services import Services
from kubescheduler.releases.lookup import release_named
from tests.support.deciders import frame
from tests.support.rich_worlds import POD_PARTS, RELEASES, DrawnCluster, in_tree, incoming, pod_of, worlds

CASES = pytest.mark.parametrize("release", RELEASES)
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
    return None if outcome.nodes is None or name in outcome.nodes else outside(outcome.plugins)


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
    decision = scheduler.schedule(pod)
    if decision.error is None and len(decision.feasible):
        decision = scheduler.schedule(pod, thorough=True)
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
@settings(max_examples=60)
@given(world=worlds(), pod=incoming, data=st.data())
def test_nodes_are_judged_and_scored_alike(release: str, world: DrawnCluster, pod: Pod, data: st.DataObject) -> None:
    """Verdicts, reasons, codes and scores of every plugin alone, and of all of them, do not depend on who asks."""
    cache, wanted = world.cache(release), asking(data, world, pod)
    for name, framework in frames(release, cache):
        same(name, by_columns(framework, cache, wanted), by_runner(framework, cache.snapshot(), wanted))


@CASES
@settings(max_examples=40)
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
    filtering = Filtering.of(
        pod, state, scheduler.compiled, cycle, cache, rules.filter_error, rules.rejected, scheduler.nominated
    )
    state.check(snapshot, log, cache.columns.published[1])
    try:
        found, code = filtering.judge(there, filtering.checks())
    except SchedulingError as error:
        return Code.Error, (str(error),)
    return code, tuple(reason for _, reasons in found for reason in reasons)


@CASES
@settings(max_examples=60)
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
