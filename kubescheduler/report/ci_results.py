"""Results as CI systems show them: JUnit XML for their lists of tests, and annotations of GitHub Actions.

What a command found is said in suites of cases; both formats are written from these. A comparison is a suite for each
new column with a case for each pod; of pods that had to leave their nodes each is a case, which passes if it runs
again. The group of a case is the pod's namespace and workload: ``default.Deployment/web``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from xml.sax.saxutils import escape, quoteattr

import msgspec

from clusterstate.objects import Pod
from clusterstate.selectors.pod_owners import workloads_of
from kubescheduler.comparison.causes import by_priority
from kubescheduler.comparison.comparison import Comparison
from kubescheduler.comparison.outcomes import Cause, HostChange, PodComparison
from kubescheduler.hinting.proposals import Hint
from kubescheduler.planning.departures import Fate
from kubescheduler.planning.rehearsal import Moved, moved_text
from kubescheduler.sources.untrusted import escaped

NAMED = 5
"""Cases that an annotation names."""

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold."""


class Standing(StrEnum):
    """How a case came out."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    """Nobody knows the answer."""
    SKIPPED = "skipped"
    """It was not tried."""


class CiCase(msgspec.Struct, frozen=True):
    """What was found of one pod, or by one check."""

    group: str
    """What it belongs to: ``default.Deployment/web``."""
    name: str
    standing: Standing = Standing.PASSED
    kind: str = ""
    """What is wrong, in a word."""
    message: str = ""
    """The same in a line. Of one that passes: what is to be said of it all the same."""
    text: str = ""
    """All there is to say, in lines."""


class Suite(msgspec.Struct, frozen=True):
    """Cases that were decided by the same schedulers."""

    name: str
    cases: Sequence[CiCase]
    notes: Sequence[str] = ()
    """What was remarked on all of them."""

    def count(self, standing: Standing) -> int:
        """How many cases came out so."""
        return sum(case.standing is standing for case in self.cases)


def rendered_results(title: str, suites: Iterable[Suite], output: str) -> Iterator[str]:
    """The text in pieces. title: the command. output: junit or github."""
    return (junit if output == "junit" else github)(title, suites)


# --- JUnit XML ------------------------------------------------------------------------------------


def junit(title: str, suites: Iterable[Suite]) -> Iterator[str]:
    """The document in pieces."""
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name={_attribute(title)}>\n'
    for suite in suites:
        counts = {
            "tests": len(suite.cases),
            "failures": suite.count(Standing.FAILED),
            "errors": suite.count(Standing.ERROR),
            "skipped": suite.count(Standing.SKIPPED),
        }
        shown = " ".join(f'{name}="{count}"' for name, count in counts.items())
        yield f"  <testsuite name={_attribute(suite.name)} {shown}>\n"
        if suite.notes:
            yield "    <properties>\n"
            yield from (f'      <property name="note" value={_attribute(note)}/>\n' for note in suite.notes)
            yield "    </properties>\n"
        yield from map(_case, suite.cases)
        yield "  </testsuite>\n"
    yield "</testsuites>\n"


def _case(case: CiCase) -> str:
    head = f"    <testcase classname={_attribute(case.group)} name={_attribute(case.name)}"
    text = escape(_printable(case.text))
    if case.standing is Standing.SKIPPED:
        inside = "<skipped/>"
    elif case.standing is Standing.PASSED:
        inside = f"<system-out>{text}</system-out>" if text else ""
    else:
        tag = "failure" if case.standing is Standing.FAILED else "error"
        inside = f"<{tag} type={_attribute(case.kind)} message={_attribute(case.message)}>{text}</{tag}>"
    return f"{head}>\n      {inside}\n    </testcase>\n" if inside else f"{head}/>\n"


def _printable(text: str) -> str:
    """With escapes for what XML cannot hold, and for what turns the direction of text."""
    return _FORBIDDEN.sub("?", escaped(text))


def _attribute(text: str) -> str:
    """A text in quotes, as the value of an attribute."""
    return quoteattr(_printable(text))


# --- annotations of GitHub Actions ----------------------------------------------------------------


def github(title: str, suites: Iterable[Suite]) -> Iterator[str]:
    """A workflow command a line: an error for what failed, a notice for what passes with a remark, a warning for notes.

    Cases of one group of which the same is said are one annotation, most cases first, as GitHub shows ten of a kind.
    """
    every = list(suites)
    for suite in every:
        where = f"{suite.name}: " if len(every) > 1 else ""
        yield from (_annotation("warning", title, note) for note in suite.notes)
        same: dict[tuple[str, str, str], list[CiCase]] = {}
        for case in suite.cases:
            if case.standing in (Standing.FAILED, Standing.ERROR):
                same.setdefault(("error", case.group, case.message), []).append(case)
            elif case.standing is Standing.PASSED and case.message:
                same.setdefault(("notice", case.group, case.message), []).append(case)
        for (level, group, message), cases in sorted(same.items(), key=lambda item: -len(item[1])):
            yield _annotation(level, f"{where}{group}", _said(message, cases))
    counts = [(standing, sum(suite.count(standing) for suite in every)) for standing in Standing]
    yield f"{title}: {', '.join(f'{count:,} {standing}' for standing, count in counts if count) or 'nothing asked'}\n"


def _said(message: str, cases: Sequence[CiCase]) -> str:
    """The message, which cases it is of, and what else is said of the first of them."""
    names = ", ".join(case.name for case in cases[:NAMED])
    more = f" and {len(cases) - NAMED:,} more" if len(cases) > NAMED else ""
    text = cases[0].text
    return f"{names}{more}: {message}" + (f"\n{text}" if text and text != message else "")


def _annotation(level: str, title: str, text: str) -> str:
    name = _data(title).replace(":", "%3A").replace(",", "%2C")
    return f"::{level} title={name}::{_data(text)}\n"


def _data(text: str) -> str:
    """As GitHub reads it back. Upstream: escapeData of actions/toolkit."""
    return escaped(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


NOBODY = "no controller makes it anew"


def displaced_cases(
    kept: Sequence[tuple[Pod, str, str]],
    moved: Sequence[Moved],
    hints: Mapping[str, tuple[Hint, ...]],
    *,
    lost_fails: bool,
) -> Iterator[CiCase]:
    """kept: (pod, what is wrong in a word, why) of pods that do not leave. lost_fails: whether a pod that nobody makes
    anew is a failure; otherwise that is said of a case that passes."""
    pods = [*(pod for pod, _, _ in kept), *(each.pod for each in moved)]
    groups = [f"{pod.metadata.namespace}.{name}" for pod, name in zip(pods, workloads_of(pods, ()), strict=True)]
    for group, (pod, kind, why) in zip(groups, kept, strict=False):
        yield CiCase(group, pod.metadata.name, Standing.FAILED, kind, why, why)
    for group, each in zip(groups[len(kept) :], moved, strict=True):
        name, text = each.pod.metadata.name, moved_text(each, hints)
        if each.nowhere:
            failed = each.record is not None and each.record.gave_up
            standing = Standing.ERROR if failed else Standing.FAILED
            yield CiCase(group, name, standing, "nowhere", " ".join(each.message.split()), text)
        elif each.foreign:
            yield CiCase(group, name, Standing.SKIPPED, "not-tried", each.message, text)
        elif each.now is None and each.fate is Fate.BARE:
            yield CiCase(group, name, Standing.FAILED if lost_fails else Standing.PASSED, "lost", NOBODY, text)
        else:
            yield CiCase(group, name)


def comparison_suites(comparison: Comparison, tolerated: Collection[Cause] = ()) -> Iterator[Suite]:
    """What differs is a failure, what could not be compared an error.

    tolerated: causes that pass; the case then says what it tolerates.
    """
    for at, name in enumerate(comparison.names[1:]):
        cases = [_compared_case(comparison, pod, at, tolerated) for pod in comparison.pods]
        yield Suite(f"{comparison.names[0]} and {name}", cases, comparison.notes)


def _compared_case(comparison: Comparison, pod: PodComparison, at: int, tolerated: Collection[Cause]) -> CiCase:
    change = pod.changes[at]
    namespace, _, name = pod.pod.rpartition("/")
    group = f"{namespace or 'default'}.{pod.workload}"
    if change.cause is Cause.SAME:
        drawn = change.moves is not None and change.moves.moved > 0
        return CiCase(group, name, text=_text(comparison, pod, at) if drawn else "")
    text = _text(comparison, pod, at)
    old, new = pod.outcomes[0].host, pod.outcomes[at + 1].host
    message = f"{old or 'no node'} before, {new or 'no node'} now: {change.cause}"
    if change.cause is Cause.ERROR:  # nobody can tolerate it: nothing was compared
        return CiCase(group, name, Standing.ERROR, change.cause, message, text)
    if change.cause in tolerated:
        return CiCase(group, name, Standing.PASSED, change.cause, f"{message}, tolerated", text)
    return CiCase(group, name, Standing.FAILED, change.cause, message, text)


def _text(comparison: Comparison, pod: PodComparison, at: int) -> str:
    change = pod.changes[at]
    names = comparison.names[0], comparison.names[at + 1]
    share = "" if change.moves is None else f"goes elsewhere in {change.moves} runs with upstream's ties"
    lines = [f"{change.cause}: {change.cause.meaning}", change.text, share, *_parts(change)]
    for name, outcome in zip(names, (pod.outcomes[0], pod.outcomes[at + 1]), strict=True):
        lines.append(f"{name}: {outcome.host or outcome.message}")
    return "\n".join(filter(None, lines))


def _parts(change: HostChange) -> Iterator[str]:
    for part in change.contributions:
        if part.old or part.new:
            yield f"  {by_priority(part)}"
