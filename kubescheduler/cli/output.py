"""Decisions and registries as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from algorithmprovider.registry import Registry
    from kubescheduler.core.decision import Decision

NONE = "<none>"


def table(rows: Iterable[Sequence[str]]) -> str:
    """Rows as kubectl aligns them: three spaces between columns, nothing after the last."""
    lines = [tuple(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def render(decisions: Sequence[Decision], output: str, *, explain: bool) -> str:
    """All decisions in one of the formats table, wide, json, yaml, name."""
    if output in ("json", "yaml"):
        return _document([decision_document(decision) for decision in decisions], output)
    if output == "name":
        return "\n".join(f"{decision.pod.key} {decision.host or NONE}" for decision in decisions)
    text = _wide(decisions) if output == "wide" else _short(decisions)
    if explain:
        from kubescheduler.cli.explain import explanation

        text = "\n\n".join([text, *(explanation(decision) for decision in decisions)])
    return text


def _short(decisions: Sequence[Decision]) -> str:
    rows = [("NAMESPACE", "POD", "NODE", "FITS", "MESSAGE")]
    rows += [(*_names(d), d.host or NONE, f"{len(d.feasible)}/{d.nodes_total}", d.message) for d in decisions]
    return table(rows)


def _wide(decisions: Sequence[Decision]) -> str:
    rows = [("NAMESPACE", "POD", "NODE", "FITS", "TOTAL", "TIED", "RELEASE", "MESSAGE")]
    for d in decisions:
        best = d.best()
        total = str(int(d.totals.max())) if len(d.totals) else NONE
        fits = f"{len(d.feasible)}/{d.nodes_total}"
        rows.append((*_names(d), d.host or NONE, fits, total, str(len(best)), d.release, d.message))
    return table(rows)


def _names(decision: Decision) -> tuple[str, str]:
    return decision.pod.metadata.namespace or NONE, decision.pod.metadata.name


def decision_document(decision: Decision) -> dict[str, Any]:
    """A decision as plain data: the parts of the evaluate protocol, the pod and the host."""
    from kubescheduler.evaluation import result_of

    metadata = decision.pod.metadata
    pod = {"namespace": metadata.namespace, "name": metadata.name, "uid": metadata.uid}
    result = result_of(decision)
    return {"pod": pod, "release": decision.release, "host": decision.host, "message": decision.message, **result}


def _document(items: list[dict[str, Any]], output: str) -> str:
    import msgspec

    document = {"kind": "DecisionList", "items": items}
    if output == "json":
        return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
    import yaml

    text: str = yaml.dump(document, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), sort_keys=False)
    return text.rstrip("\n")


def registry_table(registry: Registry) -> str:
    """What a policy or provider can name, with who has it by default."""
    rows = [("KIND", "NAME", "WEIGHT", "PROVIDERS")]
    for kind, names in (("predicate", registry.fit_predicates), ("priority", registry.priorities)):
        for name in sorted(names):
            weight = str(registry.priorities[name].weight) if kind == "priority" else ""
            rows.append((kind, name, weight, ",".join(_providers(registry, kind, name)) or NONE))
    rows += [("provider", name, "", "") for name in sorted(registry.providers)]
    return table(rows)


def _providers(registry: Registry, kind: str, name: str) -> list[str]:
    return sorted(
        key
        for key, provider in registry.providers.items()
        if name in (provider.predicates if kind == "predicate" else provider.priorities)
    )


def registry_json(release: str, registry: Registry) -> str:
    import msgspec

    document = {
        "release": release,
        "predicates": [
            {
                "name": name,
                "mandatory": name in registry.mandatory,
                "runs": name in registry.ordering,
                "providers": _providers(registry, "predicate", name),
            }
            for name in sorted(registry.fit_predicates)
        ],
        "priorities": [
            {"name": name, "weight": factory.weight, "providers": _providers(registry, "priority", name)}
            for name, factory in sorted(registry.priorities.items())
        ],
        "providers": [
            {"name": name, "predicates": sorted(p.predicates), "priorities": sorted(p.priorities)}
            for name, p in sorted(registry.providers.items())
        ],
        "ordering": registry.ordering,
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
