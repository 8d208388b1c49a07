"""A comparison as JUnit XML, for what runs tests: a test suite per new column, a test case per pod.

The class of a case is the pod's namespace and workload: ``default.Deployment/web``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from xml.sax.saxutils import escape, quoteattr

from kubescheduler.comparison.cause_sentences import by_priority
from kubescheduler.comparison.comparison import Comparison
from kubescheduler.comparison.outcomes import MEANINGS, Cause, HostChange, PodComparison
from kubescheduler.sources.sanitize import escaped

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold."""


def junit(comparison: Comparison, tolerated: Collection[Cause] = ()) -> Iterator[str]:
    """The document in pieces. What differs is a failure, what could not be compared an error.

    tolerated: causes that pass; the case then says what it tolerates.
    """
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="kubescheduler compare">\n'
    for at, name in enumerate(comparison.names[1:]):
        bad = [pod.changes[at].cause for pod in comparison.pods if not _passes(pod.changes[at], tolerated)]
        errors = bad.count(Cause.ERROR)
        counts = f'tests="{len(comparison.pods)}" failures="{len(bad) - errors}" errors="{errors}"'
        yield f"  <testsuite name={quoted_attribute(f'{comparison.names[0]} and {name}')} {counts}>\n"
        if comparison.notes:
            yield "    <properties>\n"
            for note in comparison.notes:
                yield f'      <property name="note" value={quoted_attribute(note)}/>\n'
            yield "    </properties>\n"
        for pod in comparison.pods:
            yield from _case(comparison, pod, at, tolerated)
        yield "  </testsuite>\n"
    yield "</testsuites>\n"


def _case(comparison: Comparison, pod: PodComparison, at: int, tolerated: Collection[Cause]) -> Iterator[str]:
    change = pod.changes[at]
    namespace, _, name = pod.pod.rpartition("/")
    group = f"{namespace or 'default'}.{pod.workload}"
    head = f"    <testcase classname={quoted_attribute(group)} name={quoted_attribute(name)}"
    if change.cause is Cause.SAME and not (change.moves and change.moves.moved):
        yield f"{head}/>\n"
        return
    text = _text(comparison, pod, at)
    if _passes(change, tolerated):
        yield f"{head}>\n      <system-out>{text}</system-out>\n    </testcase>\n"
        return
    tag = "error" if change.cause is Cause.ERROR else "failure"
    message = quoted_attribute(f"{_hosts(pod, at)}: {change.cause}")
    yield f'{head}>\n      <{tag} type="{change.cause}" message={message}>{text}</{tag}>\n    </testcase>\n'


def _passes(change: HostChange, tolerated: Collection[Cause]) -> bool:
    """An error never passes: nothing was compared."""
    return change.cause is Cause.SAME or (change.cause in tolerated and change.cause is not Cause.ERROR)


def _hosts(pod: PodComparison, at: int) -> str:
    old, new = pod.outcomes[0].host, pod.outcomes[at + 1].host
    return f"{old or 'no node'} before, {new or 'no node'} now"


def _text(comparison: Comparison, pod: PodComparison, at: int) -> str:
    change = pod.changes[at]
    names = comparison.names[0], comparison.names[at + 1]
    lines = [f"{change.cause}: {MEANINGS[change.cause]}", change.text, _share(change), *_parts(change)]
    for name, outcome in zip(names, (pod.outcomes[0], pod.outcomes[at + 1]), strict=True):
        lines.append(f"{name}: {outcome.host or outcome.message}")
    return xml_text("\n".join(filter(None, lines)))


def _share(change: HostChange) -> str:
    return "" if change.moves is None else f"goes elsewhere in {change.moves} runs with upstream's ties"


def _parts(change: HostChange) -> Iterator[str]:
    for part in change.contributions:
        if part.old or part.new:
            yield f"  {by_priority(part)}"


def _printable(text: str) -> str:
    """With escapes for what XML cannot hold, and for what turns the direction of text."""
    return _FORBIDDEN.sub("?", escaped(text))


def quoted_attribute(text: str) -> str:
    """A text in quotes, as the value of an attribute."""
    return quoteattr(_printable(text))


def xml_text(text: str) -> str:
    """A text as the content of an element."""
    return escape(_printable(text))
