"""Which page is at which path: health checks, metrics, /statusz, /flagz, /configz and /debug.

Read ``Routes``, at the end, first. Upstream: apiserver's healthz and routes, component-base's zpages and configz.
"""

from __future__ import annotations

import asyncio
import io
import platform
import re
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from html import escape
from typing import Any

import msgspec
import yaml

from kubecel.api_names import go_quote
from kubescheduler.live.klog import Verbosity
from kubescheduler.live.serving.http_answers import (
    HTML,
    NOSNIFF,
    PLAIN,
    HttpAnswer,
    HttpRequest,
    error_answer,
    json_answer,
    not_found,
    status_answer,
    text_answer,
)
from kubescheduler.live.transport.io_thread import WallClock

COMPONENT = "kube-scheduler"
WARNING = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees "
    "and is for debugging purposes only."
)
ACCEPTED = "application/json, application/yaml, text/plain"
GROUP, VERSIONS = "config.k8s.io", ("v1alpha1", "v1beta1")
DEPRECATED: Mapping[str, Mapping[str, str]] = {
    "v1alpha1": {
        "Warning": '299 - "This version of the statusz endpoint is deprecated. Please use a newer version."',
    }
}
"""Version → the headers of a /statusz in it."""
PATHS = ("/configz", "/flagz", "/healthz", "/livez", "/metrics", "/readyz")
"""As /statusz lists them."""


class StatusPages(msgspec.Struct, frozen=True, eq=False):
    """Both pages of one process."""

    version: str
    """The release: 1.36."""
    flags: Mapping[str, str]
    """Flag → its value as text."""
    clock: WallClock
    started: datetime
    """In UTC."""

    def statusz(self, request: HttpRequest) -> HttpAnswer:
        """When the process began, and what it is."""
        up = int((self.clock.now() - self.started).total_seconds())
        python = f"python{platform.python_version()}"
        lines = (
            "",
            f"Started: {self.started:%a %b %d %H:%M:%S UTC %Y}",
            f"Up: {up // 3600} hr {up // 60 % 60:02d} min {up % 60:02d} sec",
            f"Go version: {python}",
            f"Binary version: {self.version}",
            f"Emulation version: {self.version}",
            f"Paths: {' '.join(PATHS)}",
        )
        members = {
            "startTime": f"{self.started:%Y-%m-%dT%H:%M:%SZ}",
            "uptimeSeconds": up,
            "goVersion": python,
            "binaryVersion": self.version,
            "emulationVersion": self.version,
            "paths": list(PATHS),
        }
        return _page(request, "Statusz", lines, members)

    def flagz(self, request: HttpRequest) -> HttpAnswer:
        """The flags by name."""
        flags = dict(sorted(self.flags.items()))
        lines = tuple(f"{name}:{value}" for name, value in flags.items())
        return _page(request, "Flagz", lines, {"flags": flags})


def _page(request: HttpRequest, kind: str, lines: tuple[str, ...], members: Mapping[str, Any]) -> HttpAnswer:
    """A page as the request wants it: text, or an object of the kind in a version that it names."""
    form = _form(request.headers.get("Accept", ""), kind)
    if form is None:
        text = f"only the following media types are accepted: {ACCEPTED}"
        return status_answer(406, text, "NotAcceptable", pretty=request.pretty)
    media, version = form
    if media == "text/plain":
        head = ("", f"{COMPONENT} {kind.lower()}", WARNING)
        return HttpAnswer(200, "\n".join((*head, *lines, "")).encode())
    document = {"kind": kind, "apiVersion": f"{GROUP}/{version}", "metadata": {"name": COMPONENT}, **members}
    content_type = f"{media};g={GROUP};v={version};as={kind}"
    if media == "application/yaml":
        return HttpAnswer(200, yaml.safe_dump(document, sort_keys=True).encode(), content_type)
    answer = json_answer(document, pretty=request.pretty, content_type=content_type)
    return msgspec.structs.replace(answer, headers=DEPRECATED.get(version, {}) if kind == "Statusz" else {})


