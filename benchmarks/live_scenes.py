"""Compares what two schedulers sent to an API server while the same scenes were played.

    python benchmarks/live_scenes.py OURS.jsonl[.gz] THEIRS.jsonl[.gz]

A record is a file of JSON lines, one a request: ``scene``, ``t``, ``method``, ``path``, ``body`` (of writes) and
``code``. Scenes are compared as multisets of requests, so that their order within a scene may differ. What the clock
repeats, reads and all that concerns the lock and kube-system, is compared as sets, the latter over the whole record.
Prints one line a scene and the requests that only one of the two has; the status is 1 when there are any. What may
differ is in TOLERATED.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs
import click

Record = Mapping[str, Any]
"""One request: ``scene``, ``t`` (seconds), ``method``, ``path``, ``body`` (of writes) and ``code``."""

GENERATED = re.compile(r"(?<=\.)1[0-9a-f]{15}\b")
UID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
ADDRESS = re.compile(r"https?://[\w.]+:\d+|\b127\.0\.0\.1:\d+")
HOLDER = re.compile(r"[\w.-]+_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
TRANSITIONS = re.compile(r"((?:lease|leader)Transitions\W+)\d+")
HOST = re.compile(r"(?<=default-scheduler-)\S+|\b[\w.-]+_(?=<uid>)")
NODE = re.compile(r"\bn[12]\b")
LOW = re.compile(r"\blow[0-3]\b")
CHOSEN_QUERY = re.compile(r"(?:[?&])(?:timeout|timeoutSeconds|resourceVersion)=[^&]*")
BETA = re.compile(r"/(events\.k8s\.io|policy|storage\.k8s\.io)/v1beta1\b")

UNSAID = frozenset({"resourceVersion", "managedFields"})
"""Members of bodies that are not compared."""

SHAPING = frozenset({"kind", "apiVersion", "type", "status", "reason"})
"""Members whose text says what kind of request it is."""

LOCKS = re.compile(r"/leases|/endpoints|kube-system/configmaps|kube-system/events")
LOCK = re.compile(r"/(?:leases|endpoints|configmaps)\b.*/kube-scheduler\b|/(?:leases|endpoints|configmaps)\?")
ONE_POD = re.compile(r"/api/v1/namespaces/[^/]+/pods/[^/?]+")
POD_OF_PATH = re.compile(r"/pods/([^/?]+)|/events/([^/?]+)\.1[0-9a-f]{15}\b")

IN_CACHE = re.compile(r"pod [0-9a-f-]{36} is in the cache, so can't be assumed")
"""What 1.16 and 1.20 say of a pod that is tried although it has its node."""
DELETING = "skip schedule deleting pod: "


def is_of_the_system(one: Record) -> bool:
    """Whether a request is about the lock, or about kube-system: these come by the clock, whatever the scene."""
    return LOCKS.search(one["path"]) is not None


def system_request(one: Record) -> str:
    """The same as one line; who leads, and how often that has changed before, are the machine's."""
    return TRANSITIONS.sub(r"\1<number>", compared_request(one))


def shape(one: Record) -> str:
    """What kind of request this is, whoever it is about: names, texts and numbers left out, and whether the pod was
    still there."""
    path = BETA.sub(r"/\1/v1", POD_OF_PATH.sub("/<pod>", one["path"].partition("?")[0]))
    code = "any" if one["code"] in (200, 201, 404, 409) else one["code"]
    return f"{one['method']} {path} {json.dumps(_shape(one.get('body')), sort_keys=True)} {code}"


def _shape(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _shape(each, name) for name, each in value.items() if name not in UNSAID}
    if isinstance(value, list):
        return sorted({json.dumps(_shape(each), sort_keys=True) for each in value})
    return _plain(value) if key in SHAPING else type(value).__name__


def is_compared(one: Record) -> bool:
    """Whether a request counts in its scene: not those for the lock and of kube-system, which are compared apart, reads
    of a single pod, and events of pods being deleted."""
    if is_of_the_system(one) or (one["method"] == "GET" and ONE_POD.fullmatch(one["path"].partition("?")[0])):
        return False
    return DELETING not in json.dumps(one.get("body"))


