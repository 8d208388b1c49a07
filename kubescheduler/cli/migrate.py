"""``kubescheduler migrate``: a Policy or provider as a KubeSchedulerConfiguration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from clusterstate.release_names import DEFAULT_RELEASE, FRAMEWORK_RELEASES, POLICY_RELEASES
from kubescheduler.cli.common_options import FEATURE_GATES, FILE, OneOf

if TYPE_CHECKING:
    from kubescheduler.translate.translating import Source, Translation


@click.command(
    short_help="Turn a Policy or provider into a KubeSchedulerConfiguration.",
    epilog="Exit status: 0 everything is carried over exactly, 1 something is not, 2 wrong input or usage.",
)
@click.argument("policy", required=False, type=FILE)
@click.option("--algorithm-provider", metavar="NAME", help="Translate a provider instead of a policy.")
@click.option(
    "--from",
    "from_release",
    type=OneOf(POLICY_RELEASES),
    default=DEFAULT_RELEASE,
    show_default=True,
    help="The release whose reading of the policy counts.",
)
@click.option(
    "--to",
    type=OneOf(FRAMEWORK_RELEASES),
    default=FRAMEWORK_RELEASES[-1],
    show_default=True,
    help="For which release.",
)
@FEATURE_GATES
@click.option(
    "--hard-pod-affinity-symmetric-weight",
    type=int,
    metavar="0-100",
    help="What the scheduler was started with, if the policy does not say.",
)
@click.option("--keep-emphasis", is_flag=True, help="Write the weights with which packing of nodes is not outweighed.")
@click.option(
    "-o",
    "--output",
    type=OneOf(["yaml", "json", "table"]),
    default="yaml",
    show_default=True,
    help="The configuration; with all that is to know as JSON; only that, as a list and a table.",
)
def migrate(
    policy: str | None,
    algorithm_provider: str | None,
    from_release: str,
    to: str,
    feature_gates: str,
    hard_pod_affinity_symmetric_weight: int | None,
    keep_emphasis: bool,
    output: str,
) -> int:
    """Turn POLICY, or a provider, into a KubeSchedulerConfiguration, and say what changes.

    POLICY is JSON, YAML or TOML, or a ConfigMap with the policy under policy.cfg; - is standard input. Every line of
    the configuration tells which entry it comes from.

    \b
    Examples:
      kubescheduler migrate policy.json
      kubescheduler migrate policy.yaml --to 1.20 > scheduler.yaml
      kubescheduler migrate --algorithm-provider ClusterAutoscalerProvider --keep-emphasis
      kubectl get configmap -n kube-system scheduler-policy -o yaml | kubescheduler migrate - -o table
    """
    from kubescheduler.translate.translating import translate

    source = _source(policy, algorithm_provider, from_release, feature_gates, hard_pod_affinity_symmetric_weight)
    translation = translate(source, to, keep_emphasis=keep_emphasis)
    for piece in _rendered(translation, output):
        click.echo(piece, nl=False)
    if output == "yaml":
        from kubescheduler.cli.engine_options import remark

        for note in translation.notes:
            remark(str(note))
    return 0 if translation.exact else 1


def _source(
    policy: str | None, provider: str | None, release: str, feature_gates: str, hard_weight: int | None
) -> Source:
    from kubescheduler.engine.releases import RELEASES
    from kubescheduler.translate.translating import policy_source, provider_source, read_policy_text

    gates = RELEASES[release].gates.parse(feature_gates)
    if policy is None:
        if provider is None:
            raise click.UsageError("say what to translate: a policy file, or --algorithm-provider NAME")
        return provider_source(provider, release, gates, hard_weight)
    if provider is not None:
        raise click.UsageError("a policy stands in place of a provider: give one of them")
    name = "standard input" if policy == "-" else policy
    document = read_policy_text(_text(policy), name)
    return policy_source(document, release, gates, name, hard_weight)


def _text(policy: str) -> str:
    import sys
    from pathlib import Path

    from clusterstate.errors import ConfigError
    from kubescheduler.config.config_text import read_text

    if policy != "-":
        return read_text(Path(policy))
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"standard input: byte {error.start} is not UTF-8") from error


# --- output --------------------------------------------------------------------------------


def _rendered(translation: Translation, output: str) -> Iterator[str]:
    if output == "yaml":
        from kubescheduler.translate.translating import translation_yaml

        yield translation_yaml(translation)
    elif output == "json":
        import msgspec

        from kubescheduler.translate.translating import translation_document

        encoded = msgspec.json.encode(translation_document(translation))
        yield msgspec.json.format(encoded, indent=2).decode() + "\n"
    else:
        yield from _tables(translation)


def _tables(translation: Translation) -> Iterator[str]:
    """The notes, then the shares of the scores before and after."""
    from kubescheduler.cli.tables import NONE, table
    from kubescheduler.translate.translating import note_lines

    for line in note_lines(translation.notes):
        yield line + "\n"
    rows = [
        (release, part.title, str(part.weight), f"{emphasis.percent(part.weight):.0f}%", part.role.value or NONE)
        for release, emphasis in (
            (f"{translation.from_release} (before)", translation.before),
            (f"{translation.release} (after)", translation.after),
        )
        for part in emphasis.parts
    ]
    if rows:
        yield "\n" * bool(translation.notes) + table([("RELEASE", "SCORE", "WEIGHT", "SHARE", "EFFECT"), *rows]) + "\n"
