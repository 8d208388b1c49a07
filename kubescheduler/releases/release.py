"""What a release is: one record of everything in which it differs from the others.

One that is near its predecessor is a file with a list of what it changed of it::

    CHANGES = (
        change(
            "taint-toleration-counts-triple",
            "TaintToleration weighs 3 by default.",
            ChangeKind.WEIGHT,
            edits.plugin("TaintToleration", default_weight=3),
        ),
    )
    RELEASE = after(v1_22.RELEASE, "1.23", CHANGES)

What no change names is inherited. The edits that changes are made of are in ``edits``.
"""

from __future__ import annotations

import enum
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import msgspec

import algorithmprovider
from clusterstate.errors import ConfigError, nearest
from clusterstate.manifests.api_checks import checks_of_read
from clusterstate.manifests.unread import FIELDS
from kubescheduler.releases.names import TAKEN_BACK

if TYPE_CHECKING:
    from algorithmprovider.registry import Algorithms, Registry
    from clusterstate.cache import ClusterCache
    from clusterstate.manifests.decode import Prepare
    from clusterstate.manifests.fields import Accepted
    from clusterstate.objects import Pod
    from clusterstate.podinfo import ReleaseView
    from kubescheduler.config.component_format import ComponentFormat
    from kubescheduler.config.gates import ReleaseGates
    from kubescheduler.config.policy_1_20_plugins import PolicyRules
    from kubescheduler.config.policy_model import Policy, PolicyFault
    from kubescheduler.config.v1alpha1 import V1Alpha1Config
    from kubescheduler.core.algorithm import LegacyBehaviour
    from kubescheduler.core.selection import TieBreak
    from kubescheduler.cycle.cycle_rules import ReleaseCycles
    from kubescheduler.extender.wire import WireFormat
    from kubescheduler.framework.contract.frame import CyclePlugins
    from kubescheduler.framework.contract.handle import Services
    from kubescheduler.framework.contract.profile import Point
    from kubescheduler.framework.deciding.find_nodes import FrameworkDecisionRules
    from kubescheduler.framework.plugins.plugin_record import InTree
    from kubescheduler.framework.profile_map import ProfileRules
    from kubescheduler.live.process.release_live import LiveRelease
    from kubescheduler.live.release_flags import Flags
    from kubescheduler.queue.entry import Clock
    from kubescheduler.queue.queue_policy import QueuePolicy
    from kubescheduler.queue.scheduling_queue import SchedulingQueue
    from kubescheduler.releases.daemon_controllers import DaemonController
    from kubescheduler.sources.cluster_input import Filling


