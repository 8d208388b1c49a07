"""Whether a configuration can be used, in the words and in the order of release 1.20, before anything is merged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kubecel.api_names import go_quote
from kubescheduler.config.component.config_checks import (
    client_errors,
    lease_errors,
    lock_names,
    number_errors,
    parallelism_errors,
    profile_errors,
)
from kubescheduler.config.component.config_defaults import is_address, split_host_port
from kubescheduler.config.extender_checks import extender_errors_1_20
from kubescheduler.framework.args.field_errors import INVALID, FieldError, invalid, literal_list, show
from kubescheduler.framework.contract.go_durations import format_duration
from kubescheduler.framework.contract.profile import Enabled, Point

if TYPE_CHECKING:
    from kubescheduler.framework.contract.profile import LeaderElection, PluginSet, Profile, SchedulerConfig

PORTS = range(1, 65536)
_INTEGER = re.compile(r"[+-]?\d{1,18}")


def validate_1_20(config: SchedulerConfig) -> list[FieldError]:
    """Upstream: 1.20 ``ValidateKubeSchedulerConfiguration``."""
    return [
        *client_errors(config),
        *election_errors_1_20(config.leader_election),
        *parallelism_errors(config),
        *profile_errors(config.profiles, lambda _: iter(())),
        *_queue_sort_errors(config.profiles),
        *_address_errors("healthzBindAddress", config.healthz_bind_address),
        *_address_errors("metricsBindAddress", config.metrics_bind_address),
        *number_errors(config),
        *extender_errors_1_20(config.extenders),
    ]


def election_errors_1_20(election: LeaderElection) -> Iterator[FieldError]:
    """What 1.20 refuses in a leader election that is on."""
    if not election.leader_elect:
        return
    text = "LeaseDuration must be greater than RenewDeadline"
    yield from lease_errors(election, format_duration, equal=True, order_text=text)
    for name, value in lock_names(election).items():
        if not value:
            yield invalid(f"leaderElection.{name}", "", f"{name} is required")


def _queue_sort_errors(profiles: Sequence[Profile]) -> Iterator[FieldError]:
    member = Point.QUEUE_SORT.value
    for at, profile in enumerate(profiles):
        found = profile.sets.get(member)
        if found != profiles[0].sets.get(member):
            shown = go_quote("null") if found is None else _literal(found)
            yield FieldError(f"profiles[{at}].plugins.queueSort", "has to match for all profiles", INVALID, shown)


def _literal(plugins: PluginSet) -> str:
    enabled = literal_list("config.Plugin", plugins.enabled, _plugin)
    disabled = literal_list("config.Plugin", [Enabled(name) for name in plugins.disabled], _plugin)
    return f"config.PluginSet{{Enabled:{enabled}, Disabled:{disabled}}}"


def _plugin(plugin: Enabled) -> str:
    return f"config.Plugin{{Name:{go_quote(plugin.name)}, Weight:{plugin.weight}}}"


def _address_errors(path: str, address: str) -> Iterator[FieldError]:
    parts = split_host_port(address)
    if parts is None:
        text = "must be a valid socket address format, (e.g. 0.0.0.0:10254 or [::]:10254)"
        yield FieldError(path, text, INVALID, show(address))
        return
    host, port = parts
    if (int(port) if _INTEGER.fullmatch(port) else 0) not in PORTS:
        yield invalid(path, address, "must be between 1 and 65535, inclusive")
    if not is_address(host):
        yield invalid(path, address, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")
