"""How strictly manifests are read: whether fields that nobody knows are faults, notes or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import attrs

from clusterstate.errors import ConfigError
from clusterstate.manifests.fields import describe

Judgement = Literal["strict", "warn", "ignore"]
"""What comes of an unknown field, or a value that no API server takes: a fault, a note, nothing. As the values of
``kubectl apply --validate``."""

JUDGEMENTS: tuple[Judgement, ...] = ("strict", "warn", "ignore")


Fault = tuple[str, str]
"""Place below an object, such as ``.weight``, and the API server's text."""
Check = Callable[[Mapping[Any, Any]], Iterable[Fault]]
"""An object → what an API server refuses in it."""
Checks = Mapping[str, tuple[Check, ...]]
"""Type → its checks."""


@attrs.frozen
class Accepted:
    """What the API server of a release takes."""

    values: Mapping[tuple[str, str], tuple[tuple[str, ...], str]] = attrs.field(factory=dict)
    """(type, field) → the only values that it takes of those that the newest API has, and why."""
    checks: Checks = attrs.field(factory=dict)
    """See ``clusterstate.manifests.api_checks``."""


@attrs.frozen
class Strictness:
    """How manifests are judged, by whether an API server has stored them."""

    written: Judgement = "ignore"
    """For a manifest without ``metadata.uid`` and ``metadata.resourceVersion``: somebody has written it."""
    stored: Judgement = "ignore"
    """For a manifest that an API server has answered with, perhaps of a newer release."""
    refused: Judgement = "ignore"
    """For what the release's API server refuses in a manifest that some API server has stored."""
    accepted: Accepted = attrs.field(factory=Accepted, eq=False)
    """What the release takes; by default all that the newest API has."""

    def under(self, accepted: Accepted) -> Strictness:
        """The same for the API server of a release."""
        return attrs.evolve(self, accepted=accepted)

    def of(self, manifest: Mapping[Any, Any]) -> tuple[Judgement, Judgement]:
        """How one manifest is judged: its fields, and what the API server refuses in them."""
        return (self.stored, self.refused) if is_stored(manifest) else (self.written, self.written)


LENIENT = Strictness()
"""As an API server reads what it has stored: unknown fields are not looked at."""

BY_ORIGIN = Strictness(written="strict", refused="warn")
"""What somebody has written strictly, what a server has answered leniently."""

STRICT = Strictness("strict", "strict", "warn")
"""Every field strictly; of what a server has stored it is only noted that a server refuses it."""


def strictness_of(judgement: Judgement | None, default: Strictness = BY_ORIGIN) -> Strictness:
    """One judgement for everything, as an option says it; the default where it says nothing.

    Raises ConfigError for what is no judgement.
    """
    return default if judgement is None else Strictness(judgement_named(judgement), judgement, judgement)


def judgement_named(given: object, what: str = "validate") -> Judgement:
    """A judgement by its name. what: what errors call it. Raises ConfigError for what is none."""
    for judgement in JUDGEMENTS:
        if given == judgement:
            return judgement
    raise ConfigError(f"{what}: {describe(given)} is not known; known are {', '.join(JUDGEMENTS)}")


def is_stored(manifest: Mapping[Any, Any]) -> bool:
    """Whether an API server has given the object a uid or a version."""
    metadata = manifest.get("metadata")
    return isinstance(metadata, Mapping) and bool(metadata.get("uid") or metadata.get("resourceVersion"))