class Release(msgspec.Struct, frozen=True, eq=False):
    """One release of kube-scheduler. It has either ``legacy`` or ``framework`` rules."""

    name: str
    """As people say it: 1.16. For display, and for the release's key in ``RELEASES``."""
    gates: ReleaseGates
    """The feature gates that concern scheduling, with their defaults."""
    view: Callable[[Mapping[str, bool]], ReleaseView]
    """Of all gates: how it reads objects, and what it counts of them."""
    filling: Filling
    """What its API server fills in."""
    daemons: DaemonController
    """What its DaemonSet controller does."""
    accepted: Callable[[Mapping[str, bool]], Accepted]
    """Of all gates: what its API server takes; what of pods it does not look at is added by ``reads``."""
    top_score: int
    """The most points that a node gets from one priority or Score plugin: 10 or 100."""
    wire: WireFormat
    """How extenders are called."""
    queue_order: Callable[[Iterable[Any]], list[Pod]]
    """The pending pods among some objects, in the order in which a queue that sees them all at once gives them out."""
    reads: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Field of pods that not every release looks at, by a name in ``clusterstate.manifests.unread.FIELDS`` → its
    feature gate, which is on where there is none, or no more."""
    decoding: Prepare | None = None
    """The defaults that the scheduler's own decoder fills in, on top of what is stored."""
    process_defaults: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Key of a configuration → what the process does where nothing is said, if later releases do otherwise."""
    legacy: LegacyRules | None = None
    """The rules of a release that decides by predicates and priorities."""
    framework: FrameworkRules | None = None
    """The rules of a release that decides by plugins in profiles."""
    live: Callable[[], LiveRelease] | None = None
    """Its process, read when one runs; None for a release that decides here but does not run."""
    flags: Callable[[], tuple[str, Flags]] | None = None
    """(the release whose process that is, its flags), which need nothing that only a process needs."""
    reads_gates_at_start: bool = False
    """Scenarios of ``evaluate`` speak of feature gates too late, as they did when the release was recorded: plugins
    have been registered by then, for which the release reads them once. Flags of a scheduler count.
    Upstream: 1.22 and later NewInTreeRegistry."""
    version: str = ""
    """The version whose answers were recorded: 1.36.2."""
    summary: str = ""
    """What it decides or reads otherwise than the one before it, in a few words."""
    made: Callable[[str, tuple[Change, ...]], Release] | None = None
    """Of another name and other changes: the release that the one before it becomes by them, all else as here. None for
    one that says everything itself."""
    changes: tuple[Change, ...] = ()
    """What it changed of the release before it, where its file says so one by one."""

    def accepted_values(self, gates: Mapping[str, bool] | str | None = None) -> Accepted:
        """What its API server takes. gates: away from their defaults, also as the flag has them.

        Raises ConfigError for gates that the release does not know.
        """
        every = self.gates.parse(gates) if isinstance(gates, str) else self.gates.resolve(gates or {})
        accepted, unread = self.accepted(every), self._unread(every)
        return attrs.evolve(accepted, checks=checks_of_read(accepted.checks, unread), unread=unread)

    def _unread(self, gates: Mapping[str, bool]) -> Mapping[str, str]:
        """Of a field nobody looks at its parts are not told apart."""
        off = {
            name: f"the feature gate {gate} is off" for name, gate in self.reads.items() if not gates.get(gate, True)
        }
        unknown = f"release {self.name} does not know it"
        unread = {name: off.get(name, unknown) for name in FIELDS if name in off or name not in self.reads}
        return {name: why for name, why in unread.items() if name.partition(".")[0] not in {*unread} - {name}}

    @property
    def legacy_rules(self) -> LegacyRules:
        """Raises ConfigError for a release that decides by plugins."""
        if self.legacy is None:
            raise ConfigError(f"release {self.name} decides by plugins in profiles, not by predicates and priorities")
        return self.legacy

    @property
    def framework_rules(self) -> FrameworkRules:
        """Raises ConfigError for a release that has no plugins."""
        if self.framework is None:
            raise ConfigError(f"release {self.name} has no component configuration to decide by")
        return self.framework

    @property
    def default_view(self) -> ReleaseView:
        """How it reads objects with every feature gate at its default."""
        return self.view(self.gates.resolve({}))

    @property
    def reads_policies(self) -> bool:
        """Whether a Policy or the name of a provider says what decides."""
        return self.framework is None or self.framework.policies is not None


# --- what a release changed ---------------------------------------------------------------------


class ChangeKind(enum.Enum):
    """What sort of thing a change is about."""

    FILTER = "filter"
    SCORE = "score"
    WEIGHT = "weight"
    ORDER = "order"
    REASON = "reason text"
    PREEMPTION = "preemption"
    QUEUE = "queue"
    CONFIGURATION = "configuration"
    GATE = "gate"
    PLUGIN = "plugin added or gone"
    POLICY = "provider or Policy"


class Change(msgspec.Struct, frozen=True, eq=False):
    """One thing that a release does otherwise than the one before it."""

    name: str
    """A name that stays, in small letters with hyphens."""
    text: str
    """One sentence of what is different."""
    kind: ChangeKind
    edit: Callable[[Release], Release]
    """What it puts in place of what the release before it had."""
    source: str = ""
    """Upstream's pull request or KEP, where it is known."""


Edit = Callable[[Release], Release]
"""A release → the same with something else in it."""


# --- by predicates and priorities ---------------------------------------------------------------


class LegacyLoop(msgspec.Struct, frozen=True, eq=False):
    """One release's loop, apart from its decisions."""

    queue: Callable[[Clock, ClusterCache, QueuePolicy], SchedulingQueue]
    """Where pods wait to be tried; the clock counts seconds since the start."""
    policy: QueuePolicy
    """How they do."""
    cycle: ReleaseCycles
    """What happens to a pod between its decision and its node."""
    steps: Callable[[Services], CyclePlugins]
    """What is done about the pod at the points of the cycle."""


