"""Policies and providers of release 1.4: what is read, what is refused, in which words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clusterstate.errors import ConfigError
from clusterstate.selectors.affinity_1_4 import FAILURE_DOMAINS
from kubescheduler.cli import common_options as options
from kubescheduler.config.policy_1_16 import FATAL, parse_policy_1_4
from kubescheduler.engine.engine_flags import EngineFlags
from kubescheduler.engine.legacy_engine import algorithm_for, algorithm_from_files, algorithm_from_provider
from kubescheduler.extender.client import HTTPExtender
from kubescheduler.releases.lookup import release_named

WIRE_1_4 = release_named("1.4").wire

OPTIONS = EngineFlags(release="1.4")
POLICY = {"kind": "Policy", "apiVersion": "v1"}


def error(document: dict[str, Any] | None, provider: str | None = None, **settings: Any) -> str:
    with pytest.raises(ConfigError) as raised:
        algorithm_for(EngineFlags(release="1.4", **settings), provider, document)
    return "\n".join(raised.value.problems)


def names(document: dict[str, Any] | None) -> tuple[list[str], dict[str, int]]:
    algorithm = algorithm_for(OPTIONS, None, document)
    return [p.name for p in algorithm.predicates], {p.config.name: p.weight for p in algorithm.priorities}


@pytest.mark.parametrize("lists", [{}, {"predicates": None}, {"predicates": [], "priorities": []}])
def test_absent_lists_are_empty(lists: dict[str, Any]) -> None:
    """They are not the default provider's."""
    assert names({**POLICY, **lists}) == ([], {})


def test_an_entry_with_an_argument_replaces_a_built_in_one() -> None:
    """Also one of GeneralPredicates' parts; the last weight wins."""
    argument = {"labelsPresence": {"labels": ["x"], "presence": True}}
    preference = {"labelPreference": {"label": "x", "presence": True}}
    document = {
        **POLICY,
        "predicates": [{"name": "HostName", "argument": argument}, {"name": "HostName"}],
        "priorities": [{"name": "Mine", "weight": 1, "argument": preference}, {"name": "Mine", "weight": 3}],
    }
    assert names(document) == (["HostName"], {"Mine": 3})


@pytest.mark.parametrize(
    ("document", "text"),
    [
        pytest.param({"kind": "Policy", "apiVersion": "v2"},
                     f'{FATAL}invalid configuration: no kind "Policy" is registered for version "v2"', id="version"),
        pytest.param({**POLICY, "priorities": [{"name": "EqualPriority", "weight": 0}, {"name": "EqualPriority"}]},
                     f"{FATAL}[Priority EqualPriority should have a positive weight applied to it, "
                     "Priority EqualPriority should have a positive weight applied to it]", id="weights-each-told"),
        pytest.param({**POLICY, "extenders": [{"urlPrefix": "http://x", "weight": -1}]},
                     f"{FATAL}Priority for extender http://x should have a non negative weight applied to it",
                     id="extender-weight"),
        pytest.param({**POLICY, "predicates": [{"name": "CheckVolumeBinding"}]},
                     "Invalid configuration: Predicate type not found for CheckVolumeBinding", id="predicate"),
        pytest.param({**POLICY, "priorities": [{"name": "ResourceLimitsPriority", "weight": 1}]},
                     "Invalid configuration: Priority type not found for ResourceLimitsPriority", id="priority"),
        pytest.param({**POLICY, "predicates": [{"name": "Mine", "argument": {}}]},
                     "Exactly 1 predicate argument is required, numArgs: 0, Predicate: Mine", id="argument"),
        pytest.param({**POLICY, "priorities": [{"name": "R", "weight": 1,
                     "argument": {"requestedToCapacityRatioArguments": {}}}]},
                     "Exactly 1 priority argument is required, numArgs: 0, Priority: R",
                     id="capacity-ratio-is-unknown"),
        pytest.param(
            {**POLICY, "extenders": [{"httpTimeout": "5s"}]},
            f"{FATAL}invalid configuration: extenders[0].httpTimeout: expected an integer number of nanoseconds, "
            'found the string "5s"; write 5000000000',
            id="timeout",
        ),
    ],
)  # fmt: skip
def test_the_words_of_the_release(document: dict[str, Any], text: str) -> None:
    """Where it gives up."""
    assert error(document) == text


