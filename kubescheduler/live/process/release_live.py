"""What a release's process is: one record of everything in which it differs from the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from clusterstate.errors import ConfigError
from kubescheduler.live.flags.flag_parsing import Flag
from kubescheduler.live.flags.release_flags import FLAGS_1_16, FLAGS_1_20, FLAGS_1_36
from kubescheduler.live.informers import informer_rules
from kubescheduler.live.informers.informer_rules import InformerRules
from kubescheduler.live.leadership import election_rules, resource_locks
from kubescheduler.live.leadership.election_rules import ElectionRules
from kubescheduler.live.leadership.resource_locks import LockKind
from kubescheduler.live.metrics import release_metrics
from kubescheduler.live.metrics.release_metrics import ReleaseMetrics
from kubescheduler.live.process import attempt_lines, cache_dump, flag_checks, process_rules
from kubescheduler.live.process.attempt_lines import AttemptLines
from kubescheduler.live.process.cache_dump import DumpLines
from kubescheduler.live.process.flag_checks import ElectionFaults, FlagFaults
from kubescheduler.live.process.process_rules import ProcessRules
from kubescheduler.live.recording import event_rules
from kubescheduler.live.recording.event_rules import EventRules
from kubescheduler.live.serving import serving_rules
from kubescheduler.live.serving.serving_rules import ServingRules
from kubescheduler.live.writes import write_rules
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
        metrics=release_metrics.METRICS_1_16,
        flags=FLAGS_1_16,
        no_lock=resource_locks.no_lock_1_16,
        lock="endpoints",
        faults=flag_checks.faults_1_16,
        loaded_faults=flag_checks.no_loaded_faults,
        process=process_rules.RULES_1_16,
        attempts=attempt_lines.LINES_1_16,
        dumps=cache_dump.DUMPS_1_16,
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
        metrics=release_metrics.METRICS_1_20,
        flags=FLAGS_1_20,
        no_lock=resource_locks.no_lock_1_16,
        lock="leases",
        faults=flag_checks.faults_1_20,
        loaded_faults=flag_checks.no_loaded_faults,
        process=process_rules.RULES_1_20,
        attempts=attempt_lines.LINES_STRUCTURED,
        dumps=cache_dump.DUMPS_1_16,
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
        metrics=release_metrics.METRICS_1_36,
        flags=FLAGS_1_36,
        no_lock=resource_locks.no_lock_1_36,
        lock="leases",
        faults=flag_checks.faults_1_36,
        loaded_faults=flag_checks.loaded_faults_1_36,
        process=process_rules.RULES_1_36,
        attempts=attempt_lines.LINES_STRUCTURED,
        dumps=cache_dump.DUMPS_1_36,
    ),
}
"""Release → its process."""


def live_release(name: str) -> LiveRelease:
    """Raises ConfigError for a release that cannot run."""
    found = LIVE.get(name)
    if found is None:
        raise ConfigError(f"release {name} decides here but does not run; those that run are {', '.join(LIVE)}")
    return found
