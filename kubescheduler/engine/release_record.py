"""What a release is: one record of everything in which it differs from the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.queue.pending_pods import queue_order

if TYPE_CHECKING:
    from clusterstate.manifests.decode import Prepare
    from clusterstate.manifests.strictness import Accepted
    from clusterstate.objects import Pod
    from clusterstate.release_view import ReleaseView
    from kubescheduler.config.gates import ReleaseGates
    from kubescheduler.engine.daemon_controllers import DaemonController
    from kubescheduler.engine.framework_rules import FrameworkRules
    from kubescheduler.engine.legacy_rules import LegacyRules
    from kubescheduler.extender.wire import WireFormat
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
    """Of all gates: what its API server takes."""
    top_score: int
    """The most points that a node gets from one priority or Score plugin: 10 or 100."""
    queue_order: Callable[[Iterable[Any]], list[Pod]] = queue_order
    """The pending pods among some objects, in the order in which a queue that sees them all at once gives them out."""
    decoding: Prepare | None = None
    """The defaults that the scheduler's own decoder fills in, on top of what is stored."""
    process_defaults: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Key of a configuration → what the process does where nothing is said, if later releases do otherwise."""
    legacy: LegacyRules | None = None
    """The rules of a release that decides by predicates and priorities."""
    framework: FrameworkRules | None = None
    """The rules of a release that decides by plugins in profiles."""

    def accepted_values(self, gates: Mapping[str, bool] | str | None = None) -> Accepted:
        """What its API server takes. gates: away from their defaults, also as the flag has them.

        Raises ConfigError for gates that the release does not know.
        """
        every = self.gates.parse(gates) if isinstance(gates, str) else self.gates.resolve(gates or {})
        return self.accepted(every)

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
    def wire(self) -> WireFormat:
        """How extenders are called."""
        return self.framework.wire if self.framework is not None else self.legacy_rules.wire

    @property
    def reads_policies(self) -> bool:
        """Whether a Policy or the name of a provider says what decides."""
        return self.framework is None or self.framework.policies is not None