def was_put_back_twice(one: Record) -> bool:
    """Whether the real 1.16 or 1.20 speaks of a pod that it has put into its queue a second time."""
    return IN_CACHE.search(json.dumps(one.get("body"))) is not None


def leads(requests: Iterable[Record]) -> bool:
    """Whether the lock was got, if it was sought: a scheduler that does not get it decides nothing."""
    writes = [one for one in requests if one["method"] in ("POST", "PUT") and LOCK.search(one["path"])]
    return not writes or any(one["code"] in (200, 201) for one in writes)


def pod_of(one: Record) -> str:
    """The name of the pod that a request is about; empty: it is about none."""
    found = POD_OF_PATH.search(one["path"])
    if found is not None:
        return str(found[1] or found[2])
    body = one.get("body")
    about = (body.get("regarding") or body.get("involvedObject") or {}) if isinstance(body, dict) else {}
    return str(about.get("name", "")) if about.get("kind") == "Pod" else ""


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
    text = HOLDER.sub("<host>_<uid>", text)
    text = TIME.sub("<time>", UID.sub("<uid>", GENERATED.sub("<generated>", text)))
    text = HOST.sub("<host>", ADDRESS.sub("<server>", text))
    text = LOW.sub("low*", NODE.sub("<node>", text))
    return text.replace("events.k8s.io/v1beta1", "events.k8s.io/v1")


TOLERATED = {
    "names": "what the server or the process made up: the ends of event names, uids, hosts, addresses",
    "versions": "resourceVersion, also as the number of a list; managedFields",
    "times": "every time in a body, and how long a watch is to last",
    "order": "of requests within a scene: bindings, events and statuses are sent side by side",
    "node choice": "among nodes of the same score: n1 or n2, and so which of the low pods have to go",
    "lease": "how often the lock is read and renewed, whether it was there before, and how often it had changed hands",
    "authentication": "the ConfigMap of authentication: how many of its reads there are; with no secure port none",
    "missing groups": "which version of a group is read when the server no longer has the release's own: events, "
    "pod disruption budgets and CSI nodes of v1beta1; what is said of it, and 404 and 422 as its answers",
    "event API": "where one of the two writes core/v1 events, because the server lacks the other API, only type, "
    "reason, object and text of an event are compared, and neither series nor answers",
    "unknown fields": "a PUT of a whole pod (1.16) keeps the fields that the release does not know",
    "reads": "GETs of a single pod: 1.16 reads every pod before it queues it again; here the informer's copy serves",
    "scenes": "that only one record has, as scraping endpoints, and all that is said later of the pods made in them",
    "repeats": "how often the same was read while a scene waited. None at all differs, and so does a write more",
    "borders": "a scene is marked when its actor has its answer: what comes within half a second after that may "
    "belong to the scene before, as the event of a pod that was deleted",
    "slow start": "a process that asks for nothing in the first scene, because its machine is busy, does so in the "
    "next one, to which the other's first scene is counted then",
    "lost lock": "a scheduler that does not get the lock decides nothing. The real 1.16 and 1.20 keep the lock when "
    "they are stopped, so that the next one waits for it to run out; here it is given back",
    "put back twice": "the real 1.16 and 1.20 queue a pod again beside the write of its status, whose answer queues "
    "it too: now and then a bound pod is tried again, and the status says that it is in the cache",
    "deletions": "in RACES pods are deleted some milliseconds apart while others are tried: whether a binding or a "
    "victim's deletion comes before the pod's own end, and whether a preemptor is tried between the ends of its two "
    "victims, differs from one run to the next. So does, in every scene, whether a pod is tried between the begin and "
    "the end of its deletion (skip schedule deleting pod). What is written there has to be of a kind that the other "
    "record has somewhere, and no pod is bound twice",
    "lost answers": "where the answer to a binding is lost, the real ones say that it failed, of a pod that is bound. "
    "Here the pod is read first, and said to be scheduled",
    "new leader": "who follows another leader asks here for the newest versions of pods and nodes before it decides",
}
"""What two records may differ in."""

