"""What ``upgrade`` shows: a report for people, or all of it as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from kubescheduler.cli.compare_output import rendered_timeline
from kubescheduler.cli.output import PLAIN, document_text, table

if TYPE_CHECKING:
    from kubescheduler.cli.output import Screen
    from kubescheduler.comparison.carried_configuration import ConfigurationStep
    from kubescheduler.comparison.upgrading import Upgrade


def rendered_upgrade(found: Upgrade, output: str, files: Mapping[str, str], screen: Screen = PLAIN) -> str:
    """output: table, json or yaml. files: release → where its configuration was written."""
    if output != "table":
        document = found.document()
        for step in document["configurations"]:
            step["file"] = files.get(step["release"])
        return document_text(document, output)
    said = {step.text for step in found.configurations}
    others = tuple(note for note in found.timeline.notes if note not in said)
    blocks = [
        screen.filled(_summary(found)),
        "Configuration",
        *_configuration(found, files, screen),
        "Pods",
        rendered_timeline(msgspec.structs.replace(found.timeline, notes=others), "table", screen).removesuffix("\n"),
        "What comes and goes",
        _appearances(found, screen),
        "What no tool can know",
        "\n".join(_listed(text, screen) for text in found.unknown),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _summary(found: Upgrade) -> str:
    """The report in a sentence."""
    releases = [step.release for step in found.configurations]
    where = f"has to change for {', '.join(releases)}" if releases else "can stay as it is"
    count, moved = len(found.timeline.pods), len(found.timeline.moved)
    pods = f"{moved} of {count} {'pod' if count == 1 else 'pods'}"
    return f"From {found.before} to {found.to}: the configuration {where}; {pods} would go elsewhere at some step."


def _configuration(found: Upgrade, files: Mapping[str, str], screen: Screen) -> Iterator[str]:
    if not found.configurations:
        yield screen.filled(f"Every release up to {found.to} takes what configures {found.before}.")
        return
    rows = [("RELEASE", "REFUSED, BECAUSE", "INSTEAD")]
    rows += [(step.release, step.refused, _instead(step, files)) for step in found.configurations]
    yield table(rows, screen, gives_way=1, keys=1)
    inexact = [(step, note) for step in found.configurations for note in step.notes if note.kind.inexact]
    seen: set[str] = set()
    lines = []
    for step, note in inexact:
        if str(note) not in seen:
            seen.add(str(note))
            lines.append(_listed(f"{step.release}: {note}", screen))
    if lines:
        yield screen.filled("Not carried over exactly:")
        yield "\n".join(lines)


def _instead(step: ConfigurationStep, files: Mapping[str, str]) -> str:
    if step.translation is None:
        return step.by
    version = str(step.translation.plain()["apiVersion"]).rpartition("/")[2]
    return files.get(step.release, f"{version}, by kubescheduler migrate --to {step.release}")


def _appearances(found: Upgrade, screen: Screen) -> str:
    if not found.appearances:
        return screen.filled("No plugin and no feature gate comes or goes.")
    rows = [("RELEASE", "WHAT", "NAMES")]
    rows += [(each.release, each.what, ", ".join(each.names)) for each in found.appearances]
    return table(rows, screen, gives_way=2, keys=2)


def _listed(text: str, screen: Screen) -> str:
    """A point of a list."""
    return "- " + screen.filled(text, "  ").removeprefix("  ")
