"""Requests of a scene as they are compared: without what two processes, machines or moments make different."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

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
