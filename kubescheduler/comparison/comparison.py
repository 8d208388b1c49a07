"""Comparison: what was found of all pods in all columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import attrs

from kubescheduler.comparison.comparison_document import effects_document, pod_document, workload_document
from kubescheduler.comparison.effects import Effects
from kubescheduler.comparison.outcomes import Cause, DrawnRun, PodComparison
from kubescheduler.comparison.workload_summaries import WorkloadSummary, workload_summaries


@attrs.frozen
class Comparison:
    """The outcome of a comparison."""

    names: tuple[str, ...]
    """The columns, the old one first."""
    releases: tuple[str, ...]
    """The release of each column."""
    mode: str
    pods: tuple[PodComparison, ...]
    effects: tuple[Effects, ...]
    """The cluster after the run, by column."""
    before: Effects
    """The cluster without the compared pods."""
    notes: tuple[str, ...] = ()
    """What a reader has to know of the answers, as that extenders were not asked."""
    runs: tuple[DrawnRun, ...] = ()
    """The runs that draw among equal totals as the releases do, one a seed; empty if none were asked for."""
    titles: tuple[str, ...] = attrs.field()
    """The columns for people, with what configures them: ``1.16 policy.json``; by default the names."""

    @titles.default
    def _named(self) -> tuple[str, ...]:
        return self.names

    @property
    def moved(self) -> tuple[PodComparison, ...]:
        """The pods that go elsewhere in some new column."""
        return tuple(pod for pod in self.pods if pod.moved)

    @property
    def differing(self) -> tuple[PodComparison, ...]:
        """The pods of which some new column is not the same; those that go elsewhere are among them."""
        return tuple(pod for pod in self.pods if pod.differs)

    @property
    def errors(self) -> tuple[PodComparison, ...]:
        """The pods that could not be compared with some new column."""
        return tuple(pod for pod in self.pods if pod.error)

    @property
    def same(self) -> bool:
        """Whether every pod was compared and nothing differs."""
        return not self.differing

    @property
    def summary(self) -> tuple[dict[Cause, int], ...]:
        """Per new column: cause → how many pods, the most frequent first; ``same`` is among them."""
        return tuple(
            dict(Counter(pod.changes[at].cause for pod in self.pods).most_common()) for at in range(len(self.names) - 1)
        )

    @property
    def workloads(self) -> tuple[WorkloadSummary, ...]:
        """The pods summed up by what controls them, those first of which most go elsewhere."""
        return workload_summaries(self.pods)

    def differs(self, tolerated: Iterable[Cause | str] = ()) -> bool:
        """Whether some pod has a cause that is not tolerated; an error is never tolerated."""
        passes = {*map(Cause, tolerated), Cause.SAME} - {Cause.ERROR}
        return any(cause not in passes for pod in self.pods for cause in pod.causes)

    def as_dict(self) -> dict[str, Any]:
        """As plain data, as ``-o json`` shows it."""
        columns = zip(self.names, self.releases, strict=True)
        return {
            "kind": "Comparison",
            "mode": self.mode,
            "notes": list(self.notes),
            "columns": [{"name": name, "release": release} for name, release in columns],
            "same": self.same,
            "compared": len(self.pods),
            "moved": len(self.moved),
            "differing": len(self.differing),
            "errors": len(self.errors),
            "summary": [
                {"column": name, "causes": {str(cause): count for cause, count in counts.items()}}
                for name, counts in zip(self.names[1:], self.summary, strict=True)
            ],
            "runs": [
                {"seed": run.seed, "moved": dict(zip(self.names[1:], run.moved, strict=True))} for run in self.runs
            ],
            "before": effects_document(self.before),
            "effects": [
                {"column": name, **effects_document(effects)}
                for name, effects in zip(self.names, self.effects, strict=True)
            ],
            "workloads": [workload_document(self.names, workload) for workload in self.workloads],
            "pods": [pod_document(self.names, pod) for pod in self.pods],
        }

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for each pod: whether it moves, its host in each column, and by each new column
        the cause; with runs that draw among equal totals also the share of those in which it moves.

        Raises ConfigError without pandas.
        """
        from kubescheduler.notebook.views import comparison_columns, data_frame

        return data_frame(comparison_columns(self), "pod")

    def to_arrow(self) -> Any:
        """The rows of ``to_frame`` as a pyarrow Table. Raises ConfigError without pyarrow."""
        from kubescheduler.notebook.views import arrow_table, comparison_columns

        return arrow_table(comparison_columns(self))

    def _repr_html_(self) -> str:
        """A small static page: how many pods go elsewhere, which, and why."""
        from kubescheduler.notebook.views import comparison_html

        return comparison_html(self)
