"""FrameworkScheduler: deciding by a profile, with PostFilter when nothing fits. ``profile_attempt`` has the steps."""

from __future__ import annotations

from clusterstate.growable import IntArray
from clusterstate.objects import Pod
from kubescheduler.core.decision import Decision
from kubescheduler.framework.contract.cycle_state import CycleState
from kubescheduler.framework.deciding.opportunistic_batch import Turn
from kubescheduler.framework.deciding.profile_attempt import ProfileScheduler


class FrameworkScheduler(ProfileScheduler):
    """Decides where pods go in one cluster by one profile. Upstream: 1.20 and 1.36 genericScheduler.

    ``schedule`` changes nothing in the cluster; ``cache.assume_pod`` places the pod it decided on.
    """

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
        attempt = self.attempt(pod, cycle, thorough=thorough, turn=turn)
        decision = attempt.decide()
        if not preempt or decision.host is not None or decision.error is not None:
            return decision
        return attempt.post_filter(decision)

    def scores_on(self, pod: Pod, rows: IntArray) -> Decision:
        """See ``GenericScheduler.scores_on``."""
        return self.fresh().attempt(pod, thorough=True, instead=rows).decide()
