"""The verb ``rule``: what a rule does, in the words of the documentation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from clusterstate.errors import nearest
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.scene_faults import SceneFault
from kubescheduler.lab.scene.verb_parameters import Parameters, parameters
from kubescheduler.report.rule_pages import RulePage, all_pages, without_links


class RuleParameters(Parameters, frozen=True):
    """Of ``rule``."""

    rule: str
    """Its name."""
    release: Literal["1.4", "1.16", "1.20", "1.36"]
    """Whose rule of that name."""


def rule(_: Scene, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The page of one rule. Raises SceneFault for a name that no release has: a custom rule, or an extender."""
    want = parameters(RuleParameters, asked)
    named = [page for page in _pages() if page.name == want.rule]
    if not named:
        names = sorted({page.name for page in _pages()})
        raise SceneFault(f"rule: there is no documentation of {want.rule}{nearest(want.rule, names)}")
    page = next((page for page in named if want.release in page.releases), named[0])
    return {
        "rule": page.name,
        "kind": page.kind,
        "releases": list(page.releases),
        "text": without_links(page.text),
        "facts": list(page.facts),
        "reasons": dict(page.reasons),
        "differs": {release: said for release, said in page.differs.items() if said},
        "page": page.page,
    }


@cache
def _pages() -> tuple[RulePage, ...]:
    return tuple(all_pages())
