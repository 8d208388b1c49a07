"""What the processes of the releases say when they start and end, and with which statuses they end."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from kubescheduler.live.logs.log_lines import LogLine, Severity, structured


class ProcessRules(msgspec.Struct, frozen=True, eq=False):
    """In what the processes of the releases differ."""

    started: Callable[[str], LogLine]
    """Of the version: the first line."""
    lost: LogLine
    """The last line of one that lost the lock."""
    lost_status: int
    """Its exit status."""
    ended: LogLine
    """The last line of one that was asked to end."""
    failed: Callable[[str], LogLine | None]
    """Of the text of what went wrong in the set-up: the line, None where the bare text is written."""
    raised: Callable[[str, str], str]
    """Of what was under way, and the text or traceback of what was raised: what is written."""
    wrote: Callable[[str], LogLine]
    """Of the path of a configuration that was written: the line."""
    no_server: str
    """The warning when neither a kubeconfig nor a server is given."""
    no_configuration: str
    """The error when there is no service account either."""
    version_first: bool
    """Whether ``--version`` is answered before positional arguments are refused (1.16, 1.20)."""
    goes_on_with_arguments: bool = False
    """Whether positional arguments are refused without ending the process (1.16)."""
    arguments_text: Callable[[tuple[str, ...]], str] = lambda _: "arguments are not supported"
    """Of the positional arguments: what is said of them."""


def started_1_16(version: str) -> LogLine:
    """Of 1.16."""
    return LogLine(Severity.INFO, f"Version: {version}", 1)


def started_1_20(version: str) -> LogLine:
    """Of 1.20."""
    return LogLine(Severity.INFO, f"Starting Kubernetes Scheduler version {version}", 1)


def started_1_36(version: str) -> LogLine:
    """Of 1.36."""
    return LogLine(Severity.INFO, structured("Starting Kubernetes Scheduler", version=version))


def raised_bare(doing: str, text: str) -> str:
    """Of 1.16 and 1.20."""
    return f"{doing}: {text}".rstrip()


def raised_structured(doing: str, text: str) -> str:
    """Of 1.36."""
    return structured("Observed a panic", doing=doing, err=text.rstrip())


def wrote_1_16(path: str) -> LogLine:
    """Of 1.16."""
    return LogLine(Severity.INFO, f"Wrote configuration to: {path}")


def wrote_1_20(path: str) -> LogLine:
    """Of 1.20 and 1.36."""
    return LogLine(Severity.INFO, structured("Wrote configuration", file=path))


NEITHER = "Neither --kubeconfig nor --master was specified."
NOTHING = "invalid configuration: no configuration has been provided"


def failed_bare(_: str) -> None:
    """1.16 and 1.20 write the bare text."""


def failed_1_36(text: str) -> LogLine:
    """Of 1.36."""
    return LogLine(Severity.ERROR, structured("command failed", err=text))


def arguments_1_36(arguments: tuple[str, ...]) -> str:
    """Of 1.36: cobra's text."""
    named = " ".join(structured(argument) for argument in arguments)
    return f'Error: "kube-scheduler" does not take any arguments, got [{named}]'
