"""The reference of metrics: every family of every release, from its table."""

from __future__ import annotations

from docs.generate.writing import cell
from kubescheduler.live.metrics.metrics_registry import Family, Visibility, go_number
from kubescheduler.releases.lookup import recorded_processes

OWN = "scheduler_"


def metrics_tables() -> dict[str, str]:
    """Name → Markdown."""
    return {"own metrics": _table(own=True), "library metrics": _table(own=False)}


def _table(*, own: bool) -> str:
    """A row for each way in which a metric is defined; releases that define it alike share one."""
    rows: dict[tuple[str, str, str, str], list[str]] = {}
    for release in reversed(recorded_processes().values()):
        visibility = Visibility(release.version)
        for family in release.metrics.families:
            if family.name.startswith(OWN) == own:
                key = (family.name, family.kind, ", ".join(family.labels), _buckets(family))
                rows.setdefault(key, []).append(f"{release.name} {_standing(family, visibility)}")
    lines = ["| metric | type | labels | upper bounds | releases |", "|---|---|---|---|---|"]
    for (name, kind, labels, buckets), releases in sorted(rows.items()):
        lines.append(f"| `{name}` | {kind} | {cell(labels)} | {buckets} | {', '.join(releases)} |")
    return "\n".join(lines)


def _buckets(family: Family) -> str:
    """The first, the second and the last."""
    if family.kind == "summary":
        return "quantiles 0.5, 0.9, 0.99"
    bounds = [go_number(float(f"{bound:.6g}")) for bound in family.buckets]
    return ", ".join(bounds) if len(bounds) <= 3 else f"{bounds[0]}, {bounds[1]} … {bounds[-1]} ({len(bounds)})"


def _standing(family: Family, visibility: Visibility) -> str:
    if not family.registered:
        return "never exported"
    if visibility.hides(family):
        return f"{family.stability}, hidden since {family.deprecated}"
    return f"{family.stability}, deprecated" if family.deprecated else family.stability
