"""The rows of a form: rules with weights, checks, other plugins, and what can be said to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from algorithmprovider.rule_docs import rule_text

CUSTOM_PAGE = "docs/how-to/write-your-own-rules.md"
"""Where docs/ tell of rules that users write."""


class Row(msgspec.Struct, frozen=True):
    """A check, a priority or a plugin."""

    id: str
    """As the configuration names it."""
    text: str
    """What it does, in its first sentence; empty for a rule without documentation."""
    on: bool
    """Whether it runs."""
    page: str
    """Where docs/ describe it."""
    fixed: str = ""
    """Why it cannot be switched on or off; empty when it can."""
    points: tuple[str, ...] = ()
    """The extension points where it takes part; empty for predicates and priorities."""
    weight: int | None = None
    """What its scores are multiplied by; None for what does not score, or is off."""
    most: int | None = None
    """The largest weight that the release takes, the other ones unchanged; the smallest is 1."""
    plugin: str = ""
    """The name under which a decision has its scores, if that is another one."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        out: dict[str, Any] = {"id": self.id, "title": self.id, "text": self.text, "on": self.on, "page": self.page}
        if self.most is not None:
            out |= {"weight": self.weight, "min": 1, "max": self.most}
        optional = {"fixed": self.fixed, "points": list(self.points), "plugin": self.plugin}
        return out | {key: value for key, value in optional.items() if value}


class ArgumentField(msgspec.Struct, frozen=True):
    """One key of a rule's arguments."""

    path: str
    """Keys from the arguments down, with dots between."""
    type: str
    """int, number, bool, text, choice, list or object."""
    value: Any
    """What counts now."""
    default: Any
    """What counts when nothing is said."""
    choices: tuple[str, ...] = ()
    """The values that the release takes, of a choice."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        out = {"path": self.path, "type": self.type, "value": self.value, "default": self.default}
        return out | ({"choices": list(self.choices)} if self.choices else {})


class RuleArguments(msgspec.Struct, frozen=True):
    """The arguments of one rule."""

    rule: str
    """The plugin, or the entry of a Policy."""
    fields: tuple[ArgumentField, ...]
    """By key."""
    text: str = ""
    """What the keys mean, in Markdown."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {"rule": self.rule, "text": self.text, "schema": [field.to_dict() for field in self.fields]}


class Form(msgspec.Struct, frozen=True):
    """Everything that a configuration can be changed in."""

    rules: tuple[Row, ...] = ()
    """What scores."""
    checks: tuple[Row, ...] = ()
    """What refuses nodes."""
    others: tuple[Row, ...] = ()
    """Plugins that do neither."""
    arguments: tuple[RuleArguments, ...] = ()
    """By rule."""
    profile: str | None = None
    """The profile that the form shows; None for predicates and priorities."""
    profiles: tuple[str, ...] = ()
    """All profiles."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "profile": self.profile,
            "profiles": list(self.profiles),
            "rules": [row.to_dict() for row in self.rules],
            "checks": [row.to_dict() for row in self.checks],
            "others": [row.to_dict() for row in self.others],
            "args": [one.to_dict() for one in self.arguments],
        }


def first_sentence(*rules: Callable[..., Any] | None) -> str:
    """The first sentence of a rule's documentation, in one line. rules: the same one of some releases, the newest
    first, whose text says it all."""
    text = next((rule_text(rule) for rule in rules if rule is not None), "")
    flat = " ".join(text.partition("\n\n")[0].split())
    end = flat.find(". ")
    return flat if end < 0 else flat[: end + 1]


def largest(allowed: Callable[[int], bool], most: int) -> int:
    """The largest whole number from 1 to ``most`` that is allowed, where every smaller one is too; 1 if none is."""
    low, high = 1, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if allowed(middle) else (low, middle - 1)
    return low
