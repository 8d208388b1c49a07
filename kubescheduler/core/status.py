"""Status: what a plugin answers."""

from __future__ import annotations

import enum
from collections.abc import Iterable

import msgspec

from kubecel.api_names import go_quote


class Code(enum.IntEnum):
    """Upstream's codes; the names are its own texts."""

    Success = 0
    Error = 1
    Unschedulable = 2
    UnschedulableAndUnresolvable = 3
    Wait = 4
    Skip = 5
    Pending = 6


REJECTED_1_20 = frozenset({Code.Unschedulable, Code.UnschedulableAndUnresolvable})
REJECTED_1_36 = REJECTED_1_20 | {Code.Pending}


class Status(msgspec.Struct, frozen=True):
    """A code with its reasons; None stands for Success."""

    code: Code = Code.Success
    reasons: tuple[str, ...] = ()
    error: str | None = None
    """The text of an internal failure, reported before the reasons."""
    plugin: str = ""
    """Who answered, where the release says so."""

    @classmethod
    def unschedulable(cls, *reasons: str) -> Status:
        """Unschedulable: other pods' leaving might help."""
        return cls(Code.Unschedulable, reasons)

    @classmethod
    def unresolvable(cls, *reasons: str) -> Status:
        """Taking pods away cannot help."""
        return cls(Code.UnschedulableAndUnresolvable, reasons)

    @classmethod
    def failure(cls, error: str) -> Status:
        """An internal failure, which gives up the attempt."""
        return cls(Code.Error, (), error)

    @property
    def all_reasons(self) -> tuple[str, ...]:
        """The error, if there is one, and the reasons."""
        return self.reasons if self.error is None else (self.error, *self.reasons)

    @property
    def message(self) -> str:
        """All reasons in one line. Upstream: Status.Message."""
        return ", ".join(self.all_reasons)

    @property
    def error_text(self) -> str:
        """The text of the status as an error: the internal failure's alone, or else the reasons."""
        return self.message if self.error is None else self.error

    def by(self, plugin: str) -> Status:
        """The status as that of a plugin."""
        return msgspec.structs.replace(self, plugin=plugin)


def code_of(status: Status | None) -> Code:
    """A missing status means Success."""
    return Code.Success if status is None else status.code


def is_success(status: Status | None) -> bool:
    """Whether the status is missing or Success."""
    return status is None or status.code is Code.Success


WORST_FIRST = (Code.Error, Code.UnschedulableAndUnresolvable, Code.Unschedulable)


def merge(statuses: Iterable[Status]) -> Status | None:
    """All reasons under the worst code; None without any. Upstream: 1.20 PluginToStatus.Merge."""
    given = list(statuses)
    if not given:
        return None
    codes = {status.code for status in given}
    code = next((code for code in WORST_FIRST if code in codes), Code.Success)
    return Status(code, tuple(reason for status in given for reason in status.all_reasons), plugin=given[0].plugin)


# --- what a Filter plugin's failure is called -----------------------------------------------------


def filter_failed_1_20(plugin: str, pod: str, text: str) -> str:
    """A Filter plugin's answer is neither Success nor a rejection. pod: its name."""
    return f"running {go_quote(plugin)} filter plugin for pod {go_quote(pod)}: {text}"


def filter_failed_1_36(plugin: str, pod: str, text: str) -> str:  # noqa: ARG001
    """The text of 1.36 for a Filter plugin that failed."""
    return f"running {go_quote(plugin)} filter plugin: {text}"