def _form(accept: str, kind: str) -> tuple[str, str] | None:
    """(media type, version) of the first that is had; None when there is none."""
    for clause in accept.split(",") if accept else ("*/*",):
        media, *rest = (part.strip() for part in clause.split(";"))
        said = dict(part.partition("=")[::2] for part in rest)
        if media in ("text/plain", "text/*", "*/*"):
            return "text/plain", ""
        version = said.get("v", "")
        wanted = (said.get("as"), said.get("g")) == (kind, GROUP) and version in VERSIONS
        if media in ("application/json", "application/yaml") and wanted:
            return media, version
    return None


Document = Mapping[str, Any]

GO_NAMES = {
    "qps": "QPS",
    "urlPrefix": "URLPrefix",
    "httpTimeout": "HTTPTimeout",
    "tlsConfig": "TLSConfig",
    "caFile": "CAFile",
    "caData": "CAData",
}
"""Member → the field of the internal type, where that is not the same with a capital."""
TYPE = ("apiVersion", "kind")
FIELDS_1_20 = (
    *("Parallelism", "AlgorithmSource", "LeaderElection", "ClientConnection"),
    *("HealthzBindAddress", "MetricsBindAddress", "EnableProfiling", "EnableContentionProfiling"),
    *("PercentageOfNodesToScore", "PodInitialBackoffSeconds", "PodMaxBackoffSeconds", "Profiles", "Extenders"),
)
"""Of 1.20's internal KubeSchedulerConfiguration, in order."""
POINTS_1_20 = (
    *("QueueSort", "PreFilter", "Filter", "PostFilter", "PreScore", "Score"),
    *("Reserve", "Permit", "PreBind", "Bind", "PostBind"),
)
RESOURCES = ("Resources",)
ARGS_1_20: Mapping[str, tuple[str, ...]] = {
    "DefaultPreemption": ("MinCandidateNodesPercentage", "MinCandidateNodesAbsolute"),
    "InterPodAffinity": ("HardPodAffinityWeight",),
    "NodeAffinity": ("AddedAffinity",),
    "NodeLabel": ("PresentLabels", "AbsentLabels", "PresentLabelsPreference", "AbsentLabelsPreference"),
    "NodeResourcesFit": ("IgnoredResources", "IgnoredResourceGroups"),
    "NodeResourcesLeastAllocated": RESOURCES,
    "NodeResourcesMostAllocated": RESOURCES,
    "PodTopologySpread": ("DefaultConstraints", "DefaultingType"),
    "RequestedToCapacityRatio": ("Shape", "Resources"),
    "ServiceAffinity": ("AffinityLabels", "AntiAffinityLabelsPreference"),
    "VolumeBinding": ("BindTimeoutSeconds",),
}
"""Plugin → the fields of its args, in order."""
OF_THE_API = frozenset({"AddedAffinity", "DefaultConstraints"})
"""Fields whose values keep the names of the API."""
EXTENDER_1_20: Mapping[str, Any] = {
    **dict.fromkeys(("URLPrefix", "FilterVerb", "PreemptVerb", "PrioritizeVerb"), ""),
    "Weight": 0,
    "BindVerb": "",
    "EnableHTTPS": False,
    "TLSConfig": None,
    "HTTPTimeout": "0s",
    "NodeCacheCapable": False,
    "ManagedResources": None,
    "Ignorable": False,
}
"""Field → its value when nobody says it, in order."""
TLS_1_20: Mapping[str, Any] = {
    "Insecure": False,
    "ServerName": "",
    "CertFile": "",
    "KeyFile": "",
    "CAFile": "",
    **dict.fromkeys(("CertData", "KeyData", "CAData")),
}
POINTS_1_36 = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
    "multiPoint",
    "placementGenerate",
    "placementScore",
)
"""In the order in which they are shown."""


def configz_1_16(document: Document) -> dict[str, Any]:
    """1.16's internal type, which has no JSON names of its own."""
    named = go_names({key: value for key, value in document.items() if key != "pluginConfig"})
    source = named["AlgorithmSource"]
    election = {key: value for key, value in named["LeaderElection"].items() if not key.startswith("LockObject")}
    return {
        **named,
        "AlgorithmSource": {"Policy": _policy(source.get("Policy")), "Provider": source.get("Provider")},
        "LeaderElection": election,
        "Plugins": named.get("Plugins"),
        "PluginConfig": [_raw_args(entry) for entry in document.get("pluginConfig") or ()] or None,
    }


