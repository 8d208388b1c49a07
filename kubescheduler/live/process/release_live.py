"""What a release's process is: one record of everything in which it differs from the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from kubescheduler.live.flags.flag_parsing import Flag
from kubescheduler.live.informers.informer_rules import InformerRules
from kubescheduler.live.leadership.election_rules import ElectionRules
from kubescheduler.live.leadership.resource_locks import LockKind
from kubescheduler.live.metrics.release_metrics import ReleaseMetrics
from kubescheduler.live.process.attempt_lines import AttemptLines
from kubescheduler.live.process.cache_dump import DumpLines
from kubescheduler.live.process.flag_checks import ElectionFaults, FlagFaults
from kubescheduler.live.process.process_rules import ProcessRules
from kubescheduler.live.recording.event_rules import EventRules
from kubescheduler.live.serving.serving_rules import ServingRules
from kubescheduler.live.writes.write_rules import WriteRules


class LiveRelease(msgspec.Struct, frozen=True, eq=False):
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
    no_lock: Callable[[str], str]
    """The text for any other ``resourceLock``."""
    lock_timeout: float
    """Seconds of a request for the lock, as a part of the renew deadline."""
    serving: ServingRules
    metrics: ReleaseMetrics
    flags: tuple[Flag, ...]
    """Of its command line."""
    lock: str
    """The ``resourceLock`` when nobody says another one."""
    faults: FlagFaults
    """What is wrong with the values of flags."""
    loaded_faults: ElectionFaults
    """What is wrong with the election of a file and the flags that override it."""
    process: ProcessRules
    """How it starts and ends."""
    attempts: AttemptLines
    """What its log says of attempts."""
    dumps: DumpLines
    """What it writes when it is asked for a dump."""