FOLDED = {"delete the pending pod": "retry 3"}
"""Scene → the one before it, where not every player marks its begin."""
ALL_BUT_READS = re.compile(r"(?!GET )")
RACES = {
    "clean": ALL_BUT_READS,
    "victims end": re.compile(r".*FailedScheduling|(?:PATCH|PUT) .*(?:/events/high\.|/pods/high/status)"),
}
"""Scene → what of it is not compared, see ``deletions``."""
SYSTEM = "the lock and kube-system"
"""What is compared over all scenes together."""
GIVEN_BACK = re.compile(r'PUT .*holderIdentity\W+""|PUT .*holderIdentity\\": *\\"\\"')
"""Sent by ours alone where the real 1.16 and 1.20 keep the lock, see ``lost lock``."""
BETTER = {
    "binding forwarded, answer lost": re.compile(
        r"(?:PATCH|PUT) .*/pods/lost/status|(?:POST|PATCH|PUT) .*/events.*lost|event .* Pod lost "
    ),
    "second start; lease PUT fails from now on: loss": re.compile(r"GET .*[?&]limit=1 "),
}
"""Scene → what of it is not compared, see ``lost answers`` and ``new leader``."""
BORDER = 0.5
"""Seconds after the first request of a scene in which others may belong to the scene before."""


@attrs.frozen(eq=False)
class Scene:
    """One scene of one record, as far as it is compared."""

    requests: Counter[str]
    """Request → how often it was sent."""
    early: frozenset[str]
    """Those that may belong to the scene before."""
    shapes: Mapping[str, str]
    """Of the writes what kind they are."""
    twice: frozenset[str]
    """Bindings of pods that the server has bound more than once."""
    leads: bool
    """Whether the scheduler got the lock, if it sought it."""


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
    first, second = list(ours), [one for one in theirs if not was_put_back_twice(one)]
    first, second = _begun_with(first, second), _begun_with(second, first)
    plain = _events_api(first) != _events_api(second)
    played = _played(first) & _played(second)
    mine, other = (_scenes(record, played, plain) for record in (first, second))
    names = [scene for scene in other if scene in mine]
    kinds = tuple({each for scene in scenes.values() for each in scene.shapes.values()} for scenes in (mine, other))
    only = {name: [*_only(name, mine[name], other[name], kinds)] for name in names}
    for before, after in pairwise(names):
        for side, scenes in ((0, mine), (1, other)):
            late = only[before][1 - side] & only[after][side]
            late = Counter({request: count for request, count in late.items() if request in scenes[after].early})
            only[before][1 - side] -= late
            only[after][side] -= late
    for name in names:
        both = sum((mine[name].requests & other[name].requests).values())
        yield SceneDifference(name, both, *(tuple(sorted(requests.elements())) for requests in only[name]))
    alike = {name for name in names if mine[name].leads == other[name].leads}
    yield from _system(*([one for one in record if _scene_of(one) in alike] for record in (first, second)))


def _system(first: list[Record], second: list[Record]) -> Iterator[SceneDifference]:
    """What both send about the lock and to kube-system, as sets; nothing where neither sends anything."""
    sent = [[one for one in record if is_of_the_system(one)] for record in (first, second)]
    for passed in (_creates, _reads_configuration):
        if not all(any(passed(one) for one in record) for record in sent):
            sent = [[one for one in record if not passed(one)] for record in sent]
    ours, theirs = ({system_request(one) for one in record} for record in sent)
    mine = tuple(sorted(one for one in ours - theirs if not GIVEN_BACK.match(one)))
    if ours or theirs:
        yield SceneDifference(SYSTEM, len(ours & theirs), mine, tuple(sorted(theirs - ours)))


def _creates(one: Record) -> bool:
    """Whether a lock is made, which may have been there before."""
    return bool(one["method"] == "POST" and "/events" not in one["path"])


def _reads_configuration(one: Record) -> bool:
    """Whether the ConfigMap of authentication is read, which only who has a secure port does."""
    return bool(one["method"] == "GET" and "/configmaps" in one["path"])


def _begun_with(record: list[Record], other: list[Record]) -> list[Record]:
    """The record with everything before the other's first scene counted to that scene."""
    scenes = list(dict.fromkeys(one["scene"] for one in record))
    begin = other[0]["scene"] if other else ""
    before = scenes[: scenes.index(begin)] if begin in scenes else ()
    return [{**one, "scene": begin} if one["scene"] in before else one for one in record]


