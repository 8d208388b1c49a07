"""Checked exercises as JUnit XML: a test suite per exercise, a test case per check."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubescheduler.lab.exercises.checking import CheckedExercise, CheckOutcome, Standing
from kubescheduler.report.junit import quoted_attribute, xml_text


def checks_as_junit(checked: Iterable[CheckedExercise]) -> Iterator[str]:
    """The document in pieces; what fails is a failure, what was not tried is skipped."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="kubescheduler lab check">\n'
    for one in checked:
        count = [outcome.standing for outcome in one.outcomes].count
        yield (
            f'  <testsuite name={quoted_attribute(one.exercise.name)} tests="{len(one.outcomes)}" '
            f'failures="{count(Standing.FAILED)}" errors="0" skipped="{count(Standing.SKIPPED)}">\n'
        )
        for outcome in one.outcomes:
            yield from _case(one, outcome)
        yield "  </testsuite>\n"
    yield "</testsuites>\n"


def _case(checked: CheckedExercise, outcome: CheckOutcome) -> Iterator[str]:
    group = ".".join(filter(None, (checked.exercise.name, outcome.scenario)))
    head = f"    <testcase classname={quoted_attribute(group)} name={quoted_attribute(outcome.name)}"
    if outcome.standing is Standing.PASSED:
        yield f"{head}/>\n"
    elif outcome.standing is Standing.SKIPPED:
        yield f"{head}>\n      <skipped/>\n    </testcase>\n"
    else:
        text = xml_text("\n".join(filter(None, (outcome.found, outcome.remark))))
        message = quoted_attribute(outcome.found)
        yield f'{head}>\n      <failure type="{outcome.kind}" message={message}>{text}</failure>\n    </testcase>\n'
