"""/statusz and /flagz: what the process is, for people. Upstream: component-base's zpages."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec
import yaml

from kubescheduler.live.contract.wall_clock import WallClock
from kubescheduler.live.serving.http_answers import HttpAnswer, HttpRequest, json_answer, status_answer

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
