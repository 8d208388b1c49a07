"""``kubescheduler run --dry-run``: wires what watches, decides, compares and writes."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

import msgspec

from clusterstate.cache import ClusterCache
from clusterstate.errors import InputError, attempt, faults_at
from kubescheduler.cli.whole_run import with_hints
from kubescheduler.comparison.dry_run_results import DryRunResults, RealChoices
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.framework.plugin_loading import PluginOption
from kubescheduler.live.dry_run_process import (
    DryRunMetrics,
    DryRunProcess,
    DryRunSettings,
    TrafficMirror,
    dry_run_servers,
)
from kubescheduler.live.flags import parse_flags, usage
from kubescheduler.live.process.process_options import CommandLine, LiveSettings, settings_of
from kubescheduler.live.process.release_live import LiveRelease
from kubescheduler.live.shadow_scheduler import ShadowScheduler
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import Limits
from kubescheduler.live.transport.io_thread import WallClock
from kubescheduler.releases.lookup import live_release
from kubescheduler.releases.names import RELEASE_NAMES
from kubescheduler.sources.files import check_place

STANDARD_OUTPUT = "-"
PLACES = frozenset({"secure-port", "bind-address", "port", "address"})
"""Flags that say where to serve: who gives one wants it."""


class DryRunOptions(msgspec.Struct, frozen=True):
    """What the command line says of a dry run."""

    real: str
    """The configuration of the real scheduler, as KEY=VALUE,…; empty: the release's default one."""
    results: str = STANDARD_OUTPUT
    """Where the lines go."""
    report: str | None = None
    """Where the page goes."""
    mirror: str | None = None
    """Where the traffic goes."""

    def check(self) -> None:
        """Raises InputError with every file that cannot be written."""
        problems: list[str] = []
        named = {"--results": self.results, "--report": self.report, "--mirror": self.mirror}
        for option, path in named.items():
            if path is not None and path != STANDARD_OUTPUT:
                attempt(problems, check_place, f"{option} {path}", Path(path))
        if problems:
            raise InputError(problems)


def whole_dry_run(
    release: LiveRelease,
    arguments: tuple[str, ...],
    plugins: tuple[PluginOption, ...],
    context: str | None,
    options: DryRunOptions,
) -> int:
    """The same as ``whole_run``, without a write; the exit status. Raises InputError."""

    def says(line: str) -> None:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()

    values = parse_flags(release.flags, arguments)
    if values["help"]:
        sys.stdout.write(usage(release.flags))
        return 0
    if release.recorded_note:
        says(release.recorded_note)
    named = values["kubeconfig"]

    def notice(text: str) -> None:
        if not text.startswith("--kubeconfig"):  # here it has an effect beside --config
            says(text)

    settings = settings_of(CommandLine(release, values, plugins, context, os.environ), notice, lambda _: None)
    if settings is not None and named:
        settings = msgspec.structs.replace(settings, server=msgspec.structs.replace(settings.server, kubeconfig=named))
    return 0 if settings is None else dry_run(settings, options, says, must_serve=not PLACES.isdisjoint(values.given))


