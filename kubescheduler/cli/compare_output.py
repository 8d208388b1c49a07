"""Comparisons as text: of configurations, of the steps between releases, and the whole report of an upgrade."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clusterstate.errors import listed
from kubescheduler.cli.output import (
    ERROR,
    NONE,
    PLAIN,
    Screen,
    document_text,
    noted,
    rendered_answer,
    section_text,
    table,
)
from kubescheduler.comparison.causes import signed
from kubescheduler.comparison.comparison import Comparison, WorkloadChange, by_controller, headline
from kubescheduler.comparison.outcomes import Cause, HostChange, Outcome, PodComparison
from kubescheduler.core.results import counted
from kubescheduler.releases.names import place
from kubescheduler.report.single_file import Section

if TYPE_CHECKING:
    from kubescheduler.comparison.effects import Effects, ServiceSpread
    from kubescheduler.comparison.release_steps import ConfigurationStep, PodTimeline, Timeline
    from kubescheduler.comparison.upgrading import Upgrade

IN_TOTAL = {
    "independent": "every pod on the same cluster; the effects are of all pods put where each goes on its own",
    "sequence": "each scheduler goes on from its own earlier choices",
}


def rendered_comparison(
    comparison: Comparison,
    output: str,
    tolerated: Collection[Cause],
    screen: Screen = PLAIN,
    advice: Sequence[str] = (),
) -> Iterator[str]:
    """A comparison as text in pieces; output: table, wide, json, yaml, html, junit or github.

    screen: what tables are shown on. advice: what can be done now, for people.
    """
    if output in ("json", "yaml"):
        yield document_text(comparison.as_dict(), output)
    elif output in ("junit", "github"):
        from kubescheduler.report.ci_results import comparison_suites, rendered_results

        yield from rendered_results("kubescheduler compare", comparison_suites(comparison, tolerated), output)
    elif output == "html":
        from kubescheduler.report.html_report import render

        yield render(comparison, tolerated, advice)
    else:
        now = ["\n".join(["What now:", *(screen.filled(f"- {line}") for line in advice)])] if advice else []
        yield "\n\n".join([*_tables(comparison, tolerated, screen, wide=output == "wide"), *now]) + "\n"


def _tables(comparison: Comparison, tolerated: Collection[Cause], screen: Screen, *, wide: bool) -> Iterator[str]:
    yield screen.filled(f"{headline(comparison)} ({IN_TOTAL[comparison.mode]}).")
    if comparison.notes:
        yield noted(comparison.notes, screen).removesuffix("\n")
    yield from (screen.filled(text) for text in _errors(comparison))
    if not comparison.pods:
        return
    if comparison.differing:
        workloads = _workloads(comparison)
        if len(workloads) > 1:
            yield table(workloads, screen, keys=2)
    shown = [pod for pod in comparison.pods if pod.differs or pod.moves_sometimes]
    if shown:
        rows = [_header(comparison, wide=wide), *(_row(comparison, pod, wide=wide) for pod in shown)]
        yield table(rows, screen, gives_way=len(rows[0]) - 1, keys=2)
    if comparison.differing:
        yield table(_causes(comparison, tolerated), screen, gives_way=len(comparison.titles), keys=1)
    if len(comparison.errors) == len(comparison.pods):
        return
    yield table(_effects(comparison), screen, keys=1)
    services = _services(comparison)
    if len(services) > 1:
        yield table(services, screen, gives_way=ZONES, keys=2)


def _errors(comparison: Comparison) -> Iterator[str]:
    """What kept pods from being compared, each text once."""
    texts = Counter(change.text for pod in comparison.pods for change in pod.changes if change.cause is Cause.ERROR)
    if texts:
        each = (f"error of {count} {'pod' if count == 1 else 'pods'}: {text}" for text, count in texts.items())
        yield "\n".join(listed(each))


# --- workloads -----------------------------------------------------------------------------


def _workloads(comparison: Comparison) -> list[tuple[str, ...]]:
    """A row for each workload of which some pod differs and new column; no more than the heading where each such pod
    stands for itself, so that the rows by pod say the same."""
    differing = by_controller(comparison.pods)
    several = len(comparison.titles) > 2
    chance = any(change.could_have_been for workload in differing for change in workload.changes)
    optional = ("COLUMN",) * several, ("COULD HAVE BEEN",) * chance
    rows = [("NAMESPACE", "WORKLOAD", *optional[0], "PODS", "MOVED", *optional[1], "UNPLACED", "MAIN CAUSE")]
    for found in differing:
        for name, change in zip(comparison.titles[1:], found.changes, strict=True):
            unplaced = f"{found.unplaced} -> {change.unplaced}" if found.unplaced != change.unplaced else found.unplaced
            numbers = (found.pods, change.moved, *((change.could_have_been,) * chance), unplaced)
            cells = (found.namespace or NONE, found.workload or NONE, *((name,) * several), *map(str, numbers))
            rows.append((*cells, _main_cause(change)))
    return rows


def _main_cause(change: WorkloadChange) -> str:
    """The cause, with how many of the pods have it where some have another."""
    if len(change.causes) == 1:
        return str(change.cause)
    return f"{change.cause} ({change.causes[change.cause]})"


# --- pods and causes -----------------------------------------------------------------------


def _header(comparison: Comparison, *, wide: bool) -> tuple[str, ...]:
    more = (("MOVES",) if comparison.runs else ()) + (("DIFFERENCE", "WHY") if wide else ())
    each = (cell for name in comparison.titles[1:] for cell in (name, "TIED", "CAUSE", *more))
    return ("NAMESPACE", "POD", *(("RUNS ON",) * _runs(comparison)), comparison.titles[0], "TIED", *each)


def _runs(comparison: Comparison) -> bool:
    """Whether some of the pods run."""
    return any(pod.runs_on is not None for pod in comparison.pods)


def _row(comparison: Comparison, pod: PodComparison, *, wide: bool) -> tuple[str, ...]:
    namespace, _, name = pod.pod.rpartition("/")
    cells = [namespace or NONE, name, *((pod.runs_on or NONE,) * _runs(comparison)), *_placed(pod.outcomes[0])]
    for outcome, change in zip(pod.outcomes[1:], pod.changes, strict=True):
        cells += [*_placed(outcome), str(change.cause)]
        if comparison.runs:
            cells.append(NONE if change.moves is None else str(change.moves))
        if wide:
            cells += [_difference(change), change.text or NONE]
    return tuple(cells)


def _placed(outcome: Outcome) -> tuple[str, str]:
    """The node, and how many are as good."""
    return (ERROR, NONE) if outcome.error else (outcome.host or NONE, str(len(outcome.tied)))


def _difference(change: HostChange) -> str:
    """``-1, +12``: how far the new host is ahead of the old one before and now; ``not scored`` where one is refused."""
    if change.old_difference is None and change.new_difference is None:
        return NONE
    return f"{signed(change.old_difference)}, {signed(change.new_difference)}"


def _causes(comparison: Comparison, tolerated: Collection[Cause]) -> list[tuple[str, ...]]:
    causes = [cause for cause in Cause if any(cause in counts for counts in comparison.summary)]
    causes.sort(key=lambda cause: -sum(counts.get(cause, 0) for counts in comparison.summary))
    rows = [("CAUSE", *comparison.titles[1:], "MEANING")]
    for cause in causes:
        meaning = cause.meaning + " (tolerated)" * (cause in tolerated)
        rows.append((str(cause), *(str(counts.get(cause, 0)) for counts in comparison.summary), meaning))
    return rows


# --- effects -------------------------------------------------------------------------------

FIGURES: tuple[tuple[str, Callable[[Effects], str]], ...] = (
    ("pods placed", lambda e: str(e.placed)),
    ("pods without a node", lambda e: str(e.unplaced)),
    ("pods evicted", lambda e: str(e.evicted)),
    ("nodes with pods", lambda e: str(e.nodes_used)),
    ("nodes without", lambda e: str(e.nodes_empty)),
    ("pods on the fuller half", lambda e: _percent(e.fullest_half)),
)


def _effects(comparison: Comparison) -> list[tuple[str, ...]]:
    every = (comparison.before, *comparison.effects)
    rows = [(name, *map(figure, every)) for name, figure in FIGURES]
    if any(effects.daemons for effects in every):
        rows.append(("DaemonSet and static pods, not counted above", *(str(effects.daemons) for effects in every)))
    for resource in dict.fromkeys(use.resource for effects in every for use in effects.utilisation):
        for label, field in (("mean", "mean"), ("most", "most"), ("deviation", "deviation")):
            rows.append((f"{resource}, {label}", *(_use(effects, resource, field) for effects in every)))
    return [("EFFECT", "BEFORE", *comparison.titles), *rows]


def _use(effects: Effects, resource: str, field: str) -> str:
    values = (getattr(use, field) for use in effects.utilisation if use.resource == resource)
    return next(map(_percent, values), NONE)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


SERVICES = ("SERVICE", "COLUMN", "PODS", "NODES", "NODE SKEW", "ZONES", "ZONE SKEW")
ZONES = SERVICES.index("ZONES")


def _services(comparison: Comparison) -> list[tuple[str, ...]]:
    """The services whose pods are spread otherwise in some column: zones as counts in the order of their names."""
    rows: list[tuple[str, ...]] = [SERVICES]
    found = [{spread.service: spread for spread in effects.spread} for effects in comparison.effects]
    for service in sorted({name for column in found for name in column}, key=str.encode):
        spreads = [column.get(service) for column in found]
        if len({repr(spread) for spread in spreads}) == 1:
            continue
        for name, spread in zip(comparison.titles, spreads, strict=True):
            rows.append((service, name, *_spread(spread)))
    return rows


def _spread(spread: ServiceSpread | None) -> Sequence[str]:
    if spread is None:
        return ("0", "0", "0", NONE, "0")
    zones = ", ".join(f"{zone or NONE}: {count}" for zone, count in spread.zones.items())
    return (str(spread.pods), str(spread.hosts), str(spread.host_skew), zones, str(spread.zone_skew))


# --- steps between releases, upgrades ---------------------------------------------------------


def rendered_timeline(found: Timeline, output: str, screen: Screen = PLAIN) -> str:
    """At which step pods move; output: table, json, yaml or html. The table has a row for each workload that moves."""
    if output == "html":
        from kubescheduler.report.timeline_report import render_timeline

        return render_timeline(found)
    if output != "table":
        return document_text(found.document(), output)
    from kubescheduler.comparison.release_steps import headline as of_steps

    notes = [noted(found.notes, screen).removesuffix("\n")] if found.notes else []
    shown = (section_text(section, screen) for section in timeline_sections(found))
    return "\n\n".join([screen.filled(f"{of_steps(found)}."), *notes, *shown]) + "\n"


def timeline_sections(found: Timeline) -> Iterator[Section]:
    """The workloads that move, each with its steps, and the changes that move them."""
    rows = [("NAMESPACE", "WORKLOAD", "PODS", "MOVED", "STEPS")]
    for (namespace, workload), pods in found.workloads().items():
        elsewhere = [pod for pod in pods if pod.moves]
        if elsewhere:
            rows.append((namespace, workload, str(len(pods)), str(len(elsewhere)), _steps_of(elsewhere)))
    if len(rows) > 1:
        yield Section(rows=rows, gives_way=4, keys=2)
    named = [name for pod in found.moved for move in pod.moves for name in move.changes]
    if named:
        from kubescheduler.releases.lookup import changes_between

        texts = [("CHANGE", "RELEASE", "WHAT IS DIFFERENT")]
        for release, change in changes_between(found.releases[0], found.releases[-1]):
            if change.name in named:
                texts.append((change.name, release.name, change.text))
        yield Section(rows=texts, gives_way=2, keys=2)


def _steps_of(pods: Sequence[PodTimeline]) -> str:
    """``1.19: node-a to node-b (pod-topology-spread-weights-by-size), 2 pods; 1.24: …``, oldest step first."""
    counts = Counter(
        (move.release, move.old or "no node", move.new or "no node", ", ".join(move.changes) or str(move.cause))
        for pod in pods
        for move in pod.moves
    )
    found = sorted(counts.items(), key=lambda item: (place(item[0][0]), -item[1], item[0]))
    many = len(pods) > 1
    return "; ".join(
        f"{release}: {old} to {new} ({why})" + (f", {counted(count, 'pod')}" if many else "")
        for (release, old, new, why), count in found
    )


def rendered_upgrade(found: Upgrade, output: str, files: Mapping[str, str]) -> Iterator[str]:
    """The report in pieces; output: table, json, yaml or html. files: release → where its configuration was written."""
    from kubescheduler.comparison.release_steps import headline as of_steps

    def document() -> dict[str, Any]:
        every = found.document()
        for step in every["configurations"]:
            step["file"] = files.get(step["release"])
        return every

    about, pods = f"releases {found.before} to {found.to}", f"{of_steps(found.timeline)}."
    sections, said = _upgrade_sections(found, files, pods), _summary(found, pods)
    return rendered_answer("upgrade", about, said, sections, (), output, document, titled=True)


def _upgrade_sections(found: Upgrade, files: Mapping[str, str], pods: str) -> Iterator[Section]:
    yield from _configuration(found, files)
    said = {step.text for step in found.configurations}
    notes = [f"! {note}" for note in found.timeline.notes if note not in said]
    yield Section("Pods", texts=[pods])
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


def _summary(found: Upgrade, pods: str) -> str:
    """The report in a sentence. pods: what becomes of them."""
    releases = [step.release for step in found.configurations]
    where = f"has to change for {', '.join(releases)}" if releases else "can stay as it is"
    return f"The configuration {where}; {pods}"


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
