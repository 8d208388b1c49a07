"""The records of the releases."""

from __future__ import annotations

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.releases.lookup import RELEASES, live_release, newest, recorded_processes
from kubescheduler.releases.names import FRAMEWORK_RELEASES, LEGACY_RELEASES, POLICY_RELEASES, RELEASE_NAMES


@pytest.mark.parametrize("name", RELEASE_NAMES)
def test_record(name: str) -> None:
    """Every release that is named has a record, which decides in exactly one way."""
    record = RELEASES[name]
    assert record.name == name
    assert (record.legacy is None) != (record.framework is None)


def test_kinds_of_releases() -> None:
    """What is listed without loading records is what the records say."""
    assert [n for n in RELEASES if RELEASES[n].legacy is not None] == [*LEGACY_RELEASES]
    assert [n for n in RELEASES if RELEASES[n].framework is not None] == [*FRAMEWORK_RELEASES]
    assert [n for n in RELEASES if RELEASES[n].reads_policies] == [*POLICY_RELEASES]
    assert newest(["1.4", "1.36", "1.16"]).name == "1.36"


@pytest.mark.parametrize("name", RELEASE_NAMES)
def test_parts_of_a_record(name: str) -> None:
    """Asking for the rules of the other kind says what the release has instead."""
    record = RELEASES[name]
    with pytest.raises(ConfigError, match=f"release {name}"):
        _ = record.framework_rules if record.framework is None else record.legacy_rules


def test_points_of_plugins() -> None:
    """The plugins of a release take part in points that it has."""
    for name in FRAMEWORK_RELEASES:
        rules = RELEASES[name].framework_rules
        assert {point for points in rules.points_by_plugin.values() for point in points} <= {*rules.points}


@pytest.mark.parametrize("name", RELEASE_NAMES[1:])
def test_processes(name: str) -> None:
    """Every release but 1.4 runs: as itself where its process was recorded, else as one of its kind, and says so."""
    live, record = live_release(name), RELEASES[name]
    assert (live.name, live.metrics.version) == (name, live.version)
    assert live.version == f"v{record.version}"
    assert bool(live.recorded_note) == (name not in recorded_processes())
    if live.recorded:
        kind = RELEASES[live.recorded]
        assert (kind.framework is None, kind.reads_policies) == (record.framework is None, record.reads_policies)
        assert live.recorded_note.startswith(
            f"Release {name} decides; flags, metrics, API groups and writes are those of "
        )


def test_a_release_that_does_not_run() -> None:
    """It is refused with those that do."""
    with pytest.raises(ConfigError, match=r"release 1\.4 decides here but does not run; those that run are 1\.13, "):
        live_release("1.4")