def _only(name: str, mine: Scene, other: Scene, kinds: Sequence[set[str]]) -> tuple[Counter[str], Counter[str]]:
    """(requests that only the one has, that only the other has), with how many more. kinds: of the writes of both
    records."""
    races, passed = RACES.get(name), [BETTER[name]] if name in BETTER else []
    if mine.leads != other.leads:
        passed.append(ALL_BUT_READS)

    def more(scene: Scene, than: Scene, known: set[str]) -> Counter[str]:
        found = scene.requests - than.requests
        for request in list(found):
            races_there = races is not None and races.match(request) and request not in scene.twice
            if any(pattern.match(request) for pattern in passed) or (races_there and scene.shapes[request] in known):
                del found[request]
        return found

    return more(mine, other, kinds[1]), more(other, mine, kinds[0])


def _events_api(record: Iterable[Record]) -> bool:
    """Whether events are written by an API of their own."""
    return any(one["method"] == "POST" and "/apis/events.k8s.io/" in one["path"] for one in record)


def _scene_of(one: Record) -> str:
    name: str = one["scene"]
    return FOLDED.get(name, name)


def _played(record: Iterable[Record]) -> set[str]:
    return {_scene_of(one) for one in record}


def _scenes(record: list[Record], played: set[str], plain_events: bool) -> dict[str, Scene]:
    """Scene → what is compared of it, without the pods that were made in scenes that are not in ``played``."""
    made: dict[str, str] = {}
    scenes: dict[str, list[Record]] = {}
    for one in record:
        made.setdefault(pod_of(one), _scene_of(one))
        scenes.setdefault(_scene_of(one), []).append(one)
    strangers = {name for name, scene in made.items() if name and scene not in played}
    return {name: _scene(ones, strangers, plain_events) for name, ones in scenes.items()}


def _scene(ones: list[Record], strangers: set[str], plain_events: bool) -> Scene:
    """What is compared of a scene. strangers: pods that do not count."""
    begin = min(one["t"] for one in ones)
    lines: Counter[str] = Counter()
    early: set[str] = set()
    shapes: dict[str, str] = {}
    bound: Counter[str] = Counter()
    twice: set[str] = set()
    for one in ones:
        line = _line(one, plain_events) if is_compared(one) and pod_of(one) not in strangers else ""
        if not line:
            continue
        lines[line] = 1 if one["method"] == "GET" else lines[line] + 1
        if one["t"] - begin < BORDER:
            early.add(line)
        if one["method"] != "GET":
            shapes[line] = line.partition(" Pod ")[0] if line.startswith("event ") else shape(one)
        if one["path"].endswith("/binding") and one["code"] == 201:
            bound[one["path"]] += 1
            if bound[one["path"]] > 1:
                twice.add(line)
    return Scene(lines, frozenset(early), shapes, frozenset(twice), leads(ones))


def _line(one: Record, plain_events: bool) -> str:
    """A request as it is compared; empty: not at all."""
    if not plain_events or "/events" not in one["path"]:
        return compared_request(one)
    return plain_event(one["body"]) if one["method"] == "POST" and "series" not in one["body"] else ""


@click.command(help=__doc__)
@click.argument("ours", type=click.Path(exists=True, path_type=Path))
@click.argument("theirs", type=click.Path(exists=True, path_type=Path))
def main(ours: Path, theirs: Path) -> None:
    """The command."""
    scenes = list(compare_records(read_record(ours), read_record(theirs)))
    for found in scenes:
        click.echo(f"{'same   ' if found.agrees else 'differs'} {found.requests:4d} {found.scene}")
        for side, requests in (("only ours", found.ours), ("only theirs", found.theirs)):
            for request in requests:
                click.echo(f"    {side}: {request}")
    agree = sum(found.agrees for found in scenes)
    click.echo(f"{agree} of {len(scenes)} scenes agree")
    sys.exit(0 if agree == len(scenes) else 1)


if __name__ == "__main__":
    main()
