"""What ``upgrade`` shows: a report for people, as text or as a page, or all of it as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from clusterstate.errors import listed
from kubescheduler.cli.compare_output import timeline_sections
from kubescheduler.cli.output import document_text, rendered_answer
from kubescheduler.comparison.release_steps import headline
from kubescheduler.report.sections import Section

if TYPE_CHECKING:
    from kubescheduler.comparison.release_steps import ConfigurationStep
    from kubescheduler.comparison.upgrading import Upgrade


def rendered_upgrade(found: Upgrade, output: str, files: Mapping[str, str]) -> Iterator[str]:
    """The report in pieces; output: table, json, yaml or html. files: release → where its configuration was written."""
    if output in ("json", "yaml"):
        document = found.document()
        for step in document["configurations"]:
            step["file"] = files.get(step["release"])
        yield document_text(document, output)
        return
    about = f"releases {found.before} to {found.to}"
    yield from rendered_answer(
        "upgrade", about, _summary(found), list(_sections(found, files)), (), output, titled=True
    )


def _sections(found: Upgrade, files: Mapping[str, str]) -> Iterator[Section]:
    yield from _configuration(found, files)
    said = {step.text for step in found.configurations}
    notes = [f"! {note}" for note in found.timeline.notes if note not in said]
    yield Section("Pods", texts=[f"{headline(found.timeline)}."])
    yield Section(texts=list(listed(notes)))
    yield from timeline_sections(found.timeline)
    rows = [(each.release, each.what, ", ".join(each.names)) for each in found.appearances]
    if rows:
        yield Section("What comes and goes", [("RELEASE", "WHAT", "NAMES"), *rows], gives_way=2, keys=2)
    else:
        yield Section("What comes and goes", texts=["No plugin and no feature gate comes or goes."])
    yield Section("What no tool can know", texts=found.unknown, listed=True)
    for step in found.configurations:
        if step.yaml:
            yield Section(f"The configuration from {step.release} on", code=step.yaml, detail=True)


def _summary(found: Upgrade) -> str:
    """The report in a sentence."""
    releases = [step.release for step in found.configurations]
    where = f"has to change for {', '.join(releases)}" if releases else "can stay as it is"
    count, moved = len(found.timeline.pods), len(found.timeline.moved)
    pods = f"{moved} of {count} {'pod' if count == 1 else 'pods'}"
    return f"From {found.before} to {found.to}: the configuration {where}; {pods} would go elsewhere at some step."


def _configuration(found: Upgrade, files: Mapping[str, str]) -> Iterator[Section]:
    if not found.configurations:
        yield Section("Configuration", texts=[f"Every release up to {found.to} takes what configures {found.before}."])
        return
    rows = [("RELEASE", "WHY", "INSTEAD")]
    rows += [(step.release, step.refused, _instead(step, files)) for step in found.configurations]
    yield Section("Configuration", rows, gives_way=1, keys=1)
    inexact: dict[str, str] = {}
    for step in found.configurations:
        for note in step.notes:
            if note.kind.inexact:
                inexact.setdefault(str(note), f"{step.release}: {note}")
    if inexact:
        yield Section(texts=["Not carried over exactly:"])
        yield Section(texts=list(inexact.values()), listed=True)


def _instead(step: ConfigurationStep, files: Mapping[str, str]) -> str:
    if step.translation is None:
        return step.by
    version = str(step.translation.plain()["apiVersion"]).rpartition("/")[2]
    return files.get(step.release, f"{version}, by kubescheduler migrate --to {step.release}")