def configz_1_20(document: Document) -> dict[str, Any]:
    """1.20's internal type: every field in its order, and null for what nobody says."""
    named = go_names({key: value for key, value in document.items() if key not in ("profiles", "extenders")})
    source = named["AlgorithmSource"]
    whole = {
        **named,
        "AlgorithmSource": {"Policy": _policy(source.get("Policy")), "Provider": source.get("Provider")},
        "Profiles": [_profile_1_20(profile) for profile in document["profiles"]],
        "Extenders": [_extender_1_20(extender) for extender in document.get("extenders") or ()] or None,
    }
    return {name: whole[name] for name in FIELDS_1_20 if name in whole}


def _profile_1_20(profile: Document) -> dict[str, Any]:
    plugins = profile.get("plugins")
    return {
        "SchedulerName": profile["schedulerName"],
        "Plugins": None if plugins is None else {point: _point_1_20(plugins, point) for point in POINTS_1_20},
        "PluginConfig": [_args_1_20(entry) for entry in profile.get("pluginConfig") or ()] or None,
    }


def _point_1_20(plugins: Document, point: str) -> dict[str, Any] | None:
    said = plugins.get(point[:1].lower() + point[1:])
    if said is None:
        return None
    return {
        how: [{"Name": one["name"], "Weight": one.get("weight", 0)} for one in said.get(how.lower()) or ()] or None
        for how in ("Enabled", "Disabled")
    }


def _args_1_20(entry: Document) -> dict[str, Any]:
    """Args of built-in plugins are Go's types, in which constraints and terms are the API's; others are as given."""
    fields = ARGS_1_20.get(entry["name"])
    args = entry.get("args")
    if fields is None or args is None:
        return _raw_args(entry)
    named = {field: args.get(field[:1].lower() + field[1:]) for field in fields}
    return {
        "Name": entry["name"],
        "Args": {field: value if field in OF_THE_API else go_names(value) for field, value in named.items()},
    }


def _raw_args(entry: Document) -> dict[str, Any]:
    return {"Name": entry["name"], "Args": entry.get("args")}


def _extender_1_20(extender: Document) -> dict[str, Any]:
    said = go_names(extender)
    whole = {name: said.get(name, empty) for name, empty in EXTENDER_1_20.items()}
    if whole["TLSConfig"] is not None:
        whole["TLSConfig"] = {name: whole["TLSConfig"].get(name, empty) for name, empty in TLS_1_20.items()}
    for resource in whole["ManagedResources"] or ():
        resource.setdefault("IgnoredByScheduler", False)
    return whole


def configz_1_36(document: Document) -> dict[str, Any]:
    """The type of the configuration file, with its name first."""
    typed = _typed(document)
    typed["profiles"] = [_profile_1_36(profile) for profile in typed["profiles"]]
    if not typed.get("delayCacheUntilActive"):
        typed.pop("delayCacheUntilActive", None)
    return typed


def _typed(document: Document) -> dict[str, Any]:
    """A document with its type in front."""
    head = {key: document[key] for key in ("kind", "apiVersion") if key in document}
    return {**head, **{key: value for key, value in document.items() if key not in TYPE}}


def _profile_1_36(profile: Document) -> dict[str, Any]:
    """A profile with all extension points, all weights, and args that have their type in front."""
    plugins = profile.get("plugins", {})
    entries = profile.get("pluginConfig", [])
    return {
        **profile,
        "plugins": {point: _plugin_set(plugins.get(point, {})) for point in POINTS_1_36},
        "pluginConfig": [{**entry, "args": _typed(entry["args"])} if "args" in entry else entry for entry in entries],
    }


def _plugin_set(plugins: Document) -> dict[str, Any]:
    return {
        how: [{"name": one["name"], "weight": one.get("weight", 0)} for one in listed]
        for how, listed in plugins.items()
    }


def configz_page(configuration: Mapping[str, Any]) -> Callable[[HttpRequest], HttpAnswer]:
    """The page of a configuration that is in its release's form already."""
    page = json_answer({"componentconfig": configuration})
    answer = HttpAnswer(200, page.body.rstrip(b"\n"), page.content_type, NOSNIFF)
    return lambda _: answer


def go_names(value: Any) -> Any:
    """A document with members as the fields of Go's types are called, without their version and kind."""
    if isinstance(value, Mapping):
        named = {GO_NAMES.get(key, key[:1].upper() + key[1:]): go_names(inner) for key, inner in value.items()}
        return {key: inner for key, inner in named.items() if key not in ("ApiVersion", "Kind")}
    if isinstance(value, list | tuple):
        return [go_names(inner) for inner in value]
    return value


