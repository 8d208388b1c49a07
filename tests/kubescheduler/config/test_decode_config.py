from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.config.config_schema import OLDEST, V1ALPHA1
from kubescheduler.config.load_config import component_config_from, read_component_config
from tests.support.configuring.component_build import GROUP, args_of, document, entry, error, format_of, problems, read

KIND = "KubeSchedulerConfiguration"
SCHEME_1_20 = "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme/scheme.go:30"
SCHEME_1_36 = "pkg/scheduler/apis/config/scheme/scheme.go:30"


def failure(found: dict[str, Any], release: str, *, all_problems: bool) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        component_config_from(found, format_of(release), all_problems=all_problems)
    return caught.value.problems


# --- kind and apiVersion -------------------------------------------------------------------


OTHER_DOCUMENTS: list[Any] = [
    pytest.param("1.36", {}, "Object 'apiVersion' is missing in '{}'", id="empty"),
    pytest.param("1.36", {"apiVersion": f"{GROUP}/v1"},
                 f"Object 'Kind' is missing in '{{\"apiVersion\":\"{GROUP}/v1\"}}'", id="kind"),
    pytest.param("1.36", {"apiVersion": f"{GROUP}/v1beta1", "kind": KIND},
                 f'no kind "{KIND}" is registered for version "{GROUP}/v1beta1" in scheme "{SCHEME_1_36}"',
                 id="older-version"),
    pytest.param("1.20", {"apiVersion": f"{GROUP}/v1", "kind": KIND},
                 f'no kind "{KIND}" is registered for version "{GROUP}/v1" in scheme "{SCHEME_1_20}"',
                 id="newer-version"),
    pytest.param("1.36", {"apiVersion": f"{GROUP}/v1", "kind": "NodeAffinityArgs"},
                 f"couldn't decode as {KIND}, got {GROUP}/v1, Kind=NodeAffinityArgs: ", id="args"),
    pytest.param("1.20", {"apiVersion": "v1", "kind": "Policy"}, f"couldn't decode as {KIND}, got /v1, Kind=Policy: ",
                 id="policy"),
    pytest.param("1.36", {"apiVersion": 1, "kind": KIND},
                 "couldn't get version/kind; json parse error: apiVersion is not a string", id="number"),
    pytest.param("1.36", {"apiVersion": "a/b/c", "kind": KIND}, "unexpected GroupVersion string: a/b/c",
                 id="two-slashes"),
]  # fmt: skip


@pytest.mark.parametrize(("release", "found", "text"), OTHER_DOCUMENTS)
def test_other_documents(release: str, found: dict[str, Any], text: str) -> None:
    """A document of another kind or version gets the release's text, and a hint when all problems are asked for."""
    assert failure(found, release, all_problems=False) == (text,)
    assert failure(found, release, all_problems=True)


@pytest.mark.parametrize(
    ("release", "found", "told"),
    [
        pytest.param("1.20", {"kind": "Policy", "apiVersion": "v1"}, "--policy-config-file", id="policy"),
        pytest.param("1.20", {"kind": "ConfigMap", "apiVersion": "v1"}, "--policy-configmap", id="configmap"),
        pytest.param("1.20", document("1.36"), "1.20 reads v1beta1; this is for a later --release", id="newer"),
        pytest.param("1.36", document("1.20"), "1.36 reads v1; kubescheduler migrate makes it from this", id="older"),
        pytest.param(
            "1.36", {"apiVersion": OLDEST, "kind": KIND}, f"{V1ALPHA1} now; kubescheduler migrate", id="oldest"
        ),
        pytest.param("1.36", {"apiVersion": f"{GROUP}/v2", "kind": KIND}, f"write {GROUP}/v1", id="version"),
        pytest.param("1.36", {**document("1.36"), "kind": "KubeSchedulerConfig"}, f"did you mean {KIND}?", id="kind"),
        pytest.param("1.36", {"apiVersion": f"{GROUP}/v1"}, f"kind: {KIND}", id="no-kind"),
    ],
)
def test_hints(release: str, found: dict[str, Any], told: str) -> None:
    """The problem says what to write, or where the document belongs."""
    assert told in failure(found, release, all_problems=True)[0]


# --- strictness ----------------------------------------------------------------------------

