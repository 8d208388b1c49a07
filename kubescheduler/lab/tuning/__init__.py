"""A scheduler's configuration, however it is described, as a form, and its changes in the text that was written.

``form_rows`` has what a form is made of, ``policy_form`` and ``profile_form`` the two kinds there are, ``text_patches``
how a text becomes another; what is asked of either kind comes together here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterstate.errors import ConfigError
from kubescheduler.framework.contract.profile import Point
from kubescheduler.lab.tuning.form_rows import CONFIG, POLICY, PROVIDER, Form, SideText
from kubescheduler.lab.tuning.policy_form import (
    ELSEWHERE,
    argued_policy,
    as_policy,
    policy_form,
    toggled_policy,
    weighed_policy,
)
from kubescheduler.lab.tuning.profile_form import (
    REFUSING,
    SCORING,
    argued_plugin,
    as_config,
    profile_form,
    toggled_plugin,
    weighed_profile,
)


def form_of(side: SideText, scheduler: str = "") -> Form:
    """Everything that can be changed. scheduler: the profile that is shown, by default the first one.

    Raises ConfigError with every problem of the text.
    """
    return policy_form(side) if has_policy_form(side) else profile_form(side, scheduler)


def has_policy_form(side: SideText) -> bool:
    """Whether it is predicates and priorities that are chosen, and not plugins."""
    return side.flags.record.framework is None or side.kind == POLICY


def written_out(side: SideText) -> SideText:
    """A provider as the Policy or the configuration that says the same; itself where it is one already.

    Raises ConfigError with every problem.
    """
    if side.text.strip() and side.kind != PROVIDER:
        return side
    return as_policy(side, set()) if has_policy_form(side) else as_config(side)


def weighed(side: SideText, weights: Mapping[str, int], scheduler: str = "") -> SideText:
    """With other weights of rules that score, the engine made and looked at.

    Raises ConfigError for a rule that does not score, and for a weight that the release does not take.
    """
    _refuse_fixed(side)
    if problems := [
        f"{name}: the weight has to be 1 or more, found {weights[name]}" for name in weights if weights[name] < 1
    ]:
        raise ConfigError(problems)
    return weighed_policy(side, weights) if has_policy_form(side) else weighed_profile(side, weights, scheduler)


def toggled(side: SideText, rule: str, *, on: bool, point: str = "", scheduler: str = "") -> SideText:
    """With a predicate, priority or plugin selected or not.

    point: of a plugin, ``score`` (and preScore), ``filter`` (and preFilter) or another extension point; empty: all.
    Raises ConfigError for a rule that there is not, or that has to stay.
    """
    _refuse_fixed(side)
    if has_policy_form(side):
        return toggled_policy(side, rule, on=on)
    return toggled_plugin(side, rule, _points(point), on=on, scheduler=scheduler)


def argued(side: SideText, rule: str, args: Mapping[str, Any], scheduler: str = "") -> SideText:
    """With other arguments of a rule. Raises ConfigError for a rule that there is not, and for the arguments."""
    _refuse_fixed(side)
    if has_policy_form(side):
        return argued_policy(side, rule, args)
    return argued_plugin(side, rule, args, scheduler)


def _refuse_fixed(side: SideText) -> None:
    if side.flags.record.framework is None and side.kind == CONFIG and side.text.strip():
        raise ConfigError(ELSEWHERE)


def _points(name: str) -> tuple[Point, ...]:
    known = {point.value: (point,) for point in Point} | {"score": SCORING, "filter": REFUSING, "": ()}
    if name not in known:
        raise ConfigError(f"point: there is no extension point {name}")
    return known[name]
