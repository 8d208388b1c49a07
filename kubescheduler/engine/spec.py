"""What a user says of one scheduler, on a command line or in one line of text, and the engine that makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from clusterstate.errors import ConfigError, nearest
from clusterstate.versions import DEFAULT_RELEASE
from kubescheduler.engine.engine_flags import EngineFlags
from kubescheduler.releases.lookup import release_named

if TYPE_CHECKING:
    from kubescheduler.engine.engine_contract import Engine
    from kubescheduler.engine.framework_engine import FrameworkEngine
    from kubescheduler.framework.contract.profile import SchedulerConfig
    from kubescheduler.framework.profiles.default_plugins import PluginPoints

Notice = Callable[[str], None]
"""Is called with what a reader would not expect."""

Made = TypeVar("Made", bound="Engine")


def no_notice(_: str) -> None:
    """Nobody reads the notices."""


KEYS: dict[str, str] = {
    "release": "release",
    "provider": "provider",
    "policy": "policy_file",
    "policy-configmap": "policy_configmap",
    "config": "config_file",
    "feature-gates": "feature_gates",
    "hard-pod-affinity-symmetric-weight": "hard_pod_affinity_symmetric_weight",
    "percentage-of-nodes-to-score": "percentage_of_nodes_to_score",
    "scheduler-name": "scheduler_name",
    "extenders": "extenders",
}
"""What can be said in one line → field."""


class EngineSpec(EngineFlags, frozen=True):
    """What flags say of one scheduler, and the engine that makes."""

    @classmethod
    def parse(cls, text: str) -> EngineSpec:
        """From ``release=1.16,policy=policy.json``.

        Several feature gates are separated by ``;``. Raises ConfigError with every fault.
        """
        given: dict[str, Any] = {}
        problems: list[str] = []
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            key, equals, value = part.partition("=")
            if not equals:
                problems.append(f"{part}: write it as key=value; keys are {', '.join(KEYS)}")
            elif key not in KEYS:
                problems.append(f"{key}: there is no such key{nearest(key, KEYS) or '; keys are ' + ', '.join(KEYS)}")
            elif not value.strip() and key != "feature-gates":
                problems.append(f"{key}: it has no value; leave the key out for the default")
            else:
                given[KEYS[key]] = value
        for field in ("hard_pod_affinity_symmetric_weight", "percentage_of_nodes_to_score"):
            if field in given:
                try:
                    given[field] = int(given[field])
                except ValueError:
                    problems.append(f"{field.replace('_', '-')}: expected a whole number, found {given[field]!r}")
        try:
            release_named(given.get("release", DEFAULT_RELEASE))
        except ConfigError as error:
            problems += error.problems
        if problems:
            raise ConfigError(f"{text}: {problem}" for problem in problems)
        given["feature_gates"] = given.get("feature_gates", "").replace(";", ",")
        return cls(**given)

    def engine(self, notice: Notice) -> Engine:
        """Raises ConfigError with every problem and its path. ``notice`` hears what has no effect."""
        if self.record.framework is not None:
            return self.framework_engine(notice)
        from kubescheduler.engine.from_flags.legacy_of_flags import engine_of_algorithm

        return self._noted(lambda: engine_of_algorithm(self, notice), notice)

    def framework_engine(self, notice: Notice) -> FrameworkEngine:
        """The engine of a release that decides by plugins; raises as ``engine``, and ConfigError for any other."""
        from kubescheduler.engine.from_flags.framework_of_flags import engine_of_profiles

        return self._noted(lambda: engine_of_profiles(self, notice), notice)

    def _noted(self, make: Callable[[], Made], notice: Notice) -> Made:
        """An engine, with the notes on feature gates before its own and that on extenders after them."""
        for note in self.record.gates.notes(self.gates):
            notice(note)
        engine = make()
        if note := self.extender_note(engine):
            notice(note)
        return engine

    def extender_note(self, engine: Engine) -> str:
        """What a reader of any answer has to know of the engine's extenders; empty if they are asked as configured."""
        return self.extender_access.note(list(dict.fromkeys(one.config.name for one in engine.extenders)))

    def component_config(self, notice: Notice) -> SchedulerConfig:
        """The completed configuration that a framework release runs by. Raises ConfigError with every problem."""
        from kubescheduler.engine.from_flags.framework_of_flags import component_config_of

        return component_config_of(self, notice)

    def written_config(self, notice: Notice) -> str:
        """The completed configuration as YAML, as ``--write-config-to`` writes it; whether it can be used is checked.

        Raises ConfigError with every problem, and for a release that has no component configuration.
        """
        if self.record.framework is not None:
            from kubescheduler.config.component import write_component_config

            self.engine(notice)
            return write_component_config(self.component_config(no_notice), self.record.framework_rules.component)
        if self.record.legacy_rules.read_component is None:
            raise ConfigError(f"--write-config-to: release {self.release} has no component configuration")
        from kubescheduler.config.v1alpha1.v1alpha1_writing import write_v1alpha1
        from kubescheduler.engine.v1alpha1_engine import component_of_flags, read_component

        config = read_component(self)
        if config is None:
            self.engine(notice)
            return write_v1alpha1(component_of_flags(self))
        for note in config.notes:
            notice(note)
        return write_v1alpha1(config)

    def points(self) -> PluginPoints:
        """Where every plugin there is takes part. Raises ConfigError with every one of the user's that does nowhere."""
        from kubescheduler.engine.from_flags.framework_of_flags import plugin_points

        return plugin_points(self)


def specs(texts: Iterable[str]) -> list[EngineSpec]:
    """Several in one go. Raises ConfigError with the faults of all."""
    out: list[EngineSpec] = []
    problems: list[str] = []
    for text in texts:
        try:
            out.append(EngineSpec.parse(text))
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    return out
