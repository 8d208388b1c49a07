"""What is translated, as its release reads it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.releases.lookup import RELEASES
from kubescheduler.translate.policy_source import Source, policy_source, provider_source, read_policy_text
from tests.support.configuring.translating import label_presence, policy, predicates, priorities

POLICY = {"kind": "Policy", "apiVersion": "v1", "priorities": [{"name": "EqualPriority", "weight": 2}]}
TOML = 'kind = "Policy"\napiVersion = "v1"\n[[priorities]]\nname = "EqualPriority"\nweight = 2\n'
YAML = "kind: Policy\napiVersion: v1\npriorities:\n- {name: EqualPriority, weight: 2}\n"
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: p}\ndata:\n  policy.cfg: |\n    "


def source(document: dict[str, Any], release: str = "1.16") -> Source:
    return policy_source(document, release, {} if release == "1.4" else RELEASES[release].gates.resolve({}), "p.json")


@pytest.mark.parametrize(
    "text",
    [json.dumps(POLICY), YAML, TOML, CONFIG_MAP + json.dumps(POLICY), CONFIG_MAP + YAML.replace("\n", "\n    ")],
    ids=["json", "yaml", "toml", "configmap-json", "configmap-yaml"],
)
def test_formats(text: str) -> None:
    """The text tells which it is, a ConfigMap its kind."""
    assert read_policy_text(text, "standard input") == POLICY


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ({"provider": "ClusterAutoscalerProvider"}, "give --algorithm-provider ClusterAutoscalerProvider instead"),
        ({"policy": {"file": {"path": "p.json"}}}, "its algorithmSource names a policy: give that instead"),
        (None, "there is nothing to translate"),
    ],
)
def test_a_configuration_is_no_policy(said: dict[str, Any] | None, hint: str) -> None:
    """The message says what to give instead."""
    document = {"kind": "KubeSchedulerConfiguration", "algorithmSource": said}
    with pytest.raises(ConfigError, match=hint):
        read_policy_text(json.dumps(document), "c.yaml")


def test_every_problem_is_named_with_its_path() -> None:
    """Behind the name of the file."""
    document = policy(predicates=predicates("EqualPriority"), priorities=priorities(LeastRequestedPriority=0))
    with pytest.raises(ConfigError) as caught:
        source(document)
    assert [problem.partition(": ")[2].partition(":")[0] for problem in caught.value.problems] == [
        "priorities[0].weight",
        "predicates[0]",
    ]
    assert all(problem.startswith("p.json: ") for problem in caught.value.problems)


@pytest.mark.parametrize(("release", "predicates_", "priorities_"), [("1.4", 0, 0), ("1.16", 11, 8), ("1.20", 12, 9)])
def test_absent_lists(release: str, predicates_: int, priorities_: int) -> None:
    """1.4 has nothing in their place, the others their defaults."""
    found = source(policy(), release)
    assert (len(found.predicates), len(found.priorities)) == (predicates_, priorities_)


@pytest.mark.parametrize("release", ["1.4", "1.16", "1.20"])
def test_providers(release: str) -> None:
    """ClusterAutoscalerProvider packs in every release."""
    gates = {} if release == "1.4" else RELEASES[release].gates.resolve({})
    entries = provider_source("ClusterAutoscalerProvider", release, gates).priorities
    names = {item.name for item in entries}
    assert entries[0].origin.startswith("provider ClusterAutoscalerProvider: ")
    assert "MostRequestedPriority" in names
    assert "LeastRequestedPriority" not in names
    with pytest.raises(ConfigError, match="NoProvider"):
        provider_source("NoProvider", release, gates)


@pytest.mark.parametrize(("release", "weight"), [("1.4", 101), ("1.16", 0), ("1.20", 101)])
def test_the_hard_weight_is_checked(release: str, weight: int) -> None:
    """As the flag of the release is."""
    gates = {} if release == "1.4" else RELEASES[release].gates.resolve({})
    with pytest.raises(ConfigError, match="in"):
        provider_source("DefaultProvider", release, gates, weight)
    with pytest.raises(ConfigError, match="in"):
        policy_source(policy(), release, gates, "p", weight)


def test_entries_of_one_name_are_one_in_1_16() -> None:
    """The last weight counts, and the last argument."""
    entries = [*priorities(EqualPriority=1), {"name": "EqualPriority", "weight": 7}]
    found = source(policy(priorities=entries))
    assert [(item.path, item.weight) for item in found.priorities] == [("priorities[1] EqualPriority", 7)]


def test_names_that_1_16_never_runs_are_idle() -> None:
    """An argument under a custom name has no effect there, while 1.4 runs it."""
    document = policy(predicates=[label_presence("Mine", "a"), label_presence("CheckNodeLabelPresence", "b")])
    assert [item.idle for item in source(document).predicates] == [True, False]
    assert [item.idle for item in source(document, "1.4").predicates] == [False, False]


def test_1_20_passes_over_arguments_of_names_it_knows() -> None:
    """So they are not carried over."""
    document = policy(predicates=[label_presence("Mine", "a"), label_presence("CheckNodeLabelPresence", "b")])
    found = {item.name: item.predicate is not None for item in source(document, "1.20").predicates}
    assert found == {"Mine": True, "CheckNodeLabelPresence": False}


def test_gated_names_are_taken() -> None:
    """Policies older than 1.16 have them; a note says that 1.16 itself would not."""
    found = source(policy(predicates=predicates("CheckNodeCondition"), priorities=priorities(EvenPodsSpreadPriority=1)))
    assert [note.path for note in found.notes] == [
        "predicates[0] CheckNodeCondition",
        "priorities[0] EvenPodsSpreadPriority",
    ]
