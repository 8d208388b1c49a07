"""A scheduler for tests: it decides, it runs on, and what it did can be asserted on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterstate.errors import DecodeError, InputError
from clusterstate.objects import Pod
from kubescheduler.api.scheduler import Scheduler
from kubescheduler.core.decision import Decision
from kubescheduler.core.failed_attempts import gave_up
from kubescheduler.engine.engine_contract import PodScheduler
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.testing.arguments import attempt
from kubescheduler.testing.cluster_argument import SharedCluster, key_of, pods_of, running_among
from kubescheduler.testing.explanations import why_not
from kubescheduler.testing.running_session import judgement
from kubescheduler.testing.usage_errors import UsageErrors


class UndecidedError(InputError):
    """An error ended the attempt of a pod."""


class Placements(dict[str, str | None]):
    """Pod (``namespace/name``) → node, None for a pod without one; in the order in which they were placed.

    decisions: pod → the decision behind it.
    """

    def __init__(self, decisions: Mapping[str, Decision]) -> None:
        super().__init__({key: decision.host for key, decision in decisions.items()})
        self.decisions = dict(decisions)

    def differences(self, expected: Mapping[Any, Any]) -> list[str]:
        """What differs from the expected hosts, explained by the decisions; several lines a pod."""
        lines = []
        for key, host in expected.items():
            if key not in self:
                lines.append(f"{key}: expected {shown(host)}, but it is not among the pods")
            elif self[key] != host:
                lines += [f"{key}: expected {shown(host)}, found {shown(self[key])}"]
                lines += [f"  {line}" for line in why_not(self.decisions[key], host)]
        lines += [f"{key}: not expected, found {shown(host)}" for key, host in self.items() if key not in expected]
        return lines


def shown(host: Any) -> str:
    """A host as messages name it."""
    return "no node" if host is None else str(host)


class Placer:
    """A scheduler with its own copy of a cluster; ``place`` changes it, ``schedule`` does not.

    spec, cluster: what it was made of. running: the scheduler itself, with its ``cache`` and ``algorithm``.
    notes: what its configuration had to say. Raises InputError with every fault of the configuration and the cluster.
    """

    def __init__(self, spec: EngineSpec, cluster: SharedCluster) -> None:
        problems: list[str] = []
        self.spec = spec
        self.cluster = cluster
        self.notes: list[str] = []
        engine = attempt(problems, spec.engine, self.notes.append)
        found = attempt(problems, cluster.cluster_for, spec.release)
        if engine is None or found is None:
            raise DecodeError(problems)
        self.running: PodScheduler = Scheduler.of_engine(engine, found).running

    def __repr__(self) -> str:
        return f"<Placer of release {self.spec.release}>"

    def schedule(
        self, pod: Any, *, thorough: bool = False, preempt: bool = False, validate: str | None = None
    ) -> Decision:
        """The decision on one pod, given as object, manifest, YAML text or file name; the cluster stays as it is.

        thorough: have every check judge every node. preempt: say which pods would have to go for one that fits nowhere.
        validate: what unknown fields of the manifest are, ``strict``, ``warn`` or ``ignore``; by default as the marker
        or the setting says it.
        Raises pytest.UsageError with every fault.
        """
        __tracebackhide__ = True
        with UsageErrors():
            pods = self._pods(pod, validate)
            if len(pods) > 1:
                raise DecodeError(
                    f"schedule takes one pod, found {', '.join(map(key_of, pods))}; use place for several"
                )
            return self.running.decide(pods[0], thorough=thorough, preempt=preempt)

    def place(self, *pods: Any, validate: str | None = None) -> Placements:
        """Decides one pod after the other; each that has a node runs there from then on.

        validate, and what is raised: as for ``schedule``; also when an error ends an attempt, as of a pod that nobody
        decided on it is not known whether it has a node.
        """
        __tracebackhide__ = True
        decisions: dict[str, Decision] = {}
        with UsageErrors():
            for pod in self._pods(pods, validate):
                decision = decisions[key_of(pod)] = self.running.decide(pod, in_sequence=True)
                if gave_up(decision):
                    raise UndecidedError(f"no decision on {key_of(pod)}: {decision.message}")
                if decision.host is not None:
                    self.running.cache.assume_pod(pod, decision.host)
        return Placements(decisions)

    def _pods(self, given: Any, validate: str | None) -> list[Pod]:
        found = pods_of(given, self.cluster, self.spec.release, validate=judgement(validate), gates=self.spec.gates)
        if problems := list(running_among(found.pods, self.running.cache.pods())):
            raise DecodeError(problems)
        for obj in found.objects:
            self.running.cache.add(obj)
        return found.pods


def explained(left: object, right: object) -> list[str] | None:
    """What ``assert left == right`` shows if one of the two is placements; None for anything else."""
    found, expected = (left, right) if isinstance(left, Placements) else (right, left)
    if not isinstance(found, Placements) or not isinstance(expected, Mapping):
        return None
    lines = found.differences(expected)
    pods = len({key for key in (*found, *expected) if found.get(key, found) != expected.get(key, expected)})
    return [f"{pods} of {len(found)} pods are elsewhere than expected", *lines] if lines else None
