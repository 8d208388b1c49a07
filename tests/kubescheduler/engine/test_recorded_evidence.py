"""On what real kube-schedulers were asked: what refuses a node has evidence that refuses it, what passes has none."""

from __future__ import annotations

import gzip
from itertools import islice

import msgspec
import pytest

from clusterstate.manifests.decode import Decoder
from clusterstate.objects import Pod
from kubescheduler.engine.evaluate_protocol import CONFIGURATION_KEYS, Scenario
from kubescheduler.releases.lookup import release_named
from tests.support.references.formulas import hold_to_evidence
from tests.support.references.recorded_vectors import vectors_dir

EVERY = 16
"""One scenario of so many is held."""


@pytest.mark.parametrize("release", ["1.4", "1.16", "1.20", "1.36"])
def test_evidence_of_recorded_scenarios(release: str) -> None:
    """Every check of the configuration that the first query of a scenario names, on every node."""
    held = 0
    for path in sorted((vectors_dir() / release).glob("*.jsonl.gz")):
        if path.name.startswith("extender"):
            continue
        for line in islice(gzip.decompress(path.read_bytes()).splitlines(), 0, None, EVERY):
            document = msgspec.json.decode(line)["scenario"]
            query = document["queries"][0]
            scenario = Scenario.of(document, release_named(release))
            pod = Decoder(prepare=scenario.release.decoding).decode_object(
                {"kind": "Pod", **query["pod"]}, keep_manifest=True
            )
            assert isinstance(pod, Pod)
            scheduler = scenario.configured({key: query[key] for key in CONFIGURATION_KEYS if query.get(key)}).scheduler
            info, snapshot = scenario.cache.info(pod), scenario.cache.snapshot()
            for check in scheduler.algorithm.predicates:
                if check.evidence is not None:
                    held += hold_to_evidence(check, info, snapshot)
    assert held > 50