def dry_run(
    settings: LiveSettings, options: DryRunOptions, says: Callable[[str], None], *, must_serve: bool = False
) -> int:
    """Watches until a signal; 0: everything agrees, 1: something differs. Raises InputError, also for nothing compared.

    must_serve: whether a port that is taken is a fault.
    """
    options.check()
    model_spec = EngineSpec.parse(options.real or f"release={settings.release.name}")
    with faults_at("--real"):
        model_engine = model_spec.engine(says)
    engine = settings.engine
    model = model_engine.scheduler(ClusterCache(model_engine.view))
    later = engine.scheduler(ClusterCache(engine.view))
    ahead = engine.scheduler(ClusterCache(engine.view))
    newest = max((engine.release, model_engine.release), key=RELEASE_NAMES.index)
    process: DryRunProcess | None = None
    fault: Exception | None = None
    files = ExitStack()
    out = files.enter_context(_opened("--results", options.results))
    results = DryRunResults(RealChoices(model, later, settings.preempts), _writer(out), keep=options.report is not None)
    try:
        with files:
            mirror = _mirror(files, options)
            metrics = DryRunMetrics(settings.release.metrics, settings.metrics, says)
            process = DryRunProcess(
                DryRunSettings(
                    access=lambda io: io.wait(settings.server.access()),
                    rules=live_release(newest).informers,
                    limits=Limits(settings.server.qps, settings.server.burst),
                    records=mirror,
                    metrics=metrics,
                    serves=None
                    if settings.serving is None
                    else partial(dry_run_servers, with_hints(settings), metrics, says),
                    must_serve=must_serve,
                ),
                lambda inbox, clock: ShadowScheduler(
                    ahead,
                    [model.cache, later.cache],
                    inbox,
                    results.ended,
                    clock,
                    queue_order=model_spec.record.queue_order,
                    tell=metrics.count,
                ),
                says,
            )
            _until_signal(process)
    except (InputError, OSError) as error:
        if process is None or not process.shadow.has_begun:
            raise
        fault = error  # what was compared until then is told all the same
    if options.report is not None:
        _write_report(options.report, results, process, settings, model_engine.release)
    for line in results.summary():
        says(line)
    if process.shadow.undecided:
        says(f"{process.shadow.undecided} pods still wait")
    if fault is not None:
        raise fault
    if not results.compared:
        raise InputError("nothing was compared: no attempt of the real scheduler on these pods ended meanwhile")
    return int(results.agreeing < results.compared)


def _until_signal(process: DryRunProcess) -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    for number in before:
        signal.signal(number, lambda *_: process.stop())
    try:
        process.run()
    except ApiError as error:
        raise InputError(str(error)) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _write_report(
    path: str, results: DryRunResults, process: DryRunProcess, settings: LiveSettings, real_release: str
) -> None:
    from kubescheduler.report.html_report import render
    from kubescheduler.sources.files import write_whole

    engine = settings.engine
    names = ("the real scheduler", f"{engine.release}, dry run")
    comparison = results.comparison(process.objects, names, (real_release, engine.release), engine.view)
    try:
        write_whole(path, render(comparison))
    except OSError as error:
        raise InputError(f"--report {path}: cannot be written: {error.strerror}") from error


def _writer(out: Sink) -> Callable[[dict[str, Any]], None]:
    def write(line: dict[str, Any]) -> None:
        out.write(msgspec.json.encode(line) + b"\n")
        out.flush()

    return write


@contextmanager
def _named(place: str) -> Iterator[None]:
    """What cannot be written is one clear message. place: the option, and its file."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{place}: cannot be written: {error.strerror}") from error


class _NamedFile(msgspec.Struct, frozen=True, eq=False):
    """A file whose faults say which one it is."""

    file: IO[bytes]
    place: str

    def write(self, data: bytes) -> int:
        with _named(self.place):
            return self.file.write(data)

    def flush(self) -> None:
        with _named(self.place):
            self.file.flush()


Sink = IO[bytes] | _NamedFile


@contextmanager
def _opened(option: str, path: str) -> Iterator[Sink]:
    if path == STANDARD_OUTPUT:
        yield sys.stdout.buffer
        return
    place = f"{option} {path}"
    with _named(place):
        file = open(path, "wb")  # noqa: SIM115
    try:
        yield _NamedFile(file, place)
    finally:
        with _named(place):  # what is still in memory is written here
            file.close()


def _mirror(files: ExitStack, options: DryRunOptions) -> TrafficMirror | None:
    """The traffic's file, packed when its name ends in .gz."""
    import gzip

    if options.mirror is None:
        return None
    out = files.enter_context(_opened("--mirror", options.mirror))
    if not options.mirror.endswith(".gz"):
        return TrafficMirror(out.write, WallClock(), flush=out.flush)
    return TrafficMirror(files.enter_context(gzip.GzipFile("", "wb", fileobj=out, mtime=0)).write, WallClock())