TYPE_1_20 = '"apiVersion":"kubescheduler.config.k8s.io/v1beta1","kind":"KubeSchedulerConfiguration"'
NO_NUMBER = "cannot unmarshal string into Go struct field"
CASES: list[Any] = [
    pytest.param("1.36", {"paralelism": 1}, 'strict decoding error: unknown field "paralelism"',
                 ("paralelism: unknown key; did you mean parallelism?",), id="unknown"),
    pytest.param(
        "1.20",
        {"paralelism": 1},
        f'strict decoder error for {{{TYPE_1_20},"paralelism":1}}: v1beta1.KubeSchedulerConfiguration.ReadObject: '
        'found unknown field: paralelism, error found in #10 byte of ...|aralelism":1}|..., bigger context '
        '...|","kind":"KubeSchedulerConfiguration","paralelism":1}|...',
        ("paralelism: unknown key; did you mean parallelism?",),
        id="unknown-1.20",
    ),
    pytest.param("1.36", {"foo": 1, "profiles": [{"Plugins": {}}]},
                 'strict decoding error: unknown field "foo", unknown field "profiles[0].Plugins"', None,
                 id="two-unknown"),
    pytest.param("1.20", {"profiles": [{"plugins": {"multiPoint": {}}}]},
                 f'strict decoder error for {{{TYPE_1_20},"profiles":[{{"plugins":{{"multiPoint":{{}}}}}}]}}: '
                 "v1beta1.KubeSchedulerConfiguration.Profiles: []v1beta1.KubeSchedulerProfile: "
                 "v1beta1.KubeSchedulerProfile.Plugins: v1beta1.Plugins.ReadObject: found unknown field: multiPoint, "
                 'error found in #10 byte of ...|ultiPoint":{}}}]}|..., bigger context '
                 '...|onfiguration","profiles":[{"plugins":{"multiPoint":{}}}]}|...', None, id="no-multi-point"),
    pytest.param("1.36", {"profiles": [{"percentageOfNodesToScore": "5"}]},
                 f"json: {NO_NUMBER} KubeSchedulerProfile.profiles.percentageOfNodesToScore of type int32",
                 ('profiles[0].percentageOfNodesToScore: expected a 32-bit integer, found the string "5"; '
                 "write 5 without quotes",), id="wrong-type"),
    pytest.param(
        "1.36",
        {"leaderElection": {"leaseDuration": "15"}},
        'time: missing unit in duration "15"',
        ('leaderElection.leaseDuration: expected a duration such as "15s" or "1m30s", found the string "15"',),
        id="duration",
    ),
    pytest.param("1.36", {"clientConnection": {"qps": "1"}},
                 f"json: {NO_NUMBER} ClientConnectionConfiguration.clientConnection.qps of type float32",
                 ('clientConnection.qps: expected a number, found the string "1"; write 1 without quotes',),
                 id="float"),
    pytest.param("1.20", {"parallelism": "x"}, 'parallelism: expected a 32-bit integer, found the string "x"',
                 ('parallelism: expected a 32-bit integer, found the string "x"',), id="wrong-type-1.20"),
    pytest.param("1.36", {"profiles": [{"pluginConfig": [entry("NodeAffinity", addedAfinity={})]}]},
                 "strict decoding error: decoding .profiles[0].pluginConfig[0]: strict decoding error: "
                 'decoding args for plugin NodeAffinity: strict decoding error: unknown field "addedAfinity"',
                 ("profiles[0].pluginConfig[0].args.addedAfinity: unknown key; did you mean addedAffinity?",),
                 id="args-unknown"),
    pytest.param("1.20", {"profiles": [{"pluginConfig": [entry("NodeLabel", labels=[])]}]},
                 "decoding .profiles[0].pluginConfig[0]: decoding args for plugin NodeLabel: strict decoder error for "
                 '{"labels":[]}: v1beta1.NodeLabelArgs.ReadObject: found unknown field: labels, '
                 'error found in #9 byte of ...|{"labels":[]}|..., bigger context ...|{"labels":[]}|...', None,
                 id="args-unknown-1.20"),
    pytest.param(
        "1.36",
        {"profiles": [{"pluginConfig": [entry("InterPodAffinity", hardPodAffinityWeight="x")]}]},
        "decoding .profiles[0].pluginConfig[0]: decoding args for plugin InterPodAffinity: "
        f"json: {NO_NUMBER} InterPodAffinityArgs.hardPodAffinityWeight of type int32",
        ('profiles[0].pluginConfig[0].args.hardPodAffinityWeight: expected a 32-bit integer, found the string "x"',),
        id="args-wrong-type",
    ),
    pytest.param("1.36", {"profiles": [{"pluginConfig": [entry("InterPodAffinity", kind="NodeAffinityArgs")]}]},
                 "decoding .profiles[0].pluginConfig[0]: args for plugin InterPodAffinity were not of type "
                 f"InterPodAffinityArgs.{GROUP}, got NodeAffinityArgs.{GROUP}",
                 ("profiles[0].pluginConfig[0].args.kind: expected InterPodAffinityArgs, found NodeAffinityArgs",),
                 id="args-of-another"),
    pytest.param("1.20", {"profiles": [{"pluginConfig": [entry("InterPodAffinity", kind="FooArgs")]}]},
                 "decoding .profiles[0].pluginConfig[0]: decoding args for plugin InterPodAffinity: "
                 f'no kind "FooArgs" is registered for version "{GROUP}/v1beta1" in scheme "{SCHEME_1_20}"', None,
                 id="args-of-none"),
    pytest.param(
        "1.36",
        {"healthzBindAddress": "0.0.0.0:0"},
        'strict decoding error: unknown field "healthzBindAddress"',
        ("healthzBindAddress: no such address since v1beta3: health is served on the secure port; leave it out",),
        id="removed",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("release", "keys", "text", "told"), CASES)
def test_faults(release: str, keys: dict[str, Any], text: str, told: tuple[str, ...] | None) -> None:
    """A fault of decoding has the release's text, and its path when all problems are asked for."""
    assert error(release, **keys) == text
    if told is not None:
        assert problems(release, **keys) == told


def test_every_fault_at_once() -> None:
    """Faults of decoding, of values and of plugins are told together, none as the consequence of another."""
    found = problems(
        "1.36",
        parallelism="16",
        podInitialBackoffSeconds=0,
        profiles=[
            {
                "plugins": {"score": {"enabled": [{"name": "NodeAfinity"}, {"name": "NodeName"}]}},
                "pluginConfig": [
                    entry("DefaultPreemption", minCandidateNodesPercentage=101),
                    entry("NodeResourcesFit", scoringStrategy={"type": "Least"}),
                ],
            }
        ],
    )
    assert found == (
        'parallelism: expected a 32-bit integer, found the string "16"; write 16 without quotes',
        "profiles[0].pluginConfig[0].args.minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]",
        "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0",
        'profiles[0].pluginConfig[1].args.scoringStrategy.type: Unsupported value: "Least": supported values: '
        '"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"',
        "profiles[0].plugins.score.enabled[0].name: there is no plugin NodeAfinity; did you mean NodeAffinity?; "
        "one of your own comes by --plugin",
        "profiles[0].plugins.score.enabled[1].name: plugin NodeName does not extend Score plugin; "
        "it takes part in filter",
    )


def test_unreserve_is_for_plugins_of_reserve() -> None:
    """1.18 has the point Unreserve, in which those of Reserve take part."""
    assert problems("1.18", profiles=[{"plugins": {"unreserve": {"enabled": [{"name": "NodeName"}]}}}]) == (
        "profiles[0].plugins.unreserve.enabled[0].name: plugin NodeName does not extend Unreserve plugin; "
        "it takes part in filter",
    )


def test_parallelism_comes_with_1_20() -> None:
    """In 1.19 it is an unknown key."""
    assert problems("1.19", parallelism=8)[0].startswith("parallelism: unknown key; known are ")
    assert read("1.20", parallelism=8).parallelism == 8


def test_null_counts_as_absent() -> None:
    """A null leaves the default, for args, too."""
    config = read("1.36", parallelism=None, profiles=[{"pluginConfig": [{"name": "VolumeBinding", "args": None}]}])
    assert config.parallelism == 16
    assert args_of(config, "VolumeBinding").bind_timeout_seconds == 600


def test_args_of_plugins_without_a_type() -> None:
    """Args of a custom plugin stay as they are written."""
    config = read("1.36", profiles=[{"pluginConfig": [entry("Mine", a=[1], kind="Whatever")]}])
    assert args_of(config, "Mine") == {"a": [1], "kind": "Whatever"}


# --- files ---------------------------------------------------------------------------------

FILES = {
    "yaml": f"apiVersion: {GROUP}/v1\nkind: {KIND}\nparallelism: 3\n",
    "json": f'{{"apiVersion": "{GROUP}/v1", "kind": "{KIND}", "parallelism": 3}}',
    "toml": f'apiVersion = "{GROUP}/v1"\nkind = "{KIND}"\nparallelism = 3\n',
}
TWICE = {
    "yaml": (f"{FILES['yaml']}parallelism: 4\n", "parallelism: set twice, in lines 3 and 4; keep one of them"),
    "json": (FILES["json"].replace("{", '{"parallelism": 4, '), "parallelism: set twice; keep one of them"),
}


@pytest.mark.parametrize("ending", TWICE)
def test_keys_set_twice(ending: str, tmp_path: Path) -> None:
    """A key that is there twice is a fault, with its path."""
    text, problem = TWICE[ending]
    path = tmp_path / f"config.{ending}"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_component_config(path, format_of("1.36"))
    assert caught.value.problems == (f"{path}: {problem}",)


DOCUMENTS = {
    "1.20": f"apiVersion: {GROUP}/v1beta1\nkind: {KIND}\npercentageOfNodesToScore: 7\n---\nkind: Nonsense\n---\na: 1\n",
    "1.36": f"apiVersion: {GROUP}/v1\nkind: {KIND}\npercentageOfNodesToScore: 7\n---\nkind: Nonsense\n---\na: 1\n",
}


@pytest.mark.parametrize("release", DOCUMENTS)
def test_first_of_several_documents(release: str, tmp_path: Path) -> None:
    """The release's decoder stops behind the first document; a note says how many it ignores, strict refuses them."""
    path = tmp_path / "config.yaml"
    path.write_text(DOCUMENTS[release])
    config = read_component_config(path, format_of(release))
    assert config.percentage_of_nodes_to_score == 7
    assert "only the first document is read: 2 more documents are ignored" in config.notes
    with pytest.raises(ConfigError, match="2 more documents are ignored; keep one of them"):
        read_component_config(path, format_of(release), strict=True)