def test_later_checks() -> None:
    """Of flags, for policies and providers alike."""
    weight = "invalid hardPodAffinitySymmetricWeight: 101, must be in the range 0-100"
    assert error(POLICY, hard_pod_affinity_symmetric_weight=101) == FATAL + weight
    assert error(None, hard_pod_affinity_symmetric_weight=101) == FATAL + weight
    unweighted = algorithm_from_provider(EngineFlags("1.4", hard_pod_affinity_symmetric_weight=0), "DefaultProvider")
    assert unweighted.release == "1.4"
    for document in (POLICY, None):
        domain = error(document, failure_domains=("zone", "a b"))
        assert domain.startswith(f'{FATAL}invalid failure domain: "a b": ')
    assert error(None, "Nope").startswith(f'{FATAL}plugin "Nope" has not been registered')


def test_keys_of_1_16_are_unknown() -> None:
    """Passed over by the release, told to who writes one; case counts, in extenders too."""
    document = {
        **POLICY,
        "alwaysCheckAllPredicates": True,
        "hardPodAffinitySymmetricWeight": 999,
        "extenders": [{"urlPrefix": "http://x", "FilterVerb": "f", "ignorable": True, "tlsConfig": {"caFile": "ca"}}],
    }
    policy = parse_policy_1_4(document, strict=False)
    assert not policy.extenders[0].filter_verb
    assert not policy.extenders[0].ignorable
    with pytest.raises(ConfigError) as raised:
        parse_policy_1_4(document, strict=True)
    assert [problem.partition(":")[0] for problem in raised.value.problems] == [
        "alwaysCheckAllPredicates",
        "hardPodAffinitySymmetricWeight",
        "extenders[0].FilterVerb",
        "extenders[0].ignorable",
        "extenders[0].tlsConfig.caFile",
    ]
    assert "did you mean CAFile?" in raised.value.problems[-1]


def test_extenders() -> None:
    """In the order of the policy, in the release's wire format."""
    prefixes = ["http://b", "http://a"]
    algorithm = algorithm_for(OPTIONS, None, {**POLICY, "extenders": [{"urlPrefix": p} for p in prefixes]})
    extenders = [e for e in algorithm.extenders if isinstance(e, HTTPExtender)]
    assert [(e.name, e.wire) for e in extenders] == [(p, WIRE_1_4) for p in prefixes]


# --- files ---------------------------------------------------------------------------------


def from_file(path: Path) -> tuple[list[str], list[str]]:
    """(predicates, notices)."""
    told: list[str] = []
    algorithm = algorithm_from_files(OPTIONS, None, str(path), None, told.append)
    return [p.name for p in algorithm.predicates], told


def test_a_file_is_json(tmp_path: Path) -> None:
    """YAML is refused."""
    path = tmp_path / "policy.json"
    path.write_text(json.dumps({**POLICY, "predicates": [{"name": "HostName"}]}))
    assert from_file(path) == (["HostName"], [])
    other = tmp_path / "policy.yaml"
    other.write_text("kind: Policy\n")
    with pytest.raises(ConfigError, match="Failed to create scheduler configuration: invalid configuration: "):
        from_file(other)


def test_a_file_that_is_not_there_means_the_provider(tmp_path: Path) -> None:
    """Upstream says nothing; we do."""
    predicates, told = from_file(tmp_path / "nope.json")
    assert "GeneralPredicates" in predicates
    assert told == [f"{tmp_path}/nope.json is not there, and release 1.4 then goes by the provider"]


def test_there_are_no_config_maps() -> None:
    """The flag came later."""
    with pytest.raises(ConfigError, match=r"--policy-configmap: release 1\.4 reads no ConfigMap"):
        algorithm_from_files(OPTIONS, None, None, "policy.yaml", print)


def test_every_problem_of_a_file(tmp_path: Path) -> None:
    """With its path."""
    path = tmp_path / "policy.json"
    entries = {
        "predicates": [{"name": "HostNam"}],
        "priorities": [{"name": "EqualPriority"}],
        "extenders": [{"weight": -1}],
    }
    path.write_text(json.dumps({**POLICY, **entries}))
    with pytest.raises(ConfigError) as raised:
        from_file(path)
    assert [problem.removeprefix(f"{path}: ").partition(":")[0] for problem in raised.value.problems] == [
        "priorities[0].weight",
        "extenders[0].weight",
        "predicates[0]",
    ]


def test_what_is_spelled_out_for_the_command_line() -> None:
    """It is what the rules have."""
    assert tuple(options.FAILURE_DOMAINS.split(",")) == FAILURE_DOMAINS
