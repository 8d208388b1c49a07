"""The run of pytest that is going on: its settings, the test that runs, its notes, and faults as usage errors."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from clusterstate.manifests.fields import Judgement


VALIDATE = "validate"
"""The marker that says how manifests are judged."""
VALIDATE_SETTING = "kubescheduler_validate"


class Session:
    """One run of pytest."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.item: pytest.Item | None = None
        """The test that runs."""
        self.clusters: dict[tuple[Any, ...], Any] = {}
        """The clusters that were read."""
        self.written: list[str] = []
        """The paths of records that were written."""
        self.unused: list[str] = []
        """The paths of records that no test checks."""
        self.deselected: list[pytest.Item] = []
        """Tests that were left out."""
        self.notes: dict[str, None] = {}
        """What a reader would not expect of configurations and manifests, each once, in the order it was met."""


_running: list[Session] = []
"""The last one is going on; the others are runs in which it was started."""


def begin(session: Session) -> None:
    """A run begins."""
    _running.append(session)


def end(session: Session) -> None:
    """A run is over."""
    if session in _running:
        _running.remove(session)


def note(texts: Iterable[str]) -> None:
    """Keeps notes for the end of the run; they become warnings where no run is going on."""
    from kubescheduler.sources.untrusted import shown

    here = f"{Path.cwd()}{os.sep}"
    for text in texts:
        if _running:
            _running[-1].notes.setdefault(shown(text.replace(here, "")))
        else:
            warnings.warn(text, UserWarning, stacklevel=2)


def judgement(given: str | None = None) -> Judgement | None:
    """How manifests are judged: as given, or as the marker or the setting says; None: as usual.

    Raises ConfigError for what is none of ``strict``, ``warn``, ``ignore``, and for a marker without one of them.
    """
    from clusterstate.manifests.fields import judgement_named

    if given is not None:
        return judgement_named(given)
    item = _running[-1].item if _running else None
    marker = None if item is None else item.get_closest_marker(VALIDATE)
    if marker is not None:
        named = marker.args[0] if len(marker.args) == 1 and not marker.kwargs else None
        return judgement_named(named, '@pytest.mark.validate: name one, as in @pytest.mark.validate("warn")')
    setting = _running[-1].config.getini(VALIDATE_SETTING) if _running else ""
    return judgement_named(setting, VALIDATE_SETTING) if setting else None


def faults(problems: Iterable[str]) -> str:
    """Every fault, each once, in one text; files below the working directory as seen from there."""
    from clusterstate.errors import listed
    from kubescheduler.sources.untrusted import shown

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
