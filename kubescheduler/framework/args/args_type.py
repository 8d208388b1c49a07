"""The args of a plugin: the keys that a configuration may give, the record they become, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from kubescheduler.framework.args.document_schema import GO_DURATION, Field, Struct
from kubescheduler.framework.args.field_errors import FieldError
from kubescheduler.framework.contract.go_durations import format_duration

NO_GATES: Mapping[str, bool] = {}


def no_errors(_: Any) -> Iterator[FieldError]:
    """Whatever can be decoded can be used."""
    return iter(())


class ArgsType(msgspec.Struct, frozen=True, eq=False):
    """What one release reads as the args of a plugin."""

    record: type[Any]
    """What the args become; its name is the document's kind, its defaults are those of a plugin without args."""
    fields: tuple[Field, ...]
    """The keys, each with the field of the record that it becomes."""
    description: str
    """What the keys mean, in Markdown; the same for every release that has the plugin."""
    build: Callable[..., Any] | None = None
    """Makes the record of the fields that are given, with the release's defaults; None: the record's own."""
    build_with: Callable[[Mapping[str, bool]], Callable[..., Any]] | None = None
    """Feature gates → ``build``, where defaults depend on gates."""
    writers: Mapping[str, Callable[[Any], Any]] = msgspec.field(default_factory=dict)
    """Key → how its value is written, as None to leave it out; lists of texts and single values need none."""
    errors: Callable[[Any], Iterator[FieldError]] = no_errors
    """The faults of a record in the release's words, paths beginning at the args."""
    checked_with_config: bool = False
    """1.36: faults are found with those of the whole configuration, and not when the plugin is made."""

    def keys(self, feature_gates: Mapping[str, bool] = NO_GATES) -> Struct:
        """The object that a configuration gives; gates that are not named have the release's default."""
        build = self.build or self.record
        return Struct(
            self.record.__name__, build if self.build_with is None else self.build_with(feature_gates), self.fields
        )

    def document(self, args: Any) -> dict[str, Any]:
        """A record as an object of a configuration, without ``kind`` and ``apiVersion``."""
        values = {field.key: self._written(field, getattr(args, field.attribute)) for field in self.fields}
        return {key: value for key, value in values.items() if value is not None}

    def _written(self, field: Field, value: Any) -> Any:
        if field.key in self.writers:
            return self.writers[field.key](value)
        if field.kind is GO_DURATION:
            return format_duration(value)
        return (list(value) or None) if isinstance(value, tuple) else value
