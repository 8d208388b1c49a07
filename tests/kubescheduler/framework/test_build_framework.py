"""Making frameworks from profiles: every check with the text of its release."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clusterstate.errors import ConfigError
from kubescheduler.framework.contract.profile import Enabled, PluginSet, Point, Profile
from kubescheduler.framework.profile_map import FrameworkConstruction, build_framework
from kubescheduler.releases.lookup import release_named
from tests.support.deciders import Binder, Sort, answers, frame, plugin, profile_of, registry_of, services_of

SORT, BINDER = Sort(), Binder()
SCORER = plugin("Scorer", **answers(score=1))
BOTH = ["1.20", "1.36"]


def construction_of(release: str) -> FrameworkConstruction:
    """How the release makes frameworks."""
    return release_named(release).framework_rules.profiles.construction


def built(release: str, profile: Profile, *plugins: Any) -> Any:
    registry = registry_of([SORT, BINDER, *plugins])
    return build_framework(profile, registry, construction_of(release), services_of(release))


def lists(*plugins: Any, **fields: Any) -> Profile:
    """A profile of a queue sort, a binder and these."""
    return profile_of([SORT, BINDER, *plugins], **fields)


def with_list(profile: Profile, point: Point, *entries: Enabled) -> Profile:
    return msgspec.structs.replace(profile, plugins={**profile.plugins, point: entries})


def fault(release: str, profile: Profile, *plugins: Any) -> str:
    with pytest.raises(ConfigError) as raised:
        built(release, profile, *plugins)
    return str(raised.value)


@pytest.mark.parametrize("release", BOTH)
def test_only_enabled_plugins_are_made(release: str) -> None:
    """A factory of a plugin that nobody enables is not called."""

    def never(*_: Any) -> Any:
        raise AssertionError

    registry = {**registry_of([SORT, BINDER]), "Other": never}
    framework = build_framework(lists(), registry, construction_of(release), services_of(release))
    assert set(framework.instances) == {"Sort", "Binder"}
    assert [p.name for p in framework.at(Point.BIND)] == ["Binder"]
    assert framework.at(Point.PERMIT) == ()


@pytest.mark.parametrize("release", BOTH)
def test_plugins_get_their_args_and_a_handle(release: str) -> None:
    """A factory sees the args of its plugin; the handle can run plugins once all are made."""
    seen: list[Any] = []

    def make(args: Any, handle: Any) -> Any:
        seen.extend((args, handle))
        return SCORER

    registry = {**registry_of([SORT, BINDER]), "Scorer": make}
    profile = lists(SCORER, plugin_config=(("Scorer", {"a": 1}), ("Sort", None)))
    framework = build_framework(profile, registry, construction_of(release), services_of(release))
    args, handle = seen
    assert args == {"a": 1}
    assert handle.runner is framework
    assert (handle.release, handle.profile_name) == (release, "default-scheduler")


@pytest.mark.parametrize("release", BOTH)
@pytest.mark.parametrize(
    ("profile", "text"),
    [
        (lists(plugin_config=(("X", None), ("X", None))), "repeated config for plugin X"),
        (with_list(lists(), Point.FILTER, Enabled("No")), 'FilterPlugin "No" does not exist'),
        (with_list(lists(), Point.SCORE, Enabled("Sort")), 'plugin "Sort" does not extend ScorePlugin plugin'),
        (
            with_list(lists(), Point.SCORE, Enabled("Scorer"), Enabled("Scorer")),
            'plugin "Scorer" already registered as "ScorePlugin"',
        ),
    ],
    ids=["config", "absent", "kind", "twice"],
)
def test_faults_of_lists(release: str, profile: Profile, text: str) -> None:
    """Both releases say the same."""
    assert fault(release, profile, SCORER) == text


@pytest.mark.parametrize(
    ("permit", "disabled", "everywhere", "text"),
    [
        ("Binder", (), ("Scorer", "Scorer"), 'plugin "Binder" does not extend PermitPlugin plugin'),
        (None, (), ("Scorer", "Scorer"), 'plugin "Scorer" already registered as "ScorePlugin"'),
        (None, (), ("No",), 'PreFilterPlugin "No" does not exist'),
        (None, ("preFilter",), ("No",), 'FilterPlugin "No" does not exist'),
    ],
    ids=["own-first", "twice", "absent", "absent-later"],
)
def test_faults_of_multi_point(
    permit: str | None, disabled: tuple[str, ...], everywhere: tuple[str, ...], text: str
) -> None:
    """What the points name themselves is looked at first, then multiPoint where a point does not disable all of it."""
    whole = lists()
    plugins = {**whole.plugins, Point.SCORE: tuple(Enabled(name) for name in everywhere if name == "Scorer")}
    sets = {point.value: PluginSet(whole.plugins[point]) for point in whole.plugins}
    sets |= {member: PluginSet((), ("*",)) for member in disabled}
    if permit is not None:
        plugins[Point.PERMIT] = (Enabled(permit),)
        sets["permit"] = PluginSet(plugins[Point.PERMIT])
    multi_point = tuple(Enabled(name) for name in everywhere)
    profile = msgspec.structs.replace(whole, plugins=plugins, sets=sets, multi_point=multi_point)
    assert fault("1.36", profile, SCORER) == text


@pytest.mark.parametrize("release", BOTH)
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ConfigError("no args"), 'initializing plugin "X": no args'),
        (ConfigError(["a", "b"]), 'initializing plugin "X": [a, b]'),
        (ValueError("bad"), 'initializing plugin "X": {place}ValueError: bad'),
        (KeyError(), 'initializing plugin "X": {place}KeyError'),
    ],
    ids=["one", "two", "foreign", "silent"],
)
def test_a_failing_factory(release: str, error: Exception, text: str) -> None:
    """Whatever a factory raises is a fault of the configuration."""

    def make(*_: Any) -> Any:
        raise error

    profile = with_list(lists(), Point.FILTER, Enabled("X"))
    with pytest.raises(ConfigError) as raised:
        build_framework(
            profile, {**registry_of([SORT, BINDER]), "X": make}, construction_of(release), services_of(release)
        )
    line = make.__code__.co_firstlineno + 1
    assert str(raised.value) == text.format(place=f"{__file__}, line {line}: ")


@pytest.mark.parametrize(
    ("release", "dropped", "text"),
    [
        ("1.20", Point.QUEUE_SORT, "no queue sort plugin is enabled"),
        ("1.20", Point.BIND, "at least one bind plugin is needed"),
        (
            "1.36",
            Point.QUEUE_SORT,
            'only one queue sort plugin required for profile with scheduler name "default-scheduler", but got 0',
        ),
        ("1.36", Point.BIND, 'at least one bind plugin is needed for profile with scheduler name "default-scheduler"'),
    ],
)
def test_what_every_profile_needs(release: str, dropped: Point, text: str) -> None:
    """A queue sort and a binder have to be there."""
    profile = lists()
    plugins = {point: entries for point, entries in profile.plugins.items() if point is not dropped}
    assert fault(release, msgspec.structs.replace(profile, plugins=plugins)) == text


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("1.20", "only one queue sort plugin can be enabled"),
        ("1.36", 'only one queue sort plugin required for profile with scheduler name "default-scheduler", but got 2'),
    ],
)
def test_two_queue_sorts(release: str, text: str) -> None:
    """There can be just one order."""
    other = plugin("Other", **answers(less=True))
    assert fault(release, lists(other), other) == text


def test_two_plugins_that_make_placements() -> None:
    """1.36 allows one."""
    makers = [plugin(name, **answers(generate_placements=None)) for name in "AB"]
    text = 'at most one placement generate plugin is allowed for profile with scheduler name "default-scheduler"'
    assert fault("1.36", lists(*makers), *makers) == text


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("1.20", "total score of Score plugins could overflow"),
        ("1.36", "score plugins: total score of Score plugins could overflow"),
    ],
)
def test_weights_that_could_overflow(release: str, text: str) -> None:
    """The sum of weight × 100 has to fit into 64 bits."""
    most = (2**63 - 1) // 100
    assert frame(release, SCORER, weights={"Scorer": most - 2}).score_weights["Scorer"] == most - 2
    assert fault(release, with_list(lists(), Point.SCORE, Enabled("Scorer", most + 1)), SCORER) == text


def test_placement_weights_that_could_overflow() -> None:
    """They are summed up on their own."""
    scorer = plugin("Place", **answers(score_placement=1))
    profile = with_list(lists(), Point.PLACEMENT_SCORE, Enabled("Place", 2**62))
    text = "placement score plugins: total score of Score plugins could overflow"
    assert fault("1.36", profile, scorer) == text


@pytest.mark.parametrize("release", BOTH)
def test_a_score_plugin_that_calls_itself_otherwise(release: str) -> None:
    """Weights go by the name that is enabled, scores by the plugin's own."""
    registry = {**registry_of([SORT, BINDER]), "Alias": lambda args, handle: SCORER}
    profile = with_list(lists(), Point.SCORE, Enabled("Alias", 2))
    with pytest.raises(ConfigError, match=r'^score plugin "Scorer" is not configured with weight$'):
        build_framework(profile, registry, construction_of(release), services_of(release))


