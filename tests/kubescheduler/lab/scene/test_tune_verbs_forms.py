"""Forms of configurations, and their changes in the text."""

from __future__ import annotations

from typing import Any

import pytest

import kubescheduler as ks
from clusterstate.errors import ConfigError
from kubescheduler.core.decision import Decision
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.framework.contract.profile import Point
from kubescheduler.lab.form_rows import CONFIG, POLICY, SideText
from kubescheduler.lab.profile_form import running
from kubescheduler.lab.scene.tune_verbs import argued, form_of, toggled, weighed
from tests.support.releases_tried import RELEASES_TRIED

CONFIG_1_36 = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler   # ours
  plugins:
    score:
      enabled:
      - name: ImageLocality
        weight: 4   # was 1
"""
POLICY_1_20 = "kind: Policy\napiVersion: v1\npriorities:\n- name: LeastRequestedPriority   # spread\n  weight: 2\n"


def decided(side: SideText) -> Decision:
    """A pod that two nodes fit."""
    spec = side.spec
    cluster = ks.Cluster(release=side.release).node("a", cpu=4).node("b", cpu=2)
    given: dict[str, Any] = {"policy": spec.policy, "config": spec.component, "provider": spec.provider}
    return ks.Scheduler(cluster, **given).decide(ks.pod("web", cpu=1))


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_a_form_says_what_the_engine_does(release: str) -> None:
    """Its weights are those of a decision, its checks those that run."""
    side = SideText(EngineSpec(release))
    form = form_of(side)
    assert {row.id: row.weight for row in form.rules if row.on} == decided(side).weights
    assert all(row.text for row in (*form.rules, *form.checks))


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_every_weight_can_be_changed(release: str) -> None:
    """Of a provider, which is written out first; the other weights stay."""
    side = SideText(EngineSpec(release))
    weights = dict(decided(side).weights)
    for rule in weights:
        assert decided(weighed(side, {rule: 7})).weights == {**weights, rule: 7}


def test_a_provider_is_written_out_with_all_it_does() -> None:
    """The Policy or configuration in its place decides alike, and the change is said."""
    for release, provider, kind in (
        ("1.4", "DefaultProvider", POLICY),
        ("1.16", "ClusterAutoscalerProvider", POLICY),
        ("1.20", "ClusterAutoscalerProvider", CONFIG),
    ):
        side = SideText(EngineSpec(release), text=provider)
        rule = next(row for row in form_of(side).rules if row.on)
        out = weighed(side, {rule.id: 9})
        assert out.kind == kind
        assert any("is written as the" in note for note in out.notes)
        assert decided(out).weights == {**decided(side).weights, rule.id: 9}
        before, after = ([(row.id, row.on) for row in form_of(each).checks] for each in (side, out))
        assert before == after


def test_the_users_own_words_stay() -> None:
    """An entry of the score point is changed where it stands; others are added there."""
    side = SideText(EngineSpec("1.36"), CONFIG, CONFIG_1_36)
    out = weighed(side, {"ImageLocality": 5, "NodeResourcesFit": 3})
    assert "weight: 5   # was 1" in out.text
    assert "default-scheduler   # ours" in out.text
    assert decided(out).weights == {**decided(side).weights, "ImageLocality": 5, "NodeResourcesFit": 3}
    assert out.notes == ()


def test_a_policy_of_a_release_with_plugins() -> None:
    """Its priorities are changed by their own names, or those of their plugins."""
    side = SideText(EngineSpec("1.20"), POLICY, POLICY_1_20)
    for name in ("LeastRequestedPriority", "NodeResourcesLeastAllocated"):
        out = weighed(side, {name: 6})
        assert "# spread\n  weight: 6" in out.text
        assert decided(out).weights == {"NodeResourcesLeastAllocated": 6}
    more = toggled(side, "MostRequestedPriority", on=True)
    assert decided(more).weights == {"NodeResourcesLeastAllocated": 2, "NodeResourcesMostAllocated": 1}
    without = toggled(side, "MatchInterPodAffinity", on=False)
    assert [row.id for row in form_of(side).checks if row.on and row not in form_of(without).checks] == [
        "MatchInterPodAffinity"
    ]


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_what_can_be_switched_off_comes_back(release: str) -> None:
    """Every check and rule that is not fixed goes and comes, and nothing else changes."""
    side = SideText(EngineSpec(release))
    form = form_of(side)
    for row, point in [*((row, "score") for row in form.rules), *((row, "filter") for row in form.checks)]:
        if row.fixed or not row.on:
            continue
        off = toggled(side, row.id, on=False, point=point)
        rows = form_of(off).rules if point == "score" else form_of(off).checks
        assert [each.id for each in rows if not each.on] == [
            each.id for each in (form.rules if point == "score" else form.checks) if not each.on or each.id == row.id
        ]
        back = toggled(off, row.id, on=True, point=point)
        assert {each.id for each in form_of(back).checks if each.on} == {each.id for each in form.checks if each.on}


FAULTS = {
    "fixed": ("1.16", lambda side: toggled(side, "CheckNodeUnschedulable", on=False), "always runs it"),
    "needed": ("1.36", lambda side: toggled(side, "DefaultBinder", on=False), "a profile needs a plugin at bind"),
    "unknown": ("1.36", lambda side: toggled(side, "NodeFit", on=False), "there is no such plugin"),
    "unknown priority": ("1.4", lambda side: weighed(side, {"LeastRequested": 3}), "did you mean"),
    "zero": ("1.20", lambda side: weighed(side, {"ImageLocality": 0}), "1 or more"),
    "too large": ("1.16", lambda side: weighed(side, {"ImageLocalityPriority": 2**62}), "overflown"),
    "no such point": ("1.36", lambda side: toggled(side, "NodeName", on=False, point="x"), "no extension point x"),
    "not there": ("1.36", lambda side: toggled(side, "NodeName", on=False, point="score"), "cannot run at score"),
    "args": (
        "1.36",
        lambda side: argued(side, "NodeResourcesFit", {"scoringStrategy": {"type": "Most"}}),
        "Unsupported value",
    ),
}


@pytest.mark.parametrize(("release", "change", "text"), FAULTS.values(), ids=FAULTS.keys())
def test_what_the_release_does_not_take_is_refused(release: str, change: object, text: str) -> None:
    """With its reason."""
    assert callable(change)
    with pytest.raises(ConfigError, match=text):
        change(SideText(EngineSpec(release)))


def test_args_are_read_back() -> None:
    """The form shows the values that count, with the choices that the release has."""
    side = SideText(EngineSpec("1.36"), CONFIG, CONFIG_1_36)
    out = argued(side, "NodeResourcesFit", {"scoringStrategy": {"type": "MostAllocated"}})
    fields = {
        field.path: field for one in form_of(out).arguments if one.rule == "NodeResourcesFit" for field in one.fields
    }
    kind = fields["scoringStrategy.type"]
    assert (kind.type, kind.value, kind.default) == ("choice", "MostAllocated", "LeastAllocated")
    assert set(kind.choices) == {"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"}
    assert decided(side).host == "a"
    assert decided(out).host == "b"


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_every_argument_of_the_form_can_be_written(release: str) -> None:
    """By the path that the form gives it, one after the other: the values that count are written, and count then."""
    side = SideText(EngineSpec(release))
    before = form_of(side).arguments
    for one in before:
        for field in one.fields:
            side = argued(side, one.rule, {field.path: field.value})
    assert form_of(side).arguments == before


def test_an_argument_leaves_the_others_alone() -> None:
    """Within its object and beside it; without a value it is not said, and what is empty then goes too."""
    side = SideText(EngineSpec("1.36"), CONFIG, CONFIG_1_36)
    most = argued(side, "NodeResourcesFit", {"scoringStrategy.type": "MostAllocated"})
    both = argued(most, "NodeResourcesFit", {"ignoredResources": ["example.com/gpu"]})
    cpu = argued(both, "NodeResourcesFit", {"scoringStrategy.resources": [{"name": "cpu", "weight": 3}]})
    assert cpu.document()["profiles"][0]["pluginConfig"] == [
        {
            "name": "NodeResourcesFit",
            "args": {
                "scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 3}]},
                "ignoredResources": ["example.com/gpu"],
            },
        }
    ]
    unsaid = argued(cpu, "NodeResourcesFit", {"scoringStrategy.type": None, "scoringStrategy.resources": None})
    assert unsaid.document()["profiles"][0]["pluginConfig"][0]["args"] == {"ignoredResources": ["example.com/gpu"]}
    policy = "kind: Policy\napiVersion: v1\npriorities:\n- name: Zone\n  weight: 1\n"
    policy += "  argument: {serviceAntiAffinity: {label: zone}}\n"
    zones = argued(SideText(EngineSpec("1.16"), POLICY, policy), "Zone", {"serviceAntiAffinity.label": "rack"})
    assert zones.document()["priorities"][0]["argument"] == {"serviceAntiAffinity": {"label": "rack"}}


def test_a_plugin_leaves_one_point_alone() -> None:
    """With a point named, it goes from there."""
    side = toggled(SideText(EngineSpec("1.36")), "TaintToleration", on=False, point="score")
    points = running(side.spec).points["TaintToleration"]
    assert Point.FILTER in points
    assert Point.SCORE not in points
