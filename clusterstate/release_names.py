"""The names of the releases there are, oldest first; what a release is stands in ``kubescheduler.engine.releases``."""

from __future__ import annotations

from enum import Flag, auto


class ConfiguredBy(Flag):
    """What says how a release decides."""

    POLICIES = auto()
    """A Policy, or the name of an algorithm provider."""
    PROFILES = auto()
    """A KubeSchedulerConfiguration, whose profiles list plugins."""


RELEASES_CONFIGURED_BY = {
    "1.4": ConfiguredBy.POLICIES,
    "1.16": ConfiguredBy.POLICIES,
    "1.20": ConfiguredBy.POLICIES | ConfiguredBy.PROFILES,
    "1.36": ConfiguredBy.PROFILES,
}
"""Every release, in the order they came out. The names are here so that listing them loads no record."""

RELEASE_NAMES = tuple(RELEASES_CONFIGURED_BY)
"""Of every release, in the order they came out."""

POLICY_RELEASES = tuple(name for name, by in RELEASES_CONFIGURED_BY.items() if ConfiguredBy.POLICIES in by)
"""Those that read policies."""

FRAMEWORK_RELEASES = tuple(name for name, by in RELEASES_CONFIGURED_BY.items() if ConfiguredBy.PROFILES in by)
"""Those that decide by plugins in profiles."""

LEGACY_RELEASES = tuple(name for name in RELEASE_NAMES if name not in FRAMEWORK_RELEASES)
"""Those that decide by predicates and priorities only."""

DEFAULT_RELEASE = "1.16"
"""The release that decides when nobody names one: the last one with predicates and priorities only."""