def test_a_later_list_of_1_20_takes_the_weight_away() -> None:
    """A score plugin that also permits is listed there without a weight, and weighs 1."""
    both = plugin("Both", **answers(score=1, permit=(None, 0)), pre_score=lambda *_: None)
    assert frame("1.20", both, weights={"Both": 5}).score_weights["Both"] == 1
    early = plugin("Early", **answers(score=1, filter=None))
    assert frame("1.20", early, weights={"Early": 5}).score_weights["Early"] == 5


def test_weights_of_1_36_fall_back_on_multi_point() -> None:
    """The score list goes first, an entry without a weight counts 1, and only score plugins count."""
    one, two, three = (plugin(name, **answers(score=1)) for name in ("One", "Two", "Three"))
    profile = with_list(lists(one, two, three), Point.SCORE, Enabled("One", 7), Enabled("Two"), Enabled("Three"))
    multi = (Enabled("One", 3), Enabled("Two", 4), Enabled("Sort", 2**62), Enabled("Binder"))
    framework = built("1.36", msgspec.structs.replace(profile, multi_point=multi), one, two, three)
    assert framework.score_weights == {"One": 7, "Two": 1, "Three": 1}
    profile = msgspec.structs.replace(profile, plugins={**profile.plugins, Point.SCORE: (Enabled("One"),)})
    framework = built("1.36", msgspec.structs.replace(profile, multi_point=(Enabled("Two", 4),)), one, two)
    assert framework.score_weights == {"One": 1, "Two": 4}


def test_multi_point_names_a_plugin_that_does_not_exist() -> None:
    """It is missed at the first point."""
    profile = lists(multi_point=(Enabled("Nope"),))
    assert fault("1.36", profile) == 'PreFilterPlugin "Nope" does not exist'


@pytest.mark.parametrize("release", BOTH)
def test_plugins_cannot_be_run_while_they_are_made(release: str) -> None:
    """A factory that asks for the runner is told when it can have it."""
    registry = {**registry_of([SORT, BINDER]), "X": lambda args, handle: handle.runner}
    with pytest.raises(ConfigError, match=r'^initializing plugin "X": plugins cannot be run while they are made'):
        build_framework(
            with_list(lists(), Point.FILTER, Enabled("X")), registry, construction_of(release), services_of(release)
        )
