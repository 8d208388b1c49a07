"""``kubescheduler migrate``: what an older scheduler is configured by, as a KubeSchedulerConfiguration."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from kubescheduler.cli.common_options import FEATURE_GATES, FILE, ReleaseName, file_option, output_option
from kubescheduler.cli.help_groups import GroupedCommand
from kubescheduler.releases.names import DEFAULT_RELEASE, FRAMEWORK_RELEASES, RELEASE_NAMES

if TYPE_CHECKING:
    from kubescheduler.translate.translation_model import Translation


@click.command(
    cls=GroupedCommand,
    short_help="Turn what an older scheduler is configured by into a KubeSchedulerConfiguration.",
    epilog="Exit status: 0 everything is carried over exactly, 1 something is not, 2 wrong input or usage.",
)
@click.argument("files", nargs=-1, type=FILE, metavar="[FILE]...")
@click.option("--algorithm-provider", metavar="NAME", help="Translate a provider instead of files.")
@click.option(
    "--from",
    "from_release",
    type=ReleaseName(RELEASE_NAMES),
    help="The release that runs by it.  [default: that of the image in a manifest, else of a policy "
    f"{DEFAULT_RELEASE}, of a configuration the last that reads its version, of v1 the first]",
)
@click.option(
    "--to",
    type=ReleaseName(FRAMEWORK_RELEASES),
    default=FRAMEWORK_RELEASES[-1],
    show_default=True,
    help="For which release, that one or a later one.",
)
@click.option(
    "--container",
    metavar="NAME",
    help="Which container of a manifest, if several run kube-scheduler; also as WORKLOAD/CONTAINER.",
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
    "--with-new-filters",
    is_flag=True,
    help="Keep VolumeBinding, NodeVolumeLimits and PodTopologySpread on, which pods of today rely on.",
)
@file_option(
    "--cluster",
    multiple=True,
    help="Weigh the notes against this cluster: say who uses what is lost.  [repeatable]",
)
@click.option(
    "--plugin",
    multiple=True,
    metavar="MODULE:NAME",
    help="Your own rules that the policy names: a function that registers them, or, as NAME=MODULE:FACTORY, the plugin "
    "that stands in the place of one.  [repeatable]",
)
@click.option("--bare", is_flag=True, help="Write the YAML without comments.")
@output_option(
    *("yaml", "json", "table"),
    help="The configuration; with all that is to know as JSON; only that, as a list and a table.",
)
def migrate(
    files: tuple[str, ...],
    algorithm_provider: str | None,
    cluster: tuple[str, ...],
    bare: bool,
    output: str,
    **options: Any,
) -> int:
    """Turn what is in the FILEs, or a provider, into a KubeSchedulerConfiguration of a later release, and say what
    changes, and with which release.

    A FILE has a Policy, a KubeSchedulerConfiguration of an older version, a ConfigMap with either, or the manifest of
    kube-scheduler itself (a Deployment or a static Pod), whose flags are migrated, too, with the ConfigMap that it
    mounts; several documents in one file are fine. - is standard input. Every line of the configuration tells where it
    comes from.

    \b
    Examples:
      kubescheduler migrate policy.json
      kubescheduler migrate scheduler-v1beta2.yaml --to 1.28 --bare > scheduler.yaml
      kubescheduler migrate kube-scheduler.yaml configmap.yaml --cluster cluster.yaml -o table
      kubescheduler migrate --algorithm-provider ClusterAutoscalerProvider --keep-emphasis
      kubectl get configmap -n kube-system scheduler-policy -o yaml | kubescheduler migrate - -o table
    """
    from kubescheduler.cli.output import echo

    translation = _translation(files, algorithm_provider, options)
    if cluster:
        translation = _weighed(translation, cluster)
    echo(_rendered(translation, output, bare=bare))
    if output == "yaml" and translation.notes:
        from kubescheduler.cli.engine_options import remark

        inexact = sum(note.kind.inexact for note in translation.notes)
        head = f"notes at the head of the configuration: {len(translation.notes)}, {inexact} on what is not the same"
        for text in map(str, translation.notes) if bare else (head,):
            remark(text)
    return 0 if translation.exact else 1


def _translation(files: tuple[str, ...], provider: str | None, options: Mapping[str, Any]) -> Translation:
    from kubescheduler.engine.plugin_options import framework_plugins, load_plugins
    from kubescheduler.translate.migration import MigrationOptions, migrated
    from kubescheduler.translate.policy_source import provider_source
    from kubescheduler.translate.translating import translate

    load_plugins(name for name in options["plugin"] if "=" not in name)
    weight = options["hard_pod_affinity_symmetric_weight"]
    chosen = MigrationOptions(
        release=options["from_release"],
        to=options["to"],
        feature_gates=options["feature_gates"],
        hard_weight=weight,
        keep_emphasis=options["keep_emphasis"],
        with_new_filters=options["with_new_filters"],
        container=options["container"],
        plugins=framework_plugins(name for name in options["plugin"] if "=" in name),
    )
    if not files:
        if provider is None:
            raise click.UsageError(
                "say what to migrate: a FILE with a Policy, a KubeSchedulerConfiguration or the manifest of a "
                "kube-scheduler, or --algorithm-provider NAME"
            )
        source = provider_source(provider, chosen.read_by, chosen.gates(), weight)
        return translate(
            source, chosen.to, keep_emphasis=chosen.keep_emphasis, with_new_filters=chosen.with_new_filters
        )
    if provider is not None:
        raise click.UsageError("a FILE stands in place of --algorithm-provider: give one of them")
    return migrated([("standard input" if name == "-" else name, _text(name)) for name in files], chosen)


def _weighed(translation: Translation, cluster: tuple[str, ...]) -> Translation:
    """With notes that say who uses what they speak of."""

    import msgspec

    from kubescheduler.cli.engine_options import remarks
    from kubescheduler.given import decoded, read_paths
    from kubescheduler.translate.translating import weighed

    there, notes = decoded(read_paths(cluster, None), translation.from_release, keep_manifests=False)
    remarks(notes)
    return msgspec.structs.replace(translation, notes=weighed(translation.notes, [entry.obj for entry in there]))


def _text(policy: str) -> str:
    from pathlib import Path

    from clusterstate.errors import ConfigError
    from kubescheduler.config.config_text import read_text

    if policy != "-":
        return read_text(Path(policy))
    text = read_text(Path("standard input"), sys.stdin.buffer)
    if not text.strip():
        raise ConfigError("standard input: there is nothing in it")
    return text


# --- output --------------------------------------------------------------------------------


def _rendered(translation: Translation, output: str, *, bare: bool) -> Iterator[str]:
    if output == "yaml":
        from kubescheduler.translate.translating import translation_yaml

        yield translation_yaml(translation, bare=bare)
    elif output == "json":
        from kubescheduler.sources.untrusted import json_text
        from kubescheduler.translate.translating import translation_document

        yield json_text(translation_document(translation), 2) + "\n"
    else:
        yield from _tables(translation)


def _tables(translation: Translation) -> Iterator[str]:
    """The notes, then the shares of the scores before and after."""
    from kubescheduler.cli.output import NONE, screen_of, table
    from kubescheduler.translate.translating import note_lines

    screen = screen_of(sys.stdout)
    for line in note_lines(translation.notes, *(() if screen.width is None else (screen.width,))):
        yield line + "\n"
    rows = [
        (release, part.title, str(part.weight), f"{emphasis.percent(part.weight):.0f}%", part.role.value or NONE)
        for shares in translation.shares
        for profile in (f" {shares.name}" if translation.others else "",)
        for release, emphasis in (
            (f"{translation.from_release}{profile} (before)", shares.before),
            (f"{translation.release}{profile} (after)", shares.after),
        )
        for part in emphasis.parts
    ]
    heads = ("RELEASE", "SCORE", "WEIGHT", "SHARE", "EFFECT")
    if rows:
        yield "\n" * bool(translation.notes) + table([heads, *rows], screen, keys=2) + "\n"
