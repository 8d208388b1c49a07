"""What a line of the evaluate protocol may have, and what is wrong with one that has something else."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec

from clusterstate.errors import DecodeError, nearest
from clusterstate.manifests.documents import SECTIONS
from clusterstate.manifests.fields import describe, step
from kubescheduler.sources.limits import TooLongError, check_values

CONFIGURATION_KEYS = ("provider", "policy", "componentConfig")

Types = Mapping[str, tuple[tuple[type, ...], str]]
"""Member → its types, and what messages call them."""

_ANYTHING = ((object,), "anything")
_OBJECT, _FLAG, _TEXT, _LIST = ((dict,), "an object"), ((bool,), "true or false"), ((str,), "text"), ((list,), "a list")
_SECONDS = ((int, float), "a number of seconds")
SCENARIO_TYPES: Types = {
    "id": _ANYTHING,
    "cluster": _OBJECT,
    "featureGates": _OBJECT,
    "sequence": _FLAG,
    "queries": _LIST,
}
"""What a line has."""
QUERY_TYPES: Types = {
    "id": _ANYTHING,
    "pod": _OBJECT,
    "provider": _TEXT,
    "policy": _OBJECT,
    "componentConfig": _OBJECT,
    "preempt": _FLAG,
    "now": _TEXT,
    "events": _LIST,
}
"""What a query has."""
EVENT_TYPES: Types = {"after": _SECONDS, "old": _OBJECT, "new": _OBJECT}
"""What an event of a query has."""


def check_scenario(document: Mapping[str, Any]) -> None:
    """Raises DecodeError with every member that a line does not have, or of a wrong type; null counts as absent."""
    wrong = [*_unknown(document, SCENARIO_TYPES, ""), *_wrong(document, SCENARIO_TYPES, "")]
    cluster, gates = document.get("cluster"), document.get("featureGates")
    if isinstance(cluster, dict):
        wrong += _unknown({key: cluster[key] for key in cluster if key != "kind"}, SECTIONS, "cluster")
    if isinstance(gates, dict):
        wrong += (
            f"featureGates{step(gate)}: must be true or false, not {describe(value)}"
            for gate, value in gates.items()
            if not isinstance(value, bool)
        )
    if wrong:
        raise DecodeError(wrong)


def check_query(query: Mapping[str, Any], where: str) -> None:
    """Raises DecodeError with every member that a query does not have, or of a wrong type; null counts as absent."""
    wrong = [*_unknown(query, QUERY_TYPES, where.rstrip(".")), *_wrong(query, QUERY_TYPES, where)]
    events = query.get("events")
    for at, event in enumerate(events if isinstance(events, list) else ()):
        place = f"{where}events[{at}]"
        if isinstance(event, dict):
            wrong += (*_unknown(event, EVENT_TYPES, place), *_wrong(event, EVENT_TYPES, f"{place}."))
        else:
            wrong.append(f"{place}: must be an object, not {describe(event)}")
    if wrong:
        raise DecodeError(wrong)


def _unknown(given: Mapping[str, Any], known: Collection[str], where: str) -> Iterator[str]:
    for key in given:
        if key not in known:
            hint = nearest(key, known) or f"; there are {', '.join(known)}"
            yield f"{where}{step(key)}: unknown key{hint}".removeprefix(".")


def _wrong(given: Mapping[str, Any], types: Types, where: str) -> Iterator[str]:
    for key, (kinds, name) in types.items():
        value = given.get(key)
        is_flag = isinstance(value, bool) and not {bool, object}.intersection(kinds)
        if value is not None and (is_flag or not isinstance(value, kinds)):
            yield f"{where}{key}: must be {name}, not {describe(value)}"


# --- values --------------------------------------------------------------------------------


def line_value(line: bytes) -> Any:
    """The JSON of a line. Raises DecodeError."""
    try:
        check_values(line)
        return msgspec.json.decode(line)
    except TooLongError as error:
        raise DecodeError(f"a line: {error}") from error
    except msgspec.DecodeError as error:
        if line.isascii() or _is_utf8(line):
            raise DecodeError(f"a line: {error}") from error
        raise DecodeError("a line: it is not UTF-8 text") from error
    except UnicodeDecodeError as error:
        raise DecodeError("a line: it is not UTF-8 text") from error


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def queries_of(document: Mapping[str, Any]) -> list[Any]:
    """The queries of a line. Raises DecodeError for a line without any."""
    if "queries" not in document:
        raise DecodeError("queries: missing; a scenario has them beside its cluster, and an answer is given to each")
    queries = document["queries"]
    if queries is not None and not isinstance(queries, list):
        raise DecodeError(f"queries: must be a list, not {describe(queries)}")
    return queries or []


def id_of(query: Any) -> Any:
    """What a query calls itself; None for nothing."""
    return query.get("id") if isinstance(query, dict) else None


def object_of(value: Any, what: str) -> dict[str, Any]:
    """The value, which is an object. Raises DecodeError for any other, which the text calls ``what``."""
    if not isinstance(value, dict):
        raise DecodeError(f"{what}: must be an object, not {describe(value)}")
    return value


def seconds_of_time(text: str | None) -> float | None:
    """A moment as Kubernetes writes it, in seconds since the epoch. Raises DecodeError for what is none."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            raise ValueError
        return moment.timestamp()
    except (ValueError, OverflowError) as error:
        raise DecodeError(f"now: {describe(text)} is no time; write it as 2020-01-31T12:00:00Z") from error
