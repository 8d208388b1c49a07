"""What a release takes of the configuration that is written for it, and since when: read off the releases' records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache

from clusterstate.errors import ConfigError
from clusterstate.versions import number
from kubescheduler.config.component import component_config_from
from kubescheduler.config.component.component_format import ComponentFormat
from kubescheduler.config.component.config_schema import KIND
from kubescheduler.framework.contract.profile import Point
from kubescheduler.releases.lookup import RELEASES, changes_between
from kubescheduler.releases.names import FRAMEWORK_RELEASES
from kubescheduler.releases.release import Release


def format_of(release: str) -> ComponentFormat:
    """How a release with profiles reads and writes configurations. Raises ConfigError for any other."""
    return RELEASES[release].framework_rules.component


def later(before: str, to: str) -> None:
    """Raises ConfigError for a release that is not newer, or the same: nothing is migrated to an older one."""
    if number(to) < number(before):
        raise ConfigError(f"release {to} is older than {before}: configurations are migrated to later releases only")


def default_weights(form: ComponentFormat, version: str = "") -> dict[str, int]:
    """Score plugin → its weight, of those that run by default in a version that is read, by default the newest."""
    document = {"apiVersion": version or form.native, "kind": KIND}
    profile = component_config_from(document, form, all_problems=False).profiles[0]
    everywhere = {plugin.name: plugin.weight for plugin in profile.multi_point}
    scores = profile.plugins.get(Point.SCORE, ())
    return {plugin.name: plugin.weight or everywhere.get(plugin.name, 0) or 1 for plugin in scores}


def between(before: str, to: str) -> Iterator[Release]:
    """Every release there is after ``before`` up to ``to``, oldest first."""
    return (record for name, record in RELEASES.items() if number(before) < number(name) <= number(to))


def since(before: str, to: str, holds: Callable[[Release], bool]) -> str:
    """The first release after ``before`` up to ``to`` for which something holds; empty where there is none."""
    return next((record.name for record in between(before, to) if holds(record)), "")


def gone_since(plugin: str, before: str, to: str, *, policy: bool = False) -> str:
    """The first of these releases that writes configurations which cannot name a plugin; ``to`` where none is.

    policy: a Policy leads to it, which goes on as long as releases read policies and have it.
    """

    def lacks(record: Release) -> bool:
        if record.framework is None:
            return False
        form = record.framework.component
        return plugin not in form.plugins if policy and record.reads_policies else not form.takes(plugin)

    return since(before, to, lacks) or to


def has_provider(record: Release, name: str) -> bool:
    """Whether a release knows algorithm providers, and one of this name; the last lists are those of a version."""
    if record.framework is None:
        return True
    providers = record.framework.component.providers
    return record.reads_policies and len(providers) > 1 and name in providers


@cache
def made_by(before: str, to: str) -> Mapping[str, str]:
    """Name of a change → the release that made it, of all after ``before`` up to ``to``."""
    return {change.name: release.name for release, change in changes_between(before, to)}


def readers(version: str) -> list[str]:
    """The releases that read an apiVersion of profiles, oldest first."""
    return [name for name in FRAMEWORK_RELEASES if version in format_of(name).versions]
