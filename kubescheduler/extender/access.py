"""How the extenders of a configuration are asked: live, not at all, or from recorded answers."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from algorithmprovider.registry import nearest
from clusterstate.errors import ConfigError
from kubescheduler.extender.client import HTTPExtender
from kubescheduler.extender.config import ExtenderConfig
from kubescheduler.extender.encoding import NodeEncoder
from kubescheduler.extender.recorded_answers import Recorder, Replayer, record_of
from kubescheduler.extender.wire import WireFormat

LIVE, PASS, RECORD, REPLAY = "live", "pass", "record", "replay"
MODES = (LIVE, PASS, RECORD, REPLAY)
EXPECTED = "expected live, pass, record FILE or replay FILE"


@attrs.frozen
class ExtenderAccess:
    """What ``--extenders`` says."""

    mode: str = LIVE
    """live: as configured. pass: never asked, every node fits and none has a score. record: live, each distinct request
    once, and the answers are kept in ``file``. replay: from ``file`` alone, and an unknown request is an error."""
    file: str = ""

    @classmethod
    def parse(cls, text: str) -> ExtenderAccess:
        """Of ``pass`` or ``record answers.jsonl``; a colon may stand for the space. Raises ConfigError."""
        mode, _, file = text.strip().replace(":", " ", 1).partition(" ")
        file = file.strip()
        if mode not in MODES:
            raise ConfigError(f"--extenders {text}: {EXPECTED}{nearest(mode, MODES)}")
        if bool(file) != (mode in (RECORD, REPLAY)):
            raise ConfigError(f"--extenders {text}: {'takes no file' if file else 'which FILE?'}; {EXPECTED}")
        if mode == REPLAY:
            record_of(file).read()
        return cls(mode, file)

    def extenders(
        self, configs: Sequence[ExtenderConfig], wire: WireFormat, encoder: NodeEncoder
    ) -> tuple[HTTPExtender, ...]:
        """The extenders of one scheduler, in order."""
        if self.mode == PASS:
            return tuple(HTTPExtender(passed_through(config), wire, encoder) for config in configs)
        if self.mode == RECORD:
            return tuple(HTTPExtender(config, wire, encoder, Recorder.opener(self.file)) for config in configs)
        if self.mode == REPLAY:
            return tuple(HTTPExtender(config, wire, encoder, Replayer.opener(self.file)) for config in configs)
        return tuple(HTTPExtender(config, wire, encoder) for config in configs)

    def note(self, names: Sequence[str]) -> str:
        """What a reader of an answer has to know of the extenders of these names; empty if nothing."""
        if not names or self.mode == LIVE:
            return ""
        said = ", ".join(names)
        if self.mode == PASS:
            return f"EXTENDERS PASSED THROUGH: {said}: not asked; every node fits and none has their scores"
        verb = "are recorded in" if self.mode == RECORD else "come from"
        return f"answers of extenders ({said}) {verb} {self.file}"


def passed_through(config: ExtenderConfig) -> ExtenderConfig:
    """The same extender that is never asked: every node fits, none has a score, the scheduler binds by itself.

    Resources that it manages stay out of the scheduler's own checks, where the configuration says so.
    """
    return attrs.evolve(config, filter_verb="", prioritize_verb="", preempt_verb="", bind_verb="")