def _policy(policy: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Where a policy is: in a file, or in a ConfigMap."""
    return None if policy is None else {"File": policy.get("File"), "ConfigMap": policy.get("ConfigMap")}


PROFILES = {"goroutine": "Stack traces of all current threads, and of the tasks of the I/O thread"}
"""Profile → what it shows. Those that only a Go program has are not there."""
WHOLE = re.compile(r"[0-9]+")


def flag_page(verbosity: Verbosity, request: HttpRequest) -> HttpAnswer:
    """``PUT /debug/flags/v`` with a number sets the verbosity."""
    if request.method != "PUT":
        return text_answer("unsupported http method\n", 406, PLAIN)
    text = request.body.decode(errors="replace")
    if not WHOLE.fullmatch(text):
        return text_answer(f"strconv.ParseUint: parsing {go_quote(text)}: invalid syntax\n", 400, PLAIN)
    verbosity.level = int(text)
    return text_answer(f"successfully set klog.logging.verbosity to {text}\n", 200, PLAIN)


FLAGS_PAGE = HttpAnswer(
    200,
    b"<html>\n<head>\n<title>/debug/flags/</title>\n</head>\n<body>\n/debug/flags/<br>\n<br>\nflags:<br>\n<table>\n"
    b"<tr>v<br>\n</table>\n<br>\nfull flags configurable<br>\n</body>\n</html>\n",
    HTML,
)


def profile_page(name: str) -> HttpAnswer:
    """``/debug/pprof/NAME``; without a name the list. On the I/O thread."""
    if not name:
        return _profiles()
    if name not in PROFILES:
        return HttpAnswer(404, b"Unknown profile\n", headers={**NOSNIFF, "X-Go-Pprof": "1"})
    return HttpAnswer(200, stacks().encode(), headers=NOSNIFF)


def _profiles() -> HttpAnswer:
    rows = "".join(
        f"<tr><td><a href='{escape(name)}'>{escape(name)}</a></td><td>{escape(meaning)}</td></tr>\n"
        for name, meaning in PROFILES.items()
    )
    text = f"<html>\n<head>\n<title>/debug/pprof/</title>\n</head>\n<body>\n<table>\n{rows}</table>\n</body>\n</html>\n"
    return HttpAnswer(200, text.encode(), HTML, NOSNIFF)


def stacks() -> str:
    """What every thread does, and every task of the running event loop."""
    frames = sys._current_frames()
    lines = []
    for thread in threading.enumerate():
        lines.append(f"thread {thread.name}:\n")
        lines += traceback.format_stack(frames[thread.ident]) if thread.ident in frames else ()
        lines.append("\n")
    out = io.StringIO()
    for task in asyncio.all_tasks():
        out.write(f"task {task.get_name()}:\n")
        task.print_stack(file=out)
        out.write("\n")
    return "".join(lines) + out.getvalue()


Observed = Callable[[str, str, bool], None]
"""Told of (the check's name, healthz or livez or readyz, whether it passed)."""


class HealthCheck(msgspec.Struct, frozen=True, eq=False):
    """One thing that may be wrong."""

    name: str
    """As it stands behind the path: ``/readyz/NAME``."""
    fault: Callable[[], str]
    """What is wrong; empty while nothing is. Called on the I/O thread."""


PING = HealthCheck("ping", lambda: "")
"""Passes while the process answers at all."""


class HealthPath(msgspec.Struct, frozen=True, eq=False):
    """A path with its checks: ``/healthz``, ``/livez`` or ``/readyz``."""

    name: str
    """Without the slash."""
    checks: Sequence[HealthCheck]
    """In the order in which they are listed."""
    observed: Observed = lambda _name, _path, _passed: None

    def answer(self, request: HttpRequest) -> HttpAnswer:
        """All checks together; the request's ``verbose`` and ``exclude`` say how."""
        excluded = [name for name in request.query.get("exclude", []) if name]
        lines, failed = [], False
        for check in self.checks:
            if check.name in excluded:
                lines.append(f"[+]{check.name} excluded: ok\n")
                continue
            passed = not self._fault(check)
            failed = failed or not passed
            lines.append(f"[+]{check.name} ok\n" if passed else f"[-]{check.name} failed: reason withheld\n")
        known = {check.name for check in self.checks}
        unknown = ",".join(go_quote(name) for name in sorted(set(excluded) - known))
        if unknown:
            lines.append(f"warn: some health checks cannot be excluded: no matches for {unknown}\n")
        if failed:
            return error_answer(f"{''.join(lines)}{self.name} check failed", 500)
        verbose = "verbose" in request.query
        return text_answer(f"{''.join(lines)}{self.name} check passed\n" if verbose else "ok")

    def single(self, name: str) -> HttpAnswer:
        """One check, with what is wrong."""
        check = next((check for check in self.checks if check.name == name), None)
        if check is None:
            return not_found()
        fault = self._fault(check)
        return error_answer(f"internal server error: {fault}", 500) if fault else HttpAnswer(200, b"ok")

    def _fault(self, check: HealthCheck) -> str:
        fault = check.fault()
        self.observed(check.name, self.name, not fault)
        return fault


Page = Callable[[HttpRequest], HttpAnswer]


def nothing() -> bytes:
    """No metrics."""
    return b""


class MetricsSources(msgspec.Struct, frozen=True, eq=False):
    """Where metrics come from, in the text format of Prometheus. Called by any thread."""

    all: Callable[[], bytes] = nothing
    resources: Callable[[], bytes] = nothing
    """/metrics/resources; empty unless the process leads."""
    slis: Callable[[], bytes] = nothing
    reset: Callable[[], None] = lambda: None
    """``DELETE /metrics``."""


class Routes:
    """Pages by path; whatever is at no path is not found."""

    def __init__(self, pages: Mapping[str, Page] | None = None) -> None:
        self._pages = dict(pages or {})
        self._below: dict[str, Callable[[str], HttpAnswer]] = {}
        self._waiting: set[str] = set()

    def add(self, path: str, page: Page) -> None:
        """Puts a page at a path."""
        self._pages[path] = page

    def answer(self, request: HttpRequest) -> HttpAnswer:
        """The page that is asked for."""
        page = self._pages.get(request.path)
        if page is not None:
            return page(request)
        for head, below in self._below.items():
            if request.path.startswith(head):
                return below(request.path.removeprefix(head))
        return not_found()

    def waits(self, request: HttpRequest) -> bool:
        """Whether the page may wait for the scheduler's thread, or takes long: it is to be written in a thread."""
        return request.path in self._waiting

    # --- what there is -----------------------------------------------------------------------------

    def add_health(self, paths: Sequence[HealthPath]) -> None:
        """Health checks, each path with its single checks below it."""
        for path in paths:
            self.add(f"/{path.name}", path.answer)
            self._below[f"/{path.name}/"] = path.single

    def add_metrics(self, sources: MetricsSources, form: HttpAnswer, pages: Mapping[str, str]) -> None:
        """Metrics. form: an answer without body. pages: path → the source besides ``/metrics``."""
        self.add("/metrics", partial(_metrics, sources, form))
        self._waiting |= {"/metrics", *pages}
        for path, name in pages.items():
            self.add(path, partial(_exported, getattr(sources, name), form))

    def add_debugging(self, verbosity: Verbosity | None) -> None:
        """Stacks, and how much is logged. verbosity: None in 1.16, where it has no page."""
        self._below["/debug/pprof/"] = profile_page
        self.add("/debug/pprof", lambda _: _moved("/debug/pprof/"))
        if verbosity is not None:
            self.add("/debug/flags/v", partial(flag_page, verbosity))
            for path in ("/debug/flags", "/debug/flags/"):
                self.add(path, lambda _: FLAGS_PAGE)


def _metrics(sources: MetricsSources, form: HttpAnswer, request: HttpRequest) -> HttpAnswer:
    if request.method == "DELETE":
        sources.reset()
        return HttpAnswer(200, b"metrics reset\n")
    return _exported(sources.all, form, request)


def _exported(source: Callable[[], bytes], form: HttpAnswer, _: HttpRequest) -> HttpAnswer:
    return msgspec.structs.replace(form, body=source())


def _moved(path: str) -> HttpAnswer:
    return HttpAnswer(302, f'<a href="{path}">Found</a>.\n\n'.encode(), HTML, {"Location": path})
