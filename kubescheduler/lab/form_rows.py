"""A configuration as a form: the rows of its rules, the fields of their arguments, and the text that they stand for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any, Final, Literal

import msgspec

from kubescheduler.config.config_text import parse_first_document
from kubescheduler.config.go_decoding import GoDecoder
from kubescheduler.engine.spec import EngineSpec, no_notice
from kubescheduler.engine.spec_fields import SOURCES
from kubescheduler.framework.document_schema import BOOL, FLOAT, UNSUPPORTED, ArgsType, Kind, MapOf, Scalar, Struct
from kubescheduler.lab.text_patches import NORMALISED, rewritten
from kubescheduler.report.rule_pages import rule_text


class Row(msgspec.Struct, frozen=True):
    """A check, a priority or a plugin."""

    id: str
    """As the configuration names it."""
    text: str
    """What it does, in its first sentence; empty for a rule without documentation."""
    on: bool
    """Whether it runs."""
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
        out: dict[str, Any] = {"id": self.id, "title": self.id, "text": self.text, "on": self.on}
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


NOBODY = "no such value"
"""What no release takes; its refusal lists what it does take."""

_QUOTED = re.compile(r'"([^"]*)"')


def plugin_fields(args: ArgsType, gates: Mapping[str, bool], value: Mapping[str, Any]) -> Iterator[ArgumentField]:
    """Of a plugin. value: its arguments as a document."""
    struct = args.keys(gates)
    default = args.document(struct.build())
    for field in schema_fields(struct, value, default):
        found = choices(args, struct, field.path, default) if field.type == "text" else ()
        yield ArgumentField(field.path, "choice", field.value, field.default, found) if found else field


def schema_fields(
    struct: Struct, value: Mapping[str, Any], default: Mapping[str, Any], prefix: str = ""
) -> Iterator[ArgumentField]:
    """The single values and lists of an object, those of the objects in it with their paths."""
    for field in struct.fields:
        path = f"{prefix}{field.key}"
        now, usual = value.get(field.key), default.get(field.key)
        if isinstance(field.kind, Struct):
            inner, usually = (each if isinstance(each, Mapping) else {} for each in (now, usual))
            yield from schema_fields(field.kind, inner, usually, f"{path}.")
        else:
            yield ArgumentField(path, kind_name(field.kind), now, usual)


def kind_name(kind: Kind) -> str:
    """int, number, bool, text, list or object."""
    if isinstance(kind, Scalar):
        return "int" if kind.bits else {BOOL: "bool", FLOAT: "number"}.get(kind, "text")
    return "object" if isinstance(kind, MapOf | Struct) else "list"


def choices(args: ArgsType, struct: Struct, path: str, default: Mapping[str, Any]) -> tuple[str, ...]:
    """The texts that the release takes at a path, read from its refusal of another; empty where it takes any."""
    document = with_value(default, path.split("."), NOBODY)
    for error in args.errors(GoDecoder().decode(struct, document)):
        if error.path == path and error.kind == UNSUPPORTED:
            return tuple(_QUOTED.findall(error.detail))
    return ()


def with_value(document: Mapping[str, Any], path: list[str], value: Any) -> dict[str, Any]:
    """The document with another value at a path; None: without it, and without objects that held nothing else."""
    key, *rest = path
    inner = document.get(key)
    below = with_value(inner if isinstance(inner, Mapping) else {}, rest, value) if rest else value
    others = {each: kept for each, kept in document.items() if each != key}
    return others if below is None or (rest and not below) else {**document, key: below}


def with_values(document: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The same of several values, each by its path with dots, as an ``ArgumentField`` has it."""
    out = dict(document)
    for path, value in values.items():
        out = with_value(out, path.split("."), value)
    return out


SideKind = Literal["provider", "policy", "config"]
"""What a text may be: the name of an algorithm provider, a Policy, a KubeSchedulerConfiguration."""

PROVIDER: Final = "provider"
POLICY: Final = "policy"
CONFIG: Final = "config"


class SideText(msgspec.Struct, frozen=True):
    """One scheduler as somebody wrote it. Nothing here is checked before ``spec`` or ``engine`` is asked for."""

    flags: EngineSpec
    """What is said besides: release, feature gates, plugins; its own provider and documents do not count."""
    kind: SideKind = PROVIDER
    """What the text is."""
    text: str = ""
    """The provider's name, or the document; empty: the release's default."""
    notes: tuple[str, ...] = ()
    """What became of the text when it was last changed."""

    @property
    def release(self) -> str:
        """Whose rules decide."""
        return self.flags.release

    @property
    def spec(self) -> EngineSpec:
        """The description of the scheduler. Raises ConfigError for text that cannot be read."""
        given: dict[str, Any] = dict.fromkeys(SOURCES)
        if self.kind == PROVIDER:
            given["provider"] = self.text.strip() or None
        elif self.text.strip():
            given["policy" if self.kind == POLICY else "component"] = parse_first_document(self.text, self.kind)
        return msgspec.structs.replace(self.flags, **given)

    def checked(self) -> SideText:
        """Itself. Raises ConfigError with every problem for a text of which no engine can be made."""
        self.spec.engine(no_notice)
        return self

    def document(self) -> dict[str, Any]:
        """A copy of what its text says. Raises ConfigError for text that cannot be read."""
        spec = self.spec
        return deepcopy(dict(spec.policy or spec.component or {}))

    def changed(self, document: Mapping[str, Any]) -> SideText:
        """Its text changed so that it says this."""
        made = rewritten(self.text, document)
        notes = self.notes if made.kept else (*self.notes, NORMALISED)
        return msgspec.structs.replace(self, text=made.text, notes=tuple(dict.fromkeys(notes)))

    def saying(self, kind: SideKind, text: str, *notes: str) -> SideText:
        """The same scheduler, described by another text."""
        return msgspec.structs.replace(self, kind=kind, text=text, notes=notes)
