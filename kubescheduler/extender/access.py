"""How the extenders of a configuration are asked: live, not at all, or from recorded answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from clusterstate.errors import ConfigError, nearest

if TYPE_CHECKING:
    from kubescheduler.extender.client import HTTPExtender
    from kubescheduler.extender.config import ExtenderConfig
    from kubescheduler.extender.wire import NodeEncoder, WireFormat

LIVE, PASS, RECORD, REPLAY = "live", "pass", "record", "replay"
MODES = (LIVE, PASS, RECORD, REPLAY)
FORBIDDEN = "forbidden"
"""A mode that nobody types: of a configuration that nobody named, whose extenders must not be asked."""
EXPECTED = "expected live, pass, record FILE or replay FILE"


class ExtenderAccess(msgspec.Struct, frozen=True):
    """What ``--extenders`` says."""

    mode: str = LIVE
    """live: as configured. pass: never asked, every node fits and none has a score. record: live, each distinct request
    once, and the answers are kept in ``file``. replay: from ``file`` alone, and an unknown request is an error."""
    file: str = ""
    places: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Certificate or key file as tlsConfig names it → where it is on this machine; others are where they are named."""

    @classmethod
    def parse(cls, text: str) -> ExtenderAccess:
        """As ``named``; a record that is replayed is read. Raises ConfigError, InputError if it cannot be read."""
        access = cls.named(text)
        if access.mode == REPLAY:
            from kubescheduler.extender.recorded_answers import record_of

            record_of(access.file).read()
        return access

    @classmethod
    def named(cls, text: str) -> ExtenderAccess:
        """Of ``pass`` or ``record answers.jsonl``; a colon may stand for the space. Raises ConfigError."""
        mode, *rest = re.split(r"[:\s]\s*", text.strip(), maxsplit=1)
        file = "".join(rest).strip()
        if text == FORBIDDEN:
            return cls(FORBIDDEN)
        if mode not in MODES:
            raise ConfigError(f"--extenders {text}: {EXPECTED}{nearest(mode, MODES)}")
        if bool(file) != (mode in (RECORD, REPLAY)):
            raise ConfigError(f"--extenders {text}: {'takes no file' if file else 'which FILE?'}; {EXPECTED}")
        return cls(mode, file)

    def extenders(
        self, configs: Sequence[ExtenderConfig], wire: WireFormat, encoder: NodeEncoder
    ) -> tuple[HTTPExtender, ...]:
        """The extenders of one scheduler, in order. Raises ConfigError where they must not be asked."""
        if not configs:
            return ()
        if self.mode == FORBIDDEN:
            names = ", ".join(one.name for one in configs)
            raise ConfigError(
                f"extenders: {names} would be sent pods and nodes, and the settings file that names this configuration "
                "was only found in this folder; to allow it: --extenders live, or pass to ask none"
            )
        from kubescheduler.extender.client import HTTPExtender
        from kubescheduler.extender.recorded_answers import Recorder, Replayer

        configs = [with_files_at(config, self.places) for config in configs]
        if self.mode == PASS:
            configs = list(map(passed_through, configs))
        makers = {RECORD: Recorder.opener, REPLAY: Replayer.opener}
        opener = makers[self.mode](self.file) if self.mode in makers else None
        return tuple(HTTPExtender(config, wire, encoder, opener) for config in configs)

    def note(self, names: Sequence[str]) -> str:
        """What a reader of an answer has to know of the extenders of these names; empty if nothing."""
        if not names or self.mode == LIVE:
            return ""
        said = ", ".join(names)
        if self.mode == PASS:
            return f"EXTENDERS PASSED THROUGH: {said}: not asked; every node fits and none has their scores"
        verb = "are recorded in" if self.mode == RECORD else "come from"
        return f"answers of extenders ({said}) {verb} {self.file}"


def files_of(config: ExtenderConfig) -> tuple[str, ...]:
    """The certificate and key files that an extender's tlsConfig names."""
    tls = config.tls
    return tuple(filter(None, (tls.cert_file, tls.key_file, tls.ca_file)))


def with_files_at(config: ExtenderConfig, places: Mapping[str, str]) -> ExtenderConfig:
    """The same extender with its certificate and key files where ``places`` has them."""
    if not places:
        return config
    fields = ("cert_file", "key_file", "ca_file")
    found = {field: places.get(name, name) for field in fields if (name := getattr(config.tls, field))}
    return msgspec.structs.replace(config, tls=msgspec.structs.replace(config.tls, **found))


def passed_through(config: ExtenderConfig) -> ExtenderConfig:
    """The same extender that is never asked: every node fits, none has a score, the scheduler binds by itself.

    Resources that it manages stay out of the scheduler's own checks, where the configuration says so.
    """
    return msgspec.structs.replace(config, filter_verb="", prioritize_verb="", preempt_verb="", bind_verb="")
