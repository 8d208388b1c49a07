"""What extenders answered, kept in a file by request: recorded from live extenders, and replayed without them.

A file has a line of JSON for each distinct request: the address, a digest of the request's body whatever the order of
its keys, the pod that it is about, and the answer, or the error that came instead. Several processes may record into
one file.
"""

from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import attrs
import msgspec

from clusterstate.errors import InputError
from kubescheduler.extender.answers import CutShortError, ExtenderError
from kubescheduler.extender.config import ExtenderConfig, masked

if TYPE_CHECKING:
    from kubescheduler.extender.transport import Transport

Key = tuple[str, str]
"""(address, digest of the body)."""


Exchange: TypeAlias = "Transport | Recorder | Replayer"
"""What posts a request to one extender."""


class RecordedAnswer(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """One line of a file."""

    url: str
    """Where the request went: urlPrefix and verb, with ``***`` for a password."""
    request: str
    """The digest of its body: SHA-256 of the JSON with sorted keys, in hexadecimal digits."""
    pod: str = ""
    """The pod's namespace/name, for people."""
    answer: str | None = None
    """The answer's body, if it is text."""
    answer_base64: str | None = None
    """The answer's body, if it is none."""
    error: str | None = None
    """The text of the error in place of an answer; beside one: that it broke off."""

    @property
    def key(self) -> Key:
        """By which it is found."""
        return self.url, self.request

    def given(self) -> bytes:
        """The body of the answer. Raises ExtenderError if an error was recorded."""
        body = (self.answer or "").encode() if self.answer_base64 is None else base64.b64decode(self.answer_base64)
        if self.error is not None:
            raise CutShortError(self.error, body) if body else ExtenderError(self.error)
        return body


@attrs.define(eq=False)
class AnswerRecord:
    """The file, and what was read of it so far. Safe to share by threads."""

    path: Path
    known: dict[Key, RecordedAnswer] = attrs.field(factory=dict)
    _read: int = 0
    _lock: threading.RLock = attrs.field(factory=threading.RLock, repr=False)

    def read(self) -> None:
        """Reads the whole file. Raises InputError if it is not there or no record."""
        self._check()
        try:
            with self._lock, self.path.open("rb") as file:
                self._take(file)
        except OSError as error:
            raise InputError(f"--extenders {self.path}: cannot be read: {error.strerror}") from error

    @contextmanager
    def extended(self) -> Iterator[IO[bytes]]:
        """The file, made if need be, while nobody else writes to it; what others wrote is known then."""
        import fcntl

        self._check()
        with self._lock:
            try:
                file = self.path.open("a+b", buffering=0)
            except OSError as error:
                raise InputError(f"--extenders {self.path}: cannot be written: {error.strerror}") from error
            with file:
                fcntl.flock(file, fcntl.LOCK_EX)
                self._take(file)
                yield file

    def _check(self) -> None:
        """Raises InputError for what is there and no regular file."""
        if self.path.exists() and not self.path.is_file():
            raise InputError(f"--extenders {self.path}: this is no regular file")

    def _take(self, file: IO[bytes]) -> None:
        """Reads the lines that were not read yet."""
        file.seek(self._read)
        for line in file.read().splitlines():
            try:
                found = msgspec.json.decode(line, type=RecordedAnswer)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                raise InputError(f"--extenders {self.path}: no record of answers: {error}") from error
            self.known.setdefault(found.key, found)
        self._read = file.tell()

    def merge(self, lines: bytes) -> None:
        """Adds the answers of another record's lines to requests that are new here. Raises InputError."""
        with self.extended() as file:
            for line in lines.splitlines():
                found = msgspec.json.decode(line, type=RecordedAnswer)
                if found.key not in self.known:
                    self.add(found, file)

    def add(self, found: RecordedAnswer, file: IO[bytes]) -> None:
        """Writes one more line, or nothing. Raises InputError if it cannot be written."""
        try:
            line = msgspec.json.encode(found) + b"\n"
            while line:
                line = line[file.write(line) :]
        except OSError as error:
            file.truncate(self._read)
            if not self._read:
                self.path.unlink()
            raise InputError(f"--extenders {self.path}: cannot be written: {error.strerror}") from error
        self._read = file.tell()
        self.known[found.key] = found


_RECORDS: dict[Path, AnswerRecord] = {}
"""By absolute path."""


def record_of(file: str) -> AnswerRecord:
    """The record of a file; one for all schedulers of this process."""
    path = Path(file).absolute()
    return _RECORDS.setdefault(path, AnswerRecord(path))


def forget_record(file: str) -> None:
    """Lets go of what was read of a file that is no longer there."""
    _RECORDS.pop(Path(file).absolute(), None)


def asked(url: str, body: bytes) -> RecordedAnswer:
    """A request without its answer."""
    document = msgspec.json.decode(body)
    digest = hashlib.sha256(msgspec.json.encode(document, order="deterministic")).hexdigest()
    return RecordedAnswer(masked(url), digest, _pod_of(document))


def _pod_of(document: Any) -> str:
    """The namespace/name of the pod that a request is about."""
    if not isinstance(document, dict):
        return ""
    if "PodName" in document:
        return f"{document.get('PodNamespace', '')}/{document['PodName']}"
    pod = document.get("Pod") or document.get("pod") or {}
    metadata = pod.get("metadata") or {} if isinstance(pod, dict) else {}
    return f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"


@attrs.define(eq=False)
class Recorder:
    """Asks a live extender each distinct request once, and keeps the answer."""

    config: ExtenderConfig
    record: AnswerRecord
    _live: Transport | None = None

    @classmethod
    def opener(cls, file: str) -> Callable[[ExtenderConfig], Exchange]:
        """Makes one for an extender."""
        return lambda config: cls(config, record_of(file))

    def post(self, url: str, body: bytes, status_fault: Callable[[int], str | None]) -> bytes:
        """The recorded answer, else the extender's own. Raises ExtenderError, which is recorded too."""
        request = asked(url, body)
        with self.record.extended() as file:
            found = self.record.known.get(request.key)
            if found is None:
                found = self._ask(request, url, body, status_fault)
                self.record.add(found, file)
        return found.given()

    def _ask(
        self, request: RecordedAnswer, url: str, body: bytes, status_fault: Callable[[int], str | None]
    ) -> RecordedAnswer:
        if self._live is None:
            from kubescheduler.extender.transport import Transport

            self._live = Transport(self.config)
        try:
            answer = self._live.post(url, body, status_fault)
        except CutShortError as error:
            request, answer = msgspec.structs.replace(request, error=str(error)), error.body
        except ExtenderError as error:
            return msgspec.structs.replace(request, error=str(error))
        try:
            return msgspec.structs.replace(request, answer=answer.decode())
        except UnicodeDecodeError:
            return msgspec.structs.replace(request, answer_base64=base64.b64encode(answer).decode())

    def close(self) -> None:
        """Closes the connections to the extender."""
        live, self._live = self._live, None
        if live is not None:
            live.close()


@attrs.define(eq=False)
class Replayer:
    """Answers from a record and asks nobody."""

    record: AnswerRecord

    @classmethod
    def opener(cls, file: str) -> Callable[[ExtenderConfig], Exchange]:
        """Makes one for an extender."""
        return lambda _: cls(record_of(file))

    def post(self, url: str, body: bytes, status_fault: Callable[[int], str | None]) -> bytes:  # noqa: ARG002
        """The recorded answer. Raises ExtenderError if an error was recorded, InputError for an unknown request."""
        request = asked(url, body)
        found = self.record.known.get(request.key)
        if found is None:
            raise InputError(
                f"--extenders replay {self.record.path.name}: no answer is recorded to this request to {request.url} "
                f"about pod {request.pod} (digest {request.request[:12]}); the cluster, the pods or the "
                "configuration have changed: record again"
            )
        return found.given()

    def close(self) -> None:
        """Nothing is open."""
