"""One run of a release's kube-scheduler, from its command line to its exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

import msgspec

from clusterstate.errors import ConfigError
from clusterstate.objects import ClusterObject, Pod
from kubescheduler.framework.plugin_loading import PluginOption
from kubescheduler.live.flags import FlagError, FlagValues, flag_lines, no_effect_notes, parse_flags, usage
from kubescheduler.live.klog import LAYOUTS, LogWriter, to_stream
from kubescheduler.live.observers import ShortHint
from kubescheduler.live.process.process_options import CommandLine, LiveSettings, settings_of
from kubescheduler.live.process.release_live import LiveRelease
from kubescheduler.live.process.scheduler_process import SchedulerProcess, gc_freeze, signals, switch_interval

FAULTY = 1
"""Exit status for flags and files that cannot be used, upstream's."""


def whole_run(
    release: LiveRelease, arguments: tuple[str, ...], plugins: tuple[PluginOption, ...], context: str | None
) -> int:
    """Runs until it is asked to end; the exit status. What upstream writes to stderr and stdout is written there."""
    try:
        values = parse_flags(release.flags, arguments)
    except FlagError as error:
        sys.stderr.write(f"{usage(release.flags)}\nError: {error}\n")
        return FAULTY
    if values["help"]:
        sys.stdout.write(usage(release.flags))
        return 0
    status = _without_running(release, values)
    if status is not None:
        return status
    log = _log_of(release, values)
    if log is None:
        return FAULTY
    try:
        return _run(release, values, plugins, context, log)
    except ConfigError as error:
        _fail(release, log, error)
        return FAULTY


def _without_running(release: LiveRelease, values: FlagValues) -> int | None:
    """The status where the version is asked for or positional arguments are refused; None: it goes on."""
    rules = release.process
    for asks in (_version, _arguments) if rules.version_first else (_arguments, _version):
        status = asks(release, values)
        if status is not None:
            return status
    return None


def _version(release: LiveRelease, values: FlagValues) -> int | None:
    if values["version"] == "false":
        return None
    sys.stdout.write(f"Kubernetes {release.version}\n")
    return 0


def _arguments(release: LiveRelease, values: FlagValues) -> int | None:
    if not values.arguments:
        return None
    sys.stderr.write(release.process.arguments_text(values.arguments) + "\n")
    return None if release.process.goes_on_with_arguments else FAULTY


def _log_of(release: LiveRelease, values: FlagValues) -> LogWriter | None:
    """The log as the flags want it; None: they want what there is not, which is written."""
    name = values.get("logging-format") or "text"
    layout = LAYOUTS.get(name)
    if layout is None:
        sys.stderr.write(f'format: Invalid value: "{name}": Unsupported log format\n')
        return None
    log = LogWriter(to_stream(sys.stderr.write, sys.stderr.flush), level=values["v"], layout=layout)
    for line in flag_lines(release.flags, values):
        log.info(line, 1)
    return log


def _run(
    release: LiveRelease,
    values: FlagValues,
    plugins: tuple[PluginOption, ...],
    context: str | None,
    log: LogWriter,
) -> int:
    if release.recorded_note:
        log.info(release.recorded_note)
    for note in no_effect_notes(release.flags, values):
        log.warning(note)
    line = CommandLine(release, values, plugins, context, os.environ)
    settings = settings_of(line, log.warning, lambda path: log.put(release.process.wrote(path)))
    if settings is None:
        return 0
    process = SchedulerProcess(with_hints(settings), log)
    with signals(process.stop, process.dump), switch_interval(), gc_freeze():
        status = process.run()
    if process.hangs:
        _left(status)
    return status


def with_hints(settings: LiveSettings) -> LiveSettings:
    """The settings of a process that tells what would help pods that fit nowhere."""

    def search(
        objects: Sequence[ClusterObject], pods: Sequence[Pod], pause: Callable[[], None]
    ) -> Sequence[ShortHint | None]:
        from kubescheduler.hinting.hint_search import short_hints  # nothing waits for it at the start

        return short_hints(settings.engine, objects, pods, pause)

    return msgspec.structs.replace(settings, hints=search)


def _fail(release: LiveRelease, log: LogWriter, error: ConfigError) -> None:
    """Writes why nothing was started."""
    problems = error.problems
    text = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
    line = release.process.failed(text)
    if line is not None:
        log.put(line)
    else:
        sys.stderr.write(text + "\n")


def _left(status: int) -> NoReturn:
    """Ends the process although a plugin's thread goes on for ever."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)
