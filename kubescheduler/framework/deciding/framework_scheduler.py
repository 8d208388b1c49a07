"""FrameworkScheduler: one profile over one cluster, and what it remembers from pod to pod."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from clusterstate.cache import ClusterCache
from clusterstate.growable import IntArray
from clusterstate.objects import Pod
from clusterstate.podinfo import PodInfo
from clusterstate.snapshot import Snapshot
from kubescheduler.core.algorithm import Algorithm
from kubescheduler.core.class_states import Memory, Sharing
from kubescheduler.core.decision import Decision
from kubescheduler.core.extender_calls import Extender
from kubescheduler.core.nominated import NominatedMemory
from kubescheduler.core.preemption import PreemptionMemory
from kubescheduler.core.selection import FirstByName, TieBreak
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.contract.observer import Watch
from kubescheduler.framework.deciding.class_state import ProfileState
from kubescheduler.framework.deciding.compiled_profile import Compiled, Frame
from kubescheduler.framework.deciding.deciding_rules import FrameworkDecisionRules
from kubescheduler.framework.deciding.node_sampling import Sampler
from kubescheduler.framework.deciding.opportunistic_batch import Turn, TurnNumbers
from kubescheduler.framework.deciding.schedule_pod import Deciding

if TYPE_CHECKING:
    from kubescheduler.core.equal_runs import PlacedRun, RunAhead


class FrameworkScheduler:
    """Decides where pods go in one cluster by one profile. Upstream: 1.20 and 1.36 genericScheduler.

    ``schedule`` changes nothing in the cluster; ``cache.assume_pod`` places the pod it decided on.
    percentage: of nodes to score; 100: all, 0: adaptive.
    """

    def __init__(
        self,
        frame: Frame,
        cache: ClusterCache,
        rules: FrameworkDecisionRules,
        extenders: tuple[Extender, ...] = (),
        tie_break: TieBreak | None = None,
        percentage: int = 100,
        watch: Watch | None = None,
    ) -> None:
        """watch: what is told how long the plugins of a point took; None: nobody."""
        self.frame = frame
        self.cache = cache
        self.tie_break: TieBreak = tie_break or FirstByName()
        self.compiled = Compiled.of(frame, extenders, percentage)
        self.rules = rules
        self.watch = watch
        self.preemption = PreemptionMemory(cache)
        self.nominated = NominatedMemory(cache)
        self.sampler = Sampler()
        self.batch = rules.batching(frame, bool(extenders))
        self._memory = Memory(self.compiled.rules)
        self._fresh = partial(FrameworkScheduler, frame, cache, rules, extenders, None, percentage)

    @property
    def algorithm(self) -> Algorithm:
        """The column plugins and extenders, in the shape that legacy releases have."""
        return self.compiled.algorithm

    def schedule(
        self,
        pod: Pod,
        *,
        thorough: bool = False,
        preempt: bool = False,
        cycle: CycleState | None = None,
        turn: Turn | None = None,
    ) -> Decision:
        """Where the pod goes. Never raises for what a release reports: see ``Decision.message``.

        thorough: score also when just one node fits, run every Filter on every node, and try no nominated node first.
        preempt: when nothing fits, also run the PostFilter plugins. cycle: the attempt's state, if the caller keeps it.
        turn: which attempt it is of those of a scheduler that places one pod after the other; None: a question on its
        own, which no earlier attempt has a say in.
        """
        attempt = Deciding.of(self, pod, CycleState() if cycle is None else cycle, thorough=thorough, turn=turn)
        decision = attempt.decide()
        if not preempt or decision.host is not None or decision.error is not None:
            return decision
        return attempt.post_filter(decision)

    def place_run(
        self, pods: Sequence[Pod], is_held: Callable[[Pod], bool], numbers: TurnNumbers | None
    ) -> PlacedRun | None:
        """See ``GenericScheduler.place_run``. is_held: whether a PreEnqueue plugin holds a pod back.
        numbers: of the attempts of a scheduler that places one pod after the other; None: each is a question on its
        own."""
        from kubescheduler.framework.deciding.bulk_profile import placed_in_bulk

        return placed_in_bulk(self, pods, is_held, numbers)

    def run_ahead(self, pod: Pod, count: int, is_held: Callable[[Pod], bool]) -> RunAhead | None:
        """See ``GenericScheduler.run_ahead``. is_held: as for ``place_run``."""
        from kubescheduler.framework.deciding.bulk_profile import run_ahead

        return run_ahead(self, pod, count, is_held)

    def afresh(self, pod: Pod) -> Decision:
        """A decision that has no say in the choice among equal totals, nor in what is sampled next."""
        draws = not isinstance(self.tie_break, FirstByName)
        return (self._fresh() if draws else self).schedule(pod)

    def again(self, pod: Pod) -> Decision:
        """A thorough decision that has no say in the choice among equal totals, nor in what is sampled next."""
        return self._fresh().schedule(pod, thorough=True)

    def scores_on(self, pod: Pod, rows: IntArray) -> Decision:
        """See ``GenericScheduler.scores_on``."""
        return Deciding.of(self._fresh(), pod, CycleState(), thorough=True, instead=rows).decide()

    def state(self, info: PodInfo, snapshot: Snapshot) -> ProfileState:
        """What is kept for pods like one of this class."""
        state = self._memory.state(info, snapshot, self.cache.columns.log, self._new_state)
        assert isinstance(state, ProfileState)
        return state

    def _new_state(self, info: PodInfo, share: Sharing) -> ProfileState:
        return ProfileState(info, self.compiled, share)
