"""What a simulation says, for comparing two of them."""

from __future__ import annotations

from typing import Any

from kubescheduler.simulation.simulation_report import Report


def facts(report: Report) -> tuple[Any, ...]:
    """Everything: what became of the pods, preemptions, and how much of the nodes was used when."""
    pods = [(r.pod, r.arrived, r.outcome, r.node, r.placed, r.left, r.attempts, r.message) for r in report.pods]
    used = [(node.name, node.changes) for node in report.nodes]
    return pods, report.preemptions, report.samples, used, report.end
