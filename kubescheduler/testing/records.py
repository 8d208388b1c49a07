"""Placements recorded in readable files, and compared with what a scheduler does now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from clusterstate.errors import ConfigError
from clusterstate.manifests.fields import describe
from kubescheduler.core.decision import Decision
from kubescheduler.sources.yaml_stream import parse_yaml
from kubescheduler.testing.explanations import why_not
from kubescheduler.testing.placements import Placements, shown


class RecordedPlacement(msgspec.Struct, frozen=True):
    """A pod in a record."""

    pod: str
    host: str | None
    total: int | None = None
    """The host's total; None where nothing was scored."""
    tied: tuple[str, ...] = ()
    """The nodes with that total, the host among them."""
    message: str = ""

    @classmethod
    def of(cls, pod: str, decision: Decision) -> RecordedPlacement:
        """What a decision says of a pod."""
        if decision.host is None:
            return cls(pod, None, message=decision.message)
        return cls(pod, decision.host, decision.total().get(decision.host), tuple(decision.best()))


def placed(placements: Placements) -> list[RecordedPlacement]:
    """The placements as they are recorded."""
    return [RecordedPlacement.of(pod, decision) for pod, decision in placements.decisions.items()]


# --- files -----------------------------------------------------------------------------------


def written(records: Sequence[RecordedPlacement], title: str) -> str:
    """The text of a file of records."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Blocks, but lists of names on one line and messages of several lines as they are."""

    Dumper.add_representer(tuple, lambda d, v: d.represent_sequence("tag:yaml.org,2002:seq", v, flow_style=True))
    Dumper.add_representer(
        str, lambda d, v: d.represent_scalar("tag:yaml.org,2002:str", v, style="|" if "\n" in v else None)
    )
    document = {"pods": [_fields(record) for record in records]}
    text = yaml.dump(document, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=10**6)
    return f"# {title}\n{text}"


def _fields(record: RecordedPlacement) -> dict[str, Any]:
    fields: dict[str, Any] = {"pod": record.pod, "host": record.host}
    if record.total is not None:
        fields["total"] = record.total
    if record.tied:
        fields["tied"] = record.tied
    if record.message:
        fields["message"] = record.message
    return fields


def read(path: Path) -> dict[str, RecordedPlacement]:
    """Pod → its record. Raises ConfigError with every fault."""
    documents = parse_yaml(str(path), path.read_bytes())
    document = documents[0] if len(documents) == 1 else None
    entries = document.get("pods") if isinstance(document, Mapping) else None
    if not isinstance(entries, list):
        raise ConfigError(f"{path}: pods: must be a list, one entry a pod, not {describe(entries)}")
    problems: list[str] = []
    found = {}
    for index, entry in enumerate(entries):
        wrong = list(_entry_faults(entry))
        problems += (f"{path}: pods[{index}]{fault}" for fault in wrong)
        if not wrong:
            tied, message = tuple(entry.get("tied") or ()), entry.get("message") or ""
            found[entry["pod"]] = RecordedPlacement(entry["pod"], entry["host"], entry.get("total"), tied, message)
    if problems:
        raise ConfigError(problems)
    return found


_TYPES: dict[str, tuple[type, ...]] = {
    "pod": (str,),
    "host": (str, type(None)),
    "total": (int, type(None)),
    "tied": (list, type(None)),
    "message": (str, type(None)),
}


def _entry_faults(entry: Any) -> Iterator[str]:
    if not isinstance(entry, Mapping):
        yield f": must have pod and host, not {describe(entry)}"
        return
    yield from (f".{key}: missing" for key in ("pod", "host") if key not in entry)
    for key, value in entry.items():
        if key not in _TYPES:
            yield f".{key}: there is no such field; fields are {', '.join(_TYPES)}"
        elif not isinstance(value, _TYPES[key]):
            yield f".{key}: {describe(value)} is not possible here"


# --- comparing -------------------------------------------------------------------------------


def differences(recorded: Mapping[str, RecordedPlacement], placements: Placements, *, exact: bool) -> list[str]:
    """What differs from the record, explained; several lines a pod. exact: totals, ties and messages count too."""
    lines: list[str] = []
    for now in placed(placements):
        before = recorded.get(now.pod)
        if before is None:
            lines.append(f"{now.pod}: not recorded, now {shown(now.host)}")
        elif before.host != now.host:
            lines.append(f"{now.pod}: recorded {shown(before.host)}, now {shown(now.host)}")
            lines += (f"  {line}" for line in _why(before, placements.decisions[now.pod]))
        elif exact and before != now:
            lines.append(f"{now.pod}: still {shown(now.host)}, but")
            lines += (f"  {line}" for line in _details(before, now))
    gone = (record for pod, record in recorded.items() if pod not in placements)
    return [*lines, *(f"{record.pod}: recorded {shown(record.host)}, now not among the pods" for record in gone)]


def _why(before: RecordedPlacement, decision: Decision) -> Iterator[str]:
    if before.host is None and before.message:
        yield f"recorded: {before.message.rstrip()}"
    yield from why_not(decision, before.host)


def _details(before: RecordedPlacement, now: RecordedPlacement) -> Iterator[str]:
    for what in ("total", "tied", "message"):
        was, is_now = getattr(before, what), getattr(now, what)
        if was != is_now:
            yield f"{what}: recorded {_said(was)}, now {_said(is_now)}"


def _said(value: Any) -> str:
    return ", ".join(value) if isinstance(value, tuple) else repr(value) if isinstance(value, str) else str(value)
