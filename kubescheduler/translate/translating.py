"""Policies and providers translated into a KubeSchedulerConfiguration of a later release, and that written as YAML.

::

    source = policy_source(read_policy_text(text, "policy.json"), "1.16", {}, "policy.json")
    print(translation_yaml(translate(source, "1.36")))
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from clusterstate.errors import faults_at
from clusterstate.objects import ClusterObject, Node, Pod, Service
from kubescheduler.config.component_format import ComponentFormat
from kubescheduler.config.format_1_22 import REMOVED
from kubescheduler.config.load_config import component_config_from
from kubescheduler.framework.contract.profile import Point
from kubescheduler.framework.plugins.plugin_record import PluginPoints, points_by_plugin
from kubescheduler.releases.lookup import release_named
from kubescheduler.translate.nearest_profile import NEW_FILTERS, nearest_profile, own_predicates, own_priorities
from kubescheduler.translate.own_profile import own_profile
from kubescheduler.translate.policy_entries import SELECTOR_ADVICE
from kubescheduler.translate.policy_source import Source, policy_source, read_policy_text  # noqa: F401  documented here
from kubescheduler.translate.translation_model import (
    BROUGHT,
    LIFECYCLE,
    RUNNING_INIT,
    UNKNOWN,
    Note,
    Translation,
    WithOrigin,
    grouped,
    later,
    note,
    profile_without_origin,
)
from priorities.avoided_nodes import ANNOTATION


def translate(
    source: Source,
    to: str,
    *,
    keep_emphasis: bool = False,
    with_new_filters: bool = False,
    plugins: PluginPoints | None = None,
) -> Translation:
    """The configuration for release ``to``, one with profiles, and what to know about it.

    A predicate or priority of the team's own becomes a plugin of its name. plugins: the points of those there are.

    keep_emphasis: where packing of nodes would be outweighed, with the weights that keep it on top. with_new_filters:
    with VolumeBinding, NodeVolumeLimits and PodTopologySpread also where the source has no predicate for them, in a
    release that reads no policies. Raises ConfigError for a policy that the target cannot take in any form, and for a
    target that is older; a document that is returned is one that the target accepts.
    """
    later(source.release, to)
    form = release_named(to).framework_rules.component
    make = own_profile if names_every_plugin(form) else nearest_profile
    translation = make(source, to, keep_emphasis=keep_emphasis, with_new_filters=with_new_filters)
    translation, points = _with_own(translation, source, plugins or {})
    with faults_at(f"{source.name}: release {to} does not take what this becomes"):
        component_config_from(
            translation.plain(), form, all_problems=True, points={**points_by_plugin(form.plugins), **points}
        )
    return translation


def names_every_plugin(form: ComponentFormat) -> bool:
    """Whether configurations of a release can name every plugin that a policy may lead to."""
    return all(map(form.takes, REMOVED))


def _with_own(
    translation: Translation, source: Source, brought: PluginPoints
) -> tuple[Translation, dict[str, Collection[Point]]]:
    """(the translation with a plugin in place of each rule of the team's own, the points of these)."""
    own = [(Point.FILTER, item) for item in own_predicates(source.predicates)]
    own += [(Point.SCORE, item) for item in own_priorities(source.priorities)]
    points: dict[str, Collection[Point]] = {}
    if not own:
        return translation, points
    profile = dict(profile_without_origin(translation.document))
    plugins = dict(profile["plugins"])
    for point, item in own:
        weight = {"weight": item.weight} if point is Point.SCORE else {}
        member = plugins.get(point.value, {})
        enabled = [*member.get("enabled", ()), WithOrigin({"name": item.name, **weight}, item.origin)]
        plugins[point.value] = {**member, "enabled": enabled}
        points[item.name] = brought.get(item.name) or {*points.get(item.name, ()), point}
    there = [item.path for _, item in own if item.name in brought]
    notes = [each for each in translation.notes if each.text != UNKNOWN[1]]
    notes += (note(BROUGHT if item.path in there else UNKNOWN, item.path) for _, item in own)
    document = {**translation.document.value, "profiles": [{**profile, "plugins": plugins}]}
    document_with_origin = msgspec.structs.replace(translation.document, value=document)
    return msgspec.structs.replace(translation, document=document_with_origin, notes=grouped(notes)), points


def translation_document(translation: Translation) -> dict[str, Any]:
    """All of a translation as plain data; the shares of the profiles after the first by themselves."""
    others = [
        {"name": shares.name, "before": shares.before.document(), "after": shares.after.document()}
        for shares in translation.others
    ]
    return {
        "source": translation.source,
        "from": translation.from_release,
        "to": translation.release,
        "exact": translation.exact,
        "document": translation.plain(),
        "notes": [note.document() for note in translation.notes],
        "scores": {"before": translation.before.document(), "after": translation.after.document()},
        **({"otherProfiles": others} if others else {}),
    }


ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")


class _Uses(msgspec.Struct, frozen=True):
    """The parts of a cluster that notes speak of."""

    nodes: Sequence[Node]
    pods: Sequence[Pod]
    services: Sequence[Service]


def weighed(notes: Iterable[Note], objects: Iterable[ClusterObject]) -> tuple[Note, ...]:
    """The notes, with how many nodes, pods or services each concerns where that can be counted."""
    everything = list(objects)
    uses = _Uses(
        [each for each in everything if isinstance(each, Node)],
        [each for each in everything if isinstance(each, Pod)],
        [each for each in everything if isinstance(each, Service)],
    )
    return tuple(_weighed(note, uses) for note in notes)


def _weighed(note: Note, uses: _Uses) -> Note:
    for speaks, count in _COUNTS:
        if speaks(note):
            return msgspec.structs.replace(note, text=f"{note.text}; here {count(uses)}")
    return note


# --- counts --------------------------------------------------------------------------------


def _annotated(uses: _Uses) -> str:
    number = sum(ANNOTATION in node.metadata.annotations for node in uses.nodes)
    return f"{number} of {len(uses.nodes)} nodes carry the annotation" if number else "nobody uses it"


def _untainted(uses: _Uses) -> str:
    """Nodes with a condition that the lifecycle controller would have tainted, and no such taint."""
    pressed = [
        node
        for node in uses.nodes
        if any(
            (c.type in PRESSURES and c.status == "True") or (c.type == "Ready" and c.status != "True")
            for c in node.conditions
        )
    ]
    bare = sum(not any(t.key.startswith("node.kubernetes.io/") for t in node.taints) for node in pressed)
    return f"{len(pressed)} of {len(uses.nodes)} nodes have such a condition, {bare} of them without the taint"


def _services(uses: _Uses) -> str:
    number = sum(bool(service.selector) for service in uses.services)
    return f"{number} services select pods" if number else "nobody uses it: no service selects pods"


def _unlabelled(uses: _Uses) -> str:
    labels = (HOSTNAME, ZONE)
    lacking = [sum(label not in node.metadata.labels for node in uses.nodes) for label in labels]
    return " and ".join(
        f"{number} of {len(uses.nodes)} nodes lack {label}" for number, label in zip(lacking, labels, strict=True)
    )


def _new_filters(uses: _Uses) -> str:
    claims = sum(any(getattr(volume, "claim_name", "") for volume in pod.spec.volumes) for pod in uses.pods)
    spread = sum(
        any(each.when_unsatisfiable == "DoNotSchedule" for each in pod.spec.topology_spread_constraints)
        for pod in uses.pods
    )
    return f"{claims} of {len(uses.pods)} pods use claims, {spread} have DoNotSchedule constraints"


def _running_init(uses: _Uses) -> str:
    number = sum(bool(pod.node_name and pod.spec.init_containers) for pod in uses.pods)
    return f"{number} of {len(uses.pods)} pods run and have init containers"


_COUNTS: tuple[tuple[Callable[[Note], bool], Callable[[_Uses], str]], ...] = (
    (lambda note: ANNOTATION in note.text, _annotated),
    (lambda note: note.text == LIFECYCLE, _untainted),
    (lambda note: RUNNING_INIT in note.text, _running_init),
    (lambda note: note.advice == SELECTOR_ADVICE, _unlabelled),
    (lambda note: "ServiceAffinity" in note.path + note.text or "ServiceAntiAffinity" in note.path, _services),
    (lambda note: note.path == "predicates" and any(name in note.text for name in NEW_FILTERS), _new_filters),
)
"""(whether a note speaks of it, what is there of it)."""


WIDEST = 60
"""Longest line that comments stand aligned behind."""
HEADER_WIDTH = 116

_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*")
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""Texts that YAML reads as something else."""

Lines = Iterator[tuple[str, str]]
"""Lines and their comments."""


def translation_yaml(translation: Translation, *, bare: bool = False) -> str:
    """The notes as a block of comments, then the document; bare: without any comment."""
    if bare:
        return "".join(f"{text}\n" for text, _ in _lines(translation.document.value, ""))
    return f"{_header(translation)}\n{commented_yaml(translation.document)}"


def commented_yaml(document: WithOrigin) -> str:
    """Block style; reading it gives the document without its origins."""
    lines = list(_lines(document.value, document.origin))
    column = min(max((len(text) for text, _ in lines), default=0), WIDEST)
    return "".join(f"{text.ljust(column)}  # {_comment(origin)}\n" for text, origin in lines)


# --- header --------------------------------------------------------------------------------


def _header(translation: Translation) -> str:
    what = f"{translation.source}, as release {translation.from_release} reads it, for release {translation.release}."
    lines = [f"# {_comment(what)}"]
    inexact = [note for note in translation.notes if note.kind.inexact]
    others = [note for note in translation.notes if not note.kind.inexact]
    for title, notes in (("Not carried over exactly:", inexact), ("To know:", others)):
        if notes:
            lines += ["#", f"# {title}", *(f"# {line}" for line in note_lines(notes))]
    return "\n".join(lines)


def note_lines(notes: Iterable[Note], width: int = HEADER_WIDTH) -> Iterator[str]:
    """Notes as a list of wrapped lines, what to do behind a ``>``."""
    for each in notes:
        yield from _wrapped(f"{each.kind.value}: {each.path}: {each.text}", "- ", "  ", width)
        if each.advice:
            yield from _wrapped(each.advice, "  > ", "    ", width)


def _wrapped(text: str, first: str, rest: str, width: int) -> list[str]:
    return textwrap.wrap(
        _comment(text),
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


# --- lines ---------------------------------------------------------------------------------


def _lines(value: Any, origin: str) -> Lines:
    """The lines of a mapping or list that is not empty."""
    entries = value.items() if isinstance(value, Mapping) else ((None, item) for item in value)
    for key, item in entries:
        inner, source = (item.value, item.origin) if isinstance(item, WithOrigin) else (item, origin)
        if key is None:
            yield from _item(inner, source)
        elif not _nested(inner):
            yield f"{key}: {scalar(inner)}", source
        else:
            yield f"{key}:", source
            indent = "  " if isinstance(inner, Mapping) else ""
            yield from ((indent + text, comment) for text, comment in _lines(inner, source))


def _item(value: Any, origin: str) -> Lines:
    """An item of a list."""
    if not _nested(value):
        yield f"- {scalar(value)}", origin
        return
    for at, (text, comment) in enumerate(_lines(value, origin)):
        yield ("  " if at else "- ") + text, comment


def _nested(value: Any) -> bool:
    return isinstance(value, Mapping | list | tuple) and len(value) > 0


def scalar(value: Any) -> str:
    """A value on one line: a scalar, or an empty list or mapping."""
    match value:
        case str():
            return value if _PLAIN.fullmatch(value) and value.lower() not in _WORDS else _quoted(value)
        case Mapping():
            return "{}"
        case list() | tuple():
            return "[]"
    return json.dumps(value)


def _quoted(text: str) -> str:
    """In double quotes, with escapes for what cannot be seen."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(char if char.isprintable() else f"\\U{ord(char):08x}" for char in quoted)


def _comment(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)
