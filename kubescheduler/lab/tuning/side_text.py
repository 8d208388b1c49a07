"""What a scheduler is described by: a release, and the name of a provider, a Policy or a component configuration."""

from __future__ import annotations

from typing import Any

import attrs

from clusterstate.errors import ConfigError
from kubescheduler.config.config_text import parse_first_document
from kubescheduler.engine.spec import EngineSpec, no_notice

PROVIDER, POLICY, CONFIG = "provider", "policy", "config"
KINDS = (PROVIDER, POLICY, CONFIG)
"""What a text may be: the name of an algorithm provider, a Policy, a KubeSchedulerConfiguration."""


@attrs.frozen
class SideText:
    """One scheduler as somebody wrote it. Nothing here is checked before ``spec`` or ``engine`` is asked for."""

    flags: EngineSpec
    """What is said besides: release, feature gates, plugins; its own provider and documents do not count."""
    kind: str = PROVIDER
    """One of KINDS."""
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
        """The description of the scheduler. Raises ConfigError for text that cannot be read, or of an unknown kind."""
        given: dict[str, Any] = dict.fromkeys(
            ("provider", "policy", "component", "policy_file", "policy_configmap", "config_file")
        )
        if self.kind not in KINDS:
            raise ConfigError(f"kind: expected one of {', '.join(KINDS)}, found {self.kind}")
        if self.kind == PROVIDER:
            given["provider"] = self.text.strip() or None
        elif self.text.strip():
            given["policy" if self.kind == POLICY else "component"] = parse_first_document(self.text, self.kind)
        return attrs.evolve(self.flags, **given)

    def checked(self) -> SideText:
        """Itself. Raises ConfigError with every problem for a text of which no engine can be made."""
        self.spec.engine(no_notice)
        return self

    def saying(self, kind: str, text: str, *notes: str) -> SideText:
        """The same scheduler, described by another text."""
        return attrs.evolve(self, kind=kind, text=text, notes=notes)
