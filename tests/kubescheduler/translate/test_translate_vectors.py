"""The measure: every recorded policy, translated, decides in 1.20 as 1.20's own way with policies does."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.config.load_config import component_config_from
from kubescheduler.engine.evaluate_protocol import Scenario
from kubescheduler.releases.lookup import RELEASES
from kubescheduler.translate.policy_source import Source, policy_source, provider_source
from kubescheduler.translate.translating import translate
from tests.support.configuring.component_build import format_of
from tests.support.releases_tried import vectors_dir

EXTENDER_SERVER = Path(__file__).parents[4] / "shared" / "tools" / "extender_server.py"
RECORDED_AT = "http://127.0.0.1:28900"

SAME = "same fits and totals"
REFUSED = "1.16 refuses the policy"
NO_RESOURCES = "a capacity ratio without resources, by which 1.20 scores nothing and the configuration cpu and memory"
REFUSED_BY_1_20 = "1.20 refuses the policy: it names CheckNodeMemoryPressure"
RATIO = "RequestedToCapacityRatio"


def scenarios(release: str, theme: str, address: str = RECORDED_AT) -> Iterator[dict[str, Any]]:
    with gzip.open(vectors_dir() / release / f"{theme}.jsonl.gz", "rt") as lines:
        for line in lines:
            yield json.loads(line.replace(RECORDED_AT, address))["scenario"]


def source_of(query: dict[str, Any], release: str, given: dict[str, bool]) -> Source:
    gates = {} if release == "1.4" else RELEASES[release].gates.resolve(given)
    if "policy" in query:
        source = policy_source(query["policy"], release, gates, "policy")
        if any("taken for one of your own" in note.text for note in source.notes):
            raise ConfigError(f"{release} itself, which no plugin was given, does not know a rule")
        return source
    return provider_source(query.get("provider") or "DefaultProvider", release, gates)


def outcome(query: dict[str, Any], scenario: Scenario, given: dict[str, bool]) -> str:
    """Which exception the policy of a query is, or none. Asserts that there is no other."""
    try:
        source = source_of(query, "1.16", given)
    except ConfigError:
        return REFUSED
    configured = {"componentConfig": translate(source, "1.20").plain(), "pod": query["pod"]}
    actual = scenario.answer(configured)
    try:
        expected = scenario.answer({"policy": query["policy"], "pod": query["pod"]})
    except ConfigError as error:
        return REFUSED_BY_1_20 if "CheckNodeMemoryPressure" in str(error) else f"1.20 refuses it: {error}"
    assert (actual["fits"], actual["weights"]) == (expected["fits"], expected["weights"]), query["id"]
    assert rest(actual) == rest(expected), query["id"]
    if (actual["total"], actual["error"]) == (expected["total"], expected["error"]):
        return SAME
    assert set(expected["scores"][RATIO].values()) == {0}
    return NO_RESOURCES


def rest(result: dict[str, Any]) -> dict[str, int]:
    """The totals without the capacity ratio."""
    ratio, weight = result["scores"].get(RATIO, {}), result["weights"].get(RATIO, 0)
    return {node: total - weight * ratio.get(node, 0) for node, total in result["total"].items()}


def outcomes(theme: str, address: str = RECORDED_AT) -> Counter[str]:
    found: Counter[str] = Counter()
    for document in scenarios("1.16", theme, address):
        gates = document.pop("featureGates", None) or {}
        scenario = Scenario.of(document, RELEASES["1.20"])
        found.update(outcome(query, scenario, gates) for query in document["queries"] if "policy" in query)
    return found


def test_policies_decide_as_1_20_does() -> None:
    """72 policies: the same fits and totals but for the named exceptions."""
    assert outcomes("policy") == {SAME: 53, NO_RESOURCES: 8, REFUSED: 11}


@pytest.mark.skipif(not EXTENDER_SERVER.exists(), reason="the recorded extender is kept beside the project, not in it")
def test_policies_with_extenders_decide_as_1_20_does() -> None:
    """84 policies more; their extenders are called by both ways alike."""
    command = [sys.executable, str(EXTENDER_SERVER), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            found = outcomes("extender", process.stdout.readline().split()[-1])
        finally:
            process.terminate()
    assert found == {SAME: 69, NO_RESOURCES: 1, REFUSED_BY_1_20: 1, REFUSED: 13}


@pytest.mark.parametrize("release", ["1.4", "1.16"])
@pytest.mark.parametrize("to", ["1.20", "1.36"])
def test_every_document_is_accepted(release: str, to: str) -> None:
    """Of every policy and provider that the source release takes, with and without other weights."""
    count = 0
    for theme in ("policy", "extender", "mixed"):
        for document in scenarios(release, theme):
            for query in document["queries"]:
                try:
                    source = source_of(query, release, document.get("featureGates") or {})
                except ConfigError:
                    continue
                for keep_emphasis in (False, True):
                    found = translate(source, to, keep_emphasis=keep_emphasis)
                    assert component_config_from(found.plain(), format_of(to), all_problems=True).release == to
                count += 1
    assert count > 200
