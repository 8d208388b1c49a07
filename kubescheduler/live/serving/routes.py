"""Which page is at which path."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec

from kubescheduler.live.logs.verbosity import Verbosity
from kubescheduler.live.serving.debugging_pages import FLAGS_PAGE, flag_page, profile_page
from kubescheduler.live.serving.health_checks import HealthPath
from kubescheduler.live.serving.http_answers import HTML, HttpAnswer, HttpRequest, not_found

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
