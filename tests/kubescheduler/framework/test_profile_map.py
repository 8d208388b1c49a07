"""The map of profiles, with every check of both releases."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from clusterstate.errors import ConfigError
from kubescheduler.core.status import Status
from kubescheduler.framework.contract.profile import Enabled, Point, Profile
from kubescheduler.framework.profile_map import build_profiles
from kubescheduler.releases.lookup import release_named
from tests.support.build import make_pod
from tests.support.deciders import Binder, Sort, answers, plugin, profile_of, registry_of, services_of

OTHER = plugin("Other", **answers(less=True))
PLUGINS = [Sort(), Binder(), OTHER]
PROFILE = profile_of([Sort(), Binder()])
BOTH = ["1.20", "1.36"]


def named(name: str, profile: Profile = PROFILE, **fields: Any) -> Profile:
    return msgspec.structs.replace(profile, scheduler_name=name, **fields)


def without(profile: Profile, point: Point) -> Profile:
    return msgspec.structs.replace(
        profile, plugins={p: entries for p, entries in profile.plugins.items() if p is not point}
    )


def built(release: str, *profiles: Profile) -> Any:
    return build_profiles(
        profiles, registry_of(PLUGINS), release_named(release).framework_rules.profiles, services_of(release)
    )


def fault(release: str, *profiles: Profile) -> str:
    with pytest.raises(ConfigError) as raised:
        built(release, *profiles)
    return str(raised.value)


@pytest.mark.parametrize("release", BOTH)
def test_pods_name_their_profile(release: str) -> None:
    """A pod that names none is the default scheduler's, one of another name nobody's."""
    profiles = built(release, named("default-scheduler"), named("b"))
    assert list(profiles) == ["default-scheduler", "b"]
    assert len(profiles) == 2
    assert profiles.of(make_pod()) is profiles["default-scheduler"]
    assert profiles.of(make_pod(scheduler_name="b")) is profiles["b"]
    assert profiles.of(make_pod(scheduler_name="c")) is None
    assert profiles["b"].handle.profile_name == "b"
    assert profiles.pre_enqueue(make_pod(scheduler_name="c")) is None


def test_the_profiles_gate_and_sort() -> None:
    """PreEnqueue is the pod's own profile's, the order is common to all."""
    gate = plugin("Gate", **answers(pre_enqueue=Status.unschedulable("no")))
    gated = profile_of([Sort(), Binder(), gate])
    profiles = build_profiles(
        [named("a"), named("b", gated)],
        registry_of([*PLUGINS, gate]),
        release_named("1.36").framework_rules.profiles,
        services_of("1.36"),
    )
    assert profiles.pre_enqueue(make_pod(scheduler_name="a")) is None
    status = profiles.pre_enqueue(make_pod(scheduler_name="b"))
    assert status == Status.unschedulable("no").by("Gate")
    one, other = (SimpleNamespace(pod=make_pod(name=name)) for name in ("a", "b"))
    assert (profiles.less(one, other), profiles.less(other, one)) == (True, False)


OTHER_SORT = without(PROFILE, Point.QUEUE_SORT)
OTHER_SORT = msgspec.structs.replace(OTHER_SORT, plugins={**OTHER_SORT.plugins, Point.QUEUE_SORT: (Enabled("Other"),)})


@pytest.mark.parametrize("release", BOTH)
@pytest.mark.parametrize(
    ("profiles", "text"),
    [
        ([], "at least one profile is required"),
        ([named("")], "scheduler name is needed"),
        ([Profile("a")], 'plugins required for profile with scheduler name "a"'),
        ([named("a"), named("a")], 'duplicate profile with scheduler name "a"'),
        ([named("a"), named("b", OTHER_SORT)], 'different queue sort plugins for profile "b": "Other", first: "Sort"'),
        (
            [named("a"), named("b", plugin_config=(("Sort", {"x": 1}),))],
            'different queue sort plugin args for profile "b"',
        ),
        (
            [named("a", plugin_config=(("X", None), ("X", None)))],
            "creating profile for scheduler name a: repeated config for plugin X",
        ),
    ],
    ids=["none", "name", "plugins", "duplicate", "sort", "sort args", "framework"],
)
def test_faults(release: str, profiles: list[Profile], text: str) -> None:
    """Both releases say the same."""
    assert fault(release, *profiles) == text


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("1.20", 'one queue sort plugin required for profile with scheduler name "a"'),
        (
            "1.36",
            "creating profile for scheduler name a: only one queue sort plugin required for profile with "
            'scheduler name "a", but got 0',
        ),
    ],
)
def test_no_queue_sort(release: str, text: str) -> None:
    """1.36 notices when it makes the framework."""
    assert fault(release, named("a", without(PROFILE, Point.QUEUE_SORT))) == text


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("1.20", 'duplicate profile with scheduler name "a"'),
        (
            "1.36",
            "creating profile for scheduler name a: at least one bind plugin is needed for profile with "
            'scheduler name "a"',
        ),
    ],
)
def test_which_fault_comes_first(release: str, text: str) -> None:
    """1.20 checks before it makes a framework, 1.36 afterwards."""
    assert fault(release, named("a"), named("a", without(PROFILE, Point.BIND))) == text
