"""Everything that a user can say of one scheduler: its option, its key in one line of text, its argument in Python.

``EngineFlags`` holds what was said. Whatever takes it from users, or writes it for them, is made of this table:
options of commands, ``--old release=1.16,policy=policy.json``, arguments of ``Scheduler``, configurations of a sweep,
scenes that the lab shares. Imports nothing, so that help stays quick.
"""

from __future__ import annotations

from typing import Literal, NamedTuple


class SpecField(NamedTuple):
    """One thing that can be said, under each of its names."""

    field: str
    """Of ``EngineFlags``."""
    option: str
    """Of the command line, without a value."""
    key: str = ""
    """In one line of text; empty: it is not said there."""
    argument: str = ""
    """Of ``Scheduler``, besides the release, which is its cluster's; empty: it has none."""
    kind: Literal["text", "file", "whole", "gates", "flag"] = "text"
    expected: str = ""
    """What an argument is to be, in an error's words."""
    document: str = ""
    """The field for a document in place of the file."""
    metavar: str | None = None
    help: str = ""

    @property
    def parameter(self) -> str:
        """What a command calls it."""
        return self.option.lstrip("-").replace("-", "_")


SPEC_FIELDS = (
    SpecField("release", "--release", "release", help="Whose rules to decide by."),
    SpecField(
        "provider",
        "--algorithm-provider",
        "provider",
        "provider",
        expected="the name of an algorithm provider",
        metavar="NAME",
        help="A provider.  [up to 1.21; default: DefaultProvider]",
    ),
    SpecField(
        "policy_file",
        "--policy-config-file",
        "policy",
        "policy",
        "file",
        document="policy",
        metavar="FILE",
        help="A Policy: JSON, YAML or TOML.  [up to 1.22]",
    ),
    SpecField(
        "policy_configmap",
        "--policy-configmap",
        "policy-configmap",
        "policy_configmap",
        "file",
        "a file name",
        metavar="FILE",
        help="A ConfigMap manifest with the Policy under policy.cfg.  [up to 1.22]",
    ),
    SpecField(
        "use_legacy_policy_config",
        "--use-legacy-policy-config",
        kind="flag",
        help="The policy file goes before the ConfigMap.  [1.13 to 1.22]",
    ),
    SpecField(
        "strict",
        "--strict",
        kind="flag",
        help="Refuse keys that the release ignores: unknown ones, and ones set twice.",
    ),
    SpecField(
        "config_file",
        "--config",
        "config",
        "config",
        "file",
        document="component",
        metavar="FILE",
        help="A KubeSchedulerConfiguration: YAML, JSON or TOML.  [not in 1.4]",
    ),
    SpecField(
        "feature_gates",
        "--feature-gates",
        "feature-gates",
        "gates",
        "gates",
        "a dict of feature gates or text like A=true,B=false",
        metavar="A=true,B=false",
        help="As kube-scheduler takes them.",
    ),
    SpecField(
        "hard_pod_affinity_symmetric_weight",
        "--hard-pod-affinity-symmetric-weight",
        "hard-pod-affinity-symmetric-weight",
        "hard_pod_affinity_symmetric_weight",
        "whole",
        "a whole number",
        metavar="1-100",
        help="What a running pod's required affinity to the new pod counts.  [up to 1.21; default: 1]",
    ),
    SpecField(
        "failure_domains",
        "--failure-domains",
        metavar="KEY,KEY",
        help="What an empty topologyKey stands for, in release 1.4.",
    ),
    SpecField(
        "percentage_of_nodes_to_score",
        "--percentage-of-nodes-to-score",
        "percentage-of-nodes-to-score",
        "percentage_of_nodes_to_score",
        "whole",
        "a whole number",
        metavar="0-100",
        help="Below 100 stop looking once enough nodes fit; 0 is upstream's adaptive share.",
    ),
    SpecField(
        "scheduler_name",
        "--scheduler-name",
        "scheduler-name",
        "scheduler_name",
        expected="a name",
        metavar="NAME",
        help="Whose pods it places; it leaves others alone.  [up to 1.21; default: default-scheduler]",
    ),
    SpecField(
        "extenders",
        "--extenders",
        "extenders",
        "extenders",
        expected="live, pass, record FILE or replay FILE",
        metavar="live|pass|record FILE|replay FILE",
        help="How HTTP extenders are asked; pass: not at all, every node fits and none has their scores.",
    ),
)
"""Everything, in the order in which it is listed."""

KEYS = {each.key: each for each in SPEC_FIELDS if each.key}
"""What can be said in one line of text."""

ARGUMENTS = {each.argument: each for each in SPEC_FIELDS if each.argument}
"""What describes a scheduler in Python besides its release and its plugins."""

OPTIONS: dict[str, str] = {each.field: each.option for each in SPEC_FIELDS}
"""Field → option."""

FILES = tuple(each.field for each in SPEC_FIELDS if each.kind == "file")
"""The fields that name files."""

SOURCES = ("provider", *FILES, *(each.document for each in SPEC_FIELDS if each.document))
"""The fields that say by which rules is decided; without any, by the release's own."""

BESIDES = {each.argument: each.field for each in SPEC_FIELDS if each.argument and each.field not in SOURCES}
"""What else can be said in Python → field."""
