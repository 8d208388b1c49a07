"""What a release's process is: one record of everything in which it differs from the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from kubescheduler.config.component_format import is_address
from kubescheduler.config.format_1_20 import election_errors_1_20
from kubescheduler.framework.contract.profile import LeaderElection
from kubescheduler.framework.document_schema import FieldError, invalid, required
from kubescheduler.live.events import EventRules
from kubescheduler.live.flags import Flag, FlagValues
from kubescheduler.live.informer_rules import InformerRules
from kubescheduler.live.klog import LogLine, structured
from kubescheduler.live.leadership import ElectionRules, LockKind
from kubescheduler.live.metrics.process_metrics import ReleaseMetrics
from kubescheduler.live.process.log_lines import AttemptLines, DumpLines
from kubescheduler.live.serving.scheduler_servers import ServingRules, port_problems
from kubescheduler.live.writes import WriteRules


class ProcessRules(msgspec.Struct, frozen=True, eq=False):
    """In what the processes of the releases differ."""

    started: Callable[[str], LogLine]
    """Of the version: the first line."""
    lost: LogLine
    """The last line of one that lost the lock."""
    lost_status: int
    ended: LogLine
    """The last line of one that was asked to end."""
    failed: Callable[[str], LogLine | None]
    """Of the text of what went wrong in the set-up: the line, None where the bare text is written."""
    raised: Callable[[str, str], str]
    """Of what was under way, and the text or traceback of what was raised: what is written."""
    wrote: Callable[[str], LogLine]
    """Of the path of a configuration that was written: the line."""
    no_server: str
    """The warning when neither a kubeconfig nor a server is given."""
    no_configuration: str
    """The error when there is no service account either."""
    version_first: bool
    """Whether ``--version`` is answered before positional arguments are refused (1.16, 1.20)."""
    goes_on_with_arguments: bool = False
    """Whether positional arguments are refused without ending the process (1.16)."""
    arguments_text: Callable[[tuple[str, ...]], str] = lambda _: "arguments are not supported"
    """Of the positional arguments: what is said of them."""


NEITHER = "Neither --kubeconfig nor --master was specified."
NOTHING = "invalid configuration: no configuration has been provided"


def arguments_1_36(arguments: tuple[str, ...]) -> str:
    """Of 1.36: cobra's text."""
    named = " ".join(structured(argument) for argument in arguments)
    return f'Error: "kube-scheduler" does not take any arguments, got [{named}]'


FlagFaults = Callable[[FlagValues, LeaderElection], list[str]]
"""Of (flags, the leader election that they say): every fault, in order."""
ElectionFaults = Callable[[LeaderElection], Iterator[FieldError]]


def faults_1_16(flags: FlagValues, election: LeaderElection) -> list[str]:
    """The component configuration of the flags, the ports, then the deprecated flags."""
    return [
        *_weight(flags, "not in valid range 0-100"),
        *map(str, election_errors_1_20(election)),
        *port_problems(flags),
        *_address(flags),
        *_legacy_policy(flags),
    ]


def faults_1_20(flags: FlagValues, election: LeaderElection) -> list[str]:
    """The same with the range of the weight as it is written now, and metrics."""
    return [
        *map(str, election_errors_1_20(election)),
        *port_problems(flags),
        *_address(flags),
        *_legacy_policy(flags),
        *_weight(flags, "not in valid range [0-100]"),
        *_hidden_1_20(flags),
    ]


def faults_1_36(flags: FlagValues, election: LeaderElection) -> list[str]:  # noqa: ARG001
    """1.36 looks at the election of its own defaults here, which has no fault."""
    return [*port_problems(flags), *_hidden_1_36(flags)]


def _address(flags: FlagValues) -> Iterator[str]:
    if not is_address(flags["address"]):
        yield f"--address {flags['address']} is an invalid IP address"


def _legacy_policy(flags: FlagValues) -> Iterator[str]:
    if flags["use-legacy-policy-config"] and not flags["policy-config-file"]:
        yield str(required("policyConfigFile", "required when --use-legacy-policy-config is true"))


def _weight(flags: FlagValues, text: str) -> Iterator[str]:
    weight = flags["hard-pod-affinity-symmetric-weight"]
    if not 0 <= weight <= 100:
        yield str(invalid("hardPodAffinitySymmetricWeight", weight, text))


HIDDEN_SHOWN_1_20, HIDDEN_SHOWN_1_36 = frozenset({"", "1.19"}), frozenset({"", "1.35"})
"""Of which versions the metrics that are hidden since then can be shown: the one before."""


def _hidden_1_20(flags: FlagValues) -> Iterator[str]:
    if HIDDEN_SHOWN_1_20.isdisjoint({flags["show-hidden-metrics-for-version"]}):
        text = "must be omitted or have the value '1.19'. Only the previous minor version is allowed"
        yield f"--show-hidden-metrics-for-version {text}"


def _hidden_1_36(flags: FlagValues) -> Iterator[str]:
    version = flags["show-hidden-metrics-for-version"]
    if HIDDEN_SHOWN_1_36.isdisjoint({version}):
        text = "must be omitted or have the value '1.35'; only the previous minor version is allowed"
        yield str(invalid("metrics.showHiddenMetricsForVersion", version, text))


class LiveRelease(msgspec.Struct, frozen=True, eq=False):
    """One release as a process."""

    name: str
    """As in ``RELEASES``: the release that decides."""
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
    recorded: str = ""
    """The release whose process this is, where that is another one: flags, metrics, API groups and writes are its."""

    @property
    def recorded_note(self) -> str:
        """What a release that runs as another one says of it at its start; empty for one that runs as itself."""
        if not self.recorded:
            return ""
        return (
            f"Release {self.name} decides; flags, metrics, API groups and writes are those of {self.recorded}, "
            "the nearest release whose process was recorded"
        )
