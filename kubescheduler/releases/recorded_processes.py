"""The processes whose traffic, flags and metrics were recorded: those of 1.16, 1.20 and 1.36.

A release between them runs as the one of its kind: 1.16 for predicates and priorities, 1.20 for profiles that policies
are read into as well, 1.36 for profiles alone. All is imported when one runs.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from kubescheduler.live.metrics.process_metrics import ReleaseMetrics
    from kubescheduler.live.process.release_live import LiveRelease, ProcessRules
    from kubescheduler.live.release_flags import Flags


def flags_1_16() -> tuple[str, Flags]:
    """(its name, the flags of its process)."""
    from kubescheduler.live.release_flags import FLAGS_1_16

    return "1.16", FLAGS_1_16


def flags_1_20() -> tuple[str, Flags]:
    """(its name, the flags of its process)."""
    from kubescheduler.live.release_flags import FLAGS_1_20

    return "1.20", FLAGS_1_20


def flags_1_36() -> tuple[str, Flags]:
    """(its name, the flags of its process)."""
    from kubescheduler.live.release_flags import FLAGS_1_36

    return "1.36", FLAGS_1_36


def metrics_1_16() -> ReleaseMetrics:
    """What its process exports."""
    from kubescheduler.live.metrics.loop_metrics import SUMMARIES, LoopMetrics116
    from kubescheduler.live.metrics.metric_families import ACCESS_1_16, FAMILIES_1_16, LIBRARIES_1_16
    from kubescheduler.live.metrics.process_metrics import ReleaseMetrics

    return ReleaseMetrics(
        version="v1.16.6",
        families=(*FAMILIES_1_16, *LIBRARIES_1_16, *ACCESS_1_16),
        loop=LoopMetrics116,
        resets=SUMMARIES,
    )


def process_1_16() -> ProcessRules:
    """How its process starts and ends, and what it says then."""
    from kubescheduler.live.klog import LogLine, Severity
    from kubescheduler.live.process import release_live

    return release_live.ProcessRules(
        started=lambda version: LogLine(Severity.INFO, f"Version: {version}", 1),
        lost=LogLine(Severity.FATAL, "leaderelection lost"),
        lost_status=255,
        ended=LogLine(Severity.INFO, "requested to terminate, exiting"),
        failed=lambda _: None,
        raised=lambda doing, text: f"{doing}: {text}".rstrip(),
        wrote=lambda path: LogLine(Severity.INFO, f"Wrote configuration to: {path}"),
        no_server=f"{release_live.NEITHER} Using default API client. This might not work.",
        no_configuration=release_live.NOTHING,
        version_first=True,
        goes_on_with_arguments=True,
    )


@cache
def live_1_16() -> LiveRelease:
    """Its process."""
    from kubescheduler.live import events, informer_rules, leadership, writes
    from kubescheduler.live.informer_rules import KINDS_1_16
    from kubescheduler.live.klog import LogLine, Severity
    from kubescheduler.live.process import log_lines, release_live
    from kubescheduler.live.process.release_live import LiveRelease
    from kubescheduler.live.serving import scheduler_servers
    from kubescheduler.live.serving.http_answers import refused_1_16
    from kubescheduler.live.serving.pages import configz_1_16

    versions = ("v1beta1", "v1")
    return LiveRelease(
        name="1.16",
        version="v1.16.6",
        informers=informer_rules.InformerRules(
            kinds=KINDS_1_16,
            streams_first=False,
            list_version=lambda _, __: "0",  # whatever the server's cache has
            asks_newest_when_expired=False,
            watches_again=lambda error: error.refused,
            pauses=lambda _, __: informer_rules.Pauses(),
            trouble=lambda kind, error: f"Failed to list *v1.{kind}: {error}",
        ),
        writes=writes.WriteRules(writes.put_1_16, writes.nominates, scheduler_servers.STAMPED, (), lambda _: False),
        events=events.EventRules(
            group_version="events.k8s.io/v1beta1",
            discovery_timeout="32s",
            metadata=scheduler_servers.STAMPED,
            source=lambda controller: {"component": controller},
            first_count=1,
            series=lambda count, last: {"count": count, "lastObservedTime": last, "state": ""},
            by_type=False,
            name=events.plain_name,
            says_related=True,
            core_component=False,
        ),
        election=leadership.ElectionRules(trusts_record=False, fast_path=False, log=leadership.log_1_16),
        locks=leadership.KINDS,
        no_lock=lambda name: f"couldn't create resource lock: Invalid lock-type {name}",
        lock_timeout=1.0,
        lock="endpoints",
        serving=scheduler_servers.ServingRules(
            health=scheduler_servers.health_1_16,
            configz=configz_1_16,
            metrics_type="text/plain; version=0.0.4; charset=utf-8",
            metrics_start=False,
            metrics_pages={},
            sets_verbosity=False,
            status_pages=False,
            refused=refused_1_16,
            token_reviews=scheduler_servers.token_reviews(versions, scheduler_servers.STAMPED),
            access_reviews=scheduler_servers.access_reviews(versions, scheduler_servers.STAMPED, []),
            remembered=1024,
            watches_trust=False,
            credential_id=False,
        ),
        metrics=metrics_1_16(),
        flags=flags_1_16()[1],
        faults=release_live.faults_1_16,
        loaded_faults=lambda _: iter(()),  # no flag overrides a file
        process=process_1_16(),
        attempts=log_lines.LINES_1_16,
        dumps=log_lines.DumpLines(
            started=LogLine(Severity.INFO, "cache comparer started", log_lines.STEPS),
            finished=LogLine(Severity.INFO, "cache comparer finished", log_lines.STEPS),
            mismatch=log_lines.mismatch_1_16,
            nodes=lambda text: f"Dump of cached NodeInfo\n{text}",
            queue=lambda _, text: f"Dump of scheduling queue:\n{text}",
        ),
    )


@cache
def live_1_20() -> LiveRelease:
    """Its process."""
    from kubescheduler.live import writes
    from kubescheduler.live.informer_rules import KINDS_1_20, GrowingPauses
    from kubescheduler.live.klog import LogLine, Severity, structured
    from kubescheduler.live.leadership import KINDS_1_20 as LOCKS_1_20
    from kubescheduler.live.leadership import log_1_20
    from kubescheduler.live.metrics.loop_metrics import NAMES_1_20, LoopMetrics
    from kubescheduler.live.metrics.metric_families import ACCESS_1_20, FAMILIES_1_20, LIBRARIES_1_20
    from kubescheduler.live.process import log_lines, release_live
    from kubescheduler.live.serving import scheduler_servers
    from kubescheduler.live.serving.http_answers import refused_1_36
    from kubescheduler.live.serving.pages import configz_1_20

    older = live_1_16()
    return replace(
        older,
        name="1.20",
        version="v1.20.15",
        informers=replace(
            older.informers,
            kinds=KINDS_1_20,
            list_version=lambda known, newest: "" if newest else known or "0",
            asks_newest_when_expired=True,
            pauses=GrowingPauses,
        ),
        writes=replace(
            older.writes, status=writes.patch_1_20, reads_first=lambda _: False
        ),  # patches need only what changes
        events=replace(
            older.events,
            group_version="events.k8s.io/v1",
            source=lambda _: {},
            series=lambda count, last: {"count": count, "lastObservedTime": last},
            by_type=True,
        ),
        election=replace(older.election, log=log_1_20),
        locks=LOCKS_1_20,
        lock="leases",
        serving=replace(
            older.serving,
            configz=configz_1_20,
            metrics_pages={"/metrics/resources": "resources"},
            sets_verbosity=True,
            refused=refused_1_36,
            token_reviews=scheduler_servers.token_reviews(("v1",), scheduler_servers.STAMPED),
            access_reviews=scheduler_servers.access_reviews(
                ("v1",), scheduler_servers.STAMPED, scheduler_servers.IN_TIME
            ),
            remembered=8192,
            watches_trust=True,
        ),
        metrics=replace(
            older.metrics,
            version="v1.20.15",
            families=(*FAMILIES_1_20, *LIBRARIES_1_20, *ACCESS_1_20),
            loop=partial(LoopMetrics, names=NAMES_1_20),
            names=NAMES_1_20,
            resources="[ALPHA] ",
            resets=(),
        ),
        flags=flags_1_20()[1],
        faults=release_live.faults_1_20,
        process=replace(
            older.process,
            started=lambda version: LogLine(Severity.INFO, f"Starting Kubernetes Scheduler version {version}", 1),
            wrote=lambda path: LogLine(Severity.INFO, structured("Wrote configuration", file=path)),
            goes_on_with_arguments=False,
        ),
        attempts=log_lines.LINES_STRUCTURED,
    )


def metrics_1_36(older: ReleaseMetrics) -> ReleaseMetrics:
    """What its process exports."""
    from kubescheduler.live.metrics.loop_metrics import NAMES_1_36, LoopMetrics
    from kubescheduler.live.metrics.metric_families import ACCESS_1_36, FAMILIES_1_36, HEALTH_1_36, LIBRARIES_1_36
    from kubescheduler.live.metrics.process_metrics import AddressSpace, NetworkTraffic

    return replace(
        older,
        version="v1.36.2",
        families=(*FAMILIES_1_36, *LIBRARIES_1_36, *ACCESS_1_36),
        loop=partial(LoopMetrics, names=NAMES_1_36),
        rest_by_url=False,
        names=NAMES_1_36,
        health=HEALTH_1_36,
        resources="[STABLE] ",
        collectors=(AddressSpace(), NetworkTraffic()),
    )


def process_1_36(older: ProcessRules) -> ProcessRules:
    """How its process starts and ends, and what it says then."""
    from kubescheduler.live.klog import LogLine, Severity, structured
    from kubescheduler.live.process import release_live

    return replace(
        older,
        started=lambda version: LogLine(Severity.INFO, structured("Starting Kubernetes Scheduler", version=version)),
        lost=LogLine(Severity.ERROR, structured("Leaderelection lost")),
        lost_status=1,
        ended=LogLine(Severity.INFO, structured("Requested to terminate, exiting")),
        failed=lambda text: LogLine(Severity.ERROR, structured("command failed", err=text)),
        raised=lambda doing, text: structured("Observed a panic", doing=doing, err=text.rstrip()),
        no_server=f"{release_live.NEITHER}  Using the inClusterConfig.  This might not work.",
        no_configuration=f"{release_live.NOTHING}, try setting KUBERNETES_MASTER environment variable",
        version_first=False,
        arguments_text=release_live.arguments_1_36,
    )


@cache
def live_1_36() -> LiveRelease:
    """Its process."""
    from kubescheduler.config.format_1_36 import election_errors_1_34
    from kubescheduler.live import informer_rules, leadership, writes
    from kubescheduler.live.events import valid_name
    from kubescheduler.live.informer_rules import KINDS_1_36
    from kubescheduler.live.klog import LogLine, Severity, structured
    from kubescheduler.live.process import log_lines, release_live
    from kubescheduler.live.serving import scheduler_servers
    from kubescheduler.live.serving.pages import configz_1_36

    older = live_1_20()
    return replace(
        older,
        name="1.36",
        version="v1.36.2",
        informers=replace(
            older.informers,
            kinds=KINDS_1_36,
            streams_first=True,
            list_version=lambda known, newest: None if newest else known or "0",
            watches_again=lambda error: error.refused or error.code == 429,
            trouble=informer_rules.trouble_1_36,
            prepare=informer_rules.without_managed_fields,
        ),
        writes=replace(
            older.writes,
            status=writes.patch_1_36,
            binding_metadata={},
            retry_pauses=(0.01, 0.05, 0.25),
            retries=writes.passing,
        ),
        events=replace(
            older.events,
            discovery_timeout="",
            metadata={},
            first_count=2,
            name=valid_name,
            says_related=False,
            core_component=True,
        ),
        election=leadership.ElectionRules(trusts_record=True, fast_path=True, log=leadership.log_1_36),
        locks={"leases": leadership.KINDS["leases"]},
        no_lock=leadership.no_lock_1_36,
        lock_timeout=0.5,
        serving=replace(
            older.serving,
            health=scheduler_servers.health_1_36,
            configz=configz_1_36,
            metrics_type="text/plain; version=0.0.4; charset=utf-8; escaping=underscores",
            metrics_start=True,
            metrics_pages={"/metrics/resources": "resources", "/metrics/slis": "slis"},
            status_pages=True,
            token_reviews=scheduler_servers.token_reviews(("v1",), {}),
            access_reviews=scheduler_servers.access_reviews(("v1",), {}, scheduler_servers.IN_TIME),
            credential_id=True,
        ),
        metrics=metrics_1_36(older.metrics),
        flags=flags_1_36()[1],
        faults=release_live.faults_1_36,
        loaded_faults=lambda election: election_errors_1_34(election, ("leases",)),
        process=process_1_36(older.process),
        dumps=log_lines.DumpLines(
            started=LogLine(Severity.INFO, structured("Cache comparer started"), log_lines.STEPS),
            finished=LogLine(Severity.INFO, structured("Cache comparer finished"), log_lines.STEPS),
            mismatch=log_lines.mismatch_1_36,
            nodes=lambda text: structured("Dump of cached NodeInfo", nodes=text),
            queue=log_lines.queue_1_36,
        ),
    )
