"""Compares what two schedulers sent to an API server while the same scenes were played.

    python benchmarks/live_scenes.py OURS.jsonl[.gz] THEIRS.jsonl[.gz]

A record is a file of JSON lines, one a request: ``scene``, ``method``, ``path``, ``body`` (of writes) and ``code``.
Scenes are compared as multisets of requests, so that their order within a scene may differ. Prints one line a scene
and the requests that only one of the two has; the status is 1 when there are any. What may differ is in TOLERATED.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import click

Record = Mapping[str, Any]

TOLERATED = {
    "names": "what the server or the process made up: the ends of event names, uids, hosts, addresses",
    "versions": "resourceVersion, also as the number of a list; managedFields",
    "times": "every time in a body, and how long a watch is to last",
    "order": "of requests within a scene: bindings, events and statuses are sent side by side",
    "node choice": "among nodes of the same score: n1 or n2, and so which of the low pods have to go",
    "lease": "how often the lock is renewed, and by which object; that it is sought and given back is tested apart",
    "authentication": "the ConfigMap of authentication: how many of its watches there are; with no secure port none",
    "missing groups": "which version of a group is read when the server no longer has the release's own: events, "
    "pod disruption budgets and CSI nodes of v1beta1; what is said of it, and 404 and 422 as its answers",
    "event API": "where one of the two writes core/v1 events, because the server lacks the other API, only type, "
    "reason, object and text of an event are compared, and neither series nor answers",
    "unknown fields": "a PUT of a whole pod (1.16) keeps the fields that the release does not know",
    "scenes": "that only one record has, as scraping endpoints",
    "repeats": "how often the same request was sent while a scene waited: retries by the clock. None at all differs",
}
"""What two records may differ in."""

GENERATED = re.compile(r"(?<=\.)1[0-9a-f]{15}\b")
UID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
ADDRESS = re.compile(r"https?://[\w.]+:\d+|\b127\.0\.0\.1:\d+")
HOST = re.compile(r"(?<=default-scheduler-)\S+|\b[\w.-]+_(?=<uid>)")
NODE = re.compile(r"\bn[12]\b")
LOW = re.compile(r"\blow[0-3]\b")
CHOSEN_QUERY = re.compile(r"(?:[?&])(?:timeout|timeoutSeconds|resourceVersion)=[^&]*")
BETA = re.compile(r"/(events\.k8s\.io|policy|storage\.k8s\.io)/v1beta1\b")

UNSAID = frozenset({"resourceVersion", "managedFields"})
"""Members of bodies that are not compared."""
LOCKS = re.compile(r"/leases|/endpoints|kube-system/configmaps|kube-system/events")
FOLDED = {"delete the pending pod": "retry 3"}
"""Scene → the one before it, where not every player marks its begin."""


@attrs.frozen(eq=False)
class SceneDifference:
    """One scene in both records."""

    scene: str
    requests: int
    """That both have."""
    ours: tuple[str, ...]
    """Requests that only the first record has."""
    theirs: tuple[str, ...]
    """Requests that only the second record has."""

    @property
    def agrees(self) -> bool:
        """Whether only tolerated differences are left."""
        return not self.ours and not self.theirs


def read_record(path: Path) -> list[Record]:
    """The requests of a record, gzipped or not."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return [json.loads(line) for line in file]


def compare_records(ours: Iterable[Record], theirs: Iterable[Record]) -> Iterator[SceneDifference]:
    """Every scene that both have, in the order of the second."""
    first, second = list(ours), list(theirs)
    plain = _events_api(first) != _events_api(second)
    mine, other = _by_scene(first, plain), _by_scene(second, plain)
    for scene in other:
        if scene in mine:
            left, right = set(mine[scene]), set(other[scene])
            both = sum(count for request, count in mine[scene].items() if request in right)
            yield SceneDifference(scene, both, tuple(sorted(left - right)), tuple(sorted(right - left)))


def _events_api(record: Iterable[Record]) -> bool:
    """Whether events are written by an API of their own."""
    return any(one["method"] == "POST" and "/apis/events.k8s.io/" in one["path"] for one in record)


def _by_scene(record: Iterable[Record], plain_events: bool) -> dict[str, Counter[str]]:
    """Scene → request, as far as it is compared → how often."""
    scenes: dict[str, Counter[str]] = {}
    for one in record:
        name: str = one["scene"]
        scene = FOLDED.get(name, name)
        requests = scenes.setdefault(scene, Counter())
        if LOCKS.search(one["path"]):
            continue
        if not plain_events or "/events" not in one["path"]:
            requests[compared_request(one)] += 1
        elif one["method"] == "POST" and "series" not in one["body"]:
            requests[plain_event(one["body"])] += 1
    return scenes


def compared_request(one: Record) -> str:
    """A request as one line, without what is tolerated."""
    path, _, query = one["path"].partition("?")
    path = BETA.sub(r"/\1/v1", LOW.sub("low*", GENERATED.sub("<generated>", path)))
    code = one["code"]
    if "events.k8s.io" in path or one["method"] == "GET":
        code = "any"
    body = "" if one.get("body") is None else " " + json.dumps(_plain_body(one), sort_keys=True)
    return f"{one['method']} {path}{CHOSEN_QUERY.sub('', '?' + query) if query else ''}{body} {code}"


def plain_event(body: Mapping[str, Any]) -> str:
    """An event as one line, whichever API it is written by."""
    about = body.get("regarding") or body.get("involvedObject") or {}
    text = body.get("note") or body.get("message") or ""
    said = (body["type"], body["reason"], about.get("kind", ""), about.get("name", ""), text)
    return "event " + _plain_text(" ".join(said))


def _plain_body(one: Record) -> Any:
    body = one["body"]
    if one["method"] == "PUT" and one["path"].endswith("/status"):
        status = body.get("status", {})
        body = {"status": {key: status[key] for key in ("conditions", "nominatedNodeName") if key in status}}
    return _plain(body)


def _plain(value: Any) -> Any:
    """A body without what is tolerated, member by member."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items() if key not in UNSAID}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return _plain_text(value) if isinstance(value, str) else value


def _plain_text(text: str) -> str:
    text = TIME.sub("<time>", UID.sub("<uid>", GENERATED.sub("<generated>", text)))
    text = HOST.sub("<host>", ADDRESS.sub("<server>", text))
    text = LOW.sub("low*", NODE.sub("<node>", text))
    return text.replace("events.k8s.io/v1beta1", "events.k8s.io/v1")


@click.command(help=__doc__)
@click.argument("ours", type=click.Path(exists=True, path_type=Path))
@click.argument("theirs", type=click.Path(exists=True, path_type=Path))
def main(ours: Path, theirs: Path) -> None:
    """The command."""
    differs = False
    for found in compare_records(read_record(ours), read_record(theirs)):
        click.echo(f"{'same   ' if found.agrees else 'differs'} {found.requests:4d} {found.scene}")
        for side, requests in (("only ours", found.ours), ("only theirs", found.theirs)):
            for request in requests:
                click.echo(f"    {side}: {request}")
        differs = differs or not found.agrees
    sys.exit(1 if differs else 0)


if __name__ == "__main__":
    main()
