"""What a scheduler is described by: a release, and the name of a provider, a Policy or a component configuration."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from kubescheduler.config.config_text import parse_first_document
from kubescheduler.engine.spec import EngineSpec, no_notice
from kubescheduler.engine.spec_fields import SOURCES

Kind = Literal["provider", "policy", "config"]
"""What a text may be: the name of an algorithm provider, a Policy, a KubeSchedulerConfiguration."""

PROVIDER: Final = "provider"
POLICY: Final = "policy"
CONFIG: Final = "config"


class SideText(msgspec.Struct, frozen=True):
    """One scheduler as somebody wrote it. Nothing here is checked before ``spec`` or ``engine`` is asked for."""

    flags: EngineSpec
    """What is said besides: release, feature gates, plugins; its own provider and documents do not count."""
    kind: Kind = PROVIDER
    """What the text is."""
    text: str = ""
    """The provider's name, or the document; empty: the release's default."""
    notes: tuple[str, ...] = ()
    """What became of the text when it was last changed."""

    @property
    def release(self) -> str:
        """Whose rules decide."""
        return self.flags.release

    @property
    def spec(self) -> EngineSpec:
        """The description of the scheduler. Raises ConfigError for text that cannot be read."""
        given: dict[str, Any] = dict.fromkeys(SOURCES)
        if self.kind == PROVIDER:
            given["provider"] = self.text.strip() or None
        elif self.text.strip():
            given["policy" if self.kind == POLICY else "component"] = parse_first_document(self.text, self.kind)
        return msgspec.structs.replace(self.flags, **given)

    def checked(self) -> SideText:
        """Itself. Raises ConfigError with every problem for a text of which no engine can be made."""
        self.spec.engine(no_notice)
        return self

    def saying(self, kind: Kind, text: str, *notes: str) -> SideText:
        """The same scheduler, described by another text."""
        return msgspec.structs.replace(self, kind=kind, text=text, notes=notes)
