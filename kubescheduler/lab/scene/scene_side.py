"""Side: one scheduler of a scene, described by a provider, a Policy or a KubeSchedulerConfiguration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

from kubescheduler.config.config_text import (
    ParsedDocument,
    document_format,
    parse_first_document,
    read_configuration,
    read_policy_configmap,
    read_text,
)
from kubescheduler.engine.spec import EngineSpec
from kubescheduler.engine.spec_fields import FILES
from kubescheduler.releases.names import POLICY_RELEASES

SIDE_IDS = ("a", "b", "c", "d")
"""A scene has at most so many sides."""

Kind = Literal["provider", "policy", "config"]
"""What a scheduler is described by."""

DEFAULT_TEXT = "DefaultProvider"
"""What describes a side of a release with providers that nothing is said of."""


class Side(msgspec.Struct, frozen=True, eq=False):
    """One scheduler of a scene."""

    id: str
    """``a`` to ``d``."""
    name: str
    """What the user calls it."""
    spec: EngineSpec
    """Release, documents, gates, plugins, and how extenders are asked. Files have been read: it names none."""
    text: str = ""
    """The Policy or configuration as it was written (YAML or JSON); empty for a provider."""
    tie_break: str = "first"
    """Which of equal nodes is taken: ``first``, ``random`` or ``upstream``."""
    seed: int | None = None
    """Makes random and upstream ties repeatable."""

    @property
    def release(self) -> str:
        """Whose rules decide."""
        return self.spec.release

    @property
    def kind(self) -> Kind:
        """What it is described by."""
        if self.spec.policy is not None:
            return "policy"
        return "provider" if self.spec.component is None else "config"

    @property
    def shown_text(self) -> str:
        """The document, or the provider's name; empty for the defaults of a release that has no providers."""
        if self.kind != "provider":
            return self.text
        return self.spec.provider or (DEFAULT_TEXT if self.release in POLICY_RELEASES else "")

    @property
    def document(self) -> Mapping[str, Any] | None:
        """The Policy or the configuration; None for a provider."""
        return self.spec.policy if self.spec.policy is not None else self.spec.component

    def with_document(self, kind: Kind, text: str) -> Side:
        """Described otherwise: by a provider's name, or by a document's text. Raises ConfigError for a text that cannot
        be read; whether an engine can be made of it shows when one is."""
        if kind == "provider":
            spec = msgspec.structs.replace(self.spec, provider=text.strip() or None, policy=None, component=None)
            return msgspec.structs.replace(self, spec=spec, text="")
        document = parse_first_document(text, kind)
        policy, component = (document, None) if kind == "policy" else (None, document)
        spec = msgspec.structs.replace(self.spec, provider=None, policy=policy, component=component)
        return msgspec.structs.replace(self, spec=spec, text=text)


def default_name(release: str) -> str:
    """What a side is called that nobody has named."""
    return f"release {release}"


def side_of(spec: EngineSpec, letter: str = SIDE_IDS[0], name: str = "", **ties: Any) -> Side:
    """A side by what the command line or Python says of a scheduler; its files are read now, and not again.

    ties: ``tie_break`` and ``seed``. Raises ConfigError for a file that cannot be read.
    """
    side = Side(letter, name or default_name(spec.release), _without_files(spec), **ties)
    for kind, document, path in _documents(spec):
        text = document_text(document) if path is None else _yaml_or_json(read_text(path), path)
        side = side.with_document(kind, text)
    return side


def _without_files(spec: EngineSpec) -> EngineSpec:
    return msgspec.structs.replace(spec, **dict.fromkeys(FILES))


def _documents(spec: EngineSpec) -> list[tuple[Kind, Mapping[str, Any], Path | None]]:
    """(kind, document, its file if that holds nothing else)."""
    if spec.policy is not None:
        return [("policy", spec.policy, None)]
    if spec.policy_configmap is not None and not (spec.use_legacy_policy_config and spec.policy_file is not None):
        return [("policy", read_policy_configmap(Path(spec.policy_configmap)), None)]
    if spec.policy_file is not None:
        return [("policy", {}, Path(spec.policy_file))]
    if spec.component is not None:
        return [("config", spec.component, None)]
    if spec.config_file is None:
        return []
    document, name = read_configuration(Path(spec.config_file))
    return [("config", document, Path(name) if name == spec.config_file else None)]


def _yaml_or_json(text: str, path: Path) -> str:
    """The text itself; TOML as YAML."""
    if document_format(text, str(path)) != "TOML":
        return text
    return document_text(parse_first_document(text, str(path), "TOML"))


def document_text(document: Mapping[str, Any]) -> str:
    """A document as YAML, its keys in their order."""
    plain = dict(document) if isinstance(document, ParsedDocument) else document
    return yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=120)
