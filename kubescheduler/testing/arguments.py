"""What tests name: files in the folders around them, manifests, YAML text, schedulers in one line of text."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import msgspec

from clusterstate.errors import ConfigError, DecodeError, InputError
from clusterstate.manifests.fields import describe
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.engine.spec_fields import FILES
from kubescheduler.extender.access import LIVE, RECORD
from kubescheduler.sources.files import STDIN, STDIN_NAME
from kubescheduler.sources.yaml_stream import parse_yaml

P = ParamSpec("P")
T = TypeVar("T")

KINDS_OF_GIVEN = "a file name, a manifest, YAML text or an object"

_STDIN = re.compile(f"^({STDIN}|{STDIN_NAME}): ")


def attempt(problems: list[str], action: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
    """What ``action`` returns; None if its input is wrong, and ``problems`` then has its faults too."""
    try:
        return action(*args, **kwargs)
    except InputError as error:
        problems += error.problems
        return None


def located(name: str | os.PathLike[str], folders: Sequence[Path]) -> str:
    """The absolute path of a file or folder, looked for in ``folders`` in turn. Raises DecodeError."""
    for folder in folders:
        path = folder.absolute() / name
        if path.exists():
            return str(path)
    places = " or ".join(dict.fromkeys(str(folder.absolute()) for folder in folders))
    raise DecodeError(f"{os.fspath(name)}: no such file or folder in {places}")


def manifests(text: str) -> list[Any]:
    """The documents of YAML text. Raises DecodeError."""
    found = parse_yaml("YAML text", text.encode())
    if not found:
        raise DecodeError("YAML text: no objects in it")
    return found


def standard_input(documents: Sequence[Any]) -> io.BytesIO:
    """Manifests as the readers of files take them. Raises DecodeError for what is no JSON."""
    try:
        return io.BytesIO(msgspec.json.encode(documents[0] if len(documents) == 1 else documents))
    except (TypeError, ValueError) as error:
        raise DecodeError(f"manifest: {error}") from None


def in_manifests(action: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What ``action`` returns; its faults are in manifests, not in standard input."""
    try:
        return action(*args, **kwargs)
    except DecodeError as error:
        raise DecodeError(_STDIN.sub("manifest: ", text) for text in error.problems) from None


def spec_of(given: Any, folders: Sequence[Path], extenders: str = LIVE) -> EngineSpec:
    """A scheduler's description, also as text (``release=1.16,policy=policy.json``). Raises ConfigError.

    extenders: how they are asked, unless the description says it.
    """
    if not isinstance(given, str | EngineSpec):
        raise ConfigError(f'scheduler: expected text like "release=1.16,policy=policy.json", found {describe(given)}')
    spec = EngineSpec.parse(given) if isinstance(given, str) else given
    if spec.extenders == LIVE:
        spec = msgspec.structs.replace(spec, extenders=extenders)
    problems: list[str] = []
    named = {field: name for field in FILES if (name := getattr(spec, field)) is not None}
    found: dict[str, Any] = {field: attempt(problems, located, name, folders) for field, name in named.items()}
    access = attempt(problems, _record_located, spec.extenders, folders)
    if problems:
        raise ConfigError(problems)
    return msgspec.structs.replace(spec, **found, extenders=access or spec.extenders)


def _record_located(said: str, folders: Sequence[Path]) -> str:
    """How extenders are asked, with the path of the record; one that is recorded is made in the first folder."""
    mode, _, file = said.replace(":", " ", 1).partition(" ")
    if not file:
        return said
    try:
        return f"{mode} {located(file.strip(), folders)}"
    except DecodeError:
        if mode != RECORD:
            raise
        return f"{mode} {folders[0].absolute() / file.strip()}"
