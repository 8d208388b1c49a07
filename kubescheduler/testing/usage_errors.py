"""Wrong input as pytest reports it: one message with every fault, at the line of the test that gave it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

import pytest


def faults(problems: Iterable[str]) -> str:
    """Every fault, each once, in one text; files below the working directory as seen from there."""
    from clusterstate.errors import listed
    from kubescheduler.sources.foreign_text import shown

    here = f"{Path.cwd()}{os.sep}"
    texts = [shown(text.replace(here, "")) for text in dict.fromkeys(problems)]
    if len(texts) == 1:
        return f"kubescheduler: {texts[0]}"
    return "\n".join([f"kubescheduler: {len(texts)} faults", *(f"- {text}" for text in listed(texts))])


class UsageErrors:
    """Within it wrong input raises pytest.UsageError with every fault."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        __tracebackhide__ = True
        from clusterstate.errors import InputError

        if isinstance(value, InputError):
            raise pytest.UsageError(faults(value.problems)) from None
