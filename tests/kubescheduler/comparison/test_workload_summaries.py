"""Comparisons summed up by workload."""

from __future__ import annotations

from collections import Counter

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubescheduler.comparison.comparison import workload_summaries
from kubescheduler.comparison.outcomes import Cause, PodComparison
from tests.support.comparisons import compared_pod, comparison, three_columns


def of(workload: str, *causes: Cause, first: int = 0) -> list[PodComparison]:
    """Pods of one workload in the namespace shop."""
    return [
        attrs.evolve(compared_pod(first + at, cause, f"shop/{workload[-1]}{first + at}"), workload=workload)
        for at, cause in enumerate(causes)
    ]


def test_counts_of_a_workload() -> None:
    """Moved, could have been, unplaced before and now, and the most frequent cause that is not same."""
    same, chance, refused, weight = Cause.SAME, Cause.COULD_HAVE_BEEN, Cause.FILTERED_NOW, Cause.CHANGED_WEIGHT
    [found] = workload_summaries(of("Deployment/a", same, same, same, chance, refused, weight, weight))
    [change] = found.changes
    assert (found.namespace, found.workload, found.pods, found.unplaced) == ("shop", "Deployment/a", 7, 0)
    assert (change.moved, change.could_have_been, change.unplaced, change.cause) == (3, 1, 1, weight)
    assert change.causes == {same: 3, weight: 2, chance: 1, refused: 1}


@pytest.mark.parametrize(
    ("causes", "expected"),
    [
        pytest.param((Cause.SAME,), Cause.SAME, id="same"),
        pytest.param((Cause.SAME, Cause.SAME, Cause.TIE_BREAK), Cause.TIE_BREAK, id="one of three"),
        pytest.param((Cause.TIE_BREAK, Cause.TIE_BREAK, Cause.ERROR), Cause.ERROR, id="an error before all"),
    ],
)
def test_main_cause(causes: tuple[Cause, ...], expected: Cause) -> None:
    """What is the same is never the main cause of a workload that differs, and an error always is."""
    [found] = workload_summaries(of("Job/a", *causes))
    assert found.changes[0].cause is expected
    assert found.differs is (expected is not Cause.SAME)


def test_order() -> None:
    """Most moved pods first, then most that differ, then names; namespaces do not mix."""
    pods = [
        *of("Deployment/b", Cause.SAME),
        *of("Deployment/a", Cause.SAME),
        *of("Deployment/c", Cause.COULD_HAVE_BEEN),
        *of("Deployment/d", Cause.TIE_BREAK, Cause.TIE_BREAK),
        attrs.evolve(compared_pod(9, Cause.TIE_BREAK, "data/d9"), workload="Deployment/d"),
    ]
    found = [(one.namespace, one.workload[-1]) for one in workload_summaries(pods)]
    assert found == [("shop", "d"), ("data", "d"), ("shop", "c"), ("shop", "a"), ("shop", "b")]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(list(Cause))), max_size=20))
def test_sums_are_those_of_the_pods(drawn: list[tuple[str, Cause]]) -> None:
    """Over all workloads every number is that of the comparison."""
    pods = [one for at, (name, cause) in enumerate(drawn) for one in of(f"Job/{name}", cause, first=at)]
    found = comparison(pods)
    summaries = found.workloads
    assert sum(one.pods for one in summaries) == len(pods)
    assert sum(one.changes[0].moved for one in summaries) == len(found.moved)
    assert sum(one.unplaced for one in summaries) == sum(p.outcomes[0].host is None for p in pods)
    assert sum(one.changes[0].unplaced for one in summaries) == sum(p.outcomes[1].host is None for p in pods)
    totals = sum((Counter(one.changes[0].causes) for one in summaries), Counter[Cause]())
    assert dict(totals) == (found.summary[0] if pods else {})


def test_columns_apart() -> None:
    """Each new column has its own numbers; a pod that nothing controls stands for itself."""
    found = three_columns()
    assert [len(one.changes) for one in found.workloads] == [2] * 12
    assert {one.workload for one in found.workloads} == {f"Pod/pod-{at}" for at in range(12)}
    document = found.as_dict()["workloads"][0]
    assert [change["column"] for change in document["changes"]] == ["tuned", "default"]