class LegacyRules(msgspec.Struct, frozen=True, eq=False):
    """What makes a release that decides by predicates and priorities: from text to an algorithm, and its attempts."""

    algorithms: Callable[[], Algorithms]
    """Gives its predicates, priorities and providers; a function, so that what decides by plugins imports none."""
    read_file: Callable[[Path], dict[str, Any] | None]
    """A policy file's document; None when there is no such file, and the provider decides."""
    parse: Callable[..., Policy]
    """``parse(document, release=, strict=, every_problem=False)``: a document's Policy.

    release: whose rules it is read by, for what is told. every_problem: raises with every fault and its path. strict:
    so too, and keys that the release ignores are faults."""
    faults: Callable[..., Iterator[PolicyFault]]
    """``faults(policy, predicates, priorities, hard_weight=, defaults=)``: in the order in which the release looks for
    them; of the registered names, the configured weight, and the default provider's priorities with their weights."""
    hard_weight_error: Callable[[int], str | None]
    """The text for a weight of required pod affinity out of range; None when all is well."""
    total_weight_error: Callable[[Mapping[str, int]], str | None]
    """The text for weights whose sum is too large."""
    failure_domains_error: Callable[[Iterable[str]], str | None]
    """The text for ``--failure-domains`` that are no labels."""
    from_provider: Callable[[str], str]
    """What stands before the texts of what cannot be made from the provider of that name."""
    from_policy: str
    """What stands before the texts of what cannot be made from a policy."""
    unknown_predicate: str
    """The text for a provider's predicate that is not registered, with ``{}`` for its key."""
    unknown_priority: str
    """The same for a priority."""
    read_component: Callable[..., V1Alpha1Config] | None
    """``read_component(document, release, strict=False)``: how ``--config`` is read; None when there is no such flag.
    strict: keys that the release ignores are faults."""
    absent_means_default: bool
    """A list that a policy leaves out is the default provider's."""
    config_maps: bool
    """A policy may come from a ConfigMap."""
    legacy_policy_flag: bool
    """There is a flag ``--use-legacy-policy-config``."""
    samples: bool
    """The search may end once enough nodes fit."""
    every_check: bool
    """All predicates run on every node, always."""
    gated_predicates: frozenset[str]
    """Names that policies for other feature gates have; they are translated all the same."""
    gated_priorities: frozenset[str]
    """The same for priorities."""
    behaviour: LegacyBehaviour
    """How an attempt goes, apart from predicates and priorities."""
    read_at_start: frozenset[str]
    """The feature gates of which scenarios of ``evaluate`` speak too late, when everything is registered already, as
    they did when the release was recorded; as flags of a scheduler they count."""
    loop: Callable[[], LegacyLoop]
    """What surrounds its decisions; a function, so that what only decides imports none of it."""

    def registry(self, gates: Mapping[str, bool]) -> Registry:
        """Its predicates, priorities and providers under these feature gates, with what users registered on top."""
        return algorithmprovider.registry(self.algorithms(), gates)


# --- by plugins in profiles ---------------------------------------------------------------------


class FrameworkRules(msgspec.Struct, frozen=True, eq=False):
    """One release's plugins, and what runs them."""

    profiles: ProfileRules
    """How the frameworks of the profiles are made, and react to what plugins answer."""
    deciding: FrameworkDecisionRules
    """How a decision is made, apart from plugins."""
    cycle: Callable[[], ReleaseCycles]
    """What happens between choosing a node and binding to it."""
    queue: Callable[[], QueuePolicy]
    """How pods wait to be tried; a function, so that what only decides imports none of it."""
    upstream_tie: Callable[[random.Random], TieBreak]
    """The release's own choice among equal totals."""
    component: ComponentFormat
    """How component configurations are read, checked and written."""
    cannot_make: str = ""
    """What stands before the texts of what cannot be made, where no policy and no provider is named."""
    policies: PolicyRules | None = None
    """How it reads policies and names of providers; None when only a component configuration says what decides."""

    @property
    def plugins(self) -> InTree:
        """Name → record of every plugin that comes with the scheduler."""
        return self.component.plugins

    @property
    def points(self) -> tuple[Point, ...]:
        """The extension points, in the order they run."""
        return self.component.points

    @property
    def policy_rules(self) -> PolicyRules:
        """Raises ConfigError for a release that reads no policies."""
        if self.policies is None:
            raise ConfigError(f"release {self.component.release} reads no policies and knows no providers")
        return self.policies

    @property
    def points_by_plugin(self) -> dict[str, frozenset[Point]]:
        """Name → the extension points in which the plugin takes part."""
        return {name: plugin.points for name, plugin in self.plugins.items()}


def without(release: Release, change: str) -> Release:
    """The release with one of its changes taken back. Raises ConfigError for a name that none of them has."""
    names = [each.name for each in release.changes]
    if release.made is None or change not in names:
        text = f"release {release.name} has no change {change}{nearest(change, names)}"
        raise ConfigError(f"{text}; kubescheduler releases --about TEXT lists changes")
    rest = tuple(each for each in release.changes if each.name != change)
    return release.made(f"{release.name}{TAKEN_BACK}{change}", rest)
