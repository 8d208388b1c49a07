"""What is wrong with the values of flags, in the words and in the order of each release. Upstream: Options.Validate."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator

from kubescheduler.config.component.config_checks_1_20 import election_errors_1_20
from kubescheduler.config.component.config_checks_1_36 import election_errors_1_36
from kubescheduler.framework.args.field_errors import FieldError, invalid, required
from kubescheduler.framework.contract.profile import LeaderElection
from kubescheduler.live.flags.flag_parsing import FlagValues
from kubescheduler.live.serving.serving_settings import port_problems

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


def loaded_faults_1_36(election: LeaderElection) -> Iterator[FieldError]:
    """What 1.36 finds in the election of a file, with the flags that override it."""
    return election_errors_1_36(election)


def no_loaded_faults(_: LeaderElection) -> Iterator[FieldError]:
    """1.16 and 1.20 let no flag override a file."""
    return iter(())


def _address(flags: FlagValues) -> Iterator[str]:
    if not _is_address(flags["address"]):
        yield f"--address {flags['address']} is an invalid IP address"


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _legacy_policy(flags: FlagValues) -> Iterator[str]:
    if flags["use-legacy-policy-config"] and not flags["policy-config-file"]:
        yield str(required("policyConfigFile", "required when --use-legacy-policy-config is true"))


def _weight(flags: FlagValues, text: str) -> Iterator[str]:
    weight = flags["hard-pod-affinity-symmetric-weight"]
    if not 0 <= weight <= 100:
        yield str(invalid("hardPodAffinitySymmetricWeight", weight, text))


def _hidden_1_20(flags: FlagValues) -> Iterator[str]:
    if flags["show-hidden-metrics-for-version"] not in ("", "1.19"):
        text = "must be omitted or have the value '1.19'. Only the previous minor version is allowed"
        yield f"--show-hidden-metrics-for-version {text}"


def _hidden_1_36(flags: FlagValues) -> Iterator[str]:
    version = flags["show-hidden-metrics-for-version"]
    if version not in ("", "1.35"):
        text = "must be omitted or have the value '1.35'; only the previous minor version is allowed"
        yield str(invalid("metrics.showHiddenMetricsForVersion", version, text))
