"""Whom a pod of a gang waits for: where its members would go if the scheduler placed them now, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from clusterstate.objects import Pod
from kubescheduler.api.cluster import Cluster
from kubescheduler.comparison.running_pods import runs
from kubescheduler.engine.engine_contract import Engine, PodScheduler, cache_for
from kubescheduler.framework.plugins.pod_groups import GANG_SCHEDULING, gang_of
from kubescheduler.releases.lookup import release_named


class WaitingMember(msgspec.Struct, frozen=True):
    """A member without a node."""

    pod: str
    """``namespace/name``."""
    node: str
    """Where it would go now, with the members before it placed; empty: nowhere."""
    message: str
    """Why nowhere, in the release's words."""
    reasons: Mapping[str, tuple[str, ...]]
    """Node → why it does not fit there, of one that goes nowhere."""


class GangMembers(msgspec.Struct, frozen=True):
    """A gang whose pods start together."""

    group: str
    """``namespace/name`` of its PodGroup."""
    needed: int
    """Members that have to have a node before any starts."""
    placed: tuple[str, ...]
    """Those that have one."""
    waiting: tuple[WaitingMember, ...]
    """Those that have none, in the order of the queue."""

    def sentences(self) -> Iterator[str]:
        """In words, a paragraph each."""
        every, fit = len(self.placed) + len(self.waiting), sum(bool(each.node) for each in self.waiting)
        have = f"{len(self.placed)} of the {every} there are have one"
        outcome = f"{fit} more would get one: enough" if len(self.placed) + fit >= self.needed else ""
        if not outcome:
            missing = f"{self.needed - every} more have to come, and " if every < self.needed else ""
            outcome = f"{missing}{fit} more would get one: all wait"
        yield f"It is of the gang {self.group}, which starts when {self.needed} pods have a node: {have}, {outcome}."
        for each in self.waiting:
            yield f"{each.pod} would go to {each.node}." if each.node else f"{each.pod} fits nowhere: {each.message}"


def gang_members(engine: Engine, cluster: Cluster, pod: Pod) -> GangMembers | None:
    """The gang of a pending pod; None where it is of none, or its profile does not hold gangs back.

    Each member is decided on with those before it on their nodes, as they are while Permit holds them; nobody is
    evicted for one.
    """
    gang = gang_of(pod)
    if gang is None or runs(pod):
        return None
    cache = cache_for(engine, cluster.objects)
    scheduler, group = engine.scheduler(cache), cache.objects.pod_groups.get(gang)
    holds = any(GANG_SCHEDULING in names for names in scheduler.points(pod).values())
    if not holds or group is None or group.min_count is None:
        return None
    members = [each for each in cluster.pods if gang_of(each) == gang]
    waiting: list[WaitingMember] = []
    for member in come_by(engine, scheduler, cluster, pod):
        decision = scheduler.decide(member)
        if decision.host is not None:
            cache.assume_pod(member, decision.host)
            waiting.append(WaitingMember(member.key, decision.host, "", {}))
        else:
            reasons = {node: tuple(said) for node, said in decision.reasons().items()}
            waiting.append(WaitingMember(member.key, "", decision.message, reasons))
    placed = tuple(sorted(each.key for each in members if runs(each)))
    return GangMembers("/".join(gang), group.min_count, placed, tuple(waiting))


def come_by(engine: Engine, scheduler: PodScheduler, cluster: Cluster, pod: Pod) -> list[Pod]:
    """Shows a scheduler the pods that wait with a pod of a gang, as its queue has: before, PreEnqueue holds all of them
    back. They are in the order of the queue; none for a pod of no gang."""
    gang = gang_of(pod)
    if gang is None:
        return []
    members = [each for each in cluster.pods if gang_of(each) == gang]
    queued = release_named(engine.release).queue_order(members)
    for member in queued:
        scheduler.decide(member)
    return queued
