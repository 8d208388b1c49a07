"""Which page is at which path, and what health checks answer. Upstream: apiserver's healthz."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec

from kubecel.api_names import go_quote
from kubescheduler.live.klog import Verbosity
from kubescheduler.live.serving.http_answers import HTML, HttpAnswer, HttpRequest, error_answer, not_found, text_answer
from kubescheduler.live.serving.pages import FLAGS_PAGE, flag_page, profile_page

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
    """/metrics."""
    resources: Callable[[], bytes] = nothing
    """/metrics/resources; empty unless the process leads."""
    slis: Callable[[], bytes] = nothing
    """/metrics/slis."""
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
