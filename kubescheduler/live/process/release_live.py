"""What a release's process is: one record of everything in which it differs from the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from clusterstate.errors import ConfigError
from kubescheduler.live.flags.flag_parsing import Flag
from kubescheduler.live.flags.flag_tables import FLAGS_1_16, FLAGS_1_20, FLAGS_1_36
from kubescheduler.live.informers import informer_rules
from kubescheduler.live.informers.informer_rules import InformerRules
from kubescheduler.live.leadership import election_rules, resource_locks
from kubescheduler.live.leadership.election_rules import ElectionRules
from kubescheduler.live.leadership.resource_locks import LockKind
from kubescheduler.live.recording import event_rules
from kubescheduler.live.recording.event_rules import EventRules
from kubescheduler.live.serving import serving_rules
from kubescheduler.live.serving.serving_rules import ServingRules
from kubescheduler.live.writes import write_rules
from kubescheduler.live.writes.write_rules import WriteRules


@attrs.frozen(eq=False)
class LiveRelease:
    """One release as a process."""

    name: str
    """As in ``RELEASES``."""
    version: str
    """As its process says it: v1.36.2."""
    informers: InformerRules
    writes: WriteRules
    events: EventRules
    election: ElectionRules
    locks: Mapping[str, Sequence[LockKind]]
    """``resourceLock`` → the objects."""
    lock_timeout: float
    """Seconds of a request for the lock, as a part of the renew deadline."""
    serving: ServingRules
    flags: tuple[Flag, ...]
    """Of its command line."""


LIVE: dict[str, LiveRelease] = {
    "1.16": LiveRelease(
        name="1.16",
        version="v1.16.6",
        informers=informer_rules.RULES_1_16,
        writes=write_rules.RULES_1_16,
        events=event_rules.RULES_1_16,
        election=election_rules.RULES_1_16,
        locks=resource_locks.KINDS,
        lock_timeout=1.0,
        serving=serving_rules.RULES_1_16,
        flags=FLAGS_1_16,
    ),
    "1.20": LiveRelease(
        name="1.20",
        version="v1.20.15",
        informers=informer_rules.RULES_1_20,
        writes=write_rules.RULES_1_20,
        events=event_rules.RULES_1_20,
        election=election_rules.RULES_1_20,
        locks=resource_locks.KINDS_1_20,
        lock_timeout=1.0,
        serving=serving_rules.RULES_1_20,
        flags=FLAGS_1_20,
    ),
    "1.36": LiveRelease(
        name="1.36",
        version="v1.36.2",
        informers=informer_rules.RULES_1_36,
        writes=write_rules.RULES_1_36,
        events=event_rules.RULES_1_36,
        election=election_rules.RULES_1_36,
        locks={"leases": resource_locks.KINDS["leases"]},
        lock_timeout=0.5,
        serving=serving_rules.RULES_1_36,
        flags=FLAGS_1_36,
    ),
}
"""Release → its process."""


def live_release(name: str) -> LiveRelease:
    """Raises ConfigError for a release that cannot run."""
    found = LIVE.get(name)
    if found is None:
        raise ConfigError(f"release {name} decides here but does not run; those that run are {', '.join(LIVE)}")
    return found
